//! Predicted sizes against predicted CPU times.

use repackbench_records::{DeltaState, Rechosen, RepositoryEstimate, SpecPrediction, WorkloadPrediction};

use super::{
    ChartKind, Figure, common,
    look::Look,
    scale::is_positive,
    scatter::{Point, Scatter, ScatterPanel, front},
    size_time::{MOST_PANELS, description, reading_notes},
    slug,
};
use crate::{
    document::{Column, Table},
    number::{four_decimals, megabytes, or_dash},
    sections::effects::Clock,
};

/// A figure for each state of the deltas of each repository.
pub(super) fn figures(estimates: &[RepositoryEstimate]) -> Vec<Figure> {
    estimates.iter().flat_map(of_repository).collect()
}

fn of_repository(estimate: &RepositoryEstimate) -> Vec<Figure> {
    let mut figures: Vec<Figure> = figure(estimate, &estimate.as_found, "as found").into_iter().collect();
    if let Rechosen::Searched { state, .. } = &estimate.rechosen {
        figures.extend(figure(estimate, state, "deltas searched for anew"));
    }
    figures
}

/// One panel for each workload. `None` without two codecs in a workload.
fn figure(estimate: &RepositoryEstimate, state: &DeltaState, deltas: &str) -> Option<Figure> {
    let panels = state.workloads.iter().map(|workload| panel(state, workload));
    let scatter = Scatter {
        panels: panels.filter(|panel| panel.points.len() > 1).take(MOST_PANELS).collect(),
        baseline: state.specs.first()?.spec.typed.clone(),
        time: Clock::Cpu.name(),
    };
    if scatter.panels.is_empty() {
        return None;
    }
    let name = common::name(&estimate.repository);
    let figure = Figure {
        id: slug([ChartKind::SizeTime.slug(), name, deltas]),
        section: ChartKind::SizeTime,
        title: format!("Predicted size against {} of each workload, {name}, {deltas}", scatter.time),
        description: description(&scatter),
        notes: reading_notes(&scatter),
        repository: Some(estimate.repository.name.clone()),
        table: table(&scatter, state),
        ..Figure::default()
    };
    Some(figure.drawn(|width| scatter.draw(width)))
}

fn panel(state: &DeltaState, workload: &WorkloadPrediction) -> ScatterPanel {
    let points = state.specs.iter().enumerate().filter_map(|(at, spec)| point(state, workload, at, spec));
    let name = &workload.workload.name;
    ScatterPanel { heading: name.clone(), short_heading: name.clone(), points: points.collect() }
}

/// A codec as a point; `None` where its ratio is unknown.
fn point(state: &DeltaState, workload: &WorkloadPrediction, at: usize, spec: &SpecPrediction) -> Option<Point> {
    let baseline = state.specs.first()?.total_bytes.value;
    let ratio = workload.ratios.get(at).filter(|ratio| !ratio.is_unknown())?;
    let (size, time) = (spec.total_bytes.value / baseline, ratio.value);
    if !is_positive(size) || !is_positive(time) {
        return None;
    }
    let is_baseline = at == 0;
    let name = spec.spec.typed.clone();
    let interval = ratio.interval.filter(|_| !is_baseline).map(|interval| [interval.low, interval.high]);
    let tip = vec![
        if is_baseline { format!("{name} (baseline)") } else { name.clone() },
        format!("predicted size ratio {size:.3} ({} MB)", megabytes(spec.total_bytes.value.max(0.0) as u64)),
        format!("predicted {} ratio {time:.3}", Clock::Cpu.name()),
    ];
    let look = Look::of_spec(&spec.spec.canonical);
    Some(Point { variant: name.clone(), name, look, size, time, interval, tip, is_comparable: true, is_baseline })
}

fn table(scatter: &Scatter, state: &DeltaState) -> Table {
    let mut table = Table::new([
        Column::words("workload"),
        Column::words("codec"),
        Column::numbers("size MB"),
        Column::numbers("size ratio"),
        Column::numbers(format!("{} ratio", scatter.time)),
        Column::numbers("low"),
        Column::numbers("high"),
        Column::words("best trade-off"),
    ]);
    for panel in &scatter.panels {
        let front = front(&panel.points);
        table.group(Some(panel.heading.clone()));
        for point in &panel.points {
            let end = |end: Option<f64>| or_dash(end, four_decimals);
            let bytes = state.specs.first().map_or(0.0, |baseline| baseline.total_bytes.value) * point.size;
            let is_front = front.iter().any(|of_front| std::ptr::eq(*of_front, point));
            table.variant_row(
                &*point.variant,
                [
                    panel.heading.clone(),
                    point.name.clone(),
                    megabytes(bytes as u64),
                    four_decimals(point.size),
                    four_decimals(point.time),
                    end(point.interval.map(|[low, _]| low)),
                    end(point.interval.map(|[_, high]| high)),
                    if is_front { "yes" } else { "" }.to_owned(),
                ],
            );
        }
    }
    table
}
