//! How long the rest of a session takes.

use std::{cell::RefCell, time::Duration};

/// What is left of each job of a session.
pub(super) struct Timetable {
    /// When the session ends, on its clock; `None` without a limit of time.
    end: Option<Duration>,
    jobs: RefCell<Vec<JobForecast>>,
}

/// What is left of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct JobForecast {
    /// How long a block takes; `None` while that is unknown.
    pub(super) block: Option<Duration>,
    /// How many blocks are still to come.
    pub(super) blocks_left: u32,
}

impl Timetable {
    /// The timetable of a session that ends at `end` at the latest.
    pub(super) fn new(end: Option<Duration>, jobs: Vec<JobForecast>) -> Self {
        Timetable { end, jobs: RefCell::new(jobs) }
    }

    /// The number of jobs.
    pub(super) fn len(&self) -> usize {
        self.jobs.borrow().len()
    }

    /// Changes what is expected of a job.
    pub(super) fn update(&self, job: usize, change: impl FnOnce(&mut JobForecast)) {
        if let Some(forecast) = self.jobs.borrow_mut().get_mut(job) {
            change(forecast);
        }
    }

    /// How long the session still takes; `None` while that is unknown. A job whose blocks are of unknown length is
    /// taken to be like the others.
    pub(super) fn left(&self, now: Duration) -> Option<Duration> {
        let jobs = self.jobs.borrow();
        let known: Vec<Duration> = jobs.iter().filter_map(|job| job.block).collect();
        let count = u32::try_from(known.len()).unwrap_or(u32::MAX);
        let mean = sum(known.iter().copied()).checked_div(count);
        let blocks =
            mean.map(|mean| sum(jobs.iter().map(|job| job.block.unwrap_or(mean).saturating_mul(job.blocks_left))));
        let limit = self.end.map(|end| end.saturating_sub(now));
        blocks.into_iter().chain(limit).min()
    }
}

fn sum(times: impl Iterator<Item = Duration>) -> Duration {
    times.fold(Duration::ZERO, Duration::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_that_of_the_blocks_within_the_limit() {
        let seconds = Duration::from_secs;
        let jobs = vec![JobForecast { block: None, blocks_left: 6 }; 2];
        let free = Timetable::new(None, jobs.clone());
        assert_eq!(free.left(seconds(0)), None, "nothing is known");
        free.update(0, |job| job.block = Some(seconds(2)));
        assert_eq!(free.left(seconds(5)), Some(seconds(24)), "both are taken to be alike");
        free.update(1, |job| *job = JobForecast { block: Some(seconds(1)), blocks_left: 3 });
        assert_eq!((free.len(), free.left(seconds(9))), (2, Some(seconds(15))));
        let limited = Timetable::new(Some(seconds(60)), jobs);
        assert_eq!(limited.left(seconds(20)), Some(seconds(40)));
        limited.update(1, |job| job.block = Some(seconds(1)));
        assert_eq!(limited.left(seconds(20)), Some(seconds(12)));
        assert_eq!(limited.left(seconds(99)), Some(seconds(0)));
    }
}
