//! The cost of serving.

use std::time::Duration;

use repackbench_records::{Rollout, ServedClient, ServerStore, Vcs};

use crate::{
    document::{Article, Block, Column, Table, plain_text},
    number::{TimeScale, megabytes, size_ratio, thousands, time_ratio},
};

/// The cost of each exchange, with ratios to serving zlib's stored bytes unchanged, and, if `with_steps`, the mean over
/// clients of which 0 to 100 % are upgraded.
pub fn rollout(rollout: &Rollout, with_steps: bool) -> Article {
    let mut blocks = vec![Block::Table(exchanges(rollout))];
    blocks.extend(with_steps.then(|| Block::Table(steps(rollout))));
    blocks.push(Block::Notes(notes(rollout)));
    Article { heading: title(rollout), ..Article::of(blocks) }
}

fn title(rollout: &Rollout) -> String {
    let what = match rollout.commits {
        None => "a clone".to_owned(),
        Some(commits) => {
            format!("a fetch of the last {commits} commits of {}", plain_text(&rollout.revision))
        }
    };
    format!("{}: serving {what} under {}", plain_text(&rollout.repository), rollout.spec.typed)
}

/// The baseline's CPU time and wire bytes.
fn baseline(rollout: &Rollout) -> (u64, u64) {
    let exchange = rollout.exchange(ServerStore::Zlib, ServedClient::Old);
    exchange.map_or((0, 0), |exchange| (exchange.median_cpu_ns, exchange.wire_bytes))
}

fn scale(rollout: &Rollout) -> TimeScale {
    let smallest = rollout.exchanges.iter().map(|exchange| exchange.median_cpu_ns).min();
    TimeScale::for_smallest(Duration::from_nanos(smallest.unwrap_or_default()))
}

/// A time as a multiple of another; a dash if that is zero.
fn cpu_ratio(cpu_ns: u64, of: u64) -> String {
    if of == 0 { "-".to_owned() } else { time_ratio(cpu_ns as f64 / of as f64) }
}

fn store_name(store: ServerStore) -> &'static str {
    match store {
        ServerStore::Zlib => "zlib",
        ServerStore::Converted => "converted",
        ServerStore::Mixed => "mixed",
    }
}

fn exchanges(rollout: &Rollout) -> Table {
    let mut table = Table::new([
        Column::words("store"),
        Column::words("client"),
        Column::numbers("entries"),
        Column::numbers("reused"),
        Column::numbers("encoded"),
        Column::numbers("CPU"),
        Column::numbers("CPU ratio"),
        Column::numbers("wire MB"),
        Column::numbers("wire ratio"),
    ]);
    let (cpu, wire) = baseline(rollout);
    let scale = scale(rollout);
    for exchange in &rollout.exchanges {
        let client = match exchange.client {
            ServedClient::Old => "zlib only",
            ServedClient::Upgraded => "upgraded",
        };
        table.row([
            store_name(exchange.store).to_owned(),
            client.to_owned(),
            thousands(exchange.entries),
            thousands(exchange.reused),
            thousands(exchange.encoded),
            scale.show(Duration::from_nanos(exchange.median_cpu_ns)),
            cpu_ratio(exchange.median_cpu_ns, cpu),
            megabytes(exchange.wire_bytes),
            size_ratio(exchange.wire_bytes, wire),
        ]);
    }
    table
}

fn steps(rollout: &Rollout) -> Table {
    let mut table = Table::new([
        Column::numbers("upgraded"),
        Column::words("store"),
        Column::numbers("CPU a client"),
        Column::numbers("CPU ratio"),
        Column::numbers("wire MB a client"),
        Column::numbers("wire ratio"),
    ]);
    let (cpu, wire) = baseline(rollout);
    let scale = scale(rollout);
    let mut steps: Vec<_> = rollout.steps.iter().collect();
    steps.sort_by_key(|step| step.upgraded_percent);
    for step in steps {
        table.row([
            format!("{} %", step.upgraded_percent),
            store_name(step.store).to_owned(),
            scale.show(Duration::from_nanos(step.cpu_ns)),
            cpu_ratio(step.cpu_ns, cpu),
            megabytes(step.wire_bytes),
            size_ratio(step.wire_bytes, wire),
        ]);
    }
    table
}

