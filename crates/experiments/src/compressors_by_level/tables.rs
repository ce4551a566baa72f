//! The figures beside the published ones, and where the set-up differs.

use repackbench_records::{
    Estimate, ExperimentColumn, ExperimentRow, ExperimentTable, Published, PublishedTable, Unit,
};

use super::{
    Compressors, Figures,
    arms::{ARMS, Timings},
    little_memory::{self, LittleMemory},
    phases::{FEW, LENGTH, MANY, PhaseTimes},
    stores::{STORES, StoreTimes},
};
use crate::{
    estimates::{Ratio, median_estimate},
    interleaved::ratio_of,
    tables::column,
    text::megabytes,
};

/// The columns that the published table has.
const PUBLISHED: [(&str, Unit); 3] =
    [("size", Unit::Bytes), ("compress", Unit::Seconds), ("uncompress", Unit::Seconds)];

/// All tables.
pub(super) fn tables(published: &Published, figures: &Figures) -> Vec<ExperimentTable> {
    let mut tables = Vec::new();
    for (number, corpus) in figures.compressors.iter().enumerate() {
        // Published figures of the second corpus are in words alone.
        let of = published.table("compressors").filter(|_| number == 0);
        tables.push(compressor_table(of, corpus));
        tables.push(processor_table(corpus));
    }
    tables.push(corpus_table(published.table("corpora"), figures));
    tables.push(memory_table(&figures.little_memory));
    tables.push(phase_table(figures));
    tables.push(commit_table(figures));
    tables.push(store_table("The revision's objects", &figures.stores.all));
    if !figures.stores.few.is_empty() {
        tables.push(store_table(&format!("The objects of {FEW} of its files"), &figures.stores.few));
    }
    tables
}

fn corpus_words(corpus: &Compressors) -> String {
    format!("{} files, {}", corpus.files, megabytes(corpus.bytes as f64))
}

fn median(values: &[f64]) -> Option<Estimate> {
    median_estimate(values.to_vec())
}

fn exact(bytes: Option<u64>) -> Option<Estimate> {
    bytes.map(|bytes| Estimate::exact(bytes as f64))
}

/// The published table: the disk that files take, and elapsed times of programs that replace files.
fn compressor_table(published: Option<&PublishedTable>, corpus: &Compressors) -> ExperimentTable {
    let rows = ARMS.iter().zip(&corpus.timings).map(|((label, _), timings)| {
        let mut row: Vec<Option<f64>> =
            PUBLISHED.iter().map(|(name, _)| published.and_then(|table| table.value(label, name))).collect();
        row.push(None);
        let measured = vec![
            exact(timings.allocated),
            median(&timings.compress),
            median(&timings.uncompress),
            exact(timings.stored),
        ];
        ExperimentRow { label: (*label).to_owned(), published: row, measured }
    });
    let mut columns: Vec<ExperimentColumn> = PUBLISHED.iter().map(|(name, unit)| column(name, *unit)).collect();
    columns.push(column("length", Unit::Bytes));
    let title = format!("Compressing in place, warm: {}", corpus_words(corpus));
    ExperimentTable { title, columns, rows: rows.collect() }
}

