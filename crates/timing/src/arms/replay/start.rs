//! A start that several threads wait for, and that a thread which dies before it does not hold up.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Where threads wait until all are there.
#[derive(Debug, Default)]
pub(super) struct Start {
    /// How many are expected and not there yet.
    missing: Mutex<usize>,
    all_there: Condvar,
}

/// A thread that is expected. When this goes, the thread is there, or will never be: a panic drops it, too, and so does a thread that
/// could not be made.
#[derive(Debug)]
pub(super) struct Expected<'a>(&'a Start);

impl Start {
    /// Expects one more. All have to be expected before the first one waits.
    pub(super) fn expect(&self) -> Expected<'_> {
        *self.missing() += 1;
        Expected(self)
    }

    fn missing(&self) -> MutexGuard<'_, usize> {
        // The number is right also if somebody panicked who held it.
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Expected<'_> {
    /// Waits until the others are there, or will never be.
    pub(super) fn wait(self) {
        let start = self.0;
        drop(self);
        let all_there = start.all_there.wait_while(start.missing(), |missing| *missing > 0);
        drop(all_there.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        let mut missing = self.0.missing();
        *missing = missing.saturating_sub(1);
        if *missing == 0 {
            self.0.all_there.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
            mpsc,
        },
        thread,
        time::Duration,
    };

    use super::*;

    /// Long enough for any machine, and never waited for unless a thread hangs.
    const HANGS: Duration = Duration::from_secs(600);

    #[test]
    fn nobody_starts_before_all_are_there() {
        let (start, ready) = (Start::default(), AtomicUsize::new(0));
        let expected: Vec<_> = (0..4).map(|_| start.expect()).collect();
        let seen: Vec<usize> = thread::scope(|scope| {
            let run = |expected: Expected<'_>| {
                ready.fetch_add(1, Ordering::SeqCst);
                expected.wait();
                ready.load(Ordering::SeqCst)
            };
            let threads: Vec<_> = expected.into_iter().map(|expected| scope.spawn(move || run(expected))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(seen, [4; 4]);
    }

    #[test]
    fn who_dies_before_the_start_does_not_hold_up_the_others() {
        let start = Arc::new(Start::default());
        let (tell, told) = mpsc::channel();
        let hold_open = start.expect();
        for number in 0..3 {
            let (start, tell) = (Arc::clone(&start), tell.clone());
            thread::spawn(move || {
                let expected = start.expect();
                tell.send("here").unwrap();
                assert_ne!(number, 1, "this panic is part of the test");
                expected.wait();
                tell.send("started").unwrap();
            });
        }
        for _ in 0..3 {
            assert_eq!(told.recv_timeout(HANGS), Ok("here"));
        }
        drop(hold_open);
        for _ in 0..2 {
            assert_eq!(told.recv_timeout(HANGS), Ok("started"));
        }
    }
}
