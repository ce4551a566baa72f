//! Advice from predictions.

use repackbench_records::{DeltaState, Predicted, Rechosen, RepositoryEstimate, SpecPrediction, WorkloadPrediction};

use super::{Advice, BoundedRatio, CodecGain, is_written_by};

/// What follows from an estimate.
#[derive(Debug, Clone, Copy)]
pub struct EstimateAdvice<'a> {
    /// The state that codecs are compared in: after a new search for deltas where there was one.
    pub state: &'a DeltaState,
    /// Whether that is after a new search.
    pub is_searched: bool,
    /// What to do.
    pub advice: Advice<'a>,
}

/// What follows from `estimate`.
pub fn advise_on_estimate(estimate: &RepositoryEstimate) -> EstimateAdvice<'_> {
    let (state, is_searched): (&DeltaState, bool) = match &estimate.rechosen {
        Rechosen::Searched { state, .. } => (state, true),
        _ => (&estimate.as_found, false),
    };
    let codec = estimate.repository.codec.as_deref();
    let reference = reference(codec, state);
    let others = state.specs.iter().enumerate().skip(1).filter(|(at, _)| *at != reference && has_times(state, *at));
    let bytes = bytes_now(estimate, state);
    let gains: Vec<CodecGain<'_>> = others.map(|(at, spec)| gain(state, bytes, (at, reference), spec)).collect();
    EstimateAdvice { state, is_searched, advice: Advice::of(&gains, bytes as u64, codec.filter(|_| reference > 0)) }
}

/// The bytes of the repository with the deltas of `state`. A search for deltas leaves its result under git's own codec,
/// so what a repository of another codec would take then is the prediction for that codec.
pub fn bytes_now(estimate: &RepositoryEstimate, state: &DeltaState) -> f64 {
    let is_as_found = std::ptr::eq(state, &estimate.as_found);
    let codec = estimate.repository.codec.as_deref().filter(|_| !is_as_found);
    let place = codec.map(|codec| reference(Some(codec), state)).filter(|place| *place > 0);
    let own = place.and_then(|place| state.specs.get(place));
    own.map_or(state.total_bytes as f64, |own| own.total_bytes.value).max(1.0)
}

/// Whether the times of the spec at `at` are predicted, if any are.
fn has_times(state: &DeltaState, at: usize) -> bool {
    state.workloads.iter().all(|workload| at < workload.ratios.len())
}

/// So few of the newest commits say nothing about a history.
const FEWEST_COMMITS: u64 = 10;

/// Whether the workload's ratios say something about the repository.
fn is_telling(workload: &WorkloadPrediction) -> bool {
    !workload.is_cut || workload.commits.is_none_or(|commits| commits >= FEWEST_COMMITS)
}

/// The place of the codec that times are compared with: what the repository has already, or the baseline.
fn reference(codec: Option<&str>, state: &DeltaState) -> usize {
    let place = |codec| state.specs.iter().position(|spec| is_written_by(codec, &spec.spec.canonical));
    codec.and_then(place).unwrap_or(0)
}

/// The gain of the codec at `at` in `state`: of bytes against the repository itself, which has `bytes`, of times
/// against the codec at `reference`.
fn gain<'a>(
    state: &'a DeltaState,
    bytes: f64,
    (at, reference): (usize, usize),
    spec: &'a SpecPrediction,
) -> CodecGain<'a> {
    type Ratios = fn(&WorkloadPrediction) -> &[Predicted];
    let mean = |ratios: Ratios, to_own: Ratios| {
        let telling = state.workloads.iter().filter(|workload| is_telling(workload));
        let of = |workload: &WorkloadPrediction| match (reference, to_own(workload)) {
            (0, _) => Some(BoundedRatio::from(ratios(workload).get(at)?)),
            // Older records have ratios to the first codec alone, and so has the result of a search.
            (_, []) => {
                Some(BoundedRatio::from(ratios(workload).get(at)?).beside(ratios(workload).get(reference)?.into()))
            }
            (_, to_own) => Some(BoundedRatio::from(to_own.get(at)?)),
        };
        BoundedRatio::mean(&telling.filter_map(of).collect::<Vec<_>>())
    };
    CodecGain {
        spec: &spec.spec,
        readers: Some(spec.readers),
        client: None,
        size: bounded(&spec.total_bytes, bytes),
        cpu: mean(|workload| &workload.ratios, |workload| &workload.ratios_to_own),
        elapsed: mean(|workload| &workload.elapsed_ratios, |workload| &workload.elapsed_ratios_to_own),
        writing_seconds: state.encoding_seconds(spec).map(|encoding| encoding + spec.training_seconds),
        writing_memory: spec.encode_memory_bytes,
    }
}

