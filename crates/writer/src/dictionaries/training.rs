//! Trains a dictionary on one part of a sample and tests whether it pays: on the rest, or on all that is stored if the
//! sample holds that.

use std::fmt;

use repackbench_codec::{
    Codec, CodecError, CodecSpec, Dictionary, MIN_DICTIONARY_LEN, TrainingSamples, dictionary_content,
};

use super::{WantedDictionary, sample::Sample};

/// How a dictionary will be used.
#[derive(Debug, Clone)]
pub enum DictionaryPurpose {
    /// With zstd under this spec, in the format of `zstd --train`.
    Zstd(CodecSpec),
    /// With a codec that takes any content, under this spec: content only, with the most useful part at its end.
    RawContent(CodecSpec),
}

impl DictionaryPurpose {
    /// The spec under which it will be used.
    pub fn spec(&self) -> &CodecSpec {
        match self {
            DictionaryPurpose::Zstd(spec) | DictionaryPurpose::RawContent(spec) => spec,
        }
    }
}

/// One of this many samples is held out of training.
const HELD_OUT: usize = 4;

/// The fewest samples to train on. The trainer itself needs five.
const FEWEST_SAMPLES: usize = 16;

/// The fewest sample bytes to train on, as a multiple of the smallest dictionary.
const FEWEST_BYTES: usize = 8 * MIN_DICTIONARY_LEN;

/// How often the capacity is halved in search of the dictionary that pays most, and the smallest capacity to try, in
/// bytes.
const HALVINGS: usize = 6;
const SMALLEST_CAPACITY: usize = 1 << 10;

/// Segments are selected with zstd at this level at most. A higher level takes more time and hardly changes the
/// selection.
const HIGHEST_SEARCH_LEVEL: i32 = 3;

/// The part of a sample that is compressed repeatedly.
struct Share {
    /// The approximate limit in bytes.
    bytes: usize,
    /// The limit in payloads.
    payloads: usize,
}

/// The part that entropy tables are made from. The trainer copies all tables of a dictionary for each payload.
const FOR_TABLES: Share = Share { bytes: 1 << 20, payloads: 2000 };

/// The part that a dictionary is tested on.
const FOR_TRIALS: Share = Share { bytes: 2 << 20, payloads: 4000 };

/// In approximate training, one of this many samples is left out: as many as the full training compares segment lengths
/// on, so that both take segments from the same number.
const LEFT_OUT: usize = 4;

/// In approximate training, how many times smaller the part is that segment lengths are compared on. It has about
/// `PART_PER_BYTE` bytes or more for each of the dictionary, or the training is a full one.
const APPROXIMATE_PART: usize = 6;
const PART_PER_BYTE: usize = 4;

/// In approximate training, how many times smaller the parts are that are compressed repeatedly.
const APPROXIMATE_SHARE: usize = 2;

/// The approximate size of the tag byte and payload length of a stored chunk. The checksum is in both forms.
const STORE_OVERHEAD: usize = 3;

/// The result of a dictionary on the payloads that it was tested on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tested {
    /// The number of payloads.
    pub payloads: usize,
    /// Their length in bytes.
    pub payload_bytes: usize,
    /// Their stored bytes without the dictionary.
    pub without: usize,
    /// Their stored bytes with the dictionary.
    pub with: usize,
}

/// A dictionary that was trained.
#[derive(Debug, Clone)]
pub struct TrainedDictionary {
    /// The dictionary.
    pub dictionary: Dictionary,
    /// Its result on payloads held out of training or, if it must pay and the sample is the whole class, on the class.
    pub tested: Tested,
    /// The bytes that it is expected to save in the whole class, before its own cost; negative if it costs bytes.
    pub expected_gain: i64,
    /// Its own stored size in bytes, under zstd:19.
    pub cost: u64,
}

impl TrainedDictionary {
    /// The expected gain minus the cost of the dictionary.
    pub fn net_gain(&self) -> i64 {
        self.expected_gain.saturating_sub_unsigned(self.cost)
    }
}

