//! The first screen of text: what each codec would gain and lose, in one line each.

use repackbench_analysis::{Outcome, ResultSource, by_source, outcomes, without_floors};
use repackbench_records::{ComparedTime, Role, VariantComparison, WorkloadComparison};

use super::{
    comparisons::verdict::{verdict_word, word_cell},
    names::variant_name,
    source,
};
use crate::{
    document::{Article, Block, Cell, Column, ColumnSplit, Table, plain_text},
    number::{megabytes, or_dash, three_decimals, time_ratio},
};

/// The meaning of the table in Markdown.
pub(crate) fn multiples_note(comparisons: &[&WorkloadComparison]) -> String {
    let time = time_word(comparisons);
    format!("Bytes and {time} as multiples of the baseline's; less is better. The worst variant comes first.")
}

/// For each repository, a line for each variant with its size and its time in every workload as multiples of the
/// baseline's, each time with its verdict; then sentences on the best and the dominated variants. Empty without a
/// comparison.
pub fn summary(comparisons: &[WorkloadComparison]) -> Vec<Article> {
    by_source(comparisons).iter().filter_map(|(of, comparisons)| article(of, comparisons)).collect()
}

fn article(of: &ResultSource<'_>, comparisons: &[&WorkloadComparison]) -> Option<Article> {
    let comparisons = &*without_floors(comparisons);
    let baseline = comparisons.iter().find_map(|comparison| comparison.baseline())?;
    let mut blocks = vec![Block::Table(table(comparisons))];
    let sentences = sentences(&outcomes(comparisons), comparisons);
    if !sentences.is_empty() {
        blocks.push(Block::note(sentences));
    }
    Some(Article {
        repository: Some(of.repository.name.clone()),
        workload: None,
        title: source::name(of),
        heading: format!(
            "{}, compared with {} ({} MB): size and {} as multiples; less is better",
            source::heading(of),
            plain_text(&variant_name(&baseline.variant)),
            megabytes(baseline.size.total_bytes),
            time_word(comparisons),
        ),
        blocks,
    })
}

/// The compared time: `CPU time`, or `time` if elapsed time is compared too.
pub(crate) fn time_word(comparisons: &[&WorkloadComparison]) -> &'static str {
    match comparisons.iter().any(|comparison| comparison.compared_time == ComparedTime::Wall) {
        true => "time",
        false => "CPU time",
    }
}

fn table(comparisons: &[&WorkloadComparison]) -> Table {
    let names = workload_names(comparisons);
    let columns = [Column::words("variant"), Column::numbers("size")];
    let mut table = Table::new(columns.into_iter().chain(names.into_iter().map(Column::words)));
    // A variant's name and size need about 34 characters, a ratio with its verdict about 20.
    table.split = Some(ColumnSplit { fixed: 2, fixed_width: 34, column_width: 20 });
    for outcome in outcomes(comparisons) {
        let times = outcome.rows.iter().map(|row| short_cell(*row));
        let cells = [variant_name(outcome.variant), or_dash(outcome.size, three_decimals)].map(Cell::from);
        let cells = cells.into_iter().chain(times);
        table.variant_row(outcome.variant.label(), cells);
    }
    table
}

/// The names of the workloads, without parameters if they are unique.
pub(crate) fn workload_names(comparisons: &[&WorkloadComparison]) -> Vec<String> {
    let is_alone = |name: &str| comparisons.iter().filter(|comparison| comparison.workload.name == name).count() == 1;
    let name = |comparison: &&WorkloadComparison| match &comparison.workload {
        workload if is_alone(&workload.name) => workload.name.clone(),
        workload => workload.to_string(),
    };
    comparisons.iter().map(name).collect()
}

/// A ratio and its verdict in a word; a dash for none.
pub(crate) fn short_cell(row: Option<&VariantComparison>) -> Cell {
    match row.map(|row| (&row.ratio, row.variant.role, row.verdict)) {
        Some((Some(ratio), _, verdict)) => word_cell(&format!("{} ", time_ratio(ratio.ratio)), verdict),
        Some((None, Role::Baseline, _)) => "1.00 baseline".into(),
        Some((None, ..)) | None => "-".into(),
    }
}

