//! The jobs of a session as lanes that take turns, a block at a time.

use std::{cell::RefCell, collections::BTreeSet, time::Duration};

use repackbench_analysis::{compare_records, widest_half_width};
use repackbench_records::Record;
use repackbench_writer::SessionStatus;

use super::{
    Measured, Recorder,
    content::Reference,
    context::BenchContext,
    jobs::{RowGroup, Work, WorkloadJob},
    resume::Earlier,
    rows::Row,
    runs::Calibrated,
    timetable::Timetable,
};
use crate::{
    BenchError,
    arms::stock::StockError,
    session::{Arms, Lane, Schedule, Slot, StopRule, TimeLimit, Turn},
};

/// What the lanes of a session share.
pub(super) struct JobLanes<'a> {
    pub(super) context: &'a BenchContext<'a>,
    pub(super) rule: StopRule,
    pub(super) timetable: &'a Timetable,
}

impl JobLanes<'_> {
    /// Runs the jobs of `groups` in random blocks, in turn, until there are enough or it is `end`. `earlier` has the
    /// records of the session that is continued, for each group.
    ///
    /// # Errors
    /// What stops the session. A job that only a client cannot do is left out, and so is the rest if the user stops it.
    pub(super) fn run(
        &self,
        groups: &mut [RowGroup<'_>],
        earlier: &[Earlier],
        end: Option<Duration>,
        recorder: &mut dyn Recorder,
    ) -> Result<Measured, BenchError> {
        let recorder = RefCell::new(recorder);
        let mut lanes = Vec::new();
        let (mut of_groups, mut all_rows) = (Vec::new(), Vec::new());
        for (RowGroup { jobs, rows }, earlier) in groups.iter_mut().zip(earlier) {
            of_groups.push((jobs, earlier));
            all_rows.push(RefCell::new(rows.as_mut_slice()));
        }
        for ((jobs, earlier), rows) in of_groups.into_iter().zip(&all_rows) {
            for job in jobs {
                let records = earlier.of(&job.label());
                if !records.is_empty() {
                    // As many jobs as in the earlier runs.
                    job.longest_run = None;
                }
                let arms = JobArms {
                    lanes: self,
                    number: lanes.len(),
                    job,
                    rows,
                    recorder: &recorder,
                    records,
                    prepared: None,
                    block_began: Duration::ZERO,
                    failure: None,
                };
                lanes.push(arms.into_lane());
            }
        }
        let limit = end.map(TimeLimit::BlocksEnd);
        let result = self.context.session().run_in_turn(&mut lanes, limit);
        let mut measured = Measured::default();
        for lane in lanes {
            let mut arms = lane.into_arms();
            measured.records.append(&mut arms.records);
            measured.failures.extend(arms.failure);
        }
        match result {
            Ok(_) => {}
            // What was measured before is still good. Jobs that never started do not count as failures.
            Err(BenchError::Interrupted) => measured.is_interrupted = true,
            Err(error) => return Err(error),
        }
        Ok(measured)
    }
}

/// The rows of a job as arms. Rows that do not do the job are skipped, and so are blocks of the earlier session.
struct JobArms<'a, 'j, 'r, 'w> {
    lanes: &'a JobLanes<'a>,
    /// The number of the job in the session, counted from 0.
    number: usize,
    job: &'a mut WorkloadJob<'j>,
    rows: &'a RefCell<&'r mut [Row]>,
    recorder: &'a RefCell<&'w mut dyn Recorder>,
    /// Those of the earlier session, and all of them at the end.
    records: Vec<Record>,
    /// `None` before the first block.
    prepared: Option<Prepared>,
    /// When the current block began.
    block_began: Duration,
    /// Why the client cannot do the job: then nothing more of it is run.
    failure: Option<String>,
}

/// What is known of a job before its first block.
struct Prepared {
    reference: Reference,
    /// How many times a run does the job.
    iterations: u32,
}

