//! The baseline against itself in each block, and all runs in chronological order.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use repackbench_analysis::{LEAST_NOISE_FLOOR, ResultSource, Results, by_source};
use repackbench_records::{BlockId, Record, Role, SessionId, Variant, WorkloadComparison};

use super::{
    ChartKind, Figure, common,
    look::Look,
    rows::{LegendEntry, Sign, draw_legend, look_legend},
    scale::{Scale, is_positive, tick_text},
    svg::{Anchor, Drawing, Width, fit, px, text_width},
};
use crate::{
    document::{Column, Table},
    number::{four_decimals, percent, ratio_cell, share, single_time, time_ratio},
    sections::names::workload_name,
};

/// The maximum number of points in one drawing; more are thinned.
const MOST_POINTS: usize = 600;
/// A point farther from 1 than this factor is drawn at the edge.
const FARTHEST: f64 = 2.0;

/// One figure for each workload of each repository.
pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let is_alone = common::is_alone(results);
    let mut figures = Vec::new();
    for (place, comparisons) in by_source(&results.comparisons) {
        let of_place = |of: &&WorkloadComparison| figure(&place, of, runs_of(results, &place, of), is_alone);
        figures.extend(comparisons.iter().filter_map(of_place));
    }
    figures
}

/// The runs of a comparison: those of sessions with its baseline.
fn runs_of<'a>(results: &'a Results, place: &ResultSource<'_>, of: &WorkloadComparison) -> Vec<&'a Record> {
    let is_of = |run: &&Record| {
        place.has(&run.repository, &run.host)
            && run.workload == of.workload
            && (run.compared_time, run.jobs) == (of.compared_time, of.jobs)
    };
    let mut runs: Vec<&Record> = results.runs.iter().filter(is_of).collect();
    if let Some(baseline) = of.baseline().map(|row| row.variant.identity()) {
        let is_it = |run: &&&Record| run.variant.identity() == baseline;
        let sessions: BTreeSet<SessionId> = runs.iter().filter(is_it).map(|run| run.place.session_id()).collect();
        runs.retain(|run| sessions.contains(&run.place.session_id()));
    }
    runs
}

/// One run, as a point.
struct Run {
    variant: String,
    look: Look,
    is_baseline: bool,
    /// Its number among all runs, from 0 on.
    number: usize,
    block: usize,
    nanoseconds: u64,
    /// Its time as a multiple of the median of its variant.
    of_median: f64,
}

/// A / A' of one block.
struct Pair {
    block: usize,
    ratio: f64,
}

/// All that is drawn.
struct Noise<'a> {
    comparison: &'a WorkloadComparison,
    pairs: Vec<Pair>,
    runs: Vec<Run>,
    /// The number of runs before thinning.
    all_runs: usize,
}

fn figure(
    place: &ResultSource<'_>,
    comparison: &WorkloadComparison,
    mut records: Vec<&Record>,
    is_alone: bool,
) -> Option<Figure> {
    records.sort_by_key(|run| (run.started_unix_ms, run.place.session, run.place.block, run.place.position));
    let mut noise = Noise { comparison, pairs: pairs(&records), runs: runs(&records), all_runs: 0 };
    noise.all_runs = noise.runs.len();
    if noise.runs.is_empty() {
        return None;
    }
    noise.thin();
    let workload = comparison.workload.to_string();
    let figure = Figure {
        id: common::id(ChartKind::Noise, &comparison.repository, is_alone, &comparison.workload.name),
        section: ChartKind::Noise,
        title: format!("Noise and drift of {}, {}", workload_name(&comparison.workload), common::place_name(place)),
        description: noise.description(),
        notes: noise.notes(),
        workload: Some(workload),
        repository: Some(comparison.repository.name.clone()),
        table: noise.table(),
        ..Figure::default()
    };
    Some(figure.drawn(|width| noise.draw(width)))
}

/// The blocks, numbered in chronological order.
fn blocks(records: &[&Record]) -> BTreeMap<BlockId, usize> {
    let mut blocks = BTreeMap::new();
    for run in records {
        let next = blocks.len();
        blocks.entry(run.place.block_id()).or_insert(next);
    }
    blocks
}

