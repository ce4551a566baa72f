//! From records to comparisons.

use std::{collections::BTreeMap, time::Duration};

use repackbench_records::{
    BlockId, ComparedTime, DisturbanceShares, ElapsedComparison, Host, Machine, RatioEstimate, Record, ReferenceRatios,
    Role, SessionId, SpecText, TracedReads, Variant, VariantComparison, VariantIdentity, WorkloadComparison,
    WorkloadLabel,
};

use crate::{
    advice::reference_of,
    exactness::is_recorded_guess,
    hierarchical::{CopyRatio, hierarchical},
    requests,
    statistics::{median_duration, ratio_estimate},
    verdict::{blocks_for_verdicts, holm, is_valid, log_floor, sign_test, verdict},
};

/// Compares the variants of each workload with the baseline, by [`Record::compared_time`]. Workloads keep the order in
/// which they first appear in `records`.
///
/// The log-ratio of a block is the logarithm of the variant's time minus the mean logarithm of the baseline's two runs,
/// A and A'. This ratio to their geometric mean has an interval that is narrower by an eighth than that of a ratio to A
/// only. But the mean of two runs is not exchangeable with a single run: under one-sided noise, which machines have,
/// its median is slightly shifted. So an interval that excludes 1 proves nothing yet. Verdicts require a difference
/// beyond the noise floor, which the distance between A and A' sets, and which exceeds that shift for every kind of
/// noise (see the tests in `simulation`).
///
/// Runs of different machines, repositories and workloads are compared separately. So are sessions with different
/// baselines, whose ratios mean different things, and sessions in which a workload read different content.
///
/// Verdicts are corrected for the number of ratios in `records`, so one call must get all records of a session.
///
/// A block gives no pair if a required run is missing or took no measurable time. Runs that name a physical copy get
/// the interval of [`hierarchical`] instead of the sign test's.
pub fn compare_records(records: &[Record]) -> Vec<WorkloadComparison> {
    let (hosts, baselines) = (SessionHosts::of(records), SessionBaselines::of(records));
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut group_of: BTreeMap<GroupKey<'_>, usize> = BTreeMap::new();
    for record in records {
        let repository = &record.repository;
        let key = GroupKey {
            repository: (&repository.name, &repository.fingerprint),
            machine: hosts.of_record(record).machine(),
            workload: &record.workload,
            jobs: record.jobs,
            compared_time: record.compared_time,
            content: (&record.digest.algorithm, &record.digest.hex),
            baseline: baselines.of_record(record),
        };
        let number = *group_of.entry(key).or_insert(groups.len());
        match groups.get_mut(number) {
            Some((_, group)) => group.push(record),
            None => groups.push((key, vec![record])),
        }
    }
    let groups = with_baselines(groups);
    let mut comparisons: Vec<WorkloadComparison> =
        groups.iter().filter_map(|(_, group)| compare_workload(group)).collect();
    judge(&mut comparisons);
    judge_elapsed(&mut comparisons);
    let spellings = Spellings::of(records.iter());
    comparisons.iter_mut().flat_map(|of| &mut of.rows).for_each(|row| spellings.unify(&mut row.variant));
    comparisons
}

/// What compared runs have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct GroupKey<'a> {
    repository: (&'a str, &'a str),
    machine: Machine<'a>,
    workload: &'a WorkloadLabel,
    jobs: u32,
    compared_time: ComparedTime,
    content: (&'a str, &'a str),
    baseline: Option<BaselineKey<'a>>,
}

type Group<'a> = (GroupKey<'a>, Vec<&'a Record>);

/// Merges each session that was stopped before its baseline was measured into a group that is equal except for the
/// baseline.
fn with_baselines(groups: Vec<Group<'_>>) -> Vec<Group<'_>> {
    let (mut whole, stopped): (Vec<Group<'_>>, Vec<Group<'_>>) =
        groups.into_iter().partition(|(key, _)| key.baseline.is_some());
    for (key, records) in stopped {
        match whole.iter_mut().find(|(other, _)| GroupKey { baseline: None, ..*other } == key) {
            Some((_, others)) => others.extend(records),
            None => whole.push((key, records)),
        }
    }
    whole
}

/// The baseline of ratios: a variant and its decoder.
type BaselineKey<'a> = (VariantIdentity<'a>, &'a str);

/// The baseline of every session on every repository, from its first baseline record. A session with replays and a
/// stock client has two baselines.
struct SessionBaselines<'a>(BTreeMap<SessionKey<'a>, BaselineKey<'a>>);

/// The records that share a baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SessionKey<'a> {
    session: SessionId,
    fingerprint: &'a str,
    /// Whether a stock client read.
    by_client: bool,
}

