//! How much of a workload's time is decoding, measured in place on the repository as found: with all payloads decoded,
//! with all of them or a sample looked for and decoded, with those remembered, and with the chunks of each codec in
//! their places, in turn.
//!
//! Such rounds have time for few commits where histories are long. More are then replayed as found, in turn with the
//! few. What decoding takes of that time follows from the few, in proportion to what it takes by the sample.

use std::{
    cell::{Cell, RefCell},
    time::Duration,
};

use rand::rngs::SmallRng;
use repackbench_codec::{DecodeMemo, Decoders};
use repackbench_reader::{AccessTrace, History, Recording, Repository};
use repackbench_records::{OwnGitCost, WorkloadLabel};
use repackbench_writer::Progress;

use super::{decoding::DecodeCosts, in_place::InPlace, population::Population};
use crate::{
    BenchError,
    clock::{Clock, measure},
    decode_share::{self, DecodeShare, Rounds, Took},
    newest_commits::{CommitTrials, NewestCommits},
    own_git::{self, OwnGit},
    session::Session,
    workloads::{Counter, Counts, HistoryRange, VariantPlace, Workload, WorkloadError, WorkloadSpec, record_accesses},
};

/// The part of a workload's time that is left for a trial with a commit-graph.
const GRAPH_PART: f64 = 0.25;

/// The part of a workload's time for replays under codecs, if they read fewer commits than others.
const CODECS_PART: f64 = 0.4;

/// The most of it, where even the fewest commits take long. The share of decoding over more commits matters more than
/// what it costs in place.
const MOST_CODECS_PART: f64 = 0.5;

/// The rounds of replays that the number of commits is chosen for.
const PLANNED_ROUNDS: usize = 5;

/// The replays of more commits, of which the shortest counts.
const LONG_REPLAYS: u32 = 3;

/// The approximate limit of chunks that the recording of more commits holds, of 48 bytes each.
const MOST_RECORDED: f64 = 250e3;

/// The part of the time for replays under codecs in which their chunks are encoded.
const ENCODING_PART: f64 = 0.4;

/// What a replay of a repository in zlib takes under the default codecs in the mean, and one that remembers, as a
/// multiple of one as found.
const UNDER_CODEC: f64 = 0.6;

/// What was measured of one workload.
#[derive(Debug)]
pub(super) struct WorkloadShare {
    pub(super) label: WorkloadLabel,
    /// The number of commits that were replayed, if the workload lists commits.
    pub(super) commits: Option<u64>,
    /// Whether older commits were left out.
    pub(super) is_cut: bool,
    pub(super) decoding: DecodeShare,
    /// Replays under codecs, of these commits or of fewer.
    pub(super) rounds: Rounds,
    /// What the user's own git takes for the same; `None` if that is unknown.
    pub(super) own_git: Option<OwnGitCost>,
    /// The number of chunks that are decoded.
    pub(super) decodes: u64,
    /// Their stored bytes by stratum, and at the end those of chunks like which the sample has none.
    pub(super) decoded: Vec<f64>,
}

/// A repository on which workloads are replayed.
pub(super) struct Replays<'a> {
    pub(super) source: &'a Repository,
    pub(super) decoders: Decoders,
    pub(super) in_place: InPlace<'a>,
    /// Draws the chunks that are encoded.
    pub(super) random: RefCell<SmallRng>,
    pub(super) population: &'a Population,
    /// What decoding costs by the sample.
    pub(super) costs: &'a DecodeCosts,
    /// The number of stored commits.
    pub(super) commits: u64,
    pub(super) clock: &'a dyn Clock,
    pub(super) progress: &'a dyn Progress,
    /// The largest number of objects that a replay missed.
    pub(super) missing: Cell<u64>,
    /// The user's own git.
    pub(super) own_git: Option<OwnGit>,
}

/// The recording of a workload's replay.
struct Recorded {
    workload: Box<dyn Workload>,
    counts: Counts,
    decodes: u64,
    /// See [`WorkloadShare::decoded`].
    decoded: Vec<f64>,
}

/// The commits or changesets that a replay read.
fn commits_in(counts: &Counts) -> u64 {
    ["commits", "changesets"].iter().find_map(|name| counts.get(*name)).copied().unwrap_or_default()
}

