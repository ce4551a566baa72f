//! One file for each subcommand: its arguments and its run.

pub(crate) mod alternatives;
pub(crate) mod bench;
pub(crate) mod cache;
pub(crate) mod chains;
pub(crate) mod codecs;

pub(crate) mod convert;
pub(crate) mod diff;
pub(crate) mod env;
pub(crate) mod estimate;
pub(crate) mod exec;
pub(crate) mod experiment;
pub(crate) mod explain;
pub(crate) mod fleet;
pub(crate) mod generate;
pub(crate) mod payloads;
pub(crate) mod peak_memory;
pub(crate) mod recode_pack;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod results_page;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod size;
pub(crate) mod trace;
pub(crate) mod train;
pub(crate) mod verify;
