//! What a reader sees, before it is rendered: sections of articles, each with tables and notes.
//!
//! [`crate::sections`] turns findings into a document and writes every sentence. [`crate::render`] turns a document
//! into text, Markdown or a page: it decides how a table is laid out, never what it says. Cells hold names as they were
//! recorded; renderers [escape](plain_text) them.

use crate::number::fraction_len;

/// The articles on one subject.
#[derive(Debug, Clone)]
pub struct Section {
    /// The subject.
    pub kind: SectionKind,
    /// The articles, in reading order.
    pub articles: Vec<Article>,
}

/// The subject of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionKind {
    /// Published experiments, run again.
    Experiments,
    /// What the estimates of many repositories say together.
    Fleet,
    /// Sizes and times predicted from a sample.
    Estimates,
    /// Each variant in one line.
    Summary,
    /// Replays and the same jobs by stock clients.
    Clients,
    /// Several repositories as one.
    Joined,
    /// Every variant in every workload.
    Comparisons,
    /// Codecs at equal size or time.
    Budgets,
    /// Ratios split into factors.
    Explanations,
    /// What workloads read.
    Traces,
    /// How long objects take to read, by the length of their delta chains.
    Chains,
    /// What a server pays.
    Serving,
    /// Where bytes go.
    Sizes,
}

impl SectionKind {
    /// All kinds, in reading order.
    pub const ALL: [SectionKind; 13] = [
        SectionKind::Experiments,
        SectionKind::Fleet,
        SectionKind::Estimates,
        SectionKind::Summary,
        SectionKind::Joined,
        SectionKind::Clients,
        SectionKind::Comparisons,
        SectionKind::Budgets,
        SectionKind::Explanations,
        SectionKind::Traces,
        SectionKind::Chains,
        SectionKind::Serving,
        SectionKind::Sizes,
    ];

    /// The identifier of the section in a page.
    pub(crate) fn slug(self) -> &'static str {
        match self {
            SectionKind::Experiments => "experiments",
            SectionKind::Fleet => "fleet",
            SectionKind::Estimates => "estimate",
            SectionKind::Summary => "answer",
            SectionKind::Clients => "clients",
            SectionKind::Joined => "joined",
            SectionKind::Comparisons => "comparison",
            SectionKind::Budgets => "budgets",
            SectionKind::Explanations => "explanations",
            SectionKind::Traces => "traces",
            SectionKind::Chains => "chains",
            SectionKind::Serving => "serving",
            SectionKind::Sizes => "sizes",
        }
    }

    /// The heading of the section.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            SectionKind::Experiments => "Published experiments, run again",
            SectionKind::Fleet => "All repositories of the fleet",
            SectionKind::Estimates => "Predicted sizes and times",
            SectionKind::Summary => "What would I gain and lose?",
            SectionKind::Clients => "In-process and stock clients",
            SectionKind::Joined => "All repositories together",
            SectionKind::Comparisons => "All figures",
            SectionKind::Budgets => "Equal budgets",
            SectionKind::Explanations => "Factors of the ratios",
            SectionKind::Traces => "File accesses",
            SectionKind::Chains => "Delta chains",
            SectionKind::Serving => "What a server pays",
            SectionKind::Sizes => "Where the bytes go",
        }
    }

    /// Whether it is the answer, which text ends with and a page begins with.
    pub(crate) fn is_answer(self) -> bool {
        matches!(self, SectionKind::Fleet | SectionKind::Estimates | SectionKind::Summary)
    }

    /// Whether Markdown folds the section away.
    pub(crate) fn is_folded(self) -> bool {
        !matches!(self, SectionKind::Experiments | SectionKind::Fleet | SectionKind::Estimates | SectionKind::Summary)
    }
}

/// A part of a section: on one repository or workload, or on all together.
#[derive(Debug, Clone, Default)]
pub struct Article {
    /// The repository that it is about, for the filter of a page; `None` for several.
    pub repository: Option<String>,
    /// The workload that it is about, for the filter of a page; `None` for several.
    pub workload: Option<String>,
    /// The name of its subject, for a page. Raw: may contain control characters.
    pub title: String,
    /// The heading in text; empty for none. Plain.
    pub heading: String,
    /// Its parts.
    pub blocks: Vec<Block>,
    /// Whether it is an answer, which a page shows first, and in its own form.
    pub is_answer: bool,
}

