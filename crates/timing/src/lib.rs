//! Replays workloads on variants and times them.
//!
//! - [`mod@bench`]: the measurement as a whole;
//! - [`chains`]: what the length of delta chains costs;
//! - [`explain`]: the variants to measure for the factors of a ratio;
//! - [`cold`]: copies to read with a cold page cache;
//! - [`clock`]: elapsed and CPU time, injected so that tests make up their own;
//! - [`record_names`]: how records call what is measured;
//! - [`rollout`]: what a server pays while clients move to another codec;
//! - [`session`]: the loop that all measurements run in: order, length of runs, when it ends;
//! - [`trace`]: what workloads read, and what follows from it;
//! - [`workloads`]: the jobs that are replayed;
//! - [`sizes`]: where the bytes go;
//! - [`stock`]: workloads as commands of the user's own git.

#![forbid(unsafe_code)]

pub mod bench;
pub mod chains;
pub mod clock;
pub mod cold;
#[cfg(test)]
#[path = "../../../fixtures/executable.rs"]
mod executable;
pub mod explain;
pub mod missing;
#[cfg(test)]
#[path = "../../../fixtures/on_disk.rs"]
mod on_disk;
mod probe;
pub mod record_names;
pub mod rollout;
pub mod session;
pub mod sizes;
pub mod stock;
pub mod trace;
pub mod workloads;
