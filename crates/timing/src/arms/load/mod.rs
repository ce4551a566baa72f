//! git as a server of several clients at once: what clones and fetches cost, by codec and by what the client reads.
//!
//! - `requests`: what clients ask for, drawn by seed;
//! - `server`: the process that serves a request;
//! - `check`: every different pack, checked as a client would;
//! - `clients`: several clients at once, timed.
//!
//! Each request is a `git pack-objects` of its own, which is what `git upload-pack` starts: so the server is measured
//! without the client's `index-pack`.

mod check;
mod clients;
mod requests;
mod server;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt::Display,
    fs::{self, File},
    io::{self, BufWriter, Write},
    num::NonZero,
    path::{Path, PathBuf},
    process::Command,
    rc::Rc,
    thread,
    time::Duration,
};

use repackbench_client::{Sink, Zlib, metered, read_peak};
use repackbench_codec::CodecSpec;
use repackbench_reader::{Repository, git::GitRepository};
use repackbench_records::{
    CheckedPack, LeftOutLoad, LoadExchange, LoadRow, SERVING_LOAD_SCHEMA_VERSION, ServingArm, ServingLoad, SpecText,
    Vcs,
};
use repackbench_writer::{
    JobControl, Layout, Progress, ProgressUnit,
    cache::{Cache, GetOrMakeError},
    cached_variant,
};

pub use self::server::RECODE_COMMAND;
use self::{
    check::Clients,
    clients::{ClientRun, Load},
    requests::Requests,
    server::Servers,
};
use crate::{
    BenchError,
    arms::stock::{Git, GitReader, GitRow, StockError, bytes_of, run_timed},
    clock::Clock,
    host_with_software,
    session::{Arms, Budget, Schedule, Session, Turn},
    workloads::{StoreServer, WorkloadError},
};

/// How often the arms take turns under each number of clients.
const BLOCKS: u32 = 3;

/// An arm is left out if one request of each client takes this many times the arm's share of the time.
const PATIENCE: f64 = 1.5;

/// What to measure.
#[derive(Debug, Clone)]
pub struct LoadPlan {
    /// The codec of the variant.
    pub codec: CodecSpec,
    /// The revision of the newest fetched commit.
    pub revision: String,
    /// The numbers of clients at once.
    pub clients: Vec<u32>,
    /// The time for the measurement, apart from variants and checks.
    pub time: Duration,
    /// The seed of the requests and of the order of arms.
    pub seed: u64,
    /// Threads for making variants.
    pub threads: usize,
    /// The git to run, by name or path.
    pub git: OsString,
    /// This program, for [`RECODE_COMMAND`] and for measuring peak memory.
    pub program: PathBuf,
}

/// Carries `plan` out on `source`, which messages call `name`.
///
/// # Errors
/// See [`BenchError`].
pub fn serving_load(
    source: &Repository,
    name: &str,
    plan: &LoadPlan,
    cache: &Cache,
    clock: &(dyn Clock + Sync),
    progress: &dyn Progress,
) -> Result<ServingLoad, BenchError> {
    let Repository::Git(_) = source else {
        let why = format!("{name}: git serves only Git repositories under load; leave out --clients");
        return Err(WorkloadError::Refused { why }.into());
    };
    let snapshot = source.snapshot()?;
    let scratch = cache.scratch().map_err(GetOrMakeError::Cache)?;
    let git = Rc::new(Git::new(&plan.git, scratch.path())?);
    let control = JobControl { threads: plan.threads, progress };
    let zlib: CodecSpec = StoreServer::PLAIN.parse().map_err(|e| refused(&e))?;
    let zlib_folder = cached_variant(cache, source, &zlib, Layout::default(), control)?;
    let codec_folder = cached_variant(cache, source, &plan.codec, Layout::default(), control)?;
    let (zlib, variant) = (open(zlib_folder.path())?, open(codec_folder.path())?);
    let plain = GitReader { zlib: None, features: Vec::new() };
    let library = GitReader { zlib: Some(Zlib::Host), features: Vec::new() };
    let servers = Servers {
        zlib: GitRow::new(&git, &zlib, None, &plain, 0, false)?,
        codec: GitRow::new(&git, &variant, None, &library, 1, false)?,
        variant: &variant,
        version: git.version().to_owned(),
        program: &plan.program,
    };
    let requests = Requests::draw(&servers.first_parents(&plan.revision, requests::COMMITS)?, plan.seed);
    let texts = servers.write_requests(&requests.all, scratch.path())?;
    let mut load =
        Load { servers: &servers, requests: &requests, texts: &texts, packs: BTreeMap::new(), clock, progress };
    let checks = scratch.path().join("checks");
    fs::create_dir(&checks).map_err(|error| StockError::files("create", &checks, error))?;
    let clients = Clients::new(&servers, &requests.all, &checks)?;
    let (packs, costs) = check_all(&load, &clients, &checks, &plan.program)?;
    load.packs = packs.iter().map(|pack| ((pack.arm, pack.request), pack.bytes)).collect();
    let (rows, left_out) = measure(&load, &costs, plan)?;
    snapshot.check()?;
    let dictionaries = servers.dictionaries();
    Ok(ServingLoad {
        schema: SERVING_LOAD_SCHEMA_VERSION,
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        host: host_with_software(&[Vcs::Git]),
        repository: name.to_owned(),
        spec: SpecText { typed: plan.codec.to_string(), canonical: plan.codec.canonical() },
        git: servers.version.clone(),
        revision: plan.revision.clone(),
        seed: plan.seed,
        time_s: plan.time.as_secs_f64(),
        dictionary_bytes: if dictionaries.exists() { bytes_of(&dictionaries)? } else { 0 },
        requests: requests.all.clone(),
        packs,
        rows,
        left_out,
    })
}

