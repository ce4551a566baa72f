//! All chunks of a repository by stratum, and a random sample of them.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use rand::{Rng, rngs::SmallRng, seq::SliceRandom};
use repackbench_analysis::StratumSample;
use repackbench_codec::BLOCK_LEN;
use repackbench_reader::{Chunk, ChunkKind, Repository};

/// The most chunks of a stratum that a sample can hold.
const MOST_OF_STRATUM: usize = 4096;

/// The fewest, unless the stratum has fewer, or they have more than this share of the sample's bytes.
const FEWEST_OF_STRATUM: usize = 40;
const FEWEST_BYTES_OF_STRATUM: f64 = 1.0 / 64.0;

/// At most this many chunks of each stratum come first, before [`FIRST_PART`] in the order, so that the spread of most
/// is known however little time there is. Those of one stratum have at most this share of the sample's bytes: under the
/// slowest codecs, which take seconds for a megabyte, strata of longer chunks wait.
pub(super) const FIRST_OF_STRATUM: usize = 16;
const FIRST_BYTES: f64 = 1.0 / 1024.0;
pub(super) const FIRST_PART: f64 = 0.01;

/// The approximate number of chunks in a sample.
const CHUNKS: f64 = 6000.0;

/// The approximate limits of payload bytes in a sample: for each second that there is, and for any time. The default
/// codecs together take half a second of both cores for a megabyte.
const BYTES_FOR_A_SECOND: f64 = 1e6;
const FEWEST_BYTES: f64 = 8e6;
const MOST_BYTES: f64 = 40e6;

/// The fewest chunks that are decoded, whatever they take.
pub(super) const FEWEST_DECODED: usize = 200;

/// Chunks of one group and about one length.
#[derive(Debug, Clone, Default)]
pub(super) struct Stratum {
    /// The number of their group.
    group: usize,
    /// The number of chunks.
    pub(super) chunks: u64,
    /// Their stored bytes.
    pub(super) stored: u64,
    /// Their payload bytes.
    pub(super) payload: u64,
    /// The numbers of some, in random order: every chunk is among them with the same probability.
    drawn: Vec<u64>,
}

/// All chunks of a repository.
#[derive(Debug, Clone, Default)]
pub(super) struct Population {
    /// The strata, by number.
    pub(super) strata: Vec<Stratum>,
    by_class: BTreeMap<Class, usize>,
    groups: Vec<Group>,
    /// Whether a replay knows only an upper bound of a delta's payload, as in revlogs. Then no delta counts as
    /// compressed already.
    are_deltas_bounded: bool,
    /// The number of chunks.
    chunks: u64,
    /// The stored bytes of chunks that are too long to be held in memory.
    pub(super) large: u64,
}

/// A chunk of this many stored bytes or more that has at least this share of its payload's is taken to hold what is
/// compressed already, such as an image; in a store without compression these are all long chunks. Some decoders take
/// next to no time for that, and others as much as for text.
const LONG: u64 = 4096;
const INCOMPRESSIBLE: f64 = 0.95;

/// What strata have in common: the kind, and whether they hold what is compressed already.
type Group = (ChunkKind, bool);

/// What distinguishes strata: the group, and the binary order of magnitude of the stored length.
type Class = (Group, u32);

/// A chunk of the sample.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Drawn {
    /// Its stratum.
    pub(super) stratum: usize,
    /// Its place in the order in which chunks are decoded, and those of one stratum encoded: every beginning of this
    /// order is a stratified sample too.
    pub(super) order: f64,
    /// Whether it may be decoded: it is among the first.
    pub(super) is_decoded: bool,
}

impl Population {
    /// No chunks of `repository` yet.
    pub(super) fn of(repository: &Repository) -> Self {
        Population { are_deltas_bounded: matches!(repository, Repository::Hg(_)), ..Population::default() }
    }

    /// Adds a chunk. The order of calls is that of the store.
    pub(super) fn add(&mut self, chunk: &Chunk<'_>, random: &mut SmallRng) {
        let at = self.stratum_for(chunk.kind, (chunk.stored_len, chunk.payload_len));
        if let Some(stratum) = self.strata.get_mut(at) {
            stratum.add(self.chunks, chunk.stored_len, chunk.payload_len, random);
        }
        if chunk.payload_len > BLOCK_LEN as u64 {
            self.large = self.large.saturating_add(chunk.stored_len);
        }
        self.chunks += 1;
    }

    /// The class of a chunk of these stored and payload lengths.
    fn class(&self, kind: ChunkKind, (stored_len, payload_len): (u64, u64)) -> Class {
        let is_incompressible = !(kind.is_delta && self.are_deltas_bounded)
            && stored_len >= LONG
            && stored_len as f64 >= INCOMPRESSIBLE * payload_len as f64;
        ((kind, is_incompressible), stored_len.max(1).ilog2())
    }

