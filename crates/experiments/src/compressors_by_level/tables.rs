//! The figures beside the published ones, and where the set-up differs.

use repackbench_analysis::{Ratio, median_estimate};
use repackbench_records::{
    Estimate, ExperimentColumn, ExperimentRow, ExperimentTable, Figure, Published, PublishedTable, Statement,
    StoredStatement, Unit,
};

use super::{
    Compressors, Figures,
    arms::{self, ARMS},
    little_memory::{self, LittleMemory, PASSES},
    phases::{self, FEW, LENGTH, MANY, PhaseTimes},
    stores::{self, STORES, StoreTimes},
};
use crate::{interleaved::ratio_of, tables::column};

/// The columns of the published table.
const PUBLISHED: [(&str, Unit); 3] =
    [("size", Unit::Bytes), ("compress", Unit::Seconds), ("uncompress", Unit::Seconds)];

/// All tables.
pub(super) fn tables(published: &Published, figures: &Figures) -> Vec<ExperimentTable> {
    let mut tables = Vec::new();
    for (number, corpus) in figures.compressors.iter().enumerate() {
        // The second corpus was published without a table.
        let of = published.table("compressors").filter(|_| number == 0);
        tables.push(compressor_table(of, corpus));
        tables.push(processor_table(corpus));
    }
    tables.push(corpus_table(published.table("corpora"), figures));
    tables.push(memory_table(&figures.little_memory));
    tables.push(phase_table(figures));
    tables.push(commit_table(figures));
    tables.push(store_table(Statement::new("objects-of-the-revision"), &figures.stores.all));
    if !figures.stores.few.is_empty() {
        tables.push(store_table(
            Statement::new("objects-of-few-files").with("files", Figure::count(FEW)),
            &figures.stores.few,
        ));
    }
    tables
}

/// A title that names the extent of a corpus.
fn corpus_title(id: &str, corpus: &Compressors) -> StoredStatement {
    let title = Statement::new(id).with("files", Figure::count(corpus.files));
    title.with("bytes", Figure::bytes(corpus.bytes as f64)).into()
}

fn exact(bytes: Option<u64>) -> Option<Estimate> {
    bytes.map(|bytes| Estimate::exact(bytes as f64))
}

/// The published table: disk space, and elapsed times of programs that replace files.
fn compressor_table(published: Option<&PublishedTable>, corpus: &Compressors) -> ExperimentTable {
    let rows = ARMS.iter().zip(&corpus.timings).map(|((label, _), timings)| {
        let mut row: Vec<Option<f64>> =
            PUBLISHED.iter().map(|(name, _)| published.and_then(|table| table.value(label, name))).collect();
        row.push(None);
        let measured = vec![
            exact(timings.allocated),
            timings.samples.median(arms::COMPRESS),
            timings.samples.median(arms::UNCOMPRESS),
            exact(timings.stored),
        ];
        ExperimentRow { label: (*label).to_owned(), published: row, measured }
    });
    let mut columns: Vec<ExperimentColumn> = PUBLISHED.iter().map(|(name, unit)| column(name, *unit)).collect();
    columns.push(column("length", Unit::Bytes));
    let title = corpus_title("compressing-in-place", corpus);
    ExperimentTable { title, columns, rows: rows.collect() }
}

/// CPU time, without the file system.
fn processor_table(corpus: &Compressors) -> ExperimentTable {
    let first = corpus.timings.first();
    let rows = ARMS.iter().zip(&corpus.timings).map(|((label, _), timings)| {
        let to_first = |quantity: &str| {
            let ratio = ratio_of(timings.samples.get(quantity), first?.samples.get(quantity))?;
            Some(ratio.estimate)
        };
        let measured = vec![
            timings.samples.median(arms::COMPRESS_CPU),
            timings.samples.median(arms::UNCOMPRESS_CPU),
            timings.samples.median(arms::WRITE),
            to_first(arms::COMPRESS_CPU),
            to_first(arms::UNCOMPRESS_CPU),
        ];
        ExperimentRow { label: (*label).to_owned(), published: vec![None; measured.len()], measured }
    });
    let columns = vec![
        column("compress, CPU", Unit::Seconds),
        column("uncompress, CPU", Unit::Seconds),
        column("write files", Unit::Seconds),
        column("compress / gzip 9", Unit::Ratio),
        column("uncompress / gzip 9", Unit::Ratio),
    ];
    let title = corpus_title("from-memory-to-memory", corpus);
    ExperimentTable { title, columns, rows: rows.collect() }
}

