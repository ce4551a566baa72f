//! Replays workloads on variants and times them.
//!
//! - [`session`]: the loop that all measurements run in: order, warm-up, length of runs, budgets, when it ends;
//! - [`mod@bench`]: the session of workloads: plan, rows, records, resuming;
//! - [`arms`]: what is measured in turn: replays, stock commands, cold copies, chains, serving;
//! - [`mod@estimate`]: sizes and times predicted from a sample;
//! - [`explain`]: the variants that explain a ratio;
//! - [`clock`]: elapsed and CPU time, injected so that tests can use their own;
//! - [`record_names`]: the names of variants and layouts in records;
//! - [`trace`]: what workloads read, and models of what that costs;
//! - [`workloads`]: the jobs that are replayed;
//! - [`sizes`]: where the bytes go.
//!
//! Where bytes go needs no replay; the example `workload` adds a workload of its own and times it.
//!
//! ```
//! use repackbench_reader::Repository;
//! use repackbench_timing::sizes::measure;
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("repo");
//! # ["objects", "refs"].iter().try_for_each(|name| std::fs::create_dir_all(path.join(name)))?;
//! # std::fs::write(path.join("HEAD"), "ref: refs/heads/main\n")?;
//!
//! let size = measure(&Repository::open(&path)?, "a repository without commits")?;
//! assert_eq!(size.objects.sum().entries, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod arms;
pub mod bench;
mod byte_strings;
pub mod clock;
mod context_memory;
mod decode_share;
pub mod delta_search;
mod error;
pub mod estimate;
pub mod explain;
mod host;
pub mod missing;
mod newest_commits;
#[cfg(test)]
#[path = "../../../fixtures/on_disk.rs"]
mod on_disk;
mod own_git;
mod probe;
pub mod record_names;
pub mod session;
pub mod sizes;
pub mod trace;
pub mod workloads;

pub use error::BenchError;
pub use host::host_with_software;
