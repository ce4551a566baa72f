//! The figures that tables and verdicts share.

use repackbench_analysis::{
    ArmKey, ArmReader, Ratio, Ratios, WorkloadKey, between, cpu, extra, median_estimate, samples,
};
use repackbench_records::{Estimate, Published, Record, SizeRecord};

use super::{BASELINE, CODECS, Variants, ZLIB, ZSTD, ZSTD_DEFAULT};
use crate::variants::spec;

/// Work of one reader.
#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    workload: WorkloadKey,
    reader: ArmReader,
}

impl Task {
    const fn replay(name: &'static str) -> Self {
        Task { workload: WorkloadKey::all(name), reader: ArmReader::Replay }
    }

    const fn of_hg(name: &'static str) -> Self {
        Task { workload: WorkloadKey::all(name), reader: ArmReader::Client }
    }

    fn arm(self, text: &str) -> Option<ArmKey> {
        Some(ArmKey::new(self.reader, spec(text).ok()?.for_revlogs().canonical()))
    }
}

/// Every revision is read, in-process.
pub(super) const READ: Task = Task::replay("cat-all");
/// Only the codec in [`READ`].
pub(super) const DECODE: Task = Task::replay("floor:cat-all");
/// Changelog and manifests are read, in-process.
pub(super) const TRAVERSE: Task = Task::replay("traverse");
/// All payloads are compressed, in-process.
pub(super) const COMPRESS: Task = Task::replay("encode");
/// hg chooses all deltas again, and writes.
pub(super) const WRITE: Task = Task::of_hg("repack");
/// hg reads and checks every revision.
pub(super) const VERIFY: Task = Task::of_hg("fsck");

/// The columns of the published tables that the claims are about.
pub(super) const DEFAULTS: &str = "zstd:3 to zlib:6";
pub(super) const EXTREMES: &str = "slowest zstd to fastest zlib";
/// The published tables.
pub(super) const READING: &str = "reading";
pub(super) const WRITING: &str = "writing";

/// The slowest level of zstd beside the fastest of zlib.
pub(super) struct Extremes {
    pub(super) slowest_zstd: &'static str,
    pub(super) fastest_zlib: &'static str,
    pub(super) ratio: Ratio,
}

/// The figures that underlie tables and claims.
pub(super) struct Findings<'a> {
    pub(super) published: &'a Published,
    records: &'a [Record],
    ratios: Ratios,
    /// Sizes by codec.
    sizes: Vec<(&'static str, SizeRecord)>,
    /// The size of the repository as found.
    pub(super) as_found: SizeRecord,
}

impl<'a> Findings<'a> {
    pub(super) fn new(published: &'a Published, records: &'a [Record], variants: &Variants) -> Self {
        let codecs = CODECS.iter().zip(&variants.codecs).map(|(codec, sized)| (*codec, sized.size.clone()));
        let sizes = std::iter::once((BASELINE, variants.baseline.size.clone())).chain(codecs).collect();
        Self::of(published, records, sizes, variants.as_found.clone())
    }

    fn of(
        published: &'a Published,
        records: &'a [Record],
        sizes: Vec<(&'static str, SizeRecord)>,
        as_found: SizeRecord,
    ) -> Self {
        Findings { published, records, ratios: Ratios::of(records), sizes, as_found }
    }

    /// The size under a codec.
    pub(super) fn size(&self, codec: &str) -> Option<&SizeRecord> {
        self.sizes.iter().find(|(found, _)| *found == codec).map(|(_, size)| size)
    }

    fn bytes(&self, codec: &str) -> Option<f64> {
        self.size(codec).map(|size| size.total_bytes as f64).filter(|bytes| *bytes > 0.0)
    }

    /// All bytes under zstd's default level as a multiple of those under zlib's.
    pub(super) fn size_ratio(&self) -> Option<f64> {
        Some(self.bytes(ZSTD_DEFAULT)? / self.bytes(BASELINE)?)
    }

    /// The most bytes under one of `levels` less the fewest, as a part of those under `default`.
    pub(super) fn size_span(&self, levels: &[&str], default: &str) -> Option<f64> {
        let bytes: Vec<f64> = levels.iter().filter_map(|level| self.bytes(level)).collect();
        let (least, most) = (bytes.iter().copied().reduce(f64::min)?, bytes.iter().copied().reduce(f64::max)?);
        (bytes.len() > 1).then_some((most - least) / self.bytes(default)?)
    }

    /// The time of a task under a codec as a multiple of that under the baseline.
    pub(super) fn ratio(&self, task: Task, codec: &str) -> Option<Ratio> {
        self.ratios.get(task.workload, &task.arm(codec)?)
    }

    /// The median CPU time of a task, in seconds.
    pub(super) fn seconds(&self, task: Task, codec: &str) -> Option<Estimate> {
        median_estimate(samples(self.records, task.workload, &task.arm(codec)?, cpu))
    }

    /// The time under one codec as a multiple of that under another.
    pub(super) fn between(&self, task: Task, codec: &str, of: &str) -> Option<Ratio> {
        if of == BASELINE {
            return self.ratio(task, codec);
        }
        let floor = self.ratio(task, of)?.floor;
        let estimate = between(self.records, task.workload, &task.arm(codec)?, &task.arm(of)?)?;
        // Without a verdict on a ratio to the baseline, there is none on a ratio of two of those.
        let is_valid = self.ratio(task, of)?.estimate.interval.is_some();
        let interval = estimate.interval.filter(|_| is_valid);
        Some(Ratio { estimate: Estimate { interval, ..estimate }, floor })
    }

    /// The extreme levels of a task among those that were measured, by their ratios to the baseline.
    pub(super) fn extremes(&self, task: Task) -> Option<Extremes> {
        let value = |codec: &'static str| {
            let value = if codec == BASELINE { 1.0 } else { self.ratio(task, codec)?.estimate.value };
            Some((codec, value))
        };
        let (slowest_zstd, _) = ZSTD.into_iter().filter_map(value).max_by(|one, other| one.1.total_cmp(&other.1))?;
        let (fastest_zlib, _) = ZLIB.into_iter().filter_map(value).min_by(|one, other| one.1.total_cmp(&other.1))?;
        let ratio = self.between(task, slowest_zstd, fastest_zlib)?;
        Some(Extremes { slowest_zstd, fastest_zlib, ratio })
    }

