//! Changes from older records to newer ones.

use std::collections::{BTreeMap, BTreeSet};

use repackbench_records::{
    CellChange, CellId, ComparedTime, Host, Measure, RatioEstimate, RatioInterval, Record, ResultChange, Role,
    WorkloadComparison, WorkloadLabel,
};

use crate::{
    compare::{SessionHosts, compare_records, unify_spellings},
    statistics::ratio_estimate,
};

/// The machines of `records`, by description.
fn machines(records: &[Record]) -> BTreeMap<String, &Host> {
    let hosts = SessionHosts::of(records);
    let of_record = |record| {
        let host = hosts.of_record(record);
        (host.description(), host)
    };
    records.iter().map(of_record).collect()
}

/// One cell of one set of results.
struct Cell {
    compared_time: ComparedTime,
    time: Option<RatioEstimate>,
    size: u64,
}

/// What has to be part of a cell's identity because the results have several.
#[derive(Debug)]
struct Several<'a> {
    machines: bool,
    baselines: bool,
    /// The compared times of each workload: several for a workload that writes files, if some results are older.
    times: BTreeMap<&'a WorkloadLabel, BTreeSet<ComparedTime>>,
}

impl Several<'_> {
    /// The part of a cell's identity that all rows of `comparison` share.
    fn id_of(&self, comparison: &WorkloadComparison, measure: Measure) -> CellId {
        let are_baselines = self.baselines && measure == Measure::RatioToBaseline;
        let are_times = self.times.get(&comparison.workload).is_some_and(|times| times.len() > 1);
        CellId {
            repository: comparison.repository.name.clone(),
            machine: self.machines.then(|| comparison.host.description()),
            workload: comparison.workload.clone(),
            variant: String::new(),
            baseline: comparison.baseline().filter(|_| are_baselines).map(|row| row.variant.label().into_owned()),
            compared_time: are_times.then_some(comparison.compared_time),
        }
    }
}

/// Compares `new` with `old`. Repositories with the same name are the same, so that results from several machines, or
/// from before and after a fetch, can be compared. If either has results of several machines, each machine is compared
/// with itself. Ratios to different baselines and different times of a workload are never compared.
pub fn compare_results(old: &[Record], new: &[Record], measure: Measure) -> ResultChange {
    let mut all = [old, new].concat();
    unify_spellings(&mut all);
    let (old, new) = all.split_at(old.len());
    let (old_machines, new_machines) = (machines(old), machines(new));
    let are_several = old_machines.len() > 1 || new_machines.len() > 1;
    let baselines: BTreeSet<_> = all
        .iter()
        .filter(|record| record.variant.role == Role::Baseline)
        .map(|record| record.variant.label())
        .collect();
    let mut times: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for record in &all {
        times.entry(&record.workload).or_default().insert(record.compared_time);
    }
    let several = Several { machines: are_several, baselines: baselines.len() > 1, times };
    let (before, after) = (cells(old, measure, &several), cells(new, measure, &several));
    let one_of_each = old_machines.iter().next().zip(new_machines.iter().next()).filter(|_| !are_several);
    let changed_host = one_of_each.filter(|(old, new)| old.0 != new.0);
    let only = |these: &BTreeMap<CellId, Cell>, others: &BTreeMap<CellId, Cell>| {
        these.keys().filter(|id| !others.contains_key(*id)).cloned().collect()
    };
    let cells = before.iter().filter_map(|(id, before)| Some(change(id, before, after.get(id)?)));
    let (old_states, new_states) = (fingerprints(old), fingerprints(new));
    let changed = |(name, states): (&String, &BTreeSet<String>)| {
        old_states.get(name).is_some_and(|old| old != states).then(|| name.clone())
    };
    ResultChange {
        measure,
        cells: cells.collect(),
        only_old: only(&before, &after),
        only_new: only(&after, &before),
        changed_host: changed_host.map(|((_, old), (_, new))| ((*old).clone(), (*new).clone())),
        changed_repositories: new_states.iter().filter_map(changed).collect(),
    }
}

fn change(id: &CellId, before: &Cell, after: &Cell) -> CellChange {
    CellChange {
        id: id.clone(),
        compared_time: after.compared_time,
        time: before.time.zip(after.time).map(|(before, after)| quotient(&after, &before)),
        size: after.size as f64 / before.size.max(1) as f64,
    }
}

/// The quotient of two independent estimates, with an interval as wide as the ends of their intervals allow.
fn quotient(numerator: &RatioEstimate, denominator: &RatioEstimate) -> RatioEstimate {
    let interval = numerator.interval.zip(denominator.interval).map(|(above, below)| RatioInterval {
        low: above.low / below.high,
        high: above.high / below.low,
        coverage: above.coverage * below.coverage,
    });
    RatioEstimate {
        ratio: numerator.ratio / denominator.ratio,
        interval,
        pairs: numerator.pairs.min(denominator.pairs),
    }
}

