//! The modelled page cache compared with the kernel's.

use repackbench_records::MemoryCheck;

use crate::{
    document::{Article, Block, Column, Table},
    number::{megabytes, or_dash, time_ratio},
};

/// For each limit, the bytes that the model reads, and those that the kernel read.
pub fn memory_check(check: &MemoryCheck) -> Article {
    let mut table = Table::new([
        Column::words("memory"),
        Column::numbers("modelled: MB read"),
        Column::numbers("read again"),
        Column::numbers("measured: MB read"),
        Column::numbers("read again"),
        Column::numbers("peak in cgroup"),
        Column::numbers("modelled/measured"),
    ]);
    for row in &check.rows {
        let shown = |bytes: Option<u64>| or_dash(bytes, megabytes);
        let measured = row.measured_bytes.filter(|bytes| *bytes > 0);
        let ratio = or_dash(measured, |measured| time_ratio(row.modelled_bytes as f64 / measured as f64));
        table.row([
            format!("{}% ({} MB)", row.percent, megabytes(row.limit_bytes)),
            megabytes(row.modelled_bytes),
            megabytes(row.modelled_again_bytes),
            shown(row.measured_bytes),
            shown(row.measured_again_bytes),
            shown(row.peak_bytes),
            ratio,
        ]);
    }
    let heading = format!(
        "{}, {} MB in packs or revlogs, {} MB touched; a copy, evicted and checked with mincore before each row\n\
         The pages of the trace (4 KiB) are read one by one, without readahead, in a memory cgroup with that limit",
        check.workload,
        megabytes(check.store_bytes),
        megabytes(check.touched_bytes),
    );
    let title = format!("{}, modelled and measured in limited memory", check.workload);
    Article { heading, title, ..Article::of([Block::Table(table), Block::note(NOTE)]) }
}

const NOTE: &str =
    "Measured: read_bytes of the process, and refaults of the cgroup, which do not count pages evicted long before.";

#[cfg(test)]
mod tests {
    use repackbench_records::{MemoryCheckRow, SCHEMA_VERSION};

    use super::*;
    use crate::fixtures::plain;

    #[test]
    fn unknown_kernel_values_are_dashes() {
        let row = MemoryCheckRow {
            percent: 25,
            limit_bytes: 25_000_000,
            modelled_bytes: 90_000_000,
            modelled_again_bytes: 10_000_000,
            measured_bytes: Some(100_000_000),
            measured_again_bytes: Some(19_500_000),
            peak_bytes: Some(24_900_000),
        };
        let unknown =
            MemoryCheckRow { measured_bytes: None, measured_again_bytes: None, peak_bytes: None, ..row.clone() };
        let check = MemoryCheck {
            schema: SCHEMA_VERSION,
            program_version: "0.1.0".into(),
            command: None,
            workload: "traverse".into(),
            store_bytes: 100_000_000,
            touched_bytes: 80_000_000,
            rows: vec![row, unknown],
        };
        let text = plain(&[memory_check(&check)]);
        let words: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert!(words.contains(&"25% (25.0 MB) 90.0 10.0 100 19.5 24.9 0.90".to_owned()), "{text}");
        assert!(words.contains(&"25% (25.0 MB) 90.0 10.0 - - - -".to_owned()), "{text}");
        assert!(text.starts_with("traverse, 100 MB in packs or revlogs, 80.0 MB touched"), "{text}");
    }
}
