//! From records to comparisons.

use std::{collections::BTreeMap, time::Duration};

use repackbench_records::{
    ChosenDecoder, ChosenDeltaCache, ComparedTime, DisturbanceShares, RatioEstimate, Record, Role, SpecText,
    TracedReads, VariantComparison, WorkloadComparison, WorkloadLabel,
};

use super::{
    hierarchical::hierarchical,
    median_duration, ratio_estimate,
    verdict::{blocks_for_verdicts, holm, is_valid, log_floor, sign_test, verdict},
};

/// Compares the variants of each workload with the baseline, by the time that its records name
/// ([`Record::compared_time`]). Workloads come in the order in which they first appear in `records`.
///
/// A block's log-ratio for a variant is the logarithm of its time less the mean of those of the baseline's two runs, A and A':
/// the ratio to their geometric mean, which is narrower by an eighth than one to A alone. The mean of two runs is not
/// exchangeable with a single one, and under one-sided noise, which is what machines have, its median lies a little elsewhere. So
/// an interval that leaves out 1 says nothing yet: verdicts are about what lies beyond the noise floor, which the distance of A
/// from A' sets, and which is wider than that shift whatever the noise (the tests of `simulation` show it).
///
/// Verdicts are corrected for the number of ratios in `records`, so all records of a session belong into one call.
///
/// A block in which a needed run is missing or took no measurable time gives no pair. Runs that name a physical copy get the
/// interval of [`hierarchical`] instead of the sign test's.
pub fn compare_records(records: &[Record]) -> Vec<WorkloadComparison> {
    let mut groups: Vec<Vec<&Record>> = Vec::new();
    let mut group_of: BTreeMap<(&str, &str, &WorkloadLabel, ComparedTime), usize> = BTreeMap::new();
    for record in records {
        let repository = &record.repository;
        let key = (&*repository.name, &*repository.fingerprint, &record.workload, record.compared_time);
        let number = *group_of.entry(key).or_insert(groups.len());
        match groups.get_mut(number) {
            Some(group) => group.push(record),
            None => groups.push(vec![record]),
        }
    }
    let mut comparisons: Vec<WorkloadComparison> = groups.iter().filter_map(|group| compare_workload(group)).collect();
    judge(&mut comparisons);
    comparisons
}

/// Half of the widest interval of a workload, its noise among them, as a logarithm; `None` while one has no interval. It says
/// how precisely the workload is known, and nothing of what is known.
pub fn widest_half_width(comparison: &WorkloadComparison) -> Option<f64> {
    let half_width = |estimate: &Option<RatioEstimate>| {
        let interval = (*estimate)?.interval?;
        Some((interval.high.ln() - interval.low.ln()) / 2.0)
    };
    let rows = comparison.rows.iter().filter(|row| row.variant.role != Role::Baseline);
    rows.map(|row| half_width(&row.ratio))
        .chain([half_width(&comparison.noise)])
        .try_fold(0.0_f64, |widest, width| Some(widest.max(width?)))
}

