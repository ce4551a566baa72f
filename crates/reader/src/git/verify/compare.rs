//! Compares two repositories: references, objects, the validity of all objects, and settings that change how git reads
//! them.
//!
//! | what | how |
//! |---|---|
//! | `HEAD`, refs | by name and target, whether loose, packed or a symbolic link; replace refs are among them |
//! | `core.useReplaceRefs` | if there are replace refs |
//! | `shallow` | as a set |
//! | `info/grafts` | the parents of each commit; for a commit that is listed twice, the first line counts |
//! | whether objects may be missing | `extensions.partialClone`, promisor remotes and packs |
//!
//! Reflogs, and data derived from objects such as a commit-graph, are not compared.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
};

use bstr::BString;
use gix_hash::ObjectId;

use super::verify_objects;
use crate::{
    ReaderError, Result,
    git::{GitRepository, repository::Target},
};

/// A difference between two repositories, or damage in one of them.
#[derive(Debug)]
pub enum Difference {
    /// A reference that only one repository has, or that has different targets.
    Reference {
        /// Its name.
        name: BString,
        /// Its target in the first repository.
        first: Option<Target>,
        /// Its target in the second.
        second: Option<Target>,
    },
    /// A commit that only one of the two `shallow` files lists.
    Shallow {
        /// The file of the first repository.
        path: PathBuf,
        /// The commit.
        commit: ObjectId,
        /// Whether it is in the first.
        in_first: bool,
    },
    /// A commit that has different parents in the two `info/grafts` files.
    Graft {
        /// The file of the first repository.
        path: PathBuf,
        /// The commit.
        commit: ObjectId,
        /// Its parents in the first file; `None` if the file does not list the commit.
        first: Option<Vec<ObjectId>>,
        /// Its parents in the second file.
        second: Option<Vec<ObjectId>>,
    },
    /// A setting that changes how git reads a repository.
    Setting {
        /// The configuration file of the first repository.
        path: PathBuf,
        /// The setting.
        name: &'static str,
        /// Whether it is on in the first and off in the second.
        in_first: bool,
    },
    /// An object that only one repository has.
    Object {
        /// Its id.
        id: ObjectId,
        /// Whether it is in the first.
        in_first: bool,
    },
    /// An object that cannot be read, or whose content does not have its id.
    Damage(ReaderError),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Reference { name, first, second } => {
                write!(f, "reference {name}: {} in the first, {} in the second", Shown(first), Shown(second))
            }
            Difference::Shallow { path, commit, in_first } => {
                write!(f, "{}: commit {commit}: only in the {}", path.display(), side(*in_first))
            }
            Difference::Graft { path, commit, first, second } => {
                let (path, first, second) = (path.display(), Parents(first.as_deref()), Parents(second.as_deref()));
                write!(f, "{path}: commit {commit}: {first} in the first, {second} in the second")
            }
            Difference::Setting { path, name, in_first } => {
                let (one, other) = (side(*in_first), side(!*in_first));
                write!(f, "{}: {name}: yes in the {one}, no in the {other}", path.display())
            }
            Difference::Object { id, in_first } => write!(f, "object {id}: only in the {}", side(*in_first)),
            Difference::Damage(error) => write!(f, "damaged: {error}"),
        }
    }
}

fn side(is_first: bool) -> &'static str {
    if is_first { "first" } else { "second" }
}

/// The parents that a graft gives a commit, in words.
struct Parents<'a>(Option<&'a [ObjectId]>);

impl fmt::Display for Parents<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("its own parents"),
            Some([]) => f.write_str("no parents"),
            Some([first, rest @ ..]) => {
                write!(f, "the parents {first}")?;
                rest.iter().try_for_each(|parent| write!(f, " {parent}"))
            }
        }
    }
}

struct Shown<'a>(&'a Option<Target>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("absent"),
            Some(Target::Object(id)) => write!(f, "{id}"),
            Some(Target::Symbolic(name)) => write!(f, "-> {name}"),
        }
    }
}