/// The reason why there is no dictionary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotTrained {
    /// There are too few samples to train on.
    TooFewSamples {
        /// The number of samples to train on.
        samples: usize,
        /// Their length in bytes.
        bytes: usize,
    },
    /// The trainer found nothing.
    NothingFound {
        /// The message of the trainer.
        message: String,
    },
    /// No dictionary is expected to save more bytes than it takes.
    DoesNotPay {
        /// The bytes that the best one is expected to save in the whole class.
        expected_gain: i64,
        /// The bytes that it would take itself.
        cost: u64,
    },
}

impl fmt::Display for NotTrained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotTrained::TooFewSamples { samples, bytes } => write!(
                f,
                "expected at least {FEWEST_SAMPLES} payloads of {FEWEST_BYTES} bytes in total to train on, found {samples} of {bytes}"
            ),
            NotTrained::NothingFound { message } => write!(f, "{message}"),
            NotTrained::DoesNotPay { expected_gain, cost } => {
                write!(f, "a dictionary would save {expected_gain} bytes but take {cost}")
            }
        }
    }
}

/// How much time training may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// As much as it needs.
    Full,
    /// About half of that, where there are many samples.
    Approximate,
}

impl Effort {
    /// The effort for a dictionary of `capacity` bytes from `samples`, of which some are held out.
    pub(super) fn on(self, samples: &TrainingSamples, capacity: usize) -> Self {
        let part = |of: usize| of / HELD_OUT * (HELD_OUT - 1) / LEFT_OUT * (LEFT_OUT - 1) / APPROXIMATE_PART;
        let is_enough = part(samples.len()) >= FEWEST_SAMPLES
            && part(samples.total_len()) >= capacity.saturating_mul(PART_PER_BYTE);
        if is_enough { self } else { Effort::Full }
    }

    fn train(self, samples: &TrainingSamples, capacity: usize, level: i32) -> Result<Vec<u8>, CodecError> {
        if self == Effort::Full {
            return samples.train(capacity, level);
        }
        let taken = samples.select(|position| position % LEFT_OUT != LEFT_OUT - 1);
        let part = taken.select(|position| position % APPROXIMATE_PART == 0);
        taken.train_as_part(&part, capacity, level)
    }

    fn share_of(self, share: &Share) -> Share {
        let part = if self == Effort::Full { 1 } else { APPROXIMATE_SHARE };
        Share { bytes: share.bytes / part, payloads: share.payloads / part }
    }
}

/// Trains the dictionary `wanted` with this effort, which fits the sample.
///
/// # Errors
/// The codec fails or takes no dictionaries. Finding no dictionary that pays is not an error.
pub(super) fn train(
    sample: &Sample,
    wanted: &WantedDictionary,
    effort: Effort,
) -> Result<Result<TrainedDictionary, NotTrained>, CodecError> {
    let is_held_out = |position: usize| position % HELD_OUT == HELD_OUT - 1;
    let training = sample.samples.select(|position| !is_held_out(position));
    if training.len() < FEWEST_SAMPLES || training.total_len() < FEWEST_BYTES {
        let (samples, bytes) = (training.len(), training.total_len());
        return Ok(Err(NotTrained::TooFewSamples { samples, bytes }));
    }
    let level = zstd_level(&wanted.purpose);
    // The segments chosen first are at the end, so one training serves all capacities.
    let most = wanted.capacity.min(training.total_len()).max(MIN_DICTIONARY_LEN);
    let content = match effort.train(&training, most, level.min(HIGHEST_SEARCH_LEVEL)) {
        Ok(dictionary) => dictionary_content(&dictionary).to_vec(),
        Err(error) => return Ok(Err(NotTrained::NothingFound { message: error.to_string() })),
    };
    // If the payloads have little in common, the content is shorter than requested.
    let most = most.min(content.len() + MIN_DICTIONARY_LEN);
    let tables = thinned(&training, &effort.share_of(&FOR_TABLES));
    // A few held-out payloads of a small class say little. If the sample is the class, what will be stored is known.
    let measures_class = wanted.must_pay && sample.is_whole();
    let tested = sample.samples.select(|position| measures_class || is_held_out(position));
    let mut trial = Trial::new(sample, wanted.purpose.spec(), &tested, effort)?;
    let mut best: Option<TrainedDictionary> = None;
    for capacity in capacities(most, wanted.must_pay) {
        let bytes = match wanted.purpose {
            DictionaryPurpose::Zstd(_) => tables.finalize(&content, capacity, level)?,
            DictionaryPurpose::RawContent(_) => end_of(&content, capacity).to_vec(),
        };
        let tried = trial.try_dictionary(Dictionary::new(bytes))?;
        // Once a smaller dictionary gains less, so do all that are smaller still.
        match &best {
            Some(best) if tried.net_gain() <= best.net_gain() => break,
            _ => best = Some(tried),
        }
    }
    Ok(match best {
        Some(best) if wanted.must_pay && best.net_gain() <= 0 => {
            Err(NotTrained::DoesNotPay { expected_gain: best.expected_gain, cost: best.cost })
        }
        Some(best) => Ok(best),
        None => Err(NotTrained::NothingFound { message: "no capacity to try".to_owned() }),
    })
}

