//! The answer in text: what each codec would gain and lose, in one line each.

use repackbench_analysis::{Outcome, ResultSource, by_source, outcomes, without_floors};
use repackbench_records::{Role, VariantComparison, Verdict, WorkloadComparison};

use super::{
    advice,
    comparisons::verdict,
    effects::{Clock, SizeDifference, compared_time, job_name, plain_spaces, size_cell, time_effect},
    names::variant_name,
    source,
};
use crate::{
    document::{Article, Block, Cell, Column, ColumnSplit, Table, plain_text},
    number::{bytes, single_time},
};

/// The meaning of the table in Markdown.
pub(crate) fn changes_note(comparisons: &[&WorkloadComparison]) -> String {
    format!("Changes of {} against the baseline. The worst variant comes first.", quantities(comparisons))
}

/// For each repository, a line for each variant with its size and its CPU and elapsed time in every workload, as
/// changes against the baseline; then sentences on the best and the dominated variants. Empty without a comparison.
pub fn summary(comparisons: &[WorkloadComparison]) -> Vec<Article> {
    by_source(comparisons).iter().filter_map(|(of, comparisons)| article(of, comparisons)).collect()
}

fn article(of: &ResultSource<'_>, comparisons: &[&WorkloadComparison]) -> Option<Article> {
    let comparisons = &*without_floors(comparisons);
    let baseline = comparisons.iter().find_map(|comparison| comparison.baseline())?;
    let outcomes = outcomes(comparisons);
    let mut blocks = vec![Block::Table(table(&outcomes, comparisons))];
    blocks.extend(open_note(comparisons).map(Block::note));
    let rows = comparisons.iter().flat_map(|comparison| &comparison.rows);
    let held = rows.filter_map(|row| row.conversion?.search_peak_bytes).max();
    let sentences = Some(sentences(&outcomes, comparisons)).filter(|sentences| !sentences.is_empty());
    let details: Vec<String> = sentences.into_iter().chain(advice::search_memory(held)).collect();
    if !details.is_empty() {
        blocks.push(Block::Details(details));
    }
    let lines = advice::measured(of.repository, comparisons);
    if !lines.is_empty() {
        blocks.push(advice::notes(&lines));
    }
    Some(Article {
        repository: Some(of.repository.name.clone()),
        workload: None,
        title: source::name(of),
        heading: format!(
            "{}: {}, compared with {}",
            source::heading(of),
            quantities(comparisons),
            plain_text(&variant_name(&baseline.variant)),
        ),
        blocks,
        ..Article::default()
    })
}

/// What the table compares: `size, CPU and elapsed time`.
pub(crate) fn quantities(comparisons: &[&WorkloadComparison]) -> String {
    let times = time_names(comparisons);
    format!("size{} {times}", if times.contains(" and ") { "," } else { " and" })
}

/// The kinds of time that are shown: `CPU and elapsed time`.
fn time_names(comparisons: &[&WorkloadComparison]) -> &'static str {
    let has = |clock| comparisons.iter().any(|comparison| Clock::of(comparison).contains(&clock));
    match (has(Clock::Cpu), has(Clock::Elapsed)) {
        (true, true) => "CPU and elapsed time",
        (false, true) => Clock::Elapsed.name(),
        _ => Clock::Cpu.name(),
    }
}