/// `predicted` as a multiple of `of`.
fn bounded(predicted: &Predicted, of: f64) -> BoundedRatio {
    let (low, high) = predicted.ends();
    BoundedRatio { ratio: predicted.value / of, low: low / of, high: high / of }
}

#[cfg(test)]
mod tests {
    use repackbench_records::{RatioInterval, Readers, fixtures::repository_estimate};

    use super::*;
    use crate::advice::CodecVerdict;

    /// A repository of 10 MB under codecs that make these bytes of every 1,000, with these CPU times.
    fn estimate(codecs: &[(&str, f64, f64, bool)]) -> RepositoryEstimate {
        let readers = |is_read_by_stock| if is_read_by_stock { Readers::Stock } else { Readers::Exec };
        let codecs: Vec<_> =
            codecs.iter().map(|(name, bytes, time, stock)| (*name, readers(*stock), bytes / 1000.0, *time)).collect();
        repository_estimate("repo", "", 10_000_000, &codecs)
    }

    #[test]
    fn best_codec_has_least_bytes_times_cpu_time() {
        let estimate = estimate(&[
            ("zlib:6", 1000.0, 1.0, true),
            ("libdeflate:9", 980.0, 0.8, true),
            ("lz4", 1300.0, 0.5, false),
            ("balanced", 800.0, 0.6, false),
        ]);
        let advice = advise_on_estimate(&estimate).advice;
        assert_eq!(advice.best.unwrap().spec.typed, "balanced");
        assert_eq!(advice.stock.unwrap().spec.typed, "libdeflate:9");
        assert_eq!(advice.verdict, CodecVerdict::Change);
    }

    #[test]
    fn codec_that_gains_hardly_more_than_one_that_everybody_reads_is_not_the_best() {
        let best = |bytes, time| {
            let codecs =
                [("zlib:6", 1000.0, 1.0, true), ("libdeflate:9", 1000.0, 0.6, true), ("zstd", bytes, time, false)];
            advise_on_estimate(&estimate(&codecs)).advice.best.unwrap().spec.typed.clone()
        };
        assert_eq!(best(1000.0, 0.55), "libdeflate:9");
        assert_eq!(best(960.0, 0.60), "libdeflate:9");
        assert_eq!(best(1000.0, 0.53), "zstd", "a tenth less time");
        assert_eq!(best(949.0, 0.60), "zstd", "a twentieth less size");
    }

    #[test]
    fn slightly_larger_codec_is_best_only_where_no_other_gains() {
        let best = |smaller_time| {
            let codecs = [
                ("zlib:6", 1000.0, 1.0, true),
                ("lz4hc:9", 1040.0, 0.3, false),
                ("best-read", 990.0, smaller_time, false),
            ];
            advise_on_estimate(&estimate(&codecs)).advice.best.unwrap().spec.typed.clone()
        };
        assert_eq!(best(0.5), "best-read");
        assert_eq!(best(0.97), "lz4hc:9");
    }

    #[test]
    fn larger_repository_is_no_gain() {
        let estimate = estimate(&[("zlib:6", 1000.0, 1.0, true), ("lz4", 1300.0, 0.3, false)]);
        let advice = advise_on_estimate(&estimate).advice;
        assert!(advice.best.is_none() && advice.verdict == CodecVerdict::Stay);
    }

    #[test]
    fn codecs_that_save_and_are_not_advised_are_named() {
        let named = |codecs: &[(&str, Readers, f64, f64)]| {
            let codecs: Vec<_> = [("zlib:6", Readers::Stock, 1.0, 1.0)].iter().chain(codecs).copied().collect();
            let estimate = repository_estimate("repo", "", 10_000_000, &codecs);
            let left_out = advise_on_estimate(&estimate).advice.left_out;
            [left_out.unread, left_out.costly].map(|gain| gain.map(|gain| gain.spec.typed.clone()))
        };
        let [lz4_name, slow_name, unread_name] = ["lz4", "best-size", "balanced"].map(|name| Some(name.to_owned()));
        let lz4 = ("lz4", Readers::Exec, 1.2, 0.4);
        let slow = ("best-size", Readers::Exec, 0.9, 1.2);
        let unread = ("balanced", Readers::Repackbench, 0.85, 0.9);
        assert_eq!(named(&[lz4]), [None, lz4_name.clone()]);
        assert_eq!(named(&[slow]), [None, slow_name]);
        assert_eq!(named(&[lz4, unread]), [unread_name, lz4_name]);
        assert_eq!(named(&[("zstd:3", Readers::Exec, 0.99, 0.95)]), [None, None]);
        assert_eq!(named(&[("zstd:9", Readers::Exec, 0.9, 0.6)]), [None, None], "it is the best one");
    }

