//! Figures of one arm of an experiment: samples, medians and ratios of the records that one reader made of one codec.

use std::collections::BTreeMap;

use repackbench_records::{
    ComparedTime, Estimate, RatioEstimate, Record, Role, SampleRecord, Variant, VariantComparison, WorkloadComparison,
    WorkloadLabel,
};

use crate::{COVERAGE, LEAST_NOISE_FLOOR, compare_records, median, median_ranks, ratio_estimate};

/// The reader of an arm's repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArmReader {
    /// This program, in-process.
    Replay,
    /// The user's git or hg.
    Client,
    /// The user's git with the preloaded library, or hg with the extension.
    ClientWithLibrary,
}

/// Identifies an arm: a reader and a codec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArmKey {
    /// The reader.
    pub reader: ArmReader,
    /// The canonical spec; `None` for the repository as found.
    pub spec: Option<String>,
}

impl ArmKey {
    /// The arm of the codec with this canonical spec.
    pub fn new(reader: ArmReader, canonical: String) -> Self {
        ArmKey { reader, spec: Some(canonical) }
    }

    fn is(&self, variant: &Variant) -> bool {
        let reader = match &variant.client {
            None => ArmReader::Replay,
            Some(client) if client.library => ArmReader::ClientWithLibrary,
            Some(_) => ArmReader::Client,
        };
        let spec = variant.spec.as_ref().map(|spec| spec.canonical.as_str());
        reader == self.reader && spec == self.spec.as_deref()
    }
}

/// Identifies a workload by the name and the range that its records have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkloadKey {
    /// The name, as in `diff:pickaxe`.
    pub name: &'static str,
    /// Whether the workload is limited to the newest commits.
    pub of_newest: bool,
}

impl WorkloadKey {
    /// The workload on all of history.
    pub const fn all(name: &'static str) -> Self {
        WorkloadKey { name, of_newest: false }
    }

    /// The workload on the newest commits.
    pub const fn newest(name: &'static str) -> Self {
        WorkloadKey { name, of_newest: true }
    }

    fn is(self, workload: &WorkloadLabel) -> bool {
        workload.name == self.name && workload.parameters.contains_key("commits") == self.of_newest
    }
}

/// The elapsed time of a run, in seconds.
pub fn wall(sample: &SampleRecord) -> f64 {
    seconds(sample.wall_ns)
}

/// The user time of a run, in seconds.
pub fn user(sample: &SampleRecord) -> f64 {
    seconds(sample.user_ns)
}

/// The CPU time of a run, in seconds.
pub fn cpu(sample: &SampleRecord) -> f64 {
    seconds(sample.user_ns.saturating_add(sample.sys_ns))
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// The records of an arm's runs of a workload.
fn of_arm<'r>(
    records: &'r [Record],
    workload: WorkloadKey,
    arm: &ArmKey,
) -> impl DoubleEndedIterator<Item = &'r Record> {
    records.iter().filter(move |record| workload.is(&record.workload) && arm.is(&record.variant))
}

/// The same without the second run of the baseline in each block, so that all arms have equally many.
fn once_per_block<'r>(records: &'r [Record], workload: WorkloadKey, arm: &ArmKey) -> impl Iterator<Item = &'r Record> {
    of_arm(records, workload, arm).filter(|record| record.variant.role != Role::BaselineAgain)
}

/// All times of an arm in the order of their blocks, without the baseline's second runs.
pub fn samples(records: &[Record], workload: WorkloadKey, arm: &ArmKey, of: fn(&SampleRecord) -> f64) -> Vec<f64> {
    let runs = once_per_block(records, workload, arm);
    let mut by_block: Vec<(u32, f64)> = runs.map(|record| (record.place.block, of(&record.sample))).collect();
    by_block.sort_by_key(|(block, _)| *block);
    by_block.into_iter().map(|(_, time)| time).collect()
}

/// The median, with its interval where there are enough samples for one.
pub fn median_estimate(samples: Vec<f64>) -> Option<Estimate> {
    let mut sorted = samples.clone();
    let value = median(&mut sorted)?;
    let interval = median_ranks(sorted.len(), COVERAGE).and_then(|ranks| {
        let low = sorted.get(ranks.rank.checked_sub(1)?)?;
        let high = sorted.get(sorted.len().checked_sub(ranks.rank)?)?;
        Some([*low, *high])
    });
    Some(Estimate { value, interval, samples })
}

