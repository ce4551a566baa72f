//! The loop that every measurement of several arms runs in: each arm once in every block, until there are enough
//! blocks.
//!
//! - [`Schedule`] draws the order of each block;
//! - [`Session::run`] warms up, runs the blocks, keeps the time limit, asks whether the user wants to stop, and
//!   advances progress;
//! - [`Session::run_in_turn`] does the same for several [lanes](Lane), a block of one after a block of another;
//! - [`Arms`] says what an arm does, and keeps what was measured;
//! - [`RunLength`] repeats a short job within a run;
//! - [`StopRule`] says how many blocks a precision takes;
//! - [`Budget`] shares out time among several loops.

mod budget;
mod lane;
pub(crate) mod run_length;
mod schedule;
#[cfg(test)]
mod simulation;

use std::{io, time::Duration};

use repackbench_writer::Progress;

pub use self::{
    budget::Budget,
    lane::Lane,
    run_length::RunLength,
    schedule::{BASELINE, Schedule, Slot, StopRule, Turn},
};
use crate::clock::Clock;

/// The arms of a measurement.
pub trait Arms {
    /// Why a run failed.
    type Error: From<Stop>;

    /// Prepares the arms, before anything is warmed up. Lanes that take turns are prepared one after another, each
    /// right before its first block.
    ///
    /// # Errors
    /// The arms cannot be prepared, which ends the loop.
    fn begin(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

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

/// A loop may borrow the arms.
impl<A: Arms> Arms for &mut A {
    type Error = A::Error;

    fn begin(&mut self) -> Result<(), Self::Error> {
        (**self).begin()
    }

    fn warm_up(&mut self, slot: Slot) -> Result<(), Self::Error> {
        (**self).warm_up(slot)
    }

    fn run(&mut self, turn: Turn) -> Result<(), Self::Error> {
        (**self).run(turn)
    }

    fn is_enough(&mut self, blocks: u32) -> Result<bool, Self::Error> {
        (**self).is_enough(blocks)
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
    /// No block begins at this time or later. The first block of each lane always begins.
    BlocksBegin(Duration),
    /// No block begins that would end later than this if it took as long as the one before. The first block of each
    /// lane always begins.
    BlocksEnd(Duration),
    /// No turn begins at this time or later.
    TurnsBegin(Duration),
}

impl TimeLimit {
    /// The time at which nothing more begins.
    fn end(self) -> Duration {
        match self {
            TimeLimit::BlocksBegin(end) | TimeLimit::BlocksEnd(end) | TimeLimit::TurnsBegin(end) => end,
        }
    }

    /// Whether it is too late for a block of `lane` to begin at `now`.
    fn is_over<A>(self, now: Duration, lane: &Lane<A>) -> bool {
        match self {
            _ if lane.is_new() => false,
            TimeLimit::BlocksBegin(end) => now >= end,
            TimeLimit::BlocksEnd(end) => now.saturating_add(lane.last_block()) > end,
            // Checked before each turn.
            TimeLimit::TurnsBegin(_) => false,
        }
    }
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
        self.run_in_turn(&mut [Lane::new(schedule, 0, arms)], limit)
    }

    /// Runs `lanes` in turn, a block at a time, until each of them has enough blocks, or the time is up.
    ///
    /// First each lane gets a block, then each gets its minimum: the lane with the fewest blocks is next. With a time
    /// limit, a lane that has used up its equal share of the time waits until the others have their minimum. What time
    /// is left goes to the lanes that have not enough blocks yet: the one that was measured for the shortest time is
    /// next. Only numbers of blocks, times, and the answers of [`Arms::is_enough`] count.
    ///
    /// # Errors
    /// What the arms return, and [`Stop`].
    pub fn run_in_turn<A: Arms>(&self, lanes: &mut [Lane<A>], limit: Option<TimeLimit>) -> Result<End, A::Error> {
        let began = self.now()?;
        let share = |limit: TimeLimit, lanes: usize| {
            limit.end().saturating_sub(began) / u32::try_from(lanes).unwrap_or(u32::MAX).max(1)
        };
        let share = limit.map(|limit| share(limit, lanes.len()));
        loop {
            let now = self.now()?;
            let open = lanes.iter_mut().filter_map(|lane| lane.next_turn().map(|next| (lane, next)));
            let (late, in_time): (Vec<_>, Vec<_>) =
                open.partition(|(lane, _)| limit.is_some_and(|limit| limit.is_over(now, lane)));
            let Some((lane, _)) = in_time.into_iter().min_by_key(|(lane, _)| lane.priority(share)) else {
                let first_late = late.into_iter().next();
                return Ok(first_late.map_or(End::Complete, |(lane, next)| lane.out_of_time(next)));
            };
            if let Some(end) = self.run_block(lane, limit)? {
                return Ok(end);
            }
        }
    }

    /// Runs the next block of `lane`, and what precedes its first block. Returns the end of the loop if the time is up
    /// within the block.
    fn run_block<A: Arms>(&self, lane: &mut Lane<A>, limit: Option<TimeLimit>) -> Result<Option<End>, A::Error> {
        if lane.is_new() {
            self.go_on()?;
            lane.arms.begin()?;
            for slot in lane.warm_up() {
                self.go_on()?;
                lane.arms.warm_up(slot)?;
            }
        }
        let began = self.now()?;
        while let Some(turn) = lane.next_turn() {
            self.go_on()?;
            if let Some(TimeLimit::TurnsBegin(end)) = limit
                && self.now()? >= end
            {
                return Ok(Some(lane.out_of_time(turn)));
            }
            lane.arms.run(turn)?;
            self.progress.advance(1);
            if lane.take_turn(turn) {
                break;
            }
        }
        lane.end_block(self.now()?.saturating_sub(began))?;
        Ok(None)
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
