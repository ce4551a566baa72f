//! Articles in GitHub's flavour of Markdown.

use std::fmt::Write;

use super::{escaped, with_commands};
use crate::document::{Article, Block, Column, Table};

/// `articles` in GitHub's flavour of Markdown, with all tables and details.
pub fn articles_markdown(articles: &[Article]) -> String {
    articles.iter().map(article).collect()
}

fn article(article: &Article) -> String {
    let mut text = String::new();
    if !article.heading.is_empty() {
        let _ = write!(text, "### {}\n\n", escaped(&article.heading));
    }
    text.push_str(&blocks(article));
    text
}

/// The blocks of `article`, without its heading.
pub(super) fn blocks(article: &Article) -> String {
    let mut text = String::new();
    for block in &article.blocks {
        match block {
            Block::Table(table) => {
                text.push_str(&table_rows(table));
                list(&mut text, &table.footer);
            }
            Block::Notes(notes) | Block::Details(notes) => list(&mut text, notes),
        }
    }
    text
}

/// Adds `notes` to `text` as a list.
pub(super) fn list(text: &mut String, notes: &[impl ToString]) {
    for note in notes {
        // Text breaks the lines of some.
        let _ = writeln!(text, "- {}", with_commands(&note.to_string().replace('\n', " ")));
    }
    if !notes.is_empty() {
        text.push('\n');
    }
}

/// The rows of `table` below the names of its columns.
pub(super) fn table_rows(table: &Table) -> String {
    let mut text = table_row(table.columns.iter().map(Column::full_name));
    text.push_str(&format!("|{}\n", "---|".repeat(table.columns.len())));
    table.rows().for_each(|row| text.push_str(&table_row(row.cells.iter().map(|cell| cell.text.as_str()))));
    text.push('\n');
    text
}

/// The cells of a row.
pub(super) fn table_row(cells: impl Iterator<Item = impl AsRef<str>>) -> String {
    let cells: Vec<String> = cells.map(|cell| escaped(cell.as_ref().trim())).collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn articles_are_headings_tables_and_lists() {
        let mut table = Table::with_columns(&["name", "#MB"]);
        table.columns[1].over = "after".into();
        table.row(["a|b", "1.5"]);
        table.footer.push("Of two\nlines.".into());
        let mut article = Article::of([Block::Table(table), Block::note("One <note>.")]);
        let expected = "| name | after MB |\n|---|---|\n| a\\|b | 1.5 |\n\n- Of two lines.\n\n- One &lt;note&gt;.\n\n";
        assert_eq!(articles_markdown(std::slice::from_ref(&article)), expected);
        article.heading = "A #1".into();
        assert_eq!(articles_markdown(&[article]), format!("### A \\#1\n\n{expected}"));
    }
}