impl<'a> SessionBaselines<'a> {
    fn of(records: &'a [Record]) -> Self {
        let mut baselines = BTreeMap::new();
        for record in records.iter().filter(|record| is_baseline(record.variant.role)) {
            let baseline = (row_key(record), &*record.decoder);
            baselines.entry(Self::key(record)).or_insert(baseline);
        }
        SessionBaselines(baselines)
    }

    fn of_record(&self, record: &'a Record) -> Option<BaselineKey<'a>> {
        self.0.get(&Self::key(record)).copied()
    }

    fn key(record: &'a Record) -> SessionKey<'a> {
        SessionKey {
            session: record.place.session_id(),
            fingerprint: &record.repository.fingerprint,
            by_client: record.variant.client.is_some(),
        }
    }
}

pub(crate) fn is_baseline(role: Role) -> bool {
    matches!(role, Role::Baseline | Role::BaselineAgain)
}

/// Gives all records of a spec the spelling of the first, so that a spec has one name.
pub fn unify_spellings(records: &mut [Record]) {
    let first: Vec<SpecText> = Spellings::of(records.iter()).0.into_values().cloned().collect();
    let spellings = Spellings(first.iter().map(|spec| (spec.canonical.as_str(), spec)).collect());
    records.iter_mut().for_each(|record| spellings.unify(&mut record.variant));
}

/// The first spelling of each spec, by its canonical text.
pub(super) struct Spellings<'a>(BTreeMap<&'a str, &'a SpecText>);

impl<'a> Spellings<'a> {
    pub(super) fn of(records: impl Iterator<Item = &'a Record>) -> Self {
        let mut spellings = BTreeMap::new();
        for spec in records.filter_map(|record| record.variant.spec.as_ref()) {
            spellings.entry(spec.canonical.as_str()).or_insert(spec);
        }
        Spellings(spellings)
    }

    pub(super) fn unify(&self, variant: &mut Variant) {
        if let Some(spec) = &mut variant.spec
            && let Some(first) = self.0.get(spec.canonical.as_str())
        {
            spec.typed.clone_from(&first.typed);
        }
    }
}

/// The machine of every session, from its first record. A session that is resumed under another kernel stays one
/// session.
pub(super) struct SessionHosts<'a>(BTreeMap<SessionId, &'a Host>);

impl<'a> SessionHosts<'a> {
    pub(super) fn of(records: &'a [Record]) -> Self {
        let mut hosts = BTreeMap::new();
        // Older records have no session.
        for record in records.iter().filter(|record| record.place.session > 0) {
            hosts.entry(record.place.session_id()).or_insert(&record.host);
        }
        SessionHosts(hosts)
    }

