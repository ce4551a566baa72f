//! The entries of a revlog's index.
//!
//! Source: `hg help internals.revlogs`, version 1. An entry takes 64 bytes. Numbers are big-endian.
//!
//! | field | at | width |
//! |---|---|---|
//! | offset of the chunk | 0 | 6 |
//! | flags | 6 | 2 |
//! | length of the chunk | 8 | 4 |
//! | length of the full text | 12 | 4 |
//! | base revision | 16 | 4 |
//! | linked changeset | 20 | 4 |
//! | parents | 24 | 4 each |
//! | node, of which SHA-1 takes 20 bytes | 32 | 32 |
//!
//! The offset of entry 0 is 0. Its first four bytes hold the header of the revlog instead.

use gix_hash::ObjectId;

/// Length of an entry in bytes.
pub const ENTRY_LEN: usize = 64;

/// The supported version.
const VERSION: u32 = 1;

/// Chunks are between the entries, in the index file.
const INLINE: u32 = 1 << 16;

/// Deltas name their base. Without this flag, each is based on the previous revision.
const GENERAL_DELTA: u32 = 1 << 17;

/// Metadata of file revisions is flagged.
const FILELOG_META: u32 = 1 << 18;

/// Deltas are described by flags.
const DELTA_INFO: u32 = 1 << 19;

const KNOWN: u32 = 0xffff | INLINE | GENERAL_DELTA | FILELOG_META | DELTA_INFO;

/// The content was removed. The full text is a tombstone and does not hash to the node.
const CENSORED: u16 = 1 << 15;

/// The full text is a pointer to content elsewhere (largefiles' successor, lfs).
const EXTERNALLY_STORED: u16 = 1 << 13;

/// In changelogs: which files were copied is stored.
const HAS_COPIES_INFO: u16 = 1 << 12;

/// In filelogs with `FILELOG_META`: the text begins with metadata.
const HAS_METADATA: u16 = 1 << 11;

/// Flags of the delta, not of the revision: they change with the choice of deltas.
const OF_DELTA: u16 = 0b1_1111 << 6;

/// All flags of revisions that hg reads in the repositories that this program reads. Another one, for revisions that
/// stand for several, exists only in narrow clones of servers that leave changesets out.
const KNOWN_OF_REVISION: u16 = CENSORED | EXTERNALLY_STORED | HAS_COPIES_INFO | HAS_METADATA | OF_DELTA;

/// The header of a revlog: its version and flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevlogHeader(u32);

/// Why a header is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BadHeader {
    Version(u32),
    Flags(u32),
}

impl RevlogHeader {
    /// Parses the header of a revlog.
    pub(super) fn new(number: u32) -> Result<Self, BadHeader> {
        if number & 0xffff != VERSION {
            return Err(BadHeader::Version(number & 0xffff));
        }
        if number & !KNOWN != 0 {
            return Err(BadHeader::Flags(number & !KNOWN));
        }
        Ok(RevlogHeader(number))
    }

    /// Whether chunks are between the entries.
    pub fn is_inline(self) -> bool {
        self.0 & INLINE != 0
    }

    /// Whether deltas name their base.
    pub fn has_general_delta(self) -> bool {
        self.0 & GENERAL_DELTA != 0
    }
}

/// One revision, as the index describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The start of its chunk among all chunks, in bytes.
    pub offset: u64,
    /// Its flags.
    pub flags: u16,
    /// Length of its chunk in bytes.
    pub stored_len: u32,
    /// Length of its full text in bytes.
    pub text_len: u32,
    /// The revision itself if its chunk is a full text. Otherwise see
    /// [`Revlog::delta_base`](super::Revlog::delta_base).
    pub base: i32,
    /// The changeset that introduced it.
    pub link: i32,
    /// Its parents; -1 stands for none.
    pub parents: [i32; 2],
    /// Its node.
    pub node: ObjectId,
}

impl Entry {
    /// Parses an entry. The first four bytes of revision 0 belong to the header.
    pub(super) fn parse(bytes: &[u8; ENTRY_LEN], is_first: bool) -> Self {
        let number = |at: usize| {
            let bytes = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            u32::from_be_bytes(bytes.unwrap_or_default())
        };
        let signed = |at: usize| number(at).cast_signed();
        let high = if is_first { 0 } else { number(0) };
        let node = bytes.get(32..52).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
        let [.., flags_high, flags_low] = number(4).to_be_bytes();
        Entry {
            offset: u64::from(high) << 16 | u64::from(number(4) >> 16),
            flags: u16::from_be_bytes([flags_high, flags_low]),
            stored_len: number(8),
            text_len: number(12),
            base: signed(16),
            link: signed(20),
            parents: [signed(24), signed(28)],
            node: ObjectId::Sha1(node),
        }
    }

    /// The end of its chunk among all chunks, in bytes.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.stored_len)
    }

    /// Its flags with which hg does not read it.
    pub(super) fn unknown_flags(&self) -> u16 {
        self.flags & !KNOWN_OF_REVISION
    }

    /// Its flags without those that describe its delta.
    pub fn flags_of_revision(&self) -> u16 {
        self.flags & !OF_DELTA
    }

    /// Whether its full text hashes to its node. The text of a censored or externally stored revision does not.
    pub fn is_hashed(&self) -> bool {
        self.flags & (CENSORED | EXTERNALLY_STORED) == 0
    }

    /// Whether its content was removed.
    pub fn is_censored(&self) -> bool {
        self.flags & CENSORED != 0
    }

    /// Whether its full text is a pointer to content stored elsewhere.
    pub fn is_stored_externally(&self) -> bool {
        self.flags & EXTERNALLY_STORED != 0
    }
}