/// Sentences on the smallest variant, the fastest in each workload, and the dominated ones. Empty without candidates.
pub(crate) fn sentences(outcomes: &[Outcome<'_>], comparisons: &[&WorkloadComparison]) -> String {
    let candidates: Vec<&Outcome<'_>> = outcomes.iter().filter(|outcome| outcome.is_headline).collect();
    let workloads: Vec<String> = workload_names(comparisons).iter().map(|name| plain_text(name)).collect();
    if let [only] = candidates.as_slice() {
        return format!("{}: {}.", plain_name(only), effects(only, &workloads).join(", "));
    }
    let parts = [smallest(&candidates, &workloads), fastest(&candidates, &workloads), dominated(&candidates)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn plain_name(outcome: &Outcome<'_>) -> String {
    plain_text(&variant_name(outcome.variant))
}

fn smallest(candidates: &[&Outcome<'_>], workloads: &[String]) -> Option<String> {
    let sized = candidates.iter().filter_map(|outcome| Some((outcome, outcome.size?)));
    let (smallest, _) = sized.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    Some(format!("Smallest is {}: {}.", plain_name(smallest), effects(smallest, workloads).join(", ")))
}

fn fastest(candidates: &[&Outcome<'_>], workloads: &[String]) -> Option<String> {
    let of_workload = |(index, workload): (usize, &String)| {
        let timed = candidates.iter().filter_map(|outcome| Some((outcome, outcome.time_ratio(index)?)));
        let (best, ratio) = timed.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        Some(format!("{workload} is fastest with {} ({})", plain_name(best), time_ratio(ratio)))
    };
    let fastest: Vec<String> = workloads.iter().enumerate().filter_map(of_workload).collect();
    (!fastest.is_empty()).then(|| format!("By the medians, {}.", fastest.join("; ")))
}

fn dominated(candidates: &[&Outcome<'_>]) -> Option<String> {
    let is_dominated = |outcome: &&&Outcome<'_>| candidates.iter().any(|other| outcome.is_dominated_by(other));
    let names: Vec<String> = candidates.iter().filter(is_dominated).map(|outcome| plain_name(outcome)).collect();
    let sentence = || format!("Another variant is at least as good in every column as {}.", names.join(", "));
    (!names.is_empty()).then(sentence)
}

/// The effects of a variant in words: `15.2 % smaller`, `traverse 28 % less time (faster)`.
fn effects(outcome: &Outcome<'_>, workloads: &[String]) -> Vec<String> {
    let mut effects = Vec::new();
    effects.extend(outcome.size.map(|size| match difference(size) {
        (0.0, _) => "same size".to_owned(),
        (part, true) => format!("{part:.1} % smaller"),
        (part, false) => format!("{part:.1} % larger"),
    }));
    for (cell, workload) in outcome.rows.iter().zip(workloads) {
        let Some((row, ratio)) = cell.and_then(|row| Some((row, row.ratio?))) else { continue };
        let (part, is_less) = difference(ratio.ratio);
        let change = if is_less { "less" } else { "more" };
        let verdict = row.verdict.map(|verdict| format!(" ({})", verdict_word(Some(verdict)))).unwrap_or_default();
        effects.push(format!("{workload} takes {part:.0} % {change} time{verdict}"));
    }
    effects
}

/// The distance of a ratio from 1, in percent with one decimal, and whether it is below 1.
fn difference(ratio: f64) -> (f64, bool) {
    (((ratio - 1.0).abs() * 1000.0).round() / 10.0, ratio < 1.0)
}

#[cfg(test)]
mod tests {
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
    fn first_screen_has_all_variants_and_the_best() {
        let expected = "\
sample (revision 0123456789ab), compared with zlib:6 (100 MB): size and CPU time as multiples; less is better

variant    size  traverse       checkout
-----------------------------------------------
as found  1.200  1.00 same      1.00 same
zlib:6    1.000  1.00 baseline  1.00 baseline
zstd:5    0.840  0.70 faster    1.00 same
xz:6      0.790  2.00 slower    2.00 slower
bzip2:9   0.860  3.00 slower    3.00 slower

Smallest is xz:6: 21.0 % smaller, traverse takes 100 % more time (slower), checkout takes 100 % more time (slower). \
By the medians, traverse is fastest with zstd:5 (0.70); checkout is fastest with zstd:5 (1.00). Another variant \
is at least as good in every column as bzip2:9.
";
        let text = plain(&summary(&two_workloads()));
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn workloads_that_do_not_fit_follow_below() {
        let text =
            crate::articles_text(&summary(&two_workloads()), crate::Style { width: Some(60), ..crate::Style::PLAIN });
        assert_eq!(text.matches("\nvariant").count(), 2, "{text}");
        assert!(text.lines().skip(1).all(|line| line.chars().count() <= 60), "{text}");
    }

    #[test]
    fn one_codec_gets_one_sentence() {
        let [mut comparison, _] = two_workloads();
        comparison.rows.truncate(3);
        let text = plain(&summary(&[comparison.clone()]));
        assert!(text.ends_with("\nzstd:5: 16.0 % smaller, traverse takes 30 % less time (faster).\n"), "{text}");
        comparison.rows.clear();
        assert_eq!(plain(&summary(&[comparison])), "");
        assert_eq!(plain(&summary(&[])), "");
    }
}
