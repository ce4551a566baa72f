//! The pages that workloads read, and modelled times.

use std::time::Duration;

use repackbench_analysis::{ResultSource, cold_times};
use repackbench_records::{DeviceCheck, FilePages, ModelledReads, PartAccesses, TraceRecord};

use super::source;
use crate::{
    document::{Article, Block, Column, Table, plain_text},
    number::{megabytes, or_dash, single_time, thousands, time_ratio},
    sections::names::workload_name,
};

/// The traces of each workload on several variants: pages by file, accesses by purpose, and modelled times; then the
/// meaning of the columns.
pub fn traces(records: &[TraceRecord]) -> Vec<Article> {
    if records.is_empty() {
        return vec![Article::of([Block::note("Nothing was traced.")])];
    }
    let of_workload = records.chunk_by(|a, b| a.repository == b.repository && a.workload == b.workload);
    let articles = of_workload.filter_map(|traces| Some(article(traces.first()?, traces)));
    articles.chain([Article::of([Block::Details(NOTES.map(str::to_owned).to_vec())])]).collect()
}

/// What one workload reads from the variants of one repository.
fn article(first: &TraceRecord, records: &[TraceRecord]) -> Article {
    let mut tables = vec![files_table(records), parts_table(records), devices_table(records)];
    tables.extend(records.iter().any(|record| !record.memory.is_empty()).then(|| memory_table(records)));
    let workload = first.workload.to_string();
    Article {
        repository: Some(first.repository.name.clone()),
        heading: format!(
            "{}, {}",
            source::heading(&ResultSource::of_repository(&first.repository)),
            plain_text(&workload_name(&first.workload))
        ),
        title: format!("{}, {}", workload_name(&first.workload), first.repository.name),
        workload: Some(workload),
        blocks: tables.into_iter().map(Block::Table).collect(),
        ..Article::default()
    }
}

/// The meaning of the columns.
const NOTES: [&str; 2] = [
    "A page has 4 KiB. A run is a sequence of touched pages, a gap the untouched part between two runs of a file. Forward is the share \
     of steps between pages of a file that go to a later page. First touches are of the next page, of one farther ahead or of an \
     earlier one, each in percent; a jump is the median length of the latter two, in pages.",
    "Modelled times are not measured: they are the time of waiting for the device, from an empty page cache. docs/method.md defines \
     the model.",
];

/// The label of a record, only for the first of its rows.
fn label(record: &TraceRecord, row: usize) -> String {
    if row == 0 { record.variant.label().into_owned() } else { String::new() }
}

fn percent(part: u64, of: u64) -> String {
    if of == 0 { "-".to_owned() } else { format!("{:.0}", 100.0 * part as f64 / of as f64) }
}

/// A number of pages as MB.
fn page_megabytes(pages: u64, record: &TraceRecord) -> String {
    megabytes(pages.saturating_mul(record.page_len))
}

/// The touched pages, by role of files.
fn files_table(records: &[TraceRecord]) -> Table {
    let mut table = Table::new([
        Column::words("variant"),
        Column::words("files"),
        Column::numbers("MB"),
        Column::numbers("touched MB"),
        Column::numbers("%"),
        Column::numbers("runs"),
        Column::numbers("median run"),
        Column::numbers("median gap"),
        Column::numbers("forward %"),
        Column::numbers("first touches: next/ahead/back %"),
        Column::numbers("jump"),
    ])
    .captioned("Pages that were touched");
    for record in records {
        for (row, files) in record.files.iter().filter(|files| files.touched > 0).enumerate() {
            table.variant_row(record.variant.label(), file_row(record, row, files));
        }
    }
    table
}

fn file_row(record: &TraceRecord, row: usize, files: &FilePages) -> [String; 11] {
    let touches = files.first_touches;
    let steps = touches.next.saturating_add(touches.ahead).saturating_add(touches.back);
    let shares = [touches.next, touches.ahead, touches.back].map(|part| percent(part, steps)).join("/");
    let or_none = |number: Option<u64>| or_dash(number, thousands);
    [
        label(record, row),
        files.role.clone(),
        page_megabytes(files.pages, record),
        page_megabytes(files.touched, record),
        percent(files.touched, files.pages),
        thousands(files.runs),
        thousands(files.median_run),
        or_none(files.median_gap),
        percent(files.forward_steps, files.steps),
        shares,
        or_none(touches.median_jump),
    ]
}

/// The accesses by purpose.
fn parts_table(records: &[TraceRecord]) -> Table {
    let mut table = Table::new([
        Column::words("variant"),
        Column::words("read for"),
        Column::numbers("accesses"),
        Column::numbers("chunks decoded"),
        Column::numbers("MB read"),
        Column::numbers("pages"),
    ])
    .captioned("What was read");
    for record in records {
        for (row, part) in record.parts.iter().enumerate() {
            let PartAccesses { part: name, accesses, bytes, pages, decodes } = part;
            let decodes = or_dash(Some(*decodes).filter(|decodes| *decodes > 0), thousands);
            table.variant_row(
                record.variant.label(),
                [label(record, row), name.clone(), thousands(*accesses), decodes, megabytes(*bytes), thousands(*pages)],
            );
        }
    }
    table
}

