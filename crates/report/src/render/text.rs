//! Documents as text: for a terminal, a pipe or a file.

use anstyle::{AnsiColor, Style as Ansi};
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, TableStyle};

use crate::document::{Align, Article, Block, COLUMN_GAP, Cell, Column, Section, Table, Tone, plain_text};

/// The capabilities of the reader's screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// The number of characters that fit into a line; `None` for no limit.
    pub width: Option<usize>,
    /// Whether verdicts are coloured.
    pub is_coloured: bool,
    /// Whether details of the method are shown.
    pub is_detailed: bool,
}

impl Style {
    /// For pipes and files: lines of any length, no colour.
    pub const PLAIN: Style = Style { width: None, is_coloured: false, is_detailed: true };

    /// `text` in lines that fit, with a newline after each. All lines are indented like the first.
    pub(crate) fn paragraph(self, text: &str) -> String {
        let mut paragraph = match self.width {
            Some(width) => {
                let indent = text.get(..text.len() - text.trim_start_matches(' ').len()).unwrap_or_default();
                textwrap::fill(text, textwrap::Options::new(width.max(MIN_WIDTH)).subsequent_indent(indent))
            }
            None => text.to_owned(),
        };
        paragraph.push('\n');
        paragraph
    }
}

/// The minimum width of lines: otherwise columns would be one letter wide.
const MIN_WIDTH: usize = 40;

/// `sections` as text, with an empty line between them. The answer comes last, because a terminal shows the end.
pub fn text(sections: &[Section], style: Style) -> String {
    let (answer, others): (Vec<&Section>, Vec<&Section>) =
        sections.iter().partition(|section| section.kind.is_answer());
    let ordered = others.into_iter().chain(answer);
    joined(ordered.map(|section| articles_text(&section.articles, style)))
}

/// `articles` as text, with an empty line between them.
pub fn articles_text(articles: &[Article], style: Style) -> String {
    joined(articles.iter().map(|article| article_text(article, style)))
}

