//! Advice from measurements.

use repackbench_records::{
    ComparedTime, DeltaOrigin, RatioEstimate, Role, Variant, VariantComparison, Verdict, WorkloadComparison,
};

use super::{Advice, BoundedRatio, CodecGain, is_written_by};
use crate::{Outcome, compare::is_baseline, is_reading, outcome::is_headline, outcomes};

/// What follows from the workloads of one repository.
#[derive(Debug, Clone, Copy)]
pub struct BenchAdvice<'a> {
    /// The baseline.
    pub baseline: &'a VariantComparison,
    /// The baseline with deltas that were searched for anew, if it was measured. Then codecs are compared with it,
    /// otherwise with the repository as found if it has a codec of its own, or with the baseline.
    pub searched: Option<&'a VariantComparison>,
    /// The variant that codecs are compared with, if it has the repository's own codec and that is not the baseline's.
    pub own: Option<&'a VariantComparison>,
    /// The geometric mean of the CPU times after the search in the workloads that read, as a multiple of those before it.
    pub searched_cpu: Option<BoundedRatio>,
    /// What to do.
    pub advice: Advice<'a>,
}

/// What follows from `comparisons`, which are of one repository and client. `None` without a candidate.
pub fn advise_on_bench<'a>(comparisons: &[&'a WorkloadComparison]) -> Option<BenchAdvice<'a>> {
    let baseline = comparisons.iter().find_map(|comparison| comparison.baseline())?;
    let outcomes = outcomes(comparisons);
    let variants: Vec<&Variant> = outcomes.iter().map(|outcome| outcome.variant).collect();
    let outcome_of = |variant: &Variant| outcomes.iter().find(|outcome| std::ptr::eq(outcome.variant, variant));
    let searched = searched_baseline(&variants).and_then(outcome_of);
    let deltas = if searched.is_some() { DeltaOrigin::Recomputed } else { DeltaOrigin::Kept };
    let codec = comparisons.iter().find_map(|comparison| comparison.repository.codec.as_deref());
    let reference = reference_of(&variants, codec).and_then(outcome_of);
    let others = outcomes.iter().filter(|outcome| is_plain(outcome.variant, deltas)).filter(|outcome| {
        let is_other = |of: Option<&Outcome<'_>>| of.is_none_or(|of| of.variant != outcome.variant);
        is_other(searched) && is_other(reference)
    });
    let gains: Vec<CodecGain<'a>> =
        others.filter_map(|outcome| gain(outcome, baseline, reference, comparisons)).collect();
    let has_candidates = !gains.is_empty() || searched.is_some();
    let is_searched = reference.zip(searched).is_some_and(|(one, other)| one.variant == other.variant);
    let own = codec.filter(|_| reference.is_some() && !is_searched);
    let searched_cpu = searched.and_then(|searched| gain(searched, baseline, None, comparisons)?.cpu);
    let searched = searched.and_then(|searched| searched.rows.iter().copied().flatten().next());
    let bytes = searched.unwrap_or(baseline).size.total_bytes;
    let own_row = reference.filter(|_| own.is_some()).and_then(|of| of.rows.iter().copied().flatten().next());
    has_candidates.then(|| BenchAdvice {
        baseline,
        searched,
        own: own_row,
        searched_cpu,
        advice: Advice::of(&gains, bytes, own),
    })
}

/// The variant of `variants`, those of one repository or workload, that codecs are compared with if that is not the
/// baseline: what another codec gains is counted from what there is, in a repository of `codec`, and from new deltas
/// where there are some.
pub(crate) fn reference_of<'a>(variants: &[&'a Variant], codec: Option<&str>) -> Option<&'a Variant> {
    let searched = searched_baseline(variants);
    let Some(codec) = codec else { return searched };
    let is_written = |variant: &&Variant| {
        is_plain(variant, DeltaOrigin::Recomputed)
            && variant.spec.as_ref().is_some_and(|spec| is_written_by(codec, &spec.canonical))
    };
    let is_found = |variant: &&Variant| variant.role == Role::AsFound && variant.decoder.is_none();
    let find = |is_it: &dyn Fn(&&Variant) -> bool| variants.iter().copied().find(is_it);
    if searched.is_some() { find(&is_written).or(searched) } else { find(&is_found) }
}