fn cells(records: &[Record], measure: Measure, several: &Several<'_>) -> BTreeMap<CellId, Cell> {
    let mut cells = BTreeMap::new();
    let hosts = SessionHosts::of(records);
    for comparison in compare_records(records) {
        let id = several.id_of(&comparison, measure);
        for row in &comparison.rows {
            let variant = row.variant.label().into_owned();
            let time = match measure {
                Measure::RatioToBaseline => row.ratio,
                Measure::Time => times(records, &hosts, &comparison, &variant),
            };
            // Times are over all comparisons that have the variant.
            let size = row.size.total_bytes;
            cells.entry(CellId { variant, ..id.clone() }).or_insert(Cell {
                compared_time: comparison.compared_time,
                time,
                size,
            });
        }
    }
    cells
}

/// The median of the times in nanoseconds, with its interval, expressed as a ratio to one nanosecond.
fn times(
    records: &[Record],
    hosts: &SessionHosts<'_>,
    comparison: &WorkloadComparison,
    variant: &str,
) -> Option<RatioEstimate> {
    let is_wanted = |record: &&Record| {
        record.repository.name == comparison.repository.name
            && hosts.of_record(record).machine() == comparison.host.machine()
            && record.workload == comparison.workload
            && record.compared_time == comparison.compared_time
            && record.variant.role != Role::BaselineAgain
            // The time of a cold run also depends on the place of the copy on the disk.
            && record.place.copy.is_none()
            && record.variant.label() == variant
    };
    let times = records.iter().filter(is_wanted).map(|record| record.compared_time.nanoseconds(&record.sample));
    ratio_estimate(&mut times.filter(|time| *time > 0).map(|time| (time as f64).ln()).collect::<Vec<_>>())
}

fn fingerprints(records: &[Record]) -> BTreeMap<String, BTreeSet<String>> {
    let mut states: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for record in records {
        states.entry(record.repository.name.clone()).or_default().insert(record.repository.fingerprint.clone());
    }
    states
}

#[cfg(test)]
mod tests {
    use repackbench_records::SpecText;

    use super::*;

    fn estimate(ratio: f64, low: f64, high: f64) -> RatioEstimate {
        RatioEstimate { ratio, interval: Some(RatioInterval { low, high, coverage: 0.95 }), pairs: 9 }
    }

    #[test]
    fn quotient_is_as_uncertain_as_both_parts() {
        let found = quotient(&estimate(0.8, 0.75, 0.85), &estimate(0.7, 0.68, 0.72));
        let interval = found.interval.expect("both have one");
        assert!((found.ratio - 0.8 / 0.7).abs() < 1e-12);
        assert!((interval.low - 0.75 / 0.72).abs() < 1e-12 && (interval.high - 0.85 / 0.68).abs() < 1e-12);
        let without = RatioEstimate { interval: None, ..estimate(0.7, 0.0, 0.0) };
        assert!(quotient(&estimate(0.8, 0.7, 0.9), &without).interval.is_none());
    }

    fn id(variant: &str) -> CellId {
        CellId {
            repository: "sample".into(),
            machine: None,
            workload: WorkloadLabel { name: "traverse".into(), parameters: BTreeMap::new() },
            variant: variant.into(),
            baseline: None,
            compared_time: None,
        }
    }

    /// Six blocks on a machine, in which the variant takes `factor` times the baseline's time.
    fn session(cpu: &str, number: u64, factor: u64) -> Vec<Record> {
        let mut records = Vec::new();
        for block in 0..6 {
            for (role, row, time) in
                [(Role::Baseline, 0, 100), (Role::BaselineAgain, 0, 100), (Role::Candidate, 1, 100 * factor)]
            {
                let mut record = repackbench_records::fixtures::record("traverse", role, row, block, time);
                record.host.cpu_model = Some(cpu.to_owned());
                record.place.session = number;
                records.push(record);
            }
        }
        records
    }

    #[test]
    fn times_by_different_clocks_are_not_compared() {
        let by = |number, compared_time| {
            let mut records = session("fast", number, 2);
            records.iter_mut().for_each(|record| record.compared_time = compared_time);
            records
        };
        let (older, newer) = (by(1, ComparedTime::User), by(2, ComparedTime::CpuWithoutWriting));
        for measure in [Measure::RatioToBaseline, Measure::Time] {
            let change = compare_results(&older, &newer, measure);
            assert!(change.cells.is_empty(), "{change:?}");
            let expected = |compared_time| CellId { compared_time: Some(compared_time), ..id("codec-1") };
            assert_eq!(change.only_old[1], expected(ComparedTime::User));
            assert_eq!(change.only_new[1], expected(ComparedTime::CpuWithoutWriting));
            let command = compare_results(&older, &by(2, ComparedTime::UserOfCommand), measure);
            assert!(command.cells.is_empty(), "{command:?}");
            // If both have both times, each is compared with itself.
            let change = compare_results(&[older.clone(), newer.clone()].concat(), &newer, measure);
            let ids: Vec<CellId> = change.cells.iter().map(|cell| cell.id.clone()).collect();
            let compared_time = Some(ComparedTime::CpuWithoutWriting);
            assert_eq!(ids, ["codec-0", "codec-1"].map(|variant| CellId { compared_time, ..id(variant) }));
            assert_eq!(change.only_old.len(), 2, "{change:?}");
        }
    }

