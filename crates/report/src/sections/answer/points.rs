//! The best and worst variants in words. Only verdicts count as differences. Rows without a checksum, and rows that
//! only differ in the limit of a cache, are never named.

use repackbench_analysis::is_reading;
use repackbench_records::{Role, SizeRecord, VariantComparison, Verdict, WorkloadComparison};

use super::{Point, row_of};
use crate::sections::effects::{SizeDifference, change_words, compared_time, direction, job_name, time_effect};

/// A candidate over all workloads.
struct Candidate<'a> {
    label: String,
    bytes: u64,
    times: Vec<Cell<'a>>,
}

/// Its row in one workload.
#[derive(Clone, Copy)]
struct Cell<'a> {
    comparison: &'a WorkloadComparison,
    row: &'a VariantComparison,
    /// The ratio of the compared time.
    ratio: f64,
}

impl Cell<'_> {
    fn is_reading(&self) -> bool {
        is_reading(self.comparison)
    }

    /// The difference in words; `None` if none is decided.
    fn effect(&self) -> Option<String> {
        time_effect(self.comparison, self.row).map(|effect| effect.replace(" %", "\u{a0}%"))
    }
}

impl Candidate<'_> {
    fn reading(&self) -> impl Iterator<Item = &Cell<'_>> {
        self.times.iter().filter(|cell| cell.is_reading())
    }

    /// The geometric mean of the ratios of reading workloads.
    fn mean(&self) -> Option<f64> {
        let logs: Vec<f64> = self.reading().map(|cell| cell.ratio.ln()).collect();
        (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
    }

    fn count(&self, verdict: Verdict) -> usize {
        self.reading().filter(|cell| cell.row.verdict == Some(verdict)).count()
    }
}

/// The statements about the variants of a repository.
pub(super) fn points(
    comparisons: &[&WorkloadComparison],
    variants: &[&VariantComparison],
    baseline: Option<&VariantComparison>,
) -> Vec<Point> {
    let Some(baseline) = baseline else { return Vec::new() };
    let candidates: Vec<Candidate<'_>> = variants
        .iter()
        .filter(|row| row.variant.role == Role::Candidate && row.variant.checksum && row.variant.delta_cache.is_none())
        .map(|row| Candidate {
            label: row.variant.label().into_owned(),
            bytes: row.size.total_bytes,
            times: comparisons.iter().filter_map(|comparison| cell(comparison, row)).collect(),
        })
        .collect();
    // Means over different workloads cannot be compared.
    let is_timed = |comparison: &&&WorkloadComparison| comparison.rows.iter().any(|row| row.ratio.is_some());
    let timed = comparisons.iter().filter(is_timed).filter(|comparison| is_reading(comparison)).count();
    let complete: Vec<&Candidate<'_>> =
        candidates.iter().filter(|candidate| timed > 0 && candidate.reading().count() == timed).collect();
    let (name, bytes) = (baseline.variant.label(), baseline.size.total_bytes);
    match candidates.as_slice() {
        [] => Vec::new(),
        [only] => gain_and_loss(only, &name, bytes),
        _ => [
            smallest(&candidates, &name, bytes),
            (timed > 0).then(|| fastest(&complete, bytes)),
            (timed > 0).then(|| both(&complete, bytes)),
        ]
        .into_iter()
        .flatten()
        .chain(worst(&candidates, &name, bytes))
        .collect(),
    }
}

fn cell<'a>(comparison: &'a WorkloadComparison, of: &VariantComparison) -> Option<Cell<'a>> {
    let row = row_of(comparison, of)?;
    Some(Cell { comparison, row, ratio: row.ratio?.ratio })
}

