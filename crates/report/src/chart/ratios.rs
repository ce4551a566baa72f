//! A forest plot: the time ratio of each variant with its interval, a panel for each workload.

use repackbench_analysis::{LEAST_NOISE_FLOOR, ResultSource, Results, by_source};
use repackbench_records::{RatioEstimate, Role, VariantComparison, Verdict, WorkloadComparison};

use super::{
    ChartKind, Figure, common,
    look::Look,
    rows::{LegendEntry, Panel, Row, RowChart, RowMark, Shape, Sign, look_legend, time_ratio_axis},
    scale::is_positive,
};
use crate::{
    document::{Column, Table},
    number::{four_decimals, or_dash, percent, ratio_cell, single_time, time_ratio},
    sections::{
        comparisons::verdict,
        effects::compared_time,
        names::{variant_name, workload_name},
    },
};

/// With more rows, each workload has its own figure.
const MOST_ROWS: usize = 64;

/// One figure for each repository, or for each workload if there are many rows.
pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (place, comparisons) in by_source(&results.comparisons) {
        let shown: Vec<&WorkloadComparison> =
            comparisons.into_iter().filter(|of| of.rows.iter().any(has_ratio)).collect();
        let rows: usize = shown.iter().map(|comparison| comparison.rows.len()).sum();
        let is_alone = common::is_alone(results);
        if rows <= MOST_ROWS || shown.len() == 1 {
            figures.extend(figure(place, &shown, is_alone));
        } else {
            figures.extend(shown.iter().filter_map(|comparison| figure(place, &[comparison], is_alone)));
        }
    }
    figures
}

fn has_ratio(row: &VariantComparison) -> bool {
    row.ratio.is_some_and(|estimate| is_positive(estimate.ratio))
}

fn figure(place: ResultSource<'_>, comparisons: &[&WorkloadComparison], is_alone: bool) -> Option<Figure> {
    let (workload, job) = match comparisons {
        [] => return None,
        [comparison] => (Some(comparison.workload.to_string()), &*comparison.workload.name),
        _ => (None, ""),
    };
    let time = compared_time(comparisons);
    let chart = RowChart {
        panels: comparisons.iter().map(|of| panel(of)).collect(),
        axis: time_ratio_axis(time),
        legend: legend(comparisons),
    };
    let of = match comparisons {
        [comparison] => workload_name(&comparison.workload),
        _ => "all workloads".to_owned(),
    };
    let figure = Figure {
        id: common::id(ChartKind::Ratios, place.repository, is_alone, job),
        section: ChartKind::Ratios,
        title: format!("Ratios of {time} in {of}, {}", common::place_name(&place)),
        description: description(comparisons),
        notes: notes(comparisons),
        workload: workload.clone(),
        repository: Some(place.repository.name.clone()),
        table: table(comparisons),
        ..Figure::default()
    };
    Some(figure.drawn(|width| chart.draw(width)))
}

fn panel(comparison: &WorkloadComparison) -> Panel {
    let mut rows: Vec<Row> =
        comparison.rows.iter().filter(|row| has_ratio(row)).map(|row| variant_row(comparison, row)).collect();
    rows.extend(
        comparison.noise.as_ref().filter(|noise| is_positive(noise.ratio)).map(|noise| noise_row(comparison, noise)),
    );
    let band = comparison.noise_floor.map(|floor| (1.0 / (1.0 + floor), 1.0 + floor));
    Panel { heading: workload_name(&comparison.workload), band, own_scale: false, rows }
}

fn variant_row(comparison: &WorkloadComparison, row: &VariantComparison) -> Row {
    let (label, look) = (variant_name(&row.variant), Look::of(&row.variant));
    let estimate = row.ratio.as_ref();
    let shapes = estimate.map(shapes(look)).unwrap_or_default();
    let words = verdict::words(comparison, row);
    let mut tip = vec![format!("{label}: {}", workload_name(&comparison.workload))];
    tip.extend(estimate.map(|estimate| format!("{} ratio {}", compared_time(&[comparison]), ratio_cell(estimate))));
    tip.push(format!("median {}, {} runs", single_time(row.compared_median), row.runs));
    tip.extend((!words.is_empty()).then(|| words.clone()));
    Row {
        right: right(estimate, &short(comparison, row)),
        marks: vec![RowMark { variant: row.variant.label().into_owned(), tip, class: look.class(), shapes }],
        label,
        is_muted: false,
    }
}

/// The verdict, short enough for a phone.
fn short(comparison: &WorkloadComparison, row: &VariantComparison) -> String {
    match row.verdict {
        Some(Verdict::Same) => verdict::words(comparison, row),
        _ => verdict::short_words(comparison, row),
    }
}

fn right(estimate: Option<&RatioEstimate>, words: &str) -> String {
    let ratio = estimate.map(|estimate| time_ratio(estimate.ratio)).unwrap_or_default();
    if words.is_empty() { ratio } else { format!("{ratio} {words}") }
}

