//! Figures of records: medians and ratios with their intervals.

use std::collections::BTreeMap;

use repackbench_analysis::{COVERAGE, LEAST_FLOOR, compare_records, median, median_ranks, ratio_estimate};
use repackbench_codec::CodecSpec;
use repackbench_records::{
    ComparedTime, Estimate, RatioEstimate, Record, Role, SampleRecord, VariantComparison, WorkloadComparison,
};

/// Who did a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// This program, in-process.
    Replay,
    /// The user's git or hg as it is.
    Plain,
    /// The same with the library, or the extension.
    Library,
}

/// One arm: a codec, and who reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arm {
    pub(crate) who: Who,
    /// The spec in its canonical spelling; `None` for the repository as found.
    pub(crate) spec: Option<String>,
}

impl Arm {
    pub(crate) fn new(who: Who, spec: &CodecSpec) -> Self {
        Arm { who, spec: Some(spec.canonical()) }
    }

    fn is(&self, record: &Record) -> bool {
        self.is_variant(&record.variant)
    }

    fn is_variant(&self, variant: &repackbench_records::Variant) -> bool {
        let who = match &variant.client {
            None => Who::Replay,
            Some(client) if client.library => Who::Library,
            Some(_) => Who::Plain,
        };
        let spec = variant.spec.as_ref().map(|spec| spec.canonical.as_str());
        who == self.who && spec == self.spec.as_deref()
    }
}

/// A job as records name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobName {
    pub(crate) name: &'static str,
    /// Whether it is about the newest commits alone.
    pub(crate) of_newest: bool,
}

impl JobName {
    pub(crate) const fn all(name: &'static str) -> Self {
        JobName { name, of_newest: false }
    }

    pub(crate) const fn newest(name: &'static str) -> Self {
        JobName { name, of_newest: true }
    }

    fn is(self, workload: &repackbench_records::WorkloadLabel) -> bool {
        workload.name == self.name && workload.parameters.contains_key("commits") == self.of_newest
    }
}

/// A time of a run, in seconds.
pub(crate) fn wall(sample: &SampleRecord) -> f64 {
    seconds(sample.wall_ns)
}

/// The same in user mode.
pub(crate) fn user(sample: &SampleRecord) -> f64 {
    seconds(sample.user_ns)
}

/// The same on the processor.
pub(crate) fn cpu(sample: &SampleRecord) -> f64 {
    seconds(sample.user_ns.saturating_add(sample.sys_ns))
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// All times of an arm, in the order of their blocks; the baseline's second run is left out, so that all arms have as many.
pub(crate) fn samples(records: &[Record], job: JobName, arm: &Arm, of: fn(&SampleRecord) -> f64) -> Vec<f64> {
    let of_arm = records
        .iter()
        .filter(|record| job.is(&record.workload) && arm.is(record) && record.variant.role != Role::BaselineAgain);
    let mut by_block: Vec<(u32, f64)> = of_arm.map(|record| (record.place.block, of(&record.sample))).collect();
    by_block.sort_by_key(|(block, _)| *block);
    by_block.into_iter().map(|(_, time)| time).collect()
}

/// The median with its interval, where there are enough values for one.
pub(crate) fn median_estimate(samples: Vec<f64>) -> Option<Estimate> {
    let mut sorted = samples.clone();
    let value = median(&mut sorted)?;
    let interval = median_ranks(sorted.len(), COVERAGE).and_then(|ranks| {
        let low = sorted.get(ranks.rank.checked_sub(1)?)?;
        let high = sorted.get(sorted.len().checked_sub(ranks.rank)?)?;
        Some([*low, *high])
    });
    Some(Estimate { value, interval, samples })
}

/// The least of the first `count` values; `None` if there are fewer.
pub(crate) fn best_of(samples: Vec<f64>, count: usize) -> Option<Estimate> {
    let first = samples.get(..count)?;
    let value = first.iter().copied().min_by(f64::total_cmp)?;
    Some(Estimate { value, interval: None, samples: first.to_vec() })
}

/// The median of the peak resident memory of an arm's runs, in bytes.
pub(crate) fn peak_resident(records: &[Record], job: JobName, arm: &Arm) -> Option<Estimate> {
    let of_arm = records.iter().filter(|record| job.is(&record.workload) && arm.is(record));
    let peaks = of_arm.filter_map(|record| record.usage.peak_resident_bytes).map(|bytes| bytes as f64);
    median_estimate(peaks.collect())
}

/// The peak resident memory of an arm's command, in bytes: that of the one untimed run, which all its records tell.
pub(crate) fn command_peak(records: &[Record], job: JobName, arm: &Arm) -> Option<Estimate> {
    let last = records.iter().rfind(|record| job.is(&record.workload) && arm.is(record))?;
    last.variant.client.as_ref()?;
    let bytes = last.usage.peak_resident_bytes? as f64;
    Some(Estimate { value: bytes, interval: None, samples: vec![bytes] })
}

/// A count of what an arm's runs did that differs between arms.
pub(crate) fn extra(records: &[Record], job: JobName, arm: &Arm, name: &str) -> Option<u64> {
    records.iter().rfind(|record| job.is(&record.workload) && arm.is(record))?.extra.get(name).copied()
}

/// A ratio of times, and how large a difference has to be to be one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) estimate: Estimate,
    /// As a part of 1.
    pub(crate) floor: f64,
}

