//! Batches of chunks, converted on several threads and handed over in order.

use std::{
    collections::BTreeMap,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
};

use repackbench_reader::threads;

use crate::{JobControl, Progress, Result, WriterError};

/// About how many bytes of new chunks may wait while one slow batch holds the order up.
const WAITING_BYTES: u64 = 64 << 20;

/// A buffer larger than this is given back to the allocator when its batch is written.
const LARGEST_SPARE: usize = 4 << 20;

/// The new chunks of a batch, one behind the other.
#[derive(Debug, Default)]
pub(crate) struct EncodedBatch {
    pub(crate) stored: Vec<u8>,
    /// The length of each new chunk.
    pub(crate) lengths: Vec<usize>,
}

impl EncodedBatch {
    pub(crate) fn clear(&mut self) {
        self.stored.clear();
        self.lengths.clear();
    }

    /// The new chunks.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.stored.as_slice();
        self.lengths.iter().map(move |length| {
            let (chunk, after) = rest.split_at_checked(*length).unwrap_or_default();
            rest = after;
            chunk
        })
    }
}

/// What the threads of a pipeline do.
pub(crate) trait BatchConverter: Sync {
    /// What is converted in one go.
    type Batch: Sync;
    /// One thread's contexts and buffers.
    type Contexts;

    /// Bytes that wait for their turn once the batch is done, about.
    fn cost(&self, batch: &Self::Batch) -> u64;

    /// Sets up a thread.
    fn contexts(&self) -> Result<Self::Contexts>;

    /// Converts `batch` into `encoded`, replacing what is there.
    fn convert(&self, contexts: &mut Self::Contexts, batch: &Self::Batch, encoded: &mut EncodedBatch) -> Result<()>;
}

/// Converts `batches` on several threads, and calls `write` on this thread with each batch and its new chunks, in order. If no
/// thread can be started, this thread converts the batches one after another.
///
/// # Errors
/// The error of the first batch that has one, whichever fails first in time, and [`WriterError::Interrupted`].
pub(crate) fn run<C: BatchConverter>(
    converter: &C,
    batches: &[C::Batch],
    control: JobControl<'_>,
    write: &mut dyn FnMut(&C::Batch, &EncodedBatch) -> Result<()>,
) -> Result<()> {
    let run = Run { converter, batches, schedule: Schedule::default() };
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let next = || {
            let (sender, run) = (sender.clone(), &run);
            move || run.convert_batches(&sender)
        };
        if threads::start(scope, control.threads.clamp(1, batches.len().max(1)), next) == 0 {
            return run.convert_in_turn(control.progress, write);
        }
        drop(sender);
        let _stop = StopOnDrop(&run.schedule);
        run.write_in_order(&receiver, control.progress, write)
    })
}

/// One run of a pipeline.
struct Run<'a, C: BatchConverter> {
    converter: &'a C,
    batches: &'a [C::Batch],
    schedule: Schedule,
}

/// What threads and writer share.
#[derive(Default)]
struct Schedule {
    next: AtomicUsize,
    written: Mutex<Written>,
    advanced: Condvar,
    spare: Mutex<Vec<EncodedBatch>>,
}

#[derive(Default)]
struct Written {
    batches: usize,
    /// What batches cost that were begun and are not written.
    waiting_bytes: u64,
    stopped: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panics ends the conversion anyway: the scope hands its panic on.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Schedule {
    /// Waits until there is room for batch `number`, or it is the next to be written; `false` if there is no point any
    /// more.
    fn wait_for_turn(&self, number: usize, cost: u64) -> bool {
        let mut written = lock(&self.written);
        while !written.stopped && number != written.batches && written.waiting_bytes + cost > WAITING_BYTES {
            written = self.advanced.wait(written).unwrap_or_else(PoisonError::into_inner);
        }
        written.waiting_bytes += cost;
        !written.stopped
    }

    fn update(&self, change: impl FnOnce(&mut Written)) {
        change(&mut lock(&self.written));
        self.advanced.notify_all();
    }
}

/// Stops the threads when the writer leaves, for whatever reason.
struct StopOnDrop<'a>(&'a Schedule);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.update(|written| written.stopped = true);
    }
}

type Outcome = (usize, Result<EncodedBatch>);

