//! End-to-end tests: they run the real binary on repositories that real git and hg made. The output of stock git and hg
//! is the reference.
//!
//! A module is named after the command that it tests; folders hold the parts of a command. `hg` has the tests of
//! Mercurial repositories, `robustness` and `formats` what cuts across commands, `examples` the documents, `usage` the
//! command line itself, and `support` the helpers. `action` tests the script of the GitHub action. The repositories
//! come from the scripts in `fixtures/` at the root of the checkout. Damaged ones are made from those here, byte by
//! byte.

#![forbid(unsafe_code)]

mod action;
mod alternatives;
mod bench;
mod cache;
mod chains;
mod codecs;
mod convert;
mod diff;
mod estimate;
mod examples;
mod exec;
mod experiment;
mod explain;
mod fleet;
mod formats;
mod generate;
mod git_subcommand;
mod hg;
mod payloads;
mod peak_memory;
mod python_module;
mod replay;
mod report;
mod results_page;
mod robustness;
mod schema;
mod serve;
mod size;
mod support;
mod trace;
mod train;
mod usage;
mod verify;