/// Modelled times from an empty page cache.
fn devices_table(records: &[TraceRecord]) -> Table {
    let mut table = Table::new([
        Column::words("variant"),
        Column::words("device"),
        Column::numbers("seeks"),
        Column::numbers("MB read"),
        Column::numbers("modelled time"),
        Column::numbers("ratio"),
    ])
    .captioned("Modelled times from an empty page cache");
    for record in records {
        for (row, reads) in record.devices.iter().enumerate() {
            let reference = baseline(records).and_then(|baseline| baseline.devices.get(row));
            let [seeks, bytes, time, ratio] = modelled_cells(reads, reference);
            table.variant_row(
                record.variant.label(),
                [label(record, row), reads.device.name.clone(), seeks, bytes, time, ratio],
            );
        }
    }
    table
}

/// Modelled times with limited memory.
fn memory_table(records: &[TraceRecord]) -> Table {
    let mut table = Table::new([
        Column::words("variant"),
        Column::words("memory"),
        Column::words("device"),
        Column::numbers("misses"),
        Column::numbers("MB read"),
        Column::numbers("modelled time"),
        Column::numbers("ratio"),
    ])
    .captioned("Modelled times with limited memory");
    for record in records {
        let mut row = 0;
        for (number, memory) in record.memory.iter().enumerate() {
            let share = format!("{}% ({} MB)", memory.percent, megabytes(memory.cache_bytes));
            for (at, reads) in memory.devices.iter().enumerate() {
                let reference = baseline(records).and_then(|baseline| baseline.memory.get(number)?.devices.get(at));
                let [_, bytes, time, ratio] = modelled_cells(reads, reference);
                let share = if at == 0 { share.clone() } else { String::new() };
                table.variant_row(
                    record.variant.label(),
                    [label(record, row), share, reads.device.name.clone(), thousands(reads.reads), bytes, time, ratio],
                );
                row += 1;
            }
        }
    }
    table
}

/// The baseline, if it was traced.
fn baseline(records: &[TraceRecord]) -> Option<&TraceRecord> {
    records.iter().find(|record| record.variant.role == repackbench_records::Role::Baseline)
}

fn modelled_cells(reads: &ModelledReads, reference: Option<&ModelledReads>) -> [String; 4] {
    let reference = reference.map(|reference| reference.time).filter(|time| *time > Duration::ZERO);
    let ratio = or_dash(reference, |reference| time_ratio(reads.time.as_secs_f64() / reference.as_secs_f64()));
    [thousands(reads.seeks), megabytes(reads.bytes), single_time(reads.time), ratio]
}

