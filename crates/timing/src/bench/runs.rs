//! Timed runs: one job on one row, from empty caches, checked.

use std::{path::Path, time::Duration};

use repackbench_reader::CacheLookups;
use repackbench_records::{DeltaCacheUse, Record, Role, RunPlace, SCHEMA_VERSION, WorkloadLabel};

use super::{
    content::{self, Content, Reference, of_row},
    context::BenchContext,
    jobs::{Work, WorkloadJob},
    rows::Row,
};
use crate::{
    BenchError,
    arms::{
        JobRun, replay,
        stock::{START, StockJob},
    },
    clock::unix_ms,
    probe::{JobUsage, Machine, Memory},
    session::{BASELINE, RunLength, Slot, Turn},
    workloads::{Counts, WorkloadError},
};

/// The most times that a job is done in one run.
pub(super) const MAX_ITERATIONS: u32 = 1000;

/// A start of a process that is a larger part of a job than this is worth a note.
const NOTABLE_START: f64 = 0.1;

/// The length of the runs of a job.
pub(super) struct Calibrated {
    /// How many times a run does the job.
    pub(super) iterations: u32,
    /// How long a run takes; zero if unknown.
    pub(super) run: Duration,
}

impl BenchContext<'_> {
    /// How long a run of `job` is.
    pub(super) fn run_length(&self, job: &WorkloadJob<'_>) -> RunLength {
        RunLength::exact(job.compared_time(), self.plan.min_run_time, MAX_ITERATIONS).at_most(job.longest_run)
    }

    /// How many times a run does the job, by how long it takes on the baseline, or on the first row that has anything
    /// to do. Once if none has.
    pub(super) fn calibrate(
        &self,
        job: &mut WorkloadJob<'_>,
        rows: &mut [Row],
        reference: &Reference,
    ) -> Result<Calibrated, BenchError> {
        // A second time would not be cold.
        if self.cold.is_some() {
            return Ok(Calibrated { iterations: 1, run: Duration::ZERO });
        }
        let mut wall = Duration::ZERO;
        // The first row is the baseline, which may have nothing to do.
        for row in rows {
            if !job.is_for(row) {
                continue;
            }
            self.session().go_on()?;
            let run = self.run_once(job, row, None, reference)?;
            wall = run.sample.wall;
            if !wall.is_zero() {
                self.note_long_start(&job.label(), row, &run);
                break;
            }
        }
        let iterations = if wall.is_zero() { 1 } else { self.run_length(job).jobs(wall) };
        Ok(Calibrated { iterations, run: wall.saturating_mul(iterations) })
    }

    /// Notes if a job is mostly the start of its process.
    fn note_long_start(&self, workload: &WorkloadLabel, row: &Row, run: &JobRun) {
        let Some(start) = run.extra.get(START).map(|start| Duration::from_nanos(*start)) else { return };
        let cpu = run.sample.user.saturating_add(run.sample.sys).as_secs_f64();
        let share = if cpu > 0.0 { start.as_secs_f64() / cpu } else { 1.0 };
        if share > NOTABLE_START {
            self.progress.note(&format!(
                "{workload}: {:.0} % of the time on {} is the start of its process, which no codec changes: on a larger \
                 repository ratios are further from 1",
                (share * 100.0).min(100.0),
                row.variant.label()
            ));
        }
    }

    /// Does the job once, from empty caches, and checks that it saw what it should. A cold run reads `copy`.
    fn run_once(
        &self,
        job: &mut WorkloadJob<'_>,
        row: &mut Row,
        copy: Option<&Path>,
        reference: &Reference,
    ) -> Result<JobRun, BenchError> {
        let run = self.run_unchecked(job, row, copy)?;
        if let Some(counts) = run.counts.iter().find(|counts| **counts != reference.content.counts) {
            let seen = Content { counts: counts.clone(), digest: reference.content.digest.clone() };
            content::check(&job.label(), row, "the untimed run", &reference.content, &seen)?;
        }
        Ok(run)
    }

    /// Does the job once, from empty caches. A cold run reads `copy`.
    pub(super) fn run_unchecked(
        &self,
        job: &mut WorkloadJob<'_>,
        row: &mut Row,
        copy: Option<&Path>,
    ) -> Result<JobRun, BenchError> {
        match (&mut job.work, copy, row.histories.as_mut_slice()) {
            (Work::Command(command, _), ..) => self.run_command(command, row),
            (Work::Replay { workload, .. }, Some(copy), _) => {
                replay::run_cold(workload.as_mut(), &row.place, copy, self.clock)
            }
            (Work::Replay { workload, .. }, None, [history]) => {
                replay::run(workload.as_mut(), history.as_mut(), &row.place, self.clock)
            }
            (Work::Replay { spec, .. }, None, histories) => {
                replay::run_parallel(spec, &job.range, histories, &row.place, self.clock)
            }
        }
    }

    fn run_command(&self, job: &StockJob, row: &Row) -> Result<JobRun, BenchError> {
        let Some(stock) = &row.stock else {
            let why = format!("{}: no client of its own", row.variant.label());
            return Err(WorkloadError::Refused { why }.into());
        };
        self.runner().time(job, stock).map_err(|error| of_row(row, error))
    }

    /// One run: the job `iterations` times, or as long as [`RunLength::run`] says.
    pub(super) fn run(
        &self,
        job: &mut WorkloadJob<'_>,
        row: &mut Row,
        turn: Turn,
        reference: &Reference,
        iterations: u32,
    ) -> Result<Record, BenchError> {
        let started_unix_ms = unix_ms();
        let (machine, memory) = (Machine::now(), Memory::start());
        let (mut used, mut lookups) = (JobUsage::NONE, CacheLookups::default());
        let mut extra = Counts::new();
        let mut requests: Vec<Duration> = Vec::new();
        let copy = self.cold.as_ref().and_then(|cold| cold.copy(turn));
        let (sum, iterations) = self.run_length(job).run(&self.session(), iterations, || {
            let run = self.run_once(job, row, copy.map(|(_, folder)| folder), reference)?;
            used = used.plus(run.usage);
            (lookups, extra) = (run.lookups, run.extra);
            if row.stock.is_none() {
                // Replays answer the same requests thousands of times a second: those of one repetition are enough.
                requests.clear();
            }
            requests.extend(run.requests);
            Ok::<_, BenchError>(run.sample)
        })?;
        let mut usage = used.mean_of(u64::from(iterations) * u64::from(self.plan.jobs.max(1)));
        match row.stock {
            None => memory.end(&mut usage),
            Some(_) => usage.peak_resident_bytes = reference.peaks.get(turn.slot.variant()).copied().flatten(),
        }
        let disturbance = machine.until(Machine::now());
        let mut variant = row.variant.clone();
        if turn.slot == Slot::BaselineAgain {
            variant.role = Role::BaselineAgain;
        }
        let CacheLookups { hits, misses } = lookups;
        let decoding = reference.decoding.filter(|_| turn.slot.variant() == BASELINE);
        Ok(Record {
            schema: SCHEMA_VERSION,
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_ms,
            host: self.host.clone(),
            repository: self.repository.clone(),
            variant,
            decoder: row.decoder.clone(),
            workload: job.label(),
            compared_time: job.compared_time(),
            place: RunPlace {
                block: turn.block,
                position: turn.position,
                seed: self.plan.seed,
                session: self.began_unix_ms,
                copy: copy.map(|(number, _)| number),
            },
            sample: sum.mean_of(iterations).into(),
            usage,
            disturbance,
            // git's own cache reports nothing.
            delta_cache: row.stock.is_none().then_some(DeltaCacheUse { limit_bytes: row.delta_cache, hits, misses }),
            checks: Some(job.checks(row)),
            jobs: self.plan.jobs.max(1),
            iterations,
            counts: reference.content.counts.clone(),
            extra,
            digest: reference.content.digest.clone(),
            size: row.size.clone(),
            conversion: row.conversion,
            command: self.plan.command.clone(),
            reads: reference.reads.get(turn.slot.variant()).cloned().flatten(),
            requests: job.request_times(&requests, turn),
            decode_share: decoding.map(|decoding| decoding.share),
            own_git: decoding.and_then(|decoding| decoding.own_git),
        })
    }
}
