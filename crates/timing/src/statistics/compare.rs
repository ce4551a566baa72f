//! From records to comparisons.

use std::{collections::BTreeMap, time::Duration};

use repackbench_records::{
    ChosenDecoder, ComparedTime, RatioEstimate, Record, Role, SpecText, VariantComparison, WorkloadComparison,
    WorkloadLabel,
};

use super::{median_duration, ratio_estimate};

/// Compares the variants of each workload with the baseline, by the time that its records name
/// ([`Record::compared_time`]). Workloads come in the order in which they first appear in `records`.
///
/// A block's log-ratio for a variant is the logarithm of its time less that of the baseline's **first run, A, alone**.
/// Where the variant is as fast as the baseline, the two runs are exchangeable, so their log-ratio is symmetric about 0
/// whatever the shape of the noise, and the interval covers what it claims. The mean of A and A' would narrow intervals
/// by an eighth, but is not exchangeable with a single run: under one-sided noise, which is what machines have, its
/// median lies elsewhere than that of one run, and intervals leave out the truth too often. A' serves only to be
/// compared with A, which shows what noise alone does; a difference that is not larger than that one is no difference.
///
/// A block in which a needed run is missing or took no measurable time gives no pair.
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
    groups.iter().filter_map(|group| compare_workload(group)).collect()
}

/// Which table row a record belongs to: A' shares the baseline's.
type RowKey<'a> = (u32, Role, Option<&'a SpecText>, Option<&'a ChosenDecoder>);

fn row_key(record: &Record) -> RowKey<'_> {
    let role = if record.variant.role == Role::BaselineAgain { Role::Baseline } else { record.variant.role };
    (record.variant.row, role, record.variant.spec.as_ref(), record.variant.decoder.as_ref())
}

/// A block, told apart from blocks of other sessions by its seed.
type BlockKey = (u64, u32);

/// Logarithms of compared times by block; `None` where a run took no measurable time.
type BlockLogs = BTreeMap<BlockKey, Option<f64>>;

fn compare_workload(records: &[&Record]) -> Option<WorkloadComparison> {
    let first = records.first()?;
    let mut rows: BTreeMap<RowKey<'_>, Vec<&Record>> = BTreeMap::new();
    for record in records {
        rows.entry(row_key(record)).or_default().push(record);
    }
    let of_role = |role| records.iter().copied().filter(move |record| record.variant.role == role);
    let baseline = block_logs(of_role(Role::Baseline));
    let baseline_again = block_logs(of_role(Role::BaselineAgain));
    Some(WorkloadComparison {
        repository: first.repository.clone(),
        workload: first.workload.clone(),
        compared_time: first.compared_time,
        rows: rows.values().filter_map(|runs| compare_variant(runs, &baseline)).collect(),
        noise: estimate(&baseline, &baseline_again),
    })
}

/// One row from all runs of one variant, of which there is at least one.
fn compare_variant(runs: &[&Record], baseline: &BlockLogs) -> Option<VariantComparison> {
    let mut variant = runs.first()?.variant.clone();
    let is_baseline = matches!(variant.role, Role::Baseline | Role::BaselineAgain);
    if is_baseline {
        variant.role = Role::Baseline;
    }
    let mut compared: Vec<Duration> = runs.iter().map(|run| Duration::from_nanos(compared_ns(run))).collect();
    let mut wall: Vec<Duration> = runs.iter().map(|run| Duration::from_nanos(run.sample.wall_ns)).collect();
    let last = runs.last()?;
    Some(VariantComparison {
        variant,
        runs: runs.len(),
        compared_median: median_duration(&mut compared)?,
        wall_median: median_duration(&mut wall)?,
        ratio: if is_baseline { None } else { estimate(&block_logs(runs.iter().copied()), baseline) },
        counts: last.counts.clone(),
        size: last.size.clone(),
    })
}

/// The time of one run that is compared, in nanoseconds.
fn compared_ns(run: &Record) -> u64 {
    run.compared_time.nanoseconds(&run.sample)
}

fn block_logs<'a>(runs: impl Iterator<Item = &'a Record>) -> BlockLogs {
    runs.map(|run| {
        let time_ns = compared_ns(run);
        ((run.place.seed, run.place.block), (time_ns > 0).then(|| (time_ns as f64).ln()))
    })
    .collect()
}

/// The estimate of `numerator / denominator` over the blocks that have both.
fn estimate(numerator: &BlockLogs, denominator: &BlockLogs) -> Option<RatioEstimate> {
    let log_ratio = |(block, log): (&BlockKey, &Option<f64>)| Some((*log)? - (*denominator.get(block)?)?);
    let mut log_ratios: Vec<f64> = numerator.iter().filter_map(log_ratio).collect();
    ratio_estimate(&mut log_ratios)
}

#[cfg(test)]
mod tests {
    use repackbench_records::{
        ContentDigest, DeltaOrigin, Host, RepositoryState, RunPlace, SCHEMA_VERSION, SampleRecord, SizeRecord, Variant,
    };

    use super::*;

    fn record(workload: &str, role: Role, row: u32, block: u32, user_ns: u64) -> Record {
        let spec = SpecText { typed: format!("codec-{row}"), canonical: format!("codec-{row}") };
        Record {
            schema: SCHEMA_VERSION,
            program_version: "0.1.0".into(),
            started_unix_ms: 0,
            host: Host { cpu_model: None, cores: None, kernel: None, memory_bytes: None },
            repository: RepositoryState { name: "sample".into(), fingerprint: "f".into(), head: None },
            variant: Variant {
                role,
                row,
                spec: (role != Role::AsFound).then_some(spec),
                checksum: true,
                deltas: DeltaOrigin::Kept,
                decoder: None,
            },
            decoder: String::new(),
            workload: WorkloadLabel { name: workload.into(), parameters: BTreeMap::new() },
            compared_time: ComparedTime::Cpu,
            place: RunPlace { block, position: 0, seed: 1 },
            sample: SampleRecord { wall_ns: 2 * user_ns, user_ns, sys_ns: 0 },
            iterations: 1,
            counts: BTreeMap::from([("objects".into(), 3)]),
            digest: ContentDigest { algorithm: "none".into(), hex: String::new() },
            size: SizeRecord { total_bytes: u64::from(row), ..SizeRecord::default() },
        }
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }

    #[test]
    fn a_ratio_is_taken_within_blocks_against_the_baseline_s_first_run() {
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
        near(as_found.ratio.unwrap().ratio, 1.5);
        near(candidate.ratio.unwrap().ratio, 0.75);
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
        // Block 0 has no A, block 2 no candidate; A' matters to the noise alone.
        assert_eq!(comparison.rows[1].ratio.unwrap().pairs, 2);
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
