//! The loop that all measurements of several arms run in: every arm once in each block, until there are enough blocks.
//!
//! - [`Schedule`] draws the order of each block;
//! - [`run_blocks`] runs it, and asks the [`Arms`] before each turn and after each block whether to go on;
//! - [`StopRule`] says when blocks are enough for a precision;
//! - `run_length` says how long a run has to be, and `repeats` how often a short job is repeated in it.
//!
//! What an arm does, what is kept of it, and which clock it reads are the [`Arms`]' own.

pub(crate) mod run_length;
mod schedule;
#[cfg(test)]
mod simulation;

use std::time::Duration;

pub use self::schedule::{BASELINE, Schedule, Slot, StopRule, Turn};

/// The arms of a measurement.
pub trait Arms {
    /// Why a run failed.
    type Error;

    /// Runs the arm of a turn once, and keeps what was measured.
    ///
    /// # Errors
    /// The run failed, or the user stopped it: both end the loop.
    fn run(&mut self, turn: Turn) -> Result<(), Self::Error>;

    /// Whether the loop ends before this turn. Asked before each.
    ///
    /// # Errors
    /// It cannot be found out, or the user stopped the measurement.
    fn ends_before(&mut self, _turn: Turn) -> Result<bool, Self::Error> {
        Ok(false)
    }

    /// Whether the measurement ends after `blocks` whole blocks. Asked after each block.
    ///
    /// # Errors
    /// It cannot be found out.
    fn is_enough(&mut self, _blocks: u32) -> Result<bool, Self::Error> {
        Ok(false)
    }
}

/// Runs the turns of `schedule` in their order, until there are no more or the arms end it. Returns the turn that it ended before, if
/// that was within a block.
///
/// # Errors
/// What the arms return.
pub fn run_blocks<A: Arms>(schedule: Schedule, arms: &mut A) -> Result<Option<Turn>, A::Error> {
    let turns = schedule.turns_per_block();
    for turn in schedule {
        if arms.ends_before(turn)? {
            return Ok(Some(turn));
        }
        arms.run(turn)?;
        if turn.position as usize + 1 == turns && arms.is_enough(turn.block.saturating_add(1))? {
            break;
        }
    }
    Ok(None)
}

/// How often a job that takes `one` is repeated in a run, so that the run takes at least `shortest`: once to `most` times. What takes no
/// time that the clock shows is repeated `most` times.
pub(crate) fn repeats(one: Duration, shortest: Duration, most: u32) -> u32 {
    let wanted = shortest.as_nanos().div_ceil(one.as_nanos().max(1));
    u32::try_from(wanted).unwrap_or(most).clamp(1, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps the turns that were run; ends before a given turn, or after a given number of blocks.
    #[derive(Default)]
    struct Recorder {
        ran: Vec<(u32, usize)>,
        ends_before: Option<(u32, u32)>,
        enough: u32,
        fails_at: Option<usize>,
    }

    impl Arms for Recorder {
        type Error = &'static str;

        fn run(&mut self, turn: Turn) -> Result<(), &'static str> {
            if self.fails_at == Some(self.ran.len()) {
                return Err("failed");
            }
            self.ran.push((turn.block, turn.slot.variant()));
            Ok(())
        }

        fn ends_before(&mut self, turn: Turn) -> Result<bool, &'static str> {
            Ok(self.ends_before == Some((turn.block, turn.position)))
        }

        fn is_enough(&mut self, blocks: u32) -> Result<bool, &'static str> {
            Ok(blocks == self.enough)
        }
    }

    #[test]
    fn blocks_run_until_they_are_enough() {
        let mut arms = Recorder { enough: 2, ..Recorder::default() };
        assert_eq!(run_blocks(Schedule::once_each(3, 9, 7), &mut arms), Ok(None));
        assert_eq!(arms.ran.len(), 6);
        for block in 0..2 {
            let mut ran: Vec<usize> = arms.ran.iter().filter(|(of, _)| *of == block).map(|(_, arm)| *arm).collect();
            ran.sort_unstable();
            assert_eq!(ran, [0, 1, 2]);
        }
        let mut all = Recorder::default();
        assert_eq!(run_blocks(Schedule::new(3, 4, 7), &mut all), Ok(None));
        assert_eq!(all.ran.len(), 4 * 4, "the baseline twice in each block");
    }

    #[test]
    fn arms_can_end_the_loop_within_a_block() {
        let mut arms = Recorder { ends_before: Some((1, 2)), ..Recorder::default() };
        let ended = run_blocks(Schedule::once_each(3, 9, 7), &mut arms).unwrap().unwrap();
        assert_eq!((ended.block, ended.position, arms.ran.len()), (1, 2, 5));
        let mut failing = Recorder { fails_at: Some(4), ..Recorder::default() };
        assert_eq!(run_blocks(Schedule::once_each(3, 9, 7), &mut failing), Err("failed"));
        assert_eq!(failing.ran.len(), 4);
    }

    #[test]
    fn short_jobs_are_repeated() {
        let ms = Duration::from_millis;
        assert_eq!(repeats(ms(30), ms(100), 1000), 4);
        assert_eq!(repeats(ms(300), ms(100), 1000), 1);
        assert_eq!(repeats(Duration::from_nanos(1), ms(100), 1000), 1000);
        assert_eq!(repeats(Duration::ZERO, ms(100), 1000), 1000);
    }
}
