//! The rate of spurious differences on a machine.

use std::collections::BTreeMap;

use repackbench_records::{BlockId, RatioEstimate, Record, SelfTest, SpuriousEffects, Verdict, WorkloadComparison};

use crate::{compare::compare_records, statistics::ratio_estimate};

/// Counts the spurious differences in `records` of a session whose variants are all the same files.
///
/// The same runs are also compared as if one name had been measured after another, as most benchmarks do. Only the name
/// distinguishes the runs, so the runs of a job are assigned again in chronological order. The k-th run of a name is
/// then compared with the k-th of the baseline, by the same statistics.
pub fn self_test(records: &[Record]) -> SelfTest {
    let comparisons = compare_records(records);
    let rows = || comparisons.iter().flat_map(|comparison| &comparison.rows);
    let ratios: Vec<RatioEstimate> = rows().filter_map(|row| row.ratio).collect();
    let is_difference = |verdict: &Verdict| matches!(verdict, Verdict::Faster | Verdict::Slower);
    let differences = rows().filter_map(|row| row.verdict).filter(is_difference).count();
    let runs: Vec<Vec<Vec<f64>>> = comparisons.iter().map(|comparison| blocks(records, comparison)).collect();
    SelfTest {
        repository: records.first().map(|record| record.repository.clone()),
        workloads: comparisons.iter().map(|comparison| comparison.workload.clone()).collect(),
        names: comparisons.iter().map(|comparison| comparison.rows.len().saturating_sub(1)).max().unwrap_or(0),
        blocks: runs.iter().map(Vec::len).min().zip(runs.iter().map(Vec::len).max()),
        interleaved: spurious_effects(&ratios, Some(differences)),
        one_after_another: spurious_effects(
            &runs.iter().flat_map(|blocks| dealt_out(blocks)).collect::<Vec<_>>(),
            None,
        ),
    }
}

/// The logarithms of the times of `comparison`, by block, in chronological order. Incomplete blocks, and blocks in
/// which a run took no measurable time, are left out.
fn blocks(records: &[Record], comparison: &WorkloadComparison) -> Vec<Vec<f64>> {
    let of = (&comparison.workload, comparison.compared_time);
    let mut by_block: BTreeMap<BlockId, BTreeMap<u32, f64>> = BTreeMap::new();
    for record in records.iter().filter(|record| (&record.workload, record.compared_time) == of) {
        let time_ns = record.compared_time.nanoseconds(&record.sample);
        let block = by_block.entry(record.place.block_id()).or_default();
        if time_ns > 0 {
            block.insert(record.place.position, (time_ns as f64).ln());
        }
    }
    let whole = by_block.values().map(BTreeMap::len).max().unwrap_or(0);
    by_block.into_values().filter(|block| block.len() == whole).map(|block| block.into_values().collect()).collect()
}

/// The ratios of these runs if consecutive runs had been of one name. There are as many names as in a block, without
/// the second run of the baseline, which such a measurement does not have.
fn dealt_out(blocks: &[Vec<f64>]) -> Vec<RatioEstimate> {
    let names = blocks.first().map_or(0, Vec::len).saturating_sub(1);
    let in_time: Vec<f64> = blocks.iter().flatten().copied().collect();
    let mut dealt = in_time.chunks(blocks.len().max(1));
    let Some(baseline) = dealt.next() else { return Vec::new() };
    let ratio = |runs: &[f64]| {
        ratio_estimate(&mut runs.iter().zip(baseline).map(|(run, baseline)| run - baseline).collect::<Vec<_>>())
    };
    dealt.take(names.saturating_sub(1)).filter_map(ratio).collect()
}

fn spurious_effects(ratios: &[RatioEstimate], differences: Option<usize>) -> SpuriousEffects {
    let with_interval: Vec<_> = ratios.iter().filter_map(|ratio| ratio.interval).collect();
    let mut distances: Vec<f64> = ratios.iter().map(|ratio| ratio.ratio.ln().abs().exp_m1()).collect();
    distances.sort_unstable_by(f64::total_cmp);
    // The nearest rank: an observed value.
    let percentile = |share: f64| {
        let rank = (share * distances.len() as f64).ceil() as usize;
        distances.get(rank.saturating_sub(1)).copied()
    };
    SpuriousEffects {
        cells: with_interval.len(),
        intervals_without_1: with_interval.iter().filter(|interval| interval.low > 1.0 || interval.high < 1.0).count(),
        differences,
        median: percentile(0.5),
        percentile_95: percentile(0.95),
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::SmallRng, seq::SliceRandom};
    use repackbench_records::{ComparedTime, Role, fixtures::record};

    use super::*;

    /// A session of four names on a machine that slows down by a factor of `slower` during the session.
    fn session(blocks: u32, slower: f64) -> Vec<Record> {
        let mut random = SmallRng::seed_from_u64(3);
        let mut rows = [
            (Role::Baseline, 0),
            (Role::BaselineAgain, 0),
            (Role::Candidate, 1),
            (Role::Candidate, 2),
            (Role::Candidate, 3),
            (Role::Candidate, 4),
        ];
        let all = f64::from(blocks * 6);
        let mut records = Vec::new();
        for block in 0..blocks {
            rows.shuffle(&mut random);
            for (position, (role, row)) in (0..).zip(rows) {
                let time = 1e9 * (slower.ln() * f64::from(block * 6 + position) / all).exp();
                let mut record = record("traverse", role, row, block, time as u64);
                record.place.position = position;
                records.push(record);
            }
        }
        records
    }

    #[test]
    fn drift_is_spurious_only_without_blocks() {
        let found = self_test(&session(12, 1.5));
        assert_eq!((found.names, found.blocks, found.workloads.len()), (4, Some((12, 12)), 1));
        assert_eq!((found.interleaved.cells, found.one_after_another.cells), (4, 4));
        assert_eq!(found.interleaved.differences, Some(0));
        assert_eq!(found.one_after_another.intervals_without_1, 4);
        // The last of four names comes four sixths of the session after the baseline.
        let expected = 1.5_f64.powf(4.0 / 6.0) - 1.0;
        assert!((found.one_after_another.percentile_95.unwrap() - expected).abs() < 1e-6, "{found:?}");
        assert!((found.one_after_another.median.unwrap() - (1.5_f64.powf(2.0 / 6.0) - 1.0)).abs() < 1e-6, "{found:?}");
        assert!(found.interleaved.percentile_95.unwrap() < 0.02, "{found:?}");
    }

    #[test]
    fn sessions_by_different_clocks_are_separate() {
        let mut older = session(8, 1.5);
        older.iter_mut().for_each(|record| record.compared_time = ComparedTime::User);
        let newer = session(8, 1.5);
        let (alone, both) = (self_test(&newer), self_test(&[older, newer].concat()));
        assert_eq!(both.one_after_another.cells, 2 * alone.one_after_another.cells);
        assert_eq!(both.one_after_another.median, alone.one_after_another.median);
        assert_eq!(both.blocks, Some((8, 8)));
    }

    #[test]
    fn unfinished_block_is_left_out() {
        let mut records = session(7, 1.1);
        let whole = self_test(&records[..36]);
        records.truncate(39);
        let unfinished = self_test(&records);
        assert_eq!(unfinished.blocks, Some((6, 6)));
        assert_eq!(unfinished.one_after_another, whole.one_after_another);
    }

    #[test]
    fn no_records_give_no_effects() {
        assert_eq!(
            self_test(&[]),
            SelfTest {
                interleaved: SpuriousEffects { differences: Some(0), ..Default::default() },
                ..SelfTest::default()
            }
        );
    }
}