/// One replay.
struct Replay {
    wall: Duration,
    took: Took,
    counts: Counts,
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
        let all = end.saturating_sub(session.now()?);
        let available = if self.tries_graph(spec) { all.mul_f64(1.0 - GRAPH_PART) } else { all };
        let replays_end = end.saturating_sub(all.saturating_sub(available));
        let mut history = self.source.history(self.decoders).map_err(WorkloadError::from)?;
        let mut newest = Newest { replays: self, spec, range, trials: CommitTrials::new(self.commits) };
        let few = newest.under_codecs(history.as_mut(), available)?;
        let now = session.now()?;
        let left = replays_end.saturating_sub(now);
        let under_codecs = few.as_ref().map_or(left, |few| few.time(left));
        let mut read = few.as_ref().map_or_else(|| range.clone(), |few| newest.of(Some(few.commits)));
        let (mut recorded, trace) = self.record(spec, &read, history.as_mut())?;
        let times = (under_codecs.mul_f64(ENCODING_PART), now.saturating_add(under_codecs));
        let rounds = self.rounds(spec, (&mut recorded, trace), history.as_mut(), times)?;
        let mut decoding = rounds.share();
        if let Some(few) = few {
            let longer = self.longer(&mut newest, &few, (&mut recorded, decoding), history.as_mut(), replays_end)?;
            (read, recorded, decoding) = longer.unwrap_or((read, recorded, decoding));
        }
        let with_graph = match (self.tries_graph(spec), range.commits.is_none() && read.commits.is_some()) {
            (false, _) => None,
            (true, false) => Some(read.clone()),
            (true, true) => Some(newest.for_graph(history.as_mut(), all, &read)?),
        };
        let own_git = match &self.own_git {
            Some(git) => {
                let times = (self.clock, self.progress);
                git.cost((spec, &read, &decoding), with_graph.as_ref(), history.as_mut(), times, end)?
            }
            None => None,
        };
        Ok(WorkloadShare {
            label: spec.build(&read, None).label(),
            commits: spec.reads_commits().then(|| commits_in(&recorded.counts)),
            is_cut: range.commits.is_none() && read.commits.is_some(),
            decoding,
            rounds,
            own_git,
            decodes: recorded.decodes,
            decoded: recorded.decoded,
        })
    }

    /// Replays more commits than `few`, as found and in turn with those, until `end`: which ones, their recording, and
    /// the share of decoding, which follows from the `recorded` few and theirs. `None` if no more fit, or if the few
    /// cost nothing to decode.
    fn longer(
        &self,
        newest: &mut Newest<'_>,
        few: &Few,
        (recorded, decoding): (&mut Recorded, DecodeShare),
        history: &mut dyn History,
        end: Duration,
    ) -> Result<Option<(HistoryRange, Recorded, DecodeShare)>, BenchError> {
        let by_sample = self.costs.seconds_as_found(&recorded.decoded);
        let once = Duration::try_from_secs_f64(decoding.seconds).unwrap_or(Duration::MAX);
        let of_few = decode_share::with_repetitions(once).saturating_mul(LONG_REPLAYS);
        let left = end.saturating_sub(Session::new(self.clock, self.progress).now()?).saturating_sub(of_few);
        let most = decoding.seconds * MOST_RECORDED / recorded.decodes.max(1) as f64;
        let many = newest.as_found(history, (left, Duration::try_from_secs_f64(most).unwrap_or(left)))?;
        if many.is_some_and(|many| many <= few.commits) || by_sample <= 0.0 {
            return Ok(None);
        }
        let (spec, read) = (newest.spec, newest.of(many));
        let few_recorded = recorded;
        let (mut recorded, _) = self.record(spec, &read, history)?;
        let seconds = self.seconds(spec, (few_recorded, decoding.seconds), &mut recorded, history)?;
        let decoding = decoding.in_longer(seconds, self.costs.seconds_as_found(&recorded.decoded) / by_sample);
        Ok(Some((read, recorded, decoding)))
    }

    /// Records a replay of `spec` over `range`, and what it decodes.
    fn record(
        &self,
        spec: &WorkloadSpec,
        range: &HistoryRange,
        history: &mut dyn History,
    ) -> Result<(Recorded, AccessTrace), BenchError> {
        let mut workload = spec.build(range, None);
        let place = VariantPlace::of(self.source, self.decoders);
        let (trace, counts) = record_accesses(workload.as_mut(), history, &place, Recording::Decodes)?;
        let mut decoded = vec![0.0; self.population.strata.len() + 1];
        for decode in &trace.decodes {
            let stratum = self.costs.stratum(self.population, decode.kind, (decode.stored_len, decode.payload_limit));
            let at = stratum.unwrap_or(self.population.strata.len());
            if let Some(sum) = decoded.get_mut(at) {
                *sum += decode.stored_len as f64;
            }
        }
        Ok((Recorded { workload, counts, decodes: trace.decodes.len() as u64, decoded }, trace))
    }

    /// Replays what was `recorded` in rounds until `end`, also under codecs, after encoding for them in the time
    /// `encoding`.
    fn rounds(
        &self,
        spec: &WorkloadSpec,
        (recorded, trace): (&mut Recorded, AccessTrace),
        history: &mut dyn History,
        (encoding, end): (Duration, Duration),
    ) -> Result<Rounds, BenchError> {
        let session = Session::new(self.clock, self.progress);
        let Recorded { workload, counts, .. } = recorded;
        let mut replay = |memo: Option<Box<DecodeMemo>>| -> Result<_, BenchError> {
            history.set_memo(memo);
            let took = self.same(spec, (workload.as_mut(), counts), history)?;
            Ok((took, history.set_memo(None).unwrap_or_default()))
        };
        let mut stand_ins = |memo: &DecodeMemo, each: Duration| {
            let left = end.saturating_sub(session.now()?).saturating_sub(encoding);
            let is_zlib = matches!(self.source, Repository::Git(_)) && self.source.recorded_spec().is_none();
            let most = codecs_that_fit(left, each, if is_zlib { UNDER_CODEC } else { 1.0 });
            if most < self.in_place.codecs() {
                self.progress.note(&format!(
                    "{spec}: no time to replay all codecs, so some have their times from the sample alone"
                ));
            }
            self.in_place.stand_ins(memo, &trace, &mut self.random.borrow_mut(), (encoding, most))
        };
        let is_over = || Ok(session.now()? >= end);
        decode_share::measure(&mut replay, &mut stand_ins, &is_over)
    }

    /// The CPU seconds of `few` commits, which took `once` before, and of `many`, in turn: what slows the machine down
    /// for a while does so for both.
    fn seconds(
        &self,
        spec: &WorkloadSpec,
        (few, once): (&mut Recorded, f64),
        many: &mut Recorded,
        history: &mut dyn History,
    ) -> Result<(f64, f64), BenchError> {
        let (mut of_few, mut of_many) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..LONG_REPLAYS {
            of_many = of_many.min(self.same(spec, (many.workload.as_mut(), &many.counts), history)?.cpu);
            let mut replay = || self.same(spec, (few.workload.as_mut(), &few.counts), history);
            of_few = of_few.min(decode_share::as_in_rounds(once, &mut replay)?.cpu);
        }
        Ok((of_few, of_many))
    }

    /// The times of a replay, which sees what the recording counted.
    fn same(
        &self,
        spec: &WorkloadSpec,
        (workload, counts): (&mut dyn Workload, &Counts),
        history: &mut dyn History,
    ) -> Result<Took, BenchError> {
        let replay = self.replay(workload, history, &VariantPlace::of(self.source, self.decoders))?;
        match replay.counts == *counts {
            true => Ok(replay.took),
            false => Err(self.differs(spec, counts, &replay.counts)),
        }
    }

    /// Whether the workload is tried with a commit-graph.
    fn tries_graph(&self, spec: &WorkloadSpec) -> bool {
        self.own_git.as_ref().is_some_and(|git| git.tries_graph(spec))
    }

    /// The error of a replay that sees something else than the recording.
    fn differs(&self, spec: &WorkloadSpec, expected: &Counts, found: &Counts) -> BenchError {
        BenchError::Differs {
            workload: spec.to_string(),
            variant: "the replay".to_owned(),
            reference: "the recording".to_owned(),
            expected: format!("{expected:?}"),
            found: format!("{found:?}"),
        }
    }

    fn replay(
        &self,
        workload: &mut dyn Workload,
        history: &mut dyn History,
        place: &VariantPlace,
    ) -> Result<Replay, BenchError> {
        Session::new(self.clock, self.progress).go_on()?;
        workload.prepare(place)?;
        history.clear_caches();
        let mut counter = Counter::default();
        let (result, sample) =
            measure(self.clock, || workload.run(history, &mut counter)).map_err(BenchError::clock)?;
        self.missing.set(self.missing.get().max(history.missing()));
        history.clear_caches();
        workload.clean_up()?;
        result?;
        Ok(Replay { wall: sample.wall, took: Took::of(&sample), counts: counter.counts() })
    }
}

