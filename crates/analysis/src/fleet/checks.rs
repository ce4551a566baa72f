//! Predictions compared with what `bench` measured on the same repositories.

use repackbench_records::{DeltaOrigin, FleetCheck, RatioInterval, Role, VariantComparison, WorkloadComparison};

use super::{Member, geometric_mean, is_ratio, median_of};

/// A predicted and a measured ratio to the baseline, on one repository with deltas as found.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedPrediction {
    /// The codec as typed.
    pub codec: String,
    /// The workload; `None` for the size.
    pub workload: Option<String>,
    /// The predicted ratio.
    pub predicted: f64,
    /// Whether its interval is so wide that it says nothing. Then its error is not counted.
    pub is_unknown: bool,
    /// The measured one.
    pub measured: f64,
    /// The interval of the measured one; `None` for sizes, which are exact, and for too few runs.
    pub interval: Option<RatioInterval>,
}

impl CheckedPrediction {
    /// The difference between both, as a share of the measured ratio.
    pub fn error(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }

    fn new(predicted: f64, measured: f64) -> Option<Self> {
        (is_ratio(predicted) && is_ratio(measured)).then_some(CheckedPrediction {
            codec: String::new(),
            workload: None,
            predicted,
            is_unknown: false,
            measured,
            interval: None,
        })
    }
}

/// Each codec and workload that was measured on a repository of `members`, with deltas as found. Sizes come last.
pub(super) fn checked(members: &[Member<'_>], comparisons: &[WorkloadComparison]) -> Vec<CheckedPrediction> {
    let (mut times, mut sizes) = (Vec::new(), Vec::new());
    for member in members {
        let is_own = |of: &&WorkloadComparison| of.repository.name == member.estimate.repository.name;
        for (number, comparison) in comparisons.iter().filter(is_own).enumerate() {
            for row in comparison.rows.iter().filter(|row| is_plain_candidate(row)) {
                let spec = row.variant.spec.as_ref();
                let Some(at) = spec.and_then(|spec| member.place_of(&spec.canonical)) else { continue };
                let codec = member.state.specs.get(at).map(|spec| spec.spec.typed.clone()).unwrap_or_default();
                let named = |of| CheckedPrediction { codec: codec.clone(), ..of };
                let workload = Some(comparison.workload.name.clone());
                // A disturbed session has no times, and its sizes are as good as any.
                let time = if comparison.is_valid { time_of(member, at, comparison, row) } else { None };
                times.extend(time.map(named).map(|of| CheckedPrediction { workload, ..of }));
                // Every workload has the same sizes.
                if number == 0 {
                    sizes.extend(size_of(member, at, comparison, row).map(named));
                }
            }
        }
    }
    times.append(&mut sizes);
    times
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

fn time_of(
    member: &Member<'_>,
    at: usize,
    comparison: &WorkloadComparison,
    row: &VariantComparison,
) -> Option<CheckedPrediction> {
    let mut workloads = member.state.workloads.iter();
    let predicted = workloads.find(|workload| workload.workload.name == comparison.workload.name)?;
    let measured = row.ratio?;
    let predicted = predicted.ratios.get(at)?;
    let checked = CheckedPrediction::new(predicted.value, measured.ratio)?;
    Some(CheckedPrediction { is_unknown: predicted.is_unknown(), interval: measured.interval, ..checked })
}

fn size_of(
    member: &Member<'_>,
    at: usize,
    comparison: &WorkloadComparison,
    row: &VariantComparison,
) -> Option<CheckedPrediction> {
    let predicted = member.size(at)?.0 / member.size(0)?.0;
    let measured = row.size.total_bytes as f64 / comparison.baseline()?.size.total_bytes as f64;
    CheckedPrediction::new(predicted, measured)
}

/// The predictions of each codec and workload together that say something, in the order of `all`.
pub(super) fn checks(all: &[CheckedPrediction]) -> Vec<FleetCheck> {
    let mut groups: Vec<Vec<&CheckedPrediction>> = Vec::new();
    for one in all.iter().filter(|one| !one.is_unknown) {
        let is_same = |other: &&CheckedPrediction| (&other.codec, &other.workload) == (&one.codec, &one.workload);
        match groups.iter_mut().find(|group| group.first().is_some_and(is_same)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups.iter().filter_map(|group| check(group)).collect()
}

fn check(group: &[&CheckedPrediction]) -> Option<FleetCheck> {
    let first = group.first()?;
    let errors: Vec<f64> = group.iter().map(|checked| checked.error().abs()).collect();
    Some(FleetCheck {
        codec: first.codec.clone(),
        workload: first.workload.clone(),
        repositories: group.len(),
        predicted: geometric_mean(group.iter().map(|checked| checked.predicted)).unwrap_or_default(),
        measured: geometric_mean(group.iter().map(|checked| checked.measured)).unwrap_or_default(),
        largest_error: errors.iter().copied().fold(0.0, f64::max),
        median_error: median_of(errors),
    })
}
