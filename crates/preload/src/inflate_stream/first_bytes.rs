//! Recognizes the format of a stream by its first bytes.

/// The tag bytes of format version 1, without the flag for a missing checksum.
const TAGS: [u8; 18] =
    [0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x09, 0x0a, 0x0b, 0x12, 0x1c, 0x23, 0x24, 0x25, 0x42, 0x43, 0x4b];

/// The flag in a tag byte that says that the chunk has no checksum.
const NO_CHECKSUM: u8 = 0x80;

/// The magic number of standard zstd frames.
pub(crate) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Whether each byte value is a tag byte. A table, because this is checked for every stream.
static IS_TAG: [bool; 256] = {
    let mut table = [false; 256];
    let mut number = 0;
    while number < TAGS.len() {
        table[TAGS[number] as usize] = true;
        table[(TAGS[number] | NO_CHECKSUM) as usize] = true;
        number += 1;
    }
    table
};

/// Whether only a zlib stream can begin with this byte.
pub(crate) fn is_plainly_zlib(first: u8) -> bool {
    first != ZSTD_MAGIC[0] && !IS_TAG[usize::from(first)]
}

/// The flag in a tag byte that says that the chunk needs a dictionary.
const DICTIONARY: u8 = 0x40;

/// Whether a chunk of ours that begins with this byte needs a dictionary.
pub(crate) fn needs_dictionary(first: u8) -> bool {
    IS_TAG[usize::from(first)] && first & DICTIONARY != 0
}

/// What the first bytes of a stream mean.
pub(crate) enum Opening {
    Zlib,
    Ours,
    /// Not decided: there is only one byte, which may begin either.
    Open,
}

impl Opening {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        match bytes {
            [first, ..] if IS_TAG[usize::from(*first)] => Opening::Ours,
            [first] if *first == ZSTD_MAGIC[0] => Opening::Open,
            // The first two bytes of a zlib stream are a multiple of 31; those of the magic number are not.
            [_, _, ..] if ZSTD_MAGIC.starts_with(&bytes[..bytes.len().min(ZSTD_MAGIC.len())]) => Opening::Ours,
            _ => Opening::Zlib,
        }
    }
}
