//! Comparing two repositories: reads every revision of both and recomputes its node.

mod check;
mod references;
mod side_files;
mod text_check;

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use repackbench_codec::Dictionaries;

pub use self::check::check_revisions;
use self::text_check::TextCheck;
use super::{
    HgRepository,
    revlog::{Entry, Revlog, RevlogFiles},
};
use crate::{ObjectKind, ReaderError, Result, memory::TurnTaker, threads};

/// A difference between two repositories, or damage in one of them.
#[derive(Debug)]
pub enum HgDifference {
    /// A revlog, a requirement, or a file beside the store that only one of them has.
    OnlyIn {
        /// `A` or `B`.
        which: char,
        /// The tracked file of the revlog, or the name of something else.
        name: String,
    },
    /// A revision whose entries differ, or that only one revlog has.
    Revision {
        /// The tracked file of the revlog.
        name: String,
        /// The revision's number.
        revision: usize,
        /// The field that differs.
        field: &'static str,
    },
    /// A file other than revlogs, such as `bookmarks`, that differs or that only one of them has.
    File {
        /// Its path below `.hg`.
        path: String,
        /// The difference.
        what: String,
    },
    /// A revision that cannot be read, or another damaged file.
    Damaged {
        /// `A` or `B`.
        which: char,
        /// The damage.
        error: ReaderError,
    },
}

impl fmt::Display for HgDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HgDifference::OnlyIn { which, name } => write!(f, "only in {which}: {name}"),
            HgDifference::Revision { name, revision, field } => {
                write!(f, "{name}, revision {revision}: different {field}")
            }
            HgDifference::File { path, what } => write!(f, "different file: {path}: {what}"),
            HgDifference::Damaged { which, error } => write!(f, "damaged in {which}: {error}"),
        }
    }
}

/// Counts of the revisions in a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verified {
    /// Revisions that both repositories hold.
    pub revisions: u64,
    /// Those whose text does not hash to their node by design: censored or externally stored ones. Their
    /// texts are compared byte by byte.
    pub unhashed: u64,
}

/// Compares `first` with `second` on `threads` threads and calls `on_difference` with all differences, in a stable
/// order.
///
/// # Errors
/// [`ReaderError::Io`] if a file other than revlogs cannot be read, [`ReaderError::TooLarge`] for a text that exceeds
/// the memory ceiling. Damage of a revlog is a difference.
pub fn compare(
    first: &HgRepository,
    second: &HgRepository,
    threads: usize,
    on_difference: &mut dyn FnMut(HgDifference),
) -> Result<Verified> {
    let repositories = [first, second];
    let empty = repositories.map(side_files::empty_revlogs);
    side_files::compare(repositories, empty.each_ref(), on_difference)?;
    let jobs = pair_revlogs(repositories, empty.each_ref(), on_difference);
    let mut read_dictionaries = |which, repository: &HgRepository| {
        repository.dictionaries().unwrap_or_else(|error| {
            on_difference(HgDifference::Damaged { which, error });
            Dictionaries::default()
        })
    };
    let dictionaries = [read_dictionaries('A', first), read_dictionaries('B', second)];
    let next = AtomicUsize::new(0);
    let found = Mutex::new((Verified::default(), Vec::new()));
    threads::share(threads, || {
        let mut worker = Worker::new(&dictionaries);
        while let Some((number, (left, right))) = next_job(&next, &jobs) {
            worker.compare(number, left, right);
            if worker.is_over {
                next.store(jobs.len(), Ordering::Relaxed);
            }
        }
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        found.0.revisions += worker.verified.revisions;
        found.0.unhashed += worker.verified.unhashed;
        found.1.append(&mut worker.differences);
    });
    let (verified, mut differences) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    differences.sort_by_key(|(job, _)| *job);
    let too_large = differences.iter().position(|(_, difference)| is_too_large(difference));
    if let Some((_, HgDifference::Damaged { error, .. })) = too_large.map(|at| differences.swap_remove(at)) {
        return Err(error);
    }
    differences.into_iter().for_each(|(_, difference)| on_difference(difference));
    Ok(verified)
}