/// The zstd level that entropy tables are made for.
fn zstd_level(purpose: &DictionaryPurpose) -> i32 {
    match purpose {
        DictionaryPurpose::Zstd(spec) => spec.level().unwrap_or(HIGHEST_SEARCH_LEVEL),
        DictionaryPurpose::RawContent(_) => HIGHEST_SEARCH_LEVEL,
    }
}

/// The capacities to try, largest first.
fn capacities(most: usize, may_be_smaller: bool) -> impl Iterator<Item = usize> {
    let halvings = if may_be_smaller { HALVINGS } else { 1 };
    let halves = std::iter::successors(Some(most), |capacity| Some(capacity / 2));
    halves
        .take(halvings)
        .enumerate()
        .filter(|(at, capacity)| *at == 0 || *capacity >= SMALLEST_CAPACITY)
        .map(|(_, c)| c)
}

/// Every n-th sample, so that the total is about `share`.
fn thinned(samples: &TrainingSamples, share: &Share) -> TrainingSamples {
    let stride = samples.total_len().div_ceil(share.bytes).max(samples.len().div_ceil(share.payloads)).max(1);
    samples.select(|position| position % stride == stride / 2)
}

pub(super) fn end_of(content: &[u8], length: usize) -> &[u8] {
    content.get(content.len().saturating_sub(length)..).unwrap_or(content)
}

/// Payloads to test dictionaries on, and their stored size without one.
struct Trial<'a> {
    sample: &'a Sample,
    tested: TrainingSamples,
    codec: Box<dyn Codec>,
    dictionary_encoder: Box<dyn Codec>,
    stores: bool,
    without: usize,
    buffer: Vec<u8>,
}

impl<'a> Trial<'a> {
    fn new(sample: &'a Sample, spec: &CodecSpec, tested: &TrainingSamples, effort: Effort) -> Result<Self, CodecError> {
        let stores = !spec.is_read_by_git();
        let mut trial = Trial {
            sample,
            tested: thinned(tested, &effort.share_of(&FOR_TRIALS)),
            codec: spec.new_codec()?,
            dictionary_encoder: CodecSpec::for_dictionaries().new_codec()?,
            stores,
            without: 0,
            buffer: Vec::new(),
        };
        trial.without = trial.stored_len()?;
        Ok(trial)
    }

    /// The stored bytes of the payloads with the present settings of the codec.
    fn stored_len(&mut self) -> Result<usize, CodecError> {
        let mut stored = 0;
        for payload in self.tested.iter() {
            self.buffer.clear();
            let length = self.codec.encode(payload, &mut self.buffer)?;
            stored += if self.stores { length.min(payload.len() + STORE_OVERHEAD) } else { length };
        }
        Ok(stored)
    }

