//! What follows from an estimate: which codec, if any, is worth a change.

use repackbench_records::{DeltaState, Rechosen, RepositoryEstimate, SpecPrediction};

/// A size that is smaller by less than this share is no reason to change a codec.
pub const SIZE_THRESHOLD: f64 = 0.05;

/// CPU time that is less by less than this share is no reason either.
pub const TIME_THRESHOLD: f64 = 0.10;

/// How much larger a codec that stock programs read may be to count as a gain.
const STOCK_TOLERANCE: f64 = 0.01;

/// One codec against the repository whose deltas it keeps.
#[derive(Debug, Clone, Copy)]
pub struct CodecGain<'a> {
    /// The codec.
    pub spec: &'a SpecPrediction,
    /// Its bytes as a multiple of those of the repository.
    pub size: f64,
    /// The geometric mean of the CPU time of all workloads as a multiple of the baseline's; `None` without workloads.
    pub time: Option<f64>,
}

impl CodecGain<'_> {
    /// Bytes times CPU time: what the best codec has least of.
    fn product(&self) -> f64 {
        self.size * self.time.unwrap_or(1.0)
    }

    /// Whether the bytes saved reach [`SIZE_THRESHOLD`].
    pub fn is_smaller(&self) -> bool {
        self.size <= 1.0 - SIZE_THRESHOLD
    }

    /// Whether the CPU time saved reaches [`TIME_THRESHOLD`].
    pub fn is_faster(&self) -> bool {
        self.time.is_some_and(|time| time <= 1.0 - TIME_THRESHOLD)
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

/// Every codec of `state` but the baseline.
pub fn codec_gains(state: &DeltaState) -> Vec<CodecGain<'_>> {
    let of = |(at, spec): (usize, &'_ SpecPrediction)| {
        let ratios = state.workloads.iter().filter_map(|workload| Some(workload.ratios.get(at)?.value));
        let logs: Vec<f64> = ratios.filter(|ratio| *ratio > 0.0).map(f64::ln).collect();
        let time = (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp());
        (spec.total_bytes.value / state.total_bytes.max(1) as f64, time)
    };
    let numbered = state.specs.iter().enumerate().skip(1);
    numbered
        .map(|(at, spec)| {
            let (size, time) = of((at, spec));
            CodecGain { spec, size, time }
        })
        .collect()
}

/// What follows from `estimate`.
pub fn estimate_answer(estimate: &RepositoryEstimate) -> EstimateAnswer<'_> {
    let state = compared_state(estimate);
    let gains = codec_gains(state);
    let best_of = |is_stock: bool| {
        let some = gains.iter().filter(|gain| !is_stock || gain.spec.is_read_by_stock);
        // More bytes are no gain, however fast they are read. But a faster zlib costs nothing else.
        let most = if is_stock { 1.0 + STOCK_TOLERANCE } else { 1.0 };
        some.filter(|gain| gain.size < most).min_by(|a, b| a.product().total_cmp(&b.product())).copied()
    };
    let (stock, best) = (best_of(true), best_of(false));
    let advice = match best {
        Some(best) if best.product() >= 1.0 => Advice::Stay,
        Some(best) if best.is_smaller() || best.is_faster() => Advice::Change,
        Some(_) => Advice::TooSmall,
        None => Advice::Stay,
    };
    EstimateAnswer { state, stock, best, advice }
}

#[cfg(test)]
mod tests {
    use repackbench_records::{
        Predicted, RepositoryState, SCHEMA_VERSION, SpecText, WorkloadLabel, WorkloadPrediction,
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
            is_read_by_stock: *is_read_by_stock,
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
