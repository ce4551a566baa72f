//! The layout of a B-tree file: the data file of LMDB 0.9, format version 1, as a 64-bit little-endian machine with
//! pages of 4096 bytes writes it. Numbers are little-endian. Offsets in a page count from its first byte.
//!
//! A page:
//!
//! | field | at | width | source |
//! |---|---|---|---|
//! | number of the page | 0 | 8 | `MDB_page.mp_pgno` |
//! | unused | 8 | 2 | `mp_pad` |
//! | flags | 10 | 2 | `mp_flags`: 1 branch, 2 leaf, 4 overflow, 8 meta |
//! | end of the pointers | 12 | 2 | `mp_lower`; overflow: with the next field, number of pages (4 bytes), `mp_pages` |
//! | start of the nodes | 14 | 2 | `mp_upper` |
//! | pointers: the start of each node, in the order of keys | 16 | 2 each | `mp_ptrs` |
//! | free space, then nodes, each at an even offset | | | |
//!
//! A node:
//!
//! | field | at | width | source |
//! |---|---|---|---|
//! | leaf: length of the value; branch: the lower half of the child's page number | 0 | 4 | `mn_lo`, `mn_hi` |
//! | leaf: flags, 1 if the value is on overflow pages; branch: the rest of the page number | 4 | 2 | `mn_flags` |
//! | length of the key | 6 | 2 | `mn_ksize` |
//! | key | 8 | | `mn_data` |
//! | leaf: the value, or the number of the first overflow page, 8 bytes | | | |
//!
//! The first key of a branch is empty: its child has all keys below the second. A value on overflow pages starts after
//! the header of the first page and continues to its end without further headers.
//!
//! Pages 0 and 1 are meta pages. The one with the later transaction is valid:
//!
//! | field | at | width | source |
//! |---|---|---|---|
//! | magic number `be ef c0 de` | 16 | 4 | `MDB_meta.mm_magic` |
//! | format version 1 | 20 | 4 | `mm_version` |
//! | address, zero | 24 | 8 | `mm_address` |
//! | length of the map | 32 | 8 | `mm_mapsize` |
//! | tree of free pages | 40 | 48 | `mm_dbs[0]`; its first four bytes are the page's length |
//! | tree of keys | 88 | 48 | `mm_dbs[1]` |
//! | number of the last page | 136 | 8 | `mm_last_pg` |
//! | transaction | 144 | 8 | `mm_txnid` |
//!
//! A tree:
//!
//! | field | at | width | source |
//! |---|---|---|---|
//! | page length, or zero | 0 | 4 | `MDB_db.md_pad` |
//! | flags; 8 for the tree of free pages | 4 | 2 | `md_flags` |
//! | levels | 6 | 2 | `md_depth` |
//! | branch, leaf and overflow pages, keys | 8 | 8 each | `md_branch_pages` to `md_entries` |
//! | page number of the root; all ones if there is no root | 40 | 8 | `md_root` |

use std::cmp::Ordering;

/// Length of a page in bytes.
pub const PAGE_LEN: usize = 4096;
/// The page length as an offset in the file.
pub const PAGE_BYTES: u64 = PAGE_LEN as u64;