fn corpus_table(published: Option<&PublishedTable>, figures: &Figures) -> ExperimentTable {
    let labels = ["/usr/src/sys", "/usr/src"];
    let rows = labels.iter().enumerate().map(|(number, label)| {
        let value = |name: &str| published.and_then(|table| table.value(label, name));
        let corpus = figures.compressors.get(number);
        let figure = |of: fn(&Compressors) -> u64| corpus.map(|corpus| Estimate::exact(of(corpus) as f64));
        let average = corpus.map(|corpus| Estimate::exact(corpus.bytes as f64 / corpus.files.max(1) as f64));
        ExperimentRow {
            label: (*label).to_owned(),
            published: vec![value("files"), value("bytes"), value("bytes").zip(value("files")).map(|(b, f)| b / f)],
            measured: vec![figure(|corpus| corpus.files), figure(|corpus| corpus.bytes), average],
        }
    });
    let columns = vec![column("files", Unit::Count), column("bytes", Unit::Bytes), column("average", Unit::Bytes)];
    ExperimentTable { title: Statement::new("corpora").into(), columns, rows: rows.collect() }
}

fn phase_table(figures: &Figures) -> ExperimentTable {
    let rows = figures.phases.0.iter().map(|times: &PhaseTimes| {
        let parts = ratio_of(&times.open_and_close(), times.samples.get(phases::WRITE)).filter(|_| times.length > 0);
        let per_file = |seconds: Vec<f64>| {
            let files = f64::from(times.files.max(1));
            median_estimate(seconds.into_iter().map(|time| time / files).collect())
        };
        let measured = vec![
            times.samples.median(phases::OPEN),
            times.samples.median(phases::WRITE),
            times.samples.median(phases::CLOSE),
            median_estimate(times.total()),
            per_file(times.total()),
            parts.map(|found| found.estimate),
        ];
        let label = format!("{} files of {} bytes", times.files, times.length);
        ExperimentRow { label, published: vec![None; measured.len()], measured }
    });
    let columns = vec![
        column("open", Unit::Seconds),
        column("write", Unit::Seconds),
        column("close", Unit::Seconds),
        column("all", Unit::Seconds),
        column("a file", Unit::Seconds),
        column("open and close / write", Unit::Ratio),
    ];
    ExperimentTable { title: Statement::new("open-write-close").into(), columns, rows: rows.collect() }
}

fn commit_table(figures: &Figures) -> ExperimentTable {
    let row = |label: &str, found: &Option<Ratio>| ExperimentRow {
        label: label.to_owned(),
        published: vec![None],
        measured: vec![found.as_ref().map(|found| found.estimate.clone())],
    };
    let rows = vec![
        row("the last commits (ingest), CPU without writing files", &figures.commits.ingest),
        row("compressing all payloads (encode), CPU", &figures.commits.encode),
    ];
    let title = Statement::new("level-3-to-level-9").into();
    ExperimentTable { title, columns: vec![column("time", Unit::Ratio)], rows }
}

/// A row for each of [`STORES`].
fn store_table(what: Statement, stores: &[StoreTimes]) -> ExperimentTable {
    let files = stores.first();
    let rows = STORES.iter().zip(stores).enumerate().map(|(number, ((label, _), times))| {
        let to_files =
            files.filter(|_| number > 0).and_then(|files| ratio_of(&times.make_and_sync(), &files.make_and_sync()));
        let measured = vec![
            exact(times.size.map(|size| size.allocated)),
            exact(times.size.map(|size| size.bytes)),
            times.samples.median(stores::MAKE),
            times.samples.median(stores::SYNC),
            median_estimate(times.make_and_sync()),
            to_files.map(|found| found.estimate),
        ];
        ExperimentRow { label: (*label).to_owned(), published: vec![None; measured.len()], measured }
    });
    let columns = vec![
        column("size", Unit::Bytes),
        column("length", Unit::Bytes),
        column("read, encode, verify, write", Unit::Seconds),
        column("sync", Unit::Seconds),
        column("all, with sync", Unit::Seconds),
        column("all / files", Unit::Ratio),
    ];
    let title = Statement::new("files-and-b-tree").with("what", what).into();
    ExperimentTable { title, columns, rows: rows.collect() }
}

