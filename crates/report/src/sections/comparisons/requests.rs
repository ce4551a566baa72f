//! Jobs of a forge: the time of each request, and what jobs write.

use std::time::Duration;

use repackbench_records::{VariantComparison, WorkloadComparison};

use crate::{
    document::{Block, Column, Table},
    number::{TimeScale, megabytes, multiple, or_dash, size_ratio, thousands},
    sections::names::{variant_name, workload_name},
};

/// The tables of the workloads that have requests, and of those that write.
pub(super) fn blocks(comparisons: &[&WorkloadComparison]) -> Vec<Block> {
    [requests(comparisons), written(comparisons)].into_iter().flatten().map(Block::Table).collect()
}

/// What the tables mean.
pub(super) fn notes(comparisons: &[&WorkloadComparison]) -> Vec<String> {
    let rows = || comparisons.iter().flat_map(|comparison| &comparison.rows);
    let requests = rows().any(|row| row.requests.is_some()).then(|| {
        "Requests: elapsed time of each, over all runs: from the start of a process to its end; for web:file:batch from the \
         question to the end of the answer. They were drawn from the history by the seed, the same for every variant."
            .to_owned()
    });
    let written = rows().any(|row| row.written.is_some()).then(|| {
        "Written: the files that the job made in the store, also those that it removed later, and what it appended to others."
            .to_owned()
    });
    let pushed = rows().any(|row| row.written.is_some_and(|written| written.pushed.is_some())).then(|| {
        "Every commit of the first-parent line counts as one push, with all that it merged; days are those between the dates \
         of the first and the last."
            .to_owned()
    });
    let sent = rows().any(|row| row.written.is_some_and(|written| written.sent.is_some())).then(|| {
        "Sent: the length of the stream from one side to the other; the times are of both sides together.".to_owned()
    });
    requests.into_iter().chain(written).chain(pushed).chain(sent).collect()
}

/// Adds the rows of `comparison` that have cells.
fn add_rows(
    table: &mut Table,
    comparison: &WorkloadComparison,
    cells: impl Fn(&VariantComparison) -> Option<Vec<String>>,
) {
    let rows = comparison.rows.iter().filter_map(|row| Some((row, cells(row)?)));
    for (number, (row, cells)) in rows.enumerate() {
        if number == 0 {
            table.group(Some(comparison.workload.to_string()));
        }
        let name = if number > 0 { String::new() } else { workload_name(&comparison.workload) };
        let cells = [name, variant_name(&row.variant)].into_iter().chain(cells);
        table.variant_row(row.variant.label(), cells.collect::<Vec<_>>());
    }
}

fn requests(comparisons: &[&WorkloadComparison]) -> Option<Table> {
    let mut table = Table::new([
        Column::words("workload"),
        Column::words("variant"),
        Column::numbers("requests"),
        Column::numbers("median"),
        Column::numbers("90 %"),
        Column::numbers("99 %"),
    ])
    .spaced()
    .captioned("Elapsed time of a request");
    for comparison in comparisons {
        let medians = comparison.rows.iter().filter_map(|row| Some(row.requests?.median));
        let scale = TimeScale::for_smallest(medians.min().unwrap_or(Duration::ZERO));
        add_rows(&mut table, comparison, |row| {
            let of = row.requests?;
            let times = [of.median, of.p90, of.p99].map(|time| scale.show(time));
            Some(std::iter::once(thousands(of.count as u64)).chain(times).collect())
        });
    }
    (!table.is_empty()).then_some(table)
}

fn written(comparisons: &[&WorkloadComparison]) -> Option<Table> {
    let mut table = Table::new([
        Column::words("workload"),
        Column::words("variant"),
        Column::numbers("written MB"),
        Column::numbers("ratio"),
        Column::numbers("MB a day"),
        Column::numbers("times pushed"),
        Column::numbers("sent MB"),
        Column::numbers("peak MB"),
    ])
    .spaced()
    .captioned("What jobs write into the store, and their peak memory");
    for comparison in comparisons {
        let baseline = comparison.baseline().and_then(|row| row.written).map(|written| written.run);
        add_rows(&mut table, comparison, |row| {
            let of = row.written?;
            let pushed = of.pushed.filter(|pushed| *pushed > 0);
            Some(vec![
                megabytes(of.run),
                or_dash(baseline, |baseline| size_ratio(of.run, baseline)),
                or_dash(of.day, megabytes),
                or_dash(pushed, |pushed| multiple(of.run as f64 / pushed as f64)),
                or_dash(of.sent, megabytes),
                or_dash(row.peak_resident_median, megabytes),
            ])
        });
    }
    (!table.is_empty()).then_some(table)
}

#[cfg(test)]
mod tests {
    use repackbench_records::{RequestPercentiles, Role, WrittenBytes};

    use super::*;
    use crate::{
        fixtures::{comparison, plain, row},
        sections::comparisons,
    };

    #[test]
    fn requests_and_writing_have_tables() {
        let millis = Duration::from_millis;
        let mut file = row(Role::Baseline, "zlib:6", 100, None, 5_000_000);
        file.requests = Some(RequestPercentiles { count: 1200, median: millis(2), p90: millis(3), p99: millis(11) });
        let mut geometric = row(Role::Candidate, "zstd:5", 100, None, 4_000_000);
        geometric.written =
            Some(WrittenBytes { run: 3_000_000, day: Some(60_000), pushed: Some(1_500_000), sent: None });
        geometric.peak_resident_median = Some(20_000_000);
        let baseline = row(Role::Baseline, "zlib:6", 100, None, 5_000_000);
        let baseline = VariantComparison {
            written: Some(WrittenBytes { run: 4_000_000, day: None, pushed: None, sent: None }),
            ..baseline
        };
        let mut stream = row(Role::Baseline, "zlib:6", 100, None, 5_000_000);
        stream.written = Some(WrittenBytes { run: 2_000_000, day: None, pushed: None, sent: Some(2_500_000) });
        let of = [
            comparison("web:file", vec![file], None),
            comparison("repack:geometric", vec![baseline, geometric], None),
            comparison("clone:stream", vec![stream], None),
        ];
        let text = plain(&comparisons(&of));
        let lines: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert!(lines.contains(&"web:file zlib:6 1,200 2.00 ms 3.00 ms 11.00 ms".to_owned()), "{text}");
        assert!(lines.contains(&"repack:geometric zlib:6 4.00 1.000 - - - -".to_owned()), "{text}");
        assert!(lines.contains(&"zstd:5 3.00 0.750 0.060 2.00 - 20.0".to_owned()), "{text}");
        assert!(lines.contains(&"clone:stream zlib:6 2.00 1.000 - - 2.50 -".to_owned()), "{text}");
        let plain_job =
            plain(&comparisons(&[comparison("fsck", vec![row(Role::Baseline, "zlib:6", 1, None, 5)], None)]));
        assert!(!plain_job.contains("99 %") && !plain_job.contains("written MB"), "{plain_job}");
    }
}
