//! The cost of long delta chains: the time to read objects, by the number of deltas in their chains.
//!
//! Every object is read from empty caches, so that its whole chain is decoded and applied. A workload reads with caches
//! that are full of bases, and takes less time; this measurement shows what a codec adds to each delta.

mod git;
mod hg;

use std::{fmt, io, time::Duration};

use gix_hash::ObjectId;
use rand::{Rng, SeedableRng, rngs::SmallRng, seq::SliceRandom};
use repackbench_codec::Decoders;
use repackbench_reader::{ObjectKind, ReaderError, Repository};
use repackbench_records::{ChainReads, ChainRecord, SCHEMA_VERSION};
use repackbench_writer::{Progress, ProgressUnit};

use self::{git::PackedChains, hg::RevlogChains};
use crate::{
    clock::{Clock, Sample, measure, unix_ms},
    session::{Arms, BASELINE, RunLength, Schedule, Session, Slot, Stop, Turn},
};

/// The smallest and the largest number of deltas of the chains in each bucket.
pub const BUCKETS: [(u32, Option<u32>); 7] =
    [(0, Some(0)), (1, Some(1)), (2, Some(4)), (5, Some(9)), (10, Some(19)), (20, Some(49)), (50, None)];

/// The largest number of objects of a bucket that are read.
pub const SAMPLE: usize = 500;

/// The largest number of deltas that reading each of them once may take, unless one object has more.
const SAMPLED_DELTAS: u64 = 500_000;

/// The seed of samples. A sample depends only on the first repository.
const SEED: u64 = 4;

/// The number of times that each object is timed in each repository; the median counts.
const ROUNDS: u32 = 3;

/// A round reads an object for 100 microseconds, so that the clock's grain, a microsecond, does not show, but at most
/// 100 times.
const ROUND_LENGTH: RunLength = RunLength::at_least(Duration::from_micros(100), 100);

/// Why chains could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    /// A repository could not be read.
    #[error(transparent)]
    Reader(#[from] ReaderError),
    /// The clock could not be read.
    #[error("cannot read the clock: {0}")]
    Clock(io::Error),
    /// The user stopped the work.
    #[error("interrupted")]
    Interrupted,
    /// A repository does not hold the same objects in the same chains as the first one.
    #[error("{repository} is not a variant of {first} with the same deltas: {why}")]
    NotAVariant {
        /// The repository.
        repository: String,
        /// The first repository.
        first: String,
        /// The difference.
        why: String,
    },
}

impl From<Stop> for ChainError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Interrupted => ChainError::Interrupted,
            Stop::Clock(source) => ChainError::Clock(source),
        }
    }
}

/// The place of an object: a pack or revlog, and a position in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Location {
    file: usize,
    position: usize,
}

/// The name of an object in all variants of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ObjectName {
    /// An object in a pack.
    Packed(ObjectId),
    /// A revision of a revlog.
    Revision { kind: ObjectKind, path: Vec<u8>, revision: usize, node: ObjectId },
}

impl ObjectName {
    /// The object's id, or the revision's node.
    fn id(&self) -> &ObjectId {
        match self {
            ObjectName::Packed(id) | ObjectName::Revision { node: id, .. } => id,
        }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ObjectName::Packed(id) => write!(f, "object {id}"),
            ObjectName::Revision { kind, path, revision, .. } => {
                write!(f, "revision {revision} of the {kind} {}", String::from_utf8_lossy(path))
            }
        }
    }
}

/// Receives an object: its location, the number of deltas in its chain, and the length of its own stored bytes.
type VisitObject<'a> = dyn FnMut(Location, u32, u64) + 'a;

