//! A table for each quantity: an arm a row, published beside measured, each also as a multiple of its own baseline.

use repackbench_records::{ExperimentColumn, ExperimentRow, ExperimentTable, Unit};

use super::words::{estimate, figure};
use crate::document::{Align, Table};
use crate::number;

/// The figures of a quantity that are 1 as multiples.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Baseline {
    pub(crate) published: Option<f64>,
    pub(crate) measured: Option<f64>,
}

/// The figures of the first arm that has both, or the first of each where none has both. None for multiples and identifiers.
pub(crate) fn baseline(table: &ExperimentTable, at: usize) -> Baseline {
    if !has_multiples(table, at) {
        return Baseline::default();
    }
    let published = |row: &ExperimentRow| published_at(row, at).filter(|value| *value > 0.0);
    let measured = |row: &ExperimentRow| measured_at(row, at).filter(|value| *value > 0.0);
    let both = table.rows.iter().find_map(|row| Some((published(row)?, measured(row)?)));
    match both {
        Some((published, measured)) => Baseline { published: Some(published), measured: Some(measured) },
        None => Baseline {
            published: table.rows.iter().find_map(published),
            measured: table.rows.iter().find_map(measured),
        },
    }
}

/// Whether figures of the quantity are shown as multiples of one another, unlike ratios, shares and identifiers.
pub(crate) fn has_multiples(table: &ExperimentTable, at: usize) -> bool {
    table.columns.get(at).is_some_and(|column| matches!(column.unit, Unit::Seconds | Unit::Bytes | Unit::Count))
}

/// The published figure of an arm.
pub(crate) fn published_at(row: &ExperimentRow, at: usize) -> Option<f64> {
    row.published.get(at).copied().flatten().filter(|value| value.is_finite())
}

/// The measured one.
pub(crate) fn measured_at(row: &ExperimentRow, at: usize) -> Option<f64> {
    row.measured.get(at)?.as_ref().map(|estimate| estimate.value).filter(|value| value.is_finite())
}

/// The quantities of a table that have figures, each with its arms.
pub(crate) fn quantities(table: &ExperimentTable) -> Vec<(&ExperimentColumn, Table)> {
    let quantities =
        table.columns.iter().enumerate().filter_map(|(at, column)| Some((column, grid(table, column, at)?)));
    quantities.collect()
}

fn grid(table: &ExperimentTable, column: &ExperimentColumn, at: usize) -> Option<Table> {
    let has = |of: fn(&ExperimentRow, usize) -> Option<f64>| table.rows.iter().any(|row| of(row, at).is_some());
    let (is_published, is_measured) = (has(published_at), has(measured_at));
    if !is_published && !is_measured {
        return None;
    }
    let has_multiples = has_multiples(table, at);
    let mut columns = vec![(column.name.as_str(), Align::Words)];
    for (is_there, name) in [(is_published, "published"), (is_measured, "measured")] {
        columns.extend(is_there.then_some((name, Align::Words)));
        columns.extend((is_there && has_multiples).then_some(("multiple", Align::Numbers)));
    }
    let mut grid = Table::new(&columns);
    let baseline = baseline(table, at);
    for row in &table.rows {
        let (published, measured) = (published_at(row, at), measured_at(row, at));
        if published.is_none() && measured.is_none() {
            continue;
        }
        let shown = row.measured.get(at).and_then(Option::as_ref).map(|found| estimate(found, column.unit));
        let mut cells = vec![row.label.clone()];
        for (is_there, value, text, of) in [
            (is_published, published, published.map(|value| figure(value, column.unit)), baseline.published),
            (is_measured, measured, shown, baseline.measured),
        ] {
            cells.extend(is_there.then(|| text.unwrap_or_else(|| "-".to_owned())));
            cells.extend((is_there && has_multiples).then(|| multiple(value, of)));
        }
        grid.row(cells);
    }
    Some(grid)
}

/// A line for each row with all its quantities; `None` without any figure.
pub(crate) fn listing(table: &ExperimentTable) -> Option<Table> {
    let has = |of: fn(&ExperimentRow, usize) -> Option<f64>, at| table.rows.iter().any(|row| of(row, at).is_some());
    let mut columns = vec![(String::new(), Align::Words)];
    let mut shown = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        let (is_published, is_measured) = (has(published_at, at), has(measured_at, at));
        columns.extend(is_published.then(|| (format!("{}, published", column.name), Align::Words)));
        columns.extend(is_measured.then(|| (column.name.clone(), Align::Words)));
        shown.extend((is_published || is_measured).then_some((at, column.unit, is_published, is_measured)));
    }
    if shown.is_empty() {
        return None;
    }
    let names: Vec<(&str, Align)> = columns.iter().map(|(name, align)| (name.as_str(), *align)).collect();
    let mut grid = Table::new(&names);
    for row in &table.rows {
        let mut cells = vec![row.label.clone()];
        for (at, unit, is_published, is_measured) in &shown {
            let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            let measured = row.measured.get(*at).and_then(Option::as_ref);
            cells.extend(is_published.then(|| or_dash(published_at(row, *at).map(|value| figure(value, *unit)))));
            cells.extend(is_measured.then(|| or_dash(measured.map(|found| estimate(found, *unit)))));
        }
        grid.row(cells);
    }
    Some(grid)
}

fn multiple(value: Option<f64>, of: Option<f64>) -> String {
    match (value, of) {
        (Some(value), Some(of)) if value == of => "1".to_owned(),
        (Some(value), Some(of)) => number::multiple(value / of),
        _ => "-".to_owned(),
    }
}
