//! What the estimates of many repositories say together.
//!
//! - `state`: all repositories in one state of their deltas, by codec and workload;
//! - `classes`: the same by size and kind of content;
//! - `checks`: predictions compared with measurements;
//! - `figures`: every figure of every repository.
//!
//! Sizes are multiples of the repository as it is in that state, CPU times multiples of those under the baseline, which
//! is the first codec of every estimate. A total weighs every byte or second the same, a geometric mean every
//! repository.

mod checks;
mod classes;
mod figures;
mod state;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use repackbench_records::{
    DeltaOrigin, DeltaState, FleetEnd, FleetFailure, FleetFigure, FleetSummary, FleetSystem, Rechosen,
    RepositoryEstimate, ResultLine, Vcs, WorkloadComparison,
};

pub use self::checks::CheckedPrediction;
use self::{
    checks::{checked, checks},
    figures::figures,
    state::state,
};
use crate::{Results, quantile};

/// The number of repositories that are named as the worst under a codec.
const WORST: usize = 10;

/// What the estimates of a fleet say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FleetFindings {
    /// The findings about all repositories. Of several version-control systems it only has counts, failures and figures:
    /// their codecs, baselines and workloads differ, so their bytes and times are not added up.
    pub whole: FleetSummary,
    /// The findings about each system, if there are several.
    pub systems: Vec<FleetSystem>,
}

/// The findings about the repositories in `lines`, the lines of all shards. A repository may be in several files, and
/// in several tries: its last estimate and the last end of the work on it count. Repositories with the same content
/// count once, under the first of their names. `with_figures` says whether to keep every figure of every repository.
pub fn summarize_fleet(lines: Vec<ResultLine>, with_figures: bool) -> FleetFindings {
    let FleetLines { ends, estimates, comparisons } = FleetLines::of(lines);
    let mut by_system: BTreeMap<Option<Vcs>, Vec<RepositoryEstimate>> = BTreeMap::new();
    for estimate in estimates {
        by_system.entry(estimate.repository.vcs).or_default().push(estimate);
    }
    let system = |(vcs, estimates)| {
        let summary = summarize_estimates(estimates, &comparisons, with_figures);
        FleetSystem { vcs, summary }
    };
    let mut systems: Vec<FleetSystem> = by_system.into_iter().map(system).collect();
    let mut whole = match systems.as_slice() {
        [] | [_] => systems.pop().map(|only| only.summary).unwrap_or_default(),
        _ => counts(&mut systems),
    };
    whole.without_commits = ends.values().filter(|end| matches!(end, FleetEnd::Empty)).count();
    whole.failures = ends.into_iter().filter_map(|(name, end)| failure(name, end)).collect();
    FleetFindings { whole, systems }
}

/// The counts of all systems, with their figures, which are taken from them.
fn counts(systems: &mut [FleetSystem]) -> FleetSummary {
    let mut whole = FleetSummary::default();
    for FleetSystem { summary, .. } in systems {
        whole.repositories += summary.repositories;
        whole.duplicates += summary.duplicates;
        whole.disturbed += summary.disturbed;
        whole.without_kind += summary.without_kind;
        whole.figures.append(&mut summary.figures);
    }
    whole
}

/// The lines of all shards by their kind.
#[derive(Debug, Default)]
pub(crate) struct FleetLines {
    /// The last end of the work on each repository.
    pub(crate) ends: BTreeMap<String, FleetEnd>,
    pub(crate) estimates: Vec<RepositoryEstimate>,
    /// Derived from the runs of `bench`.
    pub(crate) comparisons: Vec<WorkloadComparison>,
}

impl FleetLines {
    pub(crate) fn of(lines: Vec<ResultLine>) -> Self {
        let (mut found, mut runs) = (FleetLines::default(), Vec::new());
        // The last one of each name: the repository may have changed since an earlier one.
        let mut estimates = BTreeMap::new();
        for line in lines {
            match line {
                ResultLine::Fleet(end) => drop(found.ends.insert(end.name, end.end)),
                ResultLine::Estimate(estimate) => {
                    estimates.insert(estimate.repository.name.clone(), *estimate);
                }
                run @ ResultLine::Run(_) => runs.push(run),
                _ => {}
            }
        }
        let comparisons = Results::from_lines(runs).0.comparisons;
        FleetLines { comparisons, estimates: estimates.into_values().collect(), ..found }
    }
}

/// The findings about repositories, without failures; see [`summarize_fleet`].
pub(crate) fn summarize_estimates(
    mut estimates: Vec<RepositoryEstimate>,
    comparisons: &[WorkloadComparison],
    with_figures: bool,
) -> FleetSummary {
    estimates.sort_by(|a, b| a.repository.name.cmp(&b.repository.name));
    let count = estimates.len();
    let mut fingerprints = BTreeSet::new();
    estimates.retain(|estimate| fingerprints.insert(estimate.repository.fingerprint.clone()));
    let (found, searched) = members(&estimates);
    let figures = if with_figures { estimate_figures(&estimates) } else { Vec::new() };
    let states = [(DeltaOrigin::Kept, &found), (DeltaOrigin::Recomputed, &searched)];
    let states = states.into_iter().filter(|(_, members)| !members.is_empty());
    FleetSummary {
        without_commits: 0,
        repositories: estimates.len(),
        duplicates: count - estimates.len(),
        failures: Vec::new(),
        disturbed: estimates.iter().filter(|estimate| estimate.disturbing_load().is_some()).count(),
        without_kind: found.iter().filter(|member| classes::kind(member).is_none()).count(),
        states: states.map(|(deltas, members)| state(deltas, members)).collect(),
        checks: checks(&checked(&found, comparisons)),
        figures,
    }
}

