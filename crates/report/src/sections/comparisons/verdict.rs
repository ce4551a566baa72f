//! Verdicts in words, and their conditions.

use repackbench_analysis::{ERROR_RATE, LEAST_NOISE_FLOOR};
use repackbench_records::{Role, VariantComparison, Verdict, WorkloadComparison};

use crate::{
    document::{Cell, Tone, plain_text},
    number::{counted, percent, share, signed_percent},
};

/// A verdict in a word; a question mark for none.
pub(crate) fn verdict_word(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Faster) => "faster",
        Some(Verdict::Slower) => "slower",
        Some(Verdict::Same) => "same",
        Some(Verdict::Inconclusive) => "inconclusive",
        None => "?",
    }
}

/// The tone of a verdict.
pub(crate) fn tone(verdict: Option<Verdict>) -> Tone {
    match verdict {
        Some(Verdict::Faster) => Tone::Better,
        Some(Verdict::Slower) => Tone::Worse,
        Some(Verdict::Same | Verdict::Inconclusive) | None => Tone::Even,
    }
}

/// `before`, then the verdict in a word.
pub(crate) fn word_cell(before: &str, verdict: Option<Verdict>) -> Cell {
    Cell::toned(before, verdict_word(verdict), "", tone(verdict))
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

/// The meaning of verdicts, why some are missing, and what disturbed the runs.
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
    notes.extend(disturbance(comparisons));
    notes
}

fn name(comparison: &WorkloadComparison) -> String {
    plain_text(&comparison.workload.to_string())
}

/// A note if there are too few blocks for any verdict.
pub(crate) fn too_few_blocks(comparisons: &[&WorkloadComparison]) -> Option<String> {
    let estimates = |comparison: &WorkloadComparison| {
        let pairs = comparison.rows.iter().filter_map(|row| row.ratio).filter(|ratio| ratio.interval.is_some());
        pairs.map(|ratio| ratio.pairs).min()
    };
    let short = comparisons.iter().filter_map(|comparison| {
        let pairs = estimates(comparison)?;
        (pairs < comparison.blocks_for_verdicts as usize).then_some((pairs, comparison))
    });
    let (pairs, comparison) = short.min_by_key(|(pairs, _)| *pairs)?;
    Some(format!(
        "With {} ratios, none can be called faster or slower before {} blocks; there are {pairs}.",
        comparison.cells, comparison.blocks_for_verdicts
    ))
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
