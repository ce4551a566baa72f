//! The parts of a workload's time: the codec, measured by its floor, and the rest.

use repackbench_analysis::{FloorPair, ResultSource, Results, by_source, floor_pairs};
use repackbench_records::VariantComparison;

use super::{
    ChartKind, Figure, common,
    look::Look,
    rows::{Axis, LegendEntry, Panel, Row, RowChart, RowMark, Shape, Sign},
    scale::{Spacing, tick_text},
};
use crate::{
    document::{Column, Table},
    number::{self, share},
    sections::names::{variant_name, workload_name},
};

/// One figure for each workload that was measured with its floor.
pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let is_alone = common::is_alone(results);
    let mut figures = Vec::new();
    for (place, comparisons) in by_source(&results.comparisons) {
        figures.extend(floor_pairs(&comparisons).iter().filter_map(|pair| figure(&place, pair, is_alone)));
    }
    figures
}

/// A row and its floor, in seconds.
struct Phase<'a> {
    row: &'a VariantComparison,
    name: String,
    whole: f64,
    floor: f64,
}

fn figure(place: &ResultSource<'_>, pair: &FloorPair<'_>, is_alone: bool) -> Option<Figure> {
    let of = pair.workload;
    let phase = |row| {
        let floor = pair.floor_of(row)?;
        let [whole, floor] = [row, floor].map(|row: &VariantComparison| row.compared_median.as_secs_f64());
        (whole > 0.0).then(|| Phase { row, name: variant_name(&row.variant), whole, floor })
    };
    let phases: Vec<Phase<'_>> = of.rows.iter().filter_map(phase).collect();
    let longest = phases.iter().map(|phase| phase.whole.max(phase.floor)).max_by(f64::total_cmp)?;
    let (axis, per_second) = if longest >= 1.0 { (axis("seconds"), 1.0) } else { (axis("milliseconds"), 1e3) };
    let workload = of.workload.to_string();
    let rows = phases.iter().map(|phase| row(phase, &workload, per_second)).collect();
    let chart = RowChart { panels: vec![Panel { rows, ..Panel::default() }], axis, legend: legend() };
    let mut notes = vec![
        "The codec's part is the time of the workload's floor: the same chunks are decoded in the same order, and nothing else happens. It is the minimum that the codec takes.".to_owned(),
        "The rest is everything else: finding objects, applying deltas, and the workload itself. Both are medians.".to_owned(),
    ];
    if phases.iter().any(|phase| phase.floor > phase.whole) {
        notes.push("If the floor took longer than the workload, the noise is larger than the rest.".to_owned());
    }
    let figure = Figure {
        id: common::id(ChartKind::Phases, &of.repository, is_alone, &of.workload.name),
        section: ChartKind::Phases,
        title: format!("Codec and rest of the time of {}, {}", workload_name(&of.workload), common::place_name(place)),
        description: description(&phases),
        notes,
        workload: Some(workload),
        repository: Some(of.repository.name.clone()),
        table: table(&phases),
        ..Figure::default()
    };
    Some(figure.drawn(|width| chart.draw(width)))
}

fn axis(unit: &'static str) -> Axis {
    Axis {
        spacing: Spacing::Linear,
        title: if unit == "seconds" { "median time, in seconds" } else { "median time, in milliseconds" },
        short_title: unit,
        text: tick_text,
        reference: None,
        starts_at_reference: false,
    }
}

impl Phase<'_> {
    fn rest(&self) -> f64 {
        (self.whole - self.floor).max(0.0)
    }

    fn share(&self) -> String {
        share(self.floor / self.whole)
    }
}

fn row(phase: &Phase<'_>, workload: &str, per_second: f64) -> Row {
    let (floor, end) = (phase.floor * per_second, (phase.floor + phase.rest()) * per_second);
    let mark = |what: &str, seconds: f64, class, shape| RowMark {
        variant: phase.row.variant.label().into_owned(),
        tip: vec![
            format!("{}: {what}", phase.name),
            format!(
                "{} of {} of {workload} ({})",
                number::seconds(seconds),
                number::seconds(phase.whole),
                share(seconds / phase.whole)
            ),
        ],
        class,
        shapes: vec![shape],
    };
    let look = Look::of(&phase.row.variant).class();
    let codec = Shape::Bar { from: 0.0, to: floor, class: "fill", text: ["codec", ""].map(str::to_owned) };
    let rest = Shape::Bar { from: floor, to: end, class: "pale", text: ["rest", ""].map(str::to_owned) };
    Row {
        label: phase.name.clone(),
        right: format!("{}, codec {}", number::seconds(phase.whole), phase.share()),
        is_muted: false,
        marks: vec![mark("codec", phase.floor, look, codec), mark("deltas and the rest", phase.rest(), "muted", rest)],
    }
}

fn legend() -> Vec<LegendEntry> {
    vec![
        LegendEntry {
            class: "ink",
            sign: Sign::Swatch("fill"),
            text: "codec (in the colour of its family)".to_owned(),
        },
        LegendEntry { class: "muted", sign: Sign::Swatch("pale"), text: "deltas and the rest".to_owned() },
    ]
}

fn description(phases: &[Phase<'_>]) -> String {
    let shown: Vec<String> = phases
        .iter()
        .map(|phase| {
            let whole = number::seconds(phase.whole);
            format!("{} {whole}, of which the codec {}", phase.name, phase.share())
        })
        .collect();
    format!("Each bar is a variant's median time, split into the codec's and the rest: {}.", shown.join("; "))
}

fn table(phases: &[Phase<'_>]) -> Table {
    let mut table = Table::new([
        Column::words("variant"),
        Column::numbers("time ms"),
        Column::numbers("codec ms"),
        Column::numbers("rest ms"),
        Column::numbers("codec's share"),
    ]);
    for phase in phases {
        let milliseconds = |seconds: f64| format!("{:.3}", seconds * 1e3);
        table.variant_row(
            phase.row.variant.label(),
            [
                phase.name.clone(),
                milliseconds(phase.whole),
                milliseconds(phase.floor),
                milliseconds(phase.rest()),
                phase.share(),
            ],
        );
    }
    table
}
