//! Experiments that were published once, run again whole on any repository and machine.
//!
//! What was published lies in the data file of [`repackbench_records::published`]. An experiment here measures what the published
//! one did, and says of each claim whether it holds; see [`repackbench_records::Experiment`].

#![forbid(unsafe_code)]

pub mod checkout_page_trace;
mod context;
mod error;

pub use context::{Context, Options};
pub use error::ExperimentError;