impl<C: BatchConverter> Run<'_, C> {
    /// The work of a thread: batch after batch, until none is left or the writer has stopped.
    fn convert_batches(&self, sender: &mpsc::Sender<Outcome>) {
        let next = || self.schedule.next.fetch_add(1, Ordering::Relaxed);
        let mut contexts = match self.converter.contexts() {
            Ok(contexts) => contexts,
            // The writer receives it as the outcome of the batch that it waits for.
            Err(error) => return drop(sender.send((next(), Err(error)))),
        };
        loop {
            let number = next();
            let Some(batch) = self.batches.get(number) else { return };
            if !self.schedule.wait_for_turn(number, self.converter.cost(batch)) {
                return;
            }
            let mut encoded = lock(&self.schedule.spare).pop().unwrap_or_default();
            encoded.clear();
            let result = self.converter.convert(&mut contexts, batch, &mut encoded);
            if sender.send((number, result.map(|()| encoded))).is_err() {
                return;
            }
        }
    }

    fn write_in_order(
        &self,
        receiver: &mpsc::Receiver<Outcome>,
        progress: &dyn Progress,
        write: &mut dyn FnMut(&C::Batch, &EncodedBatch) -> Result<()>,
    ) -> Result<()> {
        let mut waiting = BTreeMap::new();
        for (number, batch) in self.batches.iter().enumerate() {
            if progress.is_cancelled() {
                return Err(WriterError::Interrupted);
            }
            let encoded = loop {
                if let Some(outcome) = waiting.remove(&number) {
                    break outcome;
                }
                match receiver.recv() {
                    Ok((received, outcome)) => drop(waiting.insert(received, outcome)),
                    // Only a thread that panicked leaves a batch out; the scope is about to hand that panic on.
                    Err(_) => return Ok(()),
                }
            }?;
            write(batch, &encoded)?;
            if encoded.stored.capacity() <= LARGEST_SPARE {
                lock(&self.schedule.spare).push(encoded);
            }
            self.schedule.update(|written| {
                written.batches = number + 1;
                written.waiting_bytes -= self.converter.cost(batch);
            });
        }
        Ok(())
    }

    /// Does on one thread what the threads and the writer do together.
    fn convert_in_turn(
        &self,
        progress: &dyn Progress,
        write: &mut dyn FnMut(&C::Batch, &EncodedBatch) -> Result<()>,
    ) -> Result<()> {
        let (mut contexts, mut encoded) = (self.converter.contexts()?, EncodedBatch::default());
        for batch in self.batches {
            if progress.is_cancelled() {
                return Err(WriterError::Interrupted);
            }
            encoded.clear();
            self.converter.convert(&mut contexts, batch, &mut encoded)?;
            write(batch, &encoded)?;
            if encoded.stored.capacity() > LARGEST_SPARE {
                encoded = EncodedBatch::default();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{thread::sleep, time::Duration};

    use super::*;
    use crate::NoProgress;

    /// Batches are bytes; each becomes a chunk of itself, later ones sooner, and some fail.
    struct Delayed {
        failing: &'static [u8],
    }

    impl BatchConverter for Delayed {
        type Batch = u8;
        type Contexts = ();

        fn cost(&self, _batch: &u8) -> u64 {
            WAITING_BYTES / 2
        }

        fn contexts(&self) -> Result<()> {
            Ok(())
        }

        fn convert(&self, (): &mut (), batch: &u8, encoded: &mut EncodedBatch) -> Result<()> {
            sleep(Duration::from_millis(u64::from(10 - batch)));
            if self.failing.contains(batch) {
                return Err(WriterError::io("convert", batch.to_string(), std::io::ErrorKind::Other.into()));
            }
            encoded.stored.push(*batch);
            encoded.lengths.push(1);
            Ok(())
        }
    }

    #[test]
    fn chunks_arrive_in_order_whatever_order_they_are_made_in() {
        let mut seen = Vec::new();
        let mut write = |batch: &u8, encoded: &EncodedBatch| {
            assert_eq!(encoded.chunks().collect::<Vec<_>>(), [&[*batch][..]]);
            seen.push(*batch);
            Ok(())
        };
        let batches: Vec<u8> = (0..10).collect();
        run(&Delayed { failing: &[] }, &batches, JobControl::quiet(4), &mut write).unwrap();
        assert_eq!(seen, batches);
        seen.clear();
        let mut write = |batch: &u8, encoded: &EncodedBatch| {
            assert_eq!(encoded.chunks().collect::<Vec<_>>(), [&[*batch][..]]);
            seen.push(*batch);
            Ok(())
        };
        let run = Run { converter: &Delayed { failing: &[] }, batches: &batches, schedule: Schedule::default() };
        run.convert_in_turn(&NoProgress, &mut write).unwrap();
        assert_eq!(seen, batches);
    }

    #[test]
    fn the_first_failure_in_order_is_the_one_that_is_told() {
        let batches: Vec<u8> = (0..10).collect();
        for _ in 0..5 {
            let error =
                run(&Delayed { failing: &[3, 4, 5] }, &batches, JobControl::quiet(4), &mut |_, _| Ok(())).unwrap_err();
            assert!(error.to_string().starts_with("3: "), "{error}");
        }
    }
}