/// Corrects the probabilities of all ratios for their number, and gives the verdicts.
fn judge(comparisons: &mut [WorkloadComparison]) {
    let mut probabilities: Vec<&mut f64> = comparisons
        .iter_mut()
        .flat_map(|comparison| &mut comparison.rows)
        .filter_map(|row| row.adjusted_p.as_mut())
        .collect();
    holm(&mut probabilities);
    let cells = probabilities.len();
    for comparison in comparisons {
        comparison.cells = cells;
        if comparison.blocks_for_verdicts > 0 {
            comparison.blocks_for_verdicts = blocks_for_verdicts(cells);
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

/// Which table row a record belongs to: A' shares the baseline's.
type RowKey<'a> = (u32, Role, Option<&'a SpecText>, Option<&'a ChosenDecoder>, Option<ChosenDeltaCache>);

fn row_key(record: &Record) -> RowKey<'_> {
    let variant = &record.variant;
    let role = if variant.role == Role::BaselineAgain { Role::Baseline } else { variant.role };
    (variant.row, role, variant.spec.as_ref(), variant.decoder.as_ref(), variant.delta_cache)
}

/// A block, told apart from those of other sessions.
pub(crate) type BlockKey = (u64, u64, u32);

/// The block that `run` stood in.
pub(crate) fn block_of(run: &Record) -> BlockKey {
    (run.place.session, run.place.seed, run.place.block)
}

/// One run in its block.
#[derive(Debug, Clone, Copy)]
struct BlockRun {
    /// The logarithm of the compared time; `None` where it was not measurable.
    log: Option<f64>,
    copy: Option<u32>,
}

type BlockRuns = BTreeMap<BlockKey, BlockRun>;

fn block_runs<'a>(runs: impl Iterator<Item = &'a Record>) -> BlockRuns {
    runs.map(|run| {
        let time_ns = compared_ns(run);
        let log = (time_ns > 0).then(|| (time_ns as f64).ln());
        (block_of(run), BlockRun { log, copy: run.place.copy })
    })
    .collect()
}

/// The two runs of the baseline in each block.
struct Baseline {
    first: BlockRuns,
    again: BlockRuns,
}

impl Baseline {
    fn of(records: &[&Record]) -> Self {
        let of_role = |role| records.iter().copied().filter(move |record| record.variant.role == role);
        Baseline { first: block_runs(of_role(Role::Baseline)), again: block_runs(of_role(Role::BaselineAgain)) }
    }

    /// The logarithm of the geometric mean of the two.
    fn log_mean(&self, block: &BlockKey) -> Option<f64> {
        Some(f64::midpoint(self.first.get(block)?.log?, self.again.get(block)?.log?))
    }

    /// A as a multiple of A'.
    fn noise(&self) -> Pairs {
        Pairs::of(&self.first, |block| self.again.get(block)?.log)
    }
}

/// Log-ratios, one from each block that has one, with the copy that was read, if there are several.
struct Pairs(Vec<(u32, Option<u32>, f64)>);

impl Pairs {
    fn of(runs: &BlockRuns, reference: impl Fn(&BlockKey) -> Option<f64>) -> Self {
        let pair = |(number, (block, run)): (u32, (&BlockKey, &BlockRun))| {
            Some((number, run.copy, run.log? - reference(block)?))
        };
        Pairs((0..).zip(runs).filter_map(pair).collect())
    }

    /// With the copy of each, if every one has one.
    fn with_copies(&self) -> Option<Vec<(u32, u32, f64)>> {
        self.0.iter().map(|(block, copy, log)| Some((*block, (*copy)?, *log))).collect()
    }

    fn log_ratios(&self) -> Vec<f64> {
        self.0.iter().map(|(_, _, log)| *log).collect()
    }

    fn estimate(&self) -> Option<RatioEstimate> {
        match self.with_copies().filter(|values| !values.is_empty()) {
            // Without an interval where there is one copy only.
            Some(values) => match hierarchical(&values) {
                Some(found) => Some(found.estimate()),
                None => ratio_estimate(&mut self.log_ratios()).map(|found| RatioEstimate { interval: None, ..found }),
            },
            None => ratio_estimate(&mut self.log_ratios()),
        }
    }

    /// The probability of a distance from 1 like this one's if it were within the noise floor.
    fn probability(&self, log_floor: f64) -> f64 {
        match self.with_copies().and_then(|values| hierarchical(&values)) {
            Some(found) => found.probability(log_floor),
            None => sign_test(&self.log_ratios(), log_floor),
        }
    }
}

fn compare_workload(records: &[&Record]) -> Option<WorkloadComparison> {
    let first = records.first()?;
    let mut rows: BTreeMap<RowKey<'_>, Vec<&Record>> = BTreeMap::new();
    for record in records {
        rows.entry(row_key(record)).or_default().push(record);
    }
    let baseline = Baseline::of(records);
    let noise = baseline.noise().estimate();
    let interval = noise.and_then(|noise| noise.interval);
    let log_floor = interval.as_ref().map(log_floor);
    Some(WorkloadComparison {
        repository: first.repository.clone(),
        workload: first.workload.clone(),
        compared_time: first.compared_time,
        rows: rows.values().filter_map(|runs| compare_variant(runs, &baseline, log_floor)).collect(),
        noise,
        noise_floor: log_floor.map(f64::exp_m1),
        is_valid: interval.as_ref().is_none_or(is_valid),
        cells: 0,
        // Known once all ratios are. Signs, of which there have to be enough, are not what is counted over copies.
        blocks_for_verdicts: u32::from(first.place.copy.is_none()),
        jobs: first.jobs,
        disturbance: disturbance(records),
    })
}

/// One row from all runs of one variant, of which there is at least one. Its probability is that of the row alone.
fn compare_variant(runs: &[&Record], baseline: &Baseline, log_floor: Option<f64>) -> Option<VariantComparison> {
    let mut variant = runs.first()?.variant.clone();
    let is_baseline = matches!(variant.role, Role::Baseline | Role::BaselineAgain);
    if is_baseline {
        variant.role = Role::Baseline;
    }
    let pairs = (!is_baseline).then(|| Pairs::of(&block_runs(runs.iter().copied()), |block| baseline.log_mean(block)));
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
        delta_cache: last.delta_cache,
        checks: last.checks,
        peak_resident_median: peaks.get(peaks.len() / 2).copied(),
        counts: last.counts.clone(),
        size: last.size.clone(),
        reads: most_modelled(runs).cloned(),
    })
}

