//! The number of runs of a workload after which a conversion has paid for itself.

use std::collections::BTreeMap;

use repackbench_analysis::{ResultSource, Results, by_source};
use repackbench_records::{
    ComparedTime, ConversionCost, RatioInterval, Role, Variant, VariantComparison, VariantIdentity, WorkloadComparison,
};

use super::{
    ChartKind, Figure, common,
    look::Look,
    rows::{Axis, Panel, Row, RowChart, RowMark, Shape, look_legend},
    scale::{Spacing, is_positive, tick_text},
};
use crate::{
    document::{Column, Table},
    number::{or_dash, seconds, thousands},
    sections::names::{variant_name, workload_name},
};

/// The workload that encodes a store, which a conversion has already done.
const ENCODE: &str = "encode";

/// One figure for each repository whose conversions' costs are known.
pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let is_alone = common::is_alone(results);
    let of_place = |(place, comparisons): (ResultSource<'_>, Vec<&WorkloadComparison>)| {
        let runs = results.runs.iter().filter(|run| place.has(&run.repository, &run.host));
        let costs: BTreeMap<VariantIdentity<'_>, ConversionCost> =
            runs.filter_map(|run| Some((run.variant.identity(), run.conversion?))).collect();
        let is_shown = |of: &&WorkloadComparison| {
            let name = &of.workload.name;
            of.workload.floor_of().is_none() && name != ENCODE
        };
        let panels: Vec<Payback<'_>> =
            comparisons.into_iter().filter(is_shown).map(|of| Payback::of(of, &costs)).collect();
        figure(&place, &panels, is_alone)
    };
    by_source(&results.comparisons).into_iter().filter_map(of_place).collect()
}

/// The payback of conversions in one workload.
struct Payback<'a> {
    comparison: &'a WorkloadComparison,
    /// Conversions that pay.
    returns: Vec<Return<'a>>,
    /// Conversions that do not pay, as far as known.
    others: Vec<Other<'a>>,
}

/// A conversion that does not certainly pay.
struct Other<'a> {
    row: &'a VariantComparison,
    label: String,
    /// The smallest number of runs by the interval of the time ratio; `None` if it does not pay within the interval.
    soonest: Option<f64>,
    is_certain: bool,
    saved_bytes: i128,
}

impl Other<'_> {
    /// Whether it pays, in words.
    fn words(&self) -> &'static str {
        if self.is_certain { "never" } else { "not certain" }
    }
}

/// A conversion that pays.
struct Return<'a> {
    row: &'a VariantComparison,
    label: String,
    /// Seconds that the conversion took.
    cost: f64,
    /// Seconds that each run saves.
    saved: f64,
    /// The number of runs after which it has paid.
    runs: f64,
    /// The same by the interval of the time ratio; the upper end is infinite if it is not certain that time is saved.
    interval: Option<[f64; 2]>,
    saved_bytes: i128,
}