    fn stratum_for(&mut self, kind: ChunkKind, lengths: (u64, u64)) -> usize {
        let class = self.class(kind, lengths);
        *self.by_class.entry(class).or_insert_with(|| {
            let known = self.groups.iter().position(|known| *known == class.0);
            let group = known.unwrap_or_else(|| {
                self.groups.push(class.0);
                self.groups.len() - 1
            });
            self.strata.push(Stratum { group, ..Stratum::default() });
            self.strata.len() - 1
        })
    }

    /// The strata before anything of them is measured, with their stored bytes as `x`.
    pub(super) fn to_sample(&self) -> Vec<StratumSample> {
        let stratum = |of: &Stratum| StratumSample::new(of.group, of.chunks, of.stored as f64);
        self.strata.iter().map(stratum).collect()
    }

    /// The stratum of a chunk of these stored and payload `lengths` among those that `has` accepts: its own, or else
    /// the nearest of its group, where a byte costs most nearly the same. `None` if there is none in its group.
    pub(super) fn stratum_near(
        &self,
        kind: ChunkKind,
        lengths: (u64, u64),
        has: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let own = self.class(kind, lengths);
        let accepted = |(class, at): (&Class, &usize)| has(*at).then_some((own.1.abs_diff(class.1), *at));
        let smaller = self.by_class.range((own.0, 0)..=own).rev().find_map(accepted);
        let larger = self.by_class.range(own..=(own.0, u32::MAX)).find_map(accepted);
        smaller.into_iter().chain(larger).min_by_key(|(distance, _)| *distance).map(|(_, at)| at)
    }

    /// A sample, by the chunks' numbers in the order of the store. A stratum gets chunks in proportion to its stored
    /// bytes, and fewer of long chunks, which take more time for the same information. `time` is that of the whole
    /// session. The first chunks, of about `decoded_bytes` payload bytes but enough for [`FEWEST_DECODED`], may be
    /// decoded.
    pub(super) fn sample(&mut self, random: &mut SmallRng, time: Duration, decoded_bytes: f64) -> HashMap<u64, Drawn> {
        let most_bytes = (BYTES_FOR_A_SECOND * time.as_secs_f64()).clamp(FEWEST_BYTES, MOST_BYTES);
        self.strata.iter_mut().for_each(|stratum| stratum.drawn.shuffle(random));
        let weight = |stratum: &Stratum| stratum.stored as f64 / stratum.mean_payload().sqrt();
        let weights: f64 = self.strata.iter().map(weight).sum();
        let wanted = |scale: f64| -> Vec<usize> {
            let share =
                |stratum: &Stratum| (scale * CHUNKS * weight(stratum) / weights.max(f64::MIN_POSITIVE)) as usize;
            let fewest = |stratum: &Stratum| {
                let affordable = most_bytes * FEWEST_BYTES_OF_STRATUM / stratum.mean_payload();
                (affordable as usize).clamp(2, FEWEST_OF_STRATUM)
            };
            let count = |stratum| share(stratum).max(fewest(stratum)).min(stratum.drawn.len());
            self.strata.iter().map(count).collect()
        };
        let bytes = |counts: &[usize]| -> f64 {
            self.strata.iter().zip(counts).map(|(stratum, count)| *count as f64 * stratum.mean_payload()).sum()
        };
        let mut counts = wanted(1.0);
        counts = wanted((most_bytes / bytes(&counts).max(1.0)).min(1.0));
        // What is still too much is in strata of long chunks.
        for (count, stratum) in counts.iter_mut().zip(&self.strata) {
            let affordable = most_bytes / 2.0 / stratum.mean_payload();
            *count = (*count).min((affordable as usize).max(2));
        }
        let count = counts.iter().sum::<usize>().max(1);
        // Twice the fewest, since slow codecs do not encode all of them.
        let decoded = (decoded_bytes / bytes(&counts).max(1.0)).max(2.0 * FEWEST_DECODED as f64 / count as f64);
        let decoded_part = FIRST_PART + (1.0 - FIRST_PART) * decoded;
        let mut sample = HashMap::new();
        for ((at, stratum), count) in self.strata.iter().enumerate().zip(counts) {
            let affordable = most_bytes * FIRST_BYTES / stratum.mean_payload();
            // A whole stratum without any chunk would be a guess, so one that is up to twice too long has one.
            let first = (affordable.round() as usize).min(FIRST_OF_STRATUM);
            for (place, number) in stratum.drawn.iter().take(count).enumerate() {
                let late = count.saturating_sub(first) as f64;
                let order = match place.checked_sub(first) {
                    None => FIRST_PART * random.random_range(0.0..1.0),
                    Some(place) => {
                        let evenly = (place as f64 + random.random_range(0.0..1.0)) / late;
                        FIRST_PART + (1.0 - FIRST_PART) * evenly
                    }
                };
                sample.insert(*number, Drawn { stratum: at, order, is_decoded: order < decoded_part });
            }
        }
        sample
    }
}

