//! The section on a fleet. Where Git and Mercurial both occur, each has tables of its own: their baselines, codecs and
//! workloads differ, and a sum of both would say nothing about either.

use repackbench_analysis::Results;
use repackbench_records::{FleetSystem, Vcs};

use super::fleet;
use crate::document::{Article, Block};

/// The tables of the fleet in `results`, those of each system apart, then the failures and the answer.
pub(crate) fn articles(results: &Results) -> Vec<Article> {
    let Some(whole) = &results.fleet else { return Vec::new() };
    let mut answers: Vec<String> = without_commits(whole.without_commits).into_iter().collect();
    let mut articles = Vec::new();
    for FleetSystem { vcs, summary } in &results.fleet_systems {
        let name = system(*vcs);
        let mut of_system = fleet(summary);
        // It ends with the answer.
        answers.extend(of_system.pop().map(|answer| named_notes(name, answer)).unwrap_or_default());
        articles.extend(of_system.into_iter().map(|article| named(name, article)));
    }
    articles.extend(fleet(whole));
    if let Some(Block::Notes(notes)) = articles.last_mut().and_then(|answer| answer.blocks.last_mut()) {
        notes.append(&mut answers);
    }
    articles
}

fn without_commits(count: usize) -> Option<String> {
    let have = if count == 1 { "repository has" } else { "repositories have" };
    (count > 0).then(|| format!("{count} {have} no commits, so there is nothing to estimate."))
}

fn system(vcs: Option<Vcs>) -> &'static str {
    match vcs {
        Some(Vcs::Git) => "Git",
        Some(Vcs::Mercurial) => "Mercurial",
        None => "Unknown system",
    }
}

fn named(system: &str, article: Article) -> Article {
    let [title, heading] = [&article.title, &article.heading].map(|text| format!("{system}: {text}"));
    Article { title, heading, ..article }
}

/// The sentences of the answer about one system, each of which says so.
fn named_notes(system: &str, answer: Article) -> Vec<String> {
    let notes = answer.blocks.into_iter().filter_map(|block| match block {
        Block::Notes(notes) => Some(notes),
        Block::Table(_) | Block::Details(_) => None,
    });
    notes.flatten().map(|note| format!("{system}: {note}")).collect()
}

#[cfg(test)]
mod tests {
    use repackbench_records::{DeltaOrigin, FleetFailure, FleetState, FleetSummary};

    use super::*;
    use crate::fixtures::plain;

    fn summary(repositories: usize, bytes: u64) -> FleetSummary {
        let state = FleetState {
            deltas: DeltaOrigin::Kept,
            repositories,
            bytes,
            bytes_as_found: bytes,
            codecs: Vec::new(),
            classes: Vec::new(),
        };
        FleetSummary { repositories, states: vec![state], ..FleetSummary::default() }
    }

    #[test]
    fn each_system_has_tables_and_both_share_failures_and_answer() {
        let failure = FleetFailure { name: "bad".to_owned(), message: "no HEAD".to_owned(), is_permanent: true };
        let whole =
            FleetSummary { repositories: 5, without_commits: 1, failures: vec![failure], ..FleetSummary::default() };
        let system = |vcs, summary| FleetSystem { vcs: Some(vcs), summary };
        let fleet_systems =
            vec![system(Vcs::Git, summary(3, 70_000_000)), system(Vcs::Mercurial, summary(2, 20_000_000))];
        let articles = articles(&Results { fleet: Some(whole), fleet_systems, ..Results::default() });
        let headings: Vec<&str> = articles.iter().map(|article| article.heading.as_str()).collect();
        let sizes = |system, rest| format!("{system}: Sizes as found: {rest}");
        assert!(headings.contains(&&*sizes("Git", "3 repositories, 70.0 MB")), "{headings:?}");
        assert!(headings.contains(&&*sizes("Mercurial", "2 repositories, 20.0 MB")), "{headings:?}");
        let last_two = headings.get(headings.len() - 2..);
        assert_eq!(last_two, Some(&["Repositories that were not estimated", "Answer"][..]));
        let text = plain(&articles);
        let answer: Vec<&str> = text.split("Answer").nth(1).unwrap_or_default().split_whitespace().collect();
        let expected = "5 repositories estimated, 1 failed. 1 repository has no commits, so there is nothing to estimate. Git: 3 repositories estimated. Mercurial: 2 repositories";
        assert!(answer.join(" ").contains(expected), "{text}");
    }

    #[test]
    fn one_system_has_no_name() {
        let articles = articles(&Results { fleet: Some(summary(3, 70_000_000)), ..Results::default() });
        assert!(articles.iter().all(|article| !article.title.starts_with("Git")), "{articles:?}");
        assert!(super::articles(&Results::default()).is_empty());
    }
}
