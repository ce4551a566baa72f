//! Size against time: the trade-off of each codec.

use repackbench_analysis::{ResultSource, Results, by_source, joined_jobs};
use repackbench_records::{VariantComparison, WorkloadComparison};

use super::{
    ChartKind, Figure, common,
    look::Look,
    scale::is_positive,
    scatter::{Point, Scatter, front},
    slug,
};
use crate::{
    document::{Column, Table},
    number::{four_decimals, megabytes, or_dash, ratio_cell, single_time, time_ratio},
    sections::{comparisons::verdict, joined::job_names, names::variant_name},
};

/// One figure for each workload of each repository, then the means over repositories.
pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let is_alone = common::is_alone(results);
    let mut figures: Vec<Figure> = means(&results.comparisons);
    for (place, comparisons) in by_source(&results.comparisons) {
        let shown = comparisons.into_iter().filter(|of| of.workload.floor_of().is_none());
        figures.extend(shown.filter_map(|comparison| figure(&place, comparison, is_alone)));
    }
    figures
}

fn figure(place: &ResultSource<'_>, comparison: &WorkloadComparison, is_alone: bool) -> Option<Figure> {
    let baseline = comparison.baseline()?;
    let pairs = comparison.rows.iter().filter_map(|row| Some((row, point(comparison, row, baseline)?)));
    let (rows, points): (Vec<&VariantComparison>, Vec<Point>) = pairs.unzip();
    if points.len() < 2 {
        return None;
    }
    let workload = comparison.workload.to_string();
    let scatter = Scatter { points, baseline: variant_name(&baseline.variant) };
    let mut notes = vec![
        format!(
            "Both are multiples of {}: left is smaller, down is faster; the lines across mark the baseline.",
            scatter.baseline
        ),
        "The stepped line joins the best trade-offs: nothing is both smaller and faster than a point on it.".to_owned(),
    ];
    if scatter.points.iter().any(|point| point.interval.is_some()) {
        notes.push("Upright lines are 95 % intervals of the time ratio.".to_owned());
    }
    if scatter.points.iter().any(|point| !point.is_comparable) {
        notes.push("Variants without checksums do less work, so the best trade-offs omit them.".to_owned());
    }
    let figure = Figure {
        id: common::id(ChartKind::SizeTime, &comparison.repository, is_alone, &comparison.workload.name),
        section: ChartKind::SizeTime,
        title: format!("Size against time of {workload}, {}", common::place_name(place)),
        description: description(&scatter),
        notes,
        workload: Some(workload),
        repository: Some(comparison.repository.name.clone()),
        table: table(&scatter, comparison, &rows),
        ..Figure::default()
    };
    Some(figure.drawn(|width| scatter.draw(width)))
}

/// A row as a point; `None` without a ratio or bytes.
fn point(comparison: &WorkloadComparison, row: &VariantComparison, baseline: &VariantComparison) -> Option<Point> {
    let is_baseline = std::ptr::eq(row, baseline);
    let size = row.size.total_bytes as f64 / baseline.size.total_bytes as f64;
    let time = if is_baseline { 1.0 } else { row.ratio?.ratio };
    if !is_positive(size) || !is_positive(time) {
        return None;
    }
    let interval = row.ratio.and_then(|ratio| ratio.interval).map(|interval| [interval.low, interval.high]);
    let name = variant_name(&row.variant);
    let words = verdict::words(comparison, row);
    let mut tip = vec![if is_baseline { format!("{name} (baseline)") } else { name.clone() }];
    tip.push(format!("size ratio {size:.3} ({} MB)", megabytes(row.size.total_bytes)));
    tip.push(match &row.ratio {
        Some(ratio) => format!("time ratio {} (median {})", ratio_cell(ratio), single_time(row.compared_median)),
        None => format!("time: median {}", single_time(row.compared_median)),
    });
    tip.extend((!words.is_empty()).then_some(words));
    let is_comparable = row.variant.checksum || baseline.variant.checksum == row.variant.checksum;
    let (variant, look) = (row.variant.label().into_owned(), Look::of(&row.variant));
    Some(Point { variant, name, look, size, time, interval, tip, is_comparable, is_baseline })
}

fn description(scatter: &Scatter) -> String {
    let shown = |point: &Point| format!("{} (size {:.3}, time {})", point.name, point.size, time_ratio(point.time));
    let front: Vec<String> = front(&scatter.points).into_iter().map(shown).collect();
    let others = || scatter.points.iter().filter(|point| !point.is_baseline);
    let mut text = format!(
        "Each point is a variant: from left to right its size, upwards its time, both as multiples of {}. Best trade-offs, \
         from the smallest to the fastest: {}.",
        scatter.baseline,
        front.join("; ")
    );
    let worst = [others().max_by(|a, b| a.size.total_cmp(&b.size)), others().max_by(|a, b| a.time.total_cmp(&b.time))];
    if let [Some(largest), Some(slowest)] = worst {
        text.push_str(&format!(" Largest: {}. Slowest: {}.", shown(largest), shown(slowest)));
    }
    text
}

