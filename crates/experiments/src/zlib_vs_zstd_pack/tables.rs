//! The tables: what was published beside what was measured.

use repackbench_codec::CodecSpec;
use repackbench_records::{
    Estimate, Experiment, ExperimentColumn, ExperimentRow, ExperimentTable, Published, PublishedTable, Record,
    SizeRecord, Unit,
};

use super::Variants;
use crate::{
    estimates::{Arm, JobName, Ratio, Ratios, Who, best_of, command_peak, cpu, median_estimate, samples, user, wall},
    tables::{column, has_figure},
    variants::spec,
};

/// The published table.
pub(super) const COMMANDS: &str = "commands";

pub(super) const TRAVERSE: JobName = JobName::all("traverse");
pub(super) const PICKAXE: JobName = JobName::all("diff:pickaxe");
pub(super) const REPACK: JobName = JobName::all("repack");
pub(super) const INCREMENTAL: JobName = JobName::newest("repack:incremental");
pub(super) const FETCH_SAME: JobName = JobName::newest("fetch:same");
pub(super) const FETCH_ZLIB: JobName = JobName::newest("fetch:zlib");
pub(super) const SERVE_SAME: JobName = JobName::all("serve:same");
pub(super) const SERVE_ZLIB: JobName = JobName::all("serve:zlib");

/// The columns of bytes: of packs, and of all files.
const SIZE: &str = "size";
const ALL_FILES: &str = "all files";

/// So many runs had rev-list, of which the best counted.
const BEST_OF: usize = 5;

/// What a size record comes to here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct VariantBytes {
    pub(super) packs: u64,
    pub(super) total: u64,
}

impl VariantBytes {
    fn of(size: &SizeRecord) -> Self {
        VariantBytes { packs: size.pack_bytes(), total: size.total_bytes }
    }

    /// What the columns of sizes are made of.
    fn cell(self, column: &str) -> Option<Estimate> {
        let bytes = match column {
            SIZE => self.packs,
            ALL_FILES => self.total,
            _ => return None,
        };
        Some(Estimate::exact(bytes as f64))
    }
}

/// All that tables and claims are made of.
pub(super) struct Findings<'a> {
    pub(super) published: &'a Published,
    pub(super) records: &'a [Record],
    pub(super) ratios: Ratios,
    /// Bytes by canonical spec.
    pub(super) bytes: Vec<(String, VariantBytes)>,
    /// Those of the repository itself.
    pub(super) as_found: VariantBytes,
}

impl<'a> Findings<'a> {
    pub(super) fn new(published: &'a Published, records: &'a [Record], variants: &Variants) -> Self {
        let all = std::iter::once(&variants.baseline).chain(&variants.codecs);
        let bytes = all.map(|sized| (sized.spec.canonical(), VariantBytes::of(&sized.size))).collect();
        let as_found = VariantBytes::of(&variants.as_found);
        Findings { published, records, ratios: Ratios::of(records), bytes, as_found }
    }

    /// The bytes of all packs of a variant as a multiple of another's.
    pub(super) fn size_ratio(&self, spec: &str, of: &str) -> Option<f64> {
        let (one, other) = (self.bytes_of(spec)?.packs, self.bytes_of(of)?.packs);
        (other > 0).then(|| one as f64 / other as f64)
    }

    pub(super) fn bytes_of(&self, spec: &str) -> Option<VariantBytes> {
        self.bytes.iter().find(|(found, _)| found == spec).map(|(_, bytes)| *bytes)
    }

    /// Of stock git, to plain git on the baseline.
    pub(super) fn by_git(&self, job: JobName, spec: &str) -> Option<Ratio> {
        self.ratios.get(job, &arm(Who::Library, spec)?)
    }

    /// Of a replay, to that of the baseline.
    pub(super) fn in_process(&self, job: JobName, spec: &str) -> Option<Ratio> {
        self.ratios.get(job, &arm(Who::Replay, spec)?)
    }

    pub(super) fn commands(&self) -> Option<&'a PublishedTable> {
        self.published.table(COMMANDS)
    }
}

/// A codec of this experiment, and who reads it.
pub(super) fn arm(who: Who, text: &str) -> Option<Arm> {
    spec(text).ok().map(|spec: CodecSpec| Arm::new(who, &spec))
}