impl<'a> Payback<'a> {
    fn of(comparison: &'a WorkloadComparison, costs: &BTreeMap<VariantIdentity<'_>, ConversionCost>) -> Self {
        let mut payback = Payback { comparison, returns: Vec::new(), others: Vec::new() };
        let Some(baseline) = comparison.baseline() else { return payback };
        let time = baseline.compared_median.as_secs_f64();
        // Rows that read the files of the baseline in another way need no conversion.
        let is_converted = |row: &&VariantComparison| {
            row.variant.role == Role::Candidate && !is_same_store(&row.variant, &baseline.variant)
        };
        for row in comparison.rows.iter().filter(is_converted) {
            let (Some(ratio), Some(cost)) = (row.ratio, costs.get(&row.variant.identity())) else { continue };
            let spent = if comparison.compared_time == ComparedTime::Wall { cost.wall_ns } else { cost.cpu_ns };
            let cost = spent as f64 / 1e9;
            let runs_at = |ratio: f64| cost / (time * (1.0 - ratio));
            let label = variant_name(&row.variant);
            let saved_bytes = i128::from(baseline.size.total_bytes) - i128::from(row.size.total_bytes);
            if !is_positive(runs_at(ratio.ratio)) {
                // The low end of the interval may save time. Without an interval nothing is certain.
                let soonest = ratio.interval.map(|interval| runs_at(interval.low)).filter(|runs| is_positive(*runs));
                let is_certain = ratio.interval.is_some_and(|interval| interval.low >= 1.0);
                let soonest = soonest.map(|runs| runs.max(1.0));
                payback.others.push(Other { row, label, soonest, is_certain, saved_bytes });
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
    /// `Never` and `Not certain` with the labels of those variants, if any.
    fn others_in_words(&self) -> Vec<(&'static str, String)> {
        let of = |is_certain: bool| {
            let others = self.others.iter().filter(|other| other.is_certain == is_certain);
            others.map(|other| other.label.as_str()).collect::<Vec<_>>().join(", ")
        };
        let words = [("Never", of(true)), ("Not certain", of(false))];
        words.into_iter().filter(|(_, labels)| !labels.is_empty()).collect()
    }

    fn is_empty(&self) -> bool {
        self.returns.is_empty() && self.others.is_empty()
    }
}

/// Whether two rows read the same files.
fn is_same_store(one: &Variant, other: &Variant) -> bool {
    let spec = |variant: &Variant| variant.spec.as_ref().map(|spec| spec.canonical.clone());
    (spec(one), one.deltas, &one.layout) == (spec(other), other.deltas, &other.layout)
}

fn figure(place: &ResultSource<'_>, paybacks: &[Payback<'_>], is_alone: bool) -> Option<Figure> {
    if paybacks.iter().all(Payback::is_empty) {
        return None;
    }
    let panels: Vec<Panel> = paybacks.iter().filter(|of| !of.is_empty()).map(panel).collect();
    let rows = paybacks
        .iter()
        .flat_map(|payback| payback.returns.iter().map(|of| of.row).chain(payback.others.iter().map(|of| of.row)));
    let looks = rows.map(|row| Look::of(&row.variant));
    let chart = RowChart { legend: look_legend(looks), panels, axis: AXIS };
    let mut notes = vec![
        "The CPU time of the whole conversion, on all threads and with its check, divided by the CPU time that one run saves against the baseline (by elapsed time where that is what a workload is compared by).".to_owned(),
        "Lines follow from the 95 % interval of the time ratio. An arrow to the right means that a saving is not certain.".to_owned(),
    ];
    for payback in paybacks {
        for (words, labels) in payback.others_in_words() {
            notes.push(format!("{words}, in {}: {labels}.", workload_name(&payback.comparison.workload)));
        }
    }
    if paybacks.iter().flat_map(|payback| &payback.others).any(|other| !other.is_certain) {
        notes.push(
            "Not certain: the median shows no saving, but there is no interval, or it includes a saving.".to_owned(),
        );
    }
    let figure = Figure {
        id: common::id(ChartKind::BreakEven, place.repository, is_alone, ""),
        section: ChartKind::BreakEven,
        title: format!("Runs until a conversion pays off, {}", common::place_name(place)),
        description: description(paybacks),
        notes,
        workload: None,
        repository: Some(place.repository.name.clone()),
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
    let workload = workload_name(&payback.comparison.workload);
    let returns = payback.returns.iter().map(|of| row(of, &workload));
    let rows = returns.chain(payback.others.iter().map(|of| other_row(of, &workload))).collect();
    Panel { heading: workload, rows, ..Panel::default() }
}

/// An arrow to the right, from the smallest possible number of runs.
fn other_row(of: &Other<'_>, workload: &str) -> Row {
    let words = match of.soonest {
        Some(soonest) => format!("{}: not before {} runs", of.words(), runs(soonest)),
        None => of.words().to_owned(),
    };
    let low = of.soonest.unwrap_or(f64::INFINITY);
    // Invisible: it extends the axis, and can be pointed at.
    let room = Shape::Bar { from: 1.0, to: of.soonest.unwrap_or(10.0), class: "hit", text: Default::default() };
    Row {
        label: of.label.clone(),
        right: of.words().to_owned(),
        is_muted: true,
        marks: vec![RowMark {
            variant: of.row.variant.label().into_owned(),
            tip: vec![format!("{}: {workload}", of.label), words, bytes(of.saved_bytes)],
            class: Look::of(&of.row.variant).class(),
            shapes: vec![room, Shape::Whisker { low, high: f64::INFINITY }],
        }],
    }
}

fn row(of: &Return<'_>, workload: &str) -> Row {
    let look = Look::of(&of.row.variant);
    let whisker = of.interval.map(|[low, high]| Shape::Whisker { low, high });
    let tip = vec![
        format!("{}: {workload}", of.label),
        format!("paid after {} runs{}", runs(of.runs), interval(of.interval)),
        format!("conversion {}, saves {} a run", seconds(of.cost), seconds(of.saved)),
        bytes(of.saved_bytes),
    ];
    Row {
        label: of.label.clone(),
        right: format!("{} runs", runs(of.runs)),
        is_muted: false,
        marks: vec![RowMark {
            variant: of.row.variant.label().into_owned(),
            tip,
            class: look.class(),
            shapes: whisker.into_iter().chain([Shape::Point { at: of.runs, look }]).collect(),
        }],
    }
}

/// A number of whole runs.
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
        for (words, labels) in payback.others_in_words() {
            text.push_str(&format!(" {workload}: {} {labels}.", words.to_lowercase()));
        }
    }
    text
}

fn table(paybacks: &[Payback<'_>]) -> Table {
    let mut table = Table::new([
        Column::words("workload"),
        Column::words("variant"),
        Column::numbers("conversion s"),
        Column::numbers("saved a run ms"),
        Column::numbers("runs until paid"),
        Column::numbers("low"),
        Column::numbers("high"),
        Column::words("on disk"),
    ]);
    for payback in paybacks {
        let workload = workload_name(&payback.comparison.workload);
        for of in &payback.returns {
            let end =
                |end: Option<f64>| or_dash(end, |end| if end.is_finite() { runs(end) } else { "never".to_owned() });
            table.variant_row(
                of.row.variant.label(),
                [
                    workload.clone(),
                    of.label.clone(),
                    format!("{:.3}", of.cost),
                    format!("{:.3}", of.saved * 1e3),
                    runs(of.runs),
                    end(of.interval.map(|[low, _]| low)),
                    end(of.interval.map(|[_, high]| high)),
                    bytes(of.saved_bytes),
                ],
            );
        }
        for of in &payback.others {
            let low = or_dash(of.soonest, runs);
            let mut row = vec![workload.clone(), of.label.clone()];
            row.extend(["-", "-", of.words(), &low, "-"].map(str::to_owned));
            row.push(bytes(of.saved_bytes));
            table.variant_row(of.row.variant.label(), row);
        }
    }
    table
}
