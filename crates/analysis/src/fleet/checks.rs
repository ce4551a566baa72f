//! Predictions compared with what `bench` measured on the same repositories.

use repackbench_records::{DeltaOrigin, FleetCheck, Role, VariantComparison, WorkloadComparison};

use super::{Member, geometric_mean, is_ratio, median_of};

/// What is compared.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    codec: String,
    /// `None` for sizes.
    workload: Option<String>,
}

/// Pairs of a predicted and a measured ratio to the baseline, one for each repository.
type Pairs = Vec<(f64, f64)>;

/// The pairs of each codec and workload.
type AllPairs = Vec<(Key, Pairs)>;

/// Each codec and workload that was measured on a repository of `members`, with deltas as found. Sizes come last.
pub(super) fn checks(members: &[Member<'_>], comparisons: &[WorkloadComparison]) -> Vec<FleetCheck> {
    let (mut times, mut sizes) = (AllPairs::new(), AllPairs::new());
    for member in members {
        let is_own = |of: &&WorkloadComparison| of.is_valid && of.repository.name == member.estimate.repository.name;
        for (number, comparison) in comparisons.iter().filter(is_own).enumerate() {
            for row in comparison.rows.iter().filter(|row| is_plain_candidate(row)) {
                let Some(at) = row.variant.spec.as_ref().and_then(|spec| member.place_of(&spec.canonical)) else {
                    continue;
                };
                let workload = comparison.workload.name.clone();
                add(&mut times, member, at, Some(workload), time_pair(member, at, comparison, row));
                // Every workload has the same sizes.
                if number == 0 {
                    add(&mut sizes, member, at, None, size_pair(member, at, comparison, row));
                }
            }
        }
    }
    times.into_iter().chain(sizes).map(|(key, pairs)| check(key, &pairs)).collect()
}

/// Whether only the codec distinguishes the row from the baseline.
fn is_plain_candidate(row: &VariantComparison) -> bool {
    let variant = &row.variant;
    variant.role == Role::Candidate
        && variant.deltas == DeltaOrigin::Kept
        && variant.decoder.is_none()
        && variant.client.is_none()
        && variant.layout.is_none()
}

fn add(all: &mut AllPairs, member: &Member<'_>, at: usize, workload: Option<String>, pair: Option<(f64, f64)>) {
    let (Some(spec), Some(pair)) = (member.state.specs.get(at), pair) else { return };
    let key = Key { codec: spec.spec.typed.clone(), workload };
    match all.iter_mut().find(|(other, _)| *other == key) {
        Some((_, pairs)) => pairs.push(pair),
        None => all.push((key, vec![pair])),
    }
}

fn time_pair(
    member: &Member<'_>,
    at: usize,
    comparison: &WorkloadComparison,
    row: &VariantComparison,
) -> Option<(f64, f64)> {
    let mut workloads = member.state.workloads.iter();
    let predicted = workloads.find(|workload| workload.workload.name == comparison.workload.name)?;
    pair(predicted.ratios.get(at)?.value, row.ratio?.ratio)
}

fn size_pair(
    member: &Member<'_>,
    at: usize,
    comparison: &WorkloadComparison,
    row: &VariantComparison,
) -> Option<(f64, f64)> {
    let predicted = member.size(at)?.0 / member.size(0)?.0;
    let measured = row.size.total_bytes as f64 / comparison.baseline()?.size.total_bytes as f64;
    pair(predicted, measured)
}

fn pair(predicted: f64, measured: f64) -> Option<(f64, f64)> {
    (is_ratio(predicted) && is_ratio(measured)).then_some((predicted, measured))
}

fn check(Key { codec, workload }: Key, pairs: &[(f64, f64)]) -> FleetCheck {
    let errors: Vec<f64> = pairs.iter().map(|(predicted, measured)| (predicted / measured - 1.0).abs()).collect();
    FleetCheck {
        codec,
        workload,
        repositories: pairs.len(),
        predicted: geometric_mean(pairs.iter().map(|(predicted, _)| *predicted)).unwrap_or_default(),
        measured: geometric_mean(pairs.iter().map(|(_, measured)| *measured)).unwrap_or_default(),
        largest_error: errors.iter().copied().fold(0.0, f64::max),
        median_error: median_of(errors),
    }
}