/// The baseline with deltas that were searched for anew.
fn searched_baseline<'a>(variants: &[&'a Variant]) -> Option<&'a Variant> {
    let baseline = variants.iter().find(|variant| is_baseline(variant.role))?;
    let is_searched = |variant: &&Variant| is_plain(variant, DeltaOrigin::Recomputed) && variant.spec == baseline.spec;
    variants.iter().copied().find(is_searched)
}

/// Whether the variant differs from the baseline at most in its codec and in having these deltas.
fn is_plain(variant: &Variant, deltas: DeltaOrigin) -> bool {
    is_headline(variant)
        && variant.deltas == deltas
        && variant.delta_window.is_none()
        && variant.layout.is_none()
        && variant.decoder.is_none()
        && variant.self_test_name.is_none()
}

/// The gain of a variant against the baseline, or against `reference`: the baseline with searched deltas, or the
/// repository as found.
fn gain<'a>(
    outcome: &Outcome<'a>,
    baseline: &VariantComparison,
    reference: Option<&Outcome<'a>>,
    comparisons: &[&WorkloadComparison],
) -> Option<CodecGain<'a>> {
    let first = outcome.rows.iter().copied().flatten().next()?;
    let before = reference.and_then(|of| of.rows.iter().copied().flatten().next()).unwrap_or(baseline);
    // Means over different workloads cannot be compared, so each has to have a ratio.
    let times = |ratio_of: fn(&WorkloadComparison, &VariantComparison, bool) -> Option<BoundedRatio>| {
        let of_workload = |(at, comparison): (usize, &&WorkloadComparison)| {
            let row = |outcome: &Outcome<'a>| outcome.rows.get(at).copied().flatten();
            let (own, Some(reference)) = (row(outcome)?, reference) else {
                return ratio_of(comparison, row(outcome)?, false);
            };
            let other = row(reference)?;
            match own.to_reference {
                Some(direct) if direct.row == other.variant.row => ratio_of(comparison, own, true),
                _ => Some(ratio_of(comparison, own, false)?.beside(ratio_of(comparison, other, false)?)),
            }
        };
        let reading = comparisons.iter().enumerate().filter(|(_, comparison)| is_reading(comparison));
        BoundedRatio::mean(&reading.map(of_workload).collect::<Option<Vec<_>>>()?)
    };
    Some(CodecGain {
        spec: first.variant.spec.as_ref()?,
        readers: first.variant.readers,
        client: first.variant.client.as_ref().filter(|client| client.is_helped()),
        size: BoundedRatio::exact(first.size.total_bytes as f64 / before.size.total_bytes.max(1) as f64),
        cpu: times(cpu),
        elapsed: times(elapsed),
        // A conversion after a search includes what the baseline's did.
        writing_seconds: first.conversion.map(|cost| {
            let before = reference.and(before.conversion).map_or(0, |cost| cost.cpu_ns);
            cost.cpu_ns.saturating_sub(before) as f64 / 1e9
        }),
        writing_memory: first.conversion.and_then(|cost| cost.encode_memory_bytes),
    })
}

/// The ratio of CPU times to the baseline, or to the reference, with an interval that the noise floor widens. `None`
/// where elapsed time is compared.
fn cpu(comparison: &WorkloadComparison, row: &VariantComparison, to_reference: bool) -> Option<BoundedRatio> {
    let compared = comparison.compared_time != ComparedTime::Wall;
    compared.then(|| of_compared_time(comparison, row, to_reference)).flatten()
}

/// The same for elapsed time.
fn elapsed(comparison: &WorkloadComparison, row: &VariantComparison, to_reference: bool) -> Option<BoundedRatio> {
    if comparison.compared_time == ComparedTime::Wall {
        return of_compared_time(comparison, row, to_reference);
    }
    let noise = comparison.elapsed_noise.and_then(|noise| noise.interval);
    let floor = noise.as_ref().map(crate::noise_floor);
    let elapsed = row.elapsed?;
    Some(match row.to_reference.filter(|_| to_reference) {
        Some(direct) => direct_ratio(&direct.elapsed?, floor, elapsed.verdict),
        None => bounded(&elapsed.ratio, floor, elapsed.verdict),
    })
}