/// A part of an article.
#[derive(Debug, Clone)]
pub enum Block {
    /// A table.
    Table(Table),
    /// Sentences, each on its own line. Plain.
    Notes(Vec<String>),
    /// Sentences on the method and its conditions, which text shows on request. Plain.
    Details(Vec<String>),
}

impl Article {
    /// An article without heading and subject.
    pub(crate) fn of(blocks: impl IntoIterator<Item = Block>) -> Self {
        Article { blocks: blocks.into_iter().collect(), ..Article::default() }
    }

    /// Its tables.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table),
            Block::Notes(_) | Block::Details(_) => None,
        })
    }

    /// Its notes, with details.
    pub fn notes(&self) -> impl Iterator<Item = &String> {
        self.blocks.iter().flat_map(|block| match block {
            Block::Table(_) => &[],
            Block::Notes(notes) | Block::Details(notes) => notes.as_slice(),
        })
    }
}

impl Block {
    /// One sentence.
    pub(crate) fn note(note: impl Into<String>) -> Self {
        Block::Notes(vec![note.into()])
    }
}

/// How the cells of a column are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words: flush left.
    Words,
    /// Numbers: flush right, header too.
    Numbers,
    /// Numbers whose decimal points are under each other.
    Points,
}

/// A column of a [`Table`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, with the unit.
    pub name: String,
    /// What it has in common with the columns beside it that say the same, such as a workload; empty for nothing.
    pub over: String,
    /// How its cells are aligned.
    pub align: Align,
}

impl Column {
    /// A column of words.
    pub(crate) fn words(name: impl Into<String>) -> Self {
        Column { name: name.into(), over: String::new(), align: Align::Words }
    }

    /// A column of numbers.
    pub(crate) fn numbers(name: impl Into<String>) -> Self {
        Column { name: name.into(), over: String::new(), align: Align::Numbers }
    }

    /// A column of numbers whose decimal points are under each other.
    pub(crate) fn points(name: impl Into<String>) -> Self {
        Column { name: name.into(), over: String::new(), align: Align::Points }
    }

    /// The same column below a common name.
    pub(crate) fn below(self, over: impl Into<String>) -> Self {
        Column { over: over.into(), ..self }
    }

    /// Its name with the common one: `traverse CPU`.
    pub(crate) fn full_name(&self) -> String {
        if self.over.is_empty() { self.name.clone() } else { format!("{} {}", self.over, self.name) }
    }
}

impl<N: AsRef<str>> From<&(N, Align)> for Column {
    fn from((name, align): &(N, Align)) -> Self {
        Column { align: *align, ..Column::words(name.as_ref()) }
    }
}

/// A table with one line of headers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Its caption, which makes sense without the surrounding text.
    pub caption: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// Rows that belong together, such as those of a workload.
    pub groups: Vec<RowGroup>,
    /// Whether text separates groups by empty lines.
    pub is_spaced: bool,
    /// Sentences directly below it. Plain.
    pub footer: Vec<String>,
    /// The tables that replace it if lines are too short, each below its caption; empty to fold this table instead.
    pub narrow: Vec<Table>,
    /// How to split it into several tables if lines are limited; `None` for never.
    pub split: Option<ColumnSplit>,
}

/// The characters between two columns in text.
pub(crate) const COLUMN_GAP: u16 = 2;

/// How to distribute the columns of a table over several tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnSplit {
    /// The number of leading columns that every table repeats.
    pub fixed: usize,
    /// The number of other columns that stay together.
    pub together: usize,
}

/// Rows that belong together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowGroup {
    /// The workload of the rows, for the filter of a page.
    pub workload: Option<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A row of a [`Table`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// The label of the row's variant, for the filter of a page.
    pub variant: Option<String>,
    /// At most as many cells as there are columns.
    pub cells: Vec<Cell>,
}

/// A cell of a [`Table`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// All of its text.
    pub text: String,
    /// The part of the text that is good or bad news, if any.
    pub toned: Option<TonedPart>,
}

