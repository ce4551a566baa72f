//! Walking a whole B-tree in the order of keys.

use std::ops::ControlFlow;

use gix_hash::ObjectId;

use super::{
    BtreeFile, BtreePlace,
    layout::{NODE_HEADER_LEN, PAGE_BYTES, PAGE_HEADER_LEN, POINTER_LEN, Target, overflow_pages},
};
use crate::{Place, ReaderError, Result};

/// The use of the bytes of a B-tree file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// The file's length in bytes.
    pub file_bytes: u64,
    /// Total length of all values in bytes.
    pub value_bytes: u64,
    /// Number of unused bytes in pages: free space in branches and leaves, the ends of overflow pages, padding.
    pub unused_bytes: u64,
}

/// The position of a walk on one level.
struct Step {
    page: u64,
    position: usize,
}

/// The result of one step. A child has the key of its node; the first of each branch has none.
enum Found {
    Child(u64, Option<ObjectId>),
    Key(ObjectId, Target),
    End,
}

/// Checks that keys ascend, and that a branch names for each child the keys below it: a search goes by that.
#[derive(Default)]
struct Order {
    /// The last key passed in a leaf.
    last: Option<ObjectId>,
    /// The least key that the current child may have.
    least: Option<ObjectId>,
}

impl Order {
    /// Enters a child whose node has `key`. On an error, returns the key that should come after it.
    fn enter(&mut self, key: ObjectId) -> std::result::Result<(), ObjectId> {
        self.least = self.least.max(Some(key));
        self.last.filter(|last| *last >= key).map_or(Ok(()), Err)
    }

    /// Passes a `key` of a leaf. On an error, returns the key that should come after it.
    fn pass(&mut self, key: ObjectId) -> std::result::Result<(), ObjectId> {
        let before = self.last.filter(|last| *last >= key).or(self.least.filter(|least| *least > key));
        self.last = Some(key);
        before.map_or(Ok(()), Err)
    }
}

impl BtreeFile {
    /// Calls `visit` with every id and the place of its value, in ascending order from the first id that is not below
    /// `from`, until it breaks.
    ///
    /// # Errors
    /// A page is damaged or cannot be read, or keys do not ascend.
    pub fn walk(
        &self,
        from: &[u8],
        visit: &mut dyn FnMut(ObjectId, BtreePlace) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.walk_counted(from, visit).map(drop)
    }

    /// As [`walk`](BtreeFile::walk). Returns the number of branches and leaves visited.
    fn walk_counted(
        &self,
        from: &[u8],
        visit: &mut dyn FnMut(ObjectId, BtreePlace) -> Result<ControlFlow<()>>,
    ) -> Result<u64> {
        let Some(root) = self.tree().root else { return Ok(0) };
        let mut path = vec![self.enter(root, 1, from)?];
        let mut order = Order::default();
        let mut entered = 1;
        while let Some(level) = u16::try_from(path.len()).ok().filter(|level| *level > 0) {
            let Some(Step { page, position }) = path.last_mut() else { break };
            let number = *page;
            let at = *position;
            *position += 1;
            match self.step(number, level, at)? {
                Found::End => drop(path.pop()),
                Found::Child(child, key) => {
                    if let Some(key) = key {
                        order.enter(key).map_err(|before| self.unordered(number, key, before))?;
                    }
                    // All keys below a later child of this page are above `from`.
                    let bound = if order.last.is_none() { from } else { &[] };
                    path.push(self.enter(child, level + 1, bound)?);
                    entered += 1;
                    self.check_entered(entered, number)?;
                }
                Found::Key(id, target) => {
                    order.pass(id).map_err(|before| self.unordered(number, id, before))?;
                    if visit(id, self.place(number, target)?)?.is_break() {
                        return Ok(entered);
                    }
                }
            }
        }
        Ok(entered)
    }

    fn unordered(&self, number: u64, key: ObjectId, before: ObjectId) -> ReaderError {
        let place = Place::Offset(number.saturating_mul(PAGE_BYTES));
        ReaderError::corrupt(self.path(), place, "ascending keys", format!("{key} after {before}"))
    }

    /// The position at which a walk starts in the page `number`: the first key that is not below `from`.
    fn enter(&self, number: u64, level: u16, from: &[u8]) -> Result<Step> {
        let is_leaf = level == self.tree().levels;
        let position = self.with_page(number, self.role(level), |page| {
            Ok(match page.search(from)? {
                None => 0,
                Some((position, is_equal)) if is_equal || !is_leaf => position,
                Some((position, _)) => position + 1,
            })
        })?;
        Ok(Step { page: number, position })
    }

