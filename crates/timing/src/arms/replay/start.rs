//! A common start of several threads, which a thread that dies before it does not delay.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The point where threads wait until all have arrived.
#[derive(Debug, Default)]
pub(super) struct Start {
    /// The number of threads that are expected and have not arrived.
    missing: Mutex<usize>,
    all_there: Condvar,
}

/// An expected thread. Dropping this means that the thread has arrived or never will: a panic drops it as well, and so
/// does a failure to start the thread.
#[derive(Debug)]
pub(super) struct Expected<'a>(&'a Start);

impl Start {
    /// Expects one more thread. Call this for all threads before the first one waits.
    pub(super) fn expect(&self) -> Expected<'_> {
        *self.missing() += 1;
        Expected(self)
    }

    fn missing(&self) -> MutexGuard<'_, usize> {
        // The number is right even if a thread panicked while it held the lock.
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Expected<'_> {
    /// Waits until all other threads have arrived, or never will.
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

    /// Long enough for any machine; only waited for if a thread hangs.
    const HANGS: Duration = Duration::from_secs(600);

    #[test]
    fn threads_start_after_all_have_arrived() {
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
    fn dead_threads_do_not_delay_the_others() {
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