fn open(folder: &Path) -> Result<GitRepository, BenchError> {
    match Repository::open(folder)? {
        Repository::Git(git) => Ok(*git),
        Repository::Hg(_) => Err(refused(&"a variant of a Git repository is none").into()),
    }
}

fn refused(error: &impl Display) -> WorkloadError {
    WorkloadError::Refused { why: error.to_string() }
}

/// The mean CPU time of serving a request, by arm.
type Costs = BTreeMap<(LoadExchange, ServingArm), Duration>;

/// Serves every different request once in every arm, untimed, and checks the pack. This also warms everything up.
fn check_all(
    load: &Load<'_>,
    clients: &Clients<'_>,
    folder: &Path,
    meter: &Path,
) -> Result<(Vec<CheckedPack>, Costs), BenchError> {
    let requests = &load.requests.all;
    let (mut packs, mut sums) = (Vec::new(), BTreeMap::<_, (Duration, u32)>::new());
    load.progress.start("checking packs", (requests.len() * ServingArm::ALL.len()) as u64, ProgressUnit::Items);
    let (pack, peak) = (folder.join("sent.pack"), folder.join("peak"));
    for (number, (request, text)) in requests.iter().zip(load.texts).enumerate() {
        for arm in ServingArm::ALL {
            let command = load.servers.command(arm)?;
            let mut metered =
                metered(meter, &command, Some(text), &peak).map_err(|error| StockError::files("open", text, error))?;
            let mut sink = PackFile::create(&pack)?;
            let finished = run_timed(&mut metered, load.clock, load.progress, &mut sink)?;
            let bytes = sink.close()?;
            clients.check(arm, request, text, &pack)?;
            packs.push(CheckedPack { arm, request: number, bytes, peak_bytes: read_peak(&peak) });
            // The next peak may be unknown.
            let _ = fs::remove_file(&peak);
            let (sum, count) = sums.entry((request.exchange, arm)).or_default();
            *sum += finished.sample.user + finished.sample.sys;
            *count += 1;
            load.progress.advance(1);
        }
    }
    load.progress.finish();
    Ok((packs, sums.into_iter().map(|(key, (sum, count))| (key, sum / count.max(1))).collect()))
}

/// Measures every exchange under every number of clients.
fn measure(load: &Load<'_>, costs: &Costs, plan: &LoadPlan) -> Result<(Vec<LoadRow>, Vec<LeftOutLoad>), BenchError> {
    let session = Session::new(load.clock, load.progress);
    let exchanges = load.requests.exchanges();
    let cells = u32::try_from(exchanges.len() * plan.clients.len()).unwrap_or(u32::MAX);
    let mut budget = Budget::new(load.clock, Some(plan.time), cells)?;
    let turns = u64::from(cells) * u64::from(BLOCKS) * ServingArm::ALL.len() as u64;
    load.progress.start("serving", turns, ProgressUnit::Items);
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for exchange in exchanges {
        for clients in &plan.clients {
            let share = budget.share(1)?.unwrap_or_default() / ServingArm::ALL.len() as u32;
            let mut cell = Cell { load, arms: Vec::new() };
            for arm in ServingArm::ALL {
                let wave = wave_of(costs.get(&(exchange, arm)).copied().unwrap_or_default(), *clients);
                let Some(blocks) = blocks_in(share, wave) else {
                    left_out.push(LeftOutLoad { exchange, arm, clients: *clients, expected_s: wave.as_secs_f64() });
                    continue;
                };
                cell.arms.push(CellArm::new(load, exchange, arm, *clients, (blocks, share / blocks))?);
            }
            let schedule = Schedule::once_each(cell.arms.len(), BLOCKS, plan.seed.wrapping_add(u64::from(*clients)));
            session.run(schedule, None, &mut cell)?;
            rows.extend(cell.arms.into_iter().map(|arm| arm.row));
        }
    }
    load.progress.finish();
    Ok((rows, left_out))
}