    #[test]
    fn several_machines_are_compared_separately() {
        let (fast, slow) = (session("fast", 1, 2), session("slow", 2, 4));
        let (fast_later, slow_later) = (session("fast", 3, 2), session("slow", 4, 2));
        let old = [fast.clone(), slow.clone()].concat();
        let new = [fast_later, slow_later.clone()].concat();
        for measure in [Measure::RatioToBaseline, Measure::Time] {
            let change = compare_results(&old, &new, measure);
            let of = |machine: &str| {
                let id = CellId { machine: Some(machine.to_owned()), ..id("codec-1") };
                let cell = change.cells.iter().find(|cell| cell.id == id);
                cell.unwrap().time.unwrap().ratio
            };
            assert!((of("fast") - 1.0).abs() < 1e-9 && (of("slow") - 0.5).abs() < 1e-9, "{change:?}");
            assert!(change.only_old.is_empty() && change.changed_host.is_none());
        }
        let gone = compare_results(&old, &slow_later, Measure::RatioToBaseline);
        assert_eq!(gone.only_old.len(), 2, "the fast one's baseline and variant: {gone:?}");
    }

    #[test]
    fn different_machines_are_compared_and_reported() {
        let change = compare_results(&session("fast", 1, 2), &session("slow", 2, 4), Measure::RatioToBaseline);
        let (old, new) = change.changed_host.unwrap();
        assert_eq!((old.cpu_model.as_deref(), new.cpu_model.as_deref()), (Some("fast"), Some("slow")));
        assert!(change.only_old.is_empty());
        let candidate = change.cells.iter().find(|cell| cell.id.variant == "codec-1").unwrap();
        assert!((candidate.time.unwrap().ratio - 2.0).abs() < 1e-9);
        let same = compare_results(&session("fast", 1, 2), &session("fast", 2, 2), Measure::Time);
        assert_eq!(same.changed_host, None);
    }

    #[test]
    fn ratios_to_different_baselines_are_not_compared() {
        let beside = |number, baseline: &str| {
            let mut records = session("fast", number, 2);
            for record in records.iter_mut().filter(|record| record.variant.role != Role::Candidate) {
                let spec = SpecText { typed: baseline.into(), canonical: baseline.into() };
                record.variant.spec = Some(spec);
            }
            records
        };
        let both = [beside(1, "zlib:6"), beside(2, "zlib:9")].concat();
        let change = compare_results(&both, &beside(3, "zlib:9"), Measure::RatioToBaseline);
        let ids: Vec<CellId> = change.cells.iter().map(|cell| cell.id.clone()).collect();
        let beside_9 = |variant| CellId { baseline: Some("zlib:9".into()), ..id(variant) };
        assert_eq!(ids, ["codec-1", "zlib:9"].map(beside_9));
        assert_eq!(change.only_old.len(), 2, "{change:?}");
        let times = compare_results(&both, &beside(3, "zlib:9"), Measure::Time);
        assert_eq!(times.cells.len(), 2, "times are to no baseline: {times:?}");
    }

    #[test]
    fn spelling_of_spec_does_not_matter() {
        let mut new = session("fast", 2, 2);
        new.iter_mut().filter_map(|record| record.variant.spec.as_mut()).for_each(|spec| spec.typed.push('!'));
        for measure in [Measure::RatioToBaseline, Measure::Time] {
            let change = compare_results(&session("fast", 1, 2), &new, measure);
            assert!(change.only_old.is_empty() && change.only_new.is_empty(), "{change:?}");
            let pairs = change.cells.iter().find(|cell| cell.id.variant == "codec-1").and_then(|cell| cell.time);
            assert_eq!(pairs.map(|time| time.pairs), Some(6));
        }
    }

    #[test]
    fn gate_requires_whole_interval_beyond_it() {
        let cell = |time, size| CellChange { id: id("zstd:5"), compared_time: ComparedTime::Cpu, time, size };
        let slower = cell(Some(estimate(1.1, 1.04, 1.2)), 1.0);
        assert!(slower.is_slower(0.03) && !slower.is_slower(0.05) && !slower.is_larger(0.0));
        let unclear = cell(Some(estimate(1.1, 0.99, 1.2)), 1.04);
        assert!(!unclear.is_slower(0.03) && unclear.is_larger(0.03));
        let single = cell(Some(RatioEstimate { interval: None, ..estimate(1.1, 0.0, 0.0) }), 0.9);
        assert!(!single.is_slower(0.03) && !single.is_larger(0.03), "a ratio without an interval claims nothing");
        assert!(!cell(None, 1.0).is_slower(0.0));
    }
}