/// Which arm of ours a published one is.
fn arm_of(label: &str) -> Option<Arm> {
    match label {
        "zlib" => arm(Who::Plain, super::BASELINE),
        "zlib, wrapped" => arm(Who::Library, super::BASELINE),
        codec => arm(Who::Library, codec),
    }
}

/// What is different from the published set-up.
pub(super) fn differences(experiment: &Experiment) -> Vec<String> {
    let repository = &experiment.repository;
    let objects = repository.objects.map(|objects| format!(" with {objects} objects")).unwrap_or_default();
    let zstd = experiment.host.libraries.get("libzstd").map(|version| format!(", {version},")).unwrap_or_default();
    vec![
        format!("The repository is {}{objects}; published was linux.git.", repository.name),
        "git is unpatched here, and a preloaded library stands in for the functions of zlib; then, git was built with a wrapper of \
         them. Chunks are this program's, each with a checksum of four bytes, and stored where they would not shrink."
            .to_owned(),
        "All variants have the deltas of the source here, so that their sizes differ by the codec alone; then each was repacked from \
         scratch."
            .to_owned(),
        format!("zstd is that of today here{zstd} and then one of 2016."),
        "Packs are written by one thread here, by four cores then: the published user time, and not the elapsed time, is what \
         compares."
            .to_owned(),
        "git log -S prints the commits' names here, and with --raw what they changed then; here it looks for no renames and converts no \
         text (--no-renames, --no-textconv), then it did what git does by itself, which detects renames. Commit-graphs, bitmaps and \
         multi-pack-indexes are off."
            .to_owned(),
    ]
}

pub(super) fn notes(published: &Published) -> Vec<String> {
    let mut notes = vec![
        "Times of commands are elapsed and user time of the process and all that it waited for, medians but for the best of five of \
         rev-list; ratios are of CPU time, from pairs of runs in the same block, with 95 % intervals."
            .to_owned(),
        "Peak memory of a command is that of its largest process, in one run before the timed ones; pages of packs that it maps count."
            .to_owned(),
    ];
    notes.extend(published.remarks.iter().cloned());
    notes
}

pub(super) fn tables(found: &Findings<'_>) -> Vec<ExperimentTable> {
    let others = [ratios(found), daily(found), memory(found)];
    commands(found).into_iter().chain(others).filter(|table| !table.rows.is_empty()).collect()
}

/// The published table, and beside it what stock git took.
fn commands(found: &Findings<'_>) -> Option<ExperimentTable> {
    let published = found.commands()?;
    let more = [column("rev-list, median", Unit::Seconds), column(ALL_FILES, Unit::Bytes)];
    let columns: Vec<ExperimentColumn> = published.columns.iter().chain(&more).cloned().collect();
    let rows = published.rows.iter().filter_map(|row| {
        let arm = arm_of(&row.label)?;
        let measured = columns.iter().map(|column| command_cell(found, &column.name, &arm));
        let figures = row.values.iter().copied().chain(more.iter().map(|_| None));
        Some(ExperimentRow { label: row.label.clone(), published: figures.collect(), measured: measured.collect() })
    });
    let as_found = ExperimentRow {
        label: "as found".to_owned(),
        published: vec![None; columns.len()],
        measured: columns.iter().map(|column| found.as_found.cell(&column.name)).collect(),
    };
    let rows = rows.chain([as_found]).collect();
    Some(ExperimentTable { title: "Commands of stock git, and packs".to_owned(), columns, rows })
}

fn command_cell(found: &Findings<'_>, column: &str, arm: &Arm) -> Option<Estimate> {
    let of = |job, time| samples(found.records, job, arm, time);
    let spec = arm.spec.as_deref()?;
    match column {
        "rev-list" => best_of(of(TRAVERSE, wall), BEST_OF),
        "rev-list user" => median_estimate(of(TRAVERSE, user)),
        "rev-list, median" => median_estimate(of(TRAVERSE, wall)),
        "log -S" => median_estimate(of(PICKAXE, wall)),
        "log -S user" => median_estimate(of(PICKAXE, user)),
        "repack" => median_estimate(of(REPACK, wall)),
        "repack user" => median_estimate(of(REPACK, user)),
        _ => found.bytes_of(spec).and_then(|bytes| bytes.cell(column)),
    }
}

