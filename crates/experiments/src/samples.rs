//! The raw values of one arm.

use std::collections::BTreeMap;

use repackbench_analysis::median_estimate;
use repackbench_records::Estimate;
use repackbench_timing::clock::Sample;

/// Elapsed time, in seconds.
pub(crate) const ELAPSED: &str = "elapsed";
/// CPU time, in seconds.
pub(crate) const CPU: &str = "CPU";

/// The values of one arm by quantity, each in the order of its runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Samples(BTreeMap<&'static str, Vec<f64>>);

impl Samples {
    /// Adds the value of a run.
    pub(crate) fn push(&mut self, quantity: &'static str, value: f64) {
        self.0.entry(quantity).or_default().push(value);
    }

    /// Adds the [`ELAPSED`] and [`CPU`] time of a run.
    pub(crate) fn push_times(&mut self, sample: Sample) {
        self.push(ELAPSED, sample.wall.as_secs_f64());
        self.push(CPU, (sample.user + sample.sys).as_secs_f64());
    }

    /// The values of a quantity; empty if it was not measured.
    pub(crate) fn get(&self, quantity: &str) -> &[f64] {
        self.0.get(quantity).map(Vec::as_slice).unwrap_or_default()
    }

    /// The sum of quantities, run by run.
    pub(crate) fn sum(&self, quantities: &[&str]) -> Vec<f64> {
        let Some((first, others)) = quantities.split_first() else { return Vec::new() };
        let add = |sums: Vec<f64>, quantity: &&str| {
            sums.into_iter().zip(self.get(quantity)).map(|(sum, value)| sum + value).collect()
        };
        others.iter().fold(self.get(first).to_vec(), add)
    }

    /// The median of a quantity.
    pub(crate) fn median(&self, quantity: &str) -> Option<Estimate> {
        median_estimate(self.get(quantity).to_vec())
    }

    /// Replaces the values of a quantity.
    #[cfg(test)]
    pub(crate) fn set(&mut self, quantity: &'static str, values: Vec<f64>) {
        self.0.insert(quantity, values);
    }

    /// Drops the values of runs after the first `runs`, which were not finished.
    pub(crate) fn truncate(&mut self, runs: u32) {
        let runs = usize::try_from(runs).unwrap_or(usize::MAX);
        self.0.values_mut().for_each(|values| values.truncate(runs));
    }
}

impl<const N: usize> From<[(&'static str, Vec<f64>); N]> for Samples {
    fn from(values: [(&'static str, Vec<f64>); N]) -> Self {
        Samples(values.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_run_by_run_and_unfinished_runs_are_dropped() {
        let mut samples = Samples::from([("a", vec![1.0, 2.0, 3.0]), ("b", vec![10.0, 20.0])]);
        assert_eq!(samples.sum(&["a", "b"]), [11.0, 22.0]);
        assert_eq!(samples.sum(&["a", "c"]), [0.0; 0]);
        samples.truncate(1);
        assert_eq!((samples.get("a"), samples.get("b"), samples.get("c")), (&[1.0][..], &[10.0][..], &[][..]));
        assert_eq!(samples.median("a").map(|found| found.value), Some(1.0));
    }
}
