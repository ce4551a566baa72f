//! The figures that the publication has line by line and in words.

use repackbench_records::{Published, PublishedRow};

use super::touches::{Modes, TouchOrder};

/// The published lines of a trace: pages, each with the cycles that its touch took.
pub(super) struct PublishedLines {
    pub(super) pages: Vec<f64>,
    pub(super) cycles: Vec<f64>,
}

impl PublishedLines {
    /// The lines of `table`; none if there is no such table.
    pub(super) fn of(published: &Published, table: &str) -> Self {
        let rows = published.table(table).map(|table| table.rows.as_slice()).unwrap_or_default();
        let line =
            |row: &PublishedRow| Some((row.label.parse::<u64>().ok()? as f64, row.values.first().copied().flatten()?));
        let (pages, cycles) = rows.iter().filter_map(line).unzip();
        PublishedLines { pages, cycles }
    }

    pub(super) fn len(&self) -> usize {
        self.pages.len()
    }

    pub(super) fn order(&self) -> TouchOrder {
        // Pages are whole numbers below 2^53.
        TouchOrder::of(&self.pages.iter().map(|page| *page as u64).collect::<Vec<_>>())
    }

    pub(super) fn modes(&self) -> Option<Modes> {
        Modes::at_the_widest_gap(&self.cycles)
    }
}

/// The costs of touches that the text claims, in cycles: the least and the most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ClaimedCosts {
    pub(super) hit: [f64; 2],
    pub(super) miss: [f64; 2],
}

impl ClaimedCosts {
    pub(super) fn of(published: &Published) -> Option<Self> {
        let table = published.table("costs in words")?;
        let range = |row| Some([table.value(row, "from")?, table.value(row, "to")?]);
        Some(ClaimedCosts { hit: range("hit")?, miss: range("miss")? })
    }
}

#[cfg(test)]
mod tests {
    use repackbench_records::published_experiment;

    use super::*;
    use crate::checkout_page_trace::NAME;

    #[test]
    fn published_lines_agree_with_the_text() {
        let published = published_experiment(NAME).unwrap();
        let pack = PublishedLines::of(published, "pack");
        assert_eq!((pack.len(), pack.order().back), (22, 0), "totally ordered");
        let modes = pack.modes().unwrap();
        assert_eq!((modes.hits, modes.misses), (16, 6));
        assert_eq!(ClaimedCosts::of(published), Some(ClaimedCosts { hit: [300.0, 500.0], miss: [1e7, 1e8] }));
        let index = PublishedLines::of(published, "index");
        assert_eq!(index.order().steps(), 20);
        assert!(index.order().back >= 5, "at random");
        assert_eq!(PublishedLines::of(published, "no such table").len(), 0);
    }
}
