//! The factors of a ratio as steps from 1 to the measured ratio.

use repackbench_analysis::{Results, noise_floor};
use repackbench_records::{ComparedTime, Explanation, Factor, RatioEstimate};

use super::{
    ChartKind, Figure, common,
    look::Look,
    rows::{LegendEntry, Panel, Row, RowChart, RowMark, Shape, Sign, time_ratio_axis},
    scale::is_positive,
};
use crate::{
    document::{Column, Table},
    number::{four_decimals, or_dash, ratio_cell, time_ratio},
    sections::{explanations::factor_name, names::workload_name},
};

/// One figure for each explanation.
pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let is_alone = common::is_alone(results);
    results.explanations.iter().filter_map(|explanation| figure(explanation, is_alone)).collect()
}

fn figure(explanation: &Explanation, is_alone: bool) -> Option<Figure> {
    if !is_positive(explanation.measured.ratio) || explanation.factors.is_empty() {
        return None;
    }
    let mut rows = Vec::new();
    let mut reached = 1.0;
    for factor in explanation.factors.iter().filter(|factor| is_positive(factor.ratio.ratio)) {
        rows.push(step(explanation, factor, reached));
        reached *= factor.ratio.ratio;
    }
    rows.push(measured(explanation));
    let band = explanation.noise.and_then(|noise| noise.interval).map(|interval| {
        let floor = 1.0 + noise_floor(&interval);
        (1.0 / floor, floor)
    });
    let chart = RowChart {
        panels: vec![Panel { rows, band, ..Panel::default() }],
        axis: time_ratio_axis(if explanation.compared_time == ComparedTime::Wall {
            "elapsed time"
        } else {
            "CPU time"
        }),
        legend: legend(explanation),
    };
    let workload = explanation.workload.to_string();
    let what = format!("{}-{}", explanation.codec, explanation.workload.name);
    let figure = Figure {
        id: common::id(ChartKind::Factors, &explanation.repository, is_alone, &what),
        section: ChartKind::Factors,
        title: format!("Effect of {} on the time of {}, {}", explanation.codec, workload_name(&explanation.workload), common::name(&explanation.repository)),
        description: description(explanation),
        notes: vec![
            "Each bar is a step between two variants that differ in one thing. It begins where the previous bar ends. Steps are factors, and equal lengths are equal factors.".to_owned(),
            format!(
                "The product of the steps is {}, and the measured ratio is {}: medians do not multiply exactly.",
                time_ratio(explanation.product),
                ratio_cell(&explanation.measured)
            ),
        ],
        workload: Some(workload),
        repository: Some(explanation.repository.name.clone()),
        table: table(explanation),
        ..Figure::default()
    };
    Some(figure.drawn(|width| chart.draw(width)))
}

/// The colour of steps that save or cost time.
fn class(ratio: f64) -> &'static str {
    if ratio <= 1.0 { "k1" } else { "k2" }
}

fn step(explanation: &Explanation, factor: &Factor, reached: f64) -> Row {
    let ratio = factor.ratio.ratio;
    let bar = Shape::Bar { from: reached, to: reached * ratio, class: "pale", text: Default::default() };
    let whisker = factor.ratio.interval.map(|of| Shape::Whisker { low: reached * of.low, high: reached * of.high });
    let tip = vec![
        format!("{}: {} → {}", factor_name(factor.kind), factor.from, factor.to),
        format!("factor {}", ratio_cell(&factor.ratio)),
        format!("{} ratio so far {}", explanation.compared_time.name(), time_ratio(reached * ratio)),
    ];
    Row {
        label: format!("{} → {}", factor_name(factor.kind), factor.to),
        right: format!("× {}", ratio_cell(&factor.ratio)),
        is_muted: false,
        marks: vec![RowMark {
            variant: explanation.codec.clone(),
            tip,
            class: class(ratio),
            shapes: [bar].into_iter().chain(whisker).collect(),
        }],
    }
}

fn measured(explanation: &Explanation) -> Row {
    let look = Look::of_spec(&explanation.codec);
    let RatioEstimate { ratio, interval, .. } = explanation.measured;
    let whisker = interval.map(|interval| Shape::Whisker { low: interval.low, high: interval.high });
    Row {
        label: format!("measured: {}", explanation.codec),
        right: format!("= {}", ratio_cell(&explanation.measured)),
        is_muted: false,
        marks: vec![RowMark {
            variant: explanation.codec.clone(),
            tip: vec![
                format!("{} to {}, as measured", explanation.codec, explanation.baseline),
                format!("{} ratio {}", explanation.compared_time.name(), ratio_cell(&explanation.measured)),
            ],
            class: look.class(),
            shapes: whisker.into_iter().chain([Shape::Point { at: ratio, look }]).collect(),
        }],
    }
}

fn legend(explanation: &Explanation) -> Vec<LegendEntry> {
    let swatch = |class, text: &str| LegendEntry { class, sign: Sign::Swatch("pale"), text: text.to_owned() };
    let mut legend = vec![swatch("k1", "step that saves time"), swatch("k2", "step that costs time")];
    legend.retain(|entry| explanation.factors.iter().any(|factor| class(factor.ratio.ratio) == entry.class));
    if explanation.noise.is_some_and(|noise| noise.interval.is_some()) {
        legend.push(LegendEntry { class: "", sign: Sign::Swatch("band"), text: "noise floor".to_owned() });
    }
    legend
}

fn description(explanation: &Explanation) -> String {
    let step = |factor: &Factor| format!("{} × {}", factor_name(factor.kind), time_ratio(factor.ratio.ratio));
    let steps: Vec<String> = explanation.factors.iter().map(step).collect();
    format!(
        "Steps from {} to {}: {}; measured {}.",
        explanation.baseline,
        explanation.codec,
        steps.join(", "),
        ratio_cell(&explanation.measured)
    )
}

fn table(explanation: &Explanation) -> Table {
    let mut table = Table::new([
        Column::words("step"),
        Column::words("from"),
        Column::words("to"),
        Column::numbers(format!("{} ratio", explanation.compared_time.name())),
        Column::numbers("low"),
        Column::numbers("high"),
        Column::numbers("blocks"),
    ]);
    let mut add = |step: &str, from: &str, to: &str, estimate: &RatioEstimate| {
        let end = |end: Option<f64>| or_dash(end, four_decimals);
        table.row([
            step.to_owned(),
            from.to_owned(),
            to.to_owned(),
            four_decimals(estimate.ratio),
            end(estimate.interval.map(|interval| interval.low)),
            end(estimate.interval.map(|interval| interval.high)),
            estimate.pairs.to_string(),
        ]);
    };
    for factor in &explanation.factors {
        add(factor_name(factor.kind), &factor.from, &factor.to, &factor.ratio);
    }
    add("measured", &explanation.baseline, &explanation.codec, &explanation.measured);
    if let Some(noise) = &explanation.noise {
        add("noise (A / A')", &explanation.baseline, &explanation.baseline, noise);
    }
    table
}
