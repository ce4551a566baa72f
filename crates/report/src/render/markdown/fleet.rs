//! A fleet in GitHub's flavour of Markdown: the answer first.

use std::fmt::Write;

use repackbench_records::FleetSummary;

use super::{escaped, experiments::table_rows};
use crate::{
    document::{Article, Block},
    sections,
};

/// The tables of a fleet.
pub(crate) fn section(summary: &FleetSummary) -> String {
    let mut articles = sections::fleet(summary);
    // Text ends with the answer.
    articles.rotate_right(1);
    articles.iter().map(article).collect()
}

fn article(article: &Article) -> String {
    let mut text = format!("### {}\n\n", escaped(&article.heading));
    for block in &article.blocks {
        match block {
            Block::Table(table) => text.push_str(&table_rows(table)),
            Block::Notes(notes) | Block::Details(notes) => {
                for note in notes {
                    let _ = writeln!(text, "- {}", escaped(note));
                }
                text.push('\n');
            }
        }
    }
    text
}