/// Texts with an empty line between them, without those that say nothing.
fn joined(texts: impl Iterator<Item = String>) -> String {
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The heading and the blocks, with empty lines between them. Empty if all blocks are details that are not shown.
fn article_text(article: &Article, style: Style) -> String {
    let is_hidden = |block: &Block| matches!(block, Block::Details(_)) && !style.is_detailed;
    if !article.blocks.is_empty() && article.blocks.iter().all(is_hidden) {
        return String::new();
    }
    let heading = (!article.heading.is_empty()).then(|| style.paragraph(&article.heading));
    let blocks = article.blocks.iter().filter_map(|block| match block {
        Block::Table(table) => Some(table_text(table, style)),
        hidden if is_hidden(hidden) => None,
        Block::Notes(notes) | Block::Details(notes) => Some(notes.iter().map(|note| style.paragraph(note)).collect()),
    });
    joined(heading.into_iter().chain(blocks))
}

/// A table as text that fits `style`. If it is too wide, the tables that replace it, or cells of several lines.
pub fn table_text(table: &Table, style: Style) -> String {
    if let (Some(width), Some(_)) = (style.width, table.split) {
        let parts = table.split_at(width);
        return parts.iter().map(|part| table_text(part, style)).collect::<Vec<_>>().join("\n");
    }
    let mut grid = grid(table, cell_text);
    let limit = style.width.filter(|limit| line_width(&grid) > *limit);
    if limit.is_some() && !table.narrow.is_empty() {
        let captioned = |narrow: &Table| style.paragraph(&plain_text(&narrow.caption)) + &table_text(narrow, style);
        return table.narrow.iter().map(captioned).collect::<Vec<_>>().join("\n");
    }
    fold(&mut grid, limit);
    let mut text = headed_text(table, &grid);
    if style.is_coloured {
        let mut masked = self::grid(table, masked_text);
        fold(&mut masked, limit);
        text = coloured(&text, &headed_text(table, &masked));
    }
    table.footer.iter().for_each(|line| text.push_str(&style.paragraph(line)));
    text
}

/// Folds cells so that no line is longer than `limit`.
fn fold(grid: &mut comfy_table::Table, limit: Option<usize>) {
    if let Some(limit) = limit {
        grid.set_content_arrangement(ContentArrangement::Dynamic);
        grid.set_width(u16::try_from(limit.max(MIN_WIDTH)).unwrap_or(u16::MAX));
    }
}

fn grid_text(grid: &comfy_table::Table) -> String {
    let mut text = String::new();
    for line in grid.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The table with a rule below its headers; `text_of` gives the text of a cell.
fn grid(table: &Table, text_of: fn(&Cell) -> String) -> comfy_table::Table {
    let mut grid = comfy_table::Table::new();
    grid.load_style(TableStyle::new().header_separator(LineStyle::none().fill('-')));
    // The columns below a long common name are as wide as it is.
    let name = |(index, column): (usize, &Column)| {
        let name = plain_text(&column.name);
        if column.over.is_empty() {
            name
        } else {
            format!("{name:width$}", width = table.column_width(index) - usize::from(COLUMN_GAP))
        }
    };
    grid.set_header(table.columns.iter().enumerate().map(name));
    for (grid_column, column) in grid.column_iter_mut().zip(&table.columns) {
        grid_column.set_padding((0, COLUMN_GAP));
        grid_column.set_cell_alignment(match column.align {
            Align::Words => CellAlignment::Left,
            Align::Numbers | Align::Points => CellAlignment::Right,
        });
    }
    for (number, group) in table.groups.iter().enumerate() {
        if number > 0 && table.is_spaced {
            grid.add_row(table.columns.iter().map(|_| ""));
        }
        for row in &group.rows {
            let cells = row.cells.iter().enumerate();
            grid.add_row(
                cells.map(|(index, cell)| text_of(cell) + &" ".repeat(table.missing_fraction(index, &cell.text))),
            );
        }
    }
    grid
}

/// The line with the common names, each above the first of its columns in `grid`, whose first line has the names of the
/// columns. Empty without any.
fn common_names(table: &Table, grid: &str) -> String {
    if table.columns.iter().all(|column| column.over.is_empty()) {
        return String::new();
    }
    let names: Vec<char> = grid.lines().next().unwrap_or_default().chars().collect();
    let (mut line, mut start, mut last) = (Vec::new(), 0, "");
    for column in &table.columns {
        let name: Vec<char> = plain_text(&column.name).chars().collect();
        let found = names.get(start..).and_then(|rest| rest.windows(name.len().max(1)).position(|part| part == name));
        start += found.unwrap_or_default();
        if column.over != last {
            line.resize(line.len().max(start), ' ');
            line.extend(plain_text(&column.over).chars());
        }
        last = &column.over;
        start += name.len();
    }
    line.push('\n');
    line.into_iter().collect()
}

/// The table as text below the line with the common names of columns.
fn headed_text(table: &Table, grid: &comfy_table::Table) -> String {
    let text = grid_text(grid);
    common_names(table, &text) + &text
}

/// The number of characters of the longest line.
fn line_width(grid: &comfy_table::Table) -> usize {
    grid.lines().map(|line| line.trim_end().chars().count()).max().unwrap_or(0)
}

fn cell_text(cell: &Cell) -> String {
    plain_text(&cell.text)
}

/// The text of a cell with another character in place of each one that has a colour.
fn masked_text(cell: &Cell) -> String {
    let split = cell.toned.as_ref().and_then(|toned| {
        let text = &cell.text;
        let [before, word, after] =
            [text.get(..toned.range.start)?, text.get(toned.range.clone())?, text.get(toned.range.end..)?];
        let mask = if toned.tone == Tone::Better { BETTER } else { WORSE };
        Some(plain_text(before) + &mask.to_string().repeat(word.chars().count()) + &plain_text(after))
    });
    split.unwrap_or_else(|| cell_text(cell))
}

/// The masks of good and bad news: verdicts do not contain these characters.
const BETTER: char = '+';
const WORSE: char = '-';

/// `text` in colour wherever it differs from `masked`, which is laid out alike.
fn coloured(text: &str, masked: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut current: Option<Ansi> = None;
    for (character, mask) in text.chars().zip(masked.chars()) {
        let colour = match mask {
            _ if mask == character => None,
            BETTER => Some(AnsiColor::Green.on_default()),
            _ => Some(AnsiColor::Red.on_default()),
        };
        if colour != current {
            result.extend(current.map(|of| format!("{of:#}")));
            result.extend(colour.map(|of| of.to_string()));
            current = colour;
        }
        result.push(character);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{ColumnSplit, SectionKind};

    fn two_columns(verdict: &str) -> Table {
        let mut table = Table::new([Column::words("variant"), Column::words("verdict")]);
        table.row(["zstd:5", verdict]);
        table
    }

    #[test]
    fn words_are_flush_left() {
        let rows =
            vec![vec!["zlib".into(), "0..9".into(), "yes".into()], vec!["zstd".into(), "-7..22".into(), "no".into()]];
        assert_eq!(
            table_text(&Table::of_words(&["codec", "levels", "stock git reads it"], &rows), Style::PLAIN),
            "codec  levels  stock git reads it\n\
             -----------------------------------\n\
             zlib   0..9    yes\n\
             zstd   -7..22  no\n"
        );
    }

    #[test]
    fn blocks_are_separated_by_empty_lines() {
        let blocks = [Block::Table(two_columns("same")), Block::Notes(vec!["One.".into(), "Two.".into()])];
        let article = Article { heading: "A heading".into(), ..Article::of(blocks) };
        let expected = "A heading\n\nvariant  verdict\n------------------\nzstd:5   same\n\nOne.\nTwo.\n";
        assert_eq!(articles_text(std::slice::from_ref(&article), Style::PLAIN), expected);
        assert_eq!(articles_text(&[article.clone(), article], Style::PLAIN), format!("{expected}\n{expected}"));
    }

    #[test]
    fn wide_tables_fold_cells_or_use_narrow_tables() {
        let mut table = two_columns(&"inconclusive and so on and on ".repeat(4));
        let style = Style { width: Some(60), ..Style::PLAIN };
        let folded = table_text(&table, style);
        assert!(folded.lines().count() > 3 && folded.lines().all(|line| line.chars().count() <= 60), "{folded}");
        table.narrow = vec![two_columns("?").captioned("traverse")];
        assert_eq!(table_text(&table, style), format!("traverse\n{}", table_text(&two_columns("?"), style)));
        assert!(table_text(&table, Style::PLAIN).contains("on and on"));
        let paragraph = Style { width: Some(50), ..Style::PLAIN }.paragraph(&"word ".repeat(30));
        assert!(paragraph.lines().count() > 2 && paragraph.lines().all(|line| line.len() <= 50), "{paragraph}");
    }

    #[test]
    fn tables_without_a_column_to_split_off_are_whole() {
        let mut table = two_columns("same");
        table.split = Some(ColumnSplit { fixed: 2, together: 2 });
        let narrow = Style { width: Some(8), ..Style::PLAIN };
        for style in [Style { width: Some(80), ..Style::PLAIN }, Style { width: Some(60), ..Style::PLAIN }] {
            assert_eq!(table_text(&table, style), table_text(&two_columns("same"), Style::PLAIN));
        }
        assert!(table_text(&table, narrow).contains("zstd:5"));
    }

    #[test]
    fn only_verdicts_are_coloured() {
        let mut table = Table::new([Column::words("variant"), Column::words("ratio"), Column::words("verdict")]);
        let toned = |before, word, tone| Cell::toned(before, word, "", tone);
        table.row([
            "is it faster than".into(),
            toned("0.72 ", "faster", Tone::Better),
            toned("", "faster", Tone::Better),
        ]);
        table.row([Cell::from("slower?"), "1.72".into(), toned("", "slower", Tone::Worse)]);
        let plain = table_text(&table, Style::PLAIN);
        let text = table_text(&table, Style { is_coloured: true, ..Style::PLAIN });
        assert_eq!(text.matches("\u{1b}[32mfaster\u{1b}[0m").count(), 2, "{text}");
        assert_eq!(text.matches("\u{1b}[31mslower\u{1b}[0m").count(), 1, "{text}");
        assert_eq!(text.matches('\u{1b}').count(), 6, "{text}");
        assert_eq!(text.replace("\u{1b}[32m", "").replace("\u{1b}[31m", "").replace("\u{1b}[0m", ""), plain);
        let folded = table_text(&table, Style { is_coloured: true, width: Some(40), ..Style::PLAIN });
        assert_eq!((folded.lines().count(), folded.matches("\u{1b}[32mfaster\u{1b}[0m").count()), (5, 2), "{folded}");
    }

    #[test]
    fn common_names_stand_above_their_columns() {
        let below = |name: &str, over: &str| Column::words(name).below(over);
        let mut table = Table::new([
            Column::words("variant"),
            below("CPU", "diff:pickaxe (string=foo)"),
            below("elapsed", "diff:pickaxe (string=foo)"),
            below("CPU", "traverse"),
        ]);
        table.row(["zstd:5", "31 % less", "same", "8 % less"]);
        let expected = "         diff:pickaxe (string=foo)  traverse
variant  CPU        elapsed         CPU
----------------------------------------------
zstd:5   31 % less  same            8 % less
";
        let text = table_text(&table, Style::PLAIN);
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn answer_comes_last() {
        let section = |kind, note: &str| Section { kind, articles: vec![Article::of([Block::note(note)])] };
        let sections = [section(SectionKind::Summary, "The answer."), section(SectionKind::Sizes, "Sizes.")];
        assert_eq!(text(&sections, Style::PLAIN), "Sizes.\n\nThe answer.\n");
    }

    #[test]
    fn details_are_shown_on_request() {
        let article = Article::of([Block::note("One."), Block::Details(vec!["How.".into()])]);
        let style = Style { is_detailed: false, ..Style::PLAIN };
        assert_eq!(articles_text(std::slice::from_ref(&article), style), "One.\n");
        assert_eq!(articles_text(std::slice::from_ref(&article), Style::PLAIN), "One.\n\nHow.\n");
        let heading = "A heading.".to_owned();
        let method = Article { heading, ..Article::of([Block::Details(vec!["How.".into()])]) };
        assert_eq!(articles_text(&[article, method], style), "One.\n", "an article of details alone");
    }

    #[test]
    fn control_characters_in_cells_are_escaped() {
        let table = table_text(&Table::of_words(&["name"], &[vec!["two\nlines".into()]]), Style::PLAIN);
        assert_eq!(table.lines().count(), 3);
    }
}