    /// The levels under which a task was not measured.
    pub(super) fn missing(&self, task: Task) -> Vec<&'static str> {
        let is_missing = |codec: &&str| *codec != BASELINE && self.ratio(task, codec).is_none();
        ZLIB.into_iter().chain(ZSTD).filter(is_missing).collect()
    }

    /// The part of a command of hg under the baseline that the start of hg takes.
    pub(super) fn start_share(&self, task: Task) -> Option<f64> {
        let start = extra(self.records, task.workload, &task.arm(BASELINE)?, "process start ns")? as f64 / 1e9;
        let all = self.seconds(task, BASELINE)?.value;
        (all > 0.0).then_some(start / all)
    }

    /// The published ratios in a column, one for each repository that has one.
    pub(super) fn published_ratios(&self, table: &str, column: &str) -> Vec<f64> {
        let Some(table) = self.published.table(table) else { return Vec::new() };
        table.rows.iter().filter_map(|row| table.value(&row.label, column)).collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use repackbench_records::published_experiment;

    use super::*;
    use crate::{tests::run, zlib_vs_zstd_revlog::NAME};

    pub(in super::super) fn sizes_of(bytes: &[(&'static str, u64)]) -> Vec<(&'static str, SizeRecord)> {
        bytes
            .iter()
            .map(|(codec, total_bytes)| (*codec, SizeRecord { total_bytes: *total_bytes, ..SizeRecord::default() }))
            .collect()
    }

    pub(in super::super) fn found_of<'a>(
        published: &'a Published,
        records: &'a [Record],
        sizes: Vec<(&'static str, SizeRecord)>,
    ) -> Findings<'a> {
        Findings::of(published, records, sizes, SizeRecord::default())
    }

    /// Seven blocks of `workload`, in which each codec takes its part of the baseline's time.
    pub(in super::super) fn blocks_of(workload: &str, client: Option<bool>, codecs: &[(&str, f64)]) -> Vec<Record> {
        let mut records = Vec::new();
        for block in 0..7 {
            let base = 1000 + u64::from(block);
            for role in ["baseline", "baseline-again"] {
                records.push(run(workload, role, BASELINE, client, block, base));
            }
            for (codec, part) in codecs {
                records.push(run(workload, "candidate", codec, client, block, (base as f64 * part) as u64));
            }
        }
        records
    }

    /// Every task, in which each codec takes its part of the baseline's time.
    pub(in super::super) fn made_up(codecs: &[(&str, f64)]) -> Vec<Record> {
        let replays = ["cat-all", "floor:cat-all", "traverse", "encode"].map(|name| blocks_of(name, None, codecs));
        let of_hg = ["repack", "fsck"].map(|name| blocks_of(name, Some(false), codecs));
        replays.into_iter().chain(of_hg).flatten().collect()
    }

    #[test]
    fn extremes_are_of_the_measured_levels() {
        let published = published_experiment(NAME).unwrap();
        let records = made_up(&[("zlib:1", 0.8), ("zlib:9", 1.2), ("zstd:1", 0.5), ("zstd:20", 0.6), ("zstd:3", 0.4)]);
        let found = found_of(published, &records, vec![]);
        for task in [READ, WRITE] {
            let extremes = found.extremes(task).unwrap();
            assert_eq!((extremes.slowest_zstd, extremes.fastest_zlib), ("zstd:20", "zlib:1"));
            assert!((extremes.ratio.estimate.value - 0.75).abs() < 0.01, "{:?}", extremes.ratio);
            assert_eq!(found.missing(task), ["zstd:5", "zstd:10", "zstd:15"]);
        }
        let records = made_up(&[("zlib:1", 1.1), ("zstd:3", 0.4)]);
        let extremes = found_of(published, &records, vec![]).extremes(READ).unwrap();
        assert_eq!((extremes.slowest_zstd, extremes.fastest_zlib), ("zstd:3", "zlib:6"));
        assert!((extremes.ratio.estimate.value - 0.4).abs() < 0.01, "{:?}", extremes.ratio);
        assert!(found_of(published, &[], vec![]).extremes(READ).is_none());
    }

    #[test]
    fn spans_of_sizes_are_parts_of_the_default_level() {
        let published = published_experiment(NAME).unwrap();
        let found = found_of(published, &[], sizes_of(&[("zlib:6", 1000), ("zlib:1", 1080), ("zlib:9", 990)]));
        assert_eq!(found.size_span(&ZLIB, BASELINE), Some(0.09));
        assert_eq!(found.size_span(&ZSTD, ZSTD_DEFAULT), None);
        assert_eq!(found.size_ratio(), None);
    }
}
