//! The files of the page of results, in GitHub's flavour of Markdown.

use std::fmt::Write;

use super::{escaped, with_commands};
use crate::{
    document::{Align, Block, Column, Row, Table},
    sections::results_page::{ResultsFile, page_of},
};

/// The first line of every file.
const MADE: &str = "<!-- Made from records by `cargo xtask results`. Change the records, not this file. -->";

/// The file as text.
pub fn results_file(file: &ResultsFile) -> String {
    let mut text = format!("{MADE}\n\n# {}\n\n", escaped(&file.title));
    let links: Vec<String> = file.links.iter().map(|(words, path)| format!("[{}]({path})", escaped(words))).collect();
    if !links.is_empty() {
        let _ = writeln!(text, "{}\n", links.join(" · "));
    }
    for article in &file.articles {
        if !article.heading.is_empty() {
            let _ = writeln!(text, "## {}\n", escaped(&article.heading));
        }
        article.blocks.iter().for_each(|block| match block {
            Block::Table(of) => text.push_str(&table(of, &file.linked)),
            Block::Notes(notes) | Block::Details(notes) => {
                notes.iter().for_each(|note| {
                    let _ = writeln!(text, "- {}", with_commands(note));
                });
                text.push('\n');
            }
        });
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn table(table: &Table, linked: &[String]) -> String {
    let heads = table.columns.iter().map(|column| escaped(&column.full_name()));
    let rules = table.columns.iter().map(rule);
    let mut text = line(heads) + &line(rules);
    table.rows().for_each(|row| text.push_str(&line(cells(row, linked))));
    text.push('\n');
    text
}

fn rule(column: &Column) -> String {
    if column.align == Align::Words { "---" } else { "---:" }.to_owned()
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// The cells of a row. The first one becomes a link if it begins with the name of a linked repository.
fn cells<'a>(row: &'a Row, linked: &'a [String]) -> impl Iterator<Item = String> + 'a {
    let link = |text: &str| {
        let name = linked.iter().find(|name| text.split_once(' ').map_or(text, |(name, _)| name) == **name)?;
        let rest = text.strip_prefix(name.as_str())?;
        Some(format!("[{}]({}){}", escaped(name), page_of(name), escaped(rest)))
    };
    row.cells.iter().enumerate().map(move |(at, cell)| {
        let text = cell.text.trim();
        (at == 0).then(|| link(text)).flatten().unwrap_or_else(|| escaped(text))
    })
}
