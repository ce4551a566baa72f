//! Size against time: the trade-off of each codec.

use repackbench_analysis::{ResultSource, Results, by_source, joined_jobs};
use repackbench_records::{VariantComparison, WorkloadComparison};

use super::{
    ChartKind, Figure, common,
    look::Look,
    scale::is_positive,
    scatter::{Point, Scatter, ScatterPanel, front},
    slug,
};
use crate::{
    document::{Column, Table},
    number::{four_decimals, megabytes, or_dash, ratio_cell, single_time, time_ratio},
    sections::{
        comparisons::verdict,
        effects::compared_time,
        joined::job_names,
        names::{variant_name, workload_name},
    },
};

/// More panels are not on one screen.
pub(super) const MOST_PANELS: usize = 12;

/// The means over repositories, then one figure for each repository with a panel for each workload.
pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let is_alone = common::is_alone(results);
    let mut figures: Vec<Figure> = means(&results.comparisons).into_iter().collect();
    for (place, comparisons) in by_source(&results.comparisons) {
        let shown: Vec<Shown<'_>> = comparisons.into_iter().filter_map(Shown::of).collect();
        figures.extend(shown.chunks(MOST_PANELS).map(|shown| figure(&place, shown, is_alone)));
    }
    figures
}

/// A workload with at least two points.
struct Shown<'a> {
    comparison: &'a WorkloadComparison,
    rows: Vec<&'a VariantComparison>,
    points: Vec<Point>,
    baseline: String,
}

impl<'a> Shown<'a> {
    fn of(comparison: &'a WorkloadComparison) -> Option<Self> {
        let baseline = comparison.baseline().filter(|_| comparison.workload.floor_of().is_none())?;
        let pairs = comparison.rows.iter().filter_map(|row| Some((row, point(comparison, row, baseline)?)));
        let (rows, points): (Vec<&VariantComparison>, Vec<Point>) = pairs.unzip();
        let baseline = variant_name(&baseline.variant);
        (points.len() > 1).then_some(Shown { comparison, rows, points, baseline })
    }

    fn panel(&self) -> ScatterPanel {
        let workload = &self.comparison.workload;
        ScatterPanel {
            heading: workload_name(workload),
            short_heading: workload.name.clone(),
            points: self.points.clone(),
        }
    }
}

/// The notes on reading every chart of size against time.
pub(super) fn reading_notes(scatter: &Scatter) -> Vec<String> {
    let mut notes = vec![format!(
        "Both are multiples of {}: left is smaller, down takes less {}. The dashed lines mark the baseline, and the stepped line \
             joins the best trade-offs: nothing is better than a point on it in both.",
        scatter.baseline, scatter.time
    )];
    if scatter.points().any(|point| point.interval.is_some()) {
        notes.push("Upright lines are 95 % intervals; an arrow means that one goes on.".to_owned());
    }
    if scatter.points().any(|point| !point.is_comparable) {
        notes.push("Variants without checksums do less work, so the best trade-offs omit them.".to_owned());
    }
    notes
}

fn figure(place: &ResultSource<'_>, shown: &[Shown<'_>], is_alone: bool) -> Figure {
    let comparisons: Vec<&WorkloadComparison> = shown.iter().map(|of| of.comparison).collect();
    let scatter = Scatter {
        panels: shown.iter().map(Shown::panel).collect(),
        baseline: shown.first().map(|of| of.baseline.clone()).unwrap_or_default(),
        time: compared_time(&comparisons),
    };
    let workload = match comparisons.as_slice() {
        [only] => Some(only.workload.to_string()),
        _ => None,
    };
    let figure = Figure {
        id: common::id(ChartKind::SizeTime, place.repository, is_alone, ""),
        section: ChartKind::SizeTime,
        title: format!("Size against {} of each workload, {}", scatter.time, common::place_name(place)),
        description: description(&scatter),
        notes: reading_notes(&scatter),
        workload,
        repository: Some(place.repository.name.clone()),
        table: table(shown),
        ..Figure::default()
    };
    figure.drawn(|width| scatter.draw(width))
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
    let (words, clock) = (verdict::words(comparison, row), compared_time(&[comparison]));
    let mut tip = vec![if is_baseline { format!("{name} (baseline)") } else { name.clone() }];
    tip.push(format!("size ratio {size:.3} ({} MB)", megabytes(row.size.total_bytes)));
    tip.push(match &row.ratio {
        Some(ratio) => format!("{clock} ratio {} (median {})", ratio_cell(ratio), single_time(row.compared_median)),
        None => format!("{clock}: median {}", single_time(row.compared_median)),
    });
    tip.extend((!words.is_empty()).then_some(words));
    let is_comparable = row.variant.checksum || baseline.variant.checksum == row.variant.checksum;
    let (variant, look) = (row.variant.label().into_owned(), Look::of(&row.variant));
    Some(Point { variant, name, look, size, time, interval, tip, is_comparable, is_baseline })
}