    pub(super) fn of_record(&self, record: &'a Record) -> &'a Host {
        self.0.get(&record.place.session_id()).copied().unwrap_or(&record.host)
    }
}

/// Half the width of the widest interval of a workload, including its noise, as a logarithm; `None` while some ratio
/// has no interval. It measures the precision of a workload's ratios.
pub fn widest_half_width(comparison: &WorkloadComparison) -> Option<f64> {
    let baseline = comparison.baseline();
    if baseline.is_some_and(|baseline| baseline.compared_median.is_zero()) {
        // There was nothing to do: there are no ratios, and more blocks give none.
        return Some(0.0);
    }
    let half_width = |estimate: &Option<RatioEstimate>| {
        let interval = (*estimate)?.interval?;
        Some((interval.high.ln() - interval.low.ln()) / 2.0)
    };
    let rows = comparison.rows.iter().filter(|row| row.variant.role != Role::Baseline);
    rows.map(|row| half_width(&row.ratio))
        .chain([half_width(&comparison.noise)])
        .try_fold(0.0_f64, |widest, width| Some(widest.max(width?)))
}

/// Corrects the probabilities of all ratios for their number, and sets the verdicts.
fn judge(comparisons: &mut [WorkloadComparison]) {
    let mut probabilities: Vec<&mut f64> = comparisons
        .iter_mut()
        .flat_map(|comparison| &mut comparison.rows)
        .filter_map(|row| row.adjusted_p.as_mut())
        .collect();
    holm(&mut probabilities);
    let cells = probabilities.len();
    // With few blocks, ratios have no probability yet. They will have one once there are enough.
    let ratios = comparisons.iter().flat_map(|comparison| &comparison.rows).filter(|row| row.ratio.is_some()).count();
    for comparison in comparisons {
        comparison.cells = cells;
        if comparison.blocks_for_verdicts > 0 {
            comparison.blocks_for_verdicts = blocks_for_verdicts(ratios);
        }
        let Some(floor) = comparison.noise_floor.filter(|_| comparison.is_valid) else { continue };
        for row in &mut comparison.rows {
            row.verdict = match (&row.ratio, row.adjusted_p) {
                (Some(ratio), Some(adjusted_p)) => verdict(ratio, floor.ln_1p(), adjusted_p),
                _ => None,
            };
        }
    }
}

/// [`judge`] for elapsed time. Its ratios are a family of their own: each kind of time keeps the error rate.
fn judge_elapsed(comparisons: &mut [WorkloadComparison]) {
    let rows = comparisons.iter_mut().flat_map(|comparison| &mut comparison.rows);
    let elapsed = rows.filter_map(|row| row.elapsed.as_mut());
    let mut probabilities: Vec<&mut f64> = elapsed.filter_map(|elapsed| elapsed.adjusted_p.as_mut()).collect();
    holm(&mut probabilities);
    for comparison in comparisons {
        let noise = comparison.elapsed_noise.and_then(|noise| noise.interval).filter(is_valid);
        let Some(floor) = noise.as_ref().map(log_floor) else { continue };
        for elapsed in comparison.rows.iter_mut().filter_map(|row| row.elapsed.as_mut()) {
            elapsed.verdict = elapsed.adjusted_p.and_then(|adjusted_p| verdict(&elapsed.ratio, floor, adjusted_p));
        }
    }
}

/// The table row of a record. A' shares the row of the baseline, and a variant of several sessions has one row.
fn row_key(record: &Record) -> VariantIdentity<'_> {
    let identity = record.variant.identity();
    VariantIdentity { role: if is_baseline(identity.role) { Role::Baseline } else { identity.role }, ..identity }
}

/// One run in its block.
#[derive(Debug, Clone, Copy)]
struct BlockRun {
    /// The logarithm of the compared time; `None` if it was not measurable.
    log: Option<f64>,
    copy: Option<u32>,
}

type BlockRuns = BTreeMap<BlockId, BlockRun>;

/// The runs by block, with the time that `nanoseconds` takes from each.
fn block_runs<'a>(runs: impl Iterator<Item = &'a Record>, nanoseconds: fn(&Record) -> u64) -> BlockRuns {
    runs.map(|run| {
        let time_ns = nanoseconds(run);
        let log = (time_ns > 0).then(|| (time_ns as f64).ln());
        (run.place.block_id(), BlockRun { log, copy: run.place.copy })
    })
    .collect()
}

/// One kind of time of the two runs of the baseline in each block.
struct Baseline {
    first: BlockRuns,
    again: BlockRuns,
    nanoseconds: fn(&Record) -> u64,
}

impl Baseline {
    fn of(records: &[&Record], nanoseconds: fn(&Record) -> u64) -> Self {
        let of_role = |role| records.iter().copied().filter(move |record| record.variant.role == role);
        let runs_of = |role| block_runs(of_role(role), nanoseconds);
        Baseline { first: runs_of(Role::Baseline), again: runs_of(Role::BaselineAgain), nanoseconds }
    }

    /// The ratios of a variant's runs to the baseline's in the same block.
    fn pairs_of(&self, runs: &[&Record]) -> Pairs {
        Pairs::of(&block_runs(runs.iter().copied(), self.nanoseconds), |block| self.log_mean(block))
    }

    /// The logarithm of the geometric mean of both.
    fn log_mean(&self, block: &BlockId) -> Option<f64> {
        Some(f64::midpoint(self.first.get(block)?.log?, self.again.get(block)?.log?))
    }

    /// A as a multiple of A'.
    fn noise(&self) -> Pairs {
        Pairs::of(&self.first, |block| self.again.get(block)?.log)
    }
}

/// The runs of the variant that an answer compares codecs with, which is not the baseline.
struct Reference {
    row: u32,
    compared: BlockRuns,
    /// `None` where that is the compared time.
    elapsed: Option<BlockRuns>,
}

impl Reference {
    /// That of a workload's `rows` in a repository of `codec`, if there is one.
    fn of(rows: &[Vec<&Record>], codec: Option<&str>, is_cpu: bool) -> Option<Self> {
        let variants: Vec<&Variant> = rows.iter().filter_map(|runs| Some(&runs.first()?.variant)).collect();
        let variant = reference_of(&variants, codec)?;
        let runs = rows.iter().find(|runs| runs.first().is_some_and(|run| std::ptr::eq(&run.variant, variant)))?;
        let times = |nanoseconds| block_runs(runs.iter().copied(), nanoseconds);
        Some(Reference { row: variant.row, compared: times(compared_ns), elapsed: is_cpu.then(|| times(elapsed_ns)) })
    }

