//! Replays workloads on variants and times them.
//!
//! - [`session`]: the loop that all measurements run in: order, length of runs, when it ends;
//! - [`mod@bench`]: the session of workloads: variants, rows, records, resuming;
//! - [`arms`]: what else is measured in turn: stock commands, cold copies, chains, serving;
//! - [`explain`]: the variants to measure for the factors of a ratio;
//! - [`clock`]: elapsed and CPU time, injected so that tests make up their own;
//! - [`record_names`]: how records call what is measured;
//! - [`trace`]: what workloads read, and what follows from it;
//! - [`workloads`]: the jobs that are replayed;
//! - [`sizes`]: where the bytes go.

#![forbid(unsafe_code)]

pub mod arms;
pub mod bench;
pub mod clock;
mod error;
pub mod explain;
pub mod missing;
#[cfg(test)]
#[path = "../../../fixtures/on_disk.rs"]
mod on_disk;
mod probe;
pub mod record_names;
pub mod session;
pub mod sizes;
pub mod trace;
pub mod workloads;

pub use error::BenchError;
