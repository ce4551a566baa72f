//! The tables: the published figures beside the measured ones, a set for each layout; differences and notes.

use repackbench_analysis::{ArmReader, cpu, median_estimate, samples, wall};
use repackbench_records::{
    Estimate, ExperimentColumn, ExperimentRow, ExperimentTable, Figure, ObjectKind, Statement, StoredStatement, Unit,
};

use super::{
    LayoutKind,
    findings::{
        COMMANDS, DECODE, ENCODE, FLOOR_UPDATE, LayoutFindings, PUBLISHED_REPOSITORIES, ROWS, SIZE, UPDATE, ZLIB, arm,
        kind_bytes, rows_of_hg,
    },
    memory, shares,
};
use crate::{
    Context,
    tables::{column, has_figure, unpublished},
};

/// Where the set-up differs from the published one.
pub(super) fn differences(context: &Context<'_>, layouts: &[LayoutFindings<'_>]) -> Vec<StoredStatement> {
    let mut differences = Vec::new();
    if let Some(layout) = layouts.first()
        && let Some(size) = layout.size(ZLIB)
    {
        let bytes = |id: &str, name: &str, bytes: f64| {
            Statement::new(id).with("name", name).with("bytes", Figure::bytes(bytes))
        };
        let published = PUBLISHED_REPOSITORIES.iter().filter_map(|name| {
            Some(bytes("repository-and-bytes", name, layout.published.table(SIZE)?.value(name, ZLIB)?))
        });
        let repository = bytes("another-repository-of-bytes", context.name, size.total_bytes as f64);
        differences.push(repository.with("published", published.collect::<Vec<_>>()));
    }
    differences.extend(["hg-of-today", "lz4-of-today", "warm-page-cache"].map(Statement::new));
    if layouts.iter().all(|layout| layout.kind == LayoutKind::AsFound) {
        differences.push(Statement::new("layout-of-the-repository"));
    }
    differences.into_iter().map(StoredStatement::from).collect()
}

/// How figures were measured.
pub(super) fn notes() -> Vec<StoredStatement> {
    ["times-of-hg", "share-of-a-command", "peak-memory-of-commands"].map(|id| Statement::new(id).into()).to_vec()
}

pub(super) fn tables(layouts: &[LayoutFindings<'_>]) -> Vec<ExperimentTable> {
    let of_layout =
        |layout| [sizes(layout), commands(layout), replays(layout), shares::table(layout), memory::table(layout)];
    let has_figure = |table: &ExperimentTable| table.rows.iter().any(has_figure);
    layouts.iter().flat_map(of_layout).filter(has_figure).collect()
}

/// The name of the column of a figure that was published of `repository`.
fn beside(name: &str, repository: &str) -> String {
    format!("{name} (published: {repository})")
}

/// Whether a column is the one of this name.
pub(super) fn is_column(column: &ExperimentColumn, name: &str) -> bool {
    column.name == name || column.name.strip_prefix(name).is_some_and(|rest| rest.starts_with(" (published"))
}

pub(super) fn sizes_title(layout: LayoutKind) -> Statement {
    layout.says("bytes-in-layout")
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
    let rows = sizes.chain(layout.as_found.as_ref().map(|size| ("as found", size))).map(|(label, size)| {
        let total = size.total_bytes as f64;
        let by_kind = parts.iter().map(|(_, kind)| kind_bytes(size, *kind));
        let rest = total - size.objects.sum().stored_bytes as f64;
        let figures = [total].into_iter().chain(by_kind).chain([rest]).map(|bytes| Some(Estimate::exact(bytes)));
        let mut published = vec![layout.published.table(SIZE).and_then(|table| table.value(nearest, label))];
        published.resize(columns.len(), None);
        let share = layout.manifest_share(label).filter(|_| label != ZLIB).map(Estimate::exact);
        ExperimentRow { label: label.to_owned(), published, measured: figures.chain([share]).collect() }
    });
    ExperimentTable { title: sizes_title(layout.kind).into(), rows: rows.collect(), columns }
}

pub(super) fn commands_title(layout: LayoutKind) -> Statement {
    layout.says("commands-of-stock-hg")
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
    let rows = rows_of_hg().filter_map(|(row, reader, suffix)| {
        let arm = arm(reader, row)?;
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
    ExperimentTable { title: commands_title(layout.kind).into(), columns, rows: rows.filter(has_figure).collect() }
}

/// The times of this program, and of only the codecs.
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
        let arm = arm(ArmReader::Replay, row)?;
        let mut measured = Vec::new();
        for (_, _, job) in jobs {
            measured.push(median_estimate(samples(layout.records, job, &arm, cpu)));
            measured.push(layout.ratios.get(job, &arm).map(|ratio| ratio.estimate));
        }
        Some(unpublished(*row, measured))
    });
    ExperimentTable {
        title: layout.says("cpu-time-in-process").into(),
        columns,
        rows: rows.filter(has_figure).collect(),
    }
}
