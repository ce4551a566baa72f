//! New searches for deltas, whose results codecs are predicted for, too.

use std::time::Duration;

use repackbench_analysis::predicted_search_seconds;
use repackbench_reader::Repository;
use repackbench_records::{ChunkSizes, OtherSearch, Rechosen};
use repackbench_writer::{
    DeltaRecomputer, JobControl, WriterError,
    cache::{Cache, ScratchFolder},
    git::recompute::{Searched, search_anew},
};

use super::{Examined, Job, Parts, steps::Until};
use crate::{BenchError, session::Session, sizes::measure, workloads::WorkloadError};

/// The part of the session's time that is left for the state after a search for deltas. A search that takes longer than
/// predicted is stopped then.
const LEAST_FOR_SECOND: f64 = 0.2;

/// A search for deltas, and its result in a copy that is thrown away.
struct DeltaSearch {
    scratch: ScratchFolder,
    searched: Searched,
    window: Option<u32>,
}

impl Job<'_> {
    /// Searches for the deltas of `chunks`, which are all, anew if that fits, and predicts for the result until `end`.
    pub(super) fn rechosen(
        &self,
        source: &Repository,
        chunks: &ChunkSizes,
        cache: &Cache,
        end: Duration,
    ) -> Result<Rechosen, BenchError> {
        let recomputer = match &self.plan.recomputer {
            Ok(recomputer) => recomputer,
            Err(why) => return Ok(Rechosen::Left { why: why.clone() }),
        };
        let predicted = self.plan.search_time(chunks, recomputer.window(source));
        let first = match self.search(source, recomputer, predicted, cache, end)? {
            Ok(search) => search,
            Err(left_out) => return Ok(left_out),
        };
        let (search, other) = match &self.plan.harder {
            Some(harder) => self.search_harder(source, harder, first, chunks, cache, end)?,
            None => (first, None),
        };
        let repository = Repository::open(search.scratch.path()).map_err(WorkloadError::from)?;
        let now = Session::new(self.clock, self.progress).now()?;
        let examined = Examined::new(&repository, self.plan.seed, self.progress)?;
        let (state, _) = self.state(&repository, examined, cache, (now, end), Parts::last(end.saturating_sub(now)))?;
        Ok(Rechosen::Searched {
            seconds: search.searched.cost.wall.as_secs_f64(),
            cpu_seconds: search.searched.cpu.map(|cpu| cpu.as_secs_f64()),
            window: search.window,
            peak_resident_bytes: search.searched.cost.peak_resident_bytes,
            is_without_names: search.searched.is_without_names,
            other,
            state: Box::new(state),
        })
    }

    /// Also searches as `harder` does, if that fits after `first`. Returns the search whose result is predicted for,
    /// and what is known of the other.
    fn search_harder(
        &self,
        source: &Repository,
        harder: &DeltaRecomputer,
        first: DeltaSearch,
        chunks: &ChunkSizes,
        cache: &Cache,
        end: Duration,
    ) -> Result<(DeltaSearch, Option<OtherSearch>), BenchError> {
        let took = first.searched.cost.wall;
        let effort = |window| predicted_search_seconds(chunks, window).max(f64::MIN_POSITIVE);
        let predicted = took.mul_f64(effort(harder.window(source)) / effort(first.window));
        let other = |window, seconds, total_bytes| Some(OtherSearch { window, seconds, total_bytes });
        Ok(match self.search(source, harder, predicted, cache, end)? {
            Ok(search) => {
                let repository = Repository::open(first.scratch.path()).map_err(WorkloadError::from)?;
                let bytes = measure(&repository, "")?.total_bytes;
                let other = other(first.window, took.as_secs_f64(), Some(bytes));
                (search, other)
            }
            Err(Rechosen::TooLong { predicted_seconds, stopped_after_seconds, window }) => {
                let seconds = stopped_after_seconds.unwrap_or_default().max(predicted_seconds);
                (first, other(window, seconds, None))
            }
            Err(_) => (first, None),
        })
    }

    /// Searches for deltas, which is predicted to take `predicted`, in a copy of `source`. Returns what an estimate
    /// says where there is no result.
    fn search(
        &self,
        source: &Repository,
        recomputer: &DeltaRecomputer,
        predicted: Duration,
        cache: &Cache,
        end: Duration,
    ) -> Result<Result<DeltaSearch, Rechosen>, BenchError> {
        let left_out = |why: &str| Ok(Err(Rechosen::Left { why: why.to_owned() }));
        let (Repository::Git(git_source), DeltaRecomputer::Git(git)) = (source, recomputer) else {
            return left_out("only git searches once for all codecs");
        };
        let window = recomputer.window(source);
        let too_long = |stopped_after_seconds| Rechosen::TooLong {
            predicted_seconds: predicted.as_secs_f64(),
            stopped_after_seconds,
            window,
        };
        let session = Session::new(self.clock, self.progress);
        let begin = session.now()?;
        let search_end = end.saturating_sub(self.time.mul_f64(LEAST_FOR_SECOND));
        if !self.has_time_for(predicted) || begin >= search_end {
            return Ok(Err(too_long(None)));
        }
        let until = Until { progress: self.progress, clock: self.clock, end: search_end };
        let control = JobControl { threads: self.plan.threads, progress: &until };
        let scratch = cache.scratch().map_err(|error| BenchError::Variant(error.into()))?;
        match search_anew(git_source, scratch.path(), &**git, control) {
            // What is known of the repository as found must not be lost.
            Err(WriterError::Program { command, why }) => left_out(&format!("{command} failed: {why}")),
            Err(WriterError::Interrupted) if !self.progress.is_cancelled() => {
                let took = session.now()?.saturating_sub(begin);
                Ok(Err(too_long(Some(took.as_secs_f64()))))
            }
            searched => {
                let searched = searched?;
                searched.notes.iter().for_each(|note| self.progress.note(note));
                Ok(Ok(DeltaSearch { scratch, searched, window }))
            }
        }
    }
}
