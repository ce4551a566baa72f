//! How the time that the user allows is shared out among the benchmarks of an experiment.
//!
//! A benchmark runs each row once to compare what rows see, once more to warm up, and then in blocks, the baseline twice in each. So
//! what it takes at least is known from one run, and what does not fit is left out before it is begun: first codecs, the least
//! important ones, then runs.

use std::time::Duration;

use repackbench_timing::clock::Clock;

use crate::ExperimentError;

/// So many runs come before the first ratio, at least.
const LEAST_RUNS: f64 = 8.0;

/// What may be used up.
pub(crate) struct Budget<'a> {
    clock: &'a (dyn Clock + Sync),
    /// When it is used up, on the clock; `None` for never.
    end: Option<Duration>,
    /// The weights of the jobs that are still to come.
    weights_left: u32,
}

impl<'a> Budget<'a> {
    /// `limit` from now on, for jobs whose weights sum up to `weights`.
    pub(crate) fn new(
        clock: &'a (dyn Clock + Sync),
        limit: Option<Duration>,
        weights: u32,
    ) -> Result<Self, ExperimentError> {
        let mut budget = Budget { clock, end: None, weights_left: weights };
        if let Some(limit) = limit {
            budget.end = Some(budget.now()?.saturating_add(limit));
        }
        Ok(budget)
    }

    /// The share of the next job, which has this weight, in what is left; `None` for no limit. What a job leaves is shared out among
    /// those after it.
    pub(crate) fn share(&mut self, weight: u32) -> Result<Option<Duration>, ExperimentError> {
        let left = self.left()?;
        let of = self.weights_left.max(weight).max(1);
        self.weights_left = self.weights_left.saturating_sub(weight);
        Ok(left.map(|left| left.mul_f64(f64::from(weight) / f64::from(of))))
    }

    /// How long a look at a job of this weight may take: more would not leave time for the least that says anything.
    pub(crate) fn look(&self, weight: u32) -> Result<Option<Duration>, ExperimentError> {
        let of = self.weights_left.max(weight).max(1);
        Ok(self.left()?.map(|left| left.mul_f64(f64::from(weight) / f64::from(of) / LEAST_RUNS)))
    }

    /// What is left; `None` for no limit.
    fn left(&self) -> Result<Option<Duration>, ExperimentError> {
        let now = self.now()?;
        Ok(self.end.map(|end| end.saturating_sub(now)))
    }

    /// Elapsed time on the clock.
    fn now(&self) -> Result<Duration, ExperimentError> {
        now(self.clock)
    }
}

/// Elapsed time on `clock`.
pub(crate) fn now(clock: &(dyn Clock + Sync)) -> Result<Duration, ExperimentError> {
    let reading = clock.read().map_err(|source| ExperimentError::Io {
        action: "read",
        path: "the system's clock".into(),
        source,
    })?;
    Ok(reading.wall)
}

/// How much of a job is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// How many of its codecs take part, the most important ones first.
    pub(crate) codecs: usize,
    /// How many times each row does it.
    pub(crate) runs: u32,
}

impl Extent {
    /// What a benchmark of this extent takes, if `one` run does, with `other_rows` besides those of codecs.
    pub(crate) fn cost(self, one: Duration, other_rows: usize) -> Duration {
        let rows = other_rows.saturating_add(self.codecs);
        let blocks = usize::try_from(self.runs).unwrap_or(usize::MAX);
        // One of each to compare, one to see how long it takes, and then blocks, of which the first is thrown away.
        let runs =
            rows.saturating_add(1).saturating_add(rows.saturating_add(1).saturating_mul(blocks.saturating_add(1)));
        one.saturating_mul(u32::try_from(runs).unwrap_or(u32::MAX))
    }

    /// As much of it as fits into `share`: fewer codecs before fewer runs, since an interval takes six of those. `None` if not even
    /// one codec once does.
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
    use std::{cell::Cell, io, sync::Mutex};

    use repackbench_timing::clock::ClockReading;

    use super::*;

    /// Shows what a test sets.
    struct SetClock(Mutex<Cell<u64>>);

    impl Clock for SetClock {
        fn read(&self) -> io::Result<ClockReading> {
            let wall = Duration::from_secs(self.0.lock().unwrap().get());
            Ok(ClockReading { wall, user: Duration::ZERO, sys: Duration::ZERO })
        }

        fn read_cpu(&self) -> io::Result<Duration> {
            Ok(Duration::ZERO)
        }

        fn read_children(&self) -> io::Result<ClockReading> {
            self.read()
        }
    }

    #[test]
    fn what_a_job_leaves_goes_to_those_after_it() {
        let clock = SetClock(Mutex::new(Cell::new(50)));
        let mut budget = Budget::new(&clock, Some(Duration::from_secs(100)), 4).unwrap();
        assert_eq!(budget.share(1).unwrap(), Some(Duration::from_secs(25)));
        clock.0.lock().unwrap().set(60);
        assert_eq!(budget.share(1).unwrap(), Some(Duration::from_secs(30)), "a third of 90");
        clock.0.lock().unwrap().set(200);
        assert_eq!(budget.share(2).unwrap(), Some(Duration::ZERO));
        let mut unlimited = Budget::new(&clock, None, 1).unwrap();
        assert_eq!(unlimited.share(1).unwrap(), None);
    }

    #[test]
    fn codecs_are_left_out_before_runs_and_all_of_it_before_half_a_run() {
        let second = Duration::from_secs(1);
        let whole = Extent { codecs: 3, runs: 6 };
        // Five rows: 5 to compare, 1 to see, 7 blocks of 6.
        assert_eq!(whole.cost(second, 2), second * 48);
        let fitting = |share: u32| whole.fitting(second, 2, Some(second * share));
        assert_eq!(fitting(48), Some(whole));
        assert_eq!(fitting(47), Some(Extent { codecs: 2, runs: 6 }));
        assert_eq!(fitting(32), Some(Extent { codecs: 1, runs: 6 }));
        assert_eq!(fitting(31), Some(Extent { codecs: 1, runs: 5 }));
        assert_eq!(fitting(12), Some(Extent { codecs: 1, runs: 1 }));
        assert_eq!(fitting(11), None);
        assert_eq!(whole.fitting(second, 2, None), Some(whole));
    }
}
