//! Tables of the page.

use crate::{
    document::{Align, RowGroup, Table},
    number::fraction_len,
};

/// A table of the page. Its text is escaped when it is written.
#[derive(Debug, Default)]
pub(super) struct PageTable {
    /// Its caption.
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
    /// The workload, for the filter.
    pub(super) workload: Option<String>,
    pub(super) rows: Vec<PageRow>,
}

#[derive(Debug)]
pub(super) struct PageRow {
    /// The label of the variant, for the filter.
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
        let columns = columns.map(|column| PageColumn { name: column.full_name(), is_number: is_number(column.align) });
        PageTable {
            caption: table.caption.clone(),
            columns: columns.collect(),
            groups: table.groups.iter().map(|group| PageRows::of(table, group)).collect(),
        }
    }
}

fn is_number(align: Align) -> bool {
    matches!(align, Align::Numbers | Align::Points)
}

impl PageRows {
    fn of(table: &Table, group: &RowGroup) -> Self {
        let rows = group.rows.iter().map(|row| {
            let cells = row.cells.iter().zip(&table.columns).enumerate();
            let cells = cells.map(|(index, (cell, column))| {
                PageCell::new(&cell.text, is_number(column.align), table.missing_fraction(index, &cell.text))
            });
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
    /// The class of the style sheet. Numbers are flush right; short texts do not wrap.
    pub(super) fn class(&self) -> Option<&'static str> {
        const FEW: usize = 20;
        match self.is_number {
            true => Some("number"),
            false => (self.text.chars().count() <= FEW).then_some("short"),
        }
    }

    /// A cell, then blanks as wide as the `missing` characters of a fraction: a point, if it has none, and digits.
    fn new(text: &str, is_number: bool, missing: usize) -> Self {
        let mut text = text.trim_end().to_owned();
        let digits = if fraction_len(&text) > 0 { missing } else { missing.saturating_sub(1) };
        text.extend((digits < missing).then_some('\u{2008}'));
        text.extend(std::iter::repeat_n('\u{2007}', digits));
        PageCell { text, is_number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Column;

    #[test]
    fn decimal_points_are_aligned_by_figure_spaces() {
        let mut table = Table::new([Column::words("variant"), Column::points("size MB")]);
        table.group(Some("traverse".into()));
        table.variant_row("zlib:6", ["zlib:6 ", "12.5"]);
        table.row(["", "7"]);
        table.row(["", "1.25"]);
        let table = PageTable::from(&table);
        let rows = &table.groups[0].rows;
        assert_eq!(table.groups[0].workload.as_deref(), Some("traverse"));
        assert_eq!((rows[0].variant.as_deref(), rows[1].variant.as_deref()), (Some("zlib:6"), None));
        assert_eq!((&*rows[0].cells[0].text, &*rows[0].cells[1].text), ("zlib:6", "12.5\u{2007}"));
        assert_eq!(rows[1].cells[1].text, "7\u{2008}\u{2007}\u{2007}");
        assert!(PageTable::default().is_empty() && !table.is_empty());
    }
}