fn table(scatter: &Scatter, comparison: &WorkloadComparison, rows: &[&VariantComparison]) -> Table {
    let mut table = Table::new([
        Column::words("variant"),
        Column::numbers("size MB"),
        Column::numbers("size ratio"),
        Column::numbers("time"),
        Column::numbers("time ratio"),
        Column::numbers("low"),
        Column::numbers("high"),
        Column::words("verdict"),
        Column::words("best trade-off"),
    ]);
    let front = front(&scatter.points);
    for (row, point) in rows.iter().zip(&scatter.points) {
        let end = |end: Option<f64>| or_dash(end, four_decimals);
        let is_front = front.iter().any(|of_front| std::ptr::eq(*of_front, point));
        table.variant_row(
            &*point.variant,
            [
                point.name.clone(),
                megabytes(row.size.total_bytes),
                four_decimals(point.size),
                single_time(row.compared_median),
                four_decimals(point.time),
                end(point.interval.map(|[low, _]| low)),
                end(point.interval.map(|[_, high]| high)),
                verdict::words(comparison, row),
                if is_front { "yes" } else { "" }.to_owned(),
            ],
        );
    }
    table
}

/// One figure for each job on several repositories: geometric means over them.
fn means(comparisons: &[WorkloadComparison]) -> Vec<Figure> {
    let jobs = joined_jobs(comparisons);
    let names = job_names(&jobs, comparisons);
    jobs.iter().zip(&names).filter_map(|(job, name)| mean_figure(name, &job.comparisons)).collect()
}

/// The points that several repositories have in common.
fn mean_figure(name: &str, group: &[&WorkloadComparison]) -> Option<Figure> {
    let first = group.first()?;
    let baselines: Vec<&VariantComparison> = group.iter().filter_map(|of| of.baseline()).collect();
    let baseline = variant_name(&baselines.first()?.variant);
    let means: Vec<Mean> = first.rows.iter().filter_map(|row| mean(row, group)).collect();
    let scatter = Scatter { points: means.iter().map(|mean| mean.point.clone()).collect(), baseline };
    if scatter.points.len() < 2 {
        return None;
    }
    let names: Vec<&str> = group.iter().map(|of| common::name(&of.repository)).collect();
    let mut table = Table::new([
        Column::words("variant"),
        Column::numbers("size ratio (geometric mean)"),
        Column::numbers("size ratio (all bytes)"),
        Column::numbers("time ratio (geometric mean)"),
        Column::numbers("repositories"),
    ]);
    for Mean { point, of_bytes } in &means {
        table.variant_row(
            &*point.variant,
            [
                point.name.clone(),
                four_decimals(point.size),
                four_decimals(*of_bytes),
                four_decimals(point.time),
                group.len().to_string(),
            ],
        );
    }
    let figure = Figure {
        id: slug([ChartKind::SizeTime.slug(), "mean", name]),
        section: ChartKind::SizeTime,
        title: format!("Size against time of {name}, mean of {} repositories", group.len()),
        description: format!("Geometric means over {}. {}", names.join(", "), description(&scatter)),
        notes: vec![
            format!("Geometric means of each repository's ratios, so that all repositories count equally: {}.", names.join(", ")),
            "Variants that one of them lacks are omitted. The table also has the ratio of all bytes together, in which large repositories count more.".to_owned(),
        ],
        workload: None,
        repository: None,
        table,
        ..Figure::default()
    };
    Some(figure.drawn(|width| scatter.draw(width)))
}

/// A variant's means over repositories.
struct Mean {
    point: Point,
    /// The ratio of all bytes together.
    of_bytes: f64,
}

fn mean(row: &VariantComparison, group: &[&WorkloadComparison]) -> Option<Mean> {
    let of_variant = |other: &&VariantComparison| {
        (other.variant.label(), other.variant.checksum) == (row.variant.label(), row.variant.checksum)
    };
    let (mut log_size, mut log_time, mut bytes, mut of) = (0.0, 0.0, 0.0, 0.0);
    let mut tip = vec![String::new()];
    let mut last = None;
    for comparison in group {
        let baseline = comparison.baseline()?;
        let row = comparison.rows.iter().find(of_variant)?;
        let point = point(comparison, row, baseline)?;
        (log_size, log_time) = (log_size + point.size.ln(), log_time + point.time.ln());
        bytes += row.size.total_bytes as f64;
        of += baseline.size.total_bytes as f64;
        let name = common::name(&comparison.repository);
        tip.push(format!("{name}: size {:.3}, time {}", point.size, time_ratio(point.time)));
        last = Some(point);
    }
    let (count, last) = (group.len() as f64, last?);
    let (size, time) = ((log_size / count).exp(), (log_time / count).exp());
    if let Some(first) = tip.first_mut() {
        *first = format!("{}: mean size ratio {size:.3}, mean time ratio {}", last.name, time_ratio(time));
    }
    Some(Mean { point: Point { size, time, tip, interval: None, ..last }, of_bytes: bytes / of })
}