/// What the runs read, which is the same in all; a session that went on may have modelled more devices than at its beginning, or
/// fewer.
fn most_modelled<'a>(runs: &[&'a Record]) -> Option<&'a TracedReads> {
    runs.iter().filter_map(|run| run.reads.as_ref()).max_by_key(|reads| reads.modelled.len())
}

/// The time of one run that is compared, in nanoseconds.
fn compared_ns(run: &Record) -> u64 {
    run.compared_time.nanoseconds(&run.sample)
}

/// What disturbed the runs, over those of which it is known.
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
pub(super) mod tests {
    use repackbench_records::{
        ContentDigest, DeltaOrigin, Disturbance, Host, RepositoryState, RunPlace, RunUsage, SCHEMA_VERSION,
        SampleRecord, SizeRecord, Variant, Verdict,
    };

    use super::*;

    pub(crate) fn record(workload: &str, role: Role, row: u32, block: u32, user_ns: u64) -> Record {
        let spec = SpecText { typed: format!("codec-{row}"), canonical: format!("codec-{row}") };
        Record {
            schema: SCHEMA_VERSION,
            program_version: "0.1.0".into(),
            started_unix_ms: 0,
            host: Host::default(),
            repository: RepositoryState { name: "sample".into(), ..RepositoryState::default() },
            variant: Variant {
                role,
                row,
                spec: (role != Role::AsFound).then_some(spec),
                checksum: true,
                deltas: DeltaOrigin::Kept,
                decoder: None,
                delta_cache: None,
            },
            decoder: String::new(),
            workload: WorkloadLabel { name: workload.into(), parameters: BTreeMap::new() },
            compared_time: ComparedTime::Cpu,
            place: RunPlace { block, position: 0, seed: 1, session: 0, copy: None },
            sample: SampleRecord { wall_ns: 2 * user_ns, user_ns, sys_ns: 0 },
            usage: RunUsage::default(),
            disturbance: Disturbance::default(),
            delta_cache: None,
            checks: None,
            jobs: 1,
            iterations: 1,
            counts: BTreeMap::from([("objects".into(), 3)]),
            extra: BTreeMap::new(),
            digest: ContentDigest { algorithm: "none".into(), hex: String::new() },
            size: SizeRecord { total_bytes: u64::from(row), ..SizeRecord::default() },
            conversion: None,
            command: None,
            reads: None,
        }
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }

    #[test]
    fn a_ratio_is_taken_within_blocks_against_the_geometric_mean_of_the_baseline_s_runs() {
        let mut records = Vec::new();
        // The second and third block run on a machine that is 10 and 100 times slower: within blocks nothing changes.
        for (block, slow) in [(0, 1), (1, 10), (2, 100)] {
            records.push(record("traverse", Role::Candidate, 2, block, 300 * slow));
            records.push(record("traverse", Role::Baseline, 1, block, 400 * slow));
            records.push(record("traverse", Role::BaselineAgain, 1, block, 900 * slow));
            records.push(record("traverse", Role::AsFound, 0, block, 600 * slow));
        }
        let [comparison] = compare_records(&records).try_into().unwrap();
        let labels: Vec<_> = comparison.rows.iter().map(|row| row.variant.label()).collect();
        assert_eq!(labels, ["as found", "codec-1", "codec-2"]);
        let [as_found, baseline, candidate] = comparison.rows.try_into().unwrap();
        // The square root of 400 * 900 is 600.
        near(as_found.ratio.unwrap().ratio, 1.0);
        near(candidate.ratio.unwrap().ratio, 0.5);
        near(comparison.noise.unwrap().ratio, 400.0 / 900.0);
        assert_eq!(candidate.ratio.unwrap().pairs, 3);
        assert_eq!(candidate.ratio.unwrap().interval, None);
        assert_eq!(baseline.ratio, None);
        assert_eq!((baseline.runs, baseline.compared_median), (6, Duration::from_nanos(6500)));
        assert_eq!((candidate.runs, candidate.wall_median), (3, Duration::from_nanos(6000)));
        assert_eq!((candidate.size.total_bytes, candidate.counts["objects"]), (2, 3));
    }