impl<'a> JobArms<'a, '_, '_, '_> {
    /// The lane of the job. It has no turns if the earlier session has measured enough.
    fn into_lane(self) -> Lane<Self> {
        let JobLanes { context, rule, timetable } = *self.lanes;
        let done: BTreeSet<u32> = self.records.iter().map(|record| record.place.block).collect();
        let has_gap = (0_u32..).zip(&done).any(|(number, block)| number != *block);
        let blocks = u32::try_from(done.len()).unwrap_or(u32::MAX);
        let half_width = half_width(rule, blocks, &self.records);
        let max_blocks = if !has_gap && rule.is_done(blocks, half_width) { 0 } else { rule.max_blocks };
        let blocks_left = rule.blocks_left(blocks, half_width).min(max_blocks);
        timetable.update(self.number, |job| job.blocks_left = blocks_left);
        let rows = self.rows.borrow().len();
        let schedule = Schedule::new(rows, max_blocks, context.plan.seed).without(done);
        Lane::new(schedule, rule.min_blocks, self)
    }

    fn context(&self) -> &'a BenchContext<'a> {
        self.lanes.context
    }

    /// Shows that the job does `what`.
    fn show(&self, what: &str) -> Result<(), BenchError> {
        let timetable = self.lanes.timetable;
        self.context().progress.session(SessionStatus {
            place: &format!("workload {} of {}", self.number + 1, timetable.len()),
            detail: &format!("{}, {what}", self.job.label().name),
            left: timetable.left(self.context().session().now()?),
        });
        Ok(())
    }

    /// Keeps why the client cannot do the job, and lets other jobs go on.
    fn keep_failure(&mut self, result: Result<(), BenchError>) -> Result<(), BenchError> {
        match result {
            Err(BenchError::Stock(error @ StockError::Failed { .. })) => {
                self.failure = Some(format!("{}: {error}", self.job.label()));
                self.lanes.timetable.update(self.number, |job| job.blocks_left = 0);
                Ok(())
            }
            result => result,
        }
    }

    fn prepare(&mut self) -> Result<(), BenchError> {
        self.show("comparing contents")?;
        let context = self.context();
        let mut rows = self.rows.borrow_mut();
        let reference = context.check_content(self.job, &mut rows)?;
        let iterations = match self.records.iter().map(|record| record.iterations).max() {
            // Runs of fewer jobs would be noisier than the earlier ones. Only those of slow rows are made of fewer, and
            // need no more.
            Some(iterations) => iterations.max(1),
            None => {
                let Calibrated { iterations, run } = context.calibrate(self.job, &mut rows, &reference)?;
                let runs = u32::try_from(rows.len()).unwrap_or(u32::MAX).saturating_add(1);
                self.lanes.timetable.update(self.number, |job| job.block = Some(run.saturating_mul(runs)));
                iterations
            }
        };
        self.prepared = Some(Prepared { reference, iterations });
        Ok(())
    }

    /// Runs the row of a turn; `None` if it does not do the job.
    fn run_row(&mut self, turn: Turn) -> Result<Option<Record>, BenchError> {
        let context = self.context();
        let Some(Prepared { reference, iterations }) = &self.prepared else { return Ok(None) };
        let mut rows = self.rows.borrow_mut();
        let row = rows.get_mut(turn.slot.variant()).filter(|row| self.job.is_for(row));
        row.map(|row| context.run(self.job, row, turn, reference, *iterations)).transpose()
    }

    fn record_turn(&mut self, turn: Turn) -> Result<(), BenchError> {
        let Some(record) = self.run_row(turn)? else { return Ok(()) };
        let recorded = self.recorder.borrow_mut().record(&record);
        recorded.map_err(|source| BenchError::Io { action: "write a record", source })?;
        self.records.push(record);
        Ok(())
    }
}

impl Arms for JobArms<'_, '_, '_, '_> {
    type Error = BenchError;

    fn begin(&mut self) -> Result<(), BenchError> {
        let result = self.prepare();
        self.keep_failure(result)
    }

    fn warm_up(&mut self, slot: Slot) -> Result<(), BenchError> {
        // A command starts a new process each time, and has just read the same files when rows were compared.
        let is_warm = matches!(self.job.work, Work::Command(..));
        if self.failure.is_some() || is_warm {
            return Ok(());
        }
        let result = self.run_row(Turn { block: 0, position: 0, slot }).map(drop);
        self.keep_failure(result)
    }

    fn run(&mut self, turn: Turn) -> Result<(), BenchError> {
        if self.failure.is_some() {
            return Ok(());
        }
        if turn.position == 0 {
            self.block_began = self.context().session().now()?;
            self.show(&format!("block {}", turn.block.saturating_add(1)))?;
        }
        let result = self.record_turn(turn);
        self.keep_failure(result)
    }

    fn is_enough(&mut self, blocks: u32) -> Result<bool, BenchError> {
        if self.failure.is_some() {
            return Ok(true);
        }
        let rule = self.lanes.rule;
        let half_width = half_width(rule, blocks, &self.records);
        let is_done = rule.is_done(blocks, half_width);
        let took = self.context().session().now()?.saturating_sub(self.block_began);
        self.lanes.timetable.update(self.number, |job| {
            job.block = Some(took);
            job.blocks_left = if is_done { 0 } else { rule.blocks_left(blocks, half_width) };
        });
        Ok(is_done)
    }
}

/// Half of the widest interval of a job, where it matters to `rule` after this many blocks.
fn half_width(rule: StopRule, blocks: u32, records: &[Record]) -> Option<f64> {
    let comparisons = if rule.needs_precision(blocks) { compare_records(records) } else { Vec::new() };
    comparisons.first().and_then(widest_half_width)
}
