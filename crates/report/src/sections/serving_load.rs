//! What clones and fetches cost a server of several clients at once.

use std::time::Duration;

use repackbench_analysis::percentile;
use repackbench_records::{CheckedPack, LeftOutLoad, LoadExchange, LoadRow, ServingArm, ServingLoad};

use crate::{
    document::{Article, Block, Column, Table, plain_text},
    number::{counted, megabytes, or_dash, seconds, single_time, thousands},
};

/// Elapsed time, CPU time, memory and bytes of each exchange, by number of clients and by arm.
pub fn serving_load(load: &ServingLoad) -> Article {
    let title = format!("{}: served by git under {}", plain_text(&load.repository), load.spec.typed);
    Article { heading: title, ..Article::of(vec![Block::Table(rows(load)), Block::Notes(notes(load))]) }
}

fn rows(load: &ServingLoad) -> Table {
    let mut table = Table::new([
        Column::words("exchange"),
        Column::numbers("clients"),
        Column::words("from"),
        Column::words("to"),
        Column::words("entries"),
        Column::numbers("exchanges"),
        Column::numbers("median"),
        Column::numbers("99 %"),
        Column::numbers("CPU each"),
        Column::numbers("peak MB"),
        Column::numbers("of all MB"),
        Column::numbers("sent MB each"),
    ]);
    for row in &load.rows {
        let mut elapsed: Vec<u64> = row.exchanges.iter().map(|sample| sample.elapsed_ns).collect();
        let mut at = |share| or_dash(percentile(&mut elapsed, share), |ns| single_time(Duration::from_nanos(ns)));
        let (median, slow) = (at(0.5), at(0.99));
        let slow = if (1..100).contains(&row.exchanges.len()) { format!("max {slow}") } else { slow };
        let (from, to, entries) = arm_words(row.arm, load);
        table.row([
            exchange_word(row.exchange).to_owned(),
            row.clients.to_string(),
            from,
            to,
            entries.to_owned(),
            thousands(row.exchanges.len() as u64),
            median,
            slow,
            or_dash(mean(row.cpu_ns, row), |ns| single_time(Duration::from_nanos(ns))),
            or_dash(peak(row.exchange, row.arm, load), megabytes),
            or_dash(peak_of_all(row, load), megabytes),
            or_dash(sent(row, load), megabytes),
        ]);
    }
    table
}

fn exchange_word(exchange: LoadExchange) -> &'static str {
    match exchange {
        LoadExchange::Clone => "clone",
        LoadExchange::Fetch => "fetch",
    }
}

/// The store, what the client reads, and what happens to entries.
fn arm_words(arm: ServingArm, load: &ServingLoad) -> (String, String, &'static str) {
    let (zlib, codec) = (|| "zlib".to_owned(), || load.spec.typed.clone());
    match arm {
        ServingArm::Zlib => (zlib(), zlib(), "reused"),
        ServingArm::ZlibDeltasSearched => (zlib(), zlib(), "deltas searched again"),
        ServingArm::CodecStored => (codec(), codec(), "reused"),
        ServingArm::CodecByGit => (codec(), zlib(), "compressed and deltas searched again"),
        ServingArm::CodecDeltasKept => (codec(), zlib(), "compressed again, deltas kept"),
    }
}

/// `sum` for each exchange of `row`.
fn mean(sum: u64, row: &LoadRow) -> Option<u64> {
    sum.checked_div(row.exchanges.len() as u64)
}

/// The checked packs of an arm.
fn packs(exchange: LoadExchange, arm: ServingArm, load: &ServingLoad) -> impl Iterator<Item = &CheckedPack> {
    let is_of = move |pack: &&CheckedPack| {
        let request = load.requests.get(pack.request);
        pack.arm == arm && request.is_some_and(|request| request.exchange == exchange)
    };
    load.packs.iter().filter(is_of)
}

/// The peak memory of the largest process of an arm.
fn peak(exchange: LoadExchange, arm: ServingArm, load: &ServingLoad) -> Option<u64> {
    packs(exchange, arm, load).filter_map(|pack| pack.peak_bytes).max()
}

/// The peak memory of the processes of all clients.
fn peak_of_all(row: &LoadRow, load: &ServingLoad) -> Option<u64> {
    let largest = peak(row.exchange, row.arm, load)?;
    // There, git does what it does when stored bytes are sent, beside the process that compresses again.
    let other = match row.arm {
        ServingArm::CodecDeltasKept => peak(row.exchange, ServingArm::CodecStored, load).unwrap_or_default(),
        _ => 0,
    };
    Some(largest.saturating_add(other).saturating_mul(u64::from(row.clients)))
}

/// The mean length of what a client gets, over all requests: the pack, and with a clone the dictionaries that it needs.
fn sent(row: &LoadRow, load: &ServingLoad) -> Option<u64> {
    let needs_dictionaries = (row.exchange, row.arm) == (LoadExchange::Clone, ServingArm::CodecStored);
    let dictionaries = if needs_dictionaries { load.dictionary_bytes } else { 0 };
    let lengths: Vec<u64> = packs(row.exchange, row.arm, load).map(|pack| pack.bytes).collect();
    let sum = lengths.iter().copied().fold(0, u64::saturating_add);
    sum.checked_div(lengths.len() as u64).map(|bytes| bytes.saturating_add(dictionaries))
}