    #[test]
    fn blocks_that_lack_a_run_or_have_no_time_give_no_pair() {
        let mut records = Vec::new();
        for block in 0..4 {
            records.push(record("checkout", Role::Baseline, 1, block, if block == 0 { 0 } else { 100 }));
            records.push(record("checkout", Role::BaselineAgain, 1, block, if block == 1 { 0 } else { 100 }));
            if block != 2 {
                records.push(record("checkout", Role::Candidate, 2, block, 50));
            }
        }
        let [comparison] = compare_records(&records).try_into().unwrap();
        // Block 0 has no A, block 1 no A', block 2 no candidate.
        assert_eq!(comparison.rows[1].ratio.unwrap().pairs, 1);
        assert_eq!(comparison.rows[1].runs, 3);
        assert_eq!(comparison.noise.unwrap().pairs, 2);
    }

    #[test]
    fn the_workload_s_records_say_which_time_is_compared() {
        let with_system_time = |role, row, user_ns, sys_ns, compared_time| {
            let mut record = record("checkout", role, row, 0, user_ns);
            record.sample.sys_ns = sys_ns;
            Record { compared_time, ..record }
        };
        for (compared_time, ratio, median_ns) in [(ComparedTime::Cpu, 3.0, 600), (ComparedTime::User, 0.5, 50)] {
            let records = [
                with_system_time(Role::Baseline, 1, 100, 100, compared_time),
                with_system_time(Role::BaselineAgain, 1, 100, 100, compared_time),
                with_system_time(Role::Candidate, 2, 50, 550, compared_time),
            ];
            let [comparison] = compare_records(&records).try_into().unwrap();
            assert_eq!(comparison.compared_time, compared_time);
            near(comparison.rows[1].ratio.unwrap().ratio, ratio);
            assert_eq!(comparison.rows[1].compared_median, Duration::from_nanos(median_ns));
        }
        let mixed = [
            with_system_time(Role::Baseline, 1, 100, 100, ComparedTime::Cpu),
            with_system_time(Role::Candidate, 2, 50, 550, ComparedTime::User),
        ];
        assert_eq!(compare_records(&mixed).len(), 2, "different times are not compared with each other");
    }

    #[test]
    fn six_blocks_give_an_interval() {
        let mut records = Vec::new();
        for block in 0..6 {
            records.push(record("checkout", Role::Baseline, 1, block, 1000));
            records.push(record("checkout", Role::BaselineAgain, 1, block, 1000));
            records.push(record("checkout", Role::Candidate, 2, block, 700 + 10 * u64::from(block)));
        }
        let [comparison] = compare_records(&records).try_into().unwrap();
        let interval = comparison.rows[1].ratio.unwrap().interval.unwrap();
        near(interval.low, 0.70);
        near(interval.high, 0.75);
        near(comparison.noise_floor.unwrap(), 0.01);
        near(comparison.rows[1].adjusted_p.unwrap(), 2.0 / 64.0);
        assert_eq!((comparison.rows[1].verdict, comparison.cells), (Some(Verdict::Faster), 1));
        assert_eq!(comparison.blocks_for_verdicts, 6);
        assert_eq!(comparison.rows[0].verdict, None, "the baseline is no faster than itself");
        near(widest_half_width(&comparison).unwrap(), (0.75_f64.ln() - 0.70_f64.ln()) / 2.0);
    }

    /// `blocks` blocks of each workload in which variants take so many times what the baseline takes.
    fn steady(workload: &str, blocks: u32, again: f64, variants: &[f64]) -> Vec<Record> {
        let time = |factor: f64| (1e6 * factor) as u64;
        let mut records = Vec::new();
        for block in 0..blocks {
            records.push(record(workload, Role::Baseline, 0, block, time(1.0)));
            records.push(record(workload, Role::BaselineAgain, 0, block, time(again)));
            for (row, factor) in (1..).zip(variants) {
                records.push(record(workload, Role::Candidate, row, block, time(*factor)));
            }
        }
        records
    }

    fn verdicts(comparison: &WorkloadComparison) -> Vec<Option<Verdict>> {
        comparison.rows.iter().skip(1).map(|row| row.verdict).collect()
    }

