//! How much of a workload's time is decoding, measured in place on the repository as found: with all payloads decoded, and
//! with all of them remembered, in turn.

use std::{cell::Cell, time::Duration};

use repackbench_analysis::median;
use repackbench_codec::{DecodeMemo, Decoders};
use repackbench_reader::{History, Recording, Repository};
use repackbench_records::WorkloadLabel;
use repackbench_writer::Progress;

use super::population::Population;
use crate::{
    BenchError,
    clock::{Clock, measure},
    session::Session,
    workloads::{Counter, Counts, HistoryRange, VariantPlace, Workload, WorkloadError, WorkloadSpec, record_accesses},
};

/// The number of commits that a log is tried with first.
const FIRST_COMMITS: u64 = 500;

/// The largest and the smallest number of pairs of timed replays of a workload.
const MOST_REPLAYS: usize = 9;
const FEWEST_REPLAYS: usize = 3;

/// A standard error of the share that a few replays cannot undercut.
const LEAST_ERROR: f64 = 0.005;

/// The limit of payload bytes that are remembered.
const MOST_REMEMBERED: usize = 2 << 30;

/// What was measured of one workload.
#[derive(Debug)]
pub(super) struct WorkloadShare {
    pub(super) label: WorkloadLabel,
    /// The number of commits that were replayed, if the workload lists commits.
    pub(super) commits: Option<u64>,
    /// Whether older commits were left out.
    pub(super) is_cut: bool,
    /// CPU time of a replay, in seconds.
    pub(super) seconds: f64,
    /// The share of the CPU time that is saved where nothing is decoded.
    pub(super) share: f64,
    /// Its standard error.
    pub(super) share_error: f64,
    /// The number of chunks that are decoded.
    pub(super) decodes: u64,
    /// Their stored bytes by stratum, and at the end those of chunks that belong to none.
    pub(super) decoded: Vec<f64>,
}

/// A repository on which workloads are replayed.
pub(super) struct Replays<'a> {
    pub(super) source: &'a Repository,
    pub(super) decoders: Decoders,
    pub(super) population: &'a Population,
    pub(super) clock: &'a dyn Clock,
    pub(super) progress: &'a dyn Progress,
    /// The largest number of objects that a replay missed.
    pub(super) missing: Cell<u64>,
}

/// A replay with all payloads decoded, and one with all of them remembered.
struct Pair {
    decoded: f64,
    remembered: f64,
}