/// Paired ratios to zlib: of git's commands, beside the published ratios of user times, and of replays.
fn ratios(found: &Findings<'_>) -> ExperimentTable {
    let by_git = [("rev-list", TRAVERSE), ("log -S", PICKAXE), ("repack", REPACK)];
    let replays = [("rev-list, replayed", TRAVERSE), ("log -S, replayed", PICKAXE)];
    let rows = found.commands().into_iter().flat_map(|published| &published.rows).filter(|row| row.label != "zlib");
    let rows = rows.filter_map(|row| {
        let arm = arm_of(&row.label)?;
        let replayed = Arm { who: Who::Replay, ..arm.clone() };
        // By this program zlib is read by itself alone.
        let is_wrapped = arm.spec == arm_of("zlib").and_then(|arm| arm.spec);
        let of_git = by_git.iter().map(|(_, job)| found.ratios.get(*job, &arm));
        let of_replays = replays.iter().map(|(_, job)| found.ratios.get(*job, &replayed).filter(|_| !is_wrapped));
        let published = by_git.iter().map(|(name, _)| published_user_ratio(found, &row.label, name));
        Some(ExperimentRow {
            label: row.label.clone(),
            published: published.chain(replays.iter().map(|_| None)).collect(),
            measured: of_git.chain(of_replays).map(|ratio| ratio.map(|ratio| ratio.estimate)).collect(),
        })
    });
    let columns = by_git.iter().chain(&replays).map(|(name, _)| column(name, Unit::Ratio));
    ExperimentTable {
        title: "CPU time as a multiple of zlib's".to_owned(),
        columns: columns.collect(),
        rows: rows.filter(has_figure).collect(),
    }
}

/// The published user time of an arm as a multiple of zlib's.
pub(super) fn published_user_ratio(found: &Findings<'_>, label: &str, command: &str) -> Option<f64> {
    let table = found.commands()?;
    let column = format!("{command} user");
    Some(table.value(label, &column)? / table.value("zlib", &column)?)
}

/// What people do every day, and what a server would do.
fn daily(found: &Findings<'_>) -> ExperimentTable {
    let by_git = [
        ("repack -d", INCREMENTAL),
        ("fetch, by a like client", FETCH_SAME),
        ("fetch, by a client of zlib", FETCH_ZLIB),
    ];
    let replays = [("clone served, to a like client", SERVE_SAME), ("clone served, to a client of zlib", SERVE_ZLIB)];
    let mut columns = Vec::new();
    for (name, _) in by_git.iter().chain(&replays) {
        columns.push(column(name, Unit::Seconds));
        columns.push(column(&format!("{name}, ratio"), Unit::Ratio));
    }
    let rows = labels().filter_map(|label| {
        let arm = arm_of(label)?;
        // One row of zlib is enough for replays.
        let replayed = (label != "zlib, wrapped").then(|| Arm { who: Who::Replay, ..arm.clone() });
        let of_git = by_git.iter().map(|(_, job)| (*job, Some(arm.clone())));
        let of_replays = replays.iter().map(|(_, job)| (*job, replayed.clone()));
        let mut measured = Vec::new();
        for (job, arm) in of_git.chain(of_replays) {
            measured.push(arm.as_ref().and_then(|arm| median_estimate(samples(found.records, job, arm, cpu))));
            measured.push(arm.as_ref().and_then(|arm| found.ratios.get(job, arm)).map(|ratio| ratio.estimate));
        }
        Some(ExperimentRow { label: label.to_owned(), published: vec![None; measured.len()], measured })
    });
    ExperimentTable {
        title: "CPU time of what people and servers do every day".to_owned(),
        columns,
        rows: rows.filter(has_figure).collect(),
    }
}

/// The most memory that a process of stock git held.
fn memory(found: &Findings<'_>) -> ExperimentTable {
    let jobs = [("rev-list", TRAVERSE), ("log -S", PICKAXE), ("repack", REPACK), ("repack -d", INCREMENTAL)];
    let rows = labels().filter_map(|label| {
        let arm = arm_of(label)?;
        let measured = jobs.iter().map(|(_, job)| command_peak(found.records, *job, &arm)).collect();
        Some(ExperimentRow { label: label.to_owned(), published: vec![None; jobs.len()], measured })
    });
    ExperimentTable {
        title: "Peak resident memory of stock git".to_owned(),
        columns: jobs.iter().map(|(name, _)| column(name, Unit::Bytes)).collect(),
        rows: rows.filter(has_figure).collect(),
    }
}

/// The rows of what was not published.
fn labels() -> impl Iterator<Item = &'static str> {
    ["zlib", "zlib, wrapped"].into_iter().chain(super::CODECS)
}