fn gain_and_loss(candidate: &Candidate<'_>, baseline: &str, baseline_bytes: u64) -> Vec<Point> {
    let (mut gains, mut losses) = (Vec::new(), Vec::new());
    if let Some(difference) = SizeDifference::of(candidate.bytes, baseline_bytes) {
        let part = if difference.is_larger() { &mut losses } else { &mut gains };
        part.push(difference.words());
    }
    for cell in &candidate.times {
        match direction(cell.comparison, cell.row) {
            Some(Verdict::Faster) => gains.extend(cell.effect()),
            Some(Verdict::Slower) => losses.extend(cell.effect()),
            _ => {}
        }
    }
    let is_open = |cell: &&Cell<'_>| matches!(cell.row.verdict, None | Some(Verdict::Inconclusive));
    let open = candidate.times.iter().filter(is_open);
    let open: Vec<String> = open.map(|cell| job_name(&cell.comparison.workload)).collect();
    let point = |name, parts: Vec<String>, none: String| Point {
        name,
        variant: Some(candidate.label.clone()),
        text: if parts.is_empty() { none } else { format!("against {baseline}: {}", parts.join("; ")) },
    };
    let mut points = vec![
        point("Gain", gains, "none that these runs show".to_owned()),
        point("Loss", losses, "none that these runs show".to_owned()),
    ];
    if !open.is_empty() {
        points.push(Point {
            name: "Open",
            variant: None,
            text: format!("these runs do not decide the {} of {}", time_of(&candidate.times), open.join(", ")),
        });
    }
    points
}

