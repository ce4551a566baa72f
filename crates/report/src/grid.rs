//! The look that all tables share.

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

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
}

/// `text` with control characters as escapes (`\n`, `\u{1b}`): names come from files, and a terminal must not obey
/// them.
pub(crate) fn plain_text(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            plain.extend(character.escape_default());
        } else {
            plain.push(character);
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
    fn a_terminal_gets_no_orders_from_a_name() {
        assert_eq!(plain_text("a\u{1b}[2Jb\n\u{9b}c é"), "a\\u{1b}[2Jb\\n\\u{9b}c é");
        let table = text_table(&["name"], &[vec!["two\nlines".into()]]);
        assert_eq!(table.lines().count(), 3);
    }
}
