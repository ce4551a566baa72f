//! Which codec, if any, is worth a change: for predictions and measurements alike.

mod bench;
mod estimate;

use repackbench_records::{ChunkSizes, Client, Predicted, Readers, SpecText};

pub(crate) use self::bench::reference_of;
pub use self::{
    bench::{BenchAdvice, advise_on_bench},
    estimate::{EstimateAdvice, advise_on_estimate, bytes_now},
};
use crate::SAME;

/// A size that is smaller by less than this share is no reason to change a codec.
pub const SIZE_THRESHOLD: f64 = 0.05;

/// A CPU time that is less by less than this share is no reason to change a codec.
pub const TIME_THRESHOLD: f64 = 0.10;

/// A repository of fewer bytes is no reason to change a codec: nobody would notice.
pub const REPOSITORY_THRESHOLD: u64 = 1_000_000;

/// How much larger a codec that only saves time may be: less than what counts as a gain where it is smaller.
const SIZE_TOLERANCE: f64 = SIZE_THRESHOLD;

/// How much larger a codec that stock programs read may be to count as one that needs no new format.
const STOCK_TOLERANCE: f64 = 0.01;

/// CPU seconds that git's search for deltas takes for each object, since each is compared with ten others. Fitted, with
/// [`SEARCH_FOR_A_BYTE`], to searches of the Git repositories on the page of results. It is rough: half of the 28
/// searches there are within a factor of 1.3, and the worst took 2.5 times as long.
const SEARCH_FOR_AN_OBJECT: f64 = 30e-6;

/// CPU seconds that the search takes for each byte of the payloads.
const SEARCH_FOR_A_BYTE: f64 = 120e-9;

/// The window of git's search for deltas by default.
const DEFAULT_WINDOW: f64 = 10.0;

/// How the time of a search grows with the window: git gives most candidates up early. A window of 250 took 6.6 times
/// as long as one of 10 on fd's repository.
const WINDOW_EXPONENT: f64 = 0.6;

/// The CPU time in seconds that `git repack -adF` is predicted to take for these chunks, with `--window` if there is
/// one.
pub fn predicted_search_seconds(chunks: &ChunkSizes, window: Option<u32>) -> f64 {
    let effort = window.map_or(1.0, |window| (f64::from(window) / DEFAULT_WINDOW).powf(WINDOW_EXPONENT));
    effort * (SEARCH_FOR_AN_OBJECT * chunks.entries as f64 + SEARCH_FOR_A_BYTE * chunks.payload_bytes as f64)
}

/// Whether the spec `canonical` is what a repository of `codec` writes: see
/// [`RepositoryState::codec`](repackbench_records::RepositoryState::codec). hg does not record a level, and decoding
/// hardly depends on it.
pub fn is_written_by(codec: &str, canonical: &str) -> bool {
    canonical == codec || canonical.split_once(':').is_some_and(|(name, rest)| name == codec && !rest.contains(','))
}

/// A ratio with the ends of its interval, which are the ratio itself if it is exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundedRatio {
    /// The best guess.
    pub ratio: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl BoundedRatio {
    /// A ratio without error.
    fn exact(ratio: f64) -> Self {
        BoundedRatio { ratio, low: ratio, high: ratio }
    }

    /// The geometric mean; the interval's ends are the means of the ends, which is more than enough. `None` of none.
    fn mean(ratios: &[BoundedRatio]) -> Option<Self> {
        let mean = |end: fn(&BoundedRatio) -> f64| {
            let logs: f64 = ratios.iter().map(|ratio| end(ratio).max(f64::MIN_POSITIVE).ln()).sum();
            (logs / ratios.len() as f64).exp()
        };
        let means = || BoundedRatio { ratio: mean(|of| of.ratio), low: mean(|of| of.low), high: mean(|of| of.high) };
        (!ratios.is_empty()).then(means)
    }

    /// The ratio of two ratios to one reference. Its interval is as wide as both together.
    fn beside(self, other: BoundedRatio) -> BoundedRatio {
        BoundedRatio { ratio: self.ratio / other.ratio, low: self.low / other.high, high: self.high / other.low }
    }

    /// Whether it is certainly below 1.
    pub fn is_less(&self) -> bool {
        self.high < 1.0
    }

    /// Whether it is certainly above 1.
    pub fn is_more(&self) -> bool {
        self.low > 1.0
    }

    /// Whether it is certainly another than 1.
    pub fn differs(&self) -> bool {
        self.is_less() || self.is_more()
    }

    /// Whether it is certainly another than 1, or certainly near 1.
    pub fn is_decided(&self) -> bool {
        self.differs() || self.is_about_one()
    }

    /// Whether it is certainly near 1: a ratio whose interval is wide may be anything.
    pub fn is_about_one(&self) -> bool {
        self.low >= 1.0 / (1.0 + SAME) && self.high <= 1.0 + SAME
    }
}

