//! The parts that the benches share: the repository that they measure, its chunks in memory, variants of it, child
//! processes and paired comparisons.
//!
//! Ten programs use it. Each runs with `cargo bench --package repackbench-benches --bench NAME`:
//! - `codec`, `pack_read`, `stores`, `traverse` and `stand_in` are criterion benches, which inform about changes to one
//!   part.
//! - `against_stock` compares the whole program with stock git and conversion with the work of its codecs, in one run
//!   on one machine, and prints a table with the targets. `against_stock_hg` does the same with stock hg.
//! - `numbers_floor` measures what numbers in the place of ids could save at most: `docs/numbers-measurements.md` has
//!   its results.
//! - `numbers_size` measures what they save: every tree, commit and tag is written with numbers, and read again.
//! - `instructions` counts instructions under valgrind and fails if there are more than in the committed baseline.
//!
//! Environment variables choose what is measured:
//! - `REPACKBENCH_REPO`: the repository; by default the one that this workspace is a checkout of.
//! - `REPACKBENCH_BENCH_SHORT=1`: a run of seconds that only shows that everything works, as with criterion's
//!   `--quick`.
//! - `REPACKBENCH_REPETITIONS`: how often `against_stock` and `against_stock_hg` run each pair.
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
pub mod varint;

pub use child::{ChildTime, count_lines, cpu_of_this_process, stock_git, time_child};
pub use comparison::{Comparison, median_time, table};
pub use error::{BenchError, Result, exit_code};
pub use harness::run_criterion;
pub use payloads::{PayloadSample, SizeClass};
pub use program::{build_program, build_stand_in, build_stand_in_for_benches};
pub use stored::{CodecWork, Container, StoredChunks};
pub use subject::{Subject, cores, is_short_run, path_argument, repetitions, spec};