    #[test]
    fn uncertain_gain_decides_nothing() {
        let mut estimate = estimate(&[("zlib:6", 1000.0, 1.0, true), ("zstd:3", 930.0, 1.0, false)]);
        let mut advice = |half_width: f64| {
            let interval = RatioInterval { low: 9.3e6 - half_width, high: 9.3e6 + half_width, coverage: 0.95 };
            estimate.as_found.specs[1].total_bytes = Predicted { value: 9.3e6, interval: Some(interval) };
            advise_on_estimate(&estimate).advice.verdict
        };
        assert_eq!(advice(0.1e6), CodecVerdict::Change);
        assert_eq!(advice(0.3e6), CodecVerdict::Open);
        assert_eq!(advice(0.8e6), CodecVerdict::Open);
    }

    #[test]
    fn codec_that_is_there_already_is_no_change() {
        let codecs = [
            ("zlib:6", Readers::Stock, 1.3, 1.0),
            ("zstd:3", Readers::Stock, 1.0, 0.5),
            ("zstd:9", Readers::Stock, 0.97, 0.51),
            ("lz4", Readers::Exec, 1.02, 0.3),
        ];
        let mut estimate = repository_estimate("repo", "", 10_000_000, &codecs);
        assert_eq!(advise_on_estimate(&estimate).advice.best.unwrap().spec.typed, "zstd:9");
        for (codec, best) in [("zstd", Some("lz4")), ("lz4", None)] {
            estimate.repository.codec = Some(codec.to_owned());
            let advice = advise_on_estimate(&estimate).advice;
            let found = advice.best.map(|best| best.spec.typed.as_str());
            assert_eq!(found, best, "{codec}");
        }
    }

    #[test]
    fn times_beside_the_codec_that_is_there_are_those_of_the_prediction() {
        let codecs = [
            ("zlib:6", Readers::Stock, 1.3, 1.0),
            ("zstd:3", Readers::Stock, 1.0, 0.5),
            ("lz4", Readers::Exec, 1.0, 0.3),
        ];
        let mut estimate = repository_estimate("repo", "", 10_000_000, &codecs);
        estimate.repository.codec = Some("zstd".to_owned());
        let cpu = |estimate: &RepositoryEstimate| advise_on_estimate(estimate).advice.best.unwrap().cpu.unwrap();
        let divided = cpu(&estimate);
        assert!((divided.ratio - 0.6).abs() < 1e-9, "{divided:?}");
        let to_own = |value: f64| Predicted {
            value,
            interval: Some(RatioInterval { low: value - 0.01, high: value + 0.01, coverage: 0.95 }),
        };
        for workload in &mut estimate.as_found.workloads {
            workload.ratios_to_own = vec![to_own(2.0), Predicted::exact(1.0), to_own(0.58)];
        }
        let direct = cpu(&estimate);
        assert!((direct.ratio - 0.58).abs() < 1e-9 && direct.high - direct.low < 0.021, "{direct:?}");
    }

    #[test]
    fn time_that_may_be_anything_is_undecided() {
        let mut estimate = estimate(&[("zlib:6", 1000.0, 1.0, true), ("zstd:3", 930.0, 0.5, false)]);
        let interval = RatioInterval { low: 0.1, high: 0.9, coverage: 0.95 };
        estimate.as_found.workloads[0].ratios[1] = Predicted { value: 0.5, interval: Some(interval) };
        assert!(!advise_on_estimate(&estimate).advice.best.unwrap().cpu.unwrap().is_decided());
    }

    #[test]
    fn small_repository_is_no_reason_to_change() {
        let codecs = [("zlib:6", Readers::Stock, 1.0, 1.0), ("zstd:3", Readers::Exec, 0.5, 0.5)];
        let advice = |bytes| {
            let estimate = repository_estimate("repo", "", bytes, &codecs);
            advise_on_estimate(&estimate).advice.verdict
        };
        assert_eq!(advice(999_999), CodecVerdict::SmallRepository);
        assert_eq!(advice(1_000_000), CodecVerdict::Change);
    }

    #[test]
    fn small_gains_are_no_reason_to_change() {
        let advice = |bytes, time| {
            let estimate = estimate(&[("zlib:6", 1000.0, 1.0, true), ("zstd:3", bytes, time, false)]);
            advise_on_estimate(&estimate).advice.verdict
        };
        assert_eq!(advice(960.0, 0.95), CodecVerdict::TooSmall);
        assert_eq!(advice(950.0, 1.0), CodecVerdict::Change);
        assert_eq!(advice(999.0, 0.9), CodecVerdict::Change);
        assert_eq!(advice(1100.0, 1.0), CodecVerdict::Stay);
        assert_eq!(advice(1030.0, 0.6), CodecVerdict::Change);
        assert_eq!(advice(1060.0, 0.6), CodecVerdict::Stay);
    }
}
