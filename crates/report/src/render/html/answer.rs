//! The first screen: what one would gain and lose with each variant, here.

mod points;

use repackbench_analysis::{ResultSource, Results, by_source, without_floors};
use repackbench_records::{
    ComparedTime, RatioEstimate, RepositoryState, Role, SizeRecord, VariantComparison, Verdict, WorkloadComparison,
};

use crate::{
    number::{megabytes, size_ratio, thousands, time_ratio},
    sections::{comparisons::verdict, names::variant_name, source},
};

/// The answer for one repository, or for the repositories of a table of sizes.
#[derive(Debug)]
pub(super) struct Answer {
    /// The repository, as a selection box knows it; `None` where it is about several.
    pub(super) repository: Option<String>,
    /// The repository, and the machine where there are several.
    pub(super) title: String,
    /// What is known of it: revision, number of objects, bytes.
    pub(super) about: String,
    /// What the others are compared with.
    pub(super) baseline: String,
    /// What the ratios are of: `CPU time`.
    pub(super) time: &'static str,
    /// Best and worst in words.
    pub(super) points: Vec<Point>,
    /// The columns: one for each workload.
    pub(super) workloads: Vec<String>,
    /// The rows: one for each variant.
    pub(super) rows: Vec<AnswerRow>,
}

/// One thing to know: `Smallest`, then of which variant, then what.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) name: &'static str,
    pub(super) variant: Option<String>,
    pub(super) text: String,
}

/// One variant.
#[derive(Debug)]
pub(super) struct AnswerRow {
    pub(super) name: String,
    pub(super) label: String,
    pub(super) is_baseline: bool,
    pub(super) size: AnswerCell,
    /// One for each workload; `None` where it was not run.
    pub(super) times: Vec<Option<AnswerCell>>,
}

/// A ratio, and what it means in words.
#[derive(Debug)]
pub(super) struct AnswerCell {
    pub(super) workload: String,
    pub(super) ratio: String,
    pub(super) interval: String,
    pub(super) words: String,
    pub(super) tone: Tone,
}

/// Which way a difference points; the words say it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Better,
    Worse,
    Even,
}

impl Tone {
    /// The class of the style sheet.
    pub(super) fn class(self) -> &'static str {
        match self {
            Tone::Better => "better",
            Tone::Worse => "worse",
            Tone::Even => "even",
        }
    }
}

/// One answer for each repository; one for all where only sizes were taken.
pub(super) fn answers(results: &Results) -> Vec<Answer> {
    let repositories = by_source(&results.comparisons).into_iter();
    let mut answers: Vec<Answer> = repositories.map(|(of, rows)| answer(of, &rows)).collect();
    if answers.is_empty() {
        let sizes: Vec<&SizeRecord> = results.sizes.iter().map(|line| &line.size).collect();
        answers.extend(answer_of_sizes(&sizes));
    }
    answers
}

fn answer(of: ResultSource<'_>, comparisons: &[&WorkloadComparison]) -> Answer {
    let jobs = without_floors(comparisons);
    let comparisons = if jobs.is_empty() { comparisons } else { &jobs };
    let mut variants: Vec<&VariantComparison> = Vec::new();
    for row in comparisons.iter().flat_map(|comparison| &comparison.rows) {
        if !variants.iter().any(|known| is_same(known, row)) {
            variants.push(row);
        }
    }
    variants.sort_by_key(|row| row.variant.row);
    let baseline = variants.iter().copied().find(|row| row.variant.role == Role::Baseline);
    let baseline_bytes = baseline.map_or(0, |row| row.size.total_bytes);
    let rows = variants.iter().map(|variant| AnswerRow {
        name: variant_name(&variant.variant),
        label: variant.variant.label().into_owned(),
        is_baseline: variant.variant.role == Role::Baseline,
        size: size_cell(variant.size.total_bytes, baseline_bytes, variant.variant.role == Role::Baseline),
        times: comparisons.iter().map(|comparison| time_cell(comparison, variant)).collect(),
    });
    Answer {
        repository: Some(of.repository.name.clone()),
        title: source::name(&of),
        about: about(of.repository),
        baseline: baseline.map_or_else(|| "the baseline".to_owned(), |row| row.variant.label().into_owned()),
        time: match comparisons.iter().any(|comparison| comparison.compared_time == ComparedTime::Wall) {
            true => "time",
            false => "CPU time",
        },
        points: points::points(comparisons, &variants, baseline),
        workloads: comparisons.iter().map(|comparison| comparison.workload.to_string()).collect(),
        rows: rows.collect(),
    }
}

