//! The findings of the page of results: public repositories, each and together.
//!
//! Repositories that codec specs were chosen on say nothing about how good these specs are elsewhere. They have a row,
//! and are in no summary. Neither is one and the same repository in two: Git and Mercurial are summarized apart.

use std::collections::{BTreeMap, BTreeSet};

use repackbench_records::{
    ContentKind, DeltaState, FleetCodec, FleetEnd, FleetSummary, ListedRepository, Readers, Rechosen,
    RepositoryEstimate, ResultLine, SpecParts, WorkloadComparison,
};

use crate::fleet::{
    CheckedPrediction, FleetLines, checked_predictions, codec_ratios, geometric_mean, is_ratio, kept_by_whole_files,
    median_of, summarize_estimates,
};

/// The bytes of the repositories that the page is meant for.
const MEANT_BYTES: std::ops::RangeInclusive<u64> = 3_000_000..=500_000_000;

/// All findings, of repositories that are listed.
#[derive(Debug, Clone, Default)]
pub struct ResultsPage {
    /// Each repository with an estimate, by name.
    pub repositories: Vec<PageRepository>,
    /// The held-out repositories in Git.
    pub git: HeldOut,
    /// The held-out repositories in Mercurial.
    pub mercurial: HeldOut,
    /// The held-out repositories of each kind of content that has some.
    pub kinds: Vec<(ContentKind, HeldOut)>,
    /// The listed repositories that codec specs were chosen on, by name, with an estimate or without.
    pub chosen_on: Vec<String>,
    /// Listed repositories without an estimate, by name, with the reason if a record has it.
    pub missing: Vec<(String, Option<String>)>,
}

/// A repository of the page.
#[derive(Debug, Clone)]
pub struct PageRepository {
    /// What no record says about it.
    pub listed: ListedRepository,
    /// The predictions.
    pub estimate: RepositoryEstimate,
    /// Those that `bench` checked.
    pub checked: Vec<CheckedPrediction>,
    /// Whether `bench` measured it in another session than that of the estimate.
    pub is_measured_apart: bool,
}

/// What held-out repositories say together.
#[derive(Debug, Clone, Default)]
pub struct HeldOut {
    /// Sizes and times under each codec. Deltas that git had to search for without file names are not in it.
    pub summary: FleetSummary,
    /// The facts of each codec, in the order of the estimates.
    pub codecs: Vec<PageCodec>,
    /// What a new search for deltas saves; `None` if there was none.
    pub search: Option<SearchGain>,
    /// Each codec other than the baseline with the geometric mean of its sizes as found, in the repositories that
    /// `search` is about: only there a codec compares with the search.
    pub served_where_searched: Vec<(String, f64)>,
    /// The number of repositories in which git had to search without file names.
    pub searched_without_names: usize,
    /// The repositories that lack objects.
    pub incomplete: usize,
    /// The repositories that git calls partial clones.
    pub partial_clones: usize,
    /// The fewest and the most bytes of a repository as found; `None` without one.
    pub bytes_from_to: Option<(u64, u64)>,
    /// The repositories of 3 to 500 MB as found.
    pub of_meant_size: usize,
    /// The codecs whose times were checked, in the order of the records.
    pub checked_codecs: Vec<CheckedCodec>,
    /// Where the replays' time goes, for each workload.
    pub decoding: Vec<DecodeShare>,
}

/// The facts of a codec that do not depend on a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageCodec {
    /// The codec as typed.
    pub typed: String,
    /// Who reads it.
    pub readers: Readers,
    /// Whether it is one codec without options: no dictionary, and no base as prefix.
    pub is_plain: bool,
}

/// A codec whose predicted CPU times `bench` checked: geometric means over the workloads of those over the
/// repositories.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedCodec {
    /// The codec as typed.
    pub typed: String,
    /// The predicted ratio to the baseline.
    pub predicted: f64,
    /// The measured one.
    pub measured: f64,
}

/// What a new search for deltas makes of some repositories, as multiples of their bytes as found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchGain {
    /// The number of repositories.
    pub repositories: usize,
    /// All bytes together.
    pub total: f64,
    /// The geometric mean.
    pub mean: f64,
    /// The median.
    pub median: f64,
}

/// The shares of time in which chunks are decoded: medians over repositories, as found.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodeShare {
    /// The workload.
    pub workload: String,
    /// Of the replay's CPU time.
    pub of_replay: f64,
    /// Of the CPU time of the user's own git; `None` if git has no command for it.
    pub of_git: Option<f64>,
}