/// The page length as the file records it.
pub const PAGE_LEN_FIELD: u32 = 4096;
/// Length of a page's header in bytes.
pub const PAGE_HEADER_LEN: usize = 16;
/// Length of a node before its key, in bytes.
pub const NODE_HEADER_LEN: usize = 8;
/// Length of a pointer to a node in bytes.
pub const POINTER_LEN: usize = 2;
/// The longest node of a leaf in bytes, including key and value: two of them and their pointers fit a page. A longer
/// value goes to overflow pages.
pub const LONGEST_NODE: usize = (((PAGE_LEN - PAGE_HEADER_LEN) / 2) & !1) - POINTER_LEN;
/// The longest value in bytes.
pub const LONGEST_VALUE: u64 = u32::MAX as u64;
/// Number of meta pages at the start of a file.
pub const META_PAGES: u64 = 2;
/// The page number of the root of an empty tree.
pub const NO_PAGE: u64 = u64::MAX;
/// The magic number of the file format.
pub const MAGIC: u32 = 0xbeef_c0de;
/// The version of the format.
pub const VERSION: u32 = 1;
/// The flag of a leaf's node whose value is on overflow pages.
pub const ON_OVERFLOW_PAGES: u16 = 1;
/// Offset of the magic number in a meta page.
pub const META_AT: usize = PAGE_HEADER_LEN;
/// Offsets of the tree of free pages and the tree of keys in a meta page.
pub const TREES_AT: [usize; 2] = [40, 88];
/// Offset of the number of the last page in a meta page.
pub const LAST_PAGE_AT: usize = 136;
/// Offset of the transaction in a meta page.
pub const TRANSACTION_AT: usize = 144;
/// Length of the used part of a meta page.
pub const META_END: usize = 152;
/// The largest number of levels that a tree may claim. No disk could store a tree with that many.
const MAX_LEVELS: u16 = 16;

/// Number of overflow pages for a value of `len` bytes.
pub fn overflow_pages(len: u64) -> u64 {
    len.saturating_add(PAGE_HEADER_LEN as u64).div_ceil(PAGE_BYTES)
}

/// The role of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageRole {
    /// Keys and the pages below them.
    Branch,
    /// Keys and values.
    Leaf,
    /// Part of one value.
    Overflow,
    /// The roots.
    Meta,
}

impl PageRole {
    /// The flag for it in a page.
    pub fn flag(self) -> u16 {
        match self {
            PageRole::Branch => 1,
            PageRole::Leaf => 2,
            PageRole::Overflow => 4,
            PageRole::Meta => 8,
        }
    }

    fn name(self) -> &'static str {
        match self {
            PageRole::Branch => "a branch page",
            PageRole::Leaf => "a leaf page",
            PageRole::Overflow => "an overflow page",
            PageRole::Meta => "a meta page",
        }
    }
}

/// Damage in a page. The caller adds the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadPage {
    /// Offset in the page.
    pub(super) at: usize,
    pub(super) expected: String,
    pub(super) found: String,
}

impl BadPage {
    fn new(at: usize, expected: impl Into<String>, found: impl ToString) -> Self {
        BadPage { at, expected: expected.into(), found: found.to_string() }
    }
}

type Parsed<T> = Result<T, BadPage>;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

fn field<T>(value: Option<T>, at: usize) -> Parsed<T> {
    value.ok_or_else(|| BadPage::new(at, "a field", "the end of the page"))
}

/// Checks the number and the flags in the header of the page `number`.
pub(super) fn check_header(bytes: &[u8], number: u64, role: PageRole) -> Parsed<()> {
    let found = field(u64_at(bytes, 0), 0)?;
    if found != number {
        return Err(BadPage::new(0, format!("page {number}"), format!("the number {found}")));
    }
    match field(u16_at(bytes, 10), 10)? {
        flags if flags == role.flag() => Ok(()),
        flags => Err(BadPage::new(10, role.name(), format!("flags {flags:#x}"))),
    }
}

/// Checks the header of the first overflow page of a value of `len` bytes.
pub(super) fn check_overflow(bytes: &[u8], number: u64, len: u64) -> Parsed<()> {
    check_header(bytes, number, PageRole::Overflow)?;
    let (pages, expected) = (u64::from(field(u32_at(bytes, 12), 12)?), overflow_pages(len));
    if pages != expected {
        return Err(BadPage::new(12, format!("{expected} pages for a value of {len} bytes"), pages));
    }
    Ok(())
}

/// The tree of keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tree {
    /// The page number of its root; `None` if it is empty.
    pub root: Option<u64>,
    /// Number of levels. The leaves are on the last one.
    pub levels: u16,
    /// Number of branch pages.
    pub branch_pages: u64,
    /// Number of leaf pages.
    pub leaf_pages: u64,
    /// Number of overflow pages.
    pub overflow_pages: u64,
    /// Number of keys.
    pub keys: u64,
}

