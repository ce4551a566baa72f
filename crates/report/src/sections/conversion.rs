//! The summary of a conversion.

use std::time::Duration;

use repackbench_records::{ChunkForm, ChunkSizes, ObjectKind, SizeRecord};

use super::sizes::stored_forms;
use crate::{
    document::{Article, Block, Column, Table, plain_text},
    number::{megabytes, single_time, size_ratio, thousands},
};

/// One line of the summary; `entries` is `None` if nothing is counted.
struct SummaryLine {
    name: String,
    entries: Option<u64>,
    before: u64,
    after: u64,
}

/// The result of a conversion: objects (each chunk counts as one) and bytes before and after by object kind, ratios,
/// the number of chunks in each stored form, and the rate.
///
/// `elapsed` is the time from the first byte read to the last byte written, without `sync`, the time for making the
/// output durable; the rate is payload bytes over `elapsed`. `notes` such as missing objects follow, one per line.
pub fn conversion(
    before: &SizeRecord,
    after: &SizeRecord,
    elapsed: Duration,
    sync: Duration,
    notes: &[String],
) -> Article {
    let lines = summary_lines(before, after);
    let mut table = Table::new([
        Column::words(""),
        Column::numbers("objects"),
        Column::points("before MB"),
        Column::points("after MB"),
        Column::numbers("ratio"),
    ]);
    for line in lines {
        let entries = line.entries.map(thousands).unwrap_or_default();
        let ratio = size_ratio(line.after, line.before);
        table.row([line.name, entries, megabytes(line.before), megabytes(line.after), ratio]);
    }
    let rate = rate_line(before.objects.sum(), elapsed, sync);
    let notes = std::iter::once(rate).chain(notes.iter().map(|note| plain_text(note))).collect();
    let forms = stored_forms(std::slice::from_ref(after)).map(Block::Table);
    Article::of([Block::Table(table)].into_iter().chain(forms).chain([Block::Notes(notes)]))
}

/// The totals of a repository in one line: `3.96 MB before, 3.50 MB after (0.884)`.
pub fn size_change(before: &SizeRecord, after: &SizeRecord) -> String {
    let (before, after) = (before.total_bytes, after.total_bytes);
    format!("{} MB before, {} MB after ({})", megabytes(before), megabytes(after), size_ratio(after, before))
}

fn summary_lines(before: &SizeRecord, after: &SizeRecord) -> Vec<SummaryLine> {
    let mut lines = Vec::new();
    for kind in ObjectKind::ALL {
        for form in ChunkForm::ALL {
            let (old, new) = (before.objects.get(kind, form), after.objects.get(kind, form));
            if old != ChunkSizes::default() || new != ChunkSizes::default() {
                let name = kind.with_form(form);
                let (before, after) = (old.stored_bytes, new.stored_bytes);
                lines.push(SummaryLine { name, entries: Some(new.entries), before, after });
            }
        }
    }
    let around_chunks = |size: &SizeRecord| size.total_bytes.saturating_sub(size.objects.sum().stored_bytes);
    lines.push(SummaryLine {
        name: "headers, indexes, other files".to_owned(),
        entries: None,
        before: around_chunks(before),
        after: around_chunks(after),
    });
    let entries = Some(after.objects.sum().entries);
    lines.push(SummaryLine { name: "total".to_owned(), entries, before: before.total_bytes, after: after.total_bytes });
    lines
}

/// `850,123 objects, 1,234 MB of payload in 12.3 s (100 MB/s), then sync in 0.40 s`
fn rate_line(chunks: ChunkSizes, elapsed: Duration, sync: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    // A conversion too short for the clock has no rate.
    let rate = if seconds > 0.0 {
        // Whole bytes per second are enough for three digits of MB; the cast saturates.
        format!(" ({} MB/s)", megabytes((chunks.payload_bytes as f64 / seconds) as u64))
    } else {
        String::new()
    };
    let (objects, payload) = (thousands(chunks.entries), megabytes(chunks.payload_bytes));
    let (elapsed, sync) = (single_time(elapsed), single_time(sync));
    format!("{objects} objects, {payload} MB of payload in {elapsed}{rate}, then sync in {sync}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::plain;

    fn sample(tree_delta_bytes: u64, total_bytes: u64) -> SizeRecord {
        let mut size = SizeRecord { total_bytes, ..SizeRecord::default() };
        size.objects.get_mut(ObjectKind::Commit, ChunkForm::Whole).add(1_000_000, 2_000_000);
        for _ in 0..1200 {
            size.objects.get_mut(ObjectKind::Tree, ChunkForm::Delta).add(tree_delta_bytes / 1200, 1000);
        }
        size
    }

    #[test]
    fn summary_shows_bytes_by_kind_and_the_rate() {
        let notes = ["3 objects are missing, as in the source".to_owned()];
        let text = plain(&[conversion(
            &sample(120_000_000, 125_000_000),
            &sample(60_000_000, 65_500_000),
            Duration::from_millis(1600),
            Duration::from_millis(250),
            &notes,
        )]);
        let expected = "
                               objects  before MB  after MB  ratio
--------------------------------------------------------------------
commit, whole                        1       1.00      1.00  1.000
tree, delta                      1,200     120        60.0   0.500
headers, indexes, other files                4.00      4.50  1.125
total                            1,201     125        65.5   0.524

1,201 objects, 3.20 MB of payload in 1.60 s (2.00 MB/s), then sync in 250 ms
3 objects are missing, as in the source
";
        assert_eq!(format!("\n{text}"), expected, "{text}");
    }

    #[test]
    fn empty_repository_has_totals_but_no_rate() {
        let empty = SizeRecord::default();
        let text = plain(&[conversion(&empty, &empty, Duration::ZERO, Duration::ZERO, &[])]);
        assert!(text.contains("total"), "{text}");
        assert!(!text.contains("MB/s"), "{text}");
    }
}
