//! After how many runs of a workload a conversion has paid for itself.

use std::collections::BTreeMap;

use repackbench_records::{
    ComparedTime, ConversionCost, RatioInterval, RepositoryState, Role, Variant, VariantComparison, WorkloadComparison,
};

use super::{
    Figure, FigureTable, Section, common,
    look::Look,
    rows::{Axis, Panel, Row, RowChart, RowMark, Shape, look_legend},
    scale::{Spacing, is_positive, tick_text},
};
use crate::{
    Results,
    number::{single_time, thousands},
};

/// What a workload that writes a store is called: whoever converts has done it already.
const ENCODE: &str = "encode";

/// One figure for each repository whose conversions' costs are known.
pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let is_alone = common::is_alone(results);
    let of_repository = |(repository, comparisons): (&RepositoryState, Vec<&WorkloadComparison>)| {
        let runs = results.runs.iter().filter(|run| common::is_same(&run.repository, repository));
        let costs: BTreeMap<String, ConversionCost> =
            runs.filter_map(|run| Some((run.variant.label().into_owned(), run.conversion?))).collect();
        let is_shown = |of: &&WorkloadComparison| {
            let name = &of.workload.name;
            !name.starts_with(common::FLOOR) && name != ENCODE
        };
        let panels: Vec<Payback<'_>> =
            comparisons.into_iter().filter(is_shown).map(|of| Payback::of(of, &costs)).collect();
        figure(repository, &panels, is_alone)
    };
    common::by_repository(&results.comparisons).into_iter().filter_map(of_repository).collect()
}

/// What conversions bring in one workload.
struct Payback<'a> {
    comparison: &'a WorkloadComparison,
    /// Those that pay some day.
    returns: Vec<Return<'a>>,
    /// The labels of those that do not, and the bytes that they save.
    never: Vec<(String, i128)>,
}

/// One that pays.
struct Return<'a> {
    row: &'a VariantComparison,
    label: String,
    /// Seconds that the conversion took.
    cost: f64,
    /// Seconds that each run saves.
    saved: f64,
    /// After so many runs it has paid.
    runs: f64,
    /// By the interval of the time ratio; the upper end is infinite where it is not certain that time is saved.
    interval: Option<[f64; 2]>,
    saved_bytes: i128,
}

impl<'a> Payback<'a> {
    fn of(comparison: &'a WorkloadComparison, costs: &BTreeMap<String, ConversionCost>) -> Self {
        let mut payback = Payback { comparison, returns: Vec::new(), never: Vec::new() };
        let Some(baseline) = common::baseline(comparison) else { return payback };
        let time = baseline.compared_median.as_secs_f64();
        // Who reads the baseline in another way converts nothing.
        let is_converted = |row: &&VariantComparison| {
            row.variant.role == Role::Candidate && !is_same_store(&row.variant, &baseline.variant)
        };
        for row in comparison.rows.iter().filter(is_converted) {
            let (Some(ratio), Some(cost)) = (row.ratio, costs.get(row.variant.label().as_ref())) else { continue };
            let spent = if comparison.compared_time == ComparedTime::Wall { cost.wall_ns } else { cost.cpu_ns };
            let cost = spent as f64 / 1e9;
            let runs_at = |ratio: f64| cost / (time * (1.0 - ratio));
            let label = common::label(row);
            let saved_bytes = i128::from(baseline.size.total_bytes) - i128::from(row.size.total_bytes);
            if !is_positive(runs_at(ratio.ratio)) {
                payback.never.push((label, saved_bytes));
                continue;
            }
            let ends = |interval: RatioInterval| {
                let last = Some(runs_at(interval.high)).filter(|runs| is_positive(*runs)).unwrap_or(f64::INFINITY);
                [runs_at(interval.low), last]
            };
            payback.returns.push(Return {
                row,
                label,
                cost,
                saved: time * (1.0 - ratio.ratio),
                runs: runs_at(ratio.ratio).max(1.0),
                interval: ratio.interval.map(ends),
                saved_bytes,
            });
        }
        payback
    }
}

impl Payback<'_> {
    fn never_labels(&self) -> String {
        let labels: Vec<&str> = self.never.iter().map(|(label, _)| label.as_str()).collect();
        labels.join(", ")
    }
}

/// Whether two rows read the same files.
fn is_same_store(one: &Variant, other: &Variant) -> bool {
    let spec = |variant: &Variant| variant.spec.as_ref().map(|spec| spec.canonical.clone());
    (spec(one), one.deltas) == (spec(other), other.deltas)
}