/// A meta page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// The tree of keys.
    pub tree: Tree,
    /// The number of the last page.
    pub last_page: u64,
}

impl Meta {
    /// Parses the meta page `number`.
    pub(super) fn parse(bytes: &[u8], number: u64) -> Parsed<Self> {
        let magic = field(u32_at(bytes, META_AT), META_AT)?;
        if magic != MAGIC {
            return Err(BadPage::new(
                META_AT,
                format!("the number {MAGIC:08x} of a B-tree file"),
                format!("{magic:08x}"),
            ));
        }
        check_header(bytes, number, PageRole::Meta)?;
        let version = field(u32_at(bytes, META_AT + 4), META_AT + 4)?;
        if version != VERSION {
            return Err(BadPage::new(META_AT + 4, format!("format version {VERSION}"), version));
        }
        let [free_at, keys_at] = TREES_AT;
        let page_len = field(u32_at(bytes, free_at), free_at)?;
        if usize::try_from(page_len) != Ok(PAGE_LEN) {
            return Err(BadPage::new(free_at, format!("pages of {PAGE_LEN} bytes"), page_len));
        }
        let flags = field(u16_at(bytes, keys_at + 4), keys_at + 4)?;
        if flags != 0 {
            return Err(BadPage::new(keys_at + 4, "one value for each key", format!("flags {flags:#x}")));
        }
        let number_at = |at| field(u64_at(bytes, at), at);
        let root = number_at(keys_at + 40)?;
        let tree = Tree {
            root: (root != NO_PAGE).then_some(root),
            levels: field(u16_at(bytes, keys_at + 6), keys_at + 6)?,
            branch_pages: number_at(keys_at + 8)?,
            leaf_pages: number_at(keys_at + 16)?,
            overflow_pages: number_at(keys_at + 24)?,
            keys: number_at(keys_at + 32)?,
        };
        // There is only one transaction, the first. It wrote page 1.
        let transaction = number_at(TRANSACTION_AT)?;
        if transaction != number {
            return Err(BadPage::new(TRANSACTION_AT, format!("transaction {number}"), transaction));
        }
        Meta { tree, last_page: number_at(LAST_PAGE_AT)? }.check()
    }

    fn check(self) -> Parsed<Self> {
        let [_, at] = TREES_AT;
        let Meta { tree, last_page, .. } = self;
        let is_page = |root: u64| (META_PAGES..=last_page).contains(&root);
        if !tree.root.is_none_or(is_page) {
            let root = tree.root.unwrap_or(NO_PAGE);
            return Err(BadPage::new(at + 40, format!("a root page up to {last_page}"), format!("page {root}")));
        }
        let has_levels = (1..=MAX_LEVELS).contains(&tree.levels);
        if tree.root.is_some() != has_levels || (tree.root.is_none() && tree.keys != 0) {
            let found = format!("{} levels, {} keys", tree.levels, tree.keys);
            return Err(BadPage::new(
                at + 6,
                format!("at most {MAX_LEVELS} levels, and no keys without levels"),
                found,
            ));
        }
        let pages = [tree.branch_pages, tree.leaf_pages, tree.overflow_pages];
        let sum = pages.into_iter().fold(META_PAGES, u64::saturating_add);
        if sum > last_page.saturating_add(1) {
            return Err(BadPage::new(at + 8, format!("at most {last_page} pages"), sum));
        }
        Ok(self)
    }
}

/// A branch or a leaf.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page<'a> {
    bytes: &'a [u8],
    role: PageRole,
    /// The end of the pointers and the start of the nodes.
    lower: usize,
    upper: usize,
    /// The length of every key except the first of a branch.
    key_len: usize,
}

/// A node of a leaf or a branch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) key: &'a [u8],
    /// The child or value of the key.
    pub(super) target: Target,
}

