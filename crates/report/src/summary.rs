//! The first screen: what one would gain and lose with each codec, on one line each.

use repackbench_records::{Role, VariantComparison, Verdict, WorkloadComparison};

use crate::{
    bench::{Place, by_repository, heading, variant_name},
    grid::{Align, Grid, Style, plain_text},
    number::{megabytes, time_ratio},
};

/// A workload needs about this many columns of a terminal, and what stands before the first about [`FIXED_WIDTH`].
const WORKLOAD_WIDTH: usize = 20;

/// What the variant's name and its size need.
const FIXED_WIDTH: usize = 34;

/// For each repository: a line for each variant with its size and its time in every workload, as multiples of the baseline's, each
/// time with its verdict; then, in words, which variants are on no account to be beaten. Empty where there is nothing to compare.
pub fn summary(comparisons: &[WorkloadComparison], style: Style) -> String {
    let repositories = by_repository(comparisons);
    let texts = repositories.into_iter().map(|(place, comparisons)| of_repository(place, &comparisons, style));
    texts.collect::<Vec<_>>().join("\n")
}

/// One variant in all workloads.
pub(crate) struct Outcome<'a> {
    /// The variant's name, with what it does not check.
    pub(crate) name: String,
    /// Its bytes as a multiple of the baseline's; `None` where that has none.
    pub(crate) size: Option<f64>,
    /// What it came to in each workload, in the order of the comparisons.
    pub(crate) cells: Vec<Option<&'a VariantComparison>>,
    /// What part it plays.
    pub(crate) role: Role,
    /// Whether it may be named as the best at something: not one that checks less than the baseline, nor one that differs in its cache
    /// alone.
    pub(crate) is_headline: bool,
}

impl Outcome<'_> {
    /// The time ratios of the workloads that it has one in.
    fn ratios(&self) -> impl Iterator<Item = f64> {
        self.cells.iter().flatten().filter_map(|row| Some(row.ratio?.ratio))
    }

    /// The largest of its ratios: what one would lose most by.
    pub(crate) fn worst(&self) -> f64 {
        self.ratios().chain(self.size).fold(0.0, f64::max)
    }

    /// Whether `other` is at least as good in every respect, and better in one.
    fn is_beaten_by(&self, other: &Outcome<'_>) -> bool {
        let pairs = || {
            let times = self.cells.iter().zip(&other.cells).map(|(own, other)| {
                let ratio = |row: &Option<&VariantComparison>| Some(row.as_ref()?.ratio?.ratio);
                (ratio(own), ratio(other))
            });
            times.chain([(self.size, other.size)])
        };
        pairs().all(|pair| matches!(pair, (Some(own), Some(other)) if other <= own))
            && pairs().any(|pair| matches!(pair, (Some(own), Some(other)) if other < own))
    }
}

/// The variants of some comparisons of one repository, in the order of the table.
pub(crate) fn outcomes<'a>(comparisons: &[&'a WorkloadComparison]) -> Vec<Outcome<'a>> {
    let mut outcomes: Vec<Outcome<'a>> = Vec::new();
    for (number, comparison) in comparisons.iter().enumerate() {
        let baseline = comparison.rows.iter().find(|row| row.variant.role == Role::Baseline);
        let baseline_bytes = baseline.map(|row| row.size.total_bytes).filter(|bytes| *bytes > 0);
        for row in &comparison.rows {
            let name = variant_name(row);
            let at = outcomes.iter().position(|outcome| outcome.name == name).unwrap_or_else(|| {
                outcomes.push(Outcome {
                    name,
                    size: baseline_bytes.map(|of| row.size.total_bytes as f64 / of as f64),
                    cells: vec![None; comparisons.len()],
                    role: row.variant.role,
                    is_headline: row.variant.role == Role::Candidate
                        && row.variant.checksum
                        && row.variant.delta_cache.is_none(),
                });
                outcomes.len() - 1
            });
            if let Some(cell) = outcomes.get_mut(at).and_then(|outcome| outcome.cells.get_mut(number)) {
                *cell = Some(row);
            }
        }
    }
    outcomes
}

/// Without floors: they show what of a workload is its codec's, and are no jobs of anyone's.
pub(crate) fn jobs<'a>(comparisons: &[&'a WorkloadComparison]) -> Vec<&'a WorkloadComparison> {
    comparisons
        .iter()
        .copied()
        .filter(|comparison| !comparison.workload.name.starts_with(crate::bench::FLOOR))
        .collect()
}

