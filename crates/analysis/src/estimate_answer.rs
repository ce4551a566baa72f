//! What follows from an estimate: which codec, if any, is worth a change.

use repackbench_records::{DeltaState, Predicted, Readers, Rechosen, RepositoryEstimate, SpecPrediction};

/// A size that is smaller by less than this share is no reason to change a codec.
pub const SIZE_THRESHOLD: f64 = 0.05;

/// CPU time that is less by less than this share is no reason either.
pub const TIME_THRESHOLD: f64 = 0.10;

/// How much larger a codec that stock programs read may be to count as a gain.
const STOCK_TOLERANCE: f64 = 0.01;

/// A predicted ratio with the ends of its interval, which are the ratio itself if it is exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedRatio {
    /// The best guess.
    pub ratio: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl PredictedRatio {
    /// `predicted` as a multiple of `of`.
    fn of(predicted: &Predicted, of: f64) -> Self {
        let (low, high) =
            predicted.interval.map_or((predicted.value, predicted.value), |interval| (interval.low, interval.high));
        PredictedRatio { ratio: predicted.value / of, low: low / of, high: high / of }
    }

    /// The geometric mean; the interval's ends are the means of the ends, which is more than enough.
    fn mean(ratios: &[PredictedRatio]) -> Option<Self> {
        let mean = |end: fn(&PredictedRatio) -> f64| {
            let logs: f64 = ratios.iter().map(|ratio| end(ratio).max(f64::MIN_POSITIVE).ln()).sum();
            (logs / ratios.len() as f64).exp()
        };
        let means = || PredictedRatio { ratio: mean(|of| of.ratio), low: mean(|of| of.low), high: mean(|of| of.high) };
        (!ratios.is_empty()).then(means)
    }

    /// Whether it is certainly below 1.
    pub fn is_less(&self) -> bool {
        self.high < 1.0
    }

    /// Whether it is certainly above 1.
    pub fn is_more(&self) -> bool {
        self.low > 1.0
    }
}

/// One codec against the repository whose deltas it keeps.
#[derive(Debug, Clone, Copy)]
pub struct CodecGain<'a> {
    /// The codec.
    pub spec: &'a SpecPrediction,
    /// Its bytes as a multiple of those of the repository.
    pub size: PredictedRatio,
    /// The geometric mean of the CPU time of all workloads as a multiple of the baseline's; `None` without workloads.
    pub time: Option<PredictedRatio>,
}

impl<'a> CodecGain<'a> {
    /// The gain of the codec at `at` in `state`.
    fn of(state: &'a DeltaState, at: usize, spec: &'a SpecPrediction) -> Self {
        let ratios = state.workloads.iter().filter_map(|workload| workload.ratios.get(at));
        let ratios: Vec<PredictedRatio> = ratios.map(|ratio| PredictedRatio::of(ratio, 1.0)).collect();
        let size = PredictedRatio::of(&spec.total_bytes, state.total_bytes.max(1) as f64);
        CodecGain { spec, size, time: PredictedRatio::mean(&ratios) }
    }

    /// Bytes times CPU time: what the best codec has least of.
    fn product(&self) -> f64 {
        self.size.ratio * self.time.map_or(1.0, |time| time.ratio)
    }

    /// Whether it certainly saves something.
    fn saves(&self) -> bool {
        self.size.is_less() || self.time.is_some_and(|time| time.is_less())
    }

    /// Whether it certainly saves enough bytes or CPU time.
    fn saves_enough(&self) -> bool {
        let is_faster = self.time.is_some_and(|time| time.high <= 1.0 - TIME_THRESHOLD);
        is_faster || self.size.high <= 1.0 - SIZE_THRESHOLD
    }
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// The codec saves enough bytes or CPU time.
    Change,
    /// It saves something, but less than both thresholds.
    TooSmall,
    /// No codec is better than the baseline.
    Stay,
}

/// The findings of an estimate.
#[derive(Debug, Clone, Copy)]
pub struct EstimateAnswer<'a> {
    /// The state that codecs are compared in: after a new search for deltas where there was one.
    pub state: &'a DeltaState,
    /// The best codec that stock programs read.
    pub stock: Option<CodecGain<'a>>,
    /// The best codec of all.
    pub best: Option<CodecGain<'a>>,
    /// What to do.
    pub advice: Advice,
}

/// The state that codecs are compared in.
fn compared_state(estimate: &RepositoryEstimate) -> &DeltaState {
    match &estimate.rechosen {
        Rechosen::Searched { state, .. } => state,
        _ => &estimate.as_found,
    }
}

