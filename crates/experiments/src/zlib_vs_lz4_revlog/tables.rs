//! The tables: what was published beside what was measured, a set for each layout.

use repackbench_records::{
    ChunkForm, ComparedTime, Estimate, ExperimentColumn, ExperimentRow, ExperimentTable, ObjectKind, Published, Record,
    SizeRecord, Unit,
};

use super::{AS_FOUND, BASELINE, CODECS, Layout, STORE, TODAY, memory, shares};
use crate::{
    Context,
    estimates::{
        Arm, JobName, Ratio, Ratios, Who, between, command_peak, cpu, extra, median_estimate, peak_resident, samples,
        wall,
    },
    tables::{column, has_figure},
    text::{list, megabytes},
    variants::spec,
};

pub(super) const UPDATE: JobName = JobName::all("checkout");
pub(super) const FLOOR_UPDATE: JobName = JobName::all("floor:checkout");
pub(super) const ENCODE: JobName = JobName::all("encode");
pub(super) const DECODE: JobName = JobName::all("floor:traverse");
pub(super) const CLONE: JobName = JobName::all("clone:same");
pub(super) const FLOOR_SEND: JobName = JobName::all("floor:serve:zlib");
pub(super) const PULL: JobName = JobName::newest("fetch:same");
pub(super) const FLOOR_SEND_NEWEST: JobName = JobName::newest("floor:serve:zlib");
pub(super) const FLOOR_WRITE_NEWEST: JobName = JobName::newest("floor:ingest");

/// Columns that others look for.
pub(super) const SIZE: &str = "size";
pub(super) const UPDATE_COLUMN: &str = "update";
/// The commands of hg, and what tables call them.
pub(super) const COMMANDS: [(JobName, &str); 3] = [(UPDATE, UPDATE_COLUMN), (CLONE, "clone --pull"), (PULL, "pull")];
/// The rows of codecs.
pub(super) const ZLIB: &str = "zlib";
pub(super) const LZ4: &str = "lz4";
pub(super) const LZ4HC: &str = "lz4hc";

/// Ends the row of what hg reads by itself, too.
const BY_EXTENSION: &str = ", by the extension";

/// The row of a codec that hg has itself, where the extension read it.
pub(super) fn by_extension(row: &str) -> String {
    format!("{row}{BY_EXTENSION}")
}

/// The published repositories, with the names of their rows.
pub(super) const PUBLISHED_REPOSITORIES: [&str; 2] = ["hg", "linux-2.6"];

/// What was found in one layout.
pub(super) struct LayoutFindings<'a> {
    pub(super) name: &'static str,
    pub(super) published: &'a Published,
    pub(super) records: &'a [Record],
    pub(super) ratios: Ratios,
    /// The same of elapsed times, which is what was published of commands.
    elapsed: Ratios,
    /// The same of processor time, which update, too, is a part of.
    processor: Ratios,
    /// Sizes by the codec's row.
    sizes: Vec<(&'static str, SizeRecord)>,
    /// The size of the repository itself, unless it is a copy that hg made.
    as_found: Option<SizeRecord>,
}

/// The row of each codec, and its spec.
const ROWS: [(&str, &str); 5] =
    [(ZLIB, BASELINE), (LZ4HC, CODECS[1]), (LZ4, CODECS[0]), (TODAY, TODAY), (STORE, STORE)];

impl<'a> LayoutFindings<'a> {
    pub(super) fn new(published: &'a Published, layout: &Layout<'_>, records: &'a [Record]) -> Self {
        let all = || std::iter::once(&layout.baseline).chain(&layout.codecs);
        let of_row = |text: &str| {
            let wanted = spec(text).ok()?;
            all().find(|sized| sized.spec == wanted).map(|sized| sized.size.clone())
        };
        let sizes = ROWS.iter().filter_map(|(row, text)| Some((*row, of_row(text)?))).collect();
        let as_found = (layout.name == AS_FOUND).then(|| layout.as_found.clone());
        LayoutFindings { as_found, ..Self::of(layout.name, published, records, sizes) }
    }