fn notes(load: &ServingLoad) -> Vec<String> {
    let mut notes = vec![
        format!(
            "Each exchange is one `pack-objects` of {}, as upload-pack starts it, with commit-graph, bitmaps, multi-pack-index and\n\
             pack reuse. Elapsed time is from its start to its end: the median, and the 99th percentile. Of fewer than a hundred\n\
             exchanges that is the largest, marked max. CPU is user plus system time, the mean.",
            plain_text(&load.git)
        ),
        "peak MB is that of the largest process of an exchange, including its pages of mapped files; a dash means less than can\n\
         be measured. \"of all\" is the sum over all clients: an upper bound, since mapped files are shared. \"sent\" is the mean\n\
         over all different requests."
            .to_owned(),
    ];
    let ages: Vec<u32> = load.requests.iter().filter_map(|request| request.age).collect();
    if !ages.is_empty() {
        let mut ages = ages;
        ages.sort_unstable();
        ages.dedup();
        let ages: Vec<String> = ages.iter().map(u32::to_string).collect();
        notes.push(format!(
            "Fetches are drawn with seed {}. Those of {} commits are equally frequent.",
            load.seed,
            ages.join(", ")
        ));
    }
    let left_out: Vec<String> = load.left_out.iter().map(|left_out| left_out_words(left_out, load)).collect();
    if !left_out.is_empty() {
        let all = left_out.join(";\n");
        notes.push(format!("Left out, because one exchange of each client would take too long for --time:\n{all}."));
    }
    notes
}

fn left_out_words(left_out: &LeftOutLoad, load: &ServingLoad) -> String {
    let (from, to, entries) = arm_words(left_out.arm, load);
    let exchange = exchange_word(left_out.exchange);
    let (clients, time) = (counted(u64::from(left_out.clients), "client", "clients"), seconds(left_out.expected_s));
    format!("  {exchange}, {clients}, {from} to {to}, {entries}: about {time}")
}

#[cfg(test)]
mod tests {
    use repackbench_records::{Host, LoadRequest, LoadSample, SERVING_LOAD_SCHEMA_VERSION, SpecText};

    use super::*;
    use crate::fixtures::plain;

    #[test]
    fn every_row_has_percentiles_and_means() {
        let row = |exchange, arm, elapsed: &[u64]| LoadRow {
            exchange,
            arm,
            clients: 8,
            exchanges: elapsed.iter().map(|ms| LoadSample { request: 0, elapsed_ns: ms * 1_000_000 }).collect(),
            cpu_ns: 30_000_000,
        };
        let request = |age: Option<u32>| LoadRequest {
            exchange: if age.is_some() { LoadExchange::Fetch } else { LoadExchange::Clone },
            age,
            want: None,
            have: None,
        };
        let pack = |arm, request, bytes, peak_bytes| CheckedPack { arm, request, bytes, peak_bytes };
        let left_out =
            LeftOutLoad { exchange: LoadExchange::Clone, arm: ServingArm::CodecByGit, clients: 32, expected_s: 90.0 };
        let load = ServingLoad {
            schema: SERVING_LOAD_SCHEMA_VERSION,
            program_version: "0".into(),
            host: Host::current(),
            repository: "re\npo".into(),
            spec: SpecText { typed: "zstd:3".into(), canonical: "zstd:3".into() },
            git: "git version 2.47.3".into(),
            revision: "HEAD".into(),
            seed: 7,
            time_s: 60.0,
            dictionary_bytes: 500_000,
            requests: vec![request(None), request(Some(1)), request(Some(1)), request(Some(10))],
            packs: vec![
                pack(ServingArm::Zlib, 0, 2_000_000, Some(10_000_000)),
                pack(ServingArm::CodecStored, 0, 2_000_000, None),
                pack(ServingArm::CodecStored, 1, 1, Some(6_000_000)),
                pack(ServingArm::CodecDeltasKept, 1, 1_000_000, Some(5_000_000)),
                pack(ServingArm::CodecDeltasKept, 3, 3_000_000, Some(4_000_000)),
            ],
            rows: vec![
                row(LoadExchange::Clone, ServingArm::Zlib, &[30, 10, 20]),
                row(LoadExchange::Clone, ServingArm::CodecStored, &[10]),
                row(LoadExchange::Fetch, ServingArm::CodecDeltasKept, &[]),
            ],
            left_out: vec![left_out],
        };
        let text = plain(&[serving_load(&load)]);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(words).collect();
        assert_eq!(lines[0], "re\\npo: served by git under zstd:3");
        for expected in [
            "clone 8 zlib zlib reused 3 20.0 ms max 30.0 ms 10.0 ms 10.0 80.0 2.00",
            "clone 8 zstd:3 zstd:3 reused 1 10.0 ms max 10.0 ms 30.0 ms - - 2.50",
            "fetch 8 zstd:3 zlib compressed again, deltas kept 0 - - - 5.00 88.0 2.00",
        ] {
            assert!(lines.iter().any(|line| line == expected), "{expected}: {text}");
        }
        assert!(text.contains("seed 7. Those of 1, 10 commits are equally frequent."), "{text}");
        assert!(
            text.contains("clone, 32 clients, zstd:3 to zlib, compressed and deltas searched again: about"),
            "{text}"
        );
    }
}
