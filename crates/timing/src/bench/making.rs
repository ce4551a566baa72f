//! The progress of making variants: one figure for all of them, and for the measurement that follows.

use std::{
    fmt::Display,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use repackbench_writer::{Progress, ProgressUnit, SessionStatus};

use crate::clock::Clock;

/// The part of a variant that says something about the rest.
const LEAST_DONE: f64 = 0.02;

/// Turns the steps of each variant into the place and the time left of a session. A variant is taken to be as much
/// work as each other.
pub(super) struct MakingProgress<'a> {
    progress: &'a dyn Progress,
    clock: &'a (dyn Clock + Sync),
    /// The number of variants.
    variants: u32,
    /// How long the measurement takes that follows, if that is known.
    after: Option<Duration>,
    state: Mutex<MakingState>,
}

#[derive(Debug, Default)]
struct MakingState {
    /// The current variant, counted from 1, and its name.
    variant: (u32, String),
    /// When the current variant was begun, or the step of it that counts bytes: a search for deltas before that takes
    /// place once, and says nothing about other variants. `None` while it may come from the cache.
    began: Option<Duration>,
    /// The step of the current variant.
    step: String,
    /// The bytes of the current step, if it counts bytes, and those that are done.
    bytes: Option<(u64, u64)>,
    /// Whether nobody knows how far the current step is.
    is_open: bool,
    /// The variants that were made, and how long that took. Those from the cache took none.
    made: u32,
    spent: Duration,
}

impl<'a> MakingProgress<'a> {
    pub(super) fn new(
        progress: &'a dyn Progress,
        clock: &'a (dyn Clock + Sync),
        variants: usize,
        after: Option<Duration>,
    ) -> Self {
        let variants = u32::try_from(variants).unwrap_or(u32::MAX);
        MakingProgress { progress, clock, variants, after, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, MakingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next variant, called `name`, is looked for in the cache, or made.
    pub(super) fn next_variant(&self, name: impl Display) {
        let mut state = self.state();
        state.end_variant(self.clock.read_wall().ok());
        state.variant = (state.variant.0.saturating_add(1), name.to_string());
    }

    fn show(&self, state: &MakingState) {
        let now = self.clock.read_wall().ok();
        let left = now.and_then(|now| state.left(now, self.variants)).zip(self.after);
        let (number, name) = &state.variant;
        self.progress.session(SessionStatus {
            place: &format!("variant {number} of {}", self.variants),
            detail: &format!("{name}, {}", state.step),
            left: left.map(|(making, after)| making.saturating_add(after)),
        });
    }
}

impl MakingState {
    /// The current variant is complete.
    fn end_variant(&mut self, now: Option<Duration>) {
        if let Some((began, now)) = self.began.take().zip(now) {
            self.made = self.made.saturating_add(1);
            self.spent = self.spent.saturating_add(now.saturating_sub(began));
        }
        self.bytes = None;
        self.is_open = false;
    }

    /// How long the rest of `variants` takes, by the variants and bytes that are done; `None` after too few.
    fn left(&self, now: Duration, variants: u32) -> Option<Duration> {
        let of_current = match self.bytes {
            Some((total, done)) if total > 0 => (done as f64 / total as f64).min(1.0),
            _ => 0.0,
        };
        let done = f64::from(self.made) + of_current;
        if done < LEAST_DONE {
            return None;
        }
        let spent = self.spent.saturating_add(self.began.map_or(Duration::ZERO, |began| now.saturating_sub(began)));
        let left = f64::from(variants.saturating_sub(self.variant.0)) + 1.0 - of_current;
        let left = Duration::try_from_secs_f64(spent.as_secs_f64() * left / done);
        left.ok().filter(|_| !self.is_open)
    }
}

impl Progress for MakingProgress<'_> {
    fn start(&self, step: &str, total: u64, unit: ProgressUnit) {
        let mut state = self.state();
        state.began = state.began.or_else(|| self.clock.read_wall().ok());
        step.clone_into(&mut state.step);
        // What follows all bytes, a search for deltas, tells nobody how far it is.
        state.is_open = state.bytes.is_some_and(|(total, done)| done >= total) && unit == ProgressUnit::Items;
        if unit == ProgressUnit::Bytes {
            state.bytes = Some((total, 0));
            state.began = self.clock.read_wall().ok();
        }
        self.show(&state);
    }

    fn advance(&self, amount: u64) {
        let mut state = self.state();
        if let Some((_, done)) = &mut state.bytes {
            *done = done.saturating_add(amount);
        }
        self.show(&state);
    }

    fn finish(&self) {}

    fn note(&self, note: &str) {
        self.progress.note(note);
    }

    fn is_cancelled(&self) -> bool {
        self.progress.is_cancelled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_follows_from_variants_and_bytes() {
        let seconds = Duration::from_secs;
        let mut state = MakingState { variant: (1, "zlib:6".to_owned()), ..MakingState::default() };
        assert_eq!(state.left(seconds(0), 3), None, "nothing is known");
        state.began = Some(seconds(10));
        state.bytes = Some((1000, 0));
        assert_eq!(state.left(seconds(12), 3), None, "nothing is done");
        state.bytes = Some((1000, 10));
        assert_eq!(state.left(seconds(12), 3), None, "too little is done");
        state.bytes = Some((1000, 500));
        assert_eq!(state.left(seconds(14), 3), Some(seconds(20)), "half of one in 4 s: 2.5 are left");
        state.end_variant(Some(seconds(18)));
        state.variant.0 = 2;
        assert_eq!(state.left(seconds(30), 3), Some(seconds(16)), "two, at 8 s each");
        state.end_variant(Some(seconds(30)));
        state.variant.0 = 3;
        assert_eq!(state.left(seconds(30), 3), Some(seconds(8)), "the second came from the cache");
    }
}