impl Replays<'_> {
    /// Measures `spec` over as many of the newest commits of `range` as fit until `end` on the clock.
    ///
    /// # Errors
    /// The workload fails, or the user stops it.
    pub(super) fn measure(
        &self,
        spec: &WorkloadSpec,
        range: &HistoryRange,
        end: Duration,
    ) -> Result<WorkloadShare, BenchError> {
        let session = Session::new(self.clock, self.progress);
        let start = session.now()?;
        let available = end.saturating_sub(start);
        let mut history = self.source.history(self.decoders).map_err(WorkloadError::from)?;
        let place = VariantPlace::of(self.source, self.decoders);
        let (range, is_cut) = match spec.reads_commits() {
            true => self.newest(spec, range, history.as_mut(), &place, available)?,
            false => (range.clone(), false),
        };
        let mut workload = spec.build(&range, None);
        let (trace, counts) = record_accesses(workload.as_mut(), history.as_mut(), &place, Recording::Decodes)?;
        let mut decoded = vec![0.0; self.population.strata.len() + 1];
        for decode in &trace.decodes {
            let stratum = self.population.stratum(decode.kind, decode.stored_len);
            let at = stratum.unwrap_or(self.population.strata.len());
            if let Some(sum) = decoded.get_mut(at) {
                *sum += decode.stored_len as f64;
            }
        }
        let mut memo = Box::new(DecodeMemo::recording(MOST_REMEMBERED));
        let mut replay = |memo: Option<Box<DecodeMemo>>| -> Result<_, BenchError> {
            session.go_on()?;
            history.set_memo(memo);
            let seconds = self.replay(workload.as_mut(), history.as_mut(), &place)?;
            Ok((seconds, history.set_memo(None).unwrap_or_default()))
        };
        memo = replay(Some(memo))?.1;
        memo.give_back();
        let mut pairs = Vec::new();
        let is_enough = |pairs: &[Pair]| pairs.len() >= FEWEST_REPLAYS && share_of(pairs).1 <= LEAST_ERROR;
        while pairs.len() < MOST_REPLAYS && !is_enough(&pairs) && (pairs.len() < FEWEST_REPLAYS || session.now()? < end)
        {
            let (decoded, _) = replay(None)?;
            let (remembered, kept) = replay(Some(memo))?;
            memo = kept;
            pairs.push(Pair { decoded, remembered });
        }
        let mut seconds: Vec<f64> = pairs.iter().map(|pair| pair.decoded).collect();
        let (share, share_error) = share_of(&pairs);
        Ok(WorkloadShare {
            label: spec.build(&range, None).label(),
            commits: spec.reads_commits().then(|| commits(&counts)),
            is_cut,
            seconds: median(&mut seconds).unwrap_or_default(),
            share,
            share_error: share_error.max(LEAST_ERROR),
            decodes: trace.decodes.len() as u64,
            decoded,
        })
    }

    /// The newest commits of `range` whose replays fit `available`, and whether they are not all.
    fn newest(
        &self,
        spec: &WorkloadSpec,
        range: &HistoryRange,
        history: &mut dyn History,
        place: &VariantPlace,
        available: Duration,
    ) -> Result<(HistoryRange, bool), BenchError> {
        let of = |commits: u64| HistoryRange { commits: Some(commits), ..range.clone() };
        let most = range.commits.unwrap_or(u64::MAX);
        // Two recordings, three pairs of replays and this trial.
        let one = available.as_secs_f64() / (2 * FEWEST_REPLAYS + 3) as f64;
        let mut tried = FIRST_COMMITS.min(most);
        loop {
            let mut workload = spec.build(&of(tried), None);
            workload.prepare(place)?;
            history.clear_caches();
            let mut counter = Counter::default();
            let (result, sample) =
                measure(self.clock, || workload.run(history, &mut counter)).map_err(BenchError::clock)?;
            result?;
            workload.clean_up()?;
            if commits(&counter.counts()) < tried || tried >= most {
                return Ok((range.clone(), false));
            }
            let factor = one / sample.wall.as_secs_f64().max(1e-6);
            if factor < 2.0 {
                let fits = (tried as f64 * factor.min(1.0)).max(1.0) as u64;
                return Ok((of(fits), true));
            }
            tried = (tried as f64 * factor.min(8.0) * 0.8) as u64;
            tried = tried.min(most);
            Session::new(self.clock, self.progress).go_on()?;
        }
    }

    /// The CPU time of one replay in seconds.
    fn replay(
        &self,
        workload: &mut dyn Workload,
        history: &mut dyn History,
        place: &VariantPlace,
    ) -> Result<f64, BenchError> {
        workload.prepare(place)?;
        history.clear_caches();
        let mut counter = Counter::default();
        let (result, sample) =
            measure(self.clock, || workload.run(history, &mut counter)).map_err(BenchError::clock)?;
        self.missing.set(self.missing.get().max(history.missing()));
        history.clear_caches();
        workload.clean_up()?;
        result?;
        Ok(sample.user.saturating_add(sample.sys).as_secs_f64())
    }
}

/// The share that is saved where nothing is decoded, and its standard error.
fn share_of(pairs: &[Pair]) -> (f64, f64) {
    let of_pair = |pair: &Pair| (1.0 - pair.remembered / pair.decoded.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let mut shares: Vec<f64> = pairs.iter().map(of_pair).collect();
    let share = median(&mut shares).unwrap_or_default();
    let squares: f64 = shares.iter().map(|of| (of - share).powi(2)).sum();
    let count = shares.len().max(2) as f64;
    (share, (squares / (count - 1.0) / count).sqrt())
}

fn commits(counts: &Counts) -> u64 {
    counts.get("commits").copied().unwrap_or(0)
}