/// A repository whose objects are read one by one.
trait ChainStore {
    /// Calls `visit` on every object, always in the same order.
    fn for_each(&mut self, visit: &mut VisitObject<'_>) -> Result<(), ReaderError>;

    /// The name of the object at `location`; `None` if the repository has another object of that name.
    fn name(&mut self, location: Location) -> Result<Option<ObjectName>, ReaderError>;

    /// The location of the object `name` at the end of `chain` deltas, or the reason why there is none.
    fn find(&mut self, name: &ObjectName, chain: u32) -> Result<Result<Location, String>, ReaderError>;

    /// Opens the files that reading the object at `location` takes.
    fn prepare(&mut self, location: Location) -> Result<(), ReaderError>;

    /// Reads the object at `location` into `content`, from empty caches.
    fn read(&mut self, location: Location, content: &mut Vec<u8>) -> Result<(), ReaderError>;
}

/// Opens `repository`. Its chunks are read by the implementations that wrote them.
fn open(repository: &Repository) -> Result<Box<dyn ChainStore + '_>, ReaderError> {
    let decoders = repository.recorded_spec().as_ref().map_or_else(Decoders::default, Decoders::for_spec);
    Ok(match repository {
        Repository::Git(git) => Box::new(PackedChains::open(git, decoders)?),
        Repository::Hg(hg) => Box::new(RevlogChains::open(hg, decoders)?),
    })
}

/// The bucket of a chain of `chain` deltas.
fn bucket_of(chain: u32) -> usize {
    BUCKETS.iter().rposition(|(least, _)| *least <= chain).unwrap_or(0)
}

/// The number of objects in a bucket, and the stored bytes of their chunks.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    objects: u64,
    stored_bytes: u64,
}

type Tallies = [Tally; BUCKETS.len()];

/// The objects that were drawn from each bucket, with the number of deltas in their chains.
type Drawn = Vec<Vec<(Location, u32)>>;

/// A repository with its name for people.
struct ChainRepository<'a> {
    name: &'a str,
    store: Box<dyn ChainStore + 'a>,
    tallies: Tallies,
}

/// An object that is to be read, with its place in each repository.
struct Sampled {
    bucket: usize,
    name: ObjectName,
    deltas: u32,
    locations: Vec<Location>,
}

/// Reads the same objects of all `repositories`, which come with their names for tables: the first, and variants of it.
/// Samples are drawn from the first. Every object is read in each repository before the next object. Loose objects have
/// no chains and are left out. `command` is the command that asked for it, as a shell reads it.
///
/// # Errors
/// See [`ChainError`].
pub fn measure_chains(
    repositories: &[(String, Repository)],
    command: Option<&str>,
    clock: &dyn Clock,
    progress: &dyn Progress,
) -> Result<Vec<ChainRecord>, ChainError> {
    let began = unix_ms();
    let snapshots = repositories.iter().map(|(_, repository)| repository.snapshot()).collect::<Result<Vec<_>, _>>()?;
    let mut surveyed = Vec::new();
    let mut drawn = Drawn::new();
    for (name, repository) in repositories {
        let mut store = open(repository)?;
        let (tallies, sample) = survey(store.as_mut())?;
        if surveyed.is_empty() {
            drawn = sample;
        }
        surveyed.push(ChainRepository { name, store, tallies });
    }
    check_tallies(&surveyed)?;
    let sample = locate(&mut surveyed, &drawn)?;
    let mut reads: Vec<Buckets> = surveyed.iter().map(|_| Buckets::default()).collect();
    let session = Session::new(clock, progress);
    let readings = sample.len() as u64 * surveyed.len() as u64 * u64::from(ROUNDS);
    progress.start("reading objects", readings, ProgressUnit::Items);
    for (number, object) in sample.iter().enumerate() {
        // No repository is always read first.
        let schedule = Schedule::rotating(surveyed.len(), ROUNDS, number);
        let mut arms = ObjectReads::new(&mut surveyed, object, clock);
        session.run(schedule, None, &mut arms)?;
        let iterations = arms.iterations;
        for (buckets, cpu_ns) in reads.iter_mut().zip(arms.cpu_ns) {
            let Some(bucket) = buckets.get_mut(object.bucket) else { continue };
            let id = object.name.id().to_string();
            bucket.push(ChainReads { object: id, deltas: object.deltas, iterations, cpu_ns });
        }
    }
    progress.finish();
    snapshots.iter().try_for_each(|snapshot| snapshot.check())?;
    Ok(records(&surveyed, reads, began, command))
}