fn pairs(records: &[&Record]) -> Vec<Pair> {
    let mut times: BTreeMap<usize, [Option<u64>; 2]> = BTreeMap::new();
    let blocks = blocks(records);
    for run in records {
        let Some(number) = blocks.get(&run.place.block_id()) else { continue };
        let time = Some(run.compared_time.nanoseconds(&run.sample));
        match (run.variant.role, times.entry(*number).or_default()) {
            (Role::Baseline, [first, _]) => *first = time,
            (Role::BaselineAgain, [_, again]) => *again = time,
            _ => {}
        }
    }
    let pair = |(block, times): (usize, [Option<u64>; 2])| {
        let [first, again] = times;
        let ratio = first? as f64 / again? as f64;
        is_positive(ratio).then_some(Pair { block, ratio })
    };
    times.into_iter().filter_map(pair).collect()
}

fn runs(records: &[&Record]) -> Vec<Run> {
    let role = |variant: &Variant| if variant.role == Role::BaselineAgain { Role::Baseline } else { variant.role };
    let time = |run: &Record| run.compared_time.nanoseconds(&run.sample);
    let blocks = blocks(records);
    let mut times: BTreeMap<(Role, String), Vec<u64>> = BTreeMap::new();
    for run in records {
        times.entry((role(&run.variant), run.variant.label().into_owned())).or_default().push(time(run));
    }
    times.values_mut().for_each(|times| times.sort_unstable());
    let point = |(number, run): (usize, &&Record)| {
        let key = (role(&run.variant), run.variant.label().into_owned());
        let median = times.get(&key).and_then(|times| times.get(times.len() / 2)).copied().unwrap_or_default();
        let of_median = time(run) as f64 / median as f64;
        is_positive(of_median).then(|| Run {
            look: Look::of(&run.variant),
            is_baseline: key.0 == Role::Baseline,
            variant: key.1,
            number,
            block: blocks.get(&run.place.block_id()).copied().unwrap_or_default(),
            nanoseconds: time(run),
            of_median,
        })
    };
    records.iter().enumerate().filter_map(point).collect()
}