impl Stratum {
    /// Adds a chunk, and draws it as reservoir sampling does (Vitter's algorithm R).
    fn add(&mut self, number: u64, stored_len: u64, payload_len: u64, random: &mut SmallRng) {
        self.chunks += 1;
        self.stored = self.stored.saturating_add(stored_len);
        self.payload = self.payload.saturating_add(payload_len);
        if self.drawn.len() < MOST_OF_STRATUM {
            self.drawn.push(number);
            return;
        }
        let at = random.random_range(0..self.chunks);
        if let Some(drawn) = usize::try_from(at).ok().and_then(|at| self.drawn.get_mut(at)) {
            *drawn = number;
        }
    }

    pub(super) fn mean_payload(&self) -> f64 {
        (self.payload as f64 / self.chunks.max(1) as f64).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rand::SeedableRng;
    use repackbench_reader::ObjectKind;

    use super::*;

    fn population(lengths: impl Iterator<Item = u64>) -> Population {
        let mut random = SmallRng::seed_from_u64(1);
        let mut population = Population::default();
        for stored_len in lengths {
            let chunk = Chunk {
                file: Path::new(""),
                offset: 0,
                header_len: 0,
                kind: ChunkKind { object: ObjectKind::Blob, is_delta: false },
                base: None,
                payload_len: 3 * stored_len,
                stored_len,
                stored: &[],
            };
            population.add(&chunk, &mut random);
        }
        population
    }

    #[test]
    fn strata_are_orders_of_magnitude() {
        let population = population([0, 1, 2, 3, 4, 1000, 1023, 1024].into_iter());
        let chunks: Vec<u64> = population.strata.iter().map(|stratum| stratum.chunks).collect();
        assert_eq!(chunks, [2, 2, 1, 2, 1]);
        let stored: u64 = population.strata.iter().map(|stratum| stratum.stored).sum();
        assert_eq!((population.chunks, stored), (8, 3057));
    }

    #[test]
    fn chunk_without_a_stratum_has_the_nearest_of_its_group() {
        let population = population([100, 3000, 5000, 90_000].into_iter());
        let blob = ChunkKind { object: ObjectKind::Blob, is_delta: false };
        let near = |lengths, left_out| population.stratum_near(blob, lengths, |at| at != left_out);
        assert_eq!([near((110, 300), 9), near((110, 300), 0), near((1, 3), 9)], [Some(0), Some(1), Some(0)]);
        assert_eq!([near((80_000, 240_000), 3), near((9_000_000, 27_000_000), 9)], [Some(2), Some(3)]);
        assert_eq!([near((5000, 5001), 9), near((100, 101), 9)], [None, Some(0)], "an image is like no text");
        let tree = ChunkKind { object: ObjectKind::Tree, is_delta: false };
        assert_eq!(population.stratum_near(tree, (100, 300), |_| true), None);
    }

    #[test]
    fn every_chunk_of_a_large_stratum_may_be_drawn() {
        let population = population(std::iter::repeat_n(10, 10 * MOST_OF_STRATUM));
        let drawn = &population.strata[0].drawn;
        assert_eq!(drawn.len(), MOST_OF_STRATUM);
        let late = drawn.iter().filter(|number| **number >= 5 * MOST_OF_STRATUM as u64).count();
        assert!((MOST_OF_STRATUM * 45 / 100..MOST_OF_STRATUM * 55 / 100).contains(&late), "{late}");
    }

    #[test]
    fn small_strata_are_in_the_sample_as_a_whole() {
        let lengths = std::iter::repeat_n(100, 20_000).chain(std::iter::repeat_n(1 << 20, 5));
        let mut population = population(lengths);
        let sample = population.sample(&mut SmallRng::seed_from_u64(2), Duration::from_secs(200), 1e6);
        assert_eq!(sample.values().filter(|drawn| drawn.stratum == 1).count(), 5);
        assert!(sample.len() >= FEWEST_OF_STRATUM + 5);
        assert!(sample.values().all(|drawn| (0.0..1.0).contains(&drawn.order)));
    }

    #[test]
    fn each_stratum_begins_with_enough_chunks() {
        let lengths = std::iter::repeat_n(100, 20_000).chain(std::iter::repeat_n(1 << 11, 5));
        let sample = population(lengths).sample(&mut SmallRng::seed_from_u64(2), Duration::from_secs(200), 1e6);
        let first = |stratum| {
            let of_stratum = sample.values().filter(|drawn| drawn.stratum == stratum);
            of_stratum.filter(|drawn| drawn.order < FIRST_PART).count()
        };
        assert_eq!((first(0), first(1)), (FIRST_OF_STRATUM, 5));
    }

    #[test]
    fn sample_of_long_chunks_keeps_to_its_bytes() {
        let mut population = population(std::iter::repeat_n(30 << 20, 300));
        let sample = population.sample(&mut SmallRng::seed_from_u64(2), Duration::from_secs(200), 1e6);
        assert_eq!(sample.len(), 2);
    }
}