/// The findings about the repositories in `lines`, all of which are `listed`. Of several estimates of one repository,
/// the last counts.
pub fn results_page(listed: &[ListedRepository], lines: Vec<ResultLine>) -> ResultsPage {
    let apart = measured_apart(&lines);
    let FleetLines { ends, mut estimates, comparisons } = FleetLines::of(lines);
    let mut listed: Vec<&ListedRepository> = listed.iter().collect();
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    let mut page = ResultsPage::default();
    for listed in listed {
        if listed.chosen_on {
            page.chosen_on.push(listed.name.clone());
        }
        let Some(at) = estimates.iter().rposition(|estimate| estimate.repository.name == listed.name) else {
            let why = ends.get(&listed.name).and_then(FleetEnd::why_not).map(str::to_owned);
            page.missing.push((listed.name.clone(), why));
            continue;
        };
        let estimate = estimates.remove(at);
        let checked = checked_predictions(&estimate, &comparisons);
        let is_measured_apart = apart.contains(&listed.name);
        page.repositories.push(PageRepository { listed: listed.clone(), estimate, checked, is_measured_apart });
    }
    let together = |is_in: &dyn Fn(ContentKind) -> bool| {
        let held_out = page.repositories.iter().filter(|of| !of.listed.chosen_on && is_in(of.listed.kind));
        HeldOut::of(&held_out.map(|of| &of.estimate).collect::<Vec<_>>(), &comparisons)
    };
    let git = together(&|kind| kind != ContentKind::ConvertedMercurial);
    let mercurial = together(&|kind| kind == ContentKind::ConvertedMercurial);
    let kinds = ContentKind::ALL.map(|kind| (kind, together(&|other| other == kind)));
    let kinds = kinds.into_iter().filter(|(_, of)| of.summary.repositories > 0).collect();
    ResultsPage { git, mercurial, kinds, ..page }
}

/// The repositories whose runs are not of the session of their last estimate: the work on a repository ended between
/// both. `fleet` writes the estimate, the runs and then the end.
fn measured_apart(lines: &[ResultLine]) -> BTreeSet<String> {
    #[derive(Default)]
    struct Sessions {
        ends: usize,
        of_estimate: Option<usize>,
        of_runs: BTreeSet<usize>,
    }
    let mut all: BTreeMap<&str, Sessions> = BTreeMap::new();
    for line in lines {
        match line {
            ResultLine::Fleet(end) => all.entry(&end.name).or_default().ends += 1,
            ResultLine::Estimate(estimate) => {
                let sessions = all.entry(&estimate.repository.name).or_default();
                sessions.of_estimate = Some(sessions.ends);
            }
            ResultLine::Run(run) => {
                let sessions = all.entry(&run.repository.name).or_default();
                sessions.of_runs.insert(sessions.ends);
            }
            _ => {}
        }
    }
    let is_apart = |of: &Sessions| of.of_estimate.is_some_and(|end| of.of_runs.iter().any(|other| *other != end));
    all.into_iter().filter(|(_, of)| is_apart(of)).map(|(name, _)| name.to_owned()).collect()
}

impl HeldOut {
    fn of(estimates: &[&RepositoryEstimate], comparisons: &[WorkloadComparison]) -> Self {
        let summarized = estimates.iter().map(|estimate| comparable(estimate)).collect();
        let summary = summarize_estimates(summarized, comparisons, false);
        let bytes = || estimates.iter().map(|of| of.as_found.total_bytes);
        HeldOut {
            checked_codecs: checked_codecs(&summary),
            summary,
            codecs: codecs(estimates),
            search: search_gain(estimates),
            served_where_searched: served_where_searched(estimates),
            searched_without_names: estimates.iter().filter(|of| is_searched_without_names(of)).count(),
            incomplete: estimates.iter().filter(|of| of.missing_objects > 0).count(),
            partial_clones: estimates.iter().filter(|of| of.repository.is_partial_clone).count(),
            bytes_from_to: bytes().min().zip(bytes().max()),
            of_meant_size: bytes().filter(|bytes| MEANT_BYTES.contains(bytes)).count(),
            decoding: decoding(estimates),
        }
    }

    /// The facts of the codec.
    pub fn codec(&self, typed: &str) -> Option<&PageCodec> {
        self.codecs.iter().find(|codec| codec.typed == typed)
    }

    /// The codec with the least bytes times CPU time among those that `is_in` accepts, as found, the baseline left out.
    pub fn best(&self, is_in: impl Fn(&PageCodec) -> bool) -> Option<&FleetCodec> {
        self.least(is_in, FleetCodec::product)
    }

    /// The codec with the fewest bytes by geometric mean, likewise.
    pub fn smallest(&self, is_in: impl Fn(&PageCodec) -> bool) -> Option<&FleetCodec> {
        self.least(is_in, |codec| codec.size.mean)
    }

    /// The codec with the least CPU time by geometric mean, likewise.
    pub fn fastest(&self, is_in: impl Fn(&PageCodec) -> bool) -> Option<&FleetCodec> {
        self.least(is_in, |codec| codec.cpu.map_or(f64::INFINITY, |cpu| cpu.mean))
    }

    fn least(&self, is_in: impl Fn(&PageCodec) -> bool, by: impl Fn(&FleetCodec) -> f64) -> Option<&FleetCodec> {
        let codecs = self.summary.states.first()?.codecs.iter().skip(1);
        let is_in = |of: &&FleetCodec| self.codec(&of.codec).is_some_and(&is_in);
        codecs.filter(is_in).min_by(|a, b| by(a).total_cmp(&by(b)))
    }
}

