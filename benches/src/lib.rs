//! What the benches share: which repository they measure, its chunks in memory, variants of it, child processes and
//! paired comparisons.
//!
//! Seven programs stand on it, each run by `cargo bench --package repackbench-benches --bench NAME`:
//! - `codec`, `pack_read`, `traverse` and `stand_in` are criterion benches: informative, for changes to one part;
//! - `against_stock` holds the whole program against stock git and against the work of the codecs alone, in one run
//!   on one machine, and prints one table with the targets; `against_stock_hg` does the same with stock hg.
//! - `instructions` counts instructions under valgrind and fails on more than the committed baseline.
//!
//! The environment says what is measured:
//! - `REPACKBENCH_REPO`: the repository; by default the one that this workspace is a checkout of;
//! - `REPACKBENCH_BENCH_SHORT=1`: a run of seconds that shows that everything works, as does criterion's `--quick`;
//! - `REPACKBENCH_REPETITIONS`: how often `against_stock` and `against_stock_hg` run each pair;
//! - `REPACKBENCH_HG`: the hg that `against_stock_hg` runs; by default the one on the path.

#![forbid(unsafe_code)]

mod child;
mod comparison;
mod error;
mod harness;
mod payloads;
mod program;
mod stored;
mod subject;

pub use child::{ChildTime, count_lines, cpu_of_this_process, stock_git, time_child};
pub use comparison::{Comparison, median_time, table};
pub use error::{BenchError, Result};
pub use harness::run_criterion;
pub use payloads::{PayloadSample, SizeClass};
pub use program::{build_program, build_stand_in};
pub use stored::{CodecWork, Container, StoredChunks};
pub use subject::{Subject, cores, is_short_run, repetitions, spec};