/// Revision, number of objects and bytes as found, as far as they are known.
fn about(repository: &RepositoryState) -> String {
    let mut parts = Vec::new();
    if let Some(id) = repository.head.as_ref().or(repository.tip.as_ref()) {
        parts.push(format!("revision {}", source::short_id(id)));
    }
    parts.extend(repository.objects.map(|objects| match repository.vcs {
        Some(repackbench_records::Vcs::Mercurial) => format!("{} revisions stored", thousands(objects)),
        _ => format!("{} objects", thousands(objects)),
    }));
    parts.extend(repository.bytes.map(|bytes| format!("{} MB as found", megabytes(bytes))));
    parts.join(", ")
}

fn size_cell(bytes: u64, baseline: u64, is_baseline: bool) -> AnswerCell {
    let (words, tone) = match size_difference(bytes, baseline) {
        // Nothing can be said beside a baseline of which no bytes are known.
        _ if is_baseline || baseline == 0 => (String::new(), Tone::Even),
        Some((words, tone)) => (words, tone),
        None => ("no difference".to_owned(), Tone::Even),
    };
    AnswerCell {
        workload: String::new(),
        ratio: size_ratio(bytes, baseline),
        interval: format!("{} MB", megabytes(bytes)),
        words,
        tone,
    }
}

/// `2.3 % smaller`; `None` where the difference does not show at one decimal.
fn size_difference(bytes: u64, baseline: u64) -> Option<(String, Tone)> {
    if baseline == 0 {
        return None;
    }
    let percent = 100.0 * (bytes as f64 / baseline as f64 - 1.0);
    match percent {
        ..=-0.05 => Some((format!("{:.1}\u{a0}% smaller", -percent), Tone::Better)),
        0.05..100.0 => Some((format!("{percent:.1}\u{a0}% larger"), Tone::Worse)),
        100.0.. => Some((format!("{:.1} times the size", percent / 100.0 + 1.0), Tone::Worse)),
        _ => None,
    }
}

/// Whether two rows are of one variant. Its place in the table differs between sessions that had other rows.
fn is_same(one: &VariantComparison, other: &VariantComparison) -> bool {
    one.variant.role == other.variant.role && one.variant.label() == other.variant.label()
}

/// The row of a variant in a workload; of several, that of most blocks.
fn row_of<'a>(comparison: &'a WorkloadComparison, variant: &VariantComparison) -> Option<&'a VariantComparison> {
    let rows = comparison.rows.iter().filter(|row| is_same(row, variant));
    rows.max_by_key(|row| row.ratio.map_or(0, |ratio| ratio.pairs))
}

fn time_cell(comparison: &WorkloadComparison, variant: &VariantComparison) -> Option<AnswerCell> {
    let row = row_of(comparison, variant)?;
    let cell = |ratio: String, interval, words, tone| {
        Some(AnswerCell { workload: comparison.workload.to_string(), ratio, interval, words, tone })
    };
    if row.variant.role == Role::Baseline {
        return cell("1.00".to_owned(), String::new(), String::new(), Tone::Even);
    }
    let ratio = row.ratio.as_ref()?;
    let tone = match row.verdict {
        Some(Verdict::Faster) => Tone::Better,
        Some(Verdict::Slower) => Tone::Worse,
        _ => Tone::Even,
    };
    let words = match row.verdict {
        None if ratio.interval.is_none() => "too few blocks".to_owned(),
        // The interval stands beside it.
        Some(Verdict::Inconclusive) => "inconclusive".to_owned(),
        _ => verdict::cell(comparison, row).replace(" %", "\u{a0}%"),
    };
    cell(time_ratio(ratio.ratio), interval(ratio), words, tone)
}

fn interval(ratio: &RatioEstimate) -> String {
    ratio
        .interval
        .map_or_else(String::new, |interval| format!("[{}, {}]", time_ratio(interval.low), time_ratio(interval.high)))
}

fn answer_of_sizes(sizes: &[&SizeRecord]) -> Option<Answer> {
    let first = sizes.first().filter(|_| sizes.len() > 1)?;
    let rows = sizes.iter().enumerate().map(|(number, size)| AnswerRow {
        name: size.label.clone(),
        label: size.label.clone(),
        is_baseline: number == 0,
        size: size_cell(size.total_bytes, first.total_bytes, number == 0),
        times: Vec::new(),
    });
    Some(Answer {
        repository: None,
        title: "Sizes".to_owned(),
        about: String::new(),
        baseline: first.label.clone(),
        time: "",
        points: points::of_sizes(sizes),
        workloads: Vec::new(),
        rows: rows.collect(),
    })
}