/// The processor apart from the file system.
fn processor_table(corpus: &Compressors) -> ExperimentTable {
    let first = corpus.timings.first();
    let rows = ARMS.iter().zip(&corpus.timings).map(|((label, _), timings)| {
        let to_first = |of: fn(&Timings) -> &Vec<f64>| {
            first.and_then(|first| ratio_of(of(timings), of(first))).map(|found| found.estimate)
        };
        let measured = vec![
            median(&timings.compress_cpu),
            median(&timings.uncompress_cpu),
            median(&timings.write),
            to_first(|timings| &timings.compress_cpu),
            to_first(|timings| &timings.uncompress_cpu),
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
    let title = format!("From memory to memory, and then to files: {}", corpus_words(corpus));
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
    ExperimentTable { title: "The corpora".to_owned(), columns, rows: rows.collect() }
}

fn phase_table(figures: &Figures) -> ExperimentTable {
    let rows = figures.phases.0.iter().map(|times: &PhaseTimes| {
        let parts = ratio_of(&times.open_and_close(), &times.write).filter(|_| times.length > 0);
        let per_file = |seconds: Vec<f64>| {
            let files = f64::from(times.files.max(1));
            median_estimate(seconds.into_iter().map(|time| time / files).collect())
        };
        let measured = vec![
            median(&times.open),
            median(&times.write),
            median(&times.close),
            median(&times.total()),
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
    ExperimentTable { title: "Opening, writing and closing new files".to_owned(), columns, rows: rows.collect() }
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
    let title = "Level 3 as a multiple of level 9".to_owned();
    ExperimentTable { title, columns: vec![column("time", Unit::Ratio)], rows }
}

/// A row for each of [`STORES`].
fn store_table(what: &str, stores: &[StoreTimes]) -> ExperimentTable {
    let files = stores.first();
    let rows = STORES.iter().zip(stores).enumerate().map(|(number, ((label, _), times))| {
        let to_files =
            files.filter(|_| number > 0).and_then(|files| ratio_of(&times.make_and_sync(), &files.make_and_sync()));
        let measured = vec![
            exact(times.size.map(|size| size.allocated)),
            exact(times.size.map(|size| size.bytes)),
            median(&times.make),
            median(&times.sync),
            median(&times.make_and_sync()),
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
    let title = format!("{what}, uncompressed: loose files, and one B-tree");
    ExperimentTable { title, columns, rows: rows.collect() }
}

/// The same work with and without a limit.
fn memory_table(found: &LittleMemory) -> ExperimentTable {
    let rows =
        little_memory::ARMS.iter().zip(&found.arms).enumerate().map(|(number, ((label, _, is_limited), times))| {
            // The like of it without a limit stands before it.
            let free = number.checked_sub(1).and_then(|before| found.arms.get(before)).filter(|_| *is_limited);
            let to_free = |of: &dyn Fn(&little_memory::MemoryTimes) -> Vec<f64>| {
                free.and_then(|free| ratio_of(&of(times), &of(free))).map(|found| found.estimate)
            };
            let measured = vec![
                exact(Some(found.limit).filter(|_| *is_limited)),
                median(&times.write),
                median(&times.read),
                median(&times.read_again),
                median(&times.total()),
                to_free(&|times| times.total()),
                to_free(&|times| times.read_again.clone()),
                median(&times.from_device),
                median(&times.cached),
                median(&times.peak),
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
    let set = match found.arms.is_empty() {
        true => "not measured".to_owned(),
        false => format!("{} files, {} in pages", found.files, megabytes(found.set_bytes as f64)),
    };
    let title = format!("With little memory, files written and read twice: {set}");
    ExperimentTable { title, columns, rows: rows.collect() }
}

/// Where the set-up differs from the published one.
pub(super) fn differences(figures: &Figures) -> Vec<String> {
    let mut differences = vec![format!(
        "The files are those of revision {} of this repository, and not /usr/src/sys and /usr/src of FreeBSD; of more files than those had as many \
         are taken, evenly.",
        figures.revision
    )];
    differences.push(
        "The compressors are this program's: stock zlib for gzip, libbz2-rs for bzip2, and its own encoder at lzop's levels for lzop, whose files \
         have this program's chunk around them. No process is started, and no mode or time is set."
            .to_owned(),
    );
    differences.push(
        "Sizes are what the files take of the disk, as du counts, without the folders that du counts too; lengths stand beside them.".to_owned(),
    );
    differences.push(
        "The B-tree is this program's own in LMDB's format, written from left to right in the order of keys, and not Berkeley DB with a put for each \
         file in the order of their names."
            .to_owned(),
    );
    let LittleMemory { copies, limit, set_bytes, arms, .. } = &figures.little_memory;
    if !arms.is_empty() {
        differences.push(format!(
            "The original speaks of a machine with little memory; here a memory group limits this process alone to {} for files that take {} of \
             the page cache, and the device and what else the machine holds in memory are as they are.",
            megabytes(*limit as f64),
            megabytes(*set_bytes as f64)
        ));
        if *copies > 1 {
            differences.push(format!(
                "The set that little memory is tried on has each file {copies} times, to be a large one."
            ));
        }
    }
    let sizes: Vec<u32> = figures.phases.0.iter().map(|times| times.files).collect();
    if let Some(many) = sizes.iter().max().filter(|many| **many < MANY) {
        differences.push(format!("Phases are timed with {many} files in place of {MANY}."));
    }
    differences.push(
        "Each phase is timed around its system call; the published figures come from a profiler that samples (gprof)."
            .to_owned(),
    );
    differences
}

/// What else is worth knowing.
pub(super) fn notes(figures: &Figures) -> Vec<String> {
    let mut notes = vec![
        "Times in place are elapsed, with a warm page cache: reading, compressing, writing the new file, removing the old one. Nothing is \
         synced while the clock runs, and nothing is subtracted."
            .to_owned(),
        "Processor times are those of compressing from memory to memory, on one thread, with contexts that are kept from file to file: a program \
         makes new ones for each."
            .to_owned(),
        format!(
            "Phases are timed with {LENGTH} bytes to a file and with none, with {MANY} files and with {FEW}, all in one folder; removing them is not timed."
        ),
    ];
    if !figures.stores.all.is_empty() {
        notes.push(
            "What the B-tree takes has a reading of the whole new tree in it, which is checked against what was encoded; loose files are verified \
             in memory alone."
                .to_owned(),
        );
    }
    if !figures.little_memory.arms.is_empty() {
        notes.push(
            "With little memory, what this process itself needs was taken before it entered the group; both kinds of run are in a group, one of \
             them without a limit. Nothing is dirty when a run begins, and writing is over in both when all is on the device; the files that are \
             empty, which take no pages, are not among them."
                .to_owned(),
        );
    }
    notes
}
