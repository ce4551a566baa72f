//! What all runs of a benchmark share.

use repackbench_records::{Host, RepositoryState};
use repackbench_writer::Progress;

use super::{cold_copies::RowCopies, plan::BenchPlan};
use crate::{arms::stock::StockRunner, clock::Clock, own_git::OwnGit, session::Session};

/// What all runs of a benchmark share.
pub(super) struct BenchContext<'a> {
    pub(super) plan: &'a BenchPlan,
    pub(super) clock: &'a (dyn Clock + Sync),
    pub(super) progress: &'a dyn Progress,
    pub(super) host: Host,
    pub(super) repository: RepositoryState,
    /// When the session began, or the one that it continues: its name in records.
    pub(super) began_unix_ms: u64,
    /// The number of commits that are stored, reachable or not; `None` if unknown.
    pub(super) commits: Option<u64>,
    /// The user's own git on the baseline; `None` if its times are not asked for.
    pub(super) own_git: Option<OwnGit>,
    /// The copies that cold runs read; `None` for warm runs.
    pub(super) cold: Option<RowCopies>,
}

impl BenchContext<'_> {
    /// The loop that rows run in.
    pub(super) fn session(&self) -> Session<'_> {
        Session::new(self.clock, self.progress)
    }

    /// The runner of commands.
    pub(super) fn runner(&self) -> StockRunner<'_> {
        let meter = self.plan.stock.as_ref().and_then(|stock| stock.meter.as_deref());
        StockRunner::new(self.clock, self.progress, meter)
    }
}