/// Every ratio to the baseline.
pub(crate) struct Ratios(Vec<WorkloadComparison>);

impl Ratios {
    pub(crate) fn of(records: &[Record]) -> Self {
        Ratios(compare_records(records))
    }

    /// Those of this time, whichever time of these runs is compared elsewhere.
    pub(crate) fn of_time(records: &[Record], time: ComparedTime) -> Self {
        let compared = |record: &Record| Record { compared_time: time, ..record.clone() };
        Ratios(compare_records(&records.iter().map(compared).collect::<Vec<_>>()))
    }

    /// The compared time of `arm` as a multiple of the baseline's, whose two runs must not differ too much.
    pub(crate) fn get(&self, job: JobName, arm: &Arm) -> Option<Ratio> {
        let (comparison, row) = self.row(job, arm)?;
        let floor = comparison.noise_floor.unwrap_or(LEAST_FLOOR);
        let estimate = estimate_of(&row.ratio?)?;
        // Where the noise allows no verdict, the figure stands without its interval.
        let interval = estimate.interval.filter(|_| comparison.is_valid);
        Some(Ratio { estimate: Estimate { interval, ..estimate }, floor })
    }

    fn row(&self, job: JobName, arm: &Arm) -> Option<(&WorkloadComparison, &VariantComparison)> {
        let mut all = self.0.iter().filter(|comparison| job.is(&comparison.workload));
        all.find_map(|comparison| Some((comparison, comparison.rows.iter().find(|row| arm.is_variant(&row.variant))?)))
    }
}

fn estimate_of(ratio: &RatioEstimate) -> Option<Estimate> {
    let interval = ratio.interval.map(|interval| [interval.low, interval.high]);
    let is_finite = ratio.ratio.is_finite() && interval.is_none_or(|ends| ends.iter().all(|end| end.is_finite()));
    is_finite.then_some(Estimate { value: ratio.ratio, interval, samples: Vec::new() })
}