/// The compared time of some cells: `CPU time`.
fn time_of(cells: &[Cell<'_>]) -> &'static str {
    compared_time(&cells.iter().map(|cell| cell.comparison).collect::<Vec<_>>())
}

fn smallest(candidates: &[Candidate<'_>], baseline: &str, baseline_bytes: u64) -> Option<Point> {
    let least = candidates.iter().min_by_key(|candidate| candidate.bytes)?;
    let name = "Smallest";
    let difference = SizeDifference::of(least.bytes, baseline_bytes).filter(|difference| !difference.is_larger());
    let Some(difference) = difference else {
        return Some(Point { name, variant: Some(baseline.to_owned()), text: "no variant is smaller".to_owned() });
    };
    let text = [difference.words_beside(baseline)].into_iter().chain(ranges(least)).collect::<Vec<_>>().join("; ");
    Some(Point { name, variant: Some(least.label.clone()), text })
}

/// The candidate with the smallest mean among those that are faster somewhere and slower nowhere.
fn fastest(complete: &[&Candidate<'_>], baseline_bytes: u64) -> Point {
    let name = "Fastest";
    let is_faster = |of: &&&Candidate<'_>| of.count(Verdict::Faster) > 0 && of.count(Verdict::Slower) == 0;
    let means = complete.iter().filter(is_faster).filter_map(|of| Some((*of, of.mean()?)));
    let Some((fastest, _)) = means.min_by(|(_, a), (_, b)| a.total_cmp(b)) else {
        let text = "no variant is faster somewhere and slower nowhere, as far as these runs decide".to_owned();
        return Point { name, variant: None, text };
    };
    let size = SizeDifference::of(fastest.bytes, baseline_bytes).map(SizeDifference::words);
    let text = ranges(fastest).into_iter().chain(size).collect::<Vec<_>>().join("; ");
    Point { name, variant: Some(fastest.label.clone()), text }
}

/// The decided differences of a candidate in the workloads that read: `29 to 60 % less CPU time in 4 of 5 workloads`,
/// then the workloads that take more.
fn ranges(candidate: &Candidate<'_>) -> Vec<String> {
    [Verdict::Faster, Verdict::Slower].into_iter().filter_map(|verdict| range(candidate, verdict)).collect()
}

/// The decided differences in one direction; `None` without any.
fn range(candidate: &Candidate<'_>, verdict: Verdict) -> Option<String> {
    let cells: Vec<Cell<'_>> = candidate.reading().filter(|cell| cell.row.verdict == Some(verdict)).copied().collect();
    let least = cells.iter().min_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
    let most = cells.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
    if cells.len() == 1 {
        return least.effect();
    }
    let (low, high) = (change_words(least.ratio), change_words(most.ratio));
    // The smaller change first: `29 to 60 % less`.
    let (first, last) = if verdict == Verdict::Faster { (high, low) } else { (low, high) };
    let words = match (first.strip_suffix(" % less").or(first.strip_suffix(" % more")), first == last) {
        (_, true) => first,
        (Some(number), _) if last.ends_with(first.trim_start_matches(number)) => format!("{number} to {last}"),
        _ => format!("{first} to {last}"),
    };
    let workloads = candidate.reading().count();
    let share =
        if cells.len() == workloads { format!("all {workloads}") } else { format!("{} of {workloads}", cells.len()) };
    Some(format!("{words} {} in {share} workloads", time_of(&cells)).replace(" %", "\u{a0}%"))
}

/// The fastest candidate that is not larger, faster somewhere and slower nowhere.
fn both(complete: &[&Candidate<'_>], baseline_bytes: u64) -> Point {
    let name = "Without loss";
    let best = complete
        .iter()
        .filter(|candidate| {
            let is_larger = SizeDifference::of(candidate.bytes, baseline_bytes).is_some_and(SizeDifference::is_larger);
            let decided = candidate.count(Verdict::Faster) + candidate.count(Verdict::Same);
            !is_larger && candidate.count(Verdict::Faster) > 0 && decided == candidate.reading().count()
        })
        .filter_map(|candidate| Some((candidate, candidate.mean()?)))
        .min_by(|(_, a), (_, b)| a.total_cmp(b));
    let Some((best, _)) = best else {
        let text = "no variant gains without a loss: each is larger, slower somewhere, or not decided by these runs"
            .to_owned();
        return Point { name, variant: None, text };
    };
    let size = SizeDifference::of(best.bytes, baseline_bytes)
        .map_or_else(|| "the same size".to_owned(), SizeDifference::words);
    let text = [size].into_iter().chain(ranges(best)).collect::<Vec<_>>().join("; ");
    Point { name, variant: Some(best.label.clone()), text }
}

/// The largest, and the slowest in any workload.
fn worst(candidates: &[Candidate<'_>], baseline: &str, baseline_bytes: u64) -> Vec<Point> {
    let mut points = Vec::new();
    if let Some(largest) = candidates.iter().max_by_key(|candidate| candidate.bytes)
        && let Some(difference) = SizeDifference::of(largest.bytes, baseline_bytes).filter(|of| of.is_larger())
    {
        points.push(Point { name: "Largest", variant: Some(largest.label.clone()), text: difference.words() });
    }
    let slower = candidates.iter().flat_map(|candidate| candidate.times.iter().map(move |cell| (candidate, cell)));
    let slowest = slower
        .filter(|(_, cell)| cell.row.verdict == Some(Verdict::Slower))
        .max_by(|(_, a), (_, b)| a.ratio.total_cmp(&b.ratio));
    points.push(match slowest {
        Some((candidate, cell)) => {
            Point { name: "Slowest", variant: Some(candidate.label.clone()), text: cell.effect().unwrap_or_default() }
        }
        None => Point {
            name: "Slower",
            variant: None,
            text: format!("no variant is slower than {baseline}, as far as these runs decide"),
        },
    });
    points
}

/// The statements about repositories with only sizes.
pub(super) fn of_sizes(sizes: &[&SizeRecord]) -> Vec<Point> {
    let Some((first, others)) = sizes.split_first() else { return Vec::new() };
    let least = others.iter().min_by_key(|size| size.total_bytes);
    let most = others.iter().max_by_key(|size| size.total_bytes);
    let point = |name, size: &SizeRecord, is_larger| {
        let difference = SizeDifference::of(size.total_bytes, first.total_bytes)?;
        let text = difference.words_beside(&first.label);
        (difference.is_larger() == is_larger).then(|| Point { name, variant: Some(size.label.clone()), text })
    };
    let smallest = least.and_then(|size| point("Smallest", size, false));
    let largest = most.and_then(|size| point("Largest", size, true));
    smallest.into_iter().chain(largest).collect()
}