/// The repositories with the deltas as found, and those whose deltas were searched for anew.
fn members(estimates: &[RepositoryEstimate]) -> (Vec<Member<'_>>, Vec<Member<'_>>) {
    let found = estimates.iter().map(|estimate| Member::new(estimate, &estimate.as_found)).collect();
    (found, estimates.iter().filter_map(Member::searched).collect())
}

/// Every predicted figure of `estimates`, first with the deltas as found: of each codec the size, then the time of each
/// workload.
pub fn estimate_figures(estimates: &[RepositoryEstimate]) -> Vec<FleetFigure> {
    let (found, searched) = members(estimates);
    let mut all = figures(DeltaOrigin::Kept, &found);
    all.extend(figures(DeltaOrigin::Recomputed, &searched));
    all
}

/// The predictions of `estimate` that `comparisons` check.
pub(crate) fn checked_predictions(
    estimate: &RepositoryEstimate,
    comparisons: &[WorkloadComparison],
) -> Vec<CheckedPrediction> {
    checked(&[Member::new(estimate, &estimate.as_found)], comparisons)
}

/// The size and the CPU time of `estimate` under `codec` as multiples of those under `other`, with deltas as found.
pub(crate) fn codec_ratios(estimate: &RepositoryEstimate, codec: &str, other: &str) -> Option<(f64, Option<f64>)> {
    let member = Member::new(estimate, &estimate.as_found);
    let place = |typed: &str| member.state.specs.iter().position(|spec| spec.spec.typed == typed);
    let (codec, other) = (place(codec)?, place(other)?);
    let cpu = member.cpu(codec).zip(member.cpu(other)).map(|(codec, other)| codec / other);
    Some((member.size(codec)?.0 / member.size(other)?.0, cpu))
}

/// The share of their bytes that whole files keep; `None` for older records, and without such files.
pub(crate) fn kept_by_whole_files(estimate: &RepositoryEstimate) -> Option<f64> {
    classes::kept_by_whole_files(&Member::new(estimate, &estimate.as_found))
}

fn failure(name: String, end: FleetEnd) -> Option<FleetFailure> {
    let is_permanent = end.is_final();
    match end {
        FleetEnd::Done { .. } | FleetEnd::Empty => None,
        FleetEnd::Failed { message } | FleetEnd::TryAgain { message } => {
            Some(FleetFailure { name, message, is_permanent })
        }
    }
}

/// A repository in one state of its deltas.
#[derive(Debug, Clone, Copy)]
struct Member<'a> {
    estimate: &'a RepositoryEstimate,
    state: &'a DeltaState,
}

impl<'a> Member<'a> {
    fn new(estimate: &'a RepositoryEstimate, state: &'a DeltaState) -> Self {
        Member { estimate, state }
    }

    /// The repository with deltas that were searched for anew, if they were.
    fn searched(estimate: &'a RepositoryEstimate) -> Option<Self> {
        match &estimate.rechosen {
            Rechosen::Searched { state, .. } => Some(Member::new(estimate, state)),
            Rechosen::TooLong { .. } | Rechosen::Left { .. } => None,
        }
    }

    /// The place of the codec among those of the estimate.
    fn place_of(&self, codec: &str) -> Option<usize> {
        self.state.specs.iter().position(|spec| spec.spec.canonical == codec)
    }

    /// The bytes under the codec at `at`, and as a multiple of the repository's. `None` if either is not positive.
    fn size(&self, at: usize) -> Option<(f64, f64)> {
        let bytes = self.state.specs.get(at)?.total_bytes.value;
        let ratio = bytes / self.state.total_bytes as f64;
        is_ratio(ratio).then_some((bytes, ratio))
    }

    /// The geometric mean of the CPU times of all workloads under the codec at `at`; `None` without workloads.
    fn cpu(&self, at: usize) -> Option<f64> {
        let ratios = self.state.workloads.iter().filter_map(|workload| workload.ratios.get(at));
        geometric_mean(ratios.map(|ratio| ratio.value).filter(|ratio| is_ratio(*ratio)))
    }
}

/// Whether a number from a record can be a ratio.
pub(crate) fn is_ratio(number: f64) -> bool {
    number.is_finite() && number > 0.0
}

/// The geometric mean of positive numbers; `None` of none.
pub(crate) fn geometric_mean(ratios: impl Iterator<Item = f64>) -> Option<f64> {
    let (logs, count) = ratios.fold((0.0, 0_u32), |(logs, count), ratio| (logs + ratio.ln(), count + 1));
    (count > 0).then(|| (logs / f64::from(count)).exp())
}

/// The median; 0 of none.
pub(crate) fn median_of(mut values: Vec<f64>) -> f64 {
    quantile(&mut values, 0.5).unwrap_or_default()
}
