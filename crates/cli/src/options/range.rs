//! The part of history that workloads read.

use std::path::Path;

use clap::Args;
use repackbench_client::HgProgram;
use repackbench_codec::{Decoders, ZlibReader};
use repackbench_reader::{ReaderError, Repository, hg::HgRepository};
use repackbench_timing::{
    arms::stock::{StockError, last_of_revset},
    workloads::HistoryRange,
};
use repackbench_writer::cache::Cache;

use super::WHAT;
use crate::failure::Failure;

/// The part of history that workloads read.
#[derive(Debug, Args)]
pub(crate) struct RangeArguments {
    /// Revision to start from [default: HEAD or hg's tip].
    ///
    /// checkout, diff, ingest and serve start from it. In Mercurial it is a number, node, bookmark, tag or branch. For
    /// anything else the user's hg, where there is one, is asked for the last changeset of that revset.
    #[arg(long, value_name = "REV", allow_negative_numbers = true, help_heading = WHAT)]
    rev: Option<String>,

    /// Read only the newest N commits.
    ///
    /// In traverse, diff, ingest and serve. For ingest and serve in Mercurial these are the N changesets up to --rev,
    /// by number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = WHAT)]
    commits: Option<u64>,
}

impl RangeArguments {
    /// The range in `source`. `hg` is asked for revsets; without a name it is the one on the PATH.
    pub(crate) fn range(&self, source: &Repository, hg: Option<&Path>) -> Result<HistoryRange, Failure> {
        let revision = match (&self.rev, source) {
            (None, _) => source.default_revision().to_owned(),
            (Some(rev), Repository::Git(_)) => rev.clone(),
            (Some(rev), Repository::Hg(repository)) => {
                changeset_of(source, repository, rev, hg.unwrap_or(Path::new("hg")))?
            }
        };
        Ok(HistoryRange { revision, commits: self.commits, seed: 0 })
    }
}

/// `rev` as typed if it names a changeset, or else the last changeset of the revset `rev`.
pub(crate) fn changeset_of(
    source: &Repository,
    repository: &HgRepository,
    rev: &str,
    hg: &Path,
) -> Result<String, Failure> {
    // Nothing is timed here.
    let mut history = source.history(Decoders::from(ZlibReader::Libdeflate))?;
    let unknown = match history.resolve(rev) {
        Err(error @ ReaderError::NoSuchRevision { .. }) => Failure::from(error),
        found => return found.map(|_| rev.to_owned()).map_err(Failure::from),
    };
    let Ok(hg) = HgProgram::new(hg, None) else {
        return Err(unknown.with_hint("with hg on the PATH, --rev takes a revset, too"));
    };
    let scratch = Cache::open(None)?.scratch()?;
    last_of_revset(&hg, repository, rev, scratch.path()).map_err(|error| {
        // Only what hg says, in one line: not the command, with its many settings.
        let said = match error {
            StockError::Failed { why, .. } => why,
            other => other.to_string(),
        };
        let said: Vec<&str> = said.split_whitespace().collect();
        unknown.with_hint(format!("hg was asked for a revset: {}", said.join(" ")))
    })
}