/// What follows from `estimate`.
pub fn estimate_answer(estimate: &RepositoryEstimate) -> EstimateAnswer<'_> {
    let state = compared_state(estimate);
    let others = state.specs.iter().enumerate().skip(1);
    let gains: Vec<CodecGain<'_>> = others.map(|(at, spec)| CodecGain::of(state, at, spec)).collect();
    let best_of = |is_stock: bool| {
        let some = gains.iter().filter(|gain| !is_stock || gain.spec.readers == Readers::Stock);
        // More bytes are no gain, however fast they are read. But a faster zlib costs nothing else.
        let most = if is_stock { 1.0 + STOCK_TOLERANCE } else { 1.0 };
        some.filter(|gain| gain.size.low <= most).min_by(|a, b| a.product().total_cmp(&b.product())).copied()
    };
    let (stock, best) = (best_of(true).filter(CodecGain::saves), best_of(false).filter(CodecGain::saves));
    let advice = match best {
        Some(best) if best.product() >= 1.0 => Advice::Stay,
        Some(best) if best.saves_enough() => Advice::Change,
        Some(_) => Advice::TooSmall,
        None => Advice::Stay,
    };
    EstimateAnswer { state, stock, best, advice }
}

#[cfg(test)]
mod tests {
    use repackbench_records::{
        RatioInterval, RepositoryState, SCHEMA_VERSION, SpecText, WorkloadLabel, WorkloadPrediction,
    };

    use super::*;

    fn estimate(codecs: &[(&str, f64, f64, bool)]) -> RepositoryEstimate {
        let spec = |(name, bytes, _, is_read_by_stock): &(&str, f64, f64, bool)| SpecPrediction {
            spec: SpecText { typed: (*name).to_owned(), canonical: (*name).to_owned() },
            total_bytes: Predicted::exact(*bytes),
            dictionary_bytes: 0,
            sampled_chunks: 1,
            encode_bytes_per_second: 1.0,
            decode_bytes_per_second: 1.0,
            readers: if *is_read_by_stock { Readers::Stock } else { Readers::Exec },
        };
        let workload = WorkloadPrediction {
            workload: WorkloadLabel { name: "traverse".to_owned(), parameters: Default::default() },
            commits: None,
            is_cut: false,
            seconds: 1.0,
            decode_share: Predicted::exact(0.5),
            decodes: 1,
            ratios: codecs.iter().map(|(_, _, time, _)| Predicted::exact(*time)).collect(),
        };
        let state = DeltaState {
            total_bytes: 1000,
            chunk_bytes: 900,
            payload_bytes: 2000,
            chunks: 1,
            commits: 1,
            sampled_chunks: 1,
            specs: codecs.iter().map(spec).collect(),
            workloads: vec![workload],
        };
        RepositoryEstimate {
            schema: SCHEMA_VERSION,
            program_version: String::new(),
            command: None,
            repository: RepositoryState::default(),
            seed: 1,
            seconds: 1.0,
            missing_objects: 0,
            as_found: state,
            rechosen: Rechosen::TooLong { predicted_seconds: 9.0 },
        }
    }

    #[test]
    fn best_codec_has_least_bytes_times_cpu_time() {
        let estimate = estimate(&[
            ("zlib:6", 1000.0, 1.0, true),
            ("libdeflate:9", 980.0, 0.8, true),
            ("lz4", 1300.0, 0.5, false),
            ("balanced", 800.0, 0.6, false),
        ]);
        let answer = estimate_answer(&estimate);
        assert_eq!(answer.best.unwrap().spec.spec.typed, "balanced");
        assert_eq!(answer.stock.unwrap().spec.spec.typed, "libdeflate:9");
        assert_eq!(answer.advice, Advice::Change);
    }

    #[test]
    fn larger_repository_is_no_gain() {
        let estimate = estimate(&[("zlib:6", 1000.0, 1.0, true), ("lz4", 1300.0, 0.3, false)]);
        let answer = estimate_answer(&estimate);
        assert!(answer.best.is_none() && answer.advice == Advice::Stay);
    }

    #[test]
    fn uncertain_gain_is_none() {
        let mut estimate = estimate(&[("zlib:6", 1000.0, 1.0, true), ("zstd:3", 930.0, 1.0, false)]);
        let mut advice = |half_width: f64| {
            let interval = RatioInterval { low: 930.0 - half_width, high: 930.0 + half_width, coverage: 0.95 };
            estimate.as_found.specs[1].total_bytes = Predicted { value: 930.0, interval: Some(interval) };
            estimate_answer(&estimate).advice
        };
        assert_eq!(advice(10.0), Advice::Change);
        assert_eq!(advice(30.0), Advice::TooSmall);
        assert_eq!(advice(80.0), Advice::Stay);
    }

    #[test]
    fn small_gains_are_no_reason_to_change() {
        let advice = |bytes, time| {
            let estimate = estimate(&[("zlib:6", 1000.0, 1.0, true), ("zstd:3", bytes, time, false)]);
            estimate_answer(&estimate).advice
        };
        assert_eq!(advice(960.0, 0.95), Advice::TooSmall);
        assert_eq!(advice(950.0, 1.0), Advice::Change);
        assert_eq!(advice(999.0, 0.9), Advice::Change);
        assert_eq!(advice(1100.0, 1.0), Advice::Stay);
    }
}