fn notes(rollout: &Rollout) -> Vec<String> {
    let runs = rollout.exchanges.iter().map(|exchange| exchange.cpu_ns.len()).max().unwrap_or_default();
    let is_hg = rollout.vcs == Some(Vcs::Mercurial);
    let mut notes = vec![match (is_hg, rollout.commits) {
        (false, _) => format!(
            "CPU is the user plus system time to make the pack, including its checksum: the median of {runs} runs. The search for\n\
             the objects to send is not timed. Ratios are to a zlib server and client: stored bytes are sent unchanged."
        ),
        (true, None) => format!(
            "CPU is user plus system time: the median of {runs} runs. A client that reads all stored formats gets the files of the\n\
             store unchanged (a stream clone). Other clients get a bundle (a pull): every delta is decoded, and all of them are\n\
             compressed as one zstd stream. Ratios are to a stream clone under zlib."
        ),
        (true, Some(_)) => format!(
            "CPU is the user plus system time to make the bundle: the median of {runs} runs. A pull decodes every delta and\n\
             compresses all of them as one zstd stream for every client: upgraded clients change nothing. Ratios are to a server\n\
             under zlib."
        ),
    }];
    if rollout.exchanges.iter().any(|exchange| exchange.store == ServerStore::Mixed) {
        let what = if is_hg { "every second revlog" } else { "every second entry in pack order" };
        notes.push(format!("mixed: {what} is taken from the zlib repository, the others from the converted one."));
    }
    let dictionaries = rollout.exchanges.iter().map(|exchange| exchange.dictionary_bytes).max().unwrap_or_default();
    if dictionaries > 0 {
        notes
            .push(format!("Wire bytes of upgraded clients include {} bytes of dictionaries.", thousands(dictionaries)));
    }
    notes
}

#[cfg(test)]
mod tests {
    use repackbench_records::{Host, ServedExchange, SpecText};

    use super::*;
    use crate::fixtures::plain;

    #[test]
    fn every_exchange_and_share_has_a_row() {
        let exchange = |store, client, millis: u64, wire_bytes| ServedExchange {
            store,
            client,
            entries: 1234,
            reused: 1234,
            encoded: 0,
            wire_bytes,
            dictionary_bytes: if client == ServedClient::Upgraded { 2048 } else { 0 },
            cpu_ns: vec![millis * 1_000_000; 3],
            median_cpu_ns: millis * 1_000_000,
        };
        let exchanges = vec![
            exchange(ServerStore::Zlib, ServedClient::Old, 20, 10_000_000),
            exchange(ServerStore::Converted, ServedClient::Old, 400, 10_000_000),
            exchange(ServerStore::Converted, ServedClient::Upgraded, 10, 8_000_000),
        ];
        let rollout = Rollout {
            schema: repackbench_records::ROLLOUT_SCHEMA_VERSION,
            program_version: "0".into(),
            host: Host::current(),
            repository: "re\npo".into(),
            vcs: Some(Vcs::Git),
            spec: SpecText { typed: "zstd:5".into(), canonical: "zstd:5".into() },
            commits: None,
            revision: "HEAD".into(),
            seed: 1,
            steps: Rollout::steps_of(&exchanges),
            exchanges,
        };
        let text = plain(&[super::rollout(&rollout, true)]);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(words).collect();
        assert_eq!(lines[0], "re\\npo: serving a clone under zstd:5");
        assert_eq!(lines[5], "converted zlib only 1,234 1,234 0 400.0 ms 20.00 10.0 1.000");
        assert!(lines.contains(&"50 % converted 205.0 ms 10.25 9.00 0.900".to_owned()), "{text}");
        assert_eq!(text.matches(" % ").count(), 11, "{text}");
        assert!(text.contains("2,048 bytes of dictionaries") && !text.contains("mixed"), "{text}");
        assert!(!plain(&[super::rollout(&rollout, false)]).contains(" % "));
        let of_hg = Rollout { vcs: Some(Vcs::Mercurial), ..rollout };
        assert!(plain(&[super::rollout(&of_hg, false)]).contains("stream clone"));
        let fetch = plain(&[super::rollout(&Rollout { commits: Some(3), ..of_hg }, false)]);
        assert!(fetch.contains("upgraded clients change nothing"), "{fetch}");
    }
}