/// The objects of one repository that were read, by bucket.
type Buckets = [Vec<ChainReads>; BUCKETS.len()];

/// One record for each repository and each bucket that has objects.
fn records(
    repositories: &[ChainRepository<'_>],
    reads: Vec<Buckets>,
    session: u64,
    command: Option<&str>,
) -> Vec<ChainRecord> {
    let mut records = Vec::new();
    for ((number, repository), buckets) in (0..).zip(repositories).zip(reads) {
        for (((least, most), tally), reads) in BUCKETS.into_iter().zip(repository.tallies).zip(buckets) {
            if tally.objects == 0 {
                continue;
            }
            records.push(ChainRecord {
                schema: SCHEMA_VERSION,
                program_version: env!("CARGO_PKG_VERSION").to_owned(),
                session,
                repository: repository.name.to_owned(),
                number,
                least,
                most,
                objects: tally.objects,
                stored_bytes: tally.stored_bytes,
                reads,
                command: command.map(str::to_owned),
            });
        }
    }
    records
}

/// Counts the objects of `store` by bucket, and draws a sample of each bucket.
fn survey(store: &mut dyn ChainStore) -> Result<(Tallies, Drawn), ReaderError> {
    let mut tallies = Tallies::default();
    let mut samples = vec![Vec::new(); BUCKETS.len()];
    let mut random = SmallRng::seed_from_u64(SEED);
    store.for_each(&mut |location, chain, stored_bytes| {
        let bucket = bucket_of(chain);
        let (Some(tally), Some(sample)) = (tallies.get_mut(bucket), samples.get_mut(bucket)) else { return };
        tally.stored_bytes = tally.stored_bytes.saturating_add(stored_bytes);
        tally.objects += 1;
        // Reservoir sampling: each object of the bucket is in the sample with the same probability.
        if sample.len() < SAMPLE {
            sample.push((location, chain));
        } else if let Some(place) = usize::try_from(random.random_range(0..tally.objects)).ok()
            && let Some(place) = sample.get_mut(place)
        {
            *place = (location, chain);
        }
    })?;
    for sample in &mut samples {
        // A full sample is in an order independent of the chains; before that, it is in the order of the files.
        sample.shuffle(&mut random);
        sample.truncate(affordable(sample));
        // Objects of one file are read one after another, so that it is opened once.
        sample.sort_unstable_by_key(|(location, _)| (location.file, location.position));
    }
    Ok((tallies, samples))
}

/// The number of objects at the start of `sample` that are read: chains may be long.
fn affordable(sample: &[(Location, u32)]) -> usize {
    let mut deltas = 0_u64;
    let fits = |(_, chain): &&(Location, u32)| {
        deltas = deltas.saturating_add(u64::from(*chain));
        deltas <= SAMPLED_DELTAS
    };
    sample.iter().take_while(fits).count().max(1).min(sample.len())
}

/// Checks that all repositories have the same number of objects in each bucket.
fn check_tallies(repositories: &[ChainRepository<'_>]) -> Result<(), ChainError> {
    let Some((first, others)) = repositories.split_first() else { return Ok(()) };
    for other in others {
        for ((expected, found), (least, most)) in first.tallies.iter().zip(&other.tallies).zip(BUCKETS) {
            if expected.objects != found.objects {
                let (chain, expected, found) = (chain_range(least, most), expected.objects, found.objects);
                let why = format!("it has {found} chains with {chain} deltas instead of {expected}");
                return Err(not_a_variant(first, other, why));
            }
        }
    }
    Ok(())
}

/// The numbers of deltas of a bucket: `0`, `2-4`, `50+`.
fn chain_range(least: u32, most: Option<u32>) -> String {
    match most {
        Some(most) if most == least => least.to_string(),
        Some(most) => format!("{least}-{most}"),
        None => format!("{least}+"),
    }
}

fn not_a_variant(first: &ChainRepository<'_>, other: &ChainRepository<'_>, why: String) -> ChainError {
    ChainError::NotAVariant { repository: other.name.to_owned(), first: first.name.to_owned(), why }
}

/// Finds in all other repositories the objects that were drawn from the first.
fn locate(repositories: &mut [ChainRepository<'_>], drawn: &Drawn) -> Result<Vec<Sampled>, ChainError> {
    let Some((first, others)) = repositories.split_first_mut() else { return Ok(Vec::new()) };
    let mut sample = Vec::new();
    for (bucket, objects) in drawn.iter().enumerate() {
        for (location, chain) in objects {
            let Some(name) = first.store.name(*location)? else { continue };
            let mut locations = vec![*location];
            for other in &mut *others {
                match other.store.find(&name, *chain)? {
                    Ok(location) => locations.push(location),
                    Err(why) => return Err(not_a_variant(first, other, why)),
                }
            }
            sample.push(Sampled { bucket, name, deltas: *chain, locations });
        }
    }
    Ok(sample)
}

/// The readings of one object in each repository, as arms.
struct ObjectReads<'a, 's> {
    repositories: &'a mut [ChainRepository<'s>],
    object: &'a Sampled,
    clock: &'a dyn Clock,
    /// The number of times that the object is read in a round.
    iterations: u32,
    /// The content in the first repository.
    expected: Vec<u8>,
    content: Vec<u8>,
    /// The CPU time of each round, by repository.
    cpu_ns: Vec<Vec<u64>>,
}

impl<'a, 's> ObjectReads<'a, 's> {
    fn new(repositories: &'a mut [ChainRepository<'s>], object: &'a Sampled, clock: &'a dyn Clock) -> Self {
        let cpu_ns = vec![Vec::with_capacity(ROUNDS as usize); repositories.len()];
        ObjectReads { repositories, object, clock, iterations: 1, expected: Vec::new(), content: Vec::new(), cpu_ns }
    }

    /// Reads the object `iterations` times from repository `arm`. Returns the time of all of them.
    fn read(&mut self, arm: usize, iterations: u32) -> Result<Sample, ChainError> {
        let (Some(repository), Some(location)) = (self.repositories.get_mut(arm), self.object.locations.get(arm))
        else {
            return Ok(Sample::ZERO);
        };
        let read = || (0..iterations).try_for_each(|_| repository.store.read(*location, &mut self.content));
        let (result, sample) = measure(self.clock, read).map_err(ChainError::Clock)?;
        result?;
        Ok(sample)
    }
}

impl Arms for ObjectReads<'_, '_> {
    type Error = ChainError;

    /// Brings the object into memory, and compares its content with that in the first repository. The first repository
    /// is read twice: the second time shows how long a reading takes.
    fn warm_up(&mut self, slot: Slot) -> Result<(), ChainError> {
        let arm = slot.variant();
        if let (Some(repository), Some(location)) = (self.repositories.get_mut(arm), self.object.locations.get(arm)) {
            repository.store.prepare(*location)?;
        }
        self.read(arm, 1)?;
        if arm == BASELINE {
            let sample = self.read(arm, 1)?;
            self.iterations = ROUND_LENGTH.jobs(cpu(sample));
            std::mem::swap(&mut self.expected, &mut self.content);
        } else if self.content != self.expected
            && let (Some(first), Some(other)) = (self.repositories.first(), self.repositories.get(arm))
        {
            return Err(not_a_variant(first, other, format!("{} has different content", self.object.name)));
        }
        Ok(())
    }

    fn run(&mut self, turn: Turn) -> Result<(), ChainError> {
        let arm = turn.slot.variant();
        let sample = self.read(arm, self.iterations)?;
        let time = u64::try_from(cpu(sample).as_nanos()).unwrap_or(u64::MAX);
        self.cpu_ns.get_mut(arm).into_iter().for_each(|rounds| rounds.push(time));
        Ok(())
    }
}

fn cpu(sample: Sample) -> Duration {
    sample.user.saturating_add(sample.sys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chain_has_one_bucket() {
        let mut next = Some(0);
        for (least, most) in BUCKETS {
            assert_eq!(next, Some(least), "no gap, no overlap");
            next = most.map(|most| most + 1);
        }
        assert_eq!(next, None, "the last one has no end");
        for (chain, bucket) in
            [(0, 0), (1, 1), (2, 2), (4, 2), (5, 3), (9, 3), (19, 4), (49, 5), (50, 6), (u32::MAX, 6)]
        {
            assert_eq!(bucket_of(chain), bucket, "{chain}");
        }
        let names = BUCKETS.map(|(least, most)| chain_range(least, most));
        assert_eq!(names, ["0", "1", "2-4", "5-9", "10-19", "20-49", "50+"]);
    }

    /// `objects` whole objects in one file.
    struct Flat {
        objects: usize,
    }

    impl ChainStore for Flat {
        fn for_each(&mut self, visit: &mut VisitObject<'_>) -> Result<(), ReaderError> {
            (0..self.objects).for_each(|position| visit(Location { file: 0, position }, 0, 10));
            Ok(())
        }

        fn name(&mut self, location: Location) -> Result<Option<ObjectName>, ReaderError> {
            let id = ObjectId::null(gix_hash::Kind::Sha1);
            Ok(location.position.is_multiple_of(2).then_some(ObjectName::Packed(id)))
        }

        fn find(&mut self, _name: &ObjectName, _chain: u32) -> Result<Result<Location, String>, ReaderError> {
            Ok(Err("nothing is found".to_owned()))
        }

        fn prepare(&mut self, _location: Location) -> Result<(), ReaderError> {
            Ok(())
        }

        fn read(&mut self, _location: Location, content: &mut Vec<u8>) -> Result<(), ReaderError> {
            content.clear();
            Ok(())
        }
    }

    fn drawn(objects: usize) -> (u64, u64, Vec<usize>) {
        let (tallies, samples) = survey(&mut Flat { objects }).unwrap();
        let positions = samples[0].iter().map(|(location, _)| location.position).collect();
        (tallies[0].objects, tallies[0].stored_bytes, positions)
    }

    #[test]
    fn samples_are_uniform_distinct_and_reproducible() {
        let (objects, stored_bytes, sample) = drawn(100_000);
        assert_eq!((objects, stored_bytes, sample.len()), (100_000, 1_000_000, SAMPLE));
        assert_eq!(drawn(100_000).2, sample);
        let mut sorted = sample;
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), SAMPLE);
        for quarter in 0..4 {
            let of_quarter = sorted.iter().filter(|position| **position / 25_000 == quarter).count();
            // Binomial with mean 125 and standard deviation 10.
            assert!(of_quarter.abs_diff(125) < 60, "{of_quarter} of quarter {quarter}");
        }
        assert_eq!(drawn(7).2, [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn samples_of_long_chains_are_small() {
        let sample = |objects: usize, chain| vec![(Location { file: 0, position: 0 }, chain); objects];
        assert_eq!(affordable(&sample(SAMPLE, 1000)), SAMPLE);
        assert_eq!(affordable(&sample(SAMPLE, 100_000)), 5);
        assert_eq!(affordable(&sample(SAMPLE, u32::MAX)), 1);
        assert_eq!(affordable(&[]), 0);
    }

    #[test]
    fn missing_objects_are_an_error() {
        let repository = |name| {
            let mut store = Flat { objects: 10 };
            let (tallies, _) = survey(&mut store).unwrap();
            ChainRepository { name, store: Box::new(store), tallies }
        };
        let drawn = survey(&mut Flat { objects: 10 }).unwrap().1;
        assert_eq!(locate(&mut [repository("one")], &drawn).unwrap().len(), 5, "names of several objects are left out");
        let error = locate(&mut [repository("one"), repository("two")], &drawn).map(|_| ()).unwrap_err().to_string();
        assert_eq!(error, "two is not a variant of one with the same deltas: nothing is found");
        let mut fewer = repository("fewer");
        fewer.tallies[2].objects += 1;
        let error = check_tallies(&[repository("one"), fewer]).unwrap_err().to_string();
        assert!(error.ends_with("it has 1 chains with 2-4 deltas instead of 0"), "{error}");
    }
}
