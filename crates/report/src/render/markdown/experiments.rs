//! Experiments in GitHub's flavour of Markdown.

use std::fmt::Write;

use repackbench_records::{Experiment, ExperimentTable};

use super::{
    articles::{table_row, table_rows},
    escaped,
};
use crate::sections::experiments::{
    claims::claims,
    differences, notes, origin,
    statement::stored_sentence,
    tables::{listing, quantities},
    title,
    words::{outcome_name, summary},
};

/// A section for each experiment: verdicts first, then the figures.
pub(crate) fn sections(experiments: &[Experiment]) -> String {
    experiments.iter().map(section).collect()
}

fn section(experiment: &Experiment) -> String {
    let mut text = format!("### {}\n\n", escaped(&title(experiment)));
    let origin = origin(experiment);
    if !origin.is_empty() {
        let _ = writeln!(text, "{}\n", escaped(&origin));
    }
    let _ = writeln!(text, "{}\n", summary(experiment));
    if !experiment.claims.is_empty() {
        text.push_str("| claim | published | measured | verdict | why |\n|---|---|---|---|---|\n");
        for claim in claims(experiment) {
            let cells = [&claim.claim, &claim.published, &claim.measured, outcome_name(claim.outcome), &claim.reason];
            text.push_str(&table_row(cells.into_iter()));
        }
        text.push('\n');
    }
    experiment.tables.iter().for_each(|table| text.push_str(&figures(table)));
    for table in &experiment.listings {
        if let Some(grid) = listing(table) {
            let _ = write!(text, "#### {}\n\n{}", escaped(&stored_sentence(&table.title)), table_rows(&grid));
        }
    }
    for (heading, lines) in [("Where the set-up differs", differences(experiment)), ("Notes", notes(experiment))] {
        if !lines.is_empty() {
            let _ = writeln!(text, "{heading}:\n");
            lines.iter().for_each(|line| {
                let _ = writeln!(text, "- {}", escaped(line));
            });
            text.push('\n');
        }
    }
    text
}

/// A table for each quantity.
fn figures(table: &ExperimentTable) -> String {
    let mut text = format!("#### {}\n\n", escaped(&stored_sentence(&table.title)));
    for (_, grid) in quantities(table) {
        text.push_str(&table_rows(&grid));
    }
    text
}
