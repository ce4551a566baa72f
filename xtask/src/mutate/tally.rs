//! Counts of outcomes, and the table of them.

use std::collections::BTreeMap;
use std::fmt;

use super::judge::Verdict;
use super::mutation::MutationKind;

/// How many cases ended in each way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) refused: u64,
    pub(super) harmless: u64,
    pub(super) changed: u64,
    pub(super) wrong: u64,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.refused += other.refused;
        self.harmless += other.harmless;
        self.changed += other.changed;
        self.wrong += other.wrong;
    }

    fn one(verdict: &Verdict) -> Self {
        let mut counts = Counts::default();
        *match verdict {
            Verdict::Refused => &mut counts.refused,
            Verdict::Harmless => &mut counts.harmless,
            Verdict::Changed => &mut counts.changed,
            Verdict::Wrong(_) => &mut counts.wrong,
        } += 1;
        counts
    }

    pub(super) fn all(self) -> u64 {
        self.refused + self.harmless + self.changed + self.wrong
    }
}

/// The outcomes of a target's cases by kind of file and kind of damage.
#[derive(Debug, Default)]
pub(super) struct Tally {
    cells: BTreeMap<(String, MutationKind), Counts>,
}

impl Tally {
    pub(super) fn add(&mut self, file: &str, kind: MutationKind, verdict: &Verdict) {
        self.cells.entry((file.to_owned(), kind)).or_default().add(Counts::one(verdict));
    }

    pub(super) fn total(&self) -> Counts {
        self.sum(|_, _| true)
    }

    fn sum(&self, has: impl Fn(&str, MutationKind) -> bool) -> Counts {
        let mut sum = Counts::default();
        self.cells.iter().filter(|((file, kind), _)| has(file, *kind)).for_each(|(_, counts)| sum.add(*counts));
        sum
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut files: Vec<&str> = self.cells.keys().map(|(file, _)| file.as_str()).collect();
        files.dedup();
        let width = files.iter().map(|file| file.chars().count()).max().unwrap_or(0).max("all files".len());
        write!(to, "{:width$}", "")?;
        for kind in MutationKind::ALL {
            write!(to, "  {kind:>15}")?;
        }
        writeln!(to, "  {:>17}", "all")?;
        let cell = |counts: Counts| {
            let Counts { refused, harmless, changed, wrong } = counts;
            let cell = format!("{refused}/{harmless}/{changed}");
            if wrong == 0 { cell } else { format!("{cell} {wrong}!") }
        };
        for file in files.into_iter().map(Some).chain([None]) {
            write!(to, "{:width$}", file.unwrap_or("all files"))?;
            let of = |name: &str| file.is_none_or(|file| file == name);
            for kind in MutationKind::ALL {
                write!(to, "  {:>15}", cell(self.sum(|name, of_kind| of(name) && of_kind == kind)))?;
            }
            writeln!(to, "  {:>17}", cell(self.sum(|name, _| of(name))))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_sums_agree() {
        let mut tally = Tally::default();
        tally.add("idx", MutationKind::Flip, &Verdict::Refused);
        tally.add("idx", MutationKind::Flip, &Verdict::Harmless);
        tally.add("pack", MutationKind::Zero, &Verdict::Changed);
        tally.add("pack", MutationKind::Zero, &Verdict::Wrong(String::new()));
        assert_eq!(tally.total(), Counts { refused: 1, harmless: 1, changed: 1, wrong: 1 });
        let table = tally.to_string();
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["idx", "1/1/0", "0/0/0", "0/0/0", "0/0/0", "0/0/0", "1/1/0"]);
        assert_eq!(lines[2][5..], ["0/0/1", "1!", "0/0/1", "1!"]);
        assert_eq!(lines[3][..3], ["all", "files", "1/1/0"]);
    }
}
