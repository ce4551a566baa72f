//! Results for people: tables for a terminal or a pipe, Markdown, CSV, charts as SVG, and one HTML page of all of them.
//!
//! Everything here is a function from records, or from comparisons made of records, to a string: nothing measures,
//! nothing reads files, and nothing prints. Whatever a repository is called, its name comes out as text: it carries no terminal
//! control and no markup. [`Style`] says what a terminal can show; without it, text is the same for a pipe and a file.
//!
//! **Units.** Sizes are in MB (10^6 bytes), with three significant digits and at most three decimals; exact bytes
//! are in the records. Times carry their unit, which is the same for all variants of a workload. A ratio below 1 means
//! less time or fewer bytes than the baseline, or than the first repository.

#![forbid(unsafe_code)]

mod bench;
mod budget;
mod chains;
mod change;
mod chart;
mod clients;
mod convert;
mod csv;
mod experiment;
mod explain;
mod grid;
mod html;
mod joined;
mod json;
mod markdown;
mod memory_check;
mod number;
mod published;
mod self_test;
mod serve;
mod size;
mod summary;
mod trace;

pub use bench::bench_table;
pub use budget::budget_table;
pub use chains::chain_table;
pub use change::change_table;
pub use chart::{CHART_STYLE, Column, Figure, FigureTable, Section, figures, svg_files};
pub use clients::clients_table;
pub use convert::convert_summary;
pub use csv::csv;
pub use experiment::{experiment_list, experiment_table};
pub use explain::explain_table;
pub use grid::{Style, text_table};
pub use html::html_report;
pub use joined::{JoinedRow, joined, joined_table};
pub use json::json;
pub use markdown::markdown;
pub use memory_check::memory_check_table;
pub use self_test::self_test_table;
pub use serve::rollout_table;
pub use size::size_table;
pub use summary::summary;
pub use trace::{device_check_table, trace_table};
