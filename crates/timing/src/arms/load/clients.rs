//! Several clients at once. Each sends its next request as soon as the last one was served.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::Command,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread::{self, ScopedJoinHandle},
    time::Duration,
};

use repackbench_client::Sink;
use repackbench_reader::threads;
use repackbench_records::{LoadExchange, LoadRow, LoadSample, ServingArm};
use repackbench_writer::Progress;

use super::{check::with_input, nanoseconds, requests::Requests, server::Servers};
use crate::{
    arms::stock::{StockError, run_timed},
    clock::Clock,
};

/// The most requests in a block. Each block has others.
const MOST: usize = 1000;

/// Everything that clients need.
pub(super) struct Load<'a> {
    pub(super) servers: &'a Servers<'a>,
    pub(super) requests: &'a Requests,
    /// The file with the text of each request.
    pub(super) texts: &'a [PathBuf],
    /// The length of each pack, by arm and request, once they are checked.
    pub(super) packs: BTreeMap<(ServingArm, usize), u64>,
    pub(super) clock: &'a (dyn Clock + Sync),
    pub(super) progress: &'a dyn Progress,
}

/// What one arm did in one block.
pub(super) struct ClientRun {
    /// In the order of the draw.
    pub(super) samples: Vec<LoadSample>,
    /// CPU time of the servers.
    pub(super) cpu: Duration,
}

impl Load<'_> {
    /// Lets as many clients as there are `commands` send requests of a block to the arm of `row` for the time of
    /// `slice`. Each sends at least one.
    pub(super) fn run(
        &self,
        row: &LoadRow,
        block: u32,
        commands: &mut [Command],
        slice: Duration,
    ) -> Result<ClientRun, StockError> {
        let begin = self.clock.read_children().map_err(StockError::Clock)?;
        let queue = Queue {
            exchange: row.exchange,
            arm: row.arm,
            first: MOST * block as usize,
            clients: commands.len(),
            end: self.wall()?.saturating_add(slice),
            taken: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
        };
        let clients = Clients {
            requests: self.requests,
            texts: self.texts,
            packs: &self.packs,
            clock: self.clock,
            progress: self.progress,
        };
        let served: Vec<Result<Vec<(usize, LoadSample)>, StockError>> = thread::scope(|scope| {
            let started: Vec<_> = commands
                .iter_mut()
                .map(|command| threads::spawn(scope, || clients.run(&queue, command)))
                .inspect(|started| {
                    if started.is_err() {
                        queue.has_failed.store(true, Ordering::Relaxed);
                    }
                })
                .collect();
            let join = |thread: ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            started.into_iter().map(|thread| thread.map_err(StockError::Thread).and_then(join)).collect()
        });
        let end = self.clock.read_children().map_err(StockError::Clock)?;
        let mut samples: Vec<_> = served.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        samples.sort_unstable_by_key(|(at, _)| *at);
        let cpu = (end.user + end.sys).saturating_sub(begin.user + begin.sys);
        Ok(ClientRun { samples: samples.into_iter().map(|(_, sample)| sample).collect(), cpu })
    }

    fn wall(&self) -> Result<Duration, StockError> {
        self.clock.read_wall().map_err(StockError::Clock)
    }
}

/// The requests of a block, which clients take one after another.
struct Queue {
    exchange: LoadExchange,
    arm: ServingArm,
    first: usize,
    clients: usize,
    /// When no more requests are sent, on the clock.
    end: Duration,
    taken: AtomicUsize,
    has_failed: AtomicBool,
}

/// The part of [`Load`] that threads share.
struct Clients<'a> {
    requests: &'a Requests,
    texts: &'a [PathBuf],
    packs: &'a BTreeMap<(ServingArm, usize), u64>,
    clock: &'a (dyn Clock + Sync),
    progress: &'a dyn Progress,
}

impl Clients<'_> {
    /// One client: sends requests, and returns what they took, with their places in the draw.
    fn run(&self, queue: &Queue, command: &mut Command) -> Result<Vec<(usize, LoadSample)>, StockError> {
        let served = self.send_all(queue, command);
        if served.is_err() {
            queue.has_failed.store(true, Ordering::Relaxed);
        }
        served
    }

    fn send_all(&self, queue: &Queue, command: &mut Command) -> Result<Vec<(usize, LoadSample)>, StockError> {
        let mut samples = Vec::new();
        while let Some(at) = self.next(queue)? {
            let request = self.requests.number(queue.exchange, queue.first + at);
            let Some(text) = self.texts.get(request) else { break };
            let mut sent = Sent(0);
            let finished = run_timed(with_input(command, text)?, self.clock, self.progress, &mut sent)?;
            let elapsed_ns = nanoseconds(finished.sample.wall);
            samples.push((at, LoadSample { request, elapsed_ns }));
            if self.packs.get(&(queue.arm, request)) != Some(&sent.0) {
                let why = format!("sent a pack of {} bytes, which is not the length of the checked one", sent.0);
                return Err(StockError::failed(command, &why));
            }
        }
        Ok(samples)
    }

    /// The place of the next request in the block, unless there are enough.
    fn next(&self, queue: &Queue) -> Result<Option<usize>, StockError> {
        if queue.has_failed.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let at = queue.taken.fetch_add(1, Ordering::Relaxed);
        let is_late = || self.clock.read_wall().map(|now| now >= queue.end).map_err(StockError::Clock);
        Ok((at < queue.clients || at < MOST && !is_late()?).then_some(at))
    }
}

/// Counts the bytes that a client gets.
struct Sent(u64);

impl Sink for Sent {
    fn take(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}
