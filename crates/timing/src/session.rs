//! The loop that every measurement of several arms runs in: each arm once in every block, until there are enough
//! blocks.
//!
//! - [`Schedule`] draws the order of each block;
//! - [`Session::run`] warms up, runs the blocks, keeps the time limit, asks whether the user wants to stop, and
//!   advances progress;
//! - [`Arms`] says what an arm does, and keeps what was measured;
//! - [`RunLength`] repeats a short job within a run;
//! - [`StopRule`] says how many blocks a precision takes;
//! - [`Budget`] shares out time among several loops.

mod budget;
pub(crate) mod run_length;
mod schedule;
#[cfg(test)]
mod simulation;

use std::{io, time::Duration};

use repackbench_writer::Progress;

pub use self::{
    budget::Budget,
    run_length::RunLength,
    schedule::{BASELINE, Schedule, Slot, StopRule, Turn},
};
use crate::clock::Clock;

/// The arms of a measurement.
pub trait Arms {
    /// Why a run failed.
    type Error: From<Stop>;

    /// Runs an arm before the first block and keeps nothing: the first run also fills the processor's caches and the
    /// allocator's. Arms without this method are not warmed up.
    ///
    /// # Errors
    /// The run failed, which ends the loop.
    fn warm_up(&mut self, _slot: Slot) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Runs the arm of a turn once, and keeps what was measured.
    ///
    /// # Errors
    /// The run failed, which ends the loop.
    fn run(&mut self, turn: Turn) -> Result<(), Self::Error>;

    /// Whether `blocks` blocks are enough. Called after each block.
    ///
    /// # Errors
    /// The answer cannot be computed, which ends the loop.
    fn is_enough(&mut self, _blocks: u32) -> Result<bool, Self::Error> {
        Ok(false)
    }
}

/// Why the loop stopped though no arm failed.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The clock could not be read.
    #[error("cannot read the clock: {0}")]
    Clock(io::Error),
}

/// How long a loop may go on. Times are elapsed time on the session's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeLimit {
    /// No block begins at this time or later. The first block always begins.
    BlocksBegin(Duration),
    /// No block begins that would end later than this if it took as long as the one before. The first block always
    /// begins.
    BlocksEnd(Duration),
    /// No turn begins at this time or later.
    TurnsBegin(Duration),
}

/// How a loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All blocks of the schedule are done, or as many as are enough.
    Complete,
    /// The time limit came first.
    OutOfTime {
        /// The turn that would have been next.
        next: Turn,
        /// How long the last whole block took; zero if no block is whole.
        last_block: Duration,
    },
}

/// A measurement: the clock and the progress that its loops share.
#[derive(Clone, Copy)]
pub struct Session<'a> {
    clock: &'a dyn Clock,
    progress: &'a dyn Progress,
}

impl<'a> Session<'a> {
    /// A session on `clock`. `progress` advances by one item for each turn, see [`Schedule::turns`], and reports
    /// whether the user wants to stop.
    pub fn new(clock: &'a dyn Clock, progress: &'a dyn Progress) -> Self {
        Session { clock, progress }
    }

    /// Elapsed time on the session's clock.
    ///
    /// # Errors
    /// [`Stop::Clock`].
    pub fn now(&self) -> Result<Duration, Stop> {
        self.clock.read().map(|reading| reading.wall).map_err(Stop::Clock)
    }

    /// Checks that the user does not want to stop.
    ///
    /// # Errors
    /// [`Stop::Interrupted`].
    pub fn go_on(&self) -> Result<(), Stop> {
        if self.progress.is_cancelled() { Err(Stop::Interrupted) } else { Ok(()) }
    }

    /// Warms up, then runs the turns of `schedule` until there are no more, the arms say that there are enough blocks,
    /// or the time is up.
    ///
    /// # Errors
    /// What the arms return, and [`Stop`].
    pub fn run<A: Arms>(&self, schedule: Schedule, limit: Option<TimeLimit>, arms: &mut A) -> Result<End, A::Error> {
        for slot in schedule.warm_up() {
            self.go_on()?;
            arms.warm_up(slot)?;
        }
        let turns = schedule.turns_per_block();
        let mut watch = limit.map(|limit| Watch::new(limit, self)).transpose()?;
        for turn in schedule {
            self.go_on()?;
            if let Some(watch) = &mut watch
                && let Some(last_block) = watch.stops_before(turn, self)?
            {
                return Ok(End::OutOfTime { next: turn, last_block });
            }
            arms.run(turn)?;
            self.progress.advance(1);
            if turn.position as usize + 1 == turns && arms.is_enough(turn.block.saturating_add(1))? {
                break;
            }
        }
        Ok(End::Complete)
    }
}

/// Watches the time limit of one loop.
struct Watch {
    limit: TimeLimit,
    /// When the current block began.
    block_began: Duration,
    last_block: Duration,
}

impl Watch {
    fn new(limit: TimeLimit, session: &Session<'_>) -> Result<Self, Stop> {
        Ok(Watch { limit, block_began: session.now()?, last_block: Duration::ZERO })
    }

    /// How long the last block took, if the loop has to end before `turn`.
    fn stops_before(&mut self, turn: Turn, session: &Session<'_>) -> Result<Option<Duration>, Stop> {
        let begins_block = turn.position == 0 && turn.block > 0;
        if !begins_block && !matches!(self.limit, TimeLimit::TurnsBegin(_)) {
            return Ok(None);
        }
        let now = session.now()?;
        if begins_block {
            self.last_block = now.saturating_sub(std::mem::replace(&mut self.block_began, now));
        }
        let is_over = match self.limit {
            TimeLimit::BlocksBegin(end) | TimeLimit::TurnsBegin(end) => now >= end,
            TimeLimit::BlocksEnd(end) => now.saturating_add(self.last_block) > end,
        };
        Ok(is_over.then_some(self.last_block))
    }
}

/// Runs `work` and measures only the elapsed time.
///
/// # Errors
/// The error of `work`, or `clock` cannot be read.
pub(crate) fn elapsed<T, E: From<Stop>>(
    clock: &dyn Clock,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<(T, Duration), E> {
    let start = clock.read_wall().map_err(Stop::Clock)?;
    let result = work()?;
    let end = clock.read_wall().map_err(Stop::Clock)?;
    Ok((result, end.saturating_sub(start)))
}

#[cfg(test)]
pub(crate) mod tests;
