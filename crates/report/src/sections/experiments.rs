//! Published experiments, run again: measured figures beside the published ones, and a verdict on each claim.
//!
//! - `tables`: a table for each quantity, an arm a row, or a listing of all of them;
//! - `statement` and `wording`: what a result says, in words;
//! - `claims`: the claims with their verdicts;
//! - `words`: verdicts and figures as text;
//!
//! The charts are in [`crate::chart`], Markdown and the page in [`crate::render`].

pub(crate) mod claims;
pub(crate) mod statement;
pub(crate) mod tables;
mod wording;
pub(crate) mod words;

use repackbench_records::{Experiment, Published, published_experiment};

pub use self::statement::{sentence, wording_problems};
use self::{
    claims::claims,
    statement::stored_sentence,
    tables::{listing, quantities},
    words::{outcome_name, summary},
};
use super::names::short_name;
use crate::document::{Article, Block, plain_text};

/// An article for each experiment: its question, tables, verdicts with their reasons, differences of the set-up, and notes.
pub fn experiments(experiments: &[Experiment]) -> Vec<Article> {
    experiments.iter().map(article).collect()
}

/// The published experiments: the question, the findings, and what running it again needs. `is_there` says which of them can be run.
pub fn experiment_list(all: &[Published], is_there: impl Fn(&str) -> bool) -> Vec<Article> {
    let article = |published: &Published| {
        let state = if is_there(&published.name) { "" } else { " (only its figures are here)" };
        let lines = [
            ("published", format!("{}, {}: {}", published.author, published.date, published.source)),
            ("asked", published.asked.clone()),
            ("found", published.found.clone()),
            ("needs", published.needs.clone()),
        ];
        let lines = lines.map(|(what, line)| format!("  {what}: {}", plain_text(&line)));
        Article::of([Block::Notes([format!("{}{state}", published.name)].into_iter().chain(lines).collect())])
    };
    all.iter().map(article).collect()
}

/// The name of the experiment and its repository.
pub(crate) fn title(experiment: &Experiment) -> String {
    format!("{} on {}", experiment.name, short_name(&experiment.repository.name))
}

/// The question, the author and the source; empty for an unknown experiment.
pub(crate) fn origin(experiment: &Experiment) -> String {
    published_experiment(&experiment.name)
        .map(|published| {
            format!(
                "{} Published by {}: {}; {}.",
                published.asked, published.author, published.source, published.set_up
            )
        })
        .unwrap_or_default()
}

/// Where the set-up differs from the published one, a sentence each.
pub(crate) fn differences(experiment: &Experiment) -> Vec<String> {
    experiment.differences.iter().map(stored_sentence).collect()
}

/// Notes on the measurement and the remarks on the publication, a sentence each.
pub(crate) fn notes(experiment: &Experiment) -> Vec<String> {
    // Results of version 1 repeat the remarks among their notes.
    let published = published_experiment(&experiment.name).filter(|_| experiment.experiment_schema > 1);
    let remarks = published.into_iter().flat_map(|published| published.remarks.iter().cloned());
    experiment.notes.iter().map(stored_sentence).chain(remarks).collect()
}

fn article(experiment: &Experiment) -> Article {
    let title = title(experiment);
    let headings = [title.clone(), origin(experiment)].map(|line| plain_text(&line));
    let heading = headings.iter().filter(|line| !line.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n");
    let mut blocks = Vec::new();
    for table in &experiment.tables {
        blocks.push(Block::note(plain_text(&stored_sentence(&table.title))));
        blocks.extend(quantities(table).into_iter().map(|(_, grid)| Block::Table(grid)));
    }
    for table in &experiment.listings {
        if let Some(grid) = listing(table) {
            blocks.extend([Block::note(plain_text(&stored_sentence(&table.title))), Block::Table(grid)]);
        }
    }
    let claims = claims(experiment).into_iter().map(|claim| {
        format!("{}: {} ({}) {}", outcome_name(claim.outcome), claim.claim, claim.figures(), claim.reason)
    });
    let claims: Vec<String> = claims.collect();
    blocks.push(list(&summary(experiment), &claims));
    for (heading, lines) in [("Where the set-up differs:", differences(experiment)), ("Notes:", notes(experiment))] {
        if !lines.is_empty() {
            blocks.push(list(heading, &lines));
        }
    }
    Article { repository: Some(experiment.repository.name.clone()), title, heading, blocks, ..Article::default() }
}

/// A list of sentences below a heading.
fn list(heading: &str, lines: &[String]) -> Block {
    let lines = lines.iter().map(|line| format!("- {}", plain_text(line)));
    Block::Notes(std::iter::once(heading.to_owned()).chain(lines).collect())
}

#[cfg(test)]
pub(crate) mod tests;
