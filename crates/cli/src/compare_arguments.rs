//! What `repackbench compare` takes.

use std::path::PathBuf;

use clap::Args;

use crate::pace_arguments::Percent;

/// Hold newer results against older ones.
///
/// Reads two files that `bench --json` wrote, of the same repositories and codecs, and prints how
/// times and sizes changed. Times are compared as ratios to each file's own baseline, so that two
/// machines, or a machine on two days, can be held against each other; what all variants have in
/// common, such as a reader that became slower, shows only with --absolute.
///
/// With --gate, exits with 3 if something got worse by more: a size, or a time whose whole interval
/// lies beyond (fewer than 6 blocks give none); or if the newer results lack something.
///
/// Examples:
///   repackbench compare before.jsonl after.jsonl
///   repackbench compare main.jsonl branch.jsonl --gate 3%
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CompareArguments {
    /// The older results.
    pub(crate) old: PathBuf,

    /// The newer results.
    pub(crate) new: PathBuf,

    /// Exit with 3 if something is worse by more than this.
    #[arg(long, value_name = "PERCENT")]
    pub(crate) gate: Option<Percent>,

    /// Compare times as they are: for results of one machine.
    #[arg(long)]
    pub(crate) absolute: bool,
}
