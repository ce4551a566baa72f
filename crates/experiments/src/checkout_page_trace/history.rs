//! The files of the revision and the one that changed most often, found before anything is measured.

use std::collections::HashMap;

use repackbench_reader::{Changes, History};
use repackbench_timing::workloads::HistoryRange;

use crate::ExperimentError;

/// The number of newest commits in which the file that changes most is chosen, and in which its history is read: all of
/// most repositories, and a few seconds of the largest.
const COMMITS: u64 = 50_000;

/// The file of the revision that most commits changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MostChanged {
    /// Its path.
    pub(super) path: String,
    /// The number of commits that changed it, without merges.
    pub(super) changes: u64,
    /// The number of newest commits that were looked at; `None` for all.
    pub(super) commits: Option<u64>,
}

/// The files of the revision, and the one that changed most often among those whose names are UTF-8.
pub(super) fn look(
    history: &mut dyn History,
    range: &HistoryRange,
) -> Result<(Changes, Option<MostChanged>), ExperimentError> {
    let tip = history.resolve(&range.revision)?;
    let mut files = Changes::default();
    history.manifest(&tip, &mut files)?;
    let mut counts: HashMap<Vec<u8>, u64> = files
        .iter()
        .filter(|(path, _)| std::str::from_utf8(path).is_ok())
        .map(|(path, _)| (path.to_vec(), 0))
        .collect();
    history.start_log(tip)?;
    let mut changes = Changes::default();
    let mut seen = 0;
    let mut is_cut = false;
    while let Some(revision) = history.next_revision()? {
        if seen == COMMITS {
            is_cut = true;
            break;
        }
        seen += 1;
        if revision.is_compared {
            history.changes(&revision, &mut changes)?;
            for (path, _) in changes.iter() {
                if let Some(count) = counts.get_mut(path) {
                    *count += 1;
                }
            }
        }
    }
    history.clear_caches();
    let commits = is_cut.then_some(COMMITS);
    Ok((files, most_changed(counts, commits)))
}

/// The file with the highest count; the first by name if there are several.
fn most_changed(counts: HashMap<Vec<u8>, u64>, commits: Option<u64>) -> Option<MostChanged> {
    let (path, changes) = counts
        .into_iter()
        .filter(|(_, changes)| *changes > 0)
        .max_by(|(path, changes), (other, others)| changes.cmp(others).then_with(|| other.cmp(path)))?;
    Some(MostChanged { path: String::from_utf8(path).ok()?, changes, commits })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_with_most_changes_is_the_first_by_name_of_equals() {
        let counts = |counts: &[(&str, u64)]| {
            counts.iter().map(|(path, count)| (path.as_bytes().to_vec(), *count)).collect::<HashMap<_, _>>()
        };
        let chosen = |of: &[(&str, u64)]| most_changed(counts(of), None).map(|found| (found.path, found.changes));
        assert_eq!(chosen(&[("a", 1), ("c", 3), ("b", 3), ("d", 2)]), Some(("b".to_owned(), 3)));
        assert_eq!(chosen(&[("a", 0)]), None);
        assert_eq!(chosen(&[]), None);
    }
}