    pub(super) fn of(
        name: &'static str,
        published: &'a Published,
        records: &'a [Record],
        sizes: Vec<(&'static str, SizeRecord)>,
    ) -> Self {
        let [elapsed, processor] = [ComparedTime::Wall, ComparedTime::Cpu].map(|time| Ratios::of_time(records, time));
        LayoutFindings {
            name,
            published,
            records,
            ratios: Ratios::of(records),
            elapsed,
            processor,
            sizes,
            as_found: None,
        }
    }

    pub(super) fn size(&self, row: &str) -> Option<&SizeRecord> {
        self.sizes.iter().find(|(found, _)| *found == row).map(|(_, size)| size)
    }

    /// All bytes under a codec as a multiple of zlib's.
    pub(super) fn size_ratio(&self, row: &str) -> Option<f64> {
        let (one, other) = (self.size(row)?.total_bytes, self.size(ZLIB)?.total_bytes);
        (other > 0).then(|| one as f64 / other as f64)
    }

    /// The manifest's part of the bytes that a codec adds; `None` where it adds none.
    pub(super) fn manifest_share(&self, row: &str) -> Option<f64> {
        let (one, other) = (self.size(row)?, self.size(ZLIB)?);
        let all = one.total_bytes.checked_sub(other.total_bytes).filter(|grown| *grown > 0)?;
        Some((kind_bytes(one, ObjectKind::Manifest) - kind_bytes(other, ObjectKind::Manifest)) / all as f64)
    }

    /// Elapsed time of stock hg, with the extension, to that of plain hg on zlib.
    pub(super) fn elapsed_by_hg(&self, job: JobName, row: &str) -> Option<Ratio> {
        self.elapsed.get(job, &arm(Who::Library, row)?)
    }

    /// The same of its time on the processor; of commands that write files, in user mode.
    pub(super) fn by_hg(&self, job: JobName, row: &str) -> Option<Ratio> {
        self.ratios.get(job, &arm(Who::Library, row)?)
    }

    pub(super) fn replayed(&self, job: JobName, row: &str) -> Option<Ratio> {
        self.ratios.get(job, &arm(Who::Replay, row)?)
    }

    /// The time of one codec as a multiple of another's, of replays.
    pub(super) fn between(&self, job: JobName, row: &str, of: &str) -> Option<Ratio> {
        let floor = self.replayed(job, row)?.floor;
        let (one, other) = (arm(Who::Replay, row)?, arm(Who::Replay, of)?);
        Some(Ratio { estimate: between(self.records, job, &one, &other)?, floor })
    }

    /// The median CPU time of an arm, in seconds.
    pub(super) fn cpu_median(&self, job: JobName, who: Who, row: &str) -> Option<f64> {
        let estimate = median_estimate(samples(self.records, job, &arm(who, row)?, cpu))?;
        (estimate.value > 0.0).then_some(estimate.value)
    }

    /// What the start of hg alone takes of a command under zlib.
    pub(super) fn start_share(&self, job: JobName) -> Option<f64> {
        let start = extra(self.records, job, &arm(Who::Plain, ZLIB)?, "process start ns")? as f64 / 1e9;
        Some(start / self.cpu_median(job, Who::Plain, ZLIB)?)
    }

    /// What plain hg saves of the CPU time of a command under zlib in a repository without compression.
    pub(super) fn saved_by_store(&self, job: JobName) -> Option<Estimate> {
        let Estimate { value, interval, .. } = self.processor.get(job, &arm(Who::Plain, STORE)?)?.estimate;
        let interval = interval.map(|[low, high]| [1.0 - high, 1.0 - low]);
        Some(Estimate { value: 1.0 - value, interval, samples: Vec::new() })
    }

    /// What the codec alone takes of the replay of update, where there is nothing but reading and writing.
    pub(super) fn replayed_share(&self) -> Option<f64> {
        let of = |job| self.cpu_median(job, Who::Replay, ZLIB);
        Some(of(FLOOR_UPDATE)? / of(UPDATE)?)
    }

    /// The median peak of memory of the replay of update under a codec.
    pub(super) fn replayed_peak(&self, row: &str) -> Option<Estimate> {
        peak_resident(self.records, UPDATE, &arm(Who::Replay, row)?)
    }

    /// The peak of memory of a command.
    pub(super) fn peak(&self, job: JobName, who: Who, row: &str) -> Option<Estimate> {
        command_peak(self.records, job, &arm(who, row)?)
    }

    /// The published repository that is nearest in size.
    fn nearest(&self) -> &'static str {
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

/// The spec of a row, and who reads it.
pub(super) fn arm(who: Who, row: &str) -> Option<Arm> {
    let (_, text) = ROWS.iter().find(|(found, _)| *found == row)?;
    Some(Arm::new(who, &spec(text).ok()?.for_revlogs()))
}

fn kind_bytes(size: &SizeRecord, kind: ObjectKind) -> f64 {
    ChunkForm::ALL.iter().map(|form| size.objects.get(kind, *form).stored_bytes as f64).sum()
}

/// What is different from the published set-up.
pub(super) fn differences(context: &Context<'_>, layouts: &[LayoutFindings<'_>]) -> Vec<String> {
    let bytes = layouts.first().and_then(|layout| layout.size(ZLIB)).map(|size| size.total_bytes as f64);
    let bytes = bytes.map(|bytes| format!(" of {} under zlib", megabytes(bytes))).unwrap_or_default();
    let published = layouts.first().and_then(|layout| layout.published.table(SIZE));
    let sizes = PUBLISHED_REPOSITORIES
        .iter()
        .filter_map(|repository| Some(format!("{repository} of {}", megabytes(published?.value(repository, ZLIB)?))));
    let mut differences = vec![
        format!("The repository is {}{bytes}; published were {}.", context.name, list(&sizes.collect::<Vec<_>>())),
        "hg is that of today, unpatched, without Rust and without worker processes; lz4 comes with an extension, and what hg \
         writes besides revlogs has changed since."
            .to_owned(),
        "lz4 and lz4hc are those of today, lz4hc at level 9.".to_owned(),
        "Commands read with a warm page cache; update writes to a new work tree.".to_owned(),
    ];
    if layouts.iter().all(|layout| layout.name == AS_FOUND) {
        differences.push("The layout is that of the repository, and not that of 2012.".to_owned());
    }
    differences
}

pub(super) fn notes(published: &Published) -> Vec<String> {
    let mut notes = vec![
        "Times of hg's commands are elapsed times, medians, and their ratios are of elapsed time, as the published ones \
         are; ratios of replays are of CPU time, of update without that of writing files. Ratios come from pairs of runs \
         in the same block, with 95 % intervals."
            .to_owned(),
        "zlib's share of a command: the codec alone is the CPU time that decoding, and compressing, the same chunks from memory takes, \
         a lower bound; saved is what plain hg takes less in a repository without any compression. That spares hg calling the codec, \
         too, but makes it read more bytes: without those zlib's share would be larger than what is saved."
            .to_owned(),
        "Peak memory of a command is that of its largest process, in one run before the timed ones; pages of files that it maps count."
            .to_owned(),
    ];
    notes.extend(published.remarks.iter().cloned());
    notes
}

pub(super) fn tables(layouts: &[LayoutFindings<'_>]) -> Vec<ExperimentTable> {
    let of_layout =
        |layout| [sizes(layout), commands(layout), replays(layout), shares::table(layout), memory::table(layout)];
    let has_figure = |table: &ExperimentTable| table.rows.iter().any(has_figure);
    layouts.iter().flat_map(of_layout).filter(has_figure).collect()
}

/// The name of a published figure's column.
fn beside(name: &str, repository: &str) -> String {
    format!("{name} (published: {repository})")
}

/// Whether a column is the one of this name.
pub(super) fn is_column(column: &ExperimentColumn, name: &str) -> bool {
    column.name == name || column.name.strip_prefix(name).is_some_and(|rest| rest.starts_with(" (published"))
}

pub(super) fn sizes_title(layout: &str) -> String {
    format!("Bytes, {layout}")
}

fn sizes(layout: &LayoutFindings<'_>) -> ExperimentTable {
    let nearest = layout.nearest();
    let parts =
        [("manifest", ObjectKind::Manifest), ("changelog", ObjectKind::Changelog), ("filelogs", ObjectKind::Filelog)];
    let mut columns = vec![column(&beside(SIZE, nearest), Unit::Bytes)];
    columns.extend(parts.iter().map(|(name, _)| column(name, Unit::Bytes)));
    columns.push(column("indexes and the rest", Unit::Bytes));
    columns.push(column("manifest's share of the growth", Unit::Share));
    let sizes = layout.sizes.iter().map(|(label, size)| (*label, size));
    let rows = sizes.chain(layout.as_found.as_ref().map(|size| (AS_FOUND, size))).map(|(label, size)| {
        let total = size.total_bytes as f64;
        let by_kind = parts.iter().map(|(_, kind)| kind_bytes(size, *kind));
        let rest = total - size.objects.sum().stored_bytes as f64;
        let figures = [total].into_iter().chain(by_kind).chain([rest]).map(|bytes| Some(Estimate::exact(bytes)));
        let mut published = vec![layout.published.table(SIZE).and_then(|table| table.value(nearest, label))];
        published.resize(columns.len(), None);
        let share = layout.manifest_share(label).filter(|_| label != ZLIB).map(Estimate::exact);
        ExperimentRow { label: label.to_owned(), published, measured: figures.chain([share]).collect() }
    });
    ExperimentTable { title: sizes_title(layout.name), rows: rows.collect(), columns }
}

pub(super) fn commands_title(layout: &str) -> String {
    format!("Commands of stock hg, {layout}")
}

/// The rows of hg's own commands, what ends their names, and who does them: plain hg where that reads the codec by itself, and hg with the
/// extension on all.
pub(super) fn rows_of_hg() -> impl Iterator<Item = (&'static str, Who, &'static str)> {
    ROWS.into_iter().flat_map(|(row, _)| {
        let is_hgs_own = [ZLIB, TODAY, STORE].contains(&row);
        let plain = is_hgs_own.then_some((row, Who::Plain, ""));
        plain.into_iter().chain([(row, Who::Library, if is_hgs_own { BY_EXTENSION } else { "" })])
    })
}

/// hg's own commands.
fn commands(layout: &LayoutFindings<'_>) -> ExperimentTable {
    let nearest = layout.nearest();
    let repositories = [nearest, PUBLISHED_REPOSITORIES[1], ""];
    let jobs = COMMANDS.into_iter().zip(repositories);
    let mut columns = Vec::new();
    for ((_, name), repository) in jobs.clone() {
        let name = if repository.is_empty() { name.to_owned() } else { beside(name, repository) };
        columns.push(column(&name, Unit::Seconds));
        columns.push(column(&format!("{name}, ratio"), Unit::Ratio));
    }
    let rows = rows_of_hg().filter_map(|(row, who, suffix)| {
        let arm = arm(who, row)?;
        let (mut published, mut measured) = (Vec::new(), Vec::new());
        for ((job, name), repository) in jobs.clone() {
            let table = layout.published.table(name);
            let value =
                |codec: &str| table.and_then(|table| table.value(repository, codec)).filter(|_| suffix.is_empty());
            published.push(value(row));
            published.push(value(row).filter(|_| row != ZLIB).and_then(|time| Some(time / value(ZLIB)?)));
            measured.push(median_estimate(samples(layout.records, job, &arm, wall)));
            measured.push(layout.elapsed.get(job, &arm).map(|ratio| ratio.estimate));
        }
        Some(ExperimentRow { label: format!("{row}{suffix}"), published, measured })
    });
    ExperimentTable { title: commands_title(layout.name), columns, rows: rows.filter(has_figure).collect() }
}

/// What this program took, and the codecs alone.
fn replays(layout: &LayoutFindings<'_>) -> ExperimentTable {
    let jobs = [
        ("update, replayed", "ratio without writing files", UPDATE),
        ("the codec in update", "ratio", FLOOR_UPDATE),
        ("compressing all", "ratio", ENCODE),
        ("decompressing all", "ratio", DECODE),
    ];
    let mut columns = Vec::new();
    for (name, ratio, _) in jobs {
        columns.push(column(name, Unit::Seconds));
        columns.push(column(&format!("{name}, {ratio}"), Unit::Ratio));
    }
    let rows = ROWS.iter().filter_map(|(row, _)| {
        let arm = arm(Who::Replay, row)?;
        let mut measured = Vec::new();
        for (_, _, job) in jobs {
            measured.push(median_estimate(samples(layout.records, job, &arm, cpu)));
            measured.push(layout.ratios.get(job, &arm).map(|ratio| ratio.estimate));
        }
        Some(ExperimentRow { label: (*row).to_owned(), published: vec![None; measured.len()], measured })
    });
    let title = format!("CPU time in-process, {}", layout.name);
    ExperimentTable { title, columns, rows: rows.filter(has_figure).collect() }
}