impl Noise<'_> {
    /// Keeps every n-th run of each variant, and every n-th pair, so that at most about [`MOST_POINTS`] points are
    /// left.
    fn thin(&mut self) {
        let every = self.runs.len().div_ceil(MOST_POINTS).max(1);
        let mut seen: BTreeMap<(bool, String), usize> = BTreeMap::new();
        self.runs.retain(|run| {
            let count = seen.entry((run.is_baseline, run.variant.clone())).or_default();
            *count += 1;
            (*count - 1).is_multiple_of(every)
        });
        let every = self.pairs.len().div_ceil(MOST_POINTS / 2).max(1);
        let mut number = 0;
        self.pairs.retain(|_| {
            number += 1;
            usize::is_multiple_of(number - 1, every)
        });
    }

    fn draw(&self, width: Width) -> (Drawing, f64) {
        let mut drawing = Drawing::default();
        let mut legend = look_legend(self.runs.iter().map(|run| run.look));
        let floor = self.floor();
        legend.extend(floor.map(|floor| LegendEntry {
            class: "",
            sign: Sign::Swatch("band"),
            text: format!("noise floor ±{}, of the median", share(floor)),
        }));
        let top = 8.0 + draw_legend(&mut drawing, &legend, width, 8.0);
        let mut bottom = top;
        if !self.pairs.is_empty() {
            let last = self.pairs.iter().map(|pair| pair.block).max().unwrap_or_default();
            let values: Vec<f64> = self.pairs.iter().map(|pair| pair.ratio).collect();
            let panel = Panel {
                title: "A / A': the baseline's two runs in each block",
                x_title: "block",
                y_title: "A / A' (log scale)",
                last,
                top,
                width,
            };
            let (x, y) = panel.draw(&mut drawing, &values, floor);
            self.draw_pairs(&mut drawing, &x, &y);
            bottom = top + panel.height() + 74.0;
        }
        let last = self.runs.iter().map(|run| run.number).max().unwrap_or_default();
        let values: Vec<f64> = self.runs.iter().map(|run| run.of_median).collect();
        let title = "All runs, each divided by its variant's median";
        let panel = Panel {
            title,
            x_title: "runs, in the order in which they were made",
            y_title: "multiple (log scale)",
            last,
            top: bottom,
            width,
        };
        let (x, y) = panel.draw(&mut drawing, &values, None);
        self.draw_runs(&mut drawing, &x, &y);
        (drawing, bottom + panel.height() + 68.0)
    }

    /// The noise floor, if there are pairs.
    fn floor(&self) -> Option<f64> {
        self.comparison.noise_floor.filter(|floor| floor.is_finite() && !self.pairs.is_empty())
    }

    fn draw_pairs(&self, drawing: &mut Drawing, x: &Scale, y: &Scale) {
        let baseline = self.comparison.baseline();
        let (label, look) =
            (common::baseline_label(self.comparison), baseline.map_or(Look::Zlib, |row| Look::of(&row.variant)));
        for pair in &self.pairs {
            let tip = vec![format!("block {}: A / A' {}", pair.block + 1, time_ratio(pair.ratio))];
            let at = [x.at((pair.block + 1) as f64), y.at(pair.ratio)];
            drawing.mark(&label, &tip, look.class(), |drawing| {
                drawing.line([at[0], y.at(1.0), at[0], at[1]], "line thin");
                look.draw(drawing, at, 3.5);
            });
        }
    }

    fn draw_runs(&self, drawing: &mut Drawing, x: &Scale, y: &Scale) {
        let at = |run: &Run| [x.at((run.number + 1) as f64), y.at(run.of_median)];
        let line: Vec<String> =
            self.runs.iter().filter(|run| run.is_baseline).map(|run| at(run).map(px).join(" ")).collect();
        if let Some(baseline) = self.runs.iter().find(|run| run.is_baseline) {
            let d = format!("M{}", line.join("L"));
            drawing.group(baseline.look.class(), |drawing| drawing.path(&d, "line thin faint"));
        }
        for run in &self.runs {
            let tip = vec![
                format!("{}, run {}, block {}", run.variant, run.number + 1, run.block + 1),
                format!(
                    "{}, {} of its median",
                    single_time(Duration::from_nanos(run.nanoseconds)),
                    time_ratio(run.of_median)
                ),
            ];
            let radius = if run.is_baseline { 4.0 } else { 2.5 };
            drawing.mark(&run.variant, &tip, run.look.class(), |drawing| run.look.draw(drawing, at(run), radius));
        }
    }

    fn description(&self) -> String {
        let mut text = "At the top, the ratio of the baseline's two runs in each block. At the bottom, all runs in their order, each as a multiple of its variant's median.".to_owned();
        if let Some(noise) = &self.comparison.noise {
            text.push_str(&format!(" A / A' is {}", ratio_cell(noise)));
            text.push_str(
                &self
                    .comparison
                    .noise_floor
                    .map_or_else(String::new, |floor| format!(", the noise floor ±{}", share(floor))),
            );
            text.push('.');
        }
        let extremes = |of: fn(f64, f64) -> f64, from: f64| self.runs.iter().map(|run| run.of_median).fold(from, of);
        let (least, most) = (extremes(f64::min, f64::INFINITY), extremes(f64::max, 0.0));
        text.push_str(&format!(" Runs lie between {} and {} of their medians.", time_ratio(least), time_ratio(most)));
        text
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "The runs of a block follow each other in random order, with two of the baseline (A and A'). Drift of the machine shows as a slope in the lower drawing, and cancels out in ratios within a block.".to_owned(),
            "The line joins the baseline's runs.".to_owned(),
        ];
        if self.floor().is_some() {
            notes.push(format!(
                "The grey band is the noise floor, at least {}. It applies to the median of A / A'; single blocks and runs scatter more \
                 widely.",
                percent(LEAST_NOISE_FLOOR, 0)
            ));
        }
        if self.runs.len() < self.all_runs {
            notes.push(format!(
                "Of {} runs, {} are shown, chosen evenly from each variant.",
                self.all_runs,
                self.runs.len()
            ));
        }
        let is_far = |value: f64| !(1.0 / FARTHEST..=FARTHEST).contains(&value);
        let far = self.runs.iter().filter(|run| is_far(run.of_median)).count()
            + self.pairs.iter().filter(|pair| is_far(pair.ratio)).count();
        if far > 0 {
            notes.push(format!("{far} points beyond a factor of {FARTHEST} are drawn at the edge."));
        }
        notes
    }

    fn table(&self) -> Table {
        let mut table = Table::new([
            Column::numbers("run"),
            Column::numbers("block"),
            Column::words("variant"),
            Column::words("role"),
            Column::numbers("time ms"),
            Column::numbers("of its median"),
        ]);
        for run in &self.runs {
            table.variant_row(
                &*run.variant,
                [
                    (run.number + 1).to_string(),
                    (run.block + 1).to_string(),
                    run.variant.clone(),
                    if run.is_baseline { "baseline" } else { "" }.to_owned(),
                    format!("{:.3}", run.nanoseconds as f64 / 1e6),
                    four_decimals(run.of_median),
                ],
            );
        }
        table
    }
}

