//! Writes a B-tree file from left to right: leaves as they fill, each after the values that are too long for it, then
//! the branches level by level, and the meta pages last. The format is described in
//! [`layout`](repackbench_reader::git::btree::layout).

use std::{
    fs::File,
    io::{BufWriter, Read, Write, copy},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use repackbench_reader::git::btree::layout::{
    LAST_PAGE_AT, LONGEST_NODE, MAGIC, META_AT, META_PAGES, NO_PAGE, NODE_HEADER_LEN, ON_OVERFLOW_PAGES, PAGE_BYTES,
    PAGE_HEADER_LEN, PAGE_LEN, PAGE_LEN_FIELD, POINTER_LEN, PageRole, TRANSACTION_AT, TREES_AT, Tree, VERSION,
    overflow_pages,
};

use crate::{Result, WriterError, new_file::create_read_only};

/// The number of bytes that are written at a time.
const BUFFER: usize = 1 << 20;

/// The flag of a tree with numbers as keys, such as the tree of free pages.
const NUMBERED_KEYS: u16 = 8;

/// A B-tree file under construction. Keys have to come in ascending order.
pub(super) struct TreeWriter {
    file: BufWriter<File>,
    path: PathBuf,
    key_len: usize,
    /// The number of the next page to write.
    next_page: u64,
    leaf: PageBuilder,
    /// The first key of each leaf, one after another, and the page numbers of the leaves.
    first_keys: Vec<u8>,
    pages: Vec<u64>,
    tree: Tree,
    value: Vec<u8>,
}

impl TreeWriter {
    /// Creates the file `path`, with keys of `key_len` bytes.
    pub(super) fn create(path: &Path, key_len: usize) -> Result<Self> {
        let mut file = BufWriter::with_capacity(BUFFER, create_read_only(path)?);
        file.write_all(&[0; PAGE_LEN * 2]).map_err(|e| WriterError::io("write", path, e))?;
        Ok(TreeWriter {
            file,
            path: path.to_owned(),
            key_len,
            next_page: META_PAGES,
            leaf: PageBuilder::new(),
            first_keys: Vec::new(),
            pages: Vec::new(),
            tree: Tree::default(),
            value: Vec::new(),
        })
    }

    /// Adds a key and its value, the next `len` bytes of `value`.
    pub(super) fn add(&mut self, key: &[u8], value: &mut dyn Read, len: u64) -> Result<()> {
        self.value.clear();
        let is_short = (NODE_HEADER_LEN + key.len()) as u64 + len <= LONGEST_NODE as u64;
        let flags = if is_short {
            let read = value.take(len).read_to_end(&mut self.value).map_err(|e| self.failed(e))?;
            self.expect(read as u64, len)?;
            0
        } else {
            let first = self.write_overflow(value, len)?;
            self.value.extend_from_slice(&first.to_le_bytes());
            ON_OVERFLOW_PAGES
        };
        // A longer value would have been refused before.
        let claimed = u32::try_from(len).unwrap_or(u32::MAX);
        if !self.leaf.has_room(key.len() + self.value.len()) {
            self.flush_leaf()?;
        }
        if self.leaf.is_empty() {
            self.first_keys.extend_from_slice(key);
        }
        self.leaf.push(claimed, flags, key, &self.value);
        self.tree.keys += 1;
        Ok(())
    }

    /// Writes a value onto overflow pages, and returns the number of the first.
    fn write_overflow(&mut self, value: &mut dyn Read, len: u64) -> Result<u64> {
        let (first, pages) = (self.next_page, overflow_pages(len));
        let mut header = [0; PAGE_HEADER_LEN];
        put(&mut header, 0, &first.to_le_bytes());
        put(&mut header, 10, &PageRole::Overflow.flag().to_le_bytes());
        put(&mut header, 12, &u32::try_from(pages).unwrap_or(u32::MAX).to_le_bytes());
        self.file.write_all(&header).map_err(|e| self.failed(e))?;
        let written = copy(&mut value.take(len), &mut self.file).map_err(|e| self.failed(e))?;
        self.expect(written, len)?;
        let padding = pages * PAGE_BYTES - len - PAGE_HEADER_LEN as u64;
        copy(&mut std::io::repeat(0).take(padding), &mut self.file).map_err(|e| self.failed(e))?;
        self.next_page += pages;
        self.tree.overflow_pages += pages;
        Ok(first)
    }

    fn flush_leaf(&mut self) -> Result<()> {
        let number = self.next_page;
        self.leaf.finish(number, PageRole::Leaf);
        self.file.write_all(&self.leaf.bytes).map_err(|e| self.failed(e))?;
        self.leaf = PageBuilder::new();
        self.pages.push(number);
        self.next_page += 1;
        self.tree.leaf_pages += 1;
        Ok(())
    }

    /// Writes the rest of the file, but does not sync it.
    pub(super) fn finish(mut self) -> Result<()> {
        if !self.leaf.is_empty() {
            self.flush_leaf()?;
        }
        if !self.pages.is_empty() {
            self.tree.levels = 1;
        }
        while self.pages.len() > 1 {
            self.write_level()?;
            self.tree.levels += 1;
        }
        self.tree.root = self.pages.first().copied();
        self.file.flush().map_err(|e| self.failed(e))?;
        for number in 0..META_PAGES {
            let meta = self.meta(number);
            self.file.get_ref().write_all_at(&meta, number * PAGE_BYTES).map_err(|e| self.failed(e))?;
        }
        Ok(())
    }

    /// Writes the branches above the pages of the present level, with about the same number of children each.
    fn write_level(&mut self) -> Result<()> {
        let node = NODE_HEADER_LEN + self.key_len + POINTER_LEN;
        let most = 1 + (PAGE_LEN - PAGE_HEADER_LEN - NODE_HEADER_LEN - POINTER_LEN) / node;
        let (keys, children) = (std::mem::take(&mut self.first_keys), std::mem::take(&mut self.pages));
        let branches = children.len().div_ceil(most);
        let (each, more) = (children.len() / branches, children.len() % branches);
        let mut below = children.iter().zip(keys.chunks(self.key_len));
        for branch in 0..branches {
            let mut page = PageBuilder::new();
            for (child, key) in below.by_ref().take(each + usize::from(branch < more)) {
                let (low, high) = (*child & u64::from(u32::MAX), *child >> 32);
                // A file with more than 2^48 pages cannot be written.
                let (low, high) = (u32::try_from(low).unwrap_or_default(), u16::try_from(high).unwrap_or_default());
                if page.is_empty() {
                    self.first_keys.extend_from_slice(key);
                    page.push(low, high, &[], &[]);
                } else {
                    page.push(low, high, key, &[]);
                }
            }
            page.finish(self.next_page, PageRole::Branch);
            self.file.write_all(&page.bytes).map_err(|e| self.failed(e))?;
            self.pages.push(self.next_page);
            self.next_page += 1;
            self.tree.branch_pages += 1;
        }
        Ok(())
    }

    /// The meta page `number`, which is also its transaction number. Programs use the page with the higher one, the
    /// second.
    fn meta(&self, number: u64) -> [u8; PAGE_LEN] {
        let mut page = [0; PAGE_LEN];
        put(&mut page, 0, &number.to_le_bytes());
        put(&mut page, 10, &PageRole::Meta.flag().to_le_bytes());
        put(&mut page, META_AT, &MAGIC.to_le_bytes());
        put(&mut page, META_AT + 4, &VERSION.to_le_bytes());
        put(&mut page, META_AT + 16, &(self.next_page * PAGE_BYTES).to_le_bytes());
        let [free_at, keys_at] = TREES_AT;
        put(&mut page, free_at, &PAGE_LEN_FIELD.to_le_bytes());
        put(&mut page, free_at + 4, &NUMBERED_KEYS.to_le_bytes());
        put(&mut page, free_at + 40, &NO_PAGE.to_le_bytes());
        let Tree { root, levels, branch_pages, leaf_pages, overflow_pages, keys } = self.tree;
        put(&mut page, keys_at + 6, &levels.to_le_bytes());
        let numbers = [branch_pages, leaf_pages, overflow_pages, keys, root.unwrap_or(NO_PAGE)];
        for (place, number) in numbers.into_iter().enumerate() {
            put(&mut page, keys_at + 8 + place * size_of::<u64>(), &number.to_le_bytes());
        }
        put(&mut page, LAST_PAGE_AT, &(self.next_page - 1).to_le_bytes());
        put(&mut page, TRANSACTION_AT, &number.to_le_bytes());
        page
    }

    fn failed(&self, error: std::io::Error) -> WriterError {
        WriterError::io("write", &self.path, error)
    }

    fn expect(&self, found: u64, expected: u64) -> Result<()> {
        if found == expected {
            return Ok(());
        }
        let message = format!("found {found} of {expected} bytes of a value");
        Err(self.failed(std::io::Error::new(std::io::ErrorKind::UnexpectedEof, message)))
    }
}

/// A branch or leaf under construction.
struct PageBuilder {
    bytes: [u8; PAGE_LEN],
    lower: usize,
    upper: usize,
}

impl PageBuilder {
    fn new() -> Self {
        PageBuilder { bytes: [0; PAGE_LEN], lower: PAGE_HEADER_LEN, upper: PAGE_LEN }
    }

    fn is_empty(&self) -> bool {
        self.lower == PAGE_HEADER_LEN
    }

    /// Whether a node whose key and value take `len` bytes fits.
    fn has_room(&self, len: usize) -> bool {
        self.lower + POINTER_LEN + node_len(len) <= self.upper
    }

    /// Adds a node, which has to fit.
    fn push(&mut self, low: u32, flags: u16, key: &[u8], value: &[u8]) {
        self.upper = self.upper.saturating_sub(node_len(key.len() + value.len()));
        let at = self.upper;
        put_number(&mut self.bytes, self.lower, at);
        self.lower += POINTER_LEN;
        put(&mut self.bytes, at, &low.to_le_bytes());
        put(&mut self.bytes, at + 4, &flags.to_le_bytes());
        put_number(&mut self.bytes, at + 6, key.len());
        put(&mut self.bytes, at + NODE_HEADER_LEN, key);
        put(&mut self.bytes, at + NODE_HEADER_LEN + key.len(), value);
    }

    fn finish(&mut self, number: u64, role: PageRole) {
        put(&mut self.bytes, 0, &number.to_le_bytes());
        put(&mut self.bytes, 10, &role.flag().to_le_bytes());
        put_number(&mut self.bytes, 12, self.lower);
        put_number(&mut self.bytes, 14, self.upper);
    }
}

/// The length of a node whose key and value take `len` bytes. Nodes start at even offsets.
fn node_len(len: usize) -> usize {
    (NODE_HEADER_LEN + len).next_multiple_of(POINTER_LEN)
}

/// Writes `value` at offset `at` of `bytes`, which are long enough.
fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(room) = bytes.get_mut(at..at + value.len()) {
        room.copy_from_slice(value);
    }
}

/// Writes a 16-bit number.
fn put_number(bytes: &mut [u8], at: usize, number: usize) {
    put(bytes, at, &u16::try_from(number).unwrap_or(u16::MAX).to_le_bytes());
}
