//! An open B-tree file, and searching it for an id.

use std::{
    cell::RefCell,
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use gix_hash::{Kind, oid};

use super::{
    layout::{
        BadPage, META_AT, META_PAGES, Meta, PAGE_BYTES, PAGE_LEN, Page, PageRole, TRANSACTION_AT, Target, Tree,
        check_overflow,
    },
    page_cache::PageCache,
};
use crate::{
    Place, ReaderError, Result,
    access::{Access, AccessLog, AccessPart, FileRole},
};

/// The place of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BtreePlace {
    /// Where it starts in the file.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
    /// Whether it is in a leaf rather than on overflow pages.
    pub is_in_page: bool,
}

/// An open B-tree file with a cache of its pages. It belongs to one thread.
pub struct BtreeFile {
    pub(super) file: File,
    path: PathBuf,
    len: u64,
    pub(super) meta: Meta,
    hash: Kind,
    pages: RefCell<PageCache>,
    /// The access log while accesses are recorded, and the file's number in it.
    pub(super) log: Option<(Arc<AccessLog>, u32)>,
}

impl std::fmt::Debug for BtreeFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BtreeFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl BtreeFile {
    /// Opens the file at `path`, whose keys are ids of the kind `hash`.
    ///
    /// # Errors
    /// It cannot be read, is no B-tree file, or does not have the length that it records.
    pub fn open(path: &Path, hash: Kind) -> Result<Self> {
        let file = File::open(path).map_err(|e| ReaderError::io("open", path, e))?;
        let len = file.metadata().map_err(|e| ReaderError::io("inspect", path, e))?.len();
        let meta = read_meta(&file, path, len)?;
        let pages = RefCell::new(PageCache::new());
        Ok(BtreeFile { file, path: path.to_owned(), len, meta, hash, pages, log: None })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length in bytes.
    pub fn file_len(&self) -> u64 {
        self.len
    }

    /// The tree as its meta pages describe it.
    pub fn tree(&self) -> Tree {
        self.meta.tree
    }

    /// Number of objects according to its meta pages.
    pub fn len(&self) -> u64 {
        self.meta.tree.keys
    }

    /// Whether it holds no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The object hash that ids use.
    pub fn hash_kind(&self) -> Kind {
        self.hash
    }

    /// Clears the cache of pages.
    pub(crate) fn clear_caches(&self) {
        self.pages.borrow_mut().clear();
    }

    /// Starts recording accesses in `log`, beginning with the meta pages; `None` ends the recording.
    pub(crate) fn set_log(&mut self, log: Option<&Arc<AccessLog>>) {
        self.log = log.map(|log| (Arc::clone(log), log.file(&self.path, FileRole::Btree, self.len)));
        self.log_access(AccessPart::Opening, 0, META_PAGES * PAGE_BYTES);
    }

    fn log_access(&self, part: AccessPart, offset: u64, len: u64) {
        if let Some((log, file)) = &self.log {
            log.access(Access { file: *file, part, kind: None, offset, len });
        }
    }

    /// The place of the value of `id`; `None` if there is no such key.
    ///
    /// # Errors
    /// A page on the way is damaged or cannot be read.
    pub fn find(&self, id: &oid) -> Result<Option<BtreePlace>> {
        let Tree { root: Some(mut number), levels, .. } = self.meta.tree else { return Ok(None) };
        for level in 1..=levels {
            let found = self.with_page(number, self.role(level), |page| {
                let Some((position, is_equal)) = page.search(id.as_bytes())? else { return Ok(None) };
                page.node(position).map(|node| Some((node.target, is_equal)))
            })?;
            match found {
                Some((Target::Child(child), _)) => number = child,
                Some((target, true)) => return self.place(number, target).map(Some),
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The role of the pages on `level`. The root is on level 1.
    pub(super) fn role(&self, level: u16) -> PageRole {
        if level == self.meta.tree.levels { PageRole::Leaf } else { PageRole::Branch }
    }

    /// Calls `look` with the page `number`.
    pub(super) fn with_page<T>(
        &self,
        number: u64,
        role: PageRole,
        look: impl FnOnce(&Page<'_>) -> std::result::Result<T, BadPage>,
    ) -> Result<T> {
        if !(META_PAGES..=self.meta.last_page).contains(&number) {
            let expected = format!("a page from {META_PAGES} to {}", self.meta.last_page);
            return Err(ReaderError::corrupt(&self.path, Place::Whole, expected, format!("page {number}")));
        }
        let mut pages = self.pages.borrow_mut();
        let (bytes, was_read) = pages.page(&self.file, number).map_err(|e| ReaderError::io("read", &self.path, e))?;
        if was_read && self.log.is_some() {
            self.log_access(AccessPart::LookUp, number * PAGE_BYTES, PAGE_BYTES);
        }
        let page = Page::parse(bytes, number, role, self.hash.len_in_bytes());
        page.and_then(|page| look(&page)).map_err(|bad| self.bad_page(number, bad))
    }

    /// Appends `len` bytes at `offset`, within one leaf, to `stored`.
    pub(super) fn copy_from_page(&self, offset: u64, len: usize, stored: &mut Vec<u8>) -> Result<()> {
        let mut pages = self.pages.borrow_mut();
        let failed = |e| ReaderError::io("read", &self.path, e);
        let (number, at) = (offset / PAGE_BYTES, usize::try_from(offset % PAGE_BYTES).unwrap_or(0));
        let (bytes, was_read) = pages.page(&self.file, number).map_err(failed)?;
        if was_read && self.log.is_some() {
            self.log_access(AccessPart::LookUp, number * PAGE_BYTES, PAGE_BYTES);
        }
        stored.extend_from_slice(bytes.get(at..).and_then(|rest| rest.get(..len)).unwrap_or_default());
        Ok(())
    }

    /// The place of the value that `target` of the leaf `number` refers to.
    pub(super) fn place(&self, number: u64, target: Target) -> Result<BtreePlace> {
        let start = number.saturating_mul(PAGE_BYTES);
        match target {
            Target::Here { at, len } => {
                Ok(BtreePlace { offset: start.saturating_add(at as u64), len: len as u64, is_in_page: true })
            }
            Target::Overflow { first, len } => self.overflow_place(number, first, len),
            Target::Child(child) => {
                Err(ReaderError::corrupt(&self.path, Place::Offset(start), "a value", format!("page {child}")))
            }
        }
    }

    /// The place of a value of `len` bytes on the overflow pages from `first` on, to which the leaf `leaf` refers.
    fn overflow_place(&self, leaf: u64, first: u64, len: u64) -> Result<BtreePlace> {
        let pages = super::layout::overflow_pages(len);
        let last = first.checked_add(pages - 1).filter(|last| *last <= self.meta.last_page && first >= META_PAGES);
        if last.is_none() {
            let expected = format!("a value within pages {META_PAGES} to {}", self.meta.last_page);
            let found = format!("{len} bytes from page {first} on");
            let place = Place::Offset(leaf.saturating_mul(PAGE_BYTES));
            return Err(ReaderError::corrupt(&self.path, place, expected, found));
        }
        let offset = first.saturating_mul(PAGE_BYTES).saturating_add(super::layout::PAGE_HEADER_LEN as u64);
        Ok(BtreePlace { offset, len, is_in_page: false })
    }

    /// Checks `bytes`, the start of the first overflow page of the value at `place`.
    pub(super) fn check_overflow_head(&self, place: &BtreePlace, bytes: &[u8]) -> Result<()> {
        let number = place.offset / PAGE_BYTES;
        check_overflow(bytes, number, place.len).map_err(|bad| self.bad_page(number, bad))
    }

    /// Fills `buffer` with the bytes from `offset` on.
    pub(super) fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.file.read_exact_at(buffer, offset).map_err(|e| ReaderError::io("read", &self.path, e))
    }

    pub(super) fn bad_page(&self, number: u64, bad: BadPage) -> ReaderError {
        bad_page(&self.path, number, bad)
    }
}

fn bad_page(path: &Path, number: u64, bad: BadPage) -> ReaderError {
    let offset = number.saturating_mul(PAGE_BYTES).saturating_add(bad.at as u64);
    ReaderError::corrupt(path, Place::Offset(offset), bad.expected, bad.found)
}

/// Reads both meta pages, which have to agree: there is only one transaction, so a difference is damage.
fn read_meta(file: &File, path: &Path, len: u64) -> Result<Meta> {
    if len < META_PAGES * PAGE_BYTES {
        let expected = format!("the two meta pages of a B-tree file, {} bytes", META_PAGES * PAGE_BYTES);
        return Err(ReaderError::corrupt(path, Place::Whole, expected, format!("{len} bytes")));
    }
    let read = |number: u64, bytes: &mut [u8]| {
        file.read_exact_at(bytes, number * PAGE_BYTES).map_err(|e| ReaderError::io("read", path, e))?;
        Meta::parse(bytes, number).map_err(|bad| bad_page(path, number, bad))
    };
    let (mut bytes, mut again) = ([0; PAGE_LEN], [0; PAGE_LEN]);
    let (first, _) = (read(0, &mut bytes)?, read(1, &mut again)?);
    // All fields except the number of the page and, at the end, that of the transaction.
    let mut fields = bytes.iter().zip(&again).enumerate().take(TRANSACTION_AT).skip(META_AT);
    if let Some((at, (expected, found))) = fields.find(|(_, (expected, found))| expected != found) {
        let expected = format!("{expected:#04x} as in the first meta page");
        let bad = BadPage { at, expected, found: format!("{found:#04x}") };
        return Err(bad_page(path, 1, bad));
    }
    let expected = first.last_page.saturating_add(1).saturating_mul(PAGE_BYTES);
    if len != expected {
        return Err(ReaderError::corrupt(path, Place::Whole, format!("{expected} bytes"), format!("{len}")));
    }
    Ok(first)
}
