//! Verdicts in words, and their conditions.

use repackbench_analysis::{ERROR_RATE, LEAST_NOISE_FLOOR};
use repackbench_records::{Role, VariantComparison, Verdict, WorkloadComparison};

use crate::{
    document::{Cell, Tone, plain_text},
    number::{counted, percent, share, signed_percent},
    sections::names::workload_name,
};

/// The tone of a verdict.
pub(crate) fn tone(verdict: Option<Verdict>) -> Tone {
    match verdict {
        Some(Verdict::Faster) => Tone::Better,
        Some(Verdict::Slower) => Tone::Worse,
        Some(Verdict::Same | Verdict::Inconclusive) | None => Tone::Even,
    }
}

/// The verdict on a row in a few words, without figures.
pub(crate) fn short_words(comparison: &WorkloadComparison, row: &VariantComparison) -> String {
    match row.verdict {
        Some(Verdict::Inconclusive) if !has_too_few_blocks(comparison, row) => "inconclusive".to_owned(),
        Some(Verdict::Same) => "same".to_owned(),
        _ => words(comparison, row),
    }
}

/// The same as a cell.
pub(super) fn short_cell(comparison: &WorkloadComparison, row: &VariantComparison) -> Cell {
    Cell::toned("", &short_words(comparison, row), "", tone(row.verdict))
}

/// The verdict on a row, as a cell.
pub(super) fn cell(comparison: &WorkloadComparison, row: &VariantComparison) -> Cell {
    Cell::toned("", &words(comparison, row), "", tone(row.verdict))
}

/// The verdict on a row in words.
pub(crate) fn words(comparison: &WorkloadComparison, row: &VariantComparison) -> String {
    let interval = row.ratio.and_then(|ratio| ratio.interval);
    match (row.verdict, interval) {
        (Some(Verdict::Faster), _) => "faster".to_owned(),
        (Some(Verdict::Slower), _) => "slower".to_owned(),
        (Some(Verdict::Same), _) => format!("same within {}", floor(comparison)),
        _ if has_too_few_blocks(comparison, row) => "too few blocks".to_owned(),
        (Some(Verdict::Inconclusive), Some(interval)) => {
            format!("inconclusive ({}..{} %)", signed_percent(interval.low - 1.0), signed_percent(interval.high - 1.0))
        }
        (None, Some(_)) if comparison.has_guesses && row.variant.role != Role::Baseline => "none: too short".to_owned(),
        (None, Some(_)) if !comparison.is_valid && row.variant.role != Role::Baseline => "none: too noisy".to_owned(),
        _ => String::new(),
    }
}

/// The noise floor in words.
pub(crate) fn noise_words(comparison: &WorkloadComparison) -> String {
    match (comparison.noise_floor, comparison.is_valid) {
        (None, _) => String::new(),
        (Some(_), true) => format!("floor {}", floor(comparison)),
        (Some(_), false) => "invalid".to_owned(),
    }
}

fn floor(comparison: &WorkloadComparison) -> String {
    comparison.noise_floor.map_or_else(String::new, |floor| format!("±{}", percent(floor, 1)))
}

/// The meaning of verdicts, and what disturbed the runs.
pub(super) fn notes(comparisons: &[&WorkloadComparison]) -> Vec<String> {
    let mut notes = Vec::new();
    let has_verdicts = comparisons.iter().flat_map(|comparison| &comparison.rows).any(|row| row.verdict.is_some());
    if let Some(first) = comparisons.first().filter(|_| has_verdicts) {
        let ratios = counted(first.cells as u64, "ratio", "ratios");
        notes.push(format!(
            "Verdicts: a difference is beyond the noise floor (the interval of A / A', at least {}); the error rate is {} over all \
             {ratios} (Holm).",
            percent(LEAST_NOISE_FLOOR, 0),
            percent(ERROR_RATE, 0)
        ));
    }
    notes.extend(too_few_blocks(comparisons));
    notes.extend(disturbance(comparisons));
    notes
}

/// Why verdicts are missing, other than for too few blocks, which the cells and the answer say.
pub(super) fn warnings(comparisons: &[&WorkloadComparison]) -> Vec<String> {
    let mut notes = Vec::new();
    for comparison in comparisons.iter().filter(|comparison| comparison.has_guesses) {
        notes.push(format!(
            "{}: the kernel derives user time from timer ticks, and some runs had too few: the times are guesses, so there are no \
             verdicts.",
            name(comparison)
        ));
    }
    for comparison in comparisons.iter().filter(|comparison| !comparison.is_valid && !comparison.has_guesses) {
        notes.push(format!(
            "{}: two reads of the same files differ (all of A / A' is beyond {}): something disturbed the runs, so there are no \
             verdicts.",
            name(comparison),
            percent(LEAST_NOISE_FLOOR, 0)
        ));
    }
    notes
}

fn name(comparison: &WorkloadComparison) -> String {
    plain_text(&workload_name(&comparison.workload))
}

/// Whether a ratio is not decided because it has fewer blocks than the clearest difference needs.
fn has_too_few_blocks(comparison: &WorkloadComparison, row: &VariantComparison) -> bool {
    let is_open = matches!(row.verdict, None | Some(Verdict::Inconclusive));
    is_open
        && comparison.is_valid
        && row.ratio.is_some_and(|ratio| ratio.pairs < comparison.blocks_for_verdicts as usize)
}

/// A note on how many blocks are needed and how many there are, if there are too few for some verdict.
pub(crate) fn too_few_blocks(comparisons: &[&WorkloadComparison]) -> Option<String> {
    let short = comparisons.iter().flat_map(|comparison| {
        let rows = comparison.rows.iter().filter(|row| has_too_few_blocks(comparison, row));
        rows.filter_map(move |row| Some((row.ratio?.pairs, comparison)))
    });
    let (pairs, comparison) = short.min_by_key(|(pairs, _)| *pairs)?;
    let blocks = counted(pairs as u64, "block is", "blocks are");
    Some(format!("{blocks} too few: a verdict on this many ratios needs {}.", comparison.blocks_for_verdicts))
}

/// Disturbances below this share of the time are not mentioned.
const CONSIDERABLE: f64 = 0.02;

/// The largest disturbances over all workloads.
fn disturbance(comparisons: &[&WorkloadComparison]) -> Option<String> {
    let worst = |of: fn(&WorkloadComparison) -> Option<f64>| {
        let shares = comparisons.iter().filter_map(|comparison| of(comparison));
        shares.max_by(f64::total_cmp).filter(|share| *share >= CONSIDERABLE)
    };
    let parts = [
        (worst(|comparison| comparison.disturbance.steal), "a hypervisor took processors away"),
        (worst(|comparison| comparison.disturbance.cpu_pressure), "some task waited for a processor"),
        (worst(|comparison| comparison.disturbance.io_pressure), "for a disk"),
        (worst(|comparison| comparison.disturbance.memory_pressure), "for memory"),
    ];
    let parts: Vec<String> =
        parts.into_iter().filter_map(|(part, what)| part.map(|part| format!("{what} {}", share(part)))).collect();
    (!parts.is_empty()).then(|| format!("The machine was not idle. Shares of the measured time: {}.", parts.join(", ")))
}
