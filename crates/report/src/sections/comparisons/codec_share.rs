//! What share of a workload's time is its codec's: the floor's time beside it.

use repackbench_records::{VariantComparison, VariantIdentity, WorkloadComparison};

use crate::{document::plain_text, number::share};

/// A line for each workload that stands in the table with its floor.
pub(super) fn notes(comparisons: &[&WorkloadComparison]) -> Vec<String> {
    let of_floor = |floor: &&WorkloadComparison| {
        let name = floor.workload.floor_of()?;
        let of = comparisons.iter().find(|of| {
            of.workload.name == name
                && of.workload.parameters == floor.workload.parameters
                && of.compared_time == floor.compared_time
                && of.jobs == floor.jobs
                && baseline(of) == baseline(floor)
        })?;
        let shares: Vec<String> = of.rows.iter().filter_map(|row| share_of(row, floor)).collect();
        let workload = plain_text(&of.workload.to_string());
        (!shares.is_empty()).then(|| format!("Codec's share of {workload}, at least: {}.", shares.join(", ")))
    };
    comparisons.iter().filter_map(of_floor).collect()
}

fn baseline(comparison: &WorkloadComparison) -> Option<VariantIdentity<'_>> {
    comparison.baseline().map(|row| row.variant.identity())
}

/// The share in one row: the floor's median by the workload's.
fn share_of(row: &VariantComparison, floor: &WorkloadComparison) -> Option<String> {
    let of_floor = floor.rows.iter().find(|other| other.variant.identity() == row.variant.identity())?;
    let whole = Some(row.compared_median.as_secs_f64()).filter(|time| *time > 0.0)?;
    let label = plain_text(&row.variant.label());
    Some(format!("{label} {}", share(of_floor.compared_median.as_secs_f64() / whole)))
}
