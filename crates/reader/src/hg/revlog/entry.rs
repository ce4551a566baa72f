//! The entries of a revlog's index.
//!
//! Source: `hg help internals.revlogs`, version 1. An entry is 64 bytes, numbers big-endian: offset of the chunk (48 bits) and
//! flags (16), length of the chunk, length of the full text, base, linked changeset, parents, node (32 bytes, of which
//! SHA-1 takes 20). The first four bytes of entry 0, whose offset is 0, hold the header instead.

use gix_hash::ObjectId;

/// Length of an entry in bytes.
pub const ENTRY_LEN: usize = 64;

/// The version that is read here.
const VERSION: u32 = 1;

/// Chunks lie between the entries, in the index file.
const INLINE: u32 = 1 << 16;

/// Deltas name their base; without it, each is based on the revision before it.
const GENERAL_DELTA: u32 = 1 << 17;

/// Metadata of file revisions is flagged.
const FILELOG_META: u32 = 1 << 18;

/// Deltas are described by flags.
const DELTA_INFO: u32 = 1 << 19;

const KNOWN: u32 = 0xffff | INLINE | GENERAL_DELTA | FILELOG_META | DELTA_INFO;

/// The content was removed; the full text is a tombstone and does not hash to the node.
const CENSORED: u16 = 1 << 15;

/// A revision that stands for several (a narrow clone's).
const ELLIPSIS: u16 = 1 << 14;

/// The full text is a pointer to content elsewhere (largefiles' successor, lfs).
const EXTERNALLY_STORED: u16 = 1 << 13;

/// Flags that describe the delta and not the revision: they change with the choice of deltas.
const OF_DELTA: u16 = 0b1_1111 << 6;

/// What the first bytes of a revlog say of the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevlogHeader(u32);

/// Why a header is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BadHeader {
    Version(u32),
    Flags(u32),
}

impl RevlogHeader {
    /// The header of a revlog whose index starts with `entry`.
    pub(super) fn new(number: u32) -> Result<Self, BadHeader> {
        if number & 0xffff != VERSION {
            return Err(BadHeader::Version(number & 0xffff));
        }
        if number & !KNOWN != 0 {
            return Err(BadHeader::Flags(number & !KNOWN));
        }
        Ok(RevlogHeader(number))
    }

    /// Whether chunks lie between the entries.
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
    /// Where its chunk starts among all chunks, in bytes.
    pub offset: u64,
    /// What is special about it.
    pub flags: u16,
    /// Length of its chunk in bytes.
    pub stored_len: u32,
    /// Length of its full text in bytes.
    pub text_len: u32,
    /// The revision itself if its chunk is a full text; otherwise see [`Revlog::delta_base`](super::Revlog::delta_base).
    pub base: i32,
    /// The changeset that introduced it.
    pub link: i32,
    /// Its parents; -1 for none.
    pub parents: [i32; 2],
    /// Its node.
    pub node: ObjectId,
}

impl Entry {
    /// Parses an entry. Of revision 0 the first four bytes are not its own.
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

    /// Where its chunk ends among all chunks, in bytes.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.stored_len)
    }

    /// Its flags, but for those that describe its delta.
    pub fn flags_of_revision(&self) -> u16 {
        self.flags & !OF_DELTA
    }

    /// Whether its full text hashes to its node. That of a censored, elliptical or externally stored revision does not.
    pub fn is_hashed(&self) -> bool {
        self.flags & (CENSORED | ELLIPSIS | EXTERNALLY_STORED) == 0
    }

    /// Whether its content was removed.
    pub fn is_censored(&self) -> bool {
        self.flags & CENSORED != 0
    }

    /// Whether its full text is a pointer to content that lies elsewhere.
    pub fn is_stored_externally(&self) -> bool {
        self.flags & EXTERNALLY_STORED != 0
    }
}
