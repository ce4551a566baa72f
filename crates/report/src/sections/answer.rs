//! The first screen of a page: what each variant would gain and lose.

mod points;
mod predicted;

use repackbench_analysis::{ResultSource, Results, by_source, without_floors};
use repackbench_records::{RepositoryState, Role, SizeRecord, VariantComparison, WorkloadComparison};

use super::{
    advice::{self, AdviceLine},
    comparisons::verdict,
    effects::{Clock, SizeDifference, compared_time, job_name},
    names::variant_name,
    source,
    summary::{open_note, quantities},
};
use crate::{
    document::Tone,
    number::{megabytes, ratio_cell, single_time, thousands},
};

/// The answer for one repository, or for the repositories of a table of sizes.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The repository, for the filter of a page; `None` for several.
    pub(crate) repository: Option<String>,
    /// The repository, and the machine if there are several.
    pub(crate) title: String,
    /// Its revision, number of objects and bytes.
    pub(crate) about: String,
    /// The name of the baseline.
    pub(crate) baseline: String,
    /// What is compared: `size, CPU and elapsed time`; empty for sizes alone.
    pub(crate) quantities: String,
    /// The time whose ratios have intervals: `CPU time`; empty for none.
    pub(crate) time: &'static str,
    /// The meaning of question marks.
    pub(crate) note: Option<String>,
    /// Best and worst in words.
    pub(crate) points: Vec<Point>,
    /// What to do, a sentence each.
    pub(crate) advice: Vec<AdviceLine>,
    /// The columns: one for each workload.
    pub(crate) workloads: Vec<AnswerColumn>,
    /// The rows: one for each variant.
    pub(crate) rows: Vec<AnswerRow>,
}

/// A statement: a name such as `Smallest`, a variant, and a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) name: &'static str,
    pub(crate) variant: Option<String>,
    pub(crate) text: String,
}

/// A workload.
#[derive(Debug)]
pub(crate) struct AnswerColumn {
    /// As records name it, for the filter of a page.
    pub(crate) workload: String,
    /// For readers.
    pub(crate) name: String,
}

/// One variant.
#[derive(Debug)]
pub(crate) struct AnswerRow {
    pub(crate) name: String,
    pub(crate) label: String,
    pub(crate) is_baseline: bool,
    pub(crate) size: AnswerCell,
    /// One for each workload; `None` if it was not run.
    pub(crate) times: Vec<Option<AnswerCell>>,
}

impl AnswerColumn {
    fn of(comparison: &WorkloadComparison) -> Self {
        AnswerColumn { workload: comparison.workload.to_string(), name: job_name(&comparison.workload) }
    }
}

/// What one variant does in one workload, or its size.
#[derive(Debug)]
pub(crate) struct AnswerCell {
    /// The workload as records name it, for the filter of a page; empty for the size.
    pub(crate) workload: String,
    /// The workload's name for readers.
    pub(crate) name: String,
    /// Changes, or the values of the baseline.
    pub(crate) figures: Vec<AnswerFigure>,
    /// The ratio with its interval, or the bytes.
    pub(crate) exact: String,
}

/// A change in words.
#[derive(Debug)]
pub(crate) struct AnswerFigure {
    /// `55 % less`.
    pub(crate) words: String,
    /// What it is a change of: `CPU`; empty for the size.
    pub(crate) of: &'static str,
    /// Good or bad news.
    pub(crate) tone: Tone,
    /// How much it stands out, from 1 to 3.
    pub(crate) strength: u8,
}

/// The strength of a change by this ratio: a change of 0.3 % must not look like one of 30 %.
fn strength(ratio: f64) -> u8 {
    match ratio.ln().abs() {
        0.14.. => 3,
        0.03.. => 2,
        _ => 1,
    }
}

/// One answer for each repository that was measured or estimated, or one for all if there are only sizes.
pub(crate) fn answers(results: &Results) -> Vec<Answer> {
    let repositories = by_source(&results.comparisons).into_iter();
    let mut answers: Vec<Answer> = repositories.map(|(of, rows)| answer(of, &rows)).collect();
    answers.extend(results.estimates.iter().map(predicted::answer));
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
        quantities: quantities(comparisons),
        time: compared_time(comparisons),
        note: open_note(comparisons),
        points: points::points(comparisons, &variants, baseline),
        advice: advice::measured(of.repository, comparisons),
        workloads: comparisons.iter().map(|comparison| AnswerColumn::of(comparison)).collect(),
        rows: rows.collect(),
    }
}

/// Revision, number of objects and bytes as found, if known.
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
    let megabytes = format!("{} MB", megabytes(bytes));
    let (words, tone) = match SizeDifference::of(bytes, baseline) {
        // Without the bytes of the baseline there is no difference to state.
        _ if is_baseline || baseline == 0 => (String::new(), Tone::Even),
        Some(difference) => (difference.words(), difference.tone()),
        None => ("same".to_owned(), Tone::Even),
    };
    let strength = strength(bytes as f64 / baseline.max(1) as f64);
    let (words, exact) = if words.is_empty() { (megabytes, String::new()) } else { (words, megabytes) };
    let figures = vec![AnswerFigure { words, of: "", tone, strength }];
    AnswerCell { workload: String::new(), name: "size".to_owned(), figures, exact }
}

/// Whether two rows are of one variant. Its place in the table may differ between sessions.
fn is_same(one: &VariantComparison, other: &VariantComparison) -> bool {
    one.variant.role == other.variant.role && one.variant.label() == other.variant.label()
}

/// The row of a variant in a workload; the one with the most blocks if there are several.
fn row_of<'a>(comparison: &'a WorkloadComparison, variant: &VariantComparison) -> Option<&'a VariantComparison> {
    let rows = comparison.rows.iter().filter(|row| is_same(row, variant));
    rows.max_by_key(|row| row.ratio.map_or(0, |ratio| ratio.pairs))
}

fn time_cell(comparison: &WorkloadComparison, variant: &VariantComparison) -> Option<AnswerCell> {
    let row = row_of(comparison, variant)?;
    let figures: Vec<AnswerFigure> =
        Clock::of(comparison).iter().filter_map(|clock| time_figure(*clock, comparison, row)).collect();
    Some(AnswerCell {
        workload: comparison.workload.to_string(),
        name: job_name(&comparison.workload),
        figures,
        exact: row.ratio.as_ref().map(ratio_cell).unwrap_or_default(),
    })
}

/// The change of one kind of time, or the median of the baseline.
fn time_figure(clock: Clock, comparison: &WorkloadComparison, row: &VariantComparison) -> Option<AnswerFigure> {
    let of = clock.short_name();
    if row.variant.role == Role::Baseline {
        let words = single_time(clock.median_of(comparison, row));
        return Some(AnswerFigure { words, of, tone: Tone::Even, strength: 1 });
    }
    let change = clock.change_of(comparison, row)?;
    Some(AnswerFigure {
        words: change.cell().text.replace(" %", "\u{a0}%"),
        of,
        tone: verdict::tone(change.verdict),
        strength: strength(change.estimate.ratio),
    })
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
        quantities: String::new(),
        time: "",
        note: None,
        points: points::of_sizes(sizes),
        advice: Vec::new(),
        workloads: Vec::new(),
        rows: rows.collect(),
    })
}
