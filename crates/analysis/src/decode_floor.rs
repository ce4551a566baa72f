//! Workloads beside their floors: the same chunks decoded in the same order, and nothing else.

use repackbench_records::{VariantComparison, VariantIdentity, WorkloadComparison};

/// A workload and its floor, which were measured beside the same baseline.
#[derive(Debug, Clone, Copy)]
pub struct FloorPair<'a> {
    /// The workload.
    pub workload: &'a WorkloadComparison,
    /// Its floor.
    pub floor: &'a WorkloadComparison,
}

/// Each workload that was measured with its floor. All comparisons are of one repository and machine.
pub fn floor_pairs<'a>(comparisons: &[&'a WorkloadComparison]) -> Vec<FloorPair<'a>> {
    let with_floor = |workload: &&'a WorkloadComparison| {
        let floor = comparisons.iter().copied().find(|floor| is_floor_of(floor, workload))?;
        Some(FloorPair { workload, floor })
    };
    comparisons.iter().filter_map(with_floor).collect()
}

fn is_floor_of(floor: &WorkloadComparison, of: &WorkloadComparison) -> bool {
    floor.workload.floor_of() == Some(&of.workload.name)
        && floor.workload.parameters == of.workload.parameters
        && (floor.compared_time, floor.jobs) == (of.compared_time, of.jobs)
        && baseline(floor) == baseline(of)
}

/// The identity of a comparison's baseline.
pub(crate) fn baseline(comparison: &WorkloadComparison) -> Option<VariantIdentity<'_>> {
    comparison.baseline().map(|row| row.variant.identity())
}

impl<'a> FloorPair<'a> {
    /// The row of the floor that is of the same variant as the workload's `row`, whatever place it has in its table.
    pub fn floor_of(&self, row: &VariantComparison) -> Option<&'a VariantComparison> {
        self.floor.rows.iter().find(|other| other.variant.identity() == row.variant.identity())
    }
}

#[cfg(test)]
mod tests {
    use repackbench_records::{
        Role,
        fixtures::{comparison, row},
    };

    use super::*;

    #[test]
    fn floor_belongs_to_workload_with_same_baseline() {
        let of = |name: &str, baseline: &str| comparison(name, vec![row(Role::Baseline, baseline, 9, None, 5)], None);
        let all = [of("traverse", "zlib:6"), of("floor:traverse", "zlib:6"), of("floor:diff:raw", "zlib:6")];
        let [pair] = floor_pairs(&all.iter().collect::<Vec<_>>()).try_into().unwrap();
        assert_eq!((&*pair.workload.workload.name, &*pair.floor.workload.name), ("traverse", "floor:traverse"));
        let mut moved = all[0].rows[0].clone();
        moved.variant.row += 3;
        assert!(pair.floor_of(&moved).is_some());
        let other = [of("traverse", "zlib:6"), of("floor:traverse", "zlib:9")];
        assert!(floor_pairs(&other.iter().collect::<Vec<_>>()).is_empty());
    }
}