fn of_repository(place: Place<'_>, comparisons: &[&WorkloadComparison], style: Style) -> String {
    let comparisons = &*jobs(comparisons);
    let baseline =
        comparisons.iter().flat_map(|comparison| &comparison.rows).find(|row| row.variant.role == Role::Baseline);
    let Some(baseline) = baseline else { return String::new() };
    let per_table = style.width.map_or(comparisons.len(), |width| width.saturating_sub(FIXED_WIDTH) / WORKLOAD_WIDTH);
    let mut text = style.paragraph(&format!(
        "{}, beside {} ({} MB): size and time as multiples, less is better",
        heading(&place),
        plain_text(&variant_name(baseline)),
        megabytes(baseline.size.total_bytes)
    ));
    for part in comparisons.chunks(per_table.max(1)) {
        text.push('\n');
        text.push_str(&table(part).render_in(style));
    }
    let sentences = sentences(&outcomes(comparisons), comparisons);
    if !sentences.is_empty() {
        text.push('\n');
        text.push_str(&style.paragraph(&sentences));
    }
    text
}

fn table(comparisons: &[&WorkloadComparison]) -> Grid {
    let names = workload_names(comparisons);
    let mut columns = vec![("variant", Align::Words), ("size", Align::Numbers)];
    columns.extend(names.iter().map(|name| (name.as_str(), Align::Words)));
    let mut grid = Grid::new(&columns);
    for outcome in outcomes(comparisons) {
        let mut cells =
            vec![outcome.name.clone(), outcome.size.map_or_else(|| "-".to_owned(), |size| format!("{size:.3}"))];
        cells.extend(outcome.cells.iter().map(|cell| cell.map_or_else(|| "-".to_owned(), short_cell)));
        grid.row(cells);
    }
    grid
}

/// The workloads' names, without parameters where that is enough to tell them apart.
pub(crate) fn workload_names(comparisons: &[&WorkloadComparison]) -> Vec<String> {
    let is_alone = |name: &str| comparisons.iter().filter(|comparison| comparison.workload.name == name).count() == 1;
    let name = |comparison: &&WorkloadComparison| match &comparison.workload {
        workload if is_alone(&workload.name) => workload.name.clone(),
        workload => workload.to_string(),
    };
    comparisons.iter().map(name).collect()
}

/// A ratio and its verdict in a word.
pub(crate) fn short_cell(row: &VariantComparison) -> String {
    let Some(ratio) = &row.ratio else {
        return if row.variant.role == Role::Baseline { "1.00 baseline".to_owned() } else { "-".to_owned() };
    };
    format!("{} {}", time_ratio(ratio.ratio), verdict_word(row.verdict))
}

/// A verdict in a word; a question mark where there is none.
pub(crate) fn verdict_word(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Faster) => "faster",
        Some(Verdict::Slower) => "slower",
        Some(Verdict::Same) => "same",
        Some(Verdict::Inconclusive) => "inconclusive",
        None => "?",
    }
}

