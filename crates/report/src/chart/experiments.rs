//! Published figures beside measured ones: two bars for each arm, each a multiple of its own baseline, because seconds on different machines
//! do not compare.

use repackbench_records::{Experiment, ExperimentTable, Unit};

use super::{
    ChartKind, Figure, make_unique,
    rows::{Axis, LegendEntry, Panel, Row, RowChart, RowMark, Shape, Sign},
    scale::{Spacing, tick_text},
    slug,
};
use crate::document::Table;
use crate::number::{four_decimals, multiple, or_dash};
use crate::sections::experiments::{
    statement::stored_sentence,
    tables::{baseline, measured_at, published_at},
    words::{estimate, figure as figure_text},
};
use crate::sections::names::short_name;

/// The figures of each experiment, in their order.
pub(crate) fn experiment_figures(experiments: &[Experiment]) -> Vec<Vec<Figure>> {
    let is_alone = experiments.len() == 1;
    let counts: Vec<Vec<Figure>> = experiments
        .iter()
        .map(|experiment| experiment.tables.iter().filter_map(|table| figure(experiment, table, is_alone)).collect())
        .collect();
    let lengths: Vec<usize> = counts.iter().map(Vec::len).collect();
    let mut all: Vec<Figure> = counts.into_iter().flatten().collect();
    make_unique(&mut all);
    let mut rest = all.into_iter();
    lengths.into_iter().map(|length| rest.by_ref().take(length).collect()).collect()
}

/// A published and a measured multiple of one arm.
struct Pair<'a> {
    label: &'a str,
    published: Option<f64>,
    measured: Option<f64>,
    interval: Option<[f64; 2]>,
    /// The figures in their unit.
    published_text: String,
    measured_text: String,
}

/// One quantity.
struct Quantity<'a> {
    name: &'a str,
    pairs: Vec<Pair<'a>>,
}

/// The chart of a table; `None` unless some quantity was both published and measured.
fn figure(experiment: &Experiment, table: &ExperimentTable, is_alone: bool) -> Option<Figure> {
    let quantities: Vec<Quantity<'_>> = (0..table.columns.len()).filter_map(|at| quantity(table, at)).collect();
    if quantities.is_empty() {
        return None;
    }
    let panels = quantities.iter().map(panel).collect();
    let chart = RowChart { panels, axis: AXIS, legend: legend() };
    let repository = short_name(&experiment.repository.name);
    let title = stored_sentence(&table.title);
    let figure = Figure {
        id: slug([ChartKind::Experiments.slug(), &experiment.name, if is_alone { "" } else { repository }, &title]),
        section: ChartKind::Experiments,
        title: format!("{}: published and measured, {}, {repository}", title, experiment.name),
        description: description(&quantities),
        notes: vec![
            "Each bar is a multiple of the arm at 1, published bars of the published figure and measured ones of the measured, so that \
             machines and repositories may differ."
                .to_owned(),
        ],
        workload: None,
        repository: Some(experiment.repository.name.clone()),
        table: data(&quantities),
        ..Figure::default()
    };
    Some(figure.drawn(|width| chart.draw(width)))
}

const AXIS: Axis = Axis {
    spacing: Spacing::Linear,
    title: "multiple of the arm at 1, published and measured each of their own",
    short_title: "multiple of the arm at 1",
    text: tick_text,
    reference: Some(1.0),
    starts_at_reference: false,
};

