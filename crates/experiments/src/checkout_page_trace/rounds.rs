//! The measured runs, in rounds. Each round reads new copies of all arms, in an order of its own.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rand::{Rng, SeedableRng, rngs::SmallRng};
use repackbench_reader::{AccessTrace, Repository};
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
    arms::{Arm, CHECKOUT, Jobs, TREES, differs, place_of},
    opens::{Folders, open_in_vain},
    samples::Samples,
};
use crate::{Context, ExperimentError, budget::now};

/// Rounds, unless the user says otherwise; of fewer nothing is decided.
pub(super) const ROUNDS: u32 = 5;

/// The files that are looked for in every folder: what was in 2007, and what is since clients ask for attributes, too.
pub(super) const LOOKED_FOR: [&[&str]; 2] = [&[".gitignore"], &[".gitignore", ".gitattributes"]];

/// What is measured.
pub(super) struct Plan<'a> {
    /// The arms; the first one is in the source's order.
    pub(super) arms: &'a [Arm],
    /// Which of them has a file for each object.
    pub(super) loose: Option<usize>,
    /// The checkout of the first arm, every access of it, ids searched for as git does it.
    pub(super) checkout: &'a AccessTrace,
    /// The same of its trees alone.
    pub(super) trees: &'a AccessTrace,
    /// The folders of the revision.
    pub(super) folders: &'a Folders,
    /// The revision.
    pub(super) revision: &'a str,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// The first touches of the first arm's checkout, for each round.
    pub(super) touches: Vec<FirstTouches>,
    /// Those of its trees alone.
    pub(super) tree_touches: Vec<FirstTouches>,
    /// Elapsed seconds of cold runs, by arm and job.
    pub(super) cold: BTreeMap<(usize, usize), Samples>,
    /// What was measured with folders and inodes cold, too, as far as that was possible.
    pub(super) machine: MachineWide,
    /// Why there are not as many rounds as were asked for, in a sentence.
    pub(super) ended_early: Option<String>,
}

/// Checkouts and futile opens after the whole machine's caches were dropped, in elapsed seconds.
#[derive(Debug, Default)]
pub(super) struct MachineWide {
    /// Whether the caches could be dropped, each time; `None` if nothing was measured.
    pub(super) is_cold: Option<bool>,
    /// The checkout to a sink, by arm.
    pub(super) checkout: BTreeMap<usize, TwoTimes>,
    /// Its trees alone, from the pack.
    pub(super) trees: TwoTimes,
    /// For each of [`LOOKED_FOR`] how many opens, and how long they took.
    pub(super) opens: BTreeMap<usize, Opens>,
}

/// What was done twice.
#[derive(Debug, Default)]
pub(super) struct TwoTimes {
    /// The first time.
    pub(super) first: Samples,
    /// Right after it, from memory.
    pub(super) again: Samples,
}

/// Opens of files that are not there.
#[derive(Debug, Default)]
pub(super) struct Opens {
    pub(super) count: u64,
    pub(super) times: TwoTimes,
}

/// One measured run with the page cache of its copy cold.
#[derive(Debug, Clone, Copy)]
struct ColdStep {
    arm: usize,
    job: usize,
}

/// One measured run with all that the machine forgets on demand cold.
#[derive(Debug, Clone, Copy)]
enum MachineStep {
    Checkout(usize),
    Trees,
    Opens(usize),
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
    times: &'a mut BTreeMap<(usize, usize), Samples>,
}

impl Arms for ColdRuns<'_, '_> {
    type Error = ExperimentError;

    fn run(&mut self, turn: Turn) -> Result<(), ExperimentError> {
        let Some(step) = self.steps.get(turn.slot.variant()) else { return Ok(()) };
        let Some(copy) = self.round.copies.get(step.arm) else { return Ok(()) };
        let seconds = self.session.cold_run(*step, copy, false)?;
        self.times.entry((step.arm, step.job)).or_default().push((self.round.number, seconds));
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
        match self.steps.get(turn.slot.variant()) {
            None => return Ok(()),
            Some(MachineStep::Checkout(arm)) => {
                let times = self.measured.checkout.entry(*arm).or_default();
                self.session.machine_wide(self.round, ColdStep { arm: *arm, job: CHECKOUT }, times)?;
            }
            Some(MachineStep::Trees) => {
                let step = ColdStep { arm: 0, job: TREES };
                self.session.machine_wide(self.round, step, &mut self.measured.trees)?;
            }
            Some(MachineStep::Opens(list)) => {
                self.session.opens(self.round.number, *list, self.tree, self.measured)?;
            }
        }
        Ok(())
    }
}

