//! Tables of the page.

use crate::{
    bench::label_of_name,
    chart::FigureTable,
    grid::{Align, Grid},
};

/// A table as the page shows it; its text is escaped when it is written.
#[derive(Debug, Default)]
pub(super) struct PageTable {
    /// What it holds, for those who meet it alone.
    pub(super) caption: String,
    /// The columns.
    pub(super) columns: Vec<PageColumn>,
    /// Rows that belong together, such as those of a workload.
    pub(super) groups: Vec<RowGroup>,
}

#[derive(Debug)]
pub(super) struct PageColumn {
    pub(super) name: String,
    pub(super) is_number: bool,
}

#[derive(Debug, Default)]
pub(super) struct RowGroup {
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

impl PageTable {
    /// The grid of a table of plain text. There a name stands on the first of its rows only, and an empty row ends a group.
    pub(super) fn from_grid(caption: impl Into<String>, grid: Grid) -> Self {
        let (columns, rows) = grid.into_cells();
        let is_number: Vec<bool> = columns.iter().map(|(_, align)| matches!(align, Align::Numbers)).collect();
        let at = |of: &str| columns.iter().position(|(name, _)| name == of);
        let (variant_at, workload_at) = (at("variant"), at("workload"));
        let mut groups = vec![RowGroup::default()];
        let mut variant = String::new();
        for row in rows {
            if row.iter().all(|cell| cell.trim().is_empty()) {
                groups.push(RowGroup::default());
                continue;
            }
            let cell = |at: Option<usize>| at.and_then(|at| row.get(at)).filter(|cell| !cell.is_empty());
            variant = cell(variant_at).unwrap_or(&variant).clone();
            let workload = cell(workload_at).cloned();
            let is_next = |group: &RowGroup| !group.rows.is_empty() && workload.is_some() && group.workload != workload;
            if groups.last().is_some_and(is_next) {
                groups.push(RowGroup::default());
            }
            let Some(group) = groups.last_mut() else { continue };
            group.workload = group.workload.take().or(workload);
            let cells = row.into_iter().zip(&is_number).map(|(text, &is_number)| PageCell::new(text, is_number));
            group.rows.push(PageRow { variant: label(&variant), cells: cells.collect() });
        }
        let columns = columns.into_iter().zip(&is_number);
        let columns = columns.map(|((name, _), &is_number)| PageColumn { name, is_number }).collect();
        PageTable { caption: caption.into(), columns, groups }
    }

    /// The data under a chart.
    pub(super) fn from_figure(caption: impl Into<String>, table: FigureTable) -> Self {
        let is_number: Vec<bool> = table.columns.iter().map(|column| column.is_number).collect();
        let variant_at = table.columns.iter().position(|column| column.name == "variant");
        let row = |cells: Vec<String>| PageRow {
            variant: variant_at.and_then(|at| label(cells.get(at)?)),
            cells: cells.into_iter().zip(&is_number).map(|(text, &number)| PageCell::new(text, number)).collect(),
        };
        let columns =
            table.columns.into_iter().map(|column| PageColumn { name: column.name, is_number: column.is_number });
        PageTable {
            caption: caption.into(),
            columns: columns.collect(),
            groups: vec![RowGroup { workload: None, rows: table.rows.into_iter().map(row).collect() }],
        }
    }

    /// Whether there is anything in it.
    pub(super) fn is_empty(&self) -> bool {
        self.groups.iter().all(|group| group.rows.is_empty())
    }
}

/// The label of the variant whose row has this name; `None` for rows of none, such as that of the noise.
fn label(name: &str) -> Option<String> {
    let label = label_of_name(name);
    (!label.is_empty() && !label.starts_with("noise (")).then(|| label.to_owned())
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
    fn new(text: String, is_number: bool) -> Self {
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
    fn rows_know_their_variant_and_workload_where_the_grid_leaves_them_blank() {
        let mut grid = Grid::new(&[("workload", Align::Words), ("variant", Align::Words), ("size MB", Align::Numbers)]);
        grid.row(["traverse", "zlib:6", "12.5 "]);
        grid.row(["", "", "7   "]);
        grid.row(["", "", ""]);
        grid.row(["diff", "lz4", "1"]);
        let table = PageTable::from_grid("", grid);
        let seen: Vec<_> = table
            .groups
            .iter()
            .flat_map(|group| {
                let workload = group.workload.as_deref();
                group.rows.iter().map(move |row| (workload, row.variant.as_deref(), row.cells[2].text.as_str()))
            })
            .collect();
        assert_eq!(
            seen,
            [
                (Some("traverse"), Some("zlib:6"), "12.5\u{2007}"),
                (Some("traverse"), Some("zlib:6"), "7\u{2008}\u{2007}\u{2007}"),
                (Some("diff"), Some("lz4"), "1"),
            ]
        );
        assert!(PageTable::from_grid("", Grid::new(&[])).is_empty());
    }
}