/// Reads every object of both repositories on `threads` threads and calls `found` with each difference. Returns the
/// number of different objects in the first repository.
///
/// # Errors
/// A repository cannot be read at all. Damage of single objects is a difference.
pub fn compare(
    first: &GitRepository,
    second: &GitRepository,
    threads: usize,
    found: &mut dyn FnMut(Difference),
) -> Result<usize> {
    compare_references(first, second, found)?;
    compare_shallow(first, second, found);
    compare_grafts(first, second, found);
    compare_settings(first, second, found)?;
    let ids = |repository: &GitRepository, found: &mut dyn FnMut(Difference)| {
        let mut verification = verify_objects(repository, threads)?;
        verification.damage.drain(..).for_each(|error| found(Difference::Damage(error)));
        verification.ids.dedup();
        Ok::<_, ReaderError>(verification.ids)
    };
    let first_ids = ids(first, found)?;
    let second_ids = ids(second, found)?;
    compare_sorted(&first_ids, &second_ids, found);
    Ok(first_ids.len())
}

fn compare_references(first: &GitRepository, second: &GitRepository, found: &mut dyn FnMut(Difference)) -> Result<()> {
    let mut by_name: BTreeMap<BString, (Option<Target>, Option<Target>)> = BTreeMap::new();
    for reference in first.references()? {
        by_name.entry(reference.name).or_default().0 = Some(reference.target);
    }
    for reference in second.references()? {
        by_name.entry(reference.name).or_default().1 = Some(reference.target);
    }
    for (name, (first, second)) in by_name {
        if first != second {
            found(Difference::Reference { name, first, second });
        }
    }
    Ok(())
}

fn compare_shallow(first: &GitRepository, second: &GitRepository, found: &mut dyn FnMut(Difference)) {
    let sets = [first, second].map(|repository| repository.shallow().iter().collect::<BTreeSet<_>>());
    for commit in sets[0].symmetric_difference(&sets[1]) {
        let (path, in_first) = (first.common_dir().join("shallow"), sets[0].contains(commit));
        found(Difference::Shallow { path, commit: **commit, in_first });
    }
}

fn compare_grafts(first: &GitRepository, second: &GitRepository, found: &mut dyn FnMut(Difference)) {
    let [first_grafts, second_grafts] = [first, second].map(GitRepository::grafts);
    let commits: BTreeSet<_> = first_grafts.keys().chain(second_grafts.keys()).collect();
    for commit in commits {
        let (first_parents, second_parents) = (first_grafts.get(commit), second_grafts.get(commit));
        if first_parents != second_parents {
            found(Difference::Graft {
                path: first.common_dir().join("info/grafts"),
                commit: *commit,
                first: first_parents.cloned(),
                second: second_parents.cloned(),
            });
        }
    }
}

fn compare_settings(first: &GitRepository, second: &GitRepository, found: &mut dyn FnMut(Difference)) -> Result<()> {
    let mut compare = |name, [in_first, in_second]: [bool; 2]| {
        if in_first != in_second {
            found(Difference::Setting { path: first.common_dir().join("config"), name, in_first });
        }
    };
    compare("a partial clone", [first.is_partial_clone(), second.is_partial_clone()]);
    let replaced = first.has_replace_refs()? || second.has_replace_refs()?;
    if replaced {
        compare("core.useReplaceRefs", [first.uses_replacements()?, second.uses_replacements()?]);
    }
    Ok(())
}

/// Compares two ascending lists of ids without duplicates.
fn compare_sorted(first: &[ObjectId], second: &[ObjectId], found: &mut dyn FnMut(Difference)) {
    let (mut first, mut second) = (first.iter().peekable(), second.iter().peekable());
    loop {
        let order = match (first.peek(), second.peek()) {
            (Some(a), Some(b)) => a.cmp(b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return,
        };
        let only = match order {
            Ordering::Less => first.next().map(|id| (*id, true)),
            Ordering::Greater => second.next().map(|id| (*id, false)),
            Ordering::Equal => {
                first.next();
                second.next();
                None
            }
        };
        if let Some((id, in_first)) = only {
            found(Difference::Object { id, in_first });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_ids_of_only_one_side() {
        let id = |byte| ObjectId::Sha1([byte; 20]);
        let mut found = Vec::new();
        compare_sorted(&[id(1), id(2), id(4)], &[id(2), id(3), id(4), id(5)], &mut |difference| match difference {
            Difference::Object { id, in_first } => found.push((id.first_byte(), in_first)),
            other => panic!("{other}"),
        });
        assert_eq!(found, [(1, true), (3, false), (5, false)]);
    }
}