/// How many of the newest commits a workload reads.
struct Newest<'a> {
    replays: &'a Replays<'a>,
    spec: &'a WorkloadSpec,
    range: &'a HistoryRange,
    trials: CommitTrials,
}

/// The newest commits for replays under codecs.
struct Few {
    commits: u64,
    /// What the replays take with those codecs.
    rounds: Duration,
}

impl Few {
    /// The time for these replays and for encoding, of all that is left.
    fn time(&self, left: Duration) -> Duration {
        self.rounds.div_f64(1.0 - ENCODING_PART).clamp(left.mul_f64(CODECS_PART), left.mul_f64(MOST_CODECS_PART))
    }
}

impl Newest<'_> {
    /// The newest commits that replays under codecs fit `available` for; `None` if those are all.
    fn under_codecs(&mut self, history: &mut dyn History, available: Duration) -> Result<Option<Few>, BenchError> {
        if self.range.commits.is_some() || !self.spec.reads_commits() {
            return Ok(None);
        }
        // As found, looked for, remembered, and under codecs.
        let in_rounds = PLANNED_ROUNDS * (3 + self.replays.in_place.codecs());
        // And two recordings, a plain replay, and the trials.
        let fits = available.mul_f64(CODECS_PART * (1.0 - ENCODING_PART)) / u32_of(in_rounds + 7);
        let newest = self.that_fit(history, fits.max(decode_share::least_useful()))?;
        let rounds = decode_share::with_repetitions(newest.took) * u32_of(in_rounds);
        Ok(newest.limit.map(|commits| Few { commits, rounds }))
    }

    /// The newest commits that replays as found fit `available` for, each at `most` so long: more than under codecs,
    /// since there are fewer replays. `None` for all.
    fn as_found(
        &mut self,
        history: &mut dyn History,
        (available, most): (Duration, Duration),
    ) -> Result<Option<u64>, BenchError> {
        // The trials, the recording, the replays and the user's own git.
        let fits = (available / (LONG_REPLAYS + 5)).min(most);
        Ok(self.that_fit(history, fits)?.limit)
    }

    /// Those of the commits in `read` for which git's runs with and without a commit-graph fit their part of `all` the
    /// time.
    fn for_graph(
        &mut self,
        history: &mut dyn History,
        all: Duration,
        read: &HistoryRange,
    ) -> Result<HistoryRange, BenchError> {
        let fitting = self.that_fit(history, all.mul_f64(GRAPH_PART) / own_git::GRAPH_RUNS)?.limit;
        Ok(self.of(fitting.into_iter().chain(read.commits).min()))
    }

    fn that_fit(&mut self, history: &mut dyn History, fits: Duration) -> Result<NewestCommits, BenchError> {
        let Newest { replays, spec, range, trials } = self;
        let place = VariantPlace::of(replays.source, replays.decoders);
        trials.newest_that_fit(fits, |commits| {
            let mut workload = spec.build(&HistoryRange { commits, ..range.clone() }, None);
            let Replay { wall, counts, .. } = replays.replay(workload.as_mut(), history, &place)?;
            Ok((wall, counts))
        })
    }

    fn of(&self, commits: Option<u64>) -> HistoryRange {
        HistoryRange { commits, ..self.range.clone() }
    }
}

/// How many codecs one round can replay in the time `left`, if a replay as found takes `each`, and others
/// `under_codec` times as long.
fn codecs_that_fit(left: Duration, each: Duration, under_codec: f64) -> usize {
    let replays = left.as_secs_f64() / each.as_secs_f64().max(f64::MIN_POSITIVE);
    // Two replays as found and one that remembers are in every round.
    ((replays - 2.0) / under_codec - 1.0) as usize
}

fn u32_of(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_time_replays_few_codecs() {
        let seconds = Duration::from_secs;
        let fit = |left, each| codecs_that_fit(left, each, 0.6);
        assert_eq!(fit(seconds(8), seconds(1)), 9);
        assert_eq!(codecs_that_fit(seconds(8), seconds(1), 1.0), 5);
        assert_eq!(fit(seconds(7), seconds(5)), 0);
        assert_eq!(fit(seconds(4), seconds(1)), 2);
        assert_eq!(fit(Duration::ZERO, seconds(1)), 0);
        assert!(fit(seconds(1), Duration::ZERO) > 1_000_000);
    }
}
