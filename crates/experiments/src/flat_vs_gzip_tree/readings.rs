//! The times of one arm.

use repackbench_timing::clock::Sample;

/// The times of one arm in seconds, one for each run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Readings {
    pub(super) elapsed: Vec<f64>,
    pub(super) cpu: Vec<f64>,
}

impl Readings {
    pub(super) fn push(&mut self, sample: Sample) {
        self.elapsed.push(sample.wall.as_secs_f64());
        self.cpu.push((sample.user + sample.sys).as_secs_f64());
    }

    /// Drops the times of a run that was not finished.
    pub(super) fn truncate(&mut self, runs: u32) {
        let runs = usize::try_from(runs).unwrap_or(usize::MAX);
        self.elapsed.truncate(runs);
        self.cpu.truncate(runs);
    }
}
