//! Converts batches of chunks on several threads and hands them over in order.

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

/// The approximate number of bytes of new chunks that may wait while one slow batch delays the others.
const WAITING_BYTES: u64 = 64 << 20;

/// A larger buffer is freed once its batch is written.
const LARGEST_SPARE: usize = 4 << 20;

/// The new chunks of a batch, one after another.
#[derive(Debug, Default)]
pub(crate) struct EncodedBatch {
    pub(crate) stored: Vec<u8>,
    /// The length of each new chunk.
    pub(crate) lengths: Vec<usize>,
    /// The length of each new payload, or `None` for that of the source. May be empty.
    pub(crate) payload_lens: Vec<Option<u64>>,
}

impl EncodedBatch {
    pub(crate) fn clear(&mut self) {
        self.stored.clear();
        self.lengths.clear();
        self.payload_lens.clear();
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

/// The work of the threads of a pipeline.
pub(crate) trait BatchConverter: Sync {
    /// The unit of work.
    type Batch: Sync;
    /// The contexts and buffers of one thread.
    type Contexts;

    /// The approximate number of bytes that wait for their turn once the batch is converted.
    fn cost(&self, batch: &Self::Batch) -> u64;

    /// The contexts and buffers of a new thread.
    fn contexts(&self) -> Result<Self::Contexts>;

    /// Converts `batch` into `encoded`, and replaces the previous content.
    fn convert(&self, contexts: &mut Self::Contexts, batch: &Self::Batch, encoded: &mut EncodedBatch) -> Result<()>;
}

/// Converts `batches` on several threads, and calls `write` on this thread with each batch and its new chunks, in
/// order. If no thread can be started, this thread converts the batches one after another.
///
/// # Errors
/// The error of the first batch in order that fails, whichever fails first in time; [`WriterError::Interrupted`].
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

/// The state that threads and writer share.
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
    /// The total cost of the batches that were started and are not written yet.
    waiting_bytes: u64,
    stopped: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // If a thread panics, the conversion ends anyway: the scope propagates the panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Schedule {
    /// Waits until there is room for batch `number`, or it is the next to be written. Returns `false` if the writer has
    /// stopped.
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

/// Stops the threads when the writer returns, for whatever reason.
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
            // The writer receives the error as the outcome of the batch that it waits for.
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
                    // A batch is missing only if its thread panicked; the scope is about to propagate that panic.
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

    /// Each batch is a byte, and becomes a chunk of that byte. Later batches finish sooner, and those in `failing`
    /// fail.
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
    fn chunks_arrive_in_order_of_batches() {
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
    fn error_is_that_of_the_first_failing_batch_in_order() {
        let batches: Vec<u8> = (0..10).collect();
        for _ in 0..5 {
            let error =
                run(&Delayed { failing: &[3, 4, 5] }, &batches, JobControl::quiet(4), &mut |_, _| Ok(())).unwrap_err();
            assert!(error.to_string().starts_with("3: "), "{error}");
        }
    }
}