/// The least of the first `count` samples; `None` if there are fewer.
pub fn best_of(samples: Vec<f64>, count: usize) -> Option<Estimate> {
    let first = samples.get(..count)?;
    let value = first.iter().copied().min_by(f64::total_cmp)?;
    Some(Estimate { value, interval: None, samples: first.to_vec() })
}

/// The median of the peak resident memory of an arm's runs, in bytes.
pub fn peak_resident(records: &[Record], workload: WorkloadKey, arm: &ArmKey) -> Option<Estimate> {
    let peaks = of_arm(records, workload, arm).filter_map(|record| record.usage.peak_resident_bytes);
    median_estimate(peaks.map(|bytes| bytes as f64).collect())
}

/// The peak resident memory of an arm's command, in bytes: one untimed run measures it, and every record of the arm repeats it.
pub fn command_peak(records: &[Record], workload: WorkloadKey, arm: &ArmKey) -> Option<Estimate> {
    let last = of_arm(records, workload, arm).next_back()?;
    last.variant.client.as_ref()?;
    let bytes = last.usage.peak_resident_bytes? as f64;
    Some(Estimate { value: bytes, interval: None, samples: vec![bytes] })
}

/// A named count of an arm's runs that may differ between arms.
pub fn extra(records: &[Record], workload: WorkloadKey, arm: &ArmKey, name: &str) -> Option<u64> {
    of_arm(records, workload, arm).next_back()?.extra.get(name).copied()
}

/// A ratio of times, with the noise floor that a difference has to exceed.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratio {
    /// The ratio and its interval.
    pub estimate: Estimate,
    /// The noise floor, as a part of 1.
    pub floor: f64,
}

/// Every ratio to the baseline.
pub struct Ratios(Vec<WorkloadComparison>);

impl Ratios {
    /// Ratios of the times that the records compare.
    pub fn of(records: &[Record]) -> Self {
        Ratios(compare_records(records))
    }

    /// Ratios of `time`, whichever time the records compare.
    pub fn of_time(records: &[Record], time: ComparedTime) -> Self {
        let compared = |record: &Record| Record { compared_time: time, ..record.clone() };
        Ratios(compare_records(&records.iter().map(compared).collect::<Vec<_>>()))
    }

    /// The compared time of `arm` as a multiple of the baseline's. It has no interval where the baseline's two runs differ too much for a
    /// verdict.
    pub fn get(&self, workload: WorkloadKey, arm: &ArmKey) -> Option<Ratio> {
        let (comparison, row) = self.row(workload, arm)?;
        let floor = comparison.noise_floor.unwrap_or(LEAST_NOISE_FLOOR);
        let estimate = estimate_of(&row.ratio?)?;
        let interval = estimate.interval.filter(|_| comparison.is_valid);
        Some(Ratio { estimate: Estimate { interval, ..estimate }, floor })
    }

    fn row(&self, workload: WorkloadKey, arm: &ArmKey) -> Option<(&WorkloadComparison, &VariantComparison)> {
        let mut all = self.0.iter().filter(|comparison| workload.is(&comparison.workload));
        all.find_map(|comparison| Some((comparison, comparison.rows.iter().find(|row| arm.is(&row.variant))?)))
    }
}

fn estimate_of(ratio: &RatioEstimate) -> Option<Estimate> {
    let interval = ratio.interval.map(|interval| [interval.low, interval.high]);
    let is_finite = ratio.ratio.is_finite() && interval.is_none_or(|ends| ends.iter().all(|end| end.is_finite()));
    is_finite.then_some(Estimate { value: ratio.ratio, interval, samples: Vec::new() })
}

/// The compared time of `arm` as a multiple of that of `of`, from the blocks that have both.
pub fn between(records: &[Record], workload: WorkloadKey, arm: &ArmKey, of: &ArmKey) -> Option<Estimate> {
    let times = |arm: &ArmKey| -> BTreeMap<u32, f64> {
        let time = |record: &Record| seconds(record.compared_time.nanoseconds(&record.sample));
        once_per_block(records, workload, arm).map(|record| (record.place.block, time(record))).collect()
    };
    let (one, other) = (times(arm), times(of));
    let log = |(block, time): (&u32, &f64)| Some((time / other.get(block)?).ln()).filter(|log| log.is_finite());
    let mut logs: Vec<f64> = one.iter().filter_map(log).collect();
    estimate_of(&ratio_estimate(&mut logs)?)
}

