//! Tables of plain text, for people.
//!
//! Everything here is a function from records, or from comparisons made of records, to a string: nothing measures,
//! nothing reads files, and nothing prints. Tables carry no colour and no terminal control, whatever a repository is
//! called, so the same text goes to a terminal, a pipe and a file.
//!
//! **Units.** Sizes are in MB (10^6 bytes), with three significant digits and at most three decimals; exact bytes
//! are in the records. Times carry their unit, which is the same for all variants of a workload. A ratio below 1 means
//! less time or fewer bytes than the baseline, or than the first repository.

#![forbid(unsafe_code)]

mod bench;
mod budget;
mod chains;
mod change;
mod convert;
mod explain;
mod grid;
mod memory_check;
mod number;
mod self_test;
mod serve;
mod size;
mod trace;

pub use bench::bench_table;
pub use budget::budget_table;
pub use chains::chain_table;
pub use change::change_table;
pub use convert::convert_summary;
pub use explain::explain_table;
pub use grid::text_table;
pub use memory_check::memory_check_table;
pub use self_test::self_test_table;
pub use serve::rollout_table;
pub use size::size_table;
pub use trace::{device_check_table, trace_table};