/// The expected time of one request of each of `clients`, if a request takes `cpu`.
fn wave_of(cpu: Duration, clients: u32) -> Duration {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    cpu * clients / u32::try_from(cores).unwrap_or(u32::MAX).min(clients).max(1)
}

/// How many blocks an arm with `share` of the time takes part in, if one request of each client takes `wave`. `None` if
/// it takes too long for a single one.
fn blocks_in(share: Duration, wave: Duration) -> Option<u32> {
    let waves = share.as_secs_f64() / wave.as_secs_f64().max(f64::MIN_POSITIVE);
    // Saturates.
    (waves * PATIENCE >= 1.0).then_some((waves as u32).clamp(1, BLOCKS))
}

/// The arms under one number of clients.
struct Cell<'a> {
    load: &'a Load<'a>,
    arms: Vec<CellArm>,
}

/// One arm of a cell, with what was measured.
struct CellArm {
    row: LoadRow,
    /// The command of each client.
    commands: Vec<Command>,
    /// The number of blocks that it takes part in.
    blocks: u32,
    /// How long clients send new requests in each of them.
    slice: Duration,
}

impl CellArm {
    fn new(
        load: &Load<'_>,
        exchange: LoadExchange,
        arm: ServingArm,
        clients: u32,
        (blocks, slice): (u32, Duration),
    ) -> Result<Self, StockError> {
        let commands = (0..clients).map(|_| load.servers.command(arm)).collect::<Result<_, _>>()?;
        let row = LoadRow { exchange, arm, clients, exchanges: Vec::new(), cpu_ns: 0 };
        Ok(CellArm { row, commands, blocks, slice })
    }
}

impl Arms for Cell<'_> {
    type Error = BenchError;

    fn run(&mut self, turn: Turn) -> Result<(), BenchError> {
        let Some(arm) = self.arms.get_mut(turn.slot.variant()) else { return Ok(()) };
        if turn.block >= arm.blocks {
            return Ok(());
        }
        let ClientRun { samples, cpu } = self.load.run(&arm.row, turn.block, &mut arm.commands, arm.slice)?;
        arm.row.exchanges.extend(samples);
        arm.row.cpu_ns = arm.row.cpu_ns.saturating_add(nanoseconds(cpu));
        Ok(())
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The file of a pack that is sent.
struct PackFile {
    path: PathBuf,
    file: BufWriter<File>,
    bytes: u64,
    error: Option<io::Error>,
}

impl PackFile {
    fn create(path: &Path) -> Result<Self, StockError> {
        let file = File::create(path).map_err(|error| StockError::files("create", path, error))?;
        Ok(PackFile { path: path.to_owned(), file: BufWriter::new(file), bytes: 0, error: None })
    }

    /// Returns the length of the pack.
    fn close(mut self) -> Result<u64, StockError> {
        let written = self.error.take().map_or_else(|| self.file.flush(), Err);
        written.map_err(|error| StockError::files("write", &self.path, error))?;
        Ok(self.bytes)
    }
}

impl Sink for PackFile {
    fn take(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        if self.error.is_none() {
            self.error = self.file.write_all(bytes).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_arms_take_part_in_fewer_blocks_or_none() {
        let (share, seconds) = (Duration::from_secs(12), Duration::from_secs);
        let blocks = |wave| blocks_in(share, wave);
        assert_eq!([seconds(0), seconds(4), seconds(5), seconds(7)].map(blocks), [3, 3, 2, 1].map(Some));
        assert_eq!([seconds(18), seconds(19)].map(blocks), [Some(1), None]);
        assert_eq!(blocks_in(Duration::ZERO, seconds(1)), None);
    }

    #[test]
    fn a_wave_shares_the_cores() {
        assert_eq!(wave_of(Duration::from_secs(3), 1), Duration::from_secs(3));
        let cores = u32::try_from(thread::available_parallelism().unwrap().get()).unwrap();
        assert_eq!(wave_of(Duration::from_secs(3), 4 * cores), Duration::from_secs(12));
    }
}
