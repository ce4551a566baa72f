//! One of several measurements that take turns.

use std::{iter::Peekable, time::Duration};

use super::{Arms, End, Schedule, Slot, Turn};

/// A measurement that takes turns with others, a block at a time.
pub struct Lane<A> {
    schedule: Peekable<Schedule>,
    slots: Vec<Slot>,
    /// The fewest blocks that give a result.
    min_blocks: u32,
    pub(super) arms: A,
    /// The number of whole blocks, including those of an earlier session.
    blocks: u32,
    /// How long the last whole block took; `None` before the first.
    last_block: Option<Duration>,
    /// How long all whole blocks took.
    spent: Duration,
    is_done: bool,
}

impl<A> Lane<A> {
    /// A lane that runs `arms` by `schedule`, and has a result after `min_blocks` blocks.
    pub fn new(schedule: Schedule, min_blocks: u32, arms: A) -> Self {
        let (slots, blocks) = (schedule.warm_up(), schedule.blocks_left_out());
        let schedule = schedule.peekable();
        Lane { schedule, slots, min_blocks, arms, blocks, last_block: None, spent: Duration::ZERO, is_done: false }
    }

    /// The arms, with what they have measured.
    pub fn into_arms(self) -> A {
        self.arms
    }

    /// Whether no block of it is whole in this session.
    pub(super) fn is_new(&self) -> bool {
        self.last_block.is_none()
    }

    /// How long the last whole block took; zero if no block is whole.
    pub(super) fn last_block(&self) -> Duration {
        self.last_block.unwrap_or_default()
    }

    /// The order in which arms are warmed up.
    pub(super) fn warm_up(&self) -> Vec<Slot> {
        self.slots.clone()
    }

    /// The next turn, unless there are enough blocks.
    pub(super) fn next_turn(&mut self) -> Option<Turn> {
        if self.is_done { None } else { self.schedule.peek().copied() }
    }

    /// Moves on after `turn`. Returns whether it was the last of its block.
    pub(super) fn take_turn(&mut self, turn: Turn) -> bool {
        self.schedule.next();
        turn.position as usize + 1 >= self.slots.len()
    }

    /// The end of the loop before `next`.
    pub(super) fn out_of_time(&self, next: Turn) -> End {
        End::OutOfTime { next, last_block: self.last_block() }
    }

    /// When it is its turn: the lane with the least value is next. `share` is the equal share of each lane of the time
    /// limit.
    pub(super) fn priority(&self, share: Option<Duration>) -> (Phase, u32, Duration) {
        if self.is_new() {
            return (Phase::First, self.blocks, Duration::ZERO);
        }
        let is_share_used = share.is_some_and(|share| self.spent >= share);
        match self.blocks < self.min_blocks {
            true if !is_share_used => (Phase::Minimum, self.blocks, Duration::ZERO),
            true => (Phase::LateMinimum, 0, self.spent),
            false => (Phase::Precision, 0, self.spent),
        }
    }
}

impl<A: Arms> Lane<A> {
    /// A block is whole that `took` this long.
    pub(super) fn end_block(&mut self, took: Duration) -> Result<(), A::Error> {
        self.blocks = self.blocks.saturating_add(1);
        self.last_block = Some(took);
        self.spent = self.spent.saturating_add(took);
        self.is_done = self.arms.is_enough(self.blocks)?;
        Ok(())
    }
}

/// What a lane needs a block for, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Its first block.
    First,
    /// Its minimum.
    Minimum,
    /// Its minimum, though its share of the time is used up.
    LateMinimum,
    /// More precision.
    Precision,
}
