//! The cost of serving a clone or a fetch, to clients that speak a codec and to clients that only speak zlib.

use std::{path::Path, time::Duration};

use repackbench_codec::{CodecSpec, Decoders};
use repackbench_reader::{DEFAULT_DELTA_CACHE, Repository};
use repackbench_records::{ROLLOUT_SCHEMA_VERSION, Rollout, ServedClient, ServedExchange, ServerStore, SpecText};
use repackbench_writer::{JobControl, Layout, Progress, ProgressUnit, cache::Cache, cached_variant};

use crate::{
    BenchError,
    clock::{Clock, Sample, measure},
    host_with_software,
    record_names::vcs_of,
    session::{Arms, RunLength, Schedule, Session, Slot, Turn},
    workloads::{HistoryRange, StoreServer, VariantPlace, WorkloadError},
};

/// A run makes packs for 50 milliseconds, so that the clock's grain does not show, but at most 1000.
const RUN_LENGTH: RunLength = RunLength::at_least(Duration::from_millis(50), 1000);

/// What to measure.
#[derive(Debug, Clone)]
pub struct RolloutPlan {
    /// The codec that clients move to.
    pub codec: CodecSpec,
    /// The served commits: the last ones of the range, or all if it has no limit.
    pub range: HistoryRange,
    /// How many times each pack is made.
    pub runs: u32,
    /// The seed of the order of runs, which is drawn again for each block.
    pub seed: u64,
    /// Threads for making variants. Packs are made on one thread.
    pub threads: usize,
}

/// A server and its client.
struct Case {
    client: ServedClient,
    server: usize,
    iterations: u32,
    measured: ServedExchange,
}

/// Carries `plan` out on `source`, which messages call `name`.
///
/// # Errors
/// See [`BenchError`].
pub fn rollout(
    source: &Repository,
    name: &str,
    plan: &RolloutPlan,
    cache: &Cache,
    clock: &dyn Clock,
    progress: &dyn Progress,
) -> Result<Rollout, BenchError> {
    let snapshot = source.snapshot()?;
    let codec = match source {
        Repository::Git(_) => plan.codec.clone(),
        Repository::Hg(_) => plan.codec.for_revlogs(),
    };
    let zlib: CodecSpec = StoreServer::PLAIN.parse().map_err(|e| refused(&e))?;
    let control = JobControl { threads: plan.threads, progress };
    let zlib_folder = cached_variant(cache, source, &zlib, Layout::default(), control)?;
    let codec_folder = cached_variant(cache, source, &codec, Layout::default(), control)?;
    let zlib = place(source, zlib_folder.path(), &zlib);
    let converted = place(source, codec_folder.path(), &codec);
    let mut mixed = StoreServer::at(&converted, &plan.range)?;
    mixed.mix(&zlib)?;
    let mut servers = [StoreServer::at(&zlib, &plan.range)?, StoreServer::at(&converted, &plan.range)?, mixed];
    let mut cases: Vec<Case> = [
        (ServerStore::Zlib, ServedClient::Old, 0),
        (ServerStore::Converted, ServedClient::Old, 1),
        (ServerStore::Converted, ServedClient::Upgraded, 1),
        (ServerStore::Mixed, ServedClient::Old, 2),
        (ServerStore::Mixed, ServedClient::Upgraded, 2),
    ]
    .into_iter()
    // No client knows numbers.
    .filter(|(_, client, _)| *client == ServedClient::Old || !codec.uses_numbers())
    .map(|(store, client, server)| Case::new(store, client, server))
    .collect();
    let session = Session::new(clock, progress);
    let schedule = Schedule::once_each(cases.len(), plan.runs, plan.seed);
    progress.start("serving", schedule.turns(), ProgressUnit::Items);
    session.run(schedule, None, &mut Exchanges { cases: &mut cases, servers: &mut servers, clock, session })?;
    progress.finish();
    snapshot.check()?;
    let exchanges: Vec<ServedExchange> = cases.into_iter().map(Case::finish).collect();
    Ok(Rollout {
        schema: ROLLOUT_SCHEMA_VERSION,
        vcs: Some(vcs_of(source)),
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        host: host_with_software(&[vcs_of(source)]),
        repository: name.to_owned(),
        spec: SpecText { typed: codec.to_string(), canonical: codec.canonical() },
        commits: plan.range.commits,
        revision: plan.range.revision.clone(),
        seed: plan.seed,
        steps: Rollout::steps_of(&exchanges),
        exchanges,
    })
}

