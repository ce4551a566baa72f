//! The measured runs, in rounds. Each round reads new copies of all arms, in an order of its own.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rand::{Rng, SeedableRng, rngs::SmallRng};
use repackbench_analysis::ratio_of_copies;
use repackbench_reader::{AccessTrace, Repository};
use repackbench_records::{Estimate, Figure, Statement};
use repackbench_timing::{
    BenchError,
    arms::cold::{
        ColdCopies, ColdError, make_cold,
        touches::{FirstTouches, touch_pages},
    },
    clock::measure,
    session::{Arms, Budget, End, Schedule, Session, TimeLimit, Turn},
    workloads::{Counter, HistoryRange, WorkloadError, WorkloadSpec},
};
use repackbench_writer::{ProgressUnit, cache::GetOrMakeError};

use super::{
    arms::{CHECKOUT, Jobs, TREES, VariantArm, differs, place_of},
    lookups::{Folders, open_missing},
};
use crate::{Context, ExperimentError, budget::now};

/// Rounds, unless the user says otherwise; fewer decide nothing.
pub(super) const ROUNDS: u32 = 5;

/// The files that are looked for in every folder: those of 2007, and those of today's clients, which also look for
/// attributes.
pub(super) const LOOKED_FOR: [&[&str]; 2] = [&[".gitignore"], &[".gitignore", ".gitattributes"]];

/// What is measured.
pub(super) struct Plan<'a> {
    /// The arms; the first one is in the source's order.
    pub(super) arms: &'a [VariantArm],
    /// The arm with a file for each object.
    pub(super) loose: Option<usize>,
    /// Every access of the first arm's checkout, with ids searched for as git does it.
    pub(super) checkout: &'a AccessTrace,
    /// The same for only its trees.
    pub(super) trees: &'a AccessTrace,
    /// The folders of the revision.
    pub(super) folders: &'a Folders,
    /// The revision.
    pub(super) revision: &'a str,
}

/// The raw figures of all rounds. Lists have a value for each round that got so far.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// The first touches of the first arm's checkout.
    pub(super) touches: Vec<FirstTouches>,
    /// The first touches of only its trees.
    pub(super) tree_touches: Vec<FirstTouches>,
    /// Elapsed seconds of cold runs.
    cold: BTreeMap<ColdStep, Vec<f64>>,
    /// Runs with folders and inodes cold, too, if that was possible.
    pub(super) machine: MachineWide,
    /// Why there are fewer rounds than were asked for.
    pub(super) ended_early: Option<Statement>,
}

impl Measured {
    /// Whether anything was read cold.
    pub(super) fn has_cold_runs(&self) -> bool {
        !self.cold.is_empty()
    }

    /// The elapsed seconds of a job on an arm, read cold.
    pub(super) fn cold(&self, arm: usize, job: usize) -> &[f64] {
        self.cold.get(&ColdStep { arm, job }).map_or(&[], Vec::as_slice)
    }

    /// The same as a multiple of the job's time in the source's order.
    pub(super) fn cold_ratio(&self, arm: usize, job: usize) -> Option<Estimate> {
        ratio_of_copies(self.cold(arm, job), self.cold(0, job))
    }
}

/// Checkouts and failed lookups after the whole machine's caches were dropped.
#[derive(Debug, Default)]
pub(super) struct MachineWide {
    /// Whether the caches could be dropped, each time; `None` if nothing was measured.
    pub(super) is_cold: Option<bool>,
    pub(super) times: BTreeMap<MachineStep, TwoTimes>,
}

impl MachineWide {
    /// The time of `step`, which was run first with all caches dropped, as a multiple of that of `to`.
    pub(super) fn ratio(&self, step: MachineStep, to: MachineStep) -> Option<Estimate> {
        ratio_of_copies(&self.times.get(&step)?.first, &self.times.get(&to)?.first)
    }
}

/// Elapsed seconds of what was done twice in each round.
#[derive(Debug, Default)]
pub(super) struct TwoTimes {
    /// With all caches dropped.
    pub(super) first: Vec<f64>,
    /// Right after it, from memory.
    pub(super) again: Vec<f64>,
}

/// A measured run with the page cache of its copy cold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ColdStep {
    arm: usize,
    job: usize,
}