/// Work with a limit on memory and without one.
fn memory_table(found: &LittleMemory) -> ExperimentTable {
    let rows =
        little_memory::ARMS.iter().zip(&found.arms).enumerate().map(|(number, ((label, _, is_limited), times))| {
            // The arm without a limit precedes it.
            let free = number.checked_sub(1).and_then(|before| found.arms.get(before)).filter(|_| *is_limited);
            let to_free = |quantities: &[&str]| {
                let ratio = ratio_of(&times.sum(quantities), &free?.sum(quantities))?;
                Some(ratio.estimate)
            };
            let measured = vec![
                exact(Some(found.limit).filter(|_| *is_limited)),
                times.median(little_memory::WRITE),
                times.median(little_memory::READ),
                times.median(little_memory::READ_AGAIN),
                median_estimate(times.sum(&PASSES)),
                to_free(&PASSES),
                to_free(&[little_memory::READ_AGAIN]),
                times.median(little_memory::FROM_DEVICE),
                times.median(little_memory::CACHED),
                times.median(little_memory::PEAK),
            ];
            ExperimentRow { label: (*label).to_owned(), published: vec![None; measured.len()], measured }
        });
    let columns = vec![
        column("limit", Unit::Bytes),
        column("write, with sync", Unit::Seconds),
        column("read", Unit::Seconds),
        column("read again", Unit::Seconds),
        column("all", Unit::Seconds),
        column("all / no limit", Unit::Ratio),
        column("read again / no limit", Unit::Ratio),
        column("from the device", Unit::Bytes),
        column("cached at the end", Unit::Share),
        column("most in the group", Unit::Bytes),
    ];
    let title = match found.arms.is_empty() {
        true => Statement::new("little-memory-not-measured"),
        false => Statement::new("little-memory")
            .with("files", Figure::count(found.files))
            .with("bytes", Figure::bytes(found.set_bytes as f64)),
    };
    ExperimentTable { title: title.into(), columns, rows: rows.collect() }
}

/// Where the set-up differs from the published one.
pub(super) fn differences(figures: &Figures) -> Vec<StoredStatement> {
    let mut differences = vec![Statement::new("another-corpus").with("revision", figures.revision.as_str())];
    differences.extend(["own-compressors", "sizes-on-disk", "own-b-tree"].map(Statement::new));
    let LittleMemory { copies, limit, set_bytes, arms, .. } = &figures.little_memory;
    if !arms.is_empty() {
        let group = Statement::new("memory-group").with("limit", Figure::bytes(*limit as f64));
        differences.push(group.with("bytes", Figure::bytes(*set_bytes as f64)));
        if *copies > 1 {
            differences.push(Statement::new("files-several-times").with("copies", Figure::count(*copies)));
        }
    }
    let sizes = figures.phases.0.iter().map(|times| times.files);
    if let Some(many) = sizes.max().filter(|many| *many < MANY) {
        let fewer = Statement::new("phases-with-fewer-files").with("files", Figure::count(many));
        differences.push(fewer.with("published", Figure::count(MANY)));
    }
    differences.push(Statement::new("phases-by-system-call"));
    differences.into_iter().map(StoredStatement::from).collect()
}

/// How figures were measured.
pub(super) fn notes(figures: &Figures) -> Vec<StoredStatement> {
    let phases = Statement::new("phases-measured").with("length", Figure::count(LENGTH));
    let phases = phases.with("many", Figure::count(MANY)).with("few", Figure::count(FEW));
    let mut notes = vec![Statement::new("times-in-place"), Statement::new("cpu-from-memory-to-memory"), phases];
    if !figures.stores.all.is_empty() {
        notes.push(Statement::new("b-tree-is-read-back"));
    }
    if !figures.little_memory.arms.is_empty() {
        notes.push(Statement::new("memory-groups-of-runs"));
    }
    notes.into_iter().map(StoredStatement::from).collect()
}
