//! The tables: the published figures beside the measured ones; differences and notes.

use repackbench_analysis::Ratio;
use repackbench_records::{
    Estimate, Experiment, ExperimentRow, ExperimentTable, Figure, Statement, StoredStatement, Unit,
};

use super::{
    BASELINE, ZLIB, ZSTD, ZSTD_DEFAULT,
    findings::{COMPRESS, DECODE, DEFAULTS, EXTREMES, Findings, READ, READING, TRAVERSE, Task, VERIFY, WRITE, WRITING},
};
use crate::tables::{column, has_figure, unpublished};

/// The published repositories.
const PUBLISHED_REPOSITORIES: [&str; 4] = ["mercurial", "pypy", "netbeans", "mozilla"];

/// The row of the measured one.
const HERE: &str = "this repository";

/// Where the set-up differs from the published one.
pub(super) fn differences(experiment: &Experiment, found: &Findings<'_>) -> Vec<StoredStatement> {
    let version = experiment.host.libraries.get("libzstd").map_or("zstd", String::as_str);
    let repository = found.size(BASELINE).map(|size| {
        let name =
            Statement::new("another-repository-of-unknown-size").with("name", experiment.repository.name.as_str());
        name.with("bytes", Figure::bytes(size.total_bytes as f64)).with("published", PUBLISHED_REPOSITORIES.to_vec())
    });
    let others = ["read-in-process", "written-by-upgrade", "revlogs-keep-their-deltas"].map(Statement::new);
    let levels = Statement::new("levels-of-this-program").with("levels", [&ZLIB[..], &ZSTD].concat());
    let programs = Statement::new("hg-and-zstd-since-2019").with("version", version);
    repository.into_iter().chain(others).chain([levels, programs]).map(StoredStatement::from).collect()
}

/// How figures were measured.
pub(super) fn notes() -> Vec<StoredStatement> {
    vec![Statement::new("times-of-levels").into()]
}

pub(super) fn tables(found: &Findings<'_>) -> Vec<ExperimentTable> {
    let defaults = |task| found.ratio(task, ZSTD_DEFAULT);
    let extremes = |task| found.extremes(task).map(|extremes| extremes.ratio);
    let ratios = |id, column, of: &dyn Fn(Task) -> Option<Ratio>| ratios(found, id, column, of);
    let all = [
        ratios("zstd-to-zlib-by-default", DEFAULTS, &defaults),
        ratios("slowest-zstd-to-fastest-zlib", EXTREMES, &extremes),
        levels(found),
    ];
    all.into_iter().filter(|table| table.rows.iter().any(|row| row.measured.iter().any(Option::is_some))).collect()
}

/// A column of the published tables, with a row for each repository, and one for this repository.
fn ratios(
    found: &Findings<'_>,
    id: &str,
    published: &str,
    measured: &dyn Fn(Task) -> Option<Ratio>,
) -> ExperimentTable {
    let tasks = [(READING, READ), (WRITING, WRITE)];
    let value = |row: &str, table: &str| found.published.table(table).and_then(|table| table.value(row, published));
    let mut rows: Vec<ExperimentRow> = PUBLISHED_REPOSITORIES
        .iter()
        .map(|row| ExperimentRow {
            label: (*row).to_owned(),
            published: tasks.iter().map(|(table, _)| value(row, table)).collect(),
            measured: vec![None; tasks.len()],
        })
        .collect();
    let here = tasks.iter().map(|(_, task)| measured(*task).map(|ratio| ratio.estimate)).collect();
    rows.push(unpublished(HERE, here));
    ExperimentTable {
        title: Statement::new(id).into(),
        columns: tasks.iter().map(|(table, _)| column(table, Unit::Ratio)).collect(),
        rows,
    }
}

/// Every level.
fn levels(found: &Findings<'_>) -> ExperimentTable {
    let tasks = [
        ("reading all revisions", READ),
        ("the codec in that", DECODE),
        ("reading changelog and manifests", TRAVERSE),
        ("hg debugupgraderepo", WRITE),
        ("hg verify", VERIFY),
        ("compressing all", COMPRESS),
    ];
    let mut columns = vec![column("all files", Unit::Bytes), column("chunks in revlogs", Unit::Bytes)];
    for (name, _) in tasks {
        columns.push(column(name, Unit::Seconds));
        columns.push(column(&format!("{name}, ratio"), Unit::Ratio));
    }
    let exact = |bytes: u64| Some(Estimate::exact(bytes as f64));
    let baseline_first = std::iter::once(BASELINE).chain(ZLIB.into_iter().filter(|level| *level != BASELINE));
    let mut rows: Vec<ExperimentRow> = baseline_first
        .chain(ZSTD)
        .map(|level| {
            let size = found.size(level);
            let mut measured = vec![
                size.and_then(|size| exact(size.total_bytes)),
                size.and_then(|size| exact(size.objects.sum().stored_bytes)),
            ];
            for (_, task) in tasks {
                measured.push(found.seconds(task, level));
                measured.push(found.ratio(task, level).filter(|_| level != BASELINE).map(|ratio| ratio.estimate));
            }
            unpublished(level, measured)
        })
        .collect();
    let mut as_found = vec![exact(found.as_found.total_bytes), exact(found.as_found.objects.sum().stored_bytes)];
    as_found.resize(columns.len(), None);
    rows.push(unpublished("as found", as_found));
    ExperimentTable {
        title: Statement::new("levels-of-zlib-and-zstd").into(),
        columns,
        rows: rows.into_iter().filter(has_figure).collect(),
    }
}
