//! The figures of one layout, which tables and verdicts share.

use repackbench_analysis::{
    ArmKey, ArmReader, Ratio, Ratios, WorkloadKey, between, command_peak, cpu, extra, median_estimate, peak_resident,
    samples,
};
use repackbench_records::{ChunkForm, ComparedTime, Estimate, ObjectKind, Published, Record, SizeRecord, Statement};

use super::{BASELINE, CODECS, Layout, LayoutKind, STORE, TODAY};
use crate::variants::spec;

pub(super) const UPDATE: WorkloadKey = WorkloadKey::all("checkout");
pub(super) const FLOOR_UPDATE: WorkloadKey = WorkloadKey::all("floor:checkout");
pub(super) const ENCODE: WorkloadKey = WorkloadKey::all("encode");
pub(super) const DECODE: WorkloadKey = WorkloadKey::all("floor:traverse");
pub(super) const CLONE: WorkloadKey = WorkloadKey::all("clone:same");
pub(super) const FLOOR_SEND: WorkloadKey = WorkloadKey::all("floor:serve:zlib");
pub(super) const PULL: WorkloadKey = WorkloadKey::newest("fetch:same");
pub(super) const FLOOR_SEND_NEWEST: WorkloadKey = WorkloadKey::newest("floor:serve:zlib");
pub(super) const FLOOR_WRITE_NEWEST: WorkloadKey = WorkloadKey::newest("floor:ingest");

/// Columns that are looked for by name.
pub(super) const SIZE: &str = "size";
pub(super) const UPDATE_COLUMN: &str = "update";
/// The commands of hg, with their names in tables.
pub(super) const COMMANDS: [(WorkloadKey, &str); 3] =
    [(UPDATE, UPDATE_COLUMN), (CLONE, "clone --pull"), (PULL, "pull")];
/// The rows of codecs.
pub(super) const ZLIB: &str = "zlib";
pub(super) const LZ4: &str = "lz4";
pub(super) const LZ4HC: &str = "lz4hc";

/// The end of the row of a codec that hg has itself, where the extension reads it.
const BY_EXTENSION: &str = ", by the extension";

/// The row of a codec that hg has itself, where the extension reads it.
pub(super) fn by_extension(row: &str) -> String {
    format!("{row}{BY_EXTENSION}")
}

/// The rows of the published repositories.
pub(super) const PUBLISHED_REPOSITORIES: [&str; 2] = ["hg", "linux-2.6"];

/// The figures of one layout.
pub(super) struct LayoutFindings<'a> {
    pub(super) kind: LayoutKind,
    pub(super) published: &'a Published,
    pub(super) records: &'a [Record],
    pub(super) ratios: Ratios,
    /// Ratios of elapsed times, which were published for commands.
    pub(super) elapsed: Ratios,
    /// Ratios of CPU time, for update with that of writing files.
    processor: Ratios,
    /// Sizes by the codec's row.
    pub(super) sizes: Vec<(&'static str, SizeRecord)>,
    /// The size of the repository itself, unless it is a copy that hg made.
    pub(super) as_found: Option<SizeRecord>,
}

/// The row of each codec, and its spec.
pub(super) const ROWS: [(&str, &str); 5] =
    [(ZLIB, BASELINE), (LZ4HC, CODECS[1]), (LZ4, CODECS[0]), (TODAY, TODAY), (STORE, STORE)];

impl<'a> LayoutFindings<'a> {
    pub(super) fn new(published: &'a Published, layout: &Layout<'_>, records: &'a [Record]) -> Self {
        let all = || std::iter::once(&layout.baseline).chain(&layout.codecs);
        let of_row = |text: &str| {
            let wanted = spec(text).ok()?;
            all().find(|sized| sized.spec == wanted).map(|sized| sized.size.clone())
        };
        let sizes = ROWS.iter().filter_map(|(row, text)| Some((*row, of_row(text)?))).collect();
        let as_found = (layout.kind == LayoutKind::AsFound).then(|| layout.as_found.clone());
        LayoutFindings { as_found, ..Self::of(layout.kind, published, records, sizes) }
    }