/// Ratios around 1, in an order.
struct Panel {
    title: &'static str,
    x_title: &'static str,
    y_title: &'static str,
    /// The last number, from 0 on.
    last: usize,
    top: f64,
    width: Width,
}

impl Panel {
    fn height(&self) -> f64 {
        if self.width == Width::Wide { 190.0 } else { 150.0 }
    }

    /// Draws all but the points.
    fn draw(&self, drawing: &mut Drawing, values: &[f64], floor: Option<f64>) -> (Scale, Scale) {
        let heading = fit(self.title, 13.0, self.width.px() - 24.0);
        drawing.text([12.0, self.top + 14.0], Anchor::Start, "strong", &heading);
        let [left, right] = if self.width == Width::Wide { [56.0, 846.0] } else { [44.0, 348.0] };
        let (top, bottom) = (self.top + 26.0, self.top + 26.0 + self.height());
        let x = Scale::linear([self.last as f64 + 1.7], [left, right]);
        let edge = floor.map_or(1.03, |floor| (1.0 + floor).max(1.03));
        let shown = values.iter().copied().chain([edge, 1.0 / edge]).map(|value| value.clamp(1.0 / FARTHEST, FARTHEST));
        let y = Scale::log(shown, [bottom, top]);
        if let Some(floor) = floor {
            let (upper, lower) = (y.at(1.0 + floor), y.at(1.0 / (1.0 + floor)));
            drawing.rect([left, upper, right - left, lower - upper], "band");
        }
        for tick in y.ticks(|_| 22.0) {
            drawing.line([left, y.at(tick), right, y.at(tick)], "grid");
            drawing.text([left - 6.0, y.at(tick) + 4.0], Anchor::End, "muted small", &tick_text(tick));
        }
        drawing.line([left, y.at(1.0), right, y.at(1.0)], "reference");
        for tick in x.ticks(|tick| text_width(&tick_text(tick), 11.0) + 16.0) {
            // Block numbers are whole and start at 1.
            if tick.fract() == 0.0 && tick >= 1.0 {
                drawing.text([x.at(tick), bottom + 14.0], Anchor::Middle, "muted small", &tick_text(tick));
            }
        }
        drawing.line([left, bottom, right, bottom], "axis");
        drawing.line([left, top, left, bottom], "axis");
        drawing.text([f64::midpoint(left, right), bottom + 30.0], Anchor::Middle, "muted", self.x_title);
        let x_of_title = if self.width == Width::Wide { 14.0 } else { 10.0 };
        drawing.text_upwards([x_of_title, f64::midpoint(top, bottom)], "muted", self.y_title);
        (x, y)
    }
}
