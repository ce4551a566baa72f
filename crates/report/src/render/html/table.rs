//! Tables of the page.

use crate::document::{Align, RowGroup, Table};

/// A table as the page shows it; its text is escaped when it is written.
#[derive(Debug, Default)]
pub(super) struct PageTable {
    /// What it holds, for those who meet it alone.
    pub(super) caption: String,
    /// The columns.
    pub(super) columns: Vec<PageColumn>,
    /// Rows that belong together, such as those of a workload.
    pub(super) groups: Vec<PageRows>,
}

#[derive(Debug)]
pub(super) struct PageColumn {
    pub(super) name: String,
    pub(super) is_number: bool,
}

#[derive(Debug, Default)]
pub(super) struct PageRows {
    /// What a selection box picks the group by.
    pub(super) workload: Option<String>,
    pub(super) rows: Vec<PageRow>,
}

#[derive(Debug)]
pub(super) struct PageRow {
    /// What a check box picks the row by.
    pub(super) variant: Option<String>,
    pub(super) cells: Vec<PageCell>,
}

#[derive(Debug)]
pub(super) struct PageCell {
    pub(super) text: String,
    pub(super) is_number: bool,
}

impl From<&Table> for PageTable {
    fn from(table: &Table) -> Self {
        let columns = table.columns.iter();
        let columns =
            columns.map(|column| PageColumn { name: column.name.clone(), is_number: is_number(column.align) });
        PageTable {
            caption: table.caption.clone(),
            columns: columns.collect(),
            groups: table.groups.iter().map(|group| PageRows::of(table, group)).collect(),
        }
    }
}

fn is_number(align: Align) -> bool {
    align == Align::Numbers
}

impl PageRows {
    fn of(table: &Table, group: &RowGroup) -> Self {
        let rows = group.rows.iter().map(|row| {
            let cells = row.cells.iter().zip(&table.columns);
            let cells = cells.map(|(text, column)| PageCell::new(text, is_number(column.align)));
            PageRow { variant: row.variant.clone(), cells: cells.collect() }
        });
        PageRows { workload: group.workload.clone(), rows: rows.collect() }
    }
}

impl PageTable {
    /// Whether it has no row.
    pub(super) fn is_empty(&self) -> bool {
        self.groups.iter().all(|group| group.rows.is_empty())
    }
}

impl PageCell {
    /// The class of the style sheet. Numbers stand flush right; few words stay in one line.
    pub(super) fn class(&self) -> Option<&'static str> {
        const FEW: usize = 20;
        match self.is_number {
            true => Some("number"),
            false => (self.text.chars().count() <= FEW).then_some("short"),
        }
    }

    /// A cell. The blanks that align the points of numbers become blanks as wide as digits and points.
    fn new(text: &str, is_number: bool) -> Self {
        let trimmed = text.trim_end();
        let blanks = text.len() - trimmed.len();
        if !is_number || blanks == 0 {
            return PageCell { text: trimmed.to_owned(), is_number };
        }
        let mut padded = trimmed.to_owned();
        let digits = if trimmed.contains('.') { blanks } else { blanks - 1 };
        padded.extend((digits < blanks).then_some('\u{2008}'));
        padded.extend(std::iter::repeat_n('\u{2007}', digits));
        PageCell { text: padded, is_number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_of_numbers_becomes_figure_spaces() {
        let mut table = Table::new(&[("variant", Align::Words), ("size MB", Align::Numbers)]);
        table.group(Some("traverse".into()));
        table.variant_row("zlib:6", ["zlib:6 ", "12.5 "]);
        table.row(["", "7   "]);
        let table = PageTable::from(&table);
        let rows = &table.groups[0].rows;
        assert_eq!(table.groups[0].workload.as_deref(), Some("traverse"));
        assert_eq!((rows[0].variant.as_deref(), rows[1].variant.as_deref()), (Some("zlib:6"), None));
        assert_eq!((&*rows[0].cells[0].text, &*rows[0].cells[1].text), ("zlib:6", "12.5\u{2007}"));
        assert_eq!(rows[1].cells[1].text, "7\u{2008}\u{2007}\u{2007}");
        assert!(PageTable::default().is_empty() && !table.is_empty());
    }
}