/// A part of a cell's text that is good or bad news.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TonedPart {
    /// Its range in the text, in bytes.
    pub range: std::ops::Range<usize>,
    /// Good or bad news.
    pub tone: Tone,
}

/// Whether a difference is good or bad news. The words say it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Good news.
    Better,
    /// Bad news.
    Worse,
    /// Neither.
    Even,
}

impl Cell {
    /// `before`, then a word of this tone, then `after`.
    pub(crate) fn toned(before: &str, word: &str, after: &str, tone: Tone) -> Self {
        let range = before.len()..before.len() + word.len();
        let toned = (tone != Tone::Even).then_some(TonedPart { range, tone });
        Cell { text: format!("{before}{word}{after}"), toned }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell { text: text.as_ref().to_owned(), toned: None }
    }
}

impl Table {
    /// An empty table with these columns.
    pub(crate) fn new<C: Into<Column>>(columns: impl IntoIterator<Item = C>) -> Self {
        Table { columns: columns.into_iter().map(Into::into).collect(), ..Table::default() }
    }

    /// An empty table; a `#` at the start of a name marks a column of numbers, and is dropped.
    pub(crate) fn with_columns(columns: &[&str]) -> Self {
        let column = |name: &&str| match name.strip_prefix('#') {
            Some(name) => Column::numbers(name),
            None => Column::words(*name),
        };
        Table { columns: columns.iter().map(column).collect(), ..Table::default() }
    }

    /// A table of words with these rows.
    pub fn of_words(columns: &[&str], rows: &[Vec<String>]) -> Self {
        let mut table = Table::new(columns.iter().map(|name| Column::words(*name)));
        rows.iter().for_each(|row| table.row(row));
        table
    }

    /// The same with a caption.
    pub(crate) fn captioned(self, caption: impl Into<String>) -> Self {
        Table { caption: caption.into(), ..self }
    }

    /// The same with an empty line between groups.
    pub(crate) fn spaced(self) -> Self {
        Table { is_spaced: true, ..self }
    }

    /// This table split by [`Self::split`] for lines of `width` characters: each part has as many columns as fit, and at
    /// least one group of them.
    pub(crate) fn split_at(&self, width: usize) -> Vec<Table> {
        let Some(split) = self.split else { return vec![self.clone()] };
        let (fixed, together) = (split.fixed.min(self.columns.len()), split.together.max(1));
        let widths: Vec<usize> = (0..self.columns.len()).map(|index| self.column_width(index)).collect();
        let width_of = |columns: std::ops::Range<usize>| widths.get(columns).unwrap_or_default().iter().sum::<usize>();
        let room = width.saturating_sub(width_of(0..fixed));
        let mut parts: Vec<std::ops::Range<usize>> = Vec::new();
        for first in (fixed..self.columns.len()).step_by(together) {
            let end = (first + together).min(self.columns.len());
            match parts.last_mut() {
                Some(part) if width_of(part.start..end) <= room => part.end = end,
                _ => parts.push(first..end),
            }
        }
        let part = |part: std::ops::Range<usize>| self.keep_columns(|index| index < fixed || part.contains(&index));
        // What is returned has nothing left to split.
        if parts.is_empty() { vec![self.keep_columns(|_| true)] } else { parts.into_iter().map(part).collect() }
    }

    /// The characters that a column needs, with the gap to the next one. The last column below a common name is wide
    /// enough for the rest of that name.
    pub(crate) fn column_width(&self, index: usize) -> usize {
        let own = self.content_width(index);
        let Some(column) = self.columns.get(index).filter(|column| !column.over.is_empty()) else { return own };
        let is_same = |other: &&Column| other.over == column.over;
        if self.columns.get(index + 1).as_ref().is_some_and(is_same) {
            return own;
        }
        let before = self.columns.iter().take(index).rev().take_while(is_same).count();
        let others: usize = (index - before..index).map(|other| self.content_width(other)).sum();
        own.max((plain_text(&column.over).chars().count() + usize::from(COLUMN_GAP)).saturating_sub(others))
    }

