//! Divides the time that the user allows among the benchmarks of an experiment.
//!
//! A benchmark of a stock client runs each row once to compare what rows see, and then in blocks, the baseline twice in each. Its least time
//! is therefore known from one run, and parts that do not fit are left out before they start: first codecs, the least important ones, then
//! runs.

use std::time::Duration;

pub(crate) use repackbench_timing::session::Budget;
use repackbench_timing::{clock::Clock, session::Stop};

use crate::ExperimentError;

/// The number of runs before the first ratio, at least.
const LEAST_RUNS: f64 = 8.0;

/// The time limit of a trial run of the next job of `budget`, which has this weight: a longer one would leave too little time for the
/// smallest useful measurement. `None` for no limit.
pub(crate) fn time_to_look(budget: &Budget<'_>, weight: u32) -> Result<Option<Duration>, ExperimentError> {
    Ok(budget.next_share(weight)?.map(|share| share.div_f64(LEAST_RUNS)))
}

/// Elapsed time on `clock`.
pub(crate) fn now(clock: &(dyn Clock + Sync)) -> Result<Duration, ExperimentError> {
    Ok(clock.read_wall().map_err(Stop::Clock)?)
}

/// The part of a job that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The number of its codecs, the most important ones first.
    pub(crate) codecs: usize,
    /// The number of runs of each row.
    pub(crate) runs: u32,
}

impl Extent {
    /// The time of a benchmark of this extent if a run takes `one`, with `other_rows` in addition to those of codecs.
    pub(crate) fn cost(self, one: Duration, other_rows: usize) -> Duration {
        let rows = other_rows.saturating_add(self.codecs);
        let blocks = usize::try_from(self.runs).unwrap_or(usize::MAX);
        // One run of each row to compare, one to measure the length, and then blocks.
        let runs = rows.saturating_add(1).saturating_mul(blocks.saturating_add(1));
        one.saturating_mul(u32::try_from(runs).unwrap_or(u32::MAX))
    }

    /// The largest extent that fits into `share`: fewer codecs before fewer runs, since an interval takes six runs. `None` if not even one
    /// run of one codec fits.
    pub(crate) fn fitting(self, one: Duration, other_rows: usize, share: Option<Duration>) -> Option<Extent> {
        let Some(share) = share else { return Some(self) };
        let fewer_codecs = (1..=self.codecs).rev().map(|codecs| Extent { codecs, ..self });
        let fewer_runs = (1..self.runs).rev().map(|runs| Extent { codecs: self.codecs.min(1), runs });
        let mut all = [self].into_iter().chain(fewer_codecs).chain(fewer_runs);
        all.find(|extent| extent.cost(one, other_rows) <= share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_are_left_out_before_runs() {
        let second = Duration::from_secs(1);
        let whole = Extent { codecs: 3, runs: 6 };
        // Five rows: 5 to compare, 1 to see, 6 blocks of 6.
        assert_eq!(whole.cost(second, 2), second * 42);
        let fitting = |share: u32| whole.fitting(second, 2, Some(second * share));
        assert_eq!(fitting(42), Some(whole));
        assert_eq!(fitting(41), Some(Extent { codecs: 2, runs: 6 }));
        assert_eq!(fitting(28), Some(Extent { codecs: 1, runs: 6 }));
        assert_eq!(fitting(27), Some(Extent { codecs: 1, runs: 5 }));
        assert_eq!(fitting(8), Some(Extent { codecs: 1, runs: 1 }));
        assert_eq!(fitting(7), None);
        assert_eq!(whole.fitting(second, 2, None), Some(whole));
    }
}
