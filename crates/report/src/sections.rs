//! What findings say: each file makes articles of one kind of finding. Every sentence of a report is written here.

pub(crate) mod budgets;
mod chains;
mod changes;
pub(crate) mod clients;
pub(crate) mod comparisons;
mod conversion;
pub(crate) mod experiments;
mod explanations;
pub(crate) mod joined;
mod memory_check;
pub(crate) mod names;
mod published;
mod self_test;
mod serving;
mod sizes;
pub(crate) mod source;
pub(crate) mod summary;
mod traces;

use repackbench_analysis::Results;
use repackbench_records::SizeRecord;

pub use self::{
    budgets::budgets,
    chains::chains,
    changes::changes,
    clients::clients,
    comparisons::comparisons,
    conversion::conversion,
    experiments::{experiment_list, experiments, sentence, wording_problems},
    explanations::explanations,
    joined::joined,
    memory_check::memory_check,
    self_test::self_test,
    serving::rollout,
    sizes::sizes,
    summary::summary,
    traces::{device_check, traces},
};
use crate::document::{Article, Section, SectionKind};

/// All that `results` have to say, in the order of reading. Sections without articles are left out.
pub fn document(results: &Results) -> Vec<Section> {
    let sections = SectionKind::ALL.map(|kind| Section { kind, articles: articles(kind, results) });
    sections.into_iter().filter(|section| !section.articles.is_empty()).collect()
}

/// What `results` have to say on one subject.
pub(crate) fn articles(kind: SectionKind, results: &Results) -> Vec<Article> {
    let records: Vec<SizeRecord> = results.sizes.iter().map(|line| line.size.clone()).collect();
    match kind {
        SectionKind::Experiments => experiments(&results.experiments),
        SectionKind::Summary => summary(&results.comparisons),
        SectionKind::Clients => clients(&results.comparisons),
        SectionKind::Joined => joined(&results.comparisons).into_iter().collect(),
        SectionKind::Comparisons => comparisons(&results.comparisons),
        SectionKind::Budgets => budgets(&results.budgets),
        SectionKind::Explanations => explanations(&results.explanations),
        SectionKind::Traces if results.traces.is_empty() => Vec::new(),
        SectionKind::Traces => traces(&results.traces),
        SectionKind::Sizes if records.is_empty() => Vec::new(),
        SectionKind::Sizes => vec![sizes(&records)],
    }
}