/// The estimate without a search that cannot be compared with those of others.
fn comparable(estimate: &RepositoryEstimate) -> RepositoryEstimate {
    let mut comparable = estimate.clone();
    if is_searched_without_names(estimate) {
        comparable.rechosen = Rechosen::Left { why: "objects are missing".to_owned() };
    }
    comparable
}

fn is_searched_without_names(estimate: &RepositoryEstimate) -> bool {
    matches!(estimate.rechosen, Rechosen::Searched { is_without_names: true, .. })
}

/// The repository with deltas that git searched for anew, with file names.
pub(crate) fn searched(estimate: &RepositoryEstimate) -> Option<&DeltaState> {
    match &estimate.rechosen {
        Rechosen::Searched { state, is_without_names: false, .. } => Some(state),
        _ => None,
    }
}

impl PageRepository {
    /// The repository with deltas that git searched for anew, with file names; `None` if it was not.
    pub fn searched(&self) -> Option<&DeltaState> {
        searched(&self.estimate)
    }

    /// The size and the CPU time under `codec` as multiples of those under `other`, with deltas as found.
    pub fn ratios(&self, codec: &str, other: &str) -> Option<(f64, Option<f64>)> {
        codec_ratios(&self.estimate, codec, other)
    }

    /// The share of their bytes that whole files keep; `None` for older records, and without such files.
    pub fn kept_by_whole_files(&self) -> Option<f64> {
        kept_by_whole_files(&self.estimate)
    }
}

fn checked_codecs(summary: &FleetSummary) -> Vec<CheckedCodec> {
    let times = || summary.checks.iter().filter(|check| check.workload.is_some());
    let mut names: Vec<&str> = Vec::new();
    for check in times() {
        if !names.contains(&check.codec.as_str()) {
            names.push(&check.codec);
        }
    }
    let of = |typed: &str| {
        let of_codec = || times().filter(|check| check.codec == typed);
        let predicted = geometric_mean(of_codec().map(|check| check.predicted))?;
        let measured = geometric_mean(of_codec().map(|check| check.measured))?;
        Some(CheckedCodec { typed: typed.to_owned(), predicted, measured })
    };
    names.into_iter().filter_map(of).collect()
}

fn codecs(estimates: &[&RepositoryEstimate]) -> Vec<PageCodec> {
    let mut codecs: Vec<PageCodec> = Vec::new();
    for spec in estimates.iter().flat_map(|estimate| &estimate.as_found.specs) {
        if !codecs.iter().any(|codec| codec.typed == spec.spec.typed) {
            let is_plain = SpecParts::of(&spec.spec.canonical).options.is_empty();
            codecs.push(PageCodec { typed: spec.spec.typed.clone(), readers: spec.readers, is_plain });
        }
    }
    codecs
}

fn served_where_searched(estimates: &[&RepositoryEstimate]) -> Vec<(String, f64)> {
    let of_search = estimates.iter().filter(|estimate| searched(estimate).is_some()).map(|of| (*of).clone()).collect();
    let summary = summarize_estimates(of_search, &[], false);
    let codecs = summary.states.into_iter().next().into_iter().flat_map(|state| state.codecs).skip(1);
    codecs.map(|codec| (codec.codec, codec.size.mean)).collect()
}

fn search_gain(estimates: &[&RepositoryEstimate]) -> Option<SearchGain> {
    let pair = |estimate: &&RepositoryEstimate| {
        Some((estimate.as_found.total_bytes as f64, searched(estimate)?.total_bytes as f64))
    };
    let pairs: Vec<(f64, f64)> = estimates.iter().filter_map(pair).filter(|(of, to)| is_ratio(to / of)).collect();
    let (found, left) = pairs.iter().fold((0.0, 0.0), |(found, left), (of, to)| (found + of, left + to));
    let ratios: Vec<f64> = pairs.iter().map(|(of, to)| to / of).collect();
    let mean = geometric_mean(ratios.iter().copied())?;
    Some(SearchGain { repositories: pairs.len(), total: left / found, mean, median: median_of(ratios) })
}

fn decoding(estimates: &[&RepositoryEstimate]) -> Vec<DecodeShare> {
    let workloads = || estimates.iter().flat_map(|estimate| &estimate.as_found.workloads);
    let mut names: Vec<&str> = Vec::new();
    for workload in workloads() {
        if !names.contains(&workload.workload.name.as_str()) {
            names.push(&workload.workload.name);
        }
    }
    let share = |name: &str| {
        let of_name = || workloads().filter(|of| of.workload.name == name);
        let of_git: Vec<f64> = of_name().filter_map(|of| of.own_share).collect();
        DecodeShare {
            workload: name.to_owned(),
            of_replay: median_of(of_name().map(|of| of.decode_share.value).collect()),
            of_git: (!of_git.is_empty()).then(|| median_of(of_git)),
        }
    };
    names.into_iter().map(share).collect()
}

#[cfg(test)]
mod tests;
