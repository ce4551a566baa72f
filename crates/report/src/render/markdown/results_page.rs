//! The files of the page of results, in GitHub's flavour of Markdown.

use std::fmt::Write;

use super::{escaped, with_commands};
use crate::{
    document::{Align, Block, Column, Row, Table},
    sections::results_page::{ResultsFile, page_of},
};

/// The longest line of prose.
const COLUMNS: usize = 120;

/// The first line of every file.
pub const RESULTS_MADE: &str =
    "<!-- Made from records by `cargo xtask results`. Change the records, not this file. -->";

/// The file as text.
pub fn results_file(file: &ResultsFile) -> String {
    let mut text = format!("{RESULTS_MADE}\n\n# {}\n\n", escaped(&file.title));
    if !file.lead.is_empty() {
        let _ = writeln!(text, "{}\n", wrapped("", "", &with_commands(&file.lead)));
    }
    let links: Vec<String> = file.links.iter().map(|(words, path)| link(words, path)).collect();
    if !links.is_empty() {
        let _ = writeln!(text, "{}\n", wrapped("", "", &links.join(" · ")));
    }
    for article in &file.articles {
        if !article.heading.is_empty() {
            let _ = writeln!(text, "## {}\n", escaped(&article.heading));
        }
        article.blocks.iter().for_each(|block| match block {
            Block::Table(of) => text.push_str(&table(of, &file.linked)),
            Block::Notes(notes) | Block::Details(notes) => {
                notes.iter().for_each(|note| {
                    let _ = writeln!(
                        text,
                        "{}",
                        wrapped("- ", "  ", &with_links(&with_commands(note), &file.linked_words))
                    );
                });
                text.push('\n');
            }
        });
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn link(words: &str, path: &str) -> String {
    format!("[{}]({path})", escaped(words))
}

/// `markdown` with the first place of each of the words as a link.
fn with_links(markdown: &str, linked: &[(String, String)]) -> String {
    let linked = linked.iter();
    linked.fold(markdown.to_owned(), |text, (words, path)| text.replacen(&escaped(words), &link(words, path), 1))
}

/// `markdown`, a paragraph or an item of a list, in lines of at most [`COLUMNS`] characters. `first` begins the first line, and
/// `others` the others.
fn wrapped(first: &str, others: &str, markdown: &str) -> String {
    let mut text = first.to_owned();
    let mut column = first.chars().count();
    for (at, word) in words(markdown).into_iter().enumerate() {
        let width = word.chars().count();
        if at > 0 && column + 1 + width > COLUMNS {
            text.push('\n');
            text.push_str(others);
            column = others.chars().count();
        } else if at > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(&word);
        column += width;
    }
    text
}

/// The parts that stay on one line: words, code and links. A percent sign stays with its number, and what begins a list
/// or a heading at the start of a line with the word before it.
fn words(markdown: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let (mut is_escaped, mut is_code, mut is_link) = (false, false, false);
    for character in markdown.chars() {
        match character {
            ' ' if !is_code && !is_link => push_word(&mut words, std::mem::take(&mut word)),
            _ => word.push(character),
        }
        match character {
            '`' if !is_escaped => is_code = !is_code,
            '[' if !is_escaped && !is_code => is_link = true,
            ')' => is_link = false,
            _ => {}
        }
        is_escaped = character == '\\' && !is_escaped && !is_code;
    }
    push_word(&mut words, word);
    words
}

fn push_word(words: &mut Vec<String>, word: String) {
    match words.last_mut() {
        Some(last) if begins_block(&word) || word.starts_with('%') => {
            last.push(' ');
            last.push_str(&word);
        }
        _ if word.is_empty() => {}
        _ => words.push(word),
    }
}

/// Whether Markdown takes a line that begins with the word for the start of something else.
fn begins_block(word: &str) -> bool {
    let number = word.strip_suffix(['.', ')']);
    let is_number = number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    let is_rule = !word.is_empty() && word.bytes().all(|byte| matches!(byte, b'-' | b'=' | b'+' | b'*' | b'_' | b'#'));
    is_number || is_rule
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_short_and_begin_no_other_block() {
        let a = "a".repeat(COLUMNS - 2);
        assert_eq!(wrapped("- ", "  ", &format!("{a} b c")), format!("- {a}\n  b c"));
        for rest in ["- b", "12. b", "% b"] {
            assert_eq!(wrapped("", "", &format!("{a} x {rest}")), format!("{a}\nx {rest}"));
        }
        for rest in ["`b c` d", "[b c](d e) f"] {
            assert_eq!(wrapped("", "", &format!("{a} x {rest}")), format!("{a} x\n{rest}"));
        }
        // Escaped, neither a link nor code begins.
        assert_eq!(words("\\[a b \\`c d"), ["\\[a", "b", "\\`c", "d"]);
        assert_eq!(words(""), Vec::<String>::new());
    }

    #[test]
    fn words_become_links_once() {
        let linked = [("the price".to_owned(), "../serving.md#the-price".to_owned())];
        let text = with_links("Read the price and the price.", &linked);
        assert_eq!(text, "Read [the price](../serving.md#the-price) and the price.");
    }
}