    /// The times of a variant's runs as multiples of these.
    fn ratios_of(&self, variant: &Variant, runs: &[&Record]) -> Option<ReferenceRatios> {
        if variant.row == self.row {
            return None;
        }
        let estimate = |of: &BlockRuns, nanoseconds| {
            Pairs::of(&block_runs(runs.iter().copied(), nanoseconds), |block| of.get(block)?.log).estimate()
        };
        Some(ReferenceRatios {
            row: self.row,
            ratio: estimate(&self.compared, compared_ns)?,
            elapsed: self.elapsed.as_ref().and_then(|of| estimate(of, elapsed_ns)),
        })
    }
}

/// The log-ratio of one block.
#[derive(Debug, Clone, Copy)]
struct Pair {
    /// The block's number among all of them.
    block: u32,
    /// The copy that was read, if there are several.
    copy: Option<u32>,
    log_ratio: f64,
}

/// Log-ratios, one from each block that has one.
struct Pairs(Vec<Pair>);

impl Pairs {
    fn of(runs: &BlockRuns, reference: impl Fn(&BlockId) -> Option<f64>) -> Self {
        let pair = |(number, (block, run)): (u32, (&BlockId, &BlockRun))| {
            Some(Pair { block: number, copy: run.copy, log_ratio: run.log? - reference(block)? })
        };
        Pairs((0..).zip(runs).filter_map(pair).collect())
    }

    /// The same with copies, if every pair has one.
    fn with_copies(&self) -> Option<Vec<CopyRatio>> {
        let of = |pair: &Pair| Some(CopyRatio { block: pair.block, copy: pair.copy?, log_ratio: pair.log_ratio });
        self.0.iter().map(of).collect()
    }

    fn log_ratios(&self) -> Vec<f64> {
        self.0.iter().map(|pair| pair.log_ratio).collect()
    }

    fn estimate(&self) -> Option<RatioEstimate> {
        match self.with_copies().filter(|values| !values.is_empty()) {
            // A single copy gives no interval.
            Some(values) => match hierarchical(&values) {
                Some(found) => Some(found.estimate()),
                None => ratio_estimate(&mut self.log_ratios()).map(|found| RatioEstimate { interval: None, ..found }),
            },
            None => ratio_estimate(&mut self.log_ratios()),
        }
    }

    /// The probability of a ratio at least this far from 1 if the true one were within the noise floor.
    fn probability(&self, log_floor: f64) -> f64 {
        match self.with_copies().and_then(|values| hierarchical(&values)) {
            Some(found) => found.probability(log_floor),
            None => sign_test(&self.log_ratios(), log_floor),
        }
    }
}

fn compare_workload(records: &[&Record]) -> Option<WorkloadComparison> {
    let first = records.first()?;
    let mut rows: BTreeMap<VariantIdentity<'_>, Vec<&Record>> = BTreeMap::new();
    for record in records {
        rows.entry(row_key(record)).or_default().push(record);
    }
    let mut rows: Vec<Vec<&Record>> = rows.into_values().collect();
    rows.sort_by_key(|runs| runs.iter().map(|run| run.variant.row).min());
    let baseline = Baseline::of(records, compared_ns);
    let noise = baseline.noise().estimate();
    let interval = noise.and_then(|noise| noise.interval);
    let floor = interval.as_ref().map(log_floor);
    let is_cpu = first.compared_time != ComparedTime::Wall;
    let elapsed = is_cpu.then(|| Baseline::of(records, elapsed_ns));
    let elapsed_noise = elapsed.as_ref().and_then(|elapsed| elapsed.noise().estimate());
    let elapsed_floor = elapsed_noise.and_then(|noise| noise.interval).as_ref().map(log_floor);
    let reference = Reference::of(&rows, first.repository.codec.as_deref(), is_cpu);
    let compare = |runs: &Vec<&Record>| {
        let mut row = compare_variant(runs, &baseline, floor)?;
        if row.ratio.is_some() {
            row.elapsed = elapsed.as_ref().and_then(|elapsed| compare_elapsed(runs, elapsed, elapsed_floor));
            row.to_reference = reference.as_ref().and_then(|reference| reference.ratios_of(&row.variant, runs));
        }
        Some(row)
    };
    let has_guesses = records.iter().any(|run| is_recorded_guess(run));
    Some(WorkloadComparison {
        repository: first.repository.clone(),
        host: first.host.clone(),
        workload: first.workload.clone(),
        compared_time: first.compared_time,
        rows: rows.iter().filter_map(compare).collect(),
        noise,
        elapsed_noise,
        noise_floor: floor.map(f64::exp_m1),
        is_valid: !has_guesses && interval.as_ref().is_none_or(is_valid),
        has_guesses,
        cells: 0,
        // Set once the number of ratios is known. Ratios over copies do not use the sign test.
        blocks_for_verdicts: u32::from(first.place.copy.is_none()),
        jobs: first.jobs,
        disturbance: disturbance(records),
    })
}