/// A ratio of times, which may be anything if its error is larger than itself.
impl From<&Predicted> for BoundedRatio {
    fn from(predicted: &Predicted) -> Self {
        let (low, high) = if predicted.is_unknown() { (0.0, f64::INFINITY) } else { predicted.ends() };
        BoundedRatio { ratio: predicted.value, low, high }
    }
}

/// One codec against the baseline with the same deltas.
#[derive(Debug, Clone, Copy)]
pub struct CodecGain<'a> {
    /// The codec.
    pub spec: &'a SpecText,
    /// Who reads it; `None` if that is unknown.
    pub readers: Option<Readers>,
    /// Who read it, if that was the user's own client with another zlib or other features.
    pub client: Option<&'a Client>,
    /// Its bytes as a multiple.
    pub size: BoundedRatio,
    /// The geometric mean of its CPU times in all workloads, as a multiple; `None` without workloads.
    pub cpu: Option<BoundedRatio>,
    /// The same for elapsed time.
    pub elapsed: Option<BoundedRatio>,
    /// The CPU seconds that writing the whole repository takes, with its dictionaries; `None` if unknown.
    pub writing_seconds: Option<f64>,
    /// Bytes of contexts and dictionaries of one thread that writes; `None` if unknown.
    pub writing_memory: Option<u64>,
}

impl CodecGain<'_> {
    /// The time that decides: CPU time if that is known.
    fn time(&self) -> Option<BoundedRatio> {
        self.cpu.or(self.elapsed)
    }

    /// Bytes times time: what the best codec has least of.
    pub fn product(&self) -> f64 {
        self.size.ratio * self.time().map_or(1.0, |time| time.ratio)
    }

    /// How sure a gain is: the lowest class is the surest. `None` for no gain.
    fn class(&self) -> Option<CodecVerdict> {
        match self {
            _ if self.product() >= 1.0 => None,
            _ if self.saves_enough() => Some(CodecVerdict::Change),
            _ if self.may_save_enough() => Some(CodecVerdict::Open),
            _ => self.saves().then_some(CodecVerdict::TooSmall),
        }
    }

    /// Whether it is too large for a candidate, or costs as much of one thing as it saves of the other.
    fn costs_too_much(&self) -> bool {
        self.size.ratio >= 1.0 + SIZE_TOLERANCE || self.product() >= 1.0
    }

    /// Whether it certainly saves something. A few more bytes are outweighed only by a time that matters.
    fn saves(&self) -> bool {
        let is_faster = self.time().is_some_and(|time| time.is_less());
        self.size.is_less() || is_faster && self.size.ratio <= 1.0 + STOCK_TOLERANCE
    }

    /// Whether it certainly saves enough bytes or time.
    fn saves_enough(&self) -> bool {
        self.reaches(|of| of.high)
    }

    /// Whether it saves enough by the best guess.
    fn may_save_enough(&self) -> bool {
        self.reaches(|of| of.ratio)
    }

    /// Whether `other`, of a new format, gains too little more than this to be worth that format: less than either
    /// threshold.
    fn suffices_beside(&self, other: &CodecGain<'_>) -> bool {
        let is_smaller = other.size.ratio <= self.size.ratio * (1.0 - SIZE_THRESHOLD);
        let is_faster = match (other.time(), self.time()) {
            (Some(other), Some(own)) => other.ratio <= own.ratio * (1.0 - TIME_THRESHOLD),
            _ => false,
        };
        !is_smaller && !is_faster
    }

    /// Whether this end of an interval reaches a threshold.
    fn reaches(&self, end: fn(&BoundedRatio) -> f64) -> bool {
        let is_faster = self.time().is_some_and(|time| end(&time) <= 1.0 - TIME_THRESHOLD);
        is_faster || end(&self.size) <= 1.0 - SIZE_THRESHOLD
    }
}