/// The device model compared with cold reads.
pub fn device_check(check: &DeviceCheck) -> Article {
    let device = &check.device;
    let mut table = Table::new([
        Column::words("cold read"),
        Column::numbers("modelled"),
        Column::numbers("measured: median"),
        Column::numbers("least"),
        Column::numbers("most"),
        Column::numbers("modelled/measured"),
    ]);
    let readahead = match check.readahead_bytes {
        Some(bytes) => format!("{} KiB", bytes >> 10),
        None => format!("unknown, modelled as {} KiB", check.modelled_readahead_bytes >> 10),
    };
    let ways = [
        "the trace's pages alone, no readahead".to_owned(),
        format!("the workload, cold minus warm, readahead {readahead}"),
    ];
    for (how, times) in ways.into_iter().zip(cold_times(check)) {
        let median = times.median();
        let ratio = median.filter(|median| !median.is_zero());
        let ratio = or_dash(ratio, |median| time_ratio(times.modelled.as_secs_f64() / median.as_secs_f64()));
        let shown = |time: Option<Duration>| or_dash(time, single_time);
        let [least, most] = [times.measured.first(), times.measured.last()].map(|time| shown(time.copied()));
        table.row([how, single_time(times.modelled), shown(median), least, most, ratio]);
    }
    let copies = check.copies.len();
    let heading = format!(
        "{}, {} MB in packs or revlogs and their indexes, {copies} copies, each evicted, and checked with mincore, before it was read\n\
         {}: latency {}, {} MB/s sequential, as measured just before",
        check.workload,
        megabytes(check.store_bytes),
        device.name,
        single_time(device.latency),
        thousands((device.bytes_per_second / 1e6) as u64),
    );
    let title = format!("{}, modelled and measured on a disk", check.workload);
    Article { heading, title, ..Article::of([Block::Table(table)]) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use repackbench_records::{
        ColdCopyReads, DeviceCalibration, DeviceRecord, FirstTouches, ModelledMemory, RepositoryState, Role,
        SCHEMA_VERSION, WorkloadLabel, fixtures::variant,
    };

    use super::*;
    use crate::fixtures::plain;

    fn trace_table(records: &[TraceRecord]) -> String {
        plain(&traces(records))
    }

    fn reads(seeks: u64, milliseconds: u64) -> ModelledReads {
        let latency = Duration::from_millis(8);
        let device = DeviceRecord { name: "hdd".into(), latency, bytes_per_second: 2e8, readahead_bytes: 131_072 };
        let time = Duration::from_millis(milliseconds);
        ModelledReads { device, reads: seeks + 5, seeks, bytes: 3_000_000, time }
    }

    fn record(role: Role, row: u32, time: u64) -> TraceRecord {
        let touches = FirstTouches { next: 50, ahead: 30, back: 20, median_jump: Some(1234) };
        let pack = FilePages {
            role: "pack".into(),
            files: 1,
            pages: 1000,
            touched: 101,
            runs: 7,
            median_run: 3,
            longest_run: 40,
            median_gap: None,
            steps: 200,
            forward_steps: 150,
            first_touches: touches,
        };
        let untouched = FilePages { role: "pack index".into(), pages: 10, ..FilePages::default() };
        let memory = ModelledMemory { percent: 25, cache_bytes: 1_000_000, devices: vec![reads(30, 2 * time)] };
        TraceRecord {
            schema: SCHEMA_VERSION,
            program_version: "0.1.0".into(),
            repository: RepositoryState { name: "some".into(), ..RepositoryState::default() },
            variant: variant(role, row, "zlib:6"),
            workload: WorkloadLabel { name: "traverse".into(), parameters: BTreeMap::new() },
            page_len: 4096,
            files: vec![pack, untouched],
            parts: vec![PartAccesses {
                part: "blob delta".into(),
                accesses: 1500,
                bytes: 2_000_000,
                pages: 90,
                decodes: 0,
            }],
            devices: vec![reads(20, time)],
            memory: vec![memory],
            maps: Vec::new(),
            command: None,
        }
    }

    #[test]
    fn rows_show_all_values_of_touched_files() {
        let text = trace_table(&[record(Role::AsFound, 0, 150), record(Role::Baseline, 1, 100)]);
        let words: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        let has = |line: &str| assert!(words.iter().any(|found| found == line), "{line}\n{text}");
        has("as found pack 4.10 0.414 10 7 3 - 75 50/30/20 1,234");
        has("zlib:6 blob delta 1,500 - 2.00 90");
        has("as found hdd 20 3.00 150 ms 1.50");
        has("zlib:6 hdd 20 3.00 100 ms 1.00");
        has("as found 25% (1.00 MB) hdd 35 3.00 300 ms 1.50");
        assert!(!text.contains("pack index") && text.contains("Modelled times are not measured"), "{text}");
    }

    #[test]
    fn device_check_shows_model_and_median_of_copies() {
        let ms = Duration::from_millis;
        let copy = |pages| ColdCopyReads { pages: ms(pages), workload_cold: ms(pages + 3), workload_warm: ms(1) };
        let check = DeviceCheck {
            schema: SCHEMA_VERSION,
            program_version: "0.1.0".into(),
            workload: "traverse".into(),
            store_bytes: 12_000_000,
            calibration: DeviceCalibration { single_reads: 1, single_time: ms(8), long_bytes: 1, long_time: ms(1) },
            device: reads(0, 0).device,
            readahead_bytes: None,
            modelled_readahead_bytes: 131_072,
            modelled_pages: ms(30),
            modelled_workload: ms(11),
            copies: [40, 10, 30, 20].map(copy).to_vec(),
            command: None,
        };
        let text = plain(&[device_check(&check)]);
        let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        let rows: Vec<String> = rows.skip_while(|row| !row.starts_with("the trace's pages")).collect();
        assert_eq!(
            rows,
            [
                "the trace's pages alone, no readahead 30.0 ms 20.0 ms 10.0 ms 40.0 ms 1.50",
                "the workload, cold minus warm, readahead unknown, modelled as 128 KiB 11.0 ms 22.0 ms 12.0 ms 42.0 ms 0.50",
            ]
        );
        assert!(text.contains("traverse, 12.0 MB") && text.contains("4 copies") && text.contains("200 MB/s"), "{text}");
    }

    #[test]
    fn ratios_need_a_baseline() {
        let mut alone = record(Role::AsFound, 0, 150);
        alone.memory.clear();
        let text = trace_table(&[alone]);
        assert!(text.contains("150 ms      -") && !text.contains("memory"), "{text}");
        assert_eq!(trace_table(&[]), "Nothing was traced.\n");
    }
}