fn table(outcomes: &[Outcome<'_>], comparisons: &[&WorkloadComparison]) -> Table {
    let columns = [Column::words("variant"), Column::words("size")];
    let times = time_columns(comparisons);
    let together = if times.len() == 2 * comparisons.len() { 2 } else { 1 };
    let mut table = Table::new(columns.into_iter().chain(times));
    table.split = Some(ColumnSplit { fixed: 2, together });
    for outcome in outcomes {
        let cells = [Cell::from(variant_name(outcome.variant)), outcome_size(outcome, comparisons)];
        let cells = cells.into_iter().chain(time_cells(outcome, comparisons));
        table.variant_row(outcome.variant.label(), cells);
    }
    table
}

/// A column for each kind of time of each workload.
pub(crate) fn time_columns(comparisons: &[&WorkloadComparison]) -> Vec<Column> {
    let column = |comparison: &WorkloadComparison, clock: &Clock| {
        Column::words(clock.short_name()).below(job_name(&comparison.workload))
    };
    let of_workload = |comparison: &&WorkloadComparison| {
        Clock::of(comparison).iter().map(|clock| column(comparison, clock)).collect::<Vec<_>>()
    };
    comparisons.iter().flat_map(of_workload).collect()
}

/// The size of the baseline, or the difference of another variant from it.
pub(crate) fn outcome_size(outcome: &Outcome<'_>, comparisons: &[&WorkloadComparison]) -> Cell {
    let baseline = comparisons.iter().find_map(|comparison| comparison.baseline());
    match (outcome.variant.role, baseline, outcome.size) {
        (Role::Baseline, Some(baseline), _) => bytes(baseline.size.total_bytes).into(),
        (_, _, Some(ratio)) => size_cell(ratio),
        _ => "-".into(),
    }
}

/// The times of a variant, one for each of [`time_columns`].
pub(crate) fn time_cells(outcome: &Outcome<'_>, comparisons: &[&WorkloadComparison]) -> Vec<Cell> {
    let of_workload = |(row, comparison): (&Option<&VariantComparison>, &&WorkloadComparison)| {
        let cell = |clock: &Clock| row.map_or_else(|| "-".into(), |row| time_cell(*clock, comparison, row));
        Clock::of(comparison).iter().map(cell).collect::<Vec<_>>()
    };
    outcome.rows.iter().zip(comparisons).flat_map(of_workload).collect()
}

/// The median of the baseline, or the change of another variant; a dash for none.
fn time_cell(clock: Clock, comparison: &WorkloadComparison, row: &VariantComparison) -> Cell {
    match (row.variant.role, clock.change_of(comparison, row)) {
        (Role::Baseline, _) => single_time(clock.median_of(comparison, row)).into(),
        (_, Some(change)) => change.cell(),
        (_, None) => "-".into(),
    }
}

/// The meaning of question marks, if there are any, and how many blocks are missing.
pub(crate) fn open_note(comparisons: &[&WorkloadComparison]) -> Option<String> {
    let is_open = |comparison: &&WorkloadComparison| {
        let changes = |row| Clock::of(comparison).iter().filter_map(move |clock| clock.change_of(comparison, row));
        // The baseline has its times.
        let others = comparison.rows.iter().filter(|row| row.variant.role != Role::Baseline);
        others.flat_map(changes).any(|change| change.is_open())
    };
    comparisons.iter().any(is_open).then(|| match verdict::too_few_blocks(comparisons) {
        Some(too_few) => format!("A question mark means that these runs do not decide. {too_few}"),
        None => "A question mark means that these runs do not decide.".to_owned(),
    })
}

/// Sentences on the smallest variant, the fastest in each workload, and the dominated ones. Only verdicts count as
/// differences. Empty without candidates.
pub(crate) fn sentences(outcomes: &[Outcome<'_>], comparisons: &[&WorkloadComparison]) -> String {
    let candidates: Vec<&Outcome<'_>> = outcomes.iter().filter(|outcome| outcome.is_headline).collect();
    let baseline = comparisons.iter().find_map(|comparison| comparison.baseline());
    let Some(baseline) = baseline.map(|row| plain_text(&variant_name(&row.variant))) else { return String::new() };
    match candidates.as_slice() {
        [] => String::new(),
        [only] => {
            let effects = effects(only, comparisons, &baseline);
            let none = || "no difference from the baseline is decided".to_owned();
            let effects = if effects.is_empty() { none() } else { effects.join("; ") };
            format!("{}: {effects}.", plain_name(only))
        }
        several => {
            let parts = [
                smallest(several, comparisons, &baseline),
                fastest(several, comparisons),
                dominated(several, comparisons),
            ];
            parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
        }
    }
}

fn plain_name(outcome: &Outcome<'_>) -> String {
    plain_text(&variant_name(outcome.variant))
}

fn smallest(candidates: &[&Outcome<'_>], comparisons: &[&WorkloadComparison], baseline: &str) -> Option<String> {
    let sized = candidates.iter().filter_map(|outcome| Some((outcome, outcome.size?)));
    let (smallest, size) = sized.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    match SizeDifference::of_ratio(size) {
        Some(SizeDifference::Smaller(_)) => {
            let effects = effects(smallest, comparisons, baseline).join("; ");
            Some(format!("Smallest is {}: {effects}.", plain_name(smallest)))
        }
        _ => Some(format!("No variant is smaller than {baseline}.")),
    }
}

/// The variant that takes the least compared time in each workload, among those that take less than the baseline.
fn fastest(candidates: &[&Outcome<'_>], comparisons: &[&WorkloadComparison]) -> Option<String> {
    let of_workload = |(index, comparison): (usize, &&WorkloadComparison)| {
        let clock = *Clock::of(comparison).first()?;
        let timed = candidates.iter().filter_map(|outcome| {
            let change = clock.change_of(comparison, outcome.rows.get(index).copied().flatten()?)?;
            (change.verdict == Some(Verdict::Faster)).then_some((outcome, change))
        });
        let (best, change) = timed.min_by(|(_, a), (_, b)| a.estimate.ratio.total_cmp(&b.estimate.ratio))?;
        let (name, words) = (plain_text(&job_name(&comparison.workload)), change.words());
        Some(format!("{name} takes the least {} with {} ({words})", clock.name(), plain_name(best)))
    };
    let fastest: Vec<String> = comparisons.iter().enumerate().filter_map(of_workload).collect();
    (!fastest.is_empty()).then(|| format!("By the medians, {}.", fastest.join("; ")))
}

fn dominated(candidates: &[&Outcome<'_>], comparisons: &[&WorkloadComparison]) -> Option<String> {
    let is_dominated = |outcome: &&&Outcome<'_>| candidates.iter().any(|other| outcome.is_dominated_by(other));
    let names: Vec<String> = candidates.iter().filter(is_dominated).map(|outcome| plain_name(outcome)).collect();
    let time = compared_time(comparisons);
    let sentence = || {
        let why = format!("another variant is at least as small and takes less {time} in every workload");
        format!("Dominated: {} ({why}).", names.join(", "))
    };
    (!names.is_empty()).then(sentence)
}

/// The decided differences of a variant: `15.2 % smaller than zlib:6`, `traverse takes 28 % less CPU time`.
fn effects(outcome: &Outcome<'_>, comparisons: &[&WorkloadComparison], baseline: &str) -> Vec<String> {
    let size = outcome.size.and_then(SizeDifference::of_ratio);
    let size = size.map(|difference| plain_spaces(&difference.words_beside(baseline)));
    let rows = outcome.rows.iter().zip(comparisons);
    let times = rows.filter_map(|(row, comparison)| time_effect(comparison, (*row)?));
    size.into_iter().chain(times.map(|effect| plain_text(&effect))).collect()
}

#[cfg(test)]
mod tests {
    use repackbench_records::{ElapsedComparison, RatioEstimate};

    use super::*;
    use crate::fixtures::{comparison, estimate, plain, row};

    fn two_workloads() -> [WorkloadComparison; 2] {
        let rows = |ratio: f64| {
            vec![
                row(Role::AsFound, "", 1000, Some(estimate(1.0, 0.995, 1.005)), 120_000_000),
                row(Role::Baseline, "zlib:6", 1000, None, 100_000_000),
                row(Role::Candidate, "zstd:5", 700, Some(estimate(ratio, ratio - 0.01, ratio + 0.01)), 84_000_000),
                row(Role::Candidate, "xz:6", 2000, Some(estimate(2.0, 1.9, 2.1)), 79_000_000),
                row(Role::Candidate, "bzip2:9", 3000, Some(estimate(3.0, 2.9, 3.1)), 86_000_000),
            ]
        };
        [comparison("traverse", rows(0.7), None), comparison("checkout", rows(1.0), None)]
    }

    #[test]
    fn first_table_has_all_variants_and_the_best() {
        let expected = "\
sample (revision 0123456789ab): size and CPU time, compared with zlib:6

                          traverse   checkout
variant   size            CPU        CPU
------------------------------------------------
as found  20.0 % larger   same       same
zlib:6    100 MB          1.00 s     1.00 s
zstd:5    16.0 % smaller  30 % less  same
xz:6      21.0 % smaller  2.0 times  2.0 times
bzip2:9   14.0 % smaller  3.0 times  3.0 times

Smallest is xz:6: 21.0 % smaller than zlib:6; traverse takes 2.0 times the CPU time; checkout takes 2.0 times the CPU \
time. By the medians, traverse takes the least CPU time with zstd:5 (30 % less). Dominated: bzip2:9 (another variant is at \
least as small and takes less CPU time in every workload).

Best: zstd:5: 16.0 % smaller; replays: 16 % less CPU time.
Writing: back by `convert --codec zlib:6`.
Verdict: change to zstd:5 (threshold: 5 % of size or 10 % of CPU time).
Measured: 10 blocks, CPU time ±1.2 %; `bench --precise --codec zstd:5` confirms it.
";
        let text = plain(&summary(&two_workloads()));
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn cpu_and_elapsed_time_have_columns() {
        let [mut comparison, _] = two_workloads();
        comparison.rows[2].elapsed = Some(ElapsedComparison {
            ratio: estimate(0.97, 0.9, 1.02),
            adjusted_p: Some(1.0),
            verdict: Some(Verdict::Inconclusive),
        });
        let text = plain(&summary(&[comparison]));
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[2..4], [vec!["traverse"], vec!["variant", "size", "CPU", "elapsed"]], "{text}");
        assert_eq!(lines[6], ["zlib:6", "100", "MB", "1.00", "s", "1.02", "s"]);
        assert_eq!(lines[7], ["zstd:5", "16.0", "%", "smaller", "30", "%", "less", "3", "%", "less", "?"]);
        assert!(text.contains("\nA question mark means that these runs do not decide.\n"), "{text}");
        assert!(text.contains("traverse takes the least CPU time with zstd:5 (30 % less)"), "{text}");
    }

    #[test]
    fn sentences_speak_of_decided_rows_alone() {
        let rows = vec![
            row(Role::Baseline, "zlib:6", 1000, None, 100_000),
            row(Role::Candidate, "zstd:9", 930, Some(estimate(0.93, 0.85, 1.02)), 100_100),
            row(Role::Candidate, "zstd:3", 1000, Some(estimate(1.0, 0.995, 1.005)), 100_010),
        ];
        let text = plain(&summary(&[comparison("traverse", rows, None)]));
        assert!(text.contains("decide.\n\nNo variant is smaller than zlib:6.\n"), "{text}");
    }

    #[test]
    fn missing_blocks_are_counted() {
        let few = RatioEstimate { pairs: 2, interval: None, ..estimate(0.85, 0.8, 0.9) };
        let rows = vec![
            row(Role::Baseline, "zlib:6", 1000, None, 10_000_000),
            row(Role::Candidate, "zstd:3", 850, Some(few), 10_000_000),
        ];
        let text = plain(&summary(&[comparison("traverse", rows, None)]));
        assert!(
            text.contains("do not decide. 2 blocks are too few: a verdict on this many ratios needs 7.\n"),
            "{text}"
        );
        assert!(text.contains("zstd:3: no difference from the baseline is decided.\n"), "{text}");
        assert!(text.contains("\nVerdict: open: zstd:3 may save"), "{text}");
    }

    #[test]
    fn workloads_that_do_not_fit_follow_below() {
        let style = crate::Style { width: Some(50), ..crate::Style::PLAIN };
        let text = crate::articles_text(&summary(&two_workloads()), style);
        assert_eq!(text.matches("\nvariant").count(), 1, "{text}");
        let style = crate::Style { width: Some(40), ..crate::Style::PLAIN };
        let text = crate::articles_text(&summary(&two_workloads()), style);
        assert_eq!(text.matches("\nvariant").count(), 2, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
    }

    #[test]
    fn one_codec_gets_one_sentence() {
        let [mut comparison, _] = two_workloads();
        comparison.rows.truncate(3);
        let text = plain(&summary(&[comparison.clone()]));
        let expected = "\nzstd:5: 16.0 % smaller than zlib:6; traverse takes 30 % less CPU time.\n";
        assert!(text.contains(expected), "{text}");
        comparison.rows.clear();
        assert_eq!(plain(&summary(&[comparison])), "");
        assert_eq!(plain(&summary(&[])), "");
    }
}