fn shapes(look: Look) -> impl Fn(&RatioEstimate) -> Vec<Shape> {
    move |estimate| {
        let whisker = estimate.interval.map(|interval| Shape::Whisker { low: interval.low, high: interval.high });
        whisker.into_iter().chain([Shape::Point { at: estimate.ratio, look }]).collect()
    }
}

fn noise_row(comparison: &WorkloadComparison, noise: &RatioEstimate) -> Row {
    let floor = verdict::noise_words(comparison);
    let tip = vec![
        format!("the baseline against itself (A / A'): {}", workload_name(&comparison.workload)),
        format!("{} ratio {}", compared_time(&[comparison]), ratio_cell(noise)),
        floor.clone(),
    ];
    Row {
        label: "noise (A / A')".to_owned(),
        right: right(Some(noise), &floor),
        is_muted: true,
        marks: vec![RowMark {
            variant: common::baseline_label(comparison),
            tip: tip.into_iter().filter(|line| !line.is_empty()).collect(),
            class: "muted",
            shapes: shapes(Look::Zlib)(noise),
        }],
    }
}

fn legend(comparisons: &[&WorkloadComparison]) -> Vec<LegendEntry> {
    let rows = comparisons.iter().flat_map(|comparison| &comparison.rows).filter(|row| has_ratio(row));
    let mut legend = look_legend(rows.map(|row| Look::of(&row.variant)));
    if comparisons.iter().any(|comparison| comparison.noise_floor.is_some()) {
        legend.push(LegendEntry { class: "", sign: Sign::Swatch("band"), text: "noise floor".to_owned() });
    }
    legend
}

fn description(comparisons: &[&WorkloadComparison]) -> String {
    let mut text =
        "Each row is a variant. Its point is its time as a multiple of the baseline's, and its line is the 95 % interval."
            .to_owned();
    for comparison in comparisons {
        let candidates = || comparison.rows.iter().filter(|row| row.variant.role == Role::Candidate && has_ratio(row));
        let ratio = |row: &&VariantComparison| row.ratio.map_or(1.0, |estimate| estimate.ratio);
        let best = candidates().min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        let worst = candidates().max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        if let (Some(best), Some(worst)) = (best, worst) {
            text.push_str(&format!(
                " {}: fastest {} at {}, slowest {} at {}.",
                workload_name(&comparison.workload),
                variant_name(&best.variant),
                time_ratio(ratio(&best)),
                variant_name(&worst.variant),
                time_ratio(ratio(&worst))
            ));
        }
    }
    text
}

fn notes(comparisons: &[&WorkloadComparison]) -> Vec<String> {
    let mut notes = vec![format!(
        "Each ratio is a variant's {} divided by the geometric mean of the baseline's two runs in the same block, with its 95 % \
             interval. Left of 1 is less.",
        compared_time(comparisons)
    )];
    if comparisons.iter().any(|comparison| comparison.noise_floor.is_some()) {
        notes.push(format!(
            "The grey band is the noise floor: the difference between the baseline's two runs, at least {}. Only ratios outside it \
             are called faster or slower.",
            percent(LEAST_NOISE_FLOOR, 0)
        ));
    }
    let estimates = || comparisons.iter().flat_map(|comparison| &comparison.rows).filter_map(|row| row.ratio);
    if estimates().any(|estimate| estimate.interval.is_none()) {
        notes.push("A point without a line comes from too few blocks for an interval.".to_owned());
    }
    notes.extend(verdict::too_few_blocks(comparisons));
    notes
}

fn table(comparisons: &[&WorkloadComparison]) -> Table {
    let mut table = Table::new([
        Column::words("workload"),
        Column::words("variant"),
        Column::numbers(format!("{} ratio", compared_time(comparisons))),
        Column::numbers("low"),
        Column::numbers("high"),
        Column::numbers("blocks"),
        Column::words("verdict"),
    ]);
    let cells = |comparison: &WorkloadComparison, label: &str, estimate: &RatioEstimate, words: String| {
        let end = |of: fn(&repackbench_records::RatioInterval) -> f64| {
            or_dash(estimate.interval.as_ref(), |interval| four_decimals(of(interval)))
        };
        let (low, high) = (end(|interval| interval.low), end(|interval| interval.high));
        let ratio = four_decimals(estimate.ratio);
        [workload_name(&comparison.workload), label.to_owned(), ratio, low, high, estimate.pairs.to_string(), words]
    };
    for comparison in comparisons {
        for row in &comparison.rows {
            let Some(estimate) = &row.ratio else { continue };
            let cells = cells(comparison, &variant_name(&row.variant), estimate, verdict::words(comparison, row));
            table.variant_row(row.variant.label(), cells);
        }
        if let Some(noise) = &comparison.noise {
            table.row(cells(comparison, "noise (A / A')", noise, verdict::noise_words(comparison)));
        }
    }
    table
}