#[cfg(test)]
mod tests {
    use repackbench_records::{Client, ClientKind, fixtures::record};

    use super::*;

    /// Seven blocks: `row` takes `part` of the baseline's time, which is 100 ms and a little more in each block.
    fn blocks(row: u32, part: f64) -> Vec<Record> {
        let mut records = Vec::new();
        for block in 0..7 {
            let base = 100 + u64::from(block);
            let time = |ms: f64| (ms * 1e6) as u64;
            records.push(record("traverse", Role::Baseline, 0, block, time(base as f64)));
            records.push(record("traverse", Role::BaselineAgain, 0, block, time(base as f64)));
            records.push(record("traverse", Role::Candidate, row, block, time(base as f64 * part)));
        }
        records
    }

    fn arm(reader: ArmReader, row: u32) -> ArmKey {
        ArmKey::new(reader, format!("codec-{row}"))
    }

    #[test]
    fn samples_belong_to_one_codec_and_reader() {
        let mut records = blocks(1, 0.5);
        let mut by_git = record("traverse", Role::Candidate, 1, 0, 33_000_000);
        by_git.variant.client = Some(Client {
            kind: ClientKind::Stock,
            program: "git".into(),
            version: "2".into(),
            library: true,
            zlib: "host".into(),
            helps: Vec::new(),
        });
        records.push(by_git);
        let traverse = WorkloadKey::all("traverse");
        assert_eq!(samples(&records, traverse, &arm(ArmReader::ClientWithLibrary, 1), user), [0.033]);
        assert_eq!(samples(&records, traverse, &arm(ArmReader::Client, 1), user), [0.0; 0]);
        let baseline = samples(&records, traverse, &arm(ArmReader::Replay, 0), user);
        assert_eq!(baseline, [0.1, 0.101, 0.102, 0.103, 0.104, 0.105, 0.106]);
        assert_eq!(samples(&records, WorkloadKey::newest("traverse"), &arm(ArmReader::Replay, 0), wall), [0.0; 0]);
    }

    #[test]
    fn medians_have_an_interval_from_six_samples_on() {
        let six = median_estimate(vec![3.0, 1.0, 2.0, 6.0, 5.0, 4.0]).unwrap();
        assert_eq!((six.value, six.interval), (3.5, Some([1.0, 6.0])));
        assert_eq!(six.samples, [3.0, 1.0, 2.0, 6.0, 5.0, 4.0]);
        assert_eq!(median_estimate(vec![1.0; 5]).unwrap().interval, None);
        assert_eq!(median_estimate(vec![]), None);
        assert_eq!(best_of(vec![3.0, 2.0, 4.0, 5.0, 6.0, 1.0], 5).unwrap().value, 2.0);
        assert_eq!(best_of(vec![1.0; 4], 5), None);
    }

    #[test]
    fn ratios_are_to_the_baseline_or_to_another_arm() {
        let mut records = blocks(1, 0.5);
        records.extend(blocks(2, 0.25).into_iter().filter(|run| run.variant.row == 2));
        let traverse = WorkloadKey::all("traverse");
        let ratios = Ratios::of(&records);
        let ratio = ratios.get(traverse, &arm(ArmReader::Replay, 1)).unwrap();
        assert!((ratio.estimate.value - 0.5).abs() < 0.01 && ratio.estimate.interval.is_some(), "{ratio:?}");
        assert_eq!(ratio.floor, 0.01);
        assert_eq!(ratios.get(traverse, &arm(ArmReader::Client, 1)), None);
        let found = between(&records, traverse, &arm(ArmReader::Replay, 1), &arm(ArmReader::Replay, 2)).unwrap();
        assert!((found.value - 2.0).abs() < 0.05, "{found:?}");
        let checkout = WorkloadKey::all("checkout");
        assert_eq!(between(&records, checkout, &arm(ArmReader::Replay, 1), &arm(ArmReader::Replay, 2)), None);
    }
}