    /// Fails if a walk has entered more pages than there are: then some page is below two others.
    fn check_entered(&self, entered: u64, number: u64) -> Result<()> {
        let pages = self.tree().branch_pages.saturating_add(self.tree().leaf_pages);
        if entered <= pages {
            return Ok(());
        }
        let place = Place::Offset(number.saturating_mul(PAGE_BYTES));
        Err(ReaderError::corrupt(self.path(), place, format!("a tree of {pages} pages"), "a page below two others"))
    }

    fn step(&self, number: u64, level: u16, position: usize) -> Result<Found> {
        let (target, key) = match self.with_page(number, self.role(level), |page| {
            if position >= page.len() {
                return Ok(None);
            }
            let node = page.node(position)?;
            Ok(Some((node.target, ObjectId::try_from(node.key).ok())))
        })? {
            None => return Ok(Found::End),
            Some(found) => found,
        };
        match (target, key) {
            (Target::Child(child), key) => Ok(Found::Child(child, key)),
            (target, Some(id)) => Ok(Found::Key(id, target)),
            (_, None) => {
                let place = Place::Offset(number.saturating_mul(PAGE_BYTES));
                Err(ReaderError::corrupt(self.path(), place, "an object's id", "a key of another length"))
            }
        }
    }

    /// Calls `visit` with every id and the place of its value, in ascending order.
    ///
    /// # Errors
    /// As for [`walk`](BtreeFile::walk). Also, the number of keys or pages differs from the one that the file records.
    pub fn for_each(&self, visit: &mut dyn FnMut(ObjectId, BtreePlace) -> Result<()>) -> Result<()> {
        let tree = self.tree();
        let (mut keys, mut overflow) = (0u64, 0u64);
        let entered = self.walk_counted(&[], &mut |id, place| {
            keys += 1;
            if !place.is_in_page {
                overflow = overflow.saturating_add(overflow_pages(place.len));
                // Values that share pages could take many times the length of the file.
                self.check_count(overflow <= tree.overflow_pages, "overflow pages", tree.overflow_pages, overflow)?;
            }
            visit(id, place).map(ControlFlow::Continue)
        })?;
        self.check_count(keys == tree.keys, "objects", tree.keys, keys)?;
        self.check_count(overflow == tree.overflow_pages, "overflow pages", tree.overflow_pages, overflow)?;
        let pages = tree.branch_pages.saturating_add(tree.leaf_pages);
        self.check_count(entered == pages, "branch and leaf pages", pages, entered)
    }

    /// Fails unless `is_valid`. `what` is what the meta pages count, and `expected` their count.
    fn check_count(&self, is_valid: bool, what: &str, expected: u64, found: u64) -> Result<()> {
        if !is_valid {
            let expected = format!("{expected} {what}, as its meta pages say");
            return Err(ReaderError::corrupt(self.path(), Place::Whole, expected, found.to_string()));
        }
        Ok(())
    }

    /// The use of the bytes of the file. Reads every page except overflow pages.
    ///
    /// # Errors
    /// As for [`for_each`](BtreeFile::for_each).
    pub fn occupancy(&self) -> Result<Occupancy> {
        let tree = self.tree();
        let mut values = 0u64;
        let mut keys_and_framing = 0u64;
        let node_len = (NODE_HEADER_LEN + self.hash_kind().len_in_bytes() + POINTER_LEN) as u64;
        self.for_each(&mut |_, place| {
            values += place.len;
            let reference = if place.is_in_page { 0 } else { size_of::<u64>() as u64 };
            keys_and_framing += node_len + reference;
            if !place.is_in_page && overflow_pages(place.len) > 0 {
                keys_and_framing += PAGE_HEADER_LEN as u64;
            }
            Ok(())
        })?;
        // A branch has a node for each page below it. The first node of each branch has no key.
        let below = (tree.branch_pages + tree.leaf_pages).saturating_sub(1);
        let without_key = tree.branch_pages * self.hash_kind().len_in_bytes() as u64;
        let branches = (below * node_len).saturating_sub(without_key);
        let headers = (tree.branch_pages + tree.leaf_pages) * PAGE_HEADER_LEN as u64;
        let meta = 2 * super::layout::META_END as u64;
        let used = [values, keys_and_framing, branches, headers, meta].into_iter().fold(0, u64::saturating_add);
        Ok(Occupancy {
            file_bytes: self.file_len(),
            value_bytes: values,
            unused_bytes: self.file_len().saturating_sub(used),
        })
    }
}
