//! Turns at objects that are too large for one thread's share.

use std::sync::{Condvar, Mutex, PoisonError};

use super::{Ceiling, UNCOUNTED};

/// The capacity in bytes that each buffer keeps.
const KEPT_CAPACITY: usize = 1 << 20;

static TAKEN: Mutex<bool> = Mutex::new(false);
static GIVEN_BACK: Condvar = Condvar::new();

/// The right to hold large objects. One thread has it at a time, and does not wait for another thread while it has it.
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

/// Takes turns on behalf of one thread.
#[derive(Debug, Default)]
pub struct TurnTaker(Option<Turn>);

impl TurnTaker {
    /// Waits for the turn if the thread does not have it and an object of `len` bytes does not fit the thread's own
    /// share. The thread keeps the turn until [`finish`](TurnTaker::finish).
    #[inline]
    pub fn reserve(&mut self, len: u64) {
        if len > UNCOUNTED && self.0.is_none() {
            self.reserve_counted(len);
        }
    }

    #[cold]
    fn reserve_counted(&mut self, len: u64) {
        let ceiling = Ceiling::get();
        if ceiling.threads > 1 && len > ceiling.own_share() {
            self.0 = Some(Turn::take());
        }
    }

    /// Limit in bytes for one object, which depends on whether the thread has the turn.
    pub fn room(&self) -> usize {
        let ceiling = Ceiling::get();
        let has_turn = self.0.is_some() || ceiling.threads == 1;
        let room = if has_turn { ceiling.largest() } else { ceiling.own_share() };
        usize::try_from(room).unwrap_or(usize::MAX)
    }

    /// Waits for the turn, for an object that is larger than [`room`](TurnTaker::room) by an unknown amount. `false` if
    /// the thread already has the turn, so that there will never be more room.
    pub fn wait(&mut self) -> bool {
        if self.0.is_some() || Ceiling::get().threads == 1 {
            return false;
        }
        self.0 = Some(Turn::take());
        true
    }

    /// Returns the turn, if the thread has it, and frees the memory of `buffers`. The thread must not hold any other
    /// large object.
    #[inline]
    pub fn finish<const COUNT: usize>(&mut self, buffers: [&mut Vec<u8>; COUNT]) {
        if self.0.is_some() {
            for buffer in buffers {
                buffer.clear();
                buffer.shrink_to(KEPT_CAPACITY);
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
