//! The text of documents: each file turns one kind of finding into articles. Every sentence of a report is written
//! here.

pub(crate) mod advice;
pub(crate) mod answer;
pub(crate) mod budgets;
mod chains;
mod changes;
pub(crate) mod clients;
pub(crate) mod comparisons;
mod conversion;
pub(crate) mod effects;
mod estimates;
pub(crate) mod experiments;
pub(crate) mod explanations;
pub(crate) mod fleet;
pub(crate) mod fleet_systems;
pub(crate) mod joined;
mod memory_check;
pub(crate) mod names;
pub(crate) mod origin;
mod published;
pub(crate) mod results_page;
mod self_test;
mod serving;
mod serving_load;
mod sizes;
pub(crate) mod source;
pub(crate) mod summary;
mod traces;

use repackbench_analysis::{Results, chain_comparisons};
use repackbench_records::{SizeLine, SizeRecord};

pub use self::{
    budgets::budgets,
    chains::chains,
    changes::changes,
    clients::clients,
    comparisons::comparisons,
    conversion::{conversion, size_change},
    estimates::estimates,
    experiments::{experiment_list, experiments, sentence, wording_problems},
    explanations::explanations,
    fleet::fleet,
    joined::joined,
    memory_check::memory_check,
    results_page::{ResultsFile, results_page},
    self_test::self_test,
    serving::rollout,
    serving_load::serving_load,
    sizes::sizes,
    summary::summary,
    traces::{device_check, traces},
};
use crate::document::{Article, Section, SectionKind};

/// The document of `results`, in reading order, without empty sections.
pub fn document(results: &Results) -> Vec<Section> {
    let sections = SectionKind::ALL.map(|kind| section(kind, results));
    sections.into_iter().filter(|section| !section.articles.is_empty()).collect()
}

/// The section on one subject.
fn section(kind: SectionKind, results: &Results) -> Section {
    let articles = match kind {
        SectionKind::Experiments => experiments(&results.experiments),
        SectionKind::Fleet => fleet_systems::articles(results),
        SectionKind::Estimates => estimates(&results.estimates),
        SectionKind::Summary => summary(&results.comparisons),
        SectionKind::Clients => clients(&results.comparisons),
        SectionKind::Joined => joined(&results.comparisons).into_iter().collect(),
        SectionKind::Comparisons => comparisons(&results.comparisons),
        SectionKind::Budgets => budgets(&results.budgets),
        SectionKind::Explanations => explanations(&results.explanations),
        SectionKind::Traces => all_traces(results),
        SectionKind::Chains => chain_comparisons(&results.chains).iter().map(chains).collect(),
        SectionKind::Serving => {
            let rollouts = results.rollouts.iter().map(|measured| rollout(measured, true));
            rollouts.chain(results.serving_loads.iter().map(serving_load)).collect()
        }
        SectionKind::Sizes => recorded(&results.sizes, |lines| vec![sizes(&sized(lines))]),
    };
    Section { kind, articles }
}

/// The articles on `records`; none without records.
fn recorded<T>(records: &[T], say: impl Fn(&[T]) -> Vec<Article>) -> Vec<Article> {
    if records.is_empty() { Vec::new() } else { say(records) }
}

/// The sizes of some lines.
fn sized(lines: &[SizeLine]) -> Vec<SizeRecord> {
    lines.iter().map(|line| line.size.clone()).collect()
}

/// Traces, and how their models compare with this machine.
fn all_traces(results: &Results) -> Vec<Article> {
    let mut articles = recorded(&results.traces, traces);
    articles.extend(results.device_checks.iter().map(device_check));
    articles.extend(results.memory_checks.iter().map(memory_check));
    articles
}
