//! Turns at what is too large for the share of one thread of several.

use std::sync::{Condvar, Mutex, PoisonError};

use super::{Ceiling, UNCOUNTED};

/// Of each buffer so many bytes are kept.
const KEPT: usize = 1 << 20;

static TAKEN: Mutex<bool> = Mutex::new(false);
static GIVEN_BACK: Condvar = Condvar::new();

/// The right to hold large objects. One thread has it at a time, and whoever has it waits for no other thread.
#[derive(Debug)]
pub struct Turn(());

impl Turn {
    /// Waits for the turn.
    fn take() -> Self {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = GIVEN_BACK.wait_while(taken, |taken| *taken).unwrap_or_else(PoisonError::into_inner);
        *taken = true;
        Turn(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = false;
        GIVEN_BACK.notify_one();
    }
}

/// Takes turns for one thread of several.
#[derive(Debug, Default)]
pub struct TurnTaker(Option<Turn>);

impl TurnTaker {
    /// Waits for the thread's turn if its own share does not hold `len` bytes, and it has not got it. It keeps the turn until it
    /// [`ends`](TurnTaker::end).
    #[inline]
    pub fn expect(&mut self, len: u64) {
        if len > UNCOUNTED && self.0.is_none() {
            self.expect_counted(len);
        }
    }

    #[cold]
    fn expect_counted(&mut self, len: u64) {
        let ceiling = Ceiling::get();
        if ceiling.threads > 1 && len > ceiling.own_share() {
            self.0 = Some(Turn::take());
        }
    }

    /// How many bytes one object may take, as it is the thread's turn or not.
    pub fn room(&self) -> usize {
        let ceiling = Ceiling::get();
        let is_its_turn = self.0.is_some() || ceiling.threads == 1;
        let room = if is_its_turn { ceiling.largest() } else { ceiling.own_share() };
        usize::try_from(room).unwrap_or(usize::MAX)
    }

    /// Waits for the thread's turn, for an object of which no more is known than that it is larger than [`room`](TurnTaker::room).
    /// `false` if it has it, and there will never be more.
    pub fn take(&mut self) -> bool {
        if self.0.is_some() || Ceiling::get().threads == 1 {
            return false;
        }
        self.0 = Some(Turn::take());
        true
    }

    /// Gives the turn back, if the thread has it, and the memory of `buffers` with it. No other large object is held by then.
    #[inline]
    pub fn end<const COUNT: usize>(&mut self, buffers: [&mut Vec<u8>; COUNT]) {
        if self.0.is_some() {
            for buffer in buffers {
                buffer.clear();
                buffer.shrink_to(KEPT);
            }
            self.0 = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn one_thread_has_the_turn_at_a_time() {
        let (inside, turns) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let turn = Turn::take();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        turns.fetch_add(1, Ordering::SeqCst);
                        drop(turn);
                    }
                });
            }
        });
        assert_eq!(turns.into_inner(), 400);
    }
}