    /// The characters of the widest cell or name of a column, with the gap to the next one.
    fn content_width(&self, index: usize) -> usize {
        let name = self.columns.get(index).map_or(0, |column| plain_text(&column.name).chars().count());
        let cell = |row: &Row| {
            let text = row.cells.get(index).map_or("", |cell| cell.text.as_str());
            plain_text(text).chars().count() + self.missing_fraction(index, text)
        };
        self.rows().map(cell).chain([name]).max().unwrap_or(0) + usize::from(COLUMN_GAP)
    }

    /// The same table with only the columns that `is_kept` accepts, without further splitting.
    fn keep_columns(&self, is_kept: impl Fn(usize) -> bool) -> Table {
        let kept = |cells: &[Cell]| {
            let cells = cells.iter().enumerate().filter(|(index, _)| is_kept(*index));
            cells.map(|(_, cell)| cell.clone()).collect()
        };
        let row = |row: &Row| Row { cells: kept(&row.cells), ..row.clone() };
        let group = |group: &RowGroup| RowGroup { rows: group.rows.iter().map(row).collect(), ..group.clone() };
        let columns = self.columns.iter().enumerate().filter(|(index, _)| is_kept(*index));
        Table {
            columns: columns.map(|(_, column)| column.clone()).collect(),
            groups: self.groups.iter().map(group).collect(),
            split: None,
            ..self.clone()
        }
    }

    /// Begins a group, of `workload` if given.
    pub(crate) fn group(&mut self, workload: Option<String>) {
        self.groups.push(RowGroup { workload, rows: Vec::new() });
    }

    /// Adds a row to the last group.
    pub(crate) fn row<I>(&mut self, cells: I)
    where
        I: IntoIterator,
        I::Item: Into<Cell>,
    {
        self.push(None, cells);
    }

    /// Adds a row about the variant with this label to the last group.
    pub(crate) fn variant_row<I>(&mut self, variant: impl Into<String>, cells: I)
    where
        I: IntoIterator,
        I::Item: Into<Cell>,
    {
        self.push(Some(variant.into()), cells);
    }

    fn push<I>(&mut self, variant: Option<String>, cells: I)
    where
        I: IntoIterator,
        I::Item: Into<Cell>,
    {
        if self.groups.is_empty() {
            self.group(None);
        }
        let cells = cells.into_iter().map(Into::into).collect();
        if let Some(group) = self.groups.last_mut() {
            group.rows.push(Row { variant, cells });
        }
    }

    /// The number of characters to leave free after `cell` of the column at `index`, to align the decimal points of a
    /// column.
    pub(crate) fn missing_fraction(&self, index: usize, cell: &str) -> usize {
        if self.columns.get(index).is_none_or(|column| column.align != Align::Points) {
            return 0;
        }
        let cells = self.rows().filter_map(|row| row.cells.get(index));
        let longest = cells.map(|cell| fraction_len(&cell.text)).max().unwrap_or(0);
        longest.saturating_sub(fraction_len(cell))
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.rows().next().is_none()
    }
}

/// `text` with control characters and characters that change the reading direction as escapes (`\n`, `\u{1b}`). Names
/// come from files: a terminal must not obey them, and a reader must see the actual text.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_direction_characters_are_escaped() {
        assert_eq!(plain_text("a\u{1b}[2Jb\n\u{9b}c é"), "a\\u{1b}[2Jb\\n\\u{9b}c é");
        assert_eq!(plain_text("gpj\u{202e}exe \u{2029}"), "gpj\\u{202e}exe \\u{2029}");
    }

    #[test]
    fn rows_join_the_last_group() {
        let mut table = Table::new([Column::words("variant")]);
        assert!(table.is_empty());
        table.row(["noise"]);
        table.group(Some("traverse".into()));
        table.variant_row("lz4", ["lz4 by lz4_flex"]);
        let groups: Vec<_> = table.groups.iter().map(|group| (group.workload.as_deref(), group.rows.len())).collect();
        assert_eq!(groups, [(None, 1), (Some("traverse"), 1)]);
        assert_eq!(table.rows().last().unwrap().variant.as_deref(), Some("lz4"));
    }
}