    pub(super) fn of(
        kind: LayoutKind,
        published: &'a Published,
        records: &'a [Record],
        sizes: Vec<(&'static str, SizeRecord)>,
    ) -> Self {
        let [elapsed, processor] = [ComparedTime::Wall, ComparedTime::Cpu].map(|time| Ratios::of_time(records, time));
        LayoutFindings {
            kind,
            published,
            records,
            ratios: Ratios::of(records),
            elapsed,
            processor,
            sizes,
            as_found: None,
        }
    }

    /// A statement about the layout.
    pub(super) fn says(&self, id: &str) -> Statement {
        self.kind.says(id)
    }

    pub(super) fn size(&self, row: &str) -> Option<&SizeRecord> {
        self.sizes.iter().find(|(found, _)| *found == row).map(|(_, size)| size)
    }

    /// All bytes under a codec as a multiple of zlib's.
    pub(super) fn size_ratio(&self, row: &str) -> Option<f64> {
        let (one, other) = (self.size(row)?.total_bytes, self.size(ZLIB)?.total_bytes);
        (other > 0).then(|| one as f64 / other as f64)
    }

    /// The manifest's part of the bytes that a codec adds; `None` if it adds none.
    pub(super) fn manifest_share(&self, row: &str) -> Option<f64> {
        let (one, other) = (self.size(row)?, self.size(ZLIB)?);
        let all = one.total_bytes.checked_sub(other.total_bytes).filter(|grown| *grown > 0)?;
        Some((kind_bytes(one, ObjectKind::Manifest) - kind_bytes(other, ObjectKind::Manifest)) / all as f64)
    }

    /// The elapsed time of hg with the extension as a multiple of that of plain hg on zlib.
    pub(super) fn elapsed_by_hg(&self, job: WorkloadKey, row: &str) -> Option<Ratio> {
        self.elapsed.get(job, &arm(ArmReader::ClientWithLibrary, row)?)
    }

    /// The same of its CPU time; of commands that write files, of its user time.
    pub(super) fn by_hg(&self, job: WorkloadKey, row: &str) -> Option<Ratio> {
        self.ratios.get(job, &arm(ArmReader::ClientWithLibrary, row)?)
    }

    /// The CPU time of a replay as a multiple of that on zlib.
    pub(super) fn replayed(&self, job: WorkloadKey, row: &str) -> Option<Ratio> {
        self.ratios.get(job, &arm(ArmReader::Replay, row)?)
    }

    /// The time of a codec's replay as a multiple of that of another codec.
    pub(super) fn between(&self, job: WorkloadKey, row: &str, of: &str) -> Option<Ratio> {
        let floor = self.replayed(job, row)?.floor;
        let (one, other) = (arm(ArmReader::Replay, row)?, arm(ArmReader::Replay, of)?);
        Some(Ratio { estimate: between(self.records, job, &one, &other)?, floor })
    }

    /// The median CPU time of an arm, in seconds.
    pub(super) fn cpu_median(&self, job: WorkloadKey, reader: ArmReader, row: &str) -> Option<f64> {
        let estimate = median_estimate(samples(self.records, job, &arm(reader, row)?, cpu))?;
        (estimate.value > 0.0).then_some(estimate.value)
    }

    /// The part of a command under zlib that the start of hg takes.
    pub(super) fn start_share(&self, job: WorkloadKey) -> Option<f64> {
        let start = extra(self.records, job, &arm(ArmReader::Client, ZLIB)?, "process start ns")? as f64 / 1e9;
        Some(start / self.cpu_median(job, ArmReader::Client, ZLIB)?)
    }

    /// The part of a command's CPU time under zlib that plain hg saves in a repository without compression.
    pub(super) fn saved_by_store(&self, job: WorkloadKey) -> Option<Estimate> {
        let Estimate { value, interval, .. } = self.processor.get(job, &arm(ArmReader::Client, STORE)?)?.estimate;
        let interval = interval.map(|[low, high]| [1.0 - high, 1.0 - low]);
        Some(Estimate { value: 1.0 - value, interval, samples: Vec::new() })
    }

    /// The part of the replay of update that the codec takes: a replay only reads, decodes and writes.
    pub(super) fn replayed_share(&self) -> Option<f64> {
        let of = |job| self.cpu_median(job, ArmReader::Replay, ZLIB);
        Some(of(FLOOR_UPDATE)? / of(UPDATE)?)
    }

    /// The median peak memory of the replay of update under a codec.
    pub(super) fn replayed_peak(&self, row: &str) -> Option<Estimate> {
        peak_resident(self.records, UPDATE, &arm(ArmReader::Replay, row)?)
    }

    /// The peak memory of a command.
    pub(super) fn peak(&self, job: WorkloadKey, reader: ArmReader, row: &str) -> Option<Estimate> {
        command_peak(self.records, job, &arm(reader, row)?)
    }

    /// The published repository that is nearest in size.
    pub(super) fn nearest(&self) -> &'static str {
        let size = self.size(ZLIB).map_or(0.0, |size| size.total_bytes as f64).max(1.0);
        let table = self.published.table(SIZE);
        let distance = |row: &&&str| {
            let published = table.and_then(|table| table.value(row, ZLIB)).unwrap_or(f64::INFINITY);
            (published / size).ln().abs()
        };
        let nearest = PUBLISHED_REPOSITORIES.iter().min_by(|one, other| distance(one).total_cmp(&distance(other)));
        nearest.copied().unwrap_or_default()
    }
}

/// The arm of a row by a reader.
pub(super) fn arm(reader: ArmReader, row: &str) -> Option<ArmKey> {
    let (_, text) = ROWS.iter().find(|(found, _)| *found == row)?;
    Some(ArmKey::new(reader, spec(text).ok()?.for_revlogs().canonical()))
}

/// The stored bytes of objects of this kind.
pub(super) fn kind_bytes(size: &SizeRecord, kind: ObjectKind) -> f64 {
    ChunkForm::ALL.iter().map(|form| size.objects.get(kind, *form).stored_bytes as f64).sum()
}

/// The rows of hg's own commands, each with its reader and the end of its label: plain hg for codecs that it reads by
/// itself, and hg with the extension for all.
pub(super) fn rows_of_hg() -> impl Iterator<Item = (&'static str, ArmReader, &'static str)> {
    ROWS.into_iter().flat_map(|(row, _)| {
        let is_hgs_own = [ZLIB, TODAY, STORE].contains(&row);
        let plain = is_hgs_own.then_some((row, ArmReader::Client, ""));
        let suffix = if is_hgs_own { BY_EXTENSION } else { "" };
        plain.into_iter().chain([(row, ArmReader::ClientWithLibrary, suffix)])
    })
}

/// The first layout that has the figure `of`; that of 2012 comes before the repository as found.
pub(super) fn deciding<'a, 'b, T>(
    layouts: &'b [LayoutFindings<'a>],
    of: impl Fn(&LayoutFindings<'a>) -> Option<T>,
) -> Option<(&'b LayoutFindings<'a>, T)> {
    let old = layouts.iter().filter(|layout| layout.kind == LayoutKind::Of2012);
    let others = layouts.iter().filter(|layout| layout.kind != LayoutKind::Of2012);
    old.chain(others).find_map(|layout| Some((layout, of(layout)?)))
}