fn figure(repository: &RepositoryState, paybacks: &[Payback<'_>], is_alone: bool) -> Option<Figure> {
    if paybacks.iter().all(|payback| payback.returns.is_empty() && payback.never.is_empty()) {
        return None;
    }
    let panels: Vec<Panel> = paybacks.iter().filter(|of| !of.returns.is_empty()).map(panel).collect();
    let looks = paybacks.iter().flat_map(|of| &of.returns).map(|of| Look::of(&of.row.variant));
    let chart = RowChart { legend: look_legend(looks), panels, axis: AXIS };
    let mut notes = vec![
        "CPU time of the whole conversion, on all threads, over the CPU time that one run saves beside the baseline (elapsed time where a workload is compared by that). The conversion's own check is in it.".to_owned(),
        "Lines follow from the 95 % interval of the time ratio; an arrow to the right means that it is not certain that time is saved at all.".to_owned(),
    ];
    for payback in paybacks.iter().filter(|payback| !payback.never.is_empty()) {
        notes.push(format!("Never, in {}: {}.", payback.comparison.workload, payback.never_labels()));
    }
    let figure = Figure {
        id: common::id(Section::BreakEven, repository, is_alone, ""),
        section: Section::BreakEven,
        title: format!("After how many runs a conversion has paid for itself, {}", common::name(repository)),
        description: description(paybacks),
        notes,
        workload: None,
        repository: Some(repository.name.clone()),
        table: table(paybacks),
        ..Figure::default()
    };
    Some(figure.drawn(|width| chart.draw(width)))
}

const AXIS: Axis = Axis {
    spacing: Spacing::Log,
    title: "runs until the conversion's time is saved (log scale; left is sooner)",
    short_title: "runs until paid (log; left is sooner)",
    text: tick_text,
    reference: Some(1.0),
    starts_at_reference: true,
};

fn panel(payback: &Payback<'_>) -> Panel {
    let workload = payback.comparison.workload.to_string();
    let rows = payback.returns.iter().map(|of| row(of, &workload)).collect();
    Panel { heading: workload, rows, ..Panel::default() }
}

fn row(of: &Return<'_>, workload: &str) -> Row {
    let look = Look::of(&of.row.variant);
    let whisker = of.interval.map(|[low, high]| Shape::Whisker { low, high });
    let time = |seconds: f64| single_time(std::time::Duration::from_secs_f64(seconds));
    let tip = vec![
        format!("{}: {workload}", of.label),
        format!("paid after {} runs{}", runs(of.runs), interval(of.interval)),
        format!("conversion {}, saves {} a run", time(of.cost), time(of.saved)),
        bytes(of.saved_bytes),
    ];
    Row {
        label: of.label.clone(),
        right: format!("{} runs", runs(of.runs)),
        is_muted: false,
        marks: vec![RowMark {
            variant: of.label.clone(),
            tip,
            class: look.class(),
            shapes: whisker.into_iter().chain([Shape::Point { at: of.runs, look }]).collect(),
        }],
    }
}

/// Whole runs, as nobody does half of one.
fn runs(runs: f64) -> String {
    if runs < 1e15 { thousands(runs.ceil() as u64) } else { format!("{runs:.1e}") }
}

fn interval(interval: Option<[f64; 2]>) -> String {
    match interval {
        Some([low, high]) if high.is_finite() => format!(" [{}, {}]", runs(low), runs(high)),
        Some([low, _]) => format!(" [{}, never]", runs(low)),
        None => String::new(),
    }
}

fn bytes(saved: i128) -> String {
    let megabytes = crate::number::megabytes(u64::try_from(saved.unsigned_abs()).unwrap_or(u64::MAX));
    if saved < 0 { format!("takes {megabytes} MB more on disk") } else { format!("saves {megabytes} MB on disk") }
}

fn description(paybacks: &[Payback<'_>]) -> String {
    let mut text = "Each row is a variant; its point is the number of runs of the workload after which its conversion has saved as much time as it took.".to_owned();
    for payback in paybacks {
        let workload = &payback.comparison.workload;
        if let Some(soonest) = payback.returns.iter().min_by(|a, b| a.runs.total_cmp(&b.runs)) {
            text.push_str(&format!(" {workload}: soonest {} after {} runs.", soonest.label, runs(soonest.runs)));
        }
        if !payback.never.is_empty() {
            text.push_str(&format!(" {workload}: never {}.", payback.never_labels()));
        }
    }
    text
}

fn table(paybacks: &[Payback<'_>]) -> FigureTable {
    let mut table = FigureTable::new(&[
        "workload",
        "variant",
        "#conversion s",
        "#saved a run ms",
        "#runs until paid",
        "#low",
        "#high",
        "on disk",
    ]);
    for payback in paybacks {
        let workload = payback.comparison.workload.to_string();
        for of in &payback.returns {
            let end = |end: Option<f64>| match end {
                Some(end) if end.is_finite() => runs(end),
                Some(_) => "never".to_owned(),
                None => "-".to_owned(),
            };
            table.rows.push(vec![
                workload.clone(),
                of.label.clone(),
                format!("{:.3}", of.cost),
                format!("{:.3}", of.saved * 1e3),
                runs(of.runs),
                end(of.interval.map(|[low, _]| low)),
                end(of.interval.map(|[_, high]| high)),
                bytes(of.saved_bytes),
            ]);
        }
        for (label, saved_bytes) in &payback.never {
            let mut row = vec![workload.clone(), label.clone()];
            row.extend(["-", "-", "never", "-", "-"].map(str::to_owned));
            row.push(bytes(*saved_bytes));
            table.rows.push(row);
        }
    }
    table
}