/// A measured run with all caches of the machine dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MachineStep {
    /// The checkout of an arm to a sink.
    Checkout(usize),
    /// Only its trees, from the first arm.
    Trees,
    /// Lookups of one of [`LOOKED_FOR`].
    Lookups(usize),
}

/// One round.
struct Round<'a> {
    number: u32,
    /// The new copy of each arm.
    copies: &'a [PathBuf],
    /// The seeds of the orders of cold runs and of runs with all caches dropped.
    seeds: [u64; 2],
}

/// The cold runs of a round, as arms.
struct ColdRuns<'a, 's> {
    session: &'a mut MeasuredRounds<'s>,
    round: &'a Round<'a>,
    steps: &'a [ColdStep],
    times: &'a mut BTreeMap<ColdStep, Vec<f64>>,
}

impl Arms for ColdRuns<'_, '_> {
    type Error = ExperimentError;

    fn run(&mut self, turn: Turn) -> Result<(), ExperimentError> {
        let Some(step) = self.steps.get(turn.slot.variant()) else { return Ok(()) };
        let Some(copy) = self.round.copies.get(step.arm) else { return Ok(()) };
        let seconds = self.session.cold_run(*step, copy, false)?;
        self.times.entry(*step).or_default().push(seconds);
        Ok(())
    }
}

/// The runs of a round with all caches dropped, as arms.
struct MachineRuns<'a, 's> {
    session: &'a mut MeasuredRounds<'s>,
    round: &'a Round<'a>,
    steps: &'a [MachineStep],
    /// The revision's files.
    tree: &'a Path,
    measured: &'a mut MachineWide,
}

impl Arms for MachineRuns<'_, '_> {
    type Error = ExperimentError;

    fn run(&mut self, turn: Turn) -> Result<(), ExperimentError> {
        let Some(step) = self.steps.get(turn.slot.variant()) else { return Ok(()) };
        let times = self.measured.times.entry(*step).or_default();
        match *step {
            MachineStep::Checkout(arm) => {
                self.session.dropped_caches_run(self.round, ColdStep { arm, job: CHECKOUT }, times)
            }
            MachineStep::Trees => self.session.dropped_caches_run(self.round, ColdStep { arm: 0, job: TREES }, times),
            MachineStep::Lookups(list) => {
                let is_cold = self.session.lookups(list, self.tree, times)?;
                self.measured.is_cold = Some(is_cold && self.measured.is_cold.unwrap_or(true));
                Ok(())
            }
        }
    }
}

/// Measures until the rounds or the budget are used up. It ends early, and says so, if nothing becomes cold.
pub(super) fn measure_rounds(
    context: &Context<'_>,
    plan: &Plan<'_>,
    jobs: &mut Jobs,
) -> Result<Measured, ExperimentError> {
    let mut measured = Measured::default();
    let end = Budget::new(context.clock, context.options.budget, 1)?.end();
    let mut session = MeasuredRounds { context, plan, jobs, end };
    match session.run(&mut measured) {
        Err(ExperimentError::Cold(error @ ColdError::NotCold { .. })) => {
            measured.ended_early = Some(Statement::new("nothing-measured-cold").with("error", error.to_string()));
        }
        // What was measured before is a result, too.
        Err(ExperimentError::Interrupted) if !measured.touches.is_empty() => {
            measured.ended_early = Some(Statement::new("user-stopped"));
        }
        result => result?,
    }
    Ok(measured)
}

struct MeasuredRounds<'a> {
    context: &'a Context<'a>,
    plan: &'a Plan<'a>,
    jobs: &'a mut Jobs,
    /// When the budget is used up, on the clock; `None` for never.
    end: Option<Duration>,
}