/// Measures until the rounds or the budget are used up. Where nothing becomes cold, that ends it, and is said.
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
            measured.ended_early = Some(format!("Nothing was measured cold: {error}."));
        }
        // What was measured before is a result, too.
        Err(ExperimentError::Interrupted) if !measured.touches.is_empty() => {
            measured.ended_early = Some("The user stopped the measured runs.".to_owned());
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
                "futile opens: all that the whole machine has cached of files and folders will be dropped several times, which slows down others",
            );
        }
        for round in 0..rounds {
            if let Some(left_out) = self.round(round, scratch.path(), measured)? {
                measured.ended_early =
                    Some(format!("The budget was used up in round {} of {rounds}: {left_out}.", round + 1));
                break;
            }
        }
        Ok(())
    }

    /// One round. Says what of it was left out for the budget.
    fn round(
        &mut self,
        round: u32,
        scratch: &Path,
        measured: &mut Measured,
    ) -> Result<Option<String>, ExperimentError> {
        if round > 0 && self.is_over()? {
            return Ok(Some("it and what follows were left out".to_owned()));
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
        let mut machine: Vec<MachineStep> = (0..LOOKED_FOR.len()).map(MachineStep::Opens).collect();
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
    ) -> Result<Option<String>, ExperimentError> {
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
        let mut runs = ColdRuns { session: self, round, steps: cold, times: &mut measured.cold };
        let schedule = Schedule::once_each(cold.len(), 1, cold_seed);
        if let End::OutOfTime { next, .. } = measuring.run(schedule, limit, &mut runs)? {
            let left = cold.len() - next.position as usize;
            return Ok(Some(format!("{left} of its {} cold runs were left out, and what follows them", cold.len())));
        }
        // These make others' folders cold, and so come last.
        let tree = scratch.join(format!("tree-{}", round.number));
        self.check_out(&tree)?;
        let mut runs =
            MachineRuns { session: self, round, steps: machine, tree: &tree, measured: &mut measured.machine };
        let schedule = Schedule::once_each(machine.len(), 1, machine_seed);
        if let End::OutOfTime { next, .. } = measuring.run(schedule, limit, &mut runs)? {
            let left = machine.len() - next.position as usize;
            return Ok(Some(format!("{left} of its {} runs with all caches dropped were left out", machine.len())));
        }
        fs::remove_dir_all(&tree).map_err(|source| ExperimentError::Io { action: "remove", path: tree, source })?;
        Ok(None)
    }

    fn is_over(&self) -> Result<bool, ExperimentError> {
        let Some(end) = self.end else { return Ok(false) };
        Ok(now(self.context.clock)? >= end)
    }

    /// Does a job on the copy of an arm of which nothing is in memory, opening it included; returns elapsed seconds. `forget` drops the whole
    /// machine's caches, too.
    fn cold_run(&mut self, step: ColdStep, copy: &Path, forget: bool) -> Result<f64, ExperimentError> {
        make_cold(copy).map_err(interrupted)?;
        if forget {
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
        let range = HistoryRange { revision: self.plan.revision.to_owned(), commits: None };
        let mut checkout = WorkloadSpec::Checkout.build(&range, Some(tree.to_owned()));
        let mut history = Repository::open(&arm.folder)?.history(arm.decoders)?;
        checkout.prepare(&place_of(&arm.folder, arm)).map_err(BenchError::from)?;
        checkout.run(history.as_mut(), &mut Counter::default()).map_err(BenchError::from)?;
        Ok(checkout.clean_up().map_err(BenchError::from)?)
    }

    /// A job after the whole machine's caches were dropped, and once more.
    fn machine_wide(&mut self, round: &Round<'_>, step: ColdStep, times: &mut TwoTimes) -> Result<(), ExperimentError> {
        let Some(copy) = round.copies.get(step.arm) else { return Ok(()) };
        times.first.push((round.number, self.cold_run(step, copy, true)?));
        times.again.push((round.number, self.timed(step, copy)?));
        Ok(())
    }

    fn opens(&self, round: u32, list: usize, tree: &Path, machine: &mut MachineWide) -> Result<(), ExperimentError> {
        let Some(names) = LOOKED_FOR.get(list) else { return Ok(()) };
        let paths = self.plan.folders.futile(tree, names);
        let is_cold = self.context.drop_all_caches(tree).map_err(|source| cannot_drop(tree, source))?;
        machine.is_cold = Some(is_cold && machine.is_cold.unwrap_or(true));
        let open = || {
            let time = open_in_vain(&paths, self.context.clock)?;
            Ok::<_, ExperimentError>((round, time.as_secs_f64()))
        };
        let opens = machine.opens.entry(list).or_default();
        opens.count = paths.len() as u64;
        opens.times.first.push(open()?);
        opens.times.again.push(open()?);
        Ok(())
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
