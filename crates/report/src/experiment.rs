//! Published experiments, run again: what was measured beside what was published, and what is to be said of each claim.
//!
//! - `grid`: a table for each quantity, an arm a row, or a listing of all of them;
//! - `words`: verdicts and figures as text;
//! - `markdown`: the same for a pull request.
//!
//! The charts are in [`crate::chart`], the page in [`crate::html`].

pub(crate) mod grid;
pub(crate) mod markdown;
pub(crate) mod words;

use repackbench_records::{Experiment, Published, published_experiment};

use self::{
    grid::{grids, listing},
    words::{claim_figures, outcome_name, summary},
};
use crate::{
    chart::short_name,
    grid::{Style, plain_text},
};

/// Each experiment: what was asked, the tables, the verdicts and their reasons, where the set-up differs, and notes.
pub fn experiment_table(experiments: &[Experiment], style: Style) -> String {
    experiments.iter().map(|experiment| text_of(experiment, style)).collect::<Vec<_>>().join("\n")
}

/// The experiments that were published: what each asked and found, and what running it again needs. `is_there` says which of them
/// can be run.
pub fn experiment_list(all: &[Published], is_there: impl Fn(&str) -> bool, style: Style) -> String {
    let mut text = String::new();
    for published in all {
        let state = if is_there(&published.name) { "" } else { " (only its figures are here)" };
        text.push_str(&format!("{}{state}\n", published.name));
        let lines = [
            ("published", format!("{}, {}: {}", published.author, published.date, published.source)),
            ("asked", published.asked.clone()),
            ("found", published.found.clone()),
            ("needs", published.needs.clone()),
        ];
        for (what, line) in lines {
            text.push_str(&indented(&format!("{what}: {line}"), style));
        }
        text.push('\n');
    }
    text
}

/// The lines of a paragraph, further right.
fn indented(text: &str, style: Style) -> String {
    let narrower = Style { width: style.width.map(|width| width.saturating_sub(2)), ..style };
    narrower.paragraph(&plain_text(text)).lines().map(|line| format!("  {line}\n")).collect()
}

/// What it is called: its name, and the repository.
pub(crate) fn title(experiment: &Experiment) -> String {
    format!("{} on {}", experiment.name, short_name(&experiment.repository.name))
}

/// Who published it, where, and what was asked; empty for what this program does not know.
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

fn text_of(experiment: &Experiment, style: Style) -> String {
    let mut text = style.paragraph(&plain_text(&title(experiment)));
    let origin = origin(experiment);
    if !origin.is_empty() {
        text.push_str(&style.paragraph(&plain_text(&origin)));
    }
    for table in &experiment.tables {
        text.push_str(&format!("\n{}", style.paragraph(&plain_text(&table.title))));
        for (_, grid) in grids(table) {
            text.push('\n');
            text.push_str(&grid.render_in(style));
        }
    }
    for table in &experiment.listings {
        if let Some(grid) = listing(table) {
            text.push_str(&format!("\n{}\n", style.paragraph(&plain_text(&table.title))));
            text.push_str(&grid.render_in(style));
        }
    }
    text.push_str(&format!("\n{}", style.paragraph(&summary(experiment))));
    let mut outcomes = Vec::new();
    for claim in &experiment.claims {
        let line =
            format!("{}: {} ({}) {}", outcome_name(claim.outcome), claim.claim, claim_figures(claim), claim.reason);
        outcomes.push(line);
    }
    text.push_str(&bullets(&outcomes, style));
    for (heading, lines) in [("Where the set-up differs:", &experiment.differences), ("Notes:", &experiment.notes)] {
        if !lines.is_empty() {
            text.push_str(&format!("\n{heading}\n{}", bullets(lines, style)));
        }
    }
    text
}

/// A list of sentences.
fn bullets(lines: &[String], style: Style) -> String {
    lines.iter().map(|line| style.paragraph(&format!("- {}", plain_text(line)))).collect()
}

#[cfg(test)]
pub(crate) mod tests;
