//! The first screen of a page: what each variant would gain and lose.

mod points;

use repackbench_analysis::{ResultSource, Results, by_source, without_floors};
use repackbench_records::{
    RatioEstimate, RepositoryState, Role, SizeRecord, VariantComparison, Verdict, WorkloadComparison,
};

use super::{comparisons::verdict, names::variant_name, source, summary::time_word};
use crate::{
    document::Tone,
    number::{megabytes, size_ratio, thousands, time_ratio},
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
    /// The compared time: `CPU time`.
    pub(crate) time: &'static str,
    /// Best and worst in words.
    pub(crate) points: Vec<Point>,
    /// The columns: one for each workload.
    pub(crate) workloads: Vec<String>,
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

/// A ratio and its meaning in words.
#[derive(Debug)]
pub(crate) struct AnswerCell {
    pub(crate) workload: String,
    pub(crate) ratio: String,
    pub(crate) interval: String,
    pub(crate) words: String,
    pub(crate) tone: Tone,
}

/// One answer for each repository, or one for all if there are only sizes.
pub(crate) fn answers(results: &Results) -> Vec<Answer> {
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
        time: time_word(comparisons),
        points: points::points(comparisons, &variants, baseline),
        workloads: comparisons.iter().map(|comparison| comparison.workload.to_string()).collect(),
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
    let (words, tone) = match SizeDifference::of(bytes, baseline) {
        // Without the bytes of the baseline there is no difference to state.
        _ if is_baseline || baseline == 0 => (String::new(), Tone::Even),
        Some(difference) => (difference.words(), difference.tone()),
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

/// The difference between two sizes, if it shows at one decimal.
#[derive(Debug, Clone, Copy, PartialEq)]
enum SizeDifference {
    /// Smaller by this percentage.
    Smaller(f64),
    /// Larger by this percentage.
    Larger(f64),
    /// This many times as large.
    Times(f64),
}

impl SizeDifference {
    fn of(bytes: u64, other: u64) -> Option<Self> {
        let ratio = bytes as f64 / other as f64;
        match 100.0 * (ratio - 1.0) {
            _ if other == 0 => None,
            percent @ ..=-0.05 => Some(SizeDifference::Smaller(-percent)),
            percent @ 0.05..100.0 => Some(SizeDifference::Larger(percent)),
            100.0.. => Some(SizeDifference::Times(ratio)),
            _ => None,
        }
    }

    fn tone(self) -> Tone {
        if self.is_larger() { Tone::Worse } else { Tone::Better }
    }

    fn is_larger(self) -> bool {
        !matches!(self, SizeDifference::Smaller(_))
    }

    /// `2.3 % smaller`, `3.0 times the size`.
    fn words(self) -> String {
        match self {
            SizeDifference::Smaller(percent) => format!("{percent:.1}\u{a0}% smaller"),
            SizeDifference::Larger(percent) => format!("{percent:.1}\u{a0}% larger"),
            SizeDifference::Times(ratio) => format!("{ratio:.1} times the size"),
        }
    }

    /// The same with the name of the other: `2.3 % smaller than zlib:6`.
    fn words_beside(self, other: &str) -> String {
        let than = if matches!(self, SizeDifference::Times(_)) { "of" } else { "than" };
        format!("{} {than} {other}", self.words())
    }
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
    let cell = |ratio: String, interval, words, tone| {
        Some(AnswerCell { workload: comparison.workload.to_string(), ratio, interval, words, tone })
    };
    if row.variant.role == Role::Baseline {
        return cell("1.00".to_owned(), String::new(), String::new(), Tone::Even);
    }
    let ratio = row.ratio.as_ref()?;
    let words = match row.verdict {
        None if ratio.interval.is_none() => "too few blocks".to_owned(),
        // The cell shows the interval too.
        Some(Verdict::Inconclusive) => "inconclusive".to_owned(),
        _ => verdict::words(comparison, row).replace(" %", "\u{a0}%"),
    };
    cell(time_ratio(ratio.ratio), interval(ratio), words, verdict::tone(row.verdict))
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
