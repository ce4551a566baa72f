//! The changes between two sets of results.

use repackbench_records::{CellChange, CellId, Measure, RatioEstimate, ResultChange};

use crate::{
    document::{Article, Block, Cell, Column, Table, Tone, plain_text},
    number::{or_dash, percent, ratio_cell, three_decimals},
    sections::names::workload_name,
};

/// One line for each cell that both results have, the worst first, and notes on what could not be compared. A change
/// beyond `gate`, a part of 1, counts.
pub fn changes(change: &ResultChange, gate: f64) -> Article {
    let mut table = Table::new([
        Column::words("repository"),
        Column::words("workload"),
        Column::words("variant"),
        Column::words(format!("{} new/old", compared_time(change))),
        Column::numbers("size new/old"),
        Column::words(""),
    ]);
    let mut cells: Vec<&CellChange> = change.cells.iter().collect();
    let badness = |cell: &CellChange| cell.time.map_or(1.0, |time| time.ratio).max(cell.size);
    cells.sort_by(|a, b| badness(b).total_cmp(&badness(a)));
    for cell in cells {
        let cells = [
            place(&cell.id),
            workload_name(&cell.id.workload),
            variant(&cell.id),
            or_dash(cell.time.as_ref(), ratio_cell),
            three_decimals(cell.size),
        ];
        table.variant_row(&*cell.id.variant, cells.map(Cell::from).into_iter().chain([verdict(cell, gate)]));
    }
    Article::of([Block::Table(table), Block::Notes(notes(change, gate))])
}

/// The time that all cells compare; `time` if they differ.
fn compared_time(change: &ResultChange) -> &'static str {
    let mut times = change.cells.iter().map(|cell| cell.compared_time.name());
    let first = times.next().unwrap_or("time");
    if times.all(|time| time == first) { first } else { "time" }
}

/// The repository, and the machine if there are several.
fn place(id: &CellId) -> String {
    let machine = id.machine.as_ref().map(|machine| format!(" on {machine}")).unwrap_or_default();
    format!("{}{machine}", id.repository)
}

/// The variant, then the baseline and the compared time if there are several.
fn variant(id: &CellId) -> String {
    let beside = id.baseline.as_ref().map(|baseline| format!(" beside {baseline}")).unwrap_or_default();
    let time = id.compared_time.map(|time| format!(", {}", time.name())).unwrap_or_default();
    format!("{}{beside}{time}", id.variant)
}

/// A cell in words. Plain.
fn name(id: &CellId) -> String {
    plain_text(&format!("{}: {}: {}", place(id), id.workload, variant(id)))
}

/// The changes beyond the gate, in words.
fn verdict(cell: &CellChange, gate: f64) -> Cell {
    let is_faster = |time: &RatioEstimate| time.interval.is_some_and(|interval| interval.high < 1.0 - gate);
    let (time, tone) = match &cell.time {
        _ if cell.is_slower(gate) => ("slower", Tone::Worse),
        Some(time) if is_faster(time) => ("faster", Tone::Better),
        _ => ("", Tone::Even),
    };
    let size = match cell.size {
        _ if cell.is_larger(gate) => "larger",
        size if size < 1.0 - gate => "smaller",
        _ => "",
    };
    let comma = if time.is_empty() || size.is_empty() { "" } else { ", " };
    Cell::toned("", time, &format!("{comma}{size}"), tone)
}

fn notes(change: &ResultChange, gate: f64) -> Vec<String> {
    let what = match change.measure {
        Measure::RatioToBaseline => "compared as ratios to the baseline of the same results",
        Measure::Time => "compared directly, which is only valid for results of one machine",
    };
    let beyond = percent(gate, 1);
    let mut notes = vec![format!("Times are {what}. slower, faster: the whole interval is beyond {beyond}.")];
    if let Some((old, new)) = &change.changed_host {
        let (old, new) = (plain_text(&old.description()), plain_text(&new.description()));
        let why = match change.measure {
            Measure::RatioToBaseline => "ratios to the baseline are similar, but not equal, on different machines",
            Measure::Time => "their times also differ because of the machines",
        };
        notes.push(format!("Two machines: {why}. Older: {old}; newer: {new}."));
    }
    for name in &change.changed_repositories {
        notes.push(format!("{}: the repository is in another state.", plain_text(name)));
    }
    for (cells, whose) in [(&change.only_old, "older"), (&change.only_new, "newer")] {
        for cell in cells {
            notes.push(format!("{}: only in the {whose} results.", name(cell)));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use repackbench_records::{ComparedTime, Host, RatioInterval, WorkloadLabel};

    use super::*;
    use crate::fixtures::plain;

    #[test]
    fn worst_cell_comes_first_with_its_verdict() {
        let id = |variant: &str| CellId {
            repository: "sample".into(),
            machine: None,
            workload: WorkloadLabel { name: "traverse".into(), parameters: BTreeMap::new() },
            variant: variant.into(),
            baseline: None,
            compared_time: None,
        };
        let cell = |variant: &str, ratio: f64, size| CellChange {
            id: id(variant),
            compared_time: ComparedTime::Cpu,
            time: Some(RatioEstimate {
                ratio,
                interval: Some(RatioInterval { low: ratio - 0.01, high: ratio + 0.01, coverage: 0.9 }),
                pairs: 9,
            }),
            size,
        };
        let change = ResultChange {
            measure: Measure::RatioToBaseline,
            cells: vec![cell("zstd:5", 1.0, 1.0), cell("lz4", 1.2, 0.9), cell("zstd:9", 0.8, 1.1)],
            only_old: vec![id("gone")],
            only_new: vec![CellId {
                machine: Some("2 cores".into()),
                baseline: Some("zlib:9".into()),
                compared_time: Some(ComparedTime::User),
                ..id("xz")
            }],
            changed_host: Some((Host { cores: Some(1), ..Host::default() }, Host::default())),
            changed_repositories: vec!["sample".into()],
        };
        let text = plain(&[changes(&change, 0.03)]);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(words).collect();
        assert_eq!(lines[2], "sample traverse lz4 1.20 [1.19, 1.21] 0.900 slower, smaller");
        assert_eq!(lines[3], "sample traverse zstd:9 0.80 [0.79, 0.81] 1.100 faster, larger");
        assert_eq!(lines[4], "sample traverse zstd:5 1.00 [0.99, 1.01] 1.000");
        assert!(
            text.contains("sample: the repository is in another state")
                && text.contains("gone: only in the older results"),
            "{text}"
        );
        let new = "\nsample on 2 cores: traverse: xz beside zlib:9, user CPU time: only in the newer results.\n";
        assert!(text.contains(new), "{text}");
        assert!(
            text.contains("Two machines: ") && text.contains("Older: 1 core; newer: an unknown machine."),
            "{text}"
        );
    }
}
