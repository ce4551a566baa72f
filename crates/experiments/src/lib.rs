//! Published experiments, run again whole on any repository and machine.
//!
//! The published figures and claims are in the data file of [`repackbench_records::published`]. An experiment measures what the published one
//! did and judges each claim; see [`repackbench_records::Experiment`] for its result.
//!
//! - [`registry`](experiments()): the experiments by name, and the repositories that they run on;
//! - `measuring`: benchmarks within the user's budget, and what did not fit;
//! - [`repackbench_analysis`]: figures of records, and verdicts by rules that are the same for all experiments;
//! - a module for each experiment.

#![forbid(unsafe_code)]

mod budget;
mod checkout_page_trace;
mod compressors_by_level;
mod context;
mod deltas;
mod error;
mod flat_vs_gzip_tree;
mod interleaved;
mod measuring;
#[cfg(test)]
#[path = "../../../fixtures/on_disk.rs"]
mod on_disk;
mod probe;
mod registry;
mod revision_alone;
mod samples;
mod setting;
mod tables;
#[cfg(test)]
mod tests;
mod variants;
mod zlib_vs_lz4_revlog;
mod zlib_vs_zstd_pack;
mod zlib_vs_zstd_revlog;

pub use context::{Context, Options};
pub use error::ExperimentError;
pub use registry::{RegisteredExperiment, compare_repositories, experiment, experiments};
