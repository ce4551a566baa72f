//! Grouping of results by repository, machine and client.

use std::collections::BTreeSet;

use repackbench_records::{Host, RepositoryState, WorkloadComparison};

/// The source of some results: a repository, the machine if there are several, and the stock client that ran the
/// workloads.
#[derive(Debug, Clone, Copy)]
pub struct ResultSource<'a> {
    /// The repository, as described by the first result that has the revision from which workloads start.
    pub repository: &'a RepositoryState,
    /// The machine; `None` if all results are of one.
    pub host: Option<&'a Host>,
    /// The stock client; `None` for replays.
    pub client: Option<&'a str>,
}

impl<'a> ResultSource<'a> {
    /// A repository on any machine, replayed.
    pub fn of_repository(repository: &'a RepositoryState) -> Self {
        ResultSource { repository, host: None, client: None }
    }

    /// Whether results of this repository and machine belong to this source.
    pub fn has(&self, repository: &RepositoryState, host: &Host) -> bool {
        is_same_state(self.repository, repository) && self.host.is_none_or(|here| here.machine() == host.machine())
    }
}

/// Whether both are the same repository in the same state. Other fields depend on what was measured, and when.
pub fn is_same_state(one: &RepositoryState, other: &RepositoryState) -> bool {
    (&one.name, &one.fingerprint) == (&other.name, &other.fingerprint)
}

/// Each repository on each machine, once, in order of appearance.
pub fn sources<'a>(all: impl Iterator<Item = (&'a RepositoryState, &'a Host)>) -> Vec<ResultSource<'a>> {
    let mut sources: Vec<(ResultSource<'a>, &Host)> = Vec::new();
    for (repository, host) in all {
        let is_known = |(source, machine): &&mut (ResultSource<'a>, &Host)| {
            is_same_state(source.repository, repository) && machine.machine() == host.machine()
        };
        match sources.iter_mut().find(is_known) {
            Some((source, _)) if source.repository.head.is_none() => source.repository = repository,
            Some(_) => {}
            None => sources.push((ResultSource::of_repository(repository), host)),
        }
    }
    let machines: BTreeSet<_> = sources.iter().map(|(_, host)| host.machine()).collect();
    let are_several = machines.len() > 1;
    let named = |(source, host)| ResultSource { host: are_several.then_some(host), ..source };
    sources.into_iter().map(named).collect()
}

/// The comparisons of each repository, machine and client, in the given order.
pub fn by_source(comparisons: &[WorkloadComparison]) -> Vec<(ResultSource<'_>, Vec<&WorkloadComparison>)> {
    let sources = sources(comparisons.iter().map(|comparison| (&comparison.repository, &comparison.host)));
    let mut all: Vec<(ResultSource<'_>, Vec<&WorkloadComparison>)> = Vec::new();
    for source in sources {
        let first = all.len();
        let belongs = |comparison: &&WorkloadComparison| source.has(&comparison.repository, &comparison.host);
        for comparison in comparisons.iter().filter(belongs) {
            let client = comparison.workload.client();
            match all.iter_mut().skip(first).find(|(other, _)| other.client == client) {
                Some((_, others)) => others.push(comparison),
                None => all.push((ResultSource { client, ..source }, vec![comparison])),
            }
        }
    }
    all
}
