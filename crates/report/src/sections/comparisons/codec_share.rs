//! The codec's share of a workload's time: the time of its floor.

use repackbench_analysis::{FloorPair, floor_pairs};
use repackbench_records::{VariantComparison, WorkloadComparison};

use crate::{document::plain_text, number::share, sections::names::workload_name};

/// A line for each workload that was measured with its floor.
pub(super) fn notes(comparisons: &[&WorkloadComparison]) -> Vec<String> {
    let of_pair = |pair: FloorPair<'_>| {
        let shares: Vec<String> = pair.workload.rows.iter().filter_map(|row| share_of(row, &pair)).collect();
        let workload = plain_text(&workload_name(&pair.workload.workload));
        (!shares.is_empty()).then(|| format!("Codec's share of {workload}, at least: {}.", shares.join(", ")))
    };
    floor_pairs(comparisons).into_iter().filter_map(of_pair).collect()
}

/// The share in one row: the median of the floor divided by that of the workload.
fn share_of(row: &VariantComparison, pair: &FloorPair<'_>) -> Option<String> {
    let of_floor = pair.floor_of(row)?;
    let whole = Some(row.compared_median.as_secs_f64()).filter(|time| *time > 0.0)?;
    let label = plain_text(&row.variant.label());
    Some(format!("{label} {}", share(of_floor.compared_median.as_secs_f64() / whole)))
}