fn place(source: &Repository, folder: &Path, spec: &CodecSpec) -> VariantPlace {
    VariantPlace {
        folder: folder.to_owned(),
        payloads: source.own_folder().to_owned(),
        spec: Some(spec.clone()),
        decoders: Decoders::for_spec(spec),
        delta_cache: Some(DEFAULT_DELTA_CACHE),
    }
}

fn refused(error: &impl std::fmt::Display) -> BenchError {
    WorkloadError::Refused { why: error.to_string() }.into()
}

/// The cases as arms.
struct Exchanges<'a> {
    cases: &'a mut [Case],
    servers: &'a mut [StoreServer],
    clock: &'a dyn Clock,
    session: Session<'a>,
}

impl Arms for Exchanges<'_> {
    type Error = BenchError;

    fn warm_up(&mut self, slot: Slot) -> Result<(), BenchError> {
        let case = self.cases.get_mut(slot.variant());
        case.map_or(Ok(()), |case| case.warm_up(self.servers, self.clock))
    }

    fn run(&mut self, turn: Turn) -> Result<(), BenchError> {
        let case = self.cases.get_mut(turn.slot.variant());
        case.map_or(Ok(()), |case| case.run(self.servers, self.clock, &self.session))
    }
}

impl Case {
    fn new(store: ServerStore, client: ServedClient, server: usize) -> Self {
        let measured = ServedExchange {
            store,
            client,
            entries: 0,
            reused: 0,
            encoded: 0,
            wire_bytes: 0,
            dictionary_bytes: 0,
            cpu_ns: Vec::new(),
            median_cpu_ns: 0,
        };
        Case { client, server, iterations: 1, measured }
    }

    /// Makes the pack or bundle once, checks what is encoded, and computes how often a run has to make it.
    fn warm_up(&mut self, servers: &mut [StoreServer], clock: &dyn Clock) -> Result<(), BenchError> {
        self.serve(servers, true)?;
        let sample = self.measure(servers, clock)?;
        self.iterations = RUN_LENGTH.jobs(sample.user + sample.sys);
        Ok(())
    }

    fn run(&mut self, servers: &mut [StoreServer], clock: &dyn Clock, session: &Session<'_>) -> Result<(), BenchError> {
        let (sum, jobs) = RUN_LENGTH.run(session, self.iterations, || self.measure(servers, clock))?;
        let mean = sum.mean_of(jobs);
        self.measured.cpu_ns.push(u64::try_from((mean.user + mean.sys).as_nanos()).unwrap_or(u64::MAX));
        Ok(())
    }

    fn measure(&mut self, servers: &mut [StoreServer], clock: &dyn Clock) -> Result<Sample, BenchError> {
        if let Some(server) = servers.get_mut(self.server) {
            server.forget();
        }
        let (result, sample) = measure(clock, || self.serve(servers, false)).map_err(BenchError::clock)?;
        result?;
        Ok(sample)
    }

    fn serve(&mut self, servers: &mut [StoreServer], is_checked: bool) -> Result<(), WorkloadError> {
        let Some(server) = servers.get_mut(self.server) else { return Ok(()) };
        let is_plain = self.measured.store == ServerStore::Zlib;
        let served = server.serve(self.client == ServedClient::Upgraded, is_plain, is_checked)?;
        self.measured.entries = served.entries;
        self.measured.reused = served.reused;
        self.measured.encoded = served.encoded;
        self.measured.wire_bytes = served.wire_bytes;
        self.measured.dictionary_bytes = served.dictionary_bytes;
        Ok(())
    }

    fn finish(mut self) -> ServedExchange {
        let mut sorted = self.measured.cpu_ns.clone();
        sorted.sort_unstable();
        let middle = |at: usize| sorted.get(at).copied().unwrap_or_default();
        let (below, above) = (middle(sorted.len().saturating_sub(1) / 2), middle(sorted.len() / 2));
        self.measured.median_cpu_ns = below.midpoint(above);
        self.measured
    }
}