pub(super) fn description(scatter: &Scatter) -> String {
    let mut text = format!(
        "A panel for each workload. Each point is a variant: from left to right its size, upwards its {}, both as multiples of {}.",
        scatter.time, scatter.baseline
    );
    for panel in &scatter.panels {
        let shown = |point: &Point| format!("{} (size {:.3}, time {})", point.name, point.size, time_ratio(point.time));
        let front: Vec<String> = front(&panel.points).into_iter().map(shown).collect();
        let others = || panel.points.iter().filter(|point| !point.is_baseline);
        let slowest = others().max_by(|a, b| a.time.total_cmp(&b.time)).map(shown).unwrap_or_default();
        text.push_str(&format!(
            " {}: best trade-offs, from the smallest to the fastest, {}; slowest {slowest}.",
            panel.heading,
            front.join(", ")
        ));
    }
    text
}

fn table(shown: &[Shown<'_>]) -> Table {
    let comparisons: Vec<&WorkloadComparison> = shown.iter().map(|shown| shown.comparison).collect();
    let time = compared_time(&comparisons);
    let mut table = Table::new([
        Column::words("workload"),
        Column::words("variant"),
        Column::numbers("size MB"),
        Column::numbers("size ratio"),
        Column::numbers(time),
        Column::numbers(format!("{time} ratio")),
        Column::numbers("low"),
        Column::numbers("high"),
        Column::words("verdict"),
        Column::words("best trade-off"),
    ]);
    for Shown { comparison, rows, points, .. } in shown {
        let front = front(points);
        table.group(Some(comparison.workload.to_string()));
        for (row, point) in rows.iter().zip(points) {
            let end = |end: Option<f64>| or_dash(end, four_decimals);
            let is_front = front.iter().any(|of_front| std::ptr::eq(*of_front, point));
            table.variant_row(
                &*point.variant,
                [
                    workload_name(&comparison.workload),
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
    }
    table
}

/// One figure with a panel for each job on several repositories: geometric means over them. `None` without any.
fn means(comparisons: &[WorkloadComparison]) -> Option<Figure> {
    let jobs = joined_jobs(comparisons);
    let names = job_names(&jobs, comparisons);
    let shown: Vec<MeanJob<'_>> = jobs
        .iter()
        .zip(names)
        .filter_map(|(job, name)| MeanJob::of(name, &job.comparisons))
        .take(MOST_PANELS)
        .collect();
    let first = shown.first()?;
    let panel = |job: &MeanJob<'_>| ScatterPanel {
        heading: job.name.clone(),
        short_heading: job.name.clone(),
        points: job.means.iter().map(|mean| mean.point.clone()).collect(),
    };
    let comparisons: Vec<&WorkloadComparison> = shown.iter().flat_map(|job| job.comparisons).copied().collect();
    let scatter = Scatter {
        panels: shown.iter().map(panel).collect(),
        baseline: first.baseline.clone(),
        time: compared_time(&comparisons),
    };
    let mut names: Vec<&str> = comparisons.iter().map(|of| common::name(&of.repository)).collect();
    names.sort_unstable();
    names.dedup();
    let figure = Figure {
        id: slug([ChartKind::SizeTime.slug(), "mean"]),
        section: ChartKind::SizeTime,
        title: format!("Size against {} of each workload, mean of {} repositories", scatter.time, names.len()),
        description: format!("Geometric means over {}. {}", names.join(", "), description(&scatter)),
        notes: vec![
            format!("Geometric means of each repository's ratios, so that all repositories count equally: {}.", names.join(", ")),
            "Variants that one of them lacks are omitted. The table also has the ratio of all bytes together, in which large repositories count more.".to_owned(),
        ],
        workload: None,
        repository: None,
        table: mean_table(&shown),
        ..Figure::default()
    };
    Some(figure.drawn(|width| scatter.draw(width)))
}

/// A job on several repositories.
struct MeanJob<'a> {
    name: String,
    comparisons: &'a [&'a WorkloadComparison],
    baseline: String,
    means: Vec<Mean>,
}

impl<'a> MeanJob<'a> {
    /// The points that several repositories have in common; `None` for fewer than two.
    fn of(name: String, comparisons: &'a [&'a WorkloadComparison]) -> Option<Self> {
        let first = comparisons.first()?;
        let baseline = variant_name(&first.baseline()?.variant);
        let means: Vec<Mean> = first.rows.iter().filter_map(|row| mean(row, comparisons)).collect();
        (means.len() > 1).then_some(MeanJob { name, comparisons, baseline, means })
    }
}

fn mean_table(shown: &[MeanJob<'_>]) -> Table {
    let comparisons: Vec<&WorkloadComparison> = shown.iter().flat_map(|job| job.comparisons.iter().copied()).collect();
    let time = compared_time(&comparisons);
    let mut table = Table::new([
        Column::words("workload"),
        Column::words("variant"),
        Column::numbers("size ratio (geometric mean)"),
        Column::numbers("size ratio (all bytes)"),
        Column::numbers(format!("{time} ratio (geometric mean)")),
        Column::numbers("repositories"),
    ]);
    for job in shown {
        for Mean { point, of_bytes } in &job.means {
            table.variant_row(
                &*point.variant,
                [
                    job.name.clone(),
                    point.name.clone(),
                    four_decimals(point.size),
                    four_decimals(*of_bytes),
                    four_decimals(point.time),
                    job.comparisons.len().to_string(),
                ],
            );
        }
    }
    table
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
        *first = format!(
            "{}: mean size ratio {size:.3}, mean {} ratio {}",
            last.name,
            compared_time(group),
            time_ratio(time)
        );
    }
    Some(Mean { point: Point { size, time, tip, interval: None, ..last }, of_bytes: bytes / of })
}
