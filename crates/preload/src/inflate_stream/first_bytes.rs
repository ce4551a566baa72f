//! What a stream's first bytes say about whose it is.

/// The tag bytes of format version 1, without the flag that says that there is no checksum.
const TAGS: [u8; 18] =
    [0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x09, 0x0a, 0x0b, 0x12, 0x1c, 0x23, 0x24, 0x25, 0x42, 0x43, 0x4b];

/// The flag that says so.
const NO_CHECKSUM: u8 = 0x80;

/// What standard zstd frames begin with.
pub(crate) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// For each byte whether it is a tag byte: this is asked of every stream.
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

/// Whether nothing but a zlib stream can begin so.
pub(crate) fn is_plainly_zlib(first: u8) -> bool {
    first != ZSTD_MAGIC[0] && !IS_TAG[usize::from(first)]
}

/// The flag of tag bytes that says that a chunk needs a dictionary.
const DICTIONARY: u8 = 0x40;

/// Whether a chunk of ours that begins so needs a dictionary.
pub(crate) fn needs_dictionary(first: u8) -> bool {
    IS_TAG[usize::from(first)] && first & DICTIONARY != 0
}

/// What a stream's first bytes say about it.
pub(crate) enum Opening {
    Zlib,
    Ours,
    /// The only byte may begin either.
    Open,
}

impl Opening {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        match bytes {
            [first, ..] if IS_TAG[usize::from(*first)] => Opening::Ours,
            [first] if *first == ZSTD_MAGIC[0] => Opening::Open,
            // Two bytes of the magic number already are no zlib stream: they would be a multiple of 31.
            [_, _, ..] if ZSTD_MAGIC.starts_with(&bytes[..bytes.len().min(ZSTD_MAGIC.len())]) => Opening::Ours,
            _ => Opening::Zlib,
        }
    }
}