/// The compared time of `arm` as a multiple of that of `of`, from the blocks that have both.
pub(crate) fn between(records: &[Record], job: JobName, arm: &Arm, of: &Arm) -> Option<Estimate> {
    let times = |arm: &Arm| -> BTreeMap<u32, f64> {
        let of_arm = records
            .iter()
            .filter(|record| job.is(&record.workload) && arm.is(record) && record.variant.role != Role::BaselineAgain);
        of_arm.map(|record| (record.place.block, seconds(record.compared_time.nanoseconds(&record.sample)))).collect()
    };
    let (one, other) = (times(arm), times(of));
    let log = |(block, time): (&u32, &f64)| Some((time / other.get(block)?).ln()).filter(|log| log.is_finite());
    let mut logs: Vec<f64> = one.iter().filter_map(log).collect();
    estimate_of(&ratio_estimate(&mut logs)?)
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// A run that took so many milliseconds.
    pub(crate) fn run(workload: &str, role: &str, spec: &str, client: Option<bool>, block: u32, ms: u64) -> Record {
        let canonical = spec.parse::<CodecSpec>().unwrap().for_revlogs().canonical();
        let mut record = json!({
            "schema": 2, "program_version": "0", "started_unix_ms": 0, "host": {},
            "repository": {"name": "sample", "fingerprint": "f", "head": null},
            "variant": {"role": role, "row": 0, "spec": {"typed": spec, "canonical": canonical}, "checksum": true},
            "decoder": "", "workload": {"name": workload, "parameters": {}}, "compared_time": "cpu",
            "place": {"block": block, "position": 0, "seed": 1, "session": 7},
            "sample": {"wall_ns": ms * 2_000_000, "user_ns": ms * 1_000_000, "sys_ns": 0}, "iterations": 1, "counts": {},
            "digest": {"algorithm": "none", "hex": ""}, "size": repackbench_records::SizeRecord::default()
        });
        if let Some(library) = client {
            record["variant"]["client"] =
                json!({"kind": "stock", "program": "git", "version": "2", "library": library, "zlib": "host"});
        }
        serde_json::from_value(record).unwrap()
    }

    /// Seven blocks in which one codec takes `part` of the baseline's time.
    pub(crate) fn blocks(workload: &str, baseline: &str, codec: &str, part: f64) -> Vec<Record> {
        let mut records = Vec::new();
        for block in 0..7 {
            let base = 100 + u64::from(block);
            records.push(run(workload, "baseline", baseline, None, block, base));
            records.push(run(workload, "baseline-again", baseline, None, block, base));
            records.push(run(workload, "candidate", codec, None, block, (base as f64 * part) as u64));
        }
        records
    }

    /// Seven blocks of a stock client's rows: zlib by the plain one, and codecs by the one with the library, or the extension, each with its
    /// part of zlib's time.
    pub(crate) fn by_client(workload: &str, codecs: &[(&str, f64)]) -> Vec<Record> {
        let mut records = Vec::new();
        for block in 0..7 {
            let base = 1000 + u64::from(block);
            for role in ["baseline", "baseline-again"] {
                records.push(run(workload, role, "zlib:6", Some(false), block, base));
            }
            for (codec, part) in codecs {
                records.push(run(workload, "candidate", codec, Some(true), block, (base as f64 * part) as u64));
            }
        }
        records
    }

    fn arm(who: Who, spec: &str) -> Arm {
        Arm { who, spec: Some(spec.to_owned()) }
    }

    #[test]
    fn arms_are_told_apart_by_codec_and_client() {
        let mut records = blocks("traverse", "zlib:6", "zstd:3", 0.5);
        records.push(run("traverse", "candidate", "zstd:3", Some(true), 0, 33));
        records.push(run("diff:pickaxe", "candidate", "zstd:3", Some(true), 0, 34));
        let traverse = JobName::all("traverse");
        assert_eq!(samples(&records, traverse, &arm(Who::Library, "zstd:3"), user), [0.033]);
        assert_eq!(samples(&records, traverse, &arm(Who::Plain, "zstd:3"), user), [0.0; 0]);
        let baseline = samples(&records, traverse, &arm(Who::Replay, "zlib:6"), wall);
        assert_eq!(baseline, [0.2, 0.202, 0.204, 0.206, 0.208, 0.21, 0.212]);
        assert_eq!(samples(&records, JobName::newest("traverse"), &arm(Who::Replay, "zlib:6"), wall), [0.0; 0]);
    }

    #[test]
    fn a_median_has_an_interval_from_six_values_on_and_the_best_of_five_has_five() {
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
        let mut records = blocks("traverse", "zlib:6", "zstd:3", 0.5);
        records.extend(
            blocks("traverse", "zlib:6", "zstd:1", 0.25).into_iter().filter(|run| run.variant.label() == "zstd:1"),
        );
        let ratios = Ratios::of(&records);
        let ratio = ratios.get(JobName::all("traverse"), &arm(Who::Replay, "zstd:3")).unwrap();
        assert!((ratio.estimate.value - 0.5).abs() < 0.01 && ratio.estimate.interval.is_some(), "{ratio:?}");
        assert_eq!(ratio.floor, 0.01);
        assert_eq!(ratios.get(JobName::all("traverse"), &arm(Who::Plain, "zstd:3")), None);
        let replay = |spec: &str| arm(Who::Replay, spec);
        let found = between(&records, JobName::all("traverse"), &replay("zstd:3"), &replay("zstd:1")).unwrap();
        assert!((found.value - 2.0).abs() < 0.05, "{found:?}");
        assert_eq!(between(&records, JobName::all("checkout"), &replay("zstd:3"), &replay("zstd:1")), None);
    }
}