/// The answer in words: the smallest, the fastest in each workload, and what need not be looked at.
pub(crate) fn sentences(outcomes: &[Outcome<'_>], comparisons: &[&WorkloadComparison]) -> String {
    let candidates: Vec<&Outcome<'_>> = outcomes.iter().filter(|outcome| outcome.is_headline).collect();
    let mut sentences = Vec::new();
    let names: Vec<String> = workload_names(comparisons).iter().map(|name| plain_text(name)).collect();
    if let [only] = candidates.as_slice() {
        sentences.push(format!("{}: {}.", plain_text(&only.name), effects(only, &names).join(", ")));
        return sentences.join(" ");
    }
    if let Some(smallest) =
        candidates.iter().filter(|one| one.size.is_some()).min_by(|a, b| size_of(a).total_cmp(&size_of(b)))
    {
        sentences.push(format!(
            "Smallest is {}: {}.",
            plain_text(&smallest.name),
            effects(smallest, &names).join(", ")
        ));
    }
    let fastest = (0..comparisons.len()).filter_map(|at| {
        let ratio = |outcome: &&&Outcome<'_>| Some(outcome.cells.get(at).copied().flatten()?.ratio?.ratio);
        let timed = candidates.iter().filter(|outcome| ratio(outcome).is_some());
        let best = timed.min_by(|a, b| ratio(a).unwrap_or(f64::MAX).total_cmp(&ratio(b).unwrap_or(f64::MAX)))?;
        let workload = names.get(at)?;
        Some(format!("{workload} is fastest with {} ({})", plain_text(&best.name), time_ratio(ratio(&best)?)))
    });
    let fastest: Vec<String> = fastest.collect();
    if !fastest.is_empty() {
        sentences.push(format!("By the medians, {}.", fastest.join("; ")));
    }
    let beaten = |outcome: &&&Outcome<'_>| candidates.iter().any(|other| outcome.is_beaten_by(other));
    let beaten: Vec<String> = candidates.iter().filter(beaten).map(|outcome| plain_text(&outcome.name)).collect();
    if !beaten.is_empty() {
        sentences.push(format!("In every column another one has figures at least as good as {}'s.", beaten.join(", ")));
    }
    sentences.join(" ")
}

fn size_of(outcome: &Outcome<'_>) -> f64 {
    outcome.size.unwrap_or(f64::MAX)
}

/// What a variant changes, in words: `15.2 % smaller`, `traverse 28 % less time (faster)`.
fn effects(outcome: &Outcome<'_>, workloads: &[String]) -> Vec<String> {
    let mut effects = Vec::new();
    effects.extend(outcome.size.map(|size| match percent(size) {
        (0.0, _) => "same size".to_owned(),
        (part, true) => format!("{part:.1} % smaller"),
        (part, false) => format!("{part:.1} % larger"),
    }));
    for (cell, workload) in outcome.cells.iter().zip(workloads) {
        let Some((row, ratio)) = cell.and_then(|row| Some((row, row.ratio?))) else { continue };
        let (part, is_less) = percent(ratio.ratio);
        let change = if is_less { "less" } else { "more" };
        let verdict = row.verdict.map(|verdict| format!(" ({})", verdict_word(Some(verdict)))).unwrap_or_default();
        effects.push(format!("{workload} takes {part:.0} % {change} time{verdict}"));
    }
    effects
}

/// How far from 1 a ratio is, in percent with one decimal, and whether it lies below.
fn percent(ratio: f64) -> (f64, bool) {
    (((ratio - 1.0).abs() * 1000.0).round() / 10.0, ratio < 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tests::{comparison, estimate, row};

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
    fn the_first_screen_has_a_line_for_each_variant_and_says_who_is_best() {
        let expected = "\
sample (revision 0123456789ab), beside zlib:6 (100 MB): size and time as multiples, less is better

variant    size  traverse       checkout
-----------------------------------------------
as found  1.200  1.00 same      1.00 same
zlib:6    1.000  1.00 baseline  1.00 baseline
zstd:5    0.840  0.70 faster    1.00 same
xz:6      0.790  2.00 slower    2.00 slower
bzip2:9   0.860  3.00 slower    3.00 slower

Smallest is xz:6: 21.0 % smaller, traverse takes 100 % more time (slower), checkout takes 100 % more time (slower). \
By the medians, traverse is fastest with zstd:5 (0.70); checkout is fastest with zstd:5 (1.00). In every column \
another one has figures at least as good as bzip2:9's.
";
        let text = summary(&two_workloads(), Style::PLAIN);
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn workloads_that_do_not_fit_stand_below() {
        let text = summary(&two_workloads(), Style { width: Some(60), ..Style::PLAIN });
        assert_eq!(text.matches("\nvariant").count(), 2, "{text}");
        assert!(text.lines().skip(1).all(|line| line.chars().count() <= 60), "{text}");
    }

    #[test]
    fn one_codec_gets_a_sentence_and_none_gets_nothing() {
        let [mut comparison, _] = two_workloads();
        comparison.rows.truncate(3);
        let text = summary(&[comparison.clone()], Style::PLAIN);
        assert!(text.ends_with("\nzstd:5: 16.0 % smaller, traverse takes 30 % less time (faster).\n"), "{text}");
        comparison.rows.clear();
        assert_eq!(summary(&[comparison], Style::PLAIN), "");
        assert_eq!(summary(&[], Style::PLAIN), "");
    }
}
