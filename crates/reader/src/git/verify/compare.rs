//! Holds two repositories against each other: same references, same objects, all of them sound.

use std::{cmp::Ordering, collections::BTreeMap, fmt};

use bstr::BString;
use gix_hash::ObjectId;

use super::verify_objects;
use crate::{
    ReaderError, Result,
    git::{GitRepository, repository::Target},
};

/// One thing in which two repositories differ, or which is damaged in one of them.
#[derive(Debug)]
pub enum Difference {
    /// A reference that one has and the other has not, or that leads elsewhere.
    Reference {
        /// Its name.
        name: BString,
        /// Where it leads in the first.
        first: Option<Target>,
        /// Where it leads in the second.
        second: Option<Target>,
    },
    /// An object that only one of them has.
    Object {
        /// Its id.
        id: ObjectId,
        /// Whether the first has it.
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
            Difference::Object { id, in_first } => {
                write!(f, "object {id}: only in the {}", if *in_first { "first" } else { "second" })
            }
            Difference::Damage(error) => write!(f, "damaged: {error}"),
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

/// Reads every object of both repositories on `threads` threads and calls `found` on each difference. Returns how many
/// different objects the first one has.
///
/// # Errors
/// What prevents reading a repository at all; damage of single objects is a difference.
pub fn compare(
    first: &GitRepository,
    second: &GitRepository,
    threads: usize,
    found: &mut dyn FnMut(Difference),
) -> Result<usize> {
    compare_references(first, second, found)?;
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

/// Both lists ascend and hold no id twice.
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
    fn ids_of_one_side_are_found() {
        let id = |byte| ObjectId::Sha1([byte; 20]);
        let mut found = Vec::new();
        compare_sorted(&[id(1), id(2), id(4)], &[id(2), id(3), id(4), id(5)], &mut |difference| match difference {
            Difference::Object { id, in_first } => found.push((id.first_byte(), in_first)),
            other => panic!("{other}"),
        });
        assert_eq!(found, [(1, true), (3, false), (5, false)]);
    }
}