/// The revlogs that both repositories have, in pairs. `empty` are the empty revlogs of each.
fn pair_revlogs<'a>(
    repositories: [&'a HgRepository; 2],
    empty: [&'a HashSet<PathBuf>; 2],
    on_difference: &mut dyn FnMut(HgDifference),
) -> Vec<(&'a RevlogFiles, &'a RevlogFiles)> {
    let mut pairs: BTreeMap<(ObjectKind, &[u8]), [Option<&RevlogFiles>; 2]> = BTreeMap::new();
    for (side, (repository, empty)) in repositories.into_iter().zip(empty).enumerate() {
        for (subject, files) in side_files::by_subject(repository, empty) {
            if let Some(place) = pairs.entry(subject).or_default().get_mut(side) {
                *place = Some(files);
            }
        }
    }
    let mut both = Vec::new();
    for [left, right] in pairs.into_values() {
        match (left, right) {
            (Some(left), Some(right)) => both.push((left, right)),
            (Some(only), None) => on_difference(HgDifference::OnlyIn { which: 'A', name: only.name() }),
            (None, Some(only)) => on_difference(HgDifference::OnlyIn { which: 'B', name: only.name() }),
            (None, None) => {}
        }
    }
    both
}

fn is_too_large(difference: &HgDifference) -> bool {
    matches!(difference, HgDifference::Damaged { error: ReaderError::TooLarge { .. }, .. })
}

fn next_job<T: Copy>(next: &AtomicUsize, jobs: &[T]) -> Option<(usize, T)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(number).map(|job| (number, *job))
}

/// The readers of one thread, and what it found, with the number of the job.
struct Worker {
    checks: [TextCheck; 2],
    verified: Verified,
    differences: Vec<(usize, HgDifference)>,
    turn: TurnTaker,
    /// Whether a text was too large to be compared.
    is_over: bool,
}

impl Worker {
    /// A worker for two repositories with these dictionaries.
    fn new(dictionaries: &[Dictionaries; 2]) -> Self {
        let turn = TurnTaker::default();
        Worker {
            checks: dictionaries.each_ref().map(|dictionaries| TextCheck::new(dictionaries, 2, &turn)),
            verified: Verified::default(),
            differences: Vec::new(),
            turn,
            is_over: false,
        }
    }

    fn compare(&mut self, job: usize, left: &RevlogFiles, right: &RevlogFiles) {
        let mut open = |which, files| {
            Revlog::open(files)
                .map_err(|error| self.differences.push((job, HgDifference::Damaged { which, error })))
                .ok()
        };
        let (Some(left), Some(right)) = (open('A', left), open('B', right)) else { return };
        let revisions = left.len().min(right.len());
        if left.len() != right.len() {
            let (name, field) = (left.files().name(), "number of revisions");
            self.differences.push((job, HgDifference::Revision { name, revision: revisions, field }));
        }
        for (revision, (one, other)) in left.entries().iter().zip(right.entries()).enumerate() {
            if let Some(field) = different_field(&left, one, &right, other) {
                let name = left.files().name();
                self.differences.push((job, HgDifference::Revision { name, revision, field }));
            }
            self.compare_texts(job, [&left, &right], revision, one.is_hashed());
            self.verified.revisions += 1;
            if self.is_over {
                break;
            }
        }
        self.turn.finish(self.checks.each_mut().map(TextCheck::forget));
        self.checks.iter_mut().for_each(|check| check.give_room(&self.turn));
    }

    fn compare_texts(&mut self, job: usize, revlogs: [&Revlog; 2], revision: usize, is_hashed: bool) {
        let mut is_read = true;
        for ((which, revlog), check) in ['A', 'B'].into_iter().zip(revlogs).zip(&mut self.checks) {
            if let Err(damage) = check.read(revlog, revision, &mut self.turn) {
                is_read = false;
                self.is_over |= matches!(damage.error, ReaderError::TooLarge { .. });
                if !damage.is_of_base {
                    self.differences.push((job, HgDifference::Damaged { which, error: damage.error }));
                }
            }
        }
        if !is_hashed {
            self.verified.unhashed += 1;
            let [left, right] = self.checks.each_ref().map(TextCheck::text);
            if is_read && left != right {
                let name = revlogs[0].files().name();
                self.differences.push((job, HgDifference::Revision { name, revision, field: "text" }));
            }
        }
    }
}

/// The field in which two entries differ, not counting the place of the chunk.
fn different_field(left: &Revlog, one: &Entry, right: &Revlog, other: &Entry) -> Option<&'static str> {
    let parents = |revlog: &Revlog, entry: &Entry| revlog.parent_nodes(entry);
    if one.node != other.node {
        Some("node")
    } else if parents(left, one) != parents(right, other) {
        Some("parents")
    } else if one.link != other.link {
        Some("linked changeset")
    } else if one.flags_of_revision() != other.flags_of_revision() {
        Some("flags")
    } else if one.text_len != other.text_len {
        Some("length")
    } else {
        None
    }
}
