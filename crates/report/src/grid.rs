//! The look that all tables share.

use anstyle::{AnsiColor, Style as Ansi};
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

/// What the reader's screen can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// How many characters fit into a line; `None` for as many as there are.
    pub width: Option<usize>,
    /// Whether words that a verdict is given in have a colour.
    pub is_coloured: bool,
}

impl Style {
    /// For pipes and files: lines of any length, no colour.
    pub const PLAIN: Style = Style { width: None, is_coloured: false };

    /// `text` in lines that fit, with a newline after each.
    pub(crate) fn paragraph(self, text: &str) -> String {
        let mut paragraph = match self.width {
            Some(width) => textwrap::fill(text, width.max(MIN_WIDTH)),
            None => text.to_owned(),
        };
        paragraph.push('\n');
        paragraph
    }
}

/// The narrowest that anything is made: below it, tables are one letter wide.
const MIN_WIDTH: usize = 40;

/// How a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words: flush left.
    Words,
    /// Numbers: flush right, header too.
    Numbers,
}

/// A table with one line of headers, a rule under it, and as many lines as rows.
pub(crate) struct Grid {
    table: Table,
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// An empty table with these columns.
    pub(crate) fn new(columns: &[(&str, Align)]) -> Self {
        let mut table = Table::new();
        table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('-')));
        table.set_header(columns.iter().map(|(name, _)| plain_text(name)));
        for (column, (_, align)) in table.column_iter_mut().zip(columns) {
            column.set_padding((0, 2));
            column.set_cell_alignment(match align {
                Align::Words => CellAlignment::Left,
                Align::Numbers => CellAlignment::Right,
            });
        }
        let columns = columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect();
        Grid { table, columns, rows: Vec::new() }
    }

    /// What was put in, for forms other than plain text: the columns, and the cells as they were given.
    pub(crate) fn into_cells(self) -> (Vec<(String, Align)>, Vec<Vec<String>>) {
        (self.columns, self.rows)
    }

    /// Adds a row. Control characters in cells are made visible.
    pub(crate) fn row<I>(&mut self, cells: I)
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let cells: Vec<String> = cells.into_iter().map(|cell| cell.as_ref().to_owned()).collect();
        self.table.add_row(cells.iter().map(|cell| plain_text(cell)));
        self.rows.push(cells);
    }

    /// The table as text, without blanks at line ends, with a newline after each line.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        for line in self.table.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// How many characters its longest line has.
    pub(crate) fn width(&self) -> usize {
        self.table.lines().map(|line| line.trim_end().chars().count()).max().unwrap_or(0)
    }

    /// The table as text that fits `style`: where it is too wide, cells have several lines.
    pub(crate) fn render_in(mut self, style: Style) -> String {
        if let Some(width) = style.width.filter(|width| self.width() > *width) {
            self.table.set_content_arrangement(ContentArrangement::Dynamic);
            self.table.set_width(u16::try_from(width.max(MIN_WIDTH)).unwrap_or(u16::MAX));
        }
        let text = self.render();
        if style.is_coloured { coloured(&text) } else { text }
    }
}

/// The words that have a colour: the one is good news, the other is bad.
const COLOURED: [(&str, Ansi); 2] =
    [("faster", AnsiColor::Green.on_default()), ("slower", AnsiColor::Red.on_default())];

/// `text` with colour on the verdicts that stand in it.
fn coloured(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, word, colour)) = next_verdict(rest) {
        let (before, after) = rest.split_at(at);
        result.push_str(before);
        result.push_str(&format!("{colour}{word}{colour:#}"));
        rest = after.strip_prefix(word).unwrap_or(after);
    }
    result.push_str(rest);
    result
}