/// The child or value of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// A page one level below.
    Child(u64),
    /// A value in the page: its start and its length.
    Here { at: usize, len: usize },
    /// A value on overflow pages: the first page and the value's length.
    Overflow { first: u64, len: u64 },
}

impl<'a> Page<'a> {
    /// Parses the page `number`, which has to have this `role` and keys of `key_len` bytes.
    pub(super) fn parse(bytes: &'a [u8], number: u64, role: PageRole, key_len: usize) -> Parsed<Self> {
        check_header(bytes, number, role)?;
        let lower = usize::from(field(u16_at(bytes, 12), 12)?);
        let upper = usize::from(field(u16_at(bytes, 14), 14)?);
        let has_pointers = lower > PAGE_HEADER_LEN && (lower - PAGE_HEADER_LEN).is_multiple_of(POINTER_LEN);
        if !has_pointers || upper < lower || upper > bytes.len() {
            let found = format!("pointers up to {lower}, nodes from {upper}");
            return Err(BadPage::new(12, format!("pointers and nodes within {} bytes", bytes.len()), found));
        }
        Ok(Page { bytes, role, lower, upper, key_len })
    }

    /// Number of nodes, at least one.
    pub(super) fn len(&self) -> usize {
        (self.lower - PAGE_HEADER_LEN) / POINTER_LEN
    }

    /// The node at `position`.
    pub(super) fn node(&self, position: usize) -> Parsed<Node<'a>> {
        let pointer_at = PAGE_HEADER_LEN + position * POINTER_LEN;
        let start = usize::from(field(u16_at(self.bytes, pointer_at), pointer_at)?);
        let node = self.bytes.get(start..).filter(|_| start >= self.upper).unwrap_or_default();
        let out_of_page = || BadPage::new(pointer_at, "a node within the page", format!("a node at {start}"));
        let header = node.get(..NODE_HEADER_LEN).ok_or_else(out_of_page)?;
        let low = u32_at(header, 0).ok_or_else(out_of_page)?;
        let flags = u16_at(header, 4).ok_or_else(out_of_page)?;
        let key_len = usize::from(u16_at(header, 6).ok_or_else(out_of_page)?);
        let expected = if self.role == PageRole::Branch && position == 0 { 0 } else { self.key_len };
        if key_len != expected {
            return Err(BadPage::new(start + 6, format!("a key of {expected} bytes"), format!("one of {key_len}")));
        }
        let data_at = NODE_HEADER_LEN + key_len;
        let key = node.get(NODE_HEADER_LEN..data_at).ok_or_else(out_of_page)?;
        let target = match (self.role, flags) {
            (PageRole::Branch, _) => Target::Child(u64::from(flags) << 32 | u64::from(low)),
            (_, 0) => {
                let len = usize::try_from(low).unwrap_or(usize::MAX);
                let end = data_at.checked_add(len).ok_or_else(out_of_page)?;
                node.get(data_at..end).ok_or_else(out_of_page)?;
                Target::Here { at: start + data_at, len }
            }
            (_, ON_OVERFLOW_PAGES) => {
                let first = u64_at(node, data_at).ok_or_else(out_of_page)?;
                Target::Overflow { first, len: u64::from(low) }
            }
            (_, flags) => {
                return Err(BadPage::new(start + 4, "a value in the page or on others", format!("flags {flags:#x}")));
            }
        };
        Ok(Node { key, target })
    }

    /// The position of the last node whose key is not greater than `key`, and whether it is equal; `None` if all are
    /// greater.
    pub(super) fn search(&self, key: &[u8]) -> Parsed<Option<(usize, bool)>> {
        // The first key of a branch counts as less than any other.
        let mut low = usize::from(self.role == PageRole::Branch);
        let mut high = self.len();
        while low < high {
            let middle = low + (high - low) / 2;
            match self.node(middle)?.key.cmp(key) {
                Ordering::Equal => return Ok(Some((middle, true))),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        Ok(low.checked_sub(1).map(|position| (position, false)))
    }
}