/// Whether to change the codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CodecVerdict {
    /// The codec saves enough bytes or CPU time.
    Change,
    /// A codec may save enough, and the intervals are too wide to tell.
    Open,
    /// It saves something, but less than both thresholds.
    TooSmall,
    /// A codec saves something, but of few bytes.
    SmallRepository,
    /// No codec is better than the baseline.
    Stay,
}

/// The best codecs that certainly save enough bytes or time, and are no candidates all the same.
#[derive(Debug, Clone, Copy, Default)]
pub struct LeftOut<'a> {
    /// Of those that only this program reads.
    pub unread: Option<CodecGain<'a>>,
    /// Of those that are much larger, or cost as much of one thing as they save of the other.
    pub costly: Option<CodecGain<'a>>,
}

/// What follows from the gains of some codecs.
#[derive(Debug, Clone, Copy)]
pub struct Advice<'a> {
    /// The best codec that stock programs read, if it saves something: that of `best` if stock programs read it.
    pub stock: Option<CodecGain<'a>>,
    /// Whether there is a codec that stock programs read at all, beside what is compared with.
    pub has_stock: bool,
    /// The best codec that stock programs read at least under `exec`, if it saves something, or might save enough.
    pub best: Option<CodecGain<'a>>,
    /// Whether to change to it.
    pub verdict: CodecVerdict,
    /// Which codecs save enough and are no candidates.
    pub left_out: LeftOut<'a>,
    /// The codec that the repository has and gains are counted from; `None` if that is the baseline.
    pub reference: Option<&'a str>,
}

impl<'a> Advice<'a> {
    /// What follows from `gains` for a repository that takes `bytes` on disk. They are counted from `reference`.
    fn of(gains: &[CodecGain<'a>], bytes: u64, reference: Option<&'a str>) -> Self {
        let read_by = |is_stock: bool| {
            let is_read = move |gain: &&CodecGain<'_>| match gain.readers {
                Some(Readers::Stock) => true,
                // Nobody works on a variant that only this program reads.
                Some(Readers::Repackbench) => false,
                Some(Readers::Exec) | None => !is_stock,
            };
            // Many more bytes are no gain, however fast they are read.
            let most = 1.0 + if is_stock { STOCK_TOLERANCE } else { SIZE_TOLERANCE };
            gains.iter().filter(is_read).filter(move |gain| gain.size.ratio < most)
        };
        let least = |a: &&CodecGain<'_>, b: &&CodecGain<'_>| a.product().total_cmp(&b.product());
        let has_stock = gains.iter().any(|gain| gain.readers == Some(Readers::Stock));
        let stock = read_by(true).filter(|gain| gain.saves() && gain.product() < 1.0).min_by(least).copied();
        let best = read_by(false).filter_map(|gain| Some((gain.class()?, gain)));
        // A codec that is larger is only the best where none of the same size gains as surely.
        let is_larger = |gain: &CodecGain<'_>| gain.size.ratio > 1.0 + STOCK_TOLERANCE;
        let best = best.min_by(|(class, a), (other, b)| {
            class.cmp(other).then_with(|| is_larger(a).cmp(&is_larger(b))).then_with(|| least(a, b))
        });
        // Where a format that everybody reads gains about as much, and as surely, nobody has to change to another.
        let of_new_format = best.filter(|(_, best)| best.readers != Some(Readers::Stock));
        let sufficing = of_new_format.and_then(|(class, best)| {
            let suffices = |gain: &&CodecGain<'_>| gain.class() == Some(class) && gain.suffices_beside(best);
            read_by(true).filter(suffices).min_by(least).map(|gain| (class, *gain))
        });
        let best = sufficing.or(best.map(|(class, best)| (class, *best)));
        let verdict = match best {
            None => CodecVerdict::Stay,
            Some(_) if bytes < REPOSITORY_THRESHOLD => CodecVerdict::SmallRepository,
            Some((class, _)) => class,
        };
        let best = best.map(|(_, gain)| gain);
        let stock = best.filter(|best| best.readers == Some(Readers::Stock)).or(stock);
        let saving = || gains.iter().filter(|gain| gain.saves_enough());
        let is_unread = |gain: &&CodecGain<'_>| gain.readers == Some(Readers::Repackbench) && !gain.costs_too_much();
        let left_out = LeftOut {
            unread: saving().filter(is_unread).min_by(least).copied(),
            costly: saving().filter(|gain| gain.costs_too_much()).min_by(least).copied(),
        };
        Advice { stock, has_stock, best, verdict, left_out, reference }
    }
}
