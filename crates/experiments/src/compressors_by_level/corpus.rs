//! The files that are compressed.

use std::path::PathBuf;

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use repackbench_records::{Figure, Statement, StatementValue, StoredStatement};
use repackbench_writer::files::{LeftOutFiles, RevisionFiles};

use crate::{Context, ExperimentError, setting::published};

/// The most bytes that are held in memory for each of the published corpora.
const MOST_BYTES: [u64; 2] = [512 << 20, 1 << 30];

/// The name of the second corpus in messages.
pub(super) const SECOND_CORPUS: &str = "compressors on the larger corpus";

/// A second corpus is measured if it has at least this many times as many files as the first.
const WORTH_IT: usize = 2;

/// Files in memory, by their names in the revision.
#[derive(Debug, Default)]
pub(super) struct Corpus {
    pub(super) files: Vec<(PathBuf, Vec<u8>)>,
}

/// The corpora of a revision.
#[derive(Debug)]
pub(super) struct Corpora {
    /// The revision's id.
    pub(super) revision: String,
    /// One or two corpora.
    pub(super) all: Vec<Corpus>,
    /// What was left out.
    pub(super) left_out: Vec<StoredStatement>,
}

impl Corpus {
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, content)| content.len() as u64).sum()
    }

    /// Takes as many files of the revision as the published corpora had, evenly among its paths, or all there are.
    pub(super) fn choose(context: &Context<'_>) -> Result<Corpora, ExperimentError> {
        let mut revision = RevisionFiles::open(context.source, context.options.revision.as_deref())?;
        let mut lengths = Vec::new();
        revision.for_each(&mut |_, content| {
            lengths.push(content.len() as u64);
            Ok(())
        })?;
        if lengths.is_empty() {
            let why = format!("{}: revision {} has no files", context.name, revision.id());
            return Err(ExperimentError::Refused { experiment: super::NAME, why });
        }
        let mut chosen: Vec<Vec<bool>> = Vec::new();
        for (files, bytes) in published_files()?.into_iter().zip(MOST_BYTES) {
            let corpus = choose(&lengths, files, bytes);
            let count = |corpus: &[bool]| corpus.iter().filter(|is_chosen| **is_chosen).count();
            if chosen.first().is_none_or(|first| count(&corpus) >= count(first).saturating_mul(WORTH_IT)) {
                chosen.push(corpus);
            }
        }
        let mut all: Vec<Corpus> = chosen.iter().map(|_| Corpus::default()).collect();
        let mut number = 0;
        revision.for_each(&mut |path, content| {
            for (corpus, chosen) in all.iter_mut().zip(&chosen) {
                if chosen.get(number).copied().unwrap_or_default() {
                    corpus.files.push((PathBuf::from(OsStr::from_bytes(path)), content.to_vec()));
                }
            }
            number += 1;
            Ok(())
        })?;
        let left_out = left_out(revision.left_out());
        Ok(Corpora { revision: revision.id().to_string(), all, left_out })
    }
}

/// The numbers of files of the published corpora.
fn published_files() -> Result<Vec<usize>, ExperimentError> {
    let table = published(super::NAME)?.table("corpora");
    let rows = table.into_iter().flat_map(|table| table.rows.iter().map(|row| table.value(&row.label, "files")));
    // A count, which the data file holds as a float like all numbers.
    Ok(rows.flatten().map(|files| files as usize).collect())
}

/// Chooses among files of these lengths: at most `most`, evenly, of at most `bytes` in all.
fn choose(lengths: &[u64], most: usize, bytes: u64) -> Vec<bool> {
    let total: u64 = lengths.iter().sum();
    // Too many files and too many bytes are thinned out alike.
    let by_bytes =
        if total > bytes { (lengths.len() as u64 as f64 * bytes as f64 / total as f64) as usize } else { most };
    let most = most.min(by_bytes).max(1);
    let mut held = 0_u64;
    let is_chosen = |(number, len): (usize, &u64)| {
        // The first of each run of files that share an index among `most`.
        let place = |number: usize| number.saturating_mul(most) / lengths.len().max(1);
        let is_first = lengths.len() <= most || number == 0 || place(number) != place(number - 1);
        let is_taken = is_first && held.saturating_add(*len) <= bytes;
        held += if is_taken { *len } else { 0 };
        is_taken
    };
    lengths.iter().enumerate().map(is_chosen).collect()
}

fn left_out(left_out: LeftOutFiles) -> Vec<StoredStatement> {
    let LeftOutFiles { symlinks, gitlinks, missing } = left_out;
    let counts = [("symbolic-links", symlinks), ("other-commits", gitlinks), ("missing-files", missing)];
    let named = counts.into_iter().filter(|(_, count)| *count > 0);
    let named: Vec<StatementValue> =
        named.map(|(id, count)| Statement::new(id).with("count", Figure::count(count)).into()).collect();
    let statement = (!named.is_empty()).then(|| Statement::new("corpus-leaves-out").with("files", named));
    statement.into_iter().map(StoredStatement::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(chosen: &[bool]) -> usize {
        chosen.iter().filter(|is_chosen| **is_chosen).count()
    }

    #[test]
    fn published_counts_come_from_the_data_file() {
        assert_eq!(published_files().unwrap(), [5_435, 35_000]);
    }

    #[test]
    fn few_files_are_all_taken_and_many_evenly() {
        assert_eq!(choose(&[5; 10], 20, 1000), [true; 10]);
        assert_eq!(choose(&[5; 6], 3, 1000), [true, false, true, false, true, false]);
        let chosen = choose(&[1; 10_007], 5_435, u64::MAX);
        assert_eq!(count(&chosen), 5_435);
        let halves = chosen.split_at(5_000);
        assert!(count(halves.0).abs_diff(count(halves.1)) < 10, "from all over the tree");
    }

    #[test]
    fn large_corpora_are_thinned_out() {
        let chosen = choose(&[100; 1000], 1000, 10_000);
        assert_eq!(count(&chosen), 100);
        let mut lengths = [1_u64; 10];
        lengths[4] = 1 << 40;
        assert!(!choose(&lengths, 10, 1 << 20)[4], "one that is too long by itself is left out");
        assert_eq!(count(&choose(&[0; 3], 5, 0)), 3);
    }
}