impl MeasuredRounds<'_> {
    fn run(&mut self, measured: &mut Measured) -> Result<(), ExperimentError> {
        let scratch = self.context.cache.scratch().map_err(|error| BenchError::from(GetOrMakeError::Cache(error)))?;
        let rounds = self.context.options.runs.unwrap_or(ROUNDS).max(1);
        if self.context.may_drop_all_caches() {
            self.context.progress.note(
                "failed lookups: all that the whole machine has cached of files and folders will be dropped several times, which slows down others",
            );
        }
        for round in 0..rounds {
            if let Some(left_out) = self.round(round, scratch.path(), measured)? {
                let ended = Statement::new("budget-ended-rounds").with("round", Figure::count(round + 1));
                let ended = ended.with("rounds", Figure::count(rounds)).with("left_out", left_out);
                measured.ended_early = Some(ended);
                break;
            }
        }
        Ok(())
    }

    /// One round. Returns the part of it that was left out because the budget was used up.
    fn round(
        &mut self,
        round: u32,
        scratch: &Path,
        measured: &mut Measured,
    ) -> Result<Option<Statement>, ExperimentError> {
        if round > 0 && self.is_over()? {
            return Ok(Some(Statement::new("round-left-out")));
        }
        // Each part of a round has an order of its own.
        let mut seeds = SmallRng::seed_from_u64(self.context.options.seed.wrapping_add(u64::from(round)));
        let plan = self.plan;
        let order: Vec<usize> =
            Schedule::once_each(plan.arms.len(), 1, seeds.random()).map(|turn| turn.slot.variant()).collect();
        let folders: Vec<&Path> = order.iter().filter_map(|arm| Some(plan.arms.get(*arm)?.folder.as_path())).collect();
        let made = ColdCopies::make(&folders, 1, scratch, self.context.progress).map_err(interrupted)?;
        let mut copies: Vec<PathBuf> = vec![PathBuf::new(); plan.arms.len()];
        for (place, arm) in order.iter().enumerate() {
            if let (Some(copy), Some(slot)) = (made.of(place).first(), copies.get_mut(*arm)) {
                slot.clone_from(copy);
            }
        }
        let steps = |arm: usize| {
            let jobs = plan.arms.get(arm).map_or(0, |arm| arm.reads.len());
            (0..jobs).map(move |job| ColdStep { arm, job })
        };
        let cold: Vec<ColdStep> = (0..plan.arms.len()).flat_map(steps).collect();
        let mut machine: Vec<MachineStep> = (0..LOOKED_FOR.len()).map(MachineStep::Lookups).collect();
        machine.extend([Some(0), plan.loose].into_iter().flatten().map(MachineStep::Checkout));
        machine.push(MachineStep::Trees);

        let name = format!("round {}", round + 1);
        self.context.progress.start(&name, (2 + cold.len() + machine.len()) as u64, ProgressUnit::Items);
        let round = Round { number: round, copies: &copies, seeds: [seeds.random(), seeds.random()] };
        let left_out = self.parts(&round, scratch, (&cold, &machine), measured);
        self.context.progress.finish();
        left_out
    }

    /// The parts of a round: touches, cold runs, runs with all caches dropped.
    fn parts(
        &mut self,
        round: &Round<'_>,
        scratch: &Path,
        (cold, machine): (&[ColdStep], &[MachineStep]),
        measured: &mut Measured,
    ) -> Result<Option<Statement>, ExperimentError> {
        let Some((first, copy)) = self.plan.arms.first().zip(round.copies.first()) else { return Ok(None) };
        for (trace, touches) in
            [(self.plan.checkout, &mut measured.touches), (self.plan.trees, &mut measured.tree_touches)]
        {
            touches.push(touch_pages(&first.folder, copy, trace, self.context.clock).map_err(interrupted)?);
            self.context.progress.advance(1);
        }
        let [cold_seed, machine_seed] = round.seeds;
        let measuring = Session::new(self.context.clock, self.context.progress);
        let limit = self.end.map(TimeLimit::TurnsBegin);
        let left_out = |id: &str, next: Turn, steps: usize| {
            let left = Statement::new(id).with("left", Figure::count(steps - next.position as usize));
            Some(left.with("of", Figure::count(steps)))
        };
        let mut runs = ColdRuns { session: self, round, steps: cold, times: &mut measured.cold };
        let schedule = Schedule::once_each(cold.len(), 1, cold_seed);
        if let End::OutOfTime { next, .. } = measuring.run(schedule, limit, &mut runs)? {
            return Ok(left_out("cold-runs-left-out", next, cold.len()));
        }
        // These make the folders of others cold, so they come last.
        let tree = scratch.join(format!("tree-{}", round.number));
        self.check_out(&tree)?;
        let mut runs =
            MachineRuns { session: self, round, steps: machine, tree: &tree, measured: &mut measured.machine };
        let schedule = Schedule::once_each(machine.len(), 1, machine_seed);
        if let End::OutOfTime { next, .. } = measuring.run(schedule, limit, &mut runs)? {
            return Ok(left_out("dropped-caches-runs-left-out", next, machine.len()));
        }
        fs::remove_dir_all(&tree).map_err(|source| ExperimentError::Io { action: "remove", path: tree, source })?;
        Ok(None)
    }

    fn is_over(&self) -> Result<bool, ExperimentError> {
        let Some(end) = self.end else { return Ok(false) };
        Ok(now(self.context.clock)? >= end)
    }

    /// Opens the copy of an arm with nothing of it in memory, and does a job on it; returns elapsed seconds. `drop_all`
    /// also drops the caches of the whole machine.
    fn cold_run(&mut self, step: ColdStep, copy: &Path, drop_all: bool) -> Result<f64, ExperimentError> {
        make_cold(copy).map_err(interrupted)?;
        if drop_all {
            self.context.drop_all_caches(copy).map_err(|source| cannot_drop(copy, source))?;
        }
        self.timed(step, copy)
    }

    /// Does a job on a copy and returns elapsed seconds.
    fn timed(&mut self, ColdStep { arm: number, job }: ColdStep, copy: &Path) -> Result<f64, ExperimentError> {
        let name = self.jobs.name(job).to_owned();
        let (Some(arm), Some(workload)) = (self.plan.arms.get(number), self.jobs.get(job)) else { return Ok(0.0) };
        let place = place_of(copy, arm);
        workload.prepare(&place).map_err(BenchError::from)?;
        let mut counter = Counter::default();
        let (result, sample) = measure(self.context.clock, || {
            let mut history = Repository::open(copy)?.history(place.decoders)?;
            workload.run(history.as_mut(), &mut counter)?;
            Ok::<_, WorkloadError>(history)
        })
        .map_err(|source| BenchError::Io { action: "read the clock", source })?;
        drop(result.map_err(BenchError::from)?);
        workload.clean_up().map_err(BenchError::from)?;
        let found = counter.counts();
        match arm.reads.get(job) {
            Some(reads) if reads.counts != found => {
                let copy = format!("a copy of {}", arm.label);
                Err(differs(&name, (&arm.label, &reads.counts), (&copy, &found)))
            }
            _ => Ok(sample.wall.as_secs_f64()),
        }
    }

    /// Writes the revision's files into the new folder `tree`.
    fn check_out(&mut self, tree: &Path) -> Result<(), ExperimentError> {
        let Some(arm) = self.plan.arms.first() else { return Ok(()) };
        let range = HistoryRange { revision: self.plan.revision.to_owned(), commits: None, seed: 0 };
        let mut checkout = WorkloadSpec::Checkout.build(&range, Some(tree.to_owned()));
        let mut history = Repository::open(&arm.folder)?.history(arm.decoders)?;
        checkout.prepare(&place_of(&arm.folder, arm)).map_err(BenchError::from)?;
        checkout.run(history.as_mut(), &mut Counter::default()).map_err(BenchError::from)?;
        Ok(checkout.clean_up().map_err(BenchError::from)?)
    }

    /// Does a job after the caches of the whole machine were dropped, and once more.
    fn dropped_caches_run(
        &mut self,
        round: &Round<'_>,
        step: ColdStep,
        times: &mut TwoTimes,
    ) -> Result<(), ExperimentError> {
        let Some(copy) = round.copies.get(step.arm) else { return Ok(()) };
        times.first.push(self.cold_run(step, copy, true)?);
        times.again.push(self.timed(step, copy)?);
        Ok(())
    }

    /// Looks for files that do not exist, after the caches of the whole machine were dropped, and once more. Returns
    /// whether they were dropped.
    fn lookups(&self, list: usize, tree: &Path, times: &mut TwoTimes) -> Result<bool, ExperimentError> {
        let paths = self.plan.folders.missing(tree, LOOKED_FOR.get(list).copied().unwrap_or_default());
        let is_cold = self.context.drop_all_caches(tree).map_err(|source| cannot_drop(tree, source))?;
        times.first.push(open_missing(&paths, self.context.clock)?.as_secs_f64());
        times.again.push(open_missing(&paths, self.context.clock)?.as_secs_f64());
        Ok(is_cold)
    }
}

fn interrupted(error: ColdError) -> ExperimentError {
    match error {
        ColdError::Interrupted => ExperimentError::Interrupted,
        error => error.into(),
    }
}

fn cannot_drop(folder: &Path, source: std::io::Error) -> ExperimentError {
    ExperimentError::Io { action: "drop caches for", path: folder.to_owned(), source }
}
