//! The tables of measured figures beside the published ones.

use repackbench_analysis::{
    ArmKey, ArmReader, Ratio, Ratios, WorkloadKey, best_of, command_peak, cpu, median_estimate, samples, user, wall,
};
use repackbench_codec::CodecSpec;
use repackbench_records::{
    Estimate, Experiment, ExperimentColumn, ExperimentRow, ExperimentTable, Figure, Published, PublishedTable, Record,
    SizeRecord, Statement, StoredStatement, Unit,
};

use super::Variants;
use crate::{
    tables::{column, has_figure},
    variants::spec,
};

/// The published table.
pub(super) const COMMANDS: &str = "commands";

pub(super) const TRAVERSE: WorkloadKey = WorkloadKey::all("traverse");
pub(super) const PICKAXE: WorkloadKey = WorkloadKey::all("diff:pickaxe");
pub(super) const REPACK: WorkloadKey = WorkloadKey::all("repack");
pub(super) const INCREMENTAL: WorkloadKey = WorkloadKey::newest("repack:incremental");
pub(super) const FETCH_SAME: WorkloadKey = WorkloadKey::newest("fetch:same");
pub(super) const FETCH_ZLIB: WorkloadKey = WorkloadKey::newest("fetch:zlib");
pub(super) const SERVE_SAME: WorkloadKey = WorkloadKey::all("serve:same");
pub(super) const SERVE_ZLIB: WorkloadKey = WorkloadKey::all("serve:zlib");

/// The columns of bytes: of packs, and of all files.
const SIZE: &str = "size";
const ALL_FILES: &str = "all files";

/// The published time of rev-list is the best of this many runs.
const BEST_OF: usize = 5;

/// The bytes of a variant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct VariantBytes {
    pub(super) packs: u64,
    pub(super) total: u64,
}

impl VariantBytes {
    fn of(size: &SizeRecord) -> Self {
        VariantBytes { packs: size.pack_bytes(), total: size.total_bytes }
    }

    /// The cell of a column of sizes.
    fn cell(self, column: &str) -> Option<Estimate> {
        let bytes = match column {
            SIZE => self.packs,
            ALL_FILES => self.total,
            _ => return None,
        };
        Some(Estimate::exact(bytes as f64))
    }
}

/// The figures that underlie tables and claims.
pub(super) struct Findings<'a> {
    pub(super) published: &'a Published,
    pub(super) records: &'a [Record],
    pub(super) ratios: Ratios,
    /// Bytes by canonical spec.
    pub(super) bytes: Vec<(String, VariantBytes)>,
    /// The bytes of the repository as found.
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

    /// The time of stock git on a variant, as a multiple of plain git's on the baseline.
    pub(super) fn by_git(&self, job: WorkloadKey, spec: &str) -> Option<Ratio> {
        self.ratios.get(job, &arm(ArmReader::ClientWithLibrary, spec)?)
    }

    /// The time of a replay on a variant, as a multiple of that on the baseline.
    pub(super) fn in_process(&self, job: WorkloadKey, spec: &str) -> Option<Ratio> {
        self.ratios.get(job, &arm(ArmReader::Replay, spec)?)
    }

    pub(super) fn commands(&self) -> Option<&'a PublishedTable> {
        self.published.table(COMMANDS)
    }
}

/// The arm of a reader and a codec of this experiment.
pub(super) fn arm(reader: ArmReader, text: &str) -> Option<ArmKey> {
    spec(text).ok().map(|spec: CodecSpec| ArmKey::new(reader, spec.canonical()))
}

/// The arm that corresponds to a published one.
fn arm_of(label: &str) -> Option<ArmKey> {
    match label {
        "zlib" => arm(ArmReader::Client, super::BASELINE),
        "zlib, wrapped" => arm(ArmReader::ClientWithLibrary, super::BASELINE),
        codec => arm(ArmReader::ClientWithLibrary, codec),
    }
}

/// Where the set-up differs from the published one.
pub(super) fn differences(experiment: &Experiment) -> Vec<StoredStatement> {
    let repository = &experiment.repository;
    let name = Statement::new("another-repository").with("name", repository.name.as_str());
    let objects = Figure::count(repository.objects.unwrap_or_default());
    let version = experiment.host.libraries.get("libzstd").map_or("zstd", String::as_str);
    vec![
        name.with("objects", objects).with("published", "linux.git").into(),
        Statement::new("preloaded-library").into(),
        Statement::new("deltas-of-the-source").into(),
        Statement::new("zstd-of-today").with("version", version).into(),
        Statement::new("one-thread-writes-packs").into(),
        Statement::new("log-s-options").into(),
    ]
}

/// How figures were measured.
pub(super) fn notes() -> Vec<StoredStatement> {
    vec![Statement::new("times-of-commands").into(), Statement::new("peak-memory-of-commands").into()]
}

pub(super) fn tables(found: &Findings<'_>) -> Vec<ExperimentTable> {
    let others = [ratios(found), daily(found), memory(found)];
    commands(found).into_iter().chain(others).filter(|table| !table.rows.is_empty()).collect()
}

/// The published table beside the times of stock git.
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
    Some(ExperimentTable { title: Statement::new("commands-of-stock-git").into(), columns, rows })
}

fn command_cell(found: &Findings<'_>, column: &str, arm: &ArmKey) -> Option<Estimate> {
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
        let replayed = ArmKey { reader: ArmReader::Replay, ..arm.clone() };
        // Replays read zlib without a wrapper.
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
        title: Statement::new("cpu-time-to-zlib").into(),
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

/// Daily work, and serving.
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
        let replayed = (label != "zlib, wrapped").then(|| ArmKey { reader: ArmReader::Replay, ..arm.clone() });
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
        title: Statement::new("cpu-time-of-daily-work").into(),
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
        title: Statement::new("peak-memory-of-stock-git").into(),
        columns: jobs.iter().map(|(name, _)| column(name, Unit::Bytes)).collect(),
        rows: rows.filter(has_figure).collect(),
    }
}

/// The labels of rows without published figures.
fn labels() -> impl Iterator<Item = &'static str> {
    ["zlib", "zlib, wrapped"].into_iter().chain(super::CODECS)
}