fn of_compared_time(
    comparison: &WorkloadComparison,
    row: &VariantComparison,
    to_reference: bool,
) -> Option<BoundedRatio> {
    Some(match row.to_reference.filter(|_| to_reference) {
        Some(direct) => direct_ratio(&direct.ratio, comparison.noise_floor, row.verdict),
        None => bounded(&row.ratio?, comparison.noise_floor, row.verdict),
    })
}

/// A ratio to the reference, which has no verdict of its own: it may be anything where the one to the baseline has none
/// either.
fn direct_ratio(estimate: &RatioEstimate, floor: Option<f64>, of_baseline: Option<Verdict>) -> BoundedRatio {
    // Not inconclusive: the interval alone decides.
    bounded(estimate, floor, of_baseline.map(|_| Verdict::Same))
}

/// A ratio without a verdict may be anything, and one that is not decided may be 1.
fn bounded(estimate: &RatioEstimate, floor: Option<f64>, verdict: Option<Verdict>) -> BoundedRatio {
    let interval = estimate.interval.filter(|_| verdict.is_some());
    let (low, high) = interval.map_or((0.0, f64::INFINITY), |interval| (interval.low, interval.high));
    let floor = 1.0 + floor.unwrap_or_default();
    let (low, high) = (low / floor, high * floor);
    match verdict {
        Some(Verdict::Inconclusive) => BoundedRatio { ratio: estimate.ratio, low: low.min(1.0), high: high.max(1.0) },
        _ => BoundedRatio { ratio: estimate.ratio, low, high },
    }
}

#[cfg(test)]
mod tests {
    use repackbench_records::{
        Readers, ReferenceRatios,
        fixtures::{comparison, estimate, row},
    };

    use super::*;
    use crate::advice::CodecVerdict;

    /// A row that takes `bytes` thousandths of the bytes of the baseline.
    fn candidate(spec: &str, ratio: f64, bytes: u64, deltas: DeltaOrigin, readers: Readers) -> VariantComparison {
        let ratio = estimate(ratio, ratio - 0.005, ratio + 0.005);
        let mut row = row(Role::Candidate, spec, 100, Some(ratio), 10_000 * bytes);
        row.variant.deltas = deltas;
        row.variant.readers = Some(readers);
        row
    }

    fn workload(candidates: Vec<VariantComparison>) -> WorkloadComparison {
        let rows = std::iter::once(row(Role::Baseline, "zlib:6", 100, None, 10_000_000)).chain(candidates).collect();
        comparison("traverse", rows, Some(estimate(1.0, 0.995, 1.005)))
    }

    #[test]
    fn codecs_are_compared_under_the_deltas_that_were_searched_for() {
        let anew = DeltaOrigin::Recomputed;
        let workload = workload(vec![
            candidate("zstd:9", 0.70, 850, DeltaOrigin::Kept, Readers::Exec),
            candidate("zlib:6", 0.80, 600, anew, Readers::Stock),
            candidate("zstd:9", 0.60, 540, anew, Readers::Exec),
            candidate("libdeflate:6", 0.72, 601, anew, Readers::Stock),
        ]);
        let found = advise_on_bench(&[&workload]).unwrap();
        assert!((found.searched_cpu.unwrap().ratio - 0.80).abs() < 1e-9);
        assert_eq!(found.searched.unwrap().size.total_bytes, 6_000_000);
        let best = found.advice.best.unwrap();
        assert_eq!((best.spec.typed.as_str(), best.size), ("zstd:9", BoundedRatio::exact(0.9)));
        let cpu = best.cpu.unwrap();
        assert!((cpu.ratio - 0.75).abs() < 1e-9 && cpu.low < 0.74 && cpu.high > 0.76, "{cpu:?}");
        assert_eq!(found.advice.stock.unwrap().spec.typed, "libdeflate:6");
        assert_eq!(found.advice.verdict, CodecVerdict::Change);
    }