/// Where the first verdict of `text` is. It stands by itself in a cell, or after a ratio.
fn next_verdict(text: &str) -> Option<(usize, &'static str, Ansi)> {
    let is_verdict = |at: usize, word: &str| {
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + word.len()..).unwrap_or_default());
        let follows_ratio =
            before.strip_suffix(' ').is_some_and(|before| before.ends_with(|last: char| last.is_ascii_digit()));
        let ends_cell = after.is_empty() || after.starts_with("  ") || after.starts_with('\n');
        (before.ends_with("  ") || follows_ratio) && ends_cell
    };
    let first = |(word, colour): &(&'static str, Ansi)| {
        let (at, _) = text.match_indices(word).find(|(at, _)| is_verdict(*at, word))?;
        Some((at, *word, *colour))
    };
    COLOURED.iter().filter_map(first).min_by_key(|(at, ..)| *at)
}

/// `text` with control characters as escapes (`\n`, `\u{1b}`), and those that turn the direction of reading: names come from files, a
/// terminal must not obey them, and a reader must see the text that is there.
pub(crate) fn plain_text(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                plain.extend(character.escape_unicode());
            }
            _ if character.is_control() => plain.extend(character.escape_default()),
            _ => plain.push(character),
        }
    }
    plain
}

/// A table of words, all columns flush left: for the list of codecs and the like.
pub fn text_table(header: &[&str], rows: &[Vec<String>]) -> String {
    let columns: Vec<(&str, Align)> = header.iter().map(|name| (*name, Align::Words)).collect();
    let mut grid = Grid::new(&columns);
    for row in rows {
        grid.row(row);
    }
    grid.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_left_under_their_headers() {
        let rows =
            vec![vec!["zlib".into(), "0..9".into(), "yes".into()], vec!["zstd".into(), "-7..22".into(), "no".into()]];
        assert_eq!(
            text_table(&["codec", "levels", "stock git reads it"], &rows),
            "codec  levels  stock git reads it\n\
             -----------------------------------\n\
             zlib   0..9    yes\n\
             zstd   -7..22  no\n"
        );
    }

    #[test]
    fn a_table_that_is_too_wide_has_cells_of_several_lines() {
        let grid = || {
            let mut grid = Grid::new(&[("variant", Align::Words), ("verdict", Align::Words)]);
            grid.row(["zstd:5", &"inconclusive and so on and on ".repeat(4)]);
            grid
        };
        assert_eq!(grid().render_in(Style::PLAIN), grid().render());
        let narrow = grid().render_in(Style { width: Some(60), ..Style::PLAIN });
        assert!(narrow.lines().count() > 3 && narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
        let paragraph = Style { width: Some(50), ..Style::PLAIN }.paragraph(&"word ".repeat(30));
        assert!(paragraph.lines().count() > 2 && paragraph.lines().all(|line| line.len() <= 50), "{paragraph}");
    }

    #[test]
    fn verdicts_have_a_colour_and_nothing_else_has() {
        let mut grid = Grid::new(&[("variant", Align::Words), ("ratio", Align::Words), ("verdict", Align::Words)]);
        grid.row(["is it faster than", "0.72 faster", "faster"]);
        grid.row(["slower?", "1.72", "slower"]);
        let plain = grid.render();
        let text = grid.render_in(Style { is_coloured: true, ..Style::PLAIN });
        assert_eq!(text.matches("\u{1b}[32mfaster\u{1b}[0m").count(), 2, "{text}");
        assert_eq!(text.matches("\u{1b}[31mslower\u{1b}[0m").count(), 1, "{text}");
        assert_eq!(text.matches('\u{1b}').count(), 6, "{text}");
        assert_eq!(text.replace("\u{1b}[32m", "").replace("\u{1b}[31m", "").replace("\u{1b}[0m", ""), plain);
    }

    #[test]
    fn a_terminal_gets_no_orders_from_a_name() {
        assert_eq!(plain_text("a\u{1b}[2Jb\n\u{9b}c é"), "a\\u{1b}[2Jb\\n\\u{9b}c é");
        assert_eq!(plain_text("gpj\u{202e}exe \u{2029}"), "gpj\\u{202e}exe \\u{2029}");
        let table = text_table(&["name"], &[vec!["two\nlines".into()]]);
        assert_eq!(table.lines().count(), 3);
    }
}