    #[test]
    fn verdicts_allow_for_the_number_of_ratios_of_a_session() {
        let six = steady("traverse", 6, 1.0, &[0.5, 1.0, 2.0]);
        let [comparison] = compare_records(&six).try_into().unwrap();
        let inconclusive = Some(Verdict::Inconclusive);
        assert_eq!(verdicts(&comparison), [inconclusive, Some(Verdict::Same), inconclusive], "six blocks are too few");
        let both = [steady("traverse", 9, 1.0, &[0.5, 1.0, 2.0]), steady("checkout", 9, 1.0, &[0.9])].concat();
        let [traverse, checkout] = compare_records(&both).try_into().unwrap();
        assert_eq!(verdicts(&traverse), [Some(Verdict::Faster), Some(Verdict::Same), Some(Verdict::Slower)]);
        assert_eq!((verdicts(&checkout), checkout.cells), (vec![Some(Verdict::Faster)], 4));
    }

    #[test]
    fn noise_widens_the_floor_and_more_of_it_forbids_verdicts() {
        let [comparison] = compare_records(&steady("traverse", 9, 1.009, &[0.97])).try_into().unwrap();
        assert!(comparison.is_valid);
        assert_eq!(verdicts(&comparison), [Some(Verdict::Faster)]);
        let [disturbed] = compare_records(&steady("traverse", 9, 1.05, &[0.5])).try_into().unwrap();
        assert!(!disturbed.is_valid && disturbed.noise_floor.unwrap() > 0.049);
        assert_eq!(verdicts(&disturbed), [None]);
        assert!(disturbed.rows[1].ratio.unwrap().interval.is_some(), "the figures are still there");
    }

    #[test]
    fn nothing_is_precise_before_every_ratio_has_an_interval() {
        let few = compare_records(&steady("traverse", 5, 1.0, &[0.5]));
        assert_eq!(widest_half_width(&few[0]), None);
        assert_eq!((few[0].noise_floor, few[0].rows[1].verdict), (None, None));
        let enough = compare_records(&steady("traverse", 6, 1.0, &[0.5]));
        assert_eq!(widest_half_width(&enough[0]), Some(0.0));
    }

    #[test]
    fn runs_of_several_copies_get_an_interval_over_copies() {
        let mut records = steady("checkout", 12, 1.0, &[0.5]);
        for record in &mut records {
            record.place.copy = Some(record.place.block % 4);
            // One of the copies lies where reading takes twice as long.
            if record.variant.role == Role::Candidate && record.place.copy == Some(3) {
                record.sample.user_ns *= 2;
            }
        }
        let [comparison] = compare_records(&records).try_into().unwrap();
        let interval = comparison.rows[1].ratio.unwrap().interval.unwrap();
        assert!(interval.low < 0.4 && interval.high > 1.0, "{interval:?}");
        assert_eq!(comparison.blocks_for_verdicts, 0);
        for record in &mut records {
            record.place.copy = Some(0);
        }
        let [one_copy] = compare_records(&records).try_into().unwrap();
        assert_eq!(one_copy.rows[1].ratio.unwrap().interval, None, "one copy says nothing of others");
    }

    #[test]
    fn disturbances_are_shares_of_the_runs_of_which_they_are_known() {
        let mut records = steady("traverse", 2, 1.0, &[]);
        records[0].disturbance = Disturbance {
            elapsed_ns: Some(100),
            steal_ns: Some(20),
            cpu_pressure_ns: Some(0),
            ..Disturbance::default()
        };
        records[1].disturbance = Disturbance { elapsed_ns: Some(300), steal_ns: Some(0), ..Disturbance::default() };
        let [comparison] = compare_records(&records).try_into().unwrap();
        let expected = DisturbanceShares { steal: Some(0.05), cpu_pressure: Some(0.0), ..DisturbanceShares::default() };
        assert_eq!(comparison.disturbance, expected);
    }

    #[test]
    fn workloads_and_sessions_stay_apart() {
        let mut records = vec![
            record("traverse", Role::Baseline, 1, 0, 100),
            record("checkout", Role::Baseline, 1, 0, 100),
            record("traverse", Role::BaselineAgain, 1, 0, 100),
        ];
        let mut other_session = record("traverse", Role::Candidate, 2, 0, 50);
        other_session.place.seed = 2;
        records.push(other_session);
        let [traverse, checkout] = compare_records(&records).try_into().unwrap();
        assert_eq!((&*traverse.workload.name, &*checkout.workload.name), ("traverse", "checkout"));
        assert_eq!(traverse.rows[1].ratio, None, "no block holds both the candidate and the baseline");
        assert_eq!(traverse.noise.unwrap().pairs, 1);
        assert_eq!(checkout.noise, None);
        assert!(compare_records(&[]).is_empty());
    }
}