    #[test]
    fn ratios_to_what_codecs_are_compared_with_are_those_of_the_same_blocks() {
        let anew = DeltaOrigin::Recomputed;
        let mut zstd = candidate("zstd:9", 0.60, 540, anew, Readers::Exec);
        zstd.variant.row = 2;
        let mut searched = candidate("zlib:6", 0.80, 600, anew, Readers::Stock);
        searched.variant.row = 1;
        let mut cpu = |to_reference| {
            zstd.to_reference = to_reference;
            let workload = workload(vec![searched.clone(), zstd.clone()]);
            advise_on_bench(&[&workload]).unwrap().advice.best.unwrap().cpu.unwrap()
        };
        let divided = cpu(None);
        let of = |row| Some(ReferenceRatios { row, ratio: estimate(0.74, 0.738, 0.742), elapsed: None });
        let direct = cpu(of(1));
        assert!((direct.ratio - 0.74).abs() < 1e-9 && (divided.ratio - 0.75).abs() < 1e-9, "{direct:?}, {divided:?}");
        assert!(direct.high - direct.low < 0.7 * (divided.high - divided.low), "{direct:?}, {divided:?}");
        assert_eq!(cpu(of(3)), divided, "it is the ratio to another variant");
    }

    #[test]
    fn differences_within_the_noise_are_none() {
        let advice = |ratio, bytes| {
            let workload = workload(vec![candidate("zstd:9", ratio, bytes, DeltaOrigin::Kept, Readers::Exec)]);
            advise_on_bench(&[&workload]).unwrap().advice.verdict
        };
        assert_eq!(advice(0.99, 1000), CodecVerdict::Stay);
        assert_eq!(advice(0.97, 1000), CodecVerdict::TooSmall);
        assert_eq!(advice(0.80, 1000), CodecVerdict::Change);
        assert_eq!(advice(1.0, 940), CodecVerdict::Change);
        assert_eq!(advice(0.5, 1100), CodecVerdict::Stay);
        assert_eq!(advice(0.5, 1040), CodecVerdict::Change, "slightly larger, and much faster");
        assert_eq!(advice(0.95, 1040), CodecVerdict::Stay, "neither");
    }

    #[test]
    fn what_no_verdict_decided_is_open() {
        let mut workload = workload(vec![candidate("zstd:9", 0.6, 1000, DeltaOrigin::Kept, Readers::Exec)]);
        let mut advice = |verdict| {
            workload.rows[1].verdict = verdict;
            advise_on_bench(&[&workload]).unwrap().advice.verdict
        };
        assert_eq!(advice(Some(Verdict::Faster)), CodecVerdict::Change);
        assert_eq!(advice(Some(Verdict::Inconclusive)), CodecVerdict::Open);
        assert_eq!(advice(None), CodecVerdict::Open, "an invalid workload");
    }

    #[test]
    fn certain_gains_come_before_likely_ones() {
        let mut likely = candidate("zstd:3", 0.5, 1000, DeltaOrigin::Kept, Readers::Exec);
        likely.verdict = Some(Verdict::Inconclusive);
        let certain = candidate("zstd:9", 0.6, 1000, DeltaOrigin::Kept, Readers::Exec);
        let workload = workload(vec![likely, certain]);
        let advice = advise_on_bench(&[&workload]).unwrap().advice;
        assert_eq!((advice.best.unwrap().spec.typed.as_str(), advice.verdict), ("zstd:9", CodecVerdict::Change));
    }

    #[test]
    fn codec_that_is_there_already_is_no_change() {
        let zstd = candidate("zstd:3", 0.6, 1000, DeltaOrigin::Kept, Readers::Stock);
        let mut found = candidate("zlib:6", 0.6, 1000, DeltaOrigin::Kept, Readers::Stock);
        found.variant = Variant { role: Role::AsFound, spec: None, ..found.variant };
        let mut measured = workload(vec![zstd]);
        measured.rows.push(found);
        let verdict = |of: &WorkloadComparison| advise_on_bench(&[of]).unwrap().advice.verdict;
        assert_eq!(verdict(&measured), CodecVerdict::Change);
        measured.repository.codec = Some("zstd".to_owned());
        assert_eq!(verdict(&measured), CodecVerdict::Stay);
        let own = advise_on_bench(&[&measured]).unwrap().own.unwrap();
        assert_eq!(own.variant.role, Role::AsFound);
    }

    #[test]
    fn baseline_alone_advises_nothing() {
        assert!(advise_on_bench(&[&workload(Vec::new())]).is_none());
    }
}