/// One row from all runs of one variant, of which there is at least one. Its probability is not yet corrected.
fn compare_variant(runs: &[&Record], baseline: &Baseline, log_floor: Option<f64>) -> Option<VariantComparison> {
    let mut variant = runs.first()?.variant.clone();
    let is_baseline = is_baseline(variant.role);
    if is_baseline {
        variant.role = Role::Baseline;
    }
    let pairs = (!is_baseline).then(|| baseline.pairs_of(runs));
    let ratio = pairs.as_ref().and_then(Pairs::estimate);
    let mut compared: Vec<Duration> = runs.iter().map(|run| Duration::from_nanos(compared_ns(run))).collect();
    let mut wall: Vec<Duration> = runs.iter().map(|run| Duration::from_nanos(run.sample.wall_ns)).collect();
    let mut peaks: Vec<u64> = runs.iter().filter_map(|run| run.usage.peak_resident_bytes).collect();
    peaks.sort_unstable();
    let last = runs.last()?;
    Some(VariantComparison {
        variant,
        runs: runs.len(),
        compared_median: median_duration(&mut compared)?,
        wall_median: median_duration(&mut wall)?,
        ratio,
        adjusted_p: ratio.and(pairs).and_then(|pairs| Some(pairs.probability(log_floor?))),
        verdict: None,
        elapsed: None,
        to_reference: None,
        delta_cache: last.delta_cache,
        checks: last.checks,
        peak_resident_median: peaks.get(peaks.len() / 2).copied(),
        counts: last.counts.clone(),
        size: last.size.clone(),
        reads: most_modelled(runs).cloned(),
        // Not every session measures them.
        conversion: runs.iter().rev().find_map(|run| run.conversion),
        decode_share: runs.iter().rev().find_map(|run| run.decode_share),
        own_git: runs.iter().rev().find_map(|run| run.own_git),
        requests: requests::percentiles(runs),
        written: requests::written(last),
    })
}

/// The elapsed time of one variant. Its probability is not yet corrected.
fn compare_elapsed(runs: &[&Record], baseline: &Baseline, log_floor: Option<f64>) -> Option<ElapsedComparison> {
    let pairs = baseline.pairs_of(runs);
    let ratio = pairs.estimate()?;
    Some(ElapsedComparison { ratio, adjusted_p: log_floor.map(|floor| pairs.probability(floor)), verdict: None })
}

/// What the runs read, which is the same in all of them. A resumed session may have modelled more or fewer devices than
/// before.
fn most_modelled<'a>(runs: &[&'a Record]) -> Option<&'a TracedReads> {
    runs.iter().filter_map(|run| run.reads.as_ref()).max_by_key(|reads| reads.modelled.len())
}

/// The compared time of one run, in nanoseconds.
fn compared_ns(run: &Record) -> u64 {
    run.compared_time.nanoseconds(&run.sample)
}

/// The elapsed time of one run, in nanoseconds.
fn elapsed_ns(run: &Record) -> u64 {
    run.sample.wall_ns
}

/// What disturbed the runs, over those that report it.
fn disturbance(records: &[&Record]) -> DisturbanceShares {
    let share = |of: fn(&repackbench_records::Disturbance) -> Option<u64>| {
        let known = records.iter().filter_map(|run| Some((of(&run.disturbance)?, run.disturbance.elapsed_ns?)));
        let (sum, elapsed) =
            known.fold((0_u64, 0_u64), |(sum, all), (ns, run)| (sum.saturating_add(ns), all.saturating_add(run)));
        (elapsed > 0).then(|| sum as f64 / elapsed as f64)
    };
    DisturbanceShares {
        steal: share(|run| run.steal_ns),
        cpu_pressure: share(|run| run.cpu_pressure_ns),
        io_pressure: share(|run| run.io_pressure_ns),
        memory_pressure: share(|run| run.memory_pressure_ns),
    }
}

#[cfg(test)]
pub(super) mod tests;