    fn try_dictionary(&mut self, dictionary: Dictionary) -> Result<TrainedDictionary, CodecError> {
        self.codec.set_dictionary(Some(&dictionary))?;
        let with = self.stored_len()?;
        self.buffer.clear();
        let cost = self.dictionary_encoder.encode(dictionary.bytes(), &mut self.buffer)? as u64;
        let tested =
            Tested { payloads: self.tested.len(), payload_bytes: self.tested.total_len(), without: self.without, with };
        Ok(TrainedDictionary { dictionary, tested, expected_gain: scaled(&tested, self.sample.payloads), cost })
    }
}

/// The gain on the tested payloads, scaled to `payloads` payloads: a dictionary saves about the same on each.
fn scaled(tested: &Tested, payloads: u64) -> i64 {
    let gain = tested.without as i128 - tested.with as i128;
    let scaled = gain * i128::from(payloads) / (tested.payloads.max(1) as i128);
    i64::try_from(scaled).unwrap_or(if scaled < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(spec: &str, capacity: usize, must_pay: bool) -> WantedDictionary {
        WantedDictionary {
            kinds: Vec::new(),
            capacity,
            purpose: DictionaryPurpose::Zstd(spec.parse().unwrap()),
            must_pay,
        }
    }

    fn sample(payloads: impl Iterator<Item = Vec<u8>>) -> Sample {
        let mut sample = Sample::default();
        for payload in payloads {
            sample.payloads += 1;
            sample.payload_bytes += payload.len() as u64;
            sample.samples.push(&payload);
        }
        sample
    }

    fn noise(number: u32) -> u32 {
        number.wrapping_mul(2_654_435_761) ^ number.wrapping_mul(40_503).rotate_left(13)
    }

    /// Short payloads that begin alike.
    fn commits(count: u32) -> Sample {
        sample((0..count).map(|number| {
            let (tree, time) = (noise(number), noise(number + 7_000));
            format!("tree {tree:08x}\nauthor A U Thor <author@example.org> {time} +0100\n\nfix {tree} of {time}\n")
                .into()
        }))
    }

    #[test]
    fn training_is_deterministic_and_its_dictionary_pays() {
        let sample = commits(4000);
        let trained = train(&sample, &wanted("zstd:3", 16 << 10, true), Effort::Full).unwrap().unwrap();
        assert!(trained.tested.with < trained.tested.without, "{trained:?}");
        assert!(trained.net_gain() > 0 && trained.dictionary.bytes().len() <= 16 << 10);
        let again = train(&sample, &wanted("zstd:3", 16 << 10, true), Effort::Full).unwrap().unwrap();
        assert_eq!(again.dictionary, trained.dictionary);
    }

    #[test]
    fn smaller_dictionary_is_chosen_if_it_pays_more() {
        let sample = commits(4000);
        let largest = train(&sample, &wanted("zstd:3", 64 << 10, false), Effort::Full).unwrap().unwrap();
        let best = train(&sample, &wanted("zstd:3", 64 << 10, true), Effort::Full).unwrap().unwrap();
        assert!(best.dictionary.bytes().len() < largest.dictionary.bytes().len());
        assert!(best.net_gain() > largest.net_gain());
    }

    #[test]
    fn class_that_was_sampled_whole_is_tested_whole() {
        let whole = commits(200);
        let decided = train(&whole, &wanted("zstd:3", 4 << 10, true), Effort::Full).unwrap().unwrap();
        assert_eq!(decided.tested.payloads, 200);
        assert_eq!(decided.expected_gain, decided.tested.without as i64 - decided.tested.with as i64);
        let shown = train(&whole, &wanted("zstd:3", 4 << 10, false), Effort::Full).unwrap().unwrap();
        assert_eq!(shown.tested.payloads, 50, "what others will gain is shown by payloads outside of the training");
        let mut part = commits(200);
        part.payloads = 400;
        let decided = train(&part, &wanted("zstd:3", 4 << 10, true), Effort::Full).unwrap().unwrap();
        assert_eq!(decided.tested.payloads, 50);
    }

    #[test]
    fn less_effort_makes_a_dictionary_that_is_hardly_worse() {
        let sample = commits(20_000);
        assert_eq!(Effort::Approximate.on(&sample.samples, 8 << 10), Effort::Approximate);
        let of = |effort| train(&sample, &wanted("zstd:3", 8 << 10, true), effort).unwrap().unwrap();
        let (full, approximate) = (of(Effort::Full), of(Effort::Approximate));
        assert_ne!(approximate.dictionary, full.dictionary);
        assert!(approximate.tested.payloads < full.tested.payloads, "tested on fewer");
        let (gain, most) = (approximate.expected_gain as f64, full.expected_gain as f64);
        assert!((0.95..1.05).contains(&(gain / most)), "{gain} {most}");
    }

    #[test]
    fn few_samples_get_full_effort() {
        let on = |samples: &TrainingSamples, capacity| Effort::Approximate.on(samples, capacity);
        let few = commits(400).samples;
        assert_eq!(on(&few, 8 << 10), Effort::Full, "the part would be {} bytes", few.total_len() * 3 / 32);
        // Enough bytes, but a part of nine payloads.
        let long = sample((0..100).map(|_| vec![7; 64 << 10])).samples;
        assert_eq!(on(&long, 8 << 10), Effort::Full);
        assert_eq!(Effort::Full.on(&commits(20_000).samples, 8 << 10), Effort::Full);
    }

    #[test]
    fn dictionary_for_noise_does_not_pay() {
        let mut state = 1u32;
        let mut byte = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let sample = sample((0..200).map(|_| (0..100).map(|_| byte()).collect()));
        let reason = train(&sample, &wanted("zstd:3", 4096, true), Effort::Full).unwrap().unwrap_err();
        assert!(matches!(reason, NotTrained::DoesNotPay { .. }), "{reason}");
    }

    #[test]
    fn too_few_samples_are_refused() {
        let reason = train(&commits(20), &wanted("zstd:3", 4096, true), Effort::Full).unwrap().unwrap_err();
        assert!(matches!(reason, NotTrained::TooFewSamples { samples: 15, .. }), "{reason}");
    }

    #[test]
    fn raw_content_has_no_header() {
        let purpose = DictionaryPurpose::RawContent("zstd:3".parse().unwrap());
        let raw = WantedDictionary { kinds: Vec::new(), capacity: 2048, purpose, must_pay: false };
        let trained = train(&commits(4000), &raw, Effort::Full).unwrap().unwrap();
        let bytes = trained.dictionary.bytes();
        assert!(!bytes.starts_with(&[0x37, 0xa4, 0x30, 0xec]) && bytes.len() <= 2048);
        assert!(trained.tested.with < trained.tested.without, "{trained:?}");
    }

    #[test]
    fn codec_without_dictionaries_is_an_error() {
        let purpose = DictionaryPurpose::RawContent("libdeflate:6".parse().unwrap());
        let raw = WantedDictionary { kinds: Vec::new(), capacity: 2048, purpose, must_pay: true };
        assert!(matches!(train(&commits(400), &raw, Effort::Full), Err(CodecError::NoDictionaries { .. })));
    }

    #[test]
    fn gains_are_scaled_to_the_class() {
        let tested = Tested { payloads: 10, payload_bytes: 0, without: 500, with: 400 };
        assert_eq!(scaled(&tested, 1000), 10_000);
        let tested = Tested { with: 510, ..tested };
        assert_eq!(scaled(&tested, 1000), -1000);
    }

    #[test]
    fn capacities_halve() {
        assert_eq!(capacities(8 << 10, true).collect::<Vec<_>>(), [8192, 4096, 2048, 1024]);
        assert_eq!(capacities(112 << 10, true).count(), HALVINGS);
        assert_eq!(capacities(112 << 10, false).collect::<Vec<_>>(), [112 << 10]);
        assert_eq!(capacities(500, true).collect::<Vec<_>>(), [500]);
    }
}