fn quantity(table: &ExperimentTable, at: usize) -> Option<Quantity<'_>> {
    // Identifiers have no length.
    let column = table.columns.get(at).filter(|column| column.unit != Unit::Identifier)?;
    let of = baseline(table, at);
    let pairs: Vec<Pair<'_>> = table
        .rows
        .iter()
        .filter_map(|row| {
            let (published, measured) = (published_at(row, at), measured_at(row, at));
            let found = row.measured.get(at).and_then(Option::as_ref);
            let divided = |value: Option<f64>, of: Option<f64>| value.map(|value| value / of.unwrap_or(1.0));
            (published.is_some() || measured.is_some()).then(|| Pair {
                label: &row.label,
                published: divided(published, of.published),
                measured: divided(measured, of.measured),
                interval: found
                    .and_then(|found| found.interval)
                    .map(|ends| ends.map(|end| end / of.measured.unwrap_or(1.0))),
                published_text: published.map(|value| figure_text(value, column.unit)).unwrap_or_default(),
                measured_text: found.map(|found| estimate(found, column.unit)).unwrap_or_default(),
            })
        })
        .collect();
    // A baseline without another arm compares nothing.
    let both = pairs.iter().filter(|pair| pair.published.is_some() && pair.measured.is_some()).count();
    let least = if of.measured.is_some() { 2 } else { 1 };
    (both >= least).then_some(Quantity { name: &column.name, pairs })
}

fn panel(quantity: &Quantity<'_>) -> Panel {
    let rows = quantity.pairs.iter().map(|pair| row(quantity, pair)).collect();
    Panel { heading: quantity.name.to_owned(), band: None, own_scale: true, rows }
}

fn row(quantity: &Quantity<'_>, pair: &Pair<'_>) -> Row {
    let mark = |what: &str, value: f64, text: &str, class, shape| RowMark {
        variant: pair.label.to_owned(),
        tip: vec![
            format!("{}, {}: {what}", pair.label, quantity.name),
            format!("{text}, a multiple of {}", multiple(value)),
        ],
        class,
        shapes: vec![shape],
    };
    let published = pair.published.map(|value| {
        let shape = Shape::HalfBar { to: value, class: "pale", is_upper: true, interval: None };
        mark("published", value, &pair.published_text, "muted", shape)
    });
    let measured = pair.measured.map(|value| {
        let shape = Shape::HalfBar { to: value, class: "fill", is_upper: false, interval: pair.interval };
        mark("measured", value, &pair.measured_text, "k0", shape)
    });
    Row {
        label: pair.label.to_owned(),
        right: right(pair),
        is_muted: false,
        marks: published.into_iter().chain(measured).collect(),
    }
}

/// Both multiples, published first.
fn right(pair: &Pair<'_>) -> String {
    let text = |value: Option<f64>| or_dash(value, multiple);
    format!("{} / {}", text(pair.published), text(pair.measured))
}

fn legend() -> Vec<LegendEntry> {
    vec![
        LegendEntry { class: "muted", sign: Sign::Swatch("pale"), text: "published (above)".to_owned() },
        LegendEntry { class: "k0", sign: Sign::Swatch("fill"), text: "measured here (below)".to_owned() },
    ]
}

fn description(quantities: &[Quantity<'_>]) -> String {
    let mut text =
        "Two bars for each arm: the published figure and the measured one, each as a multiple of its own baseline."
            .to_owned();
    for quantity in quantities {
        let pairs: Vec<String> = quantity
            .pairs
            .iter()
            .filter_map(|pair| {
                Some(format!(
                    "{} {} published, {} measured",
                    pair.label,
                    multiple(pair.published?),
                    multiple(pair.measured?)
                ))
            })
            .collect();
        text.push_str(&format!(" {}: {}.", quantity.name, pairs.join("; ")));
    }
    text
}

fn data(quantities: &[Quantity<'_>]) -> Table {
    let mut table =
        Table::with_columns(&["quantity", "arm", "published", "#published multiple", "measured", "#measured multiple"]);
    for quantity in quantities {
        for pair in &quantity.pairs {
            let multiple = |value: Option<f64>| or_dash(value, four_decimals);
            let text = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
            table.row([
                quantity.name.to_owned(),
                pair.label.to_owned(),
                text(&pair.published_text),
                multiple(pair.published),
                text(&pair.measured_text),
                multiple(pair.measured),
            ]);
        }
    }
    table
}
