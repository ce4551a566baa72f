//! The tag of a chunk: the first byte of every chunk that is neither a zlib stream nor a standard zstd frame, and the
//! number of its dictionary if it needs one.
//!
//! | bits | meaning |
//! |---|---|
//! | 0-3 | body: see [`Body`]. 0 is invalid, 8 belongs to zlib, and the others are reserved |
//! | 4 | base prefix: the body needs the content of the delta's base |
//! | 5 | blocked: the payload is cut into chunks of [`BLOCK_LEN`](crate::BLOCK_LEN) payload bytes |
//! | 6 | dictionary: its number is the next byte |
//! | 7 | no payload checksum |
//!
//! The low nibble of a zlib header is 8 (RFC 1950, `CM`), so no tag byte looks like one.

use crate::error::CodecError;

/// The length of a tag byte.
pub(crate) const TAG_LEN: usize = 1;

const BODY_MASK: u8 = 0x0f;
const BASE_PREFIX: u8 = 0x10;
const BLOCKED: u8 = 0x20;
const DICTIONARY: u8 = 0x40;
const NO_CHECKSUM: u8 = 0x80;

/// The low nibble of the first byte of every RFC 1950 stream, and of a standard zstd frame.
const ZLIB_NIBBLE: u8 = 8;

/// Whether a chunk with this first byte has no tag: RFC 1950 streams and standard zstd frames have none.
#[inline]
pub(crate) fn is_untagged(first: u8) -> bool {
    first & BODY_MASK == ZLIB_NIBBLE
}

/// The body that follows a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Store,
    Zstd,
    Lz4,
    Snappy,
    Lzo,
    Brotli,
    Lzma,
    Xz,
    Bzip2,
    Deflate,
    /// A zstd body of the whole object instead of its delta.
    ZstdPatch,
}

/// How the chunk of a delta uses the content of the delta's base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BaseUse {
    /// The chunk does not use it.
    None,
    /// The payload is the delta, compressed with the base's content as prefix.
    Prefix,
    /// The payload is the whole object instead of the delta, compressed with the base's content as prefix.
    Patch,
}

impl Body {
    /// Every body of this format version in the order of their numbers.
    pub(crate) const ALL: [Body; 11] = [
        Body::Store,
        Body::Zstd,
        Body::Lz4,
        Body::Snappy,
        Body::Lzo,
        Body::Brotli,
        Body::Lzma,
        Body::Xz,
        Body::Bzip2,
        Body::Deflate,
        Body::ZstdPatch,
    ];

    /// All facts about the body: one line per body.
    fn facts(self) -> BodyFacts {
        let facts = |number, name| BodyFacts {
            number,
            name,
            layout: BodyLayout::Stream,
            takes_dictionary: false,
            revlog_requirement: None,
        };
        let with_dictionary = |facts| BodyFacts { takes_dictionary: true, ..facts };
        let laid_out = |layout, facts| BodyFacts { layout, ..facts };
        let in_revlogs = |facts, requirement| BodyFacts { revlog_requirement: Some(requirement), ..facts };
        match self {
            Body::Store => laid_out(BodyLayout::Store, facts(1, "store")),
            Body::Zstd => with_dictionary(laid_out(BodyLayout::Frame, facts(2, "zstd"))),
            Body::Lz4 => with_dictionary(laid_out(BodyLayout::Block, facts(3, "lz4"))),
            Body::Snappy => in_revlogs(laid_out(BodyLayout::Block, facts(4, "snappy")), "exp-compression-snappy"),
            Body::Lzo => in_revlogs(laid_out(BodyLayout::Block, facts(5, "lzo")), "exp-compression-lzo"),
            Body::Brotli => in_revlogs(facts(6, "brotli"), "exp-compression-brotli"),
            Body::Lzma => in_revlogs(facts(7, "lzma"), "exp-compression-lzma"),
            Body::Xz => in_revlogs(facts(9, "xz"), "exp-compression-xz"),
            Body::Bzip2 => in_revlogs(facts(10, "bzip2"), "exp-compression-bzip2"),
            Body::Deflate => in_revlogs(with_dictionary(facts(11, "deflate")), "exp-compression-deflate"),
            Body::ZstdPatch => laid_out(BodyLayout::Frame, facts(12, "zstd patch")),
        }
    }

    /// The number in the tag byte's low nibble.
    pub(crate) fn nibble(self) -> u8 {
        self.facts().number
    }

    fn from_nibble(nibble: u8) -> Option<Self> {
        Body::ALL.into_iter().find(|body| body.nibble() == nibble)
    }

    /// The name of the body's codec.
    pub(crate) fn name(self) -> &'static str {
        self.facts().name
    }

    /// Whether the codec of the body takes dictionaries.
    fn takes_dictionary(self) -> bool {
        self.facts().takes_dictionary
    }

    /// The requirement of a Mercurial repository with chunks of this body; `None` if revlogs have another container for
    /// it.
    pub(crate) fn revlog_requirement(self) -> Option<&'static str> {
        self.facts().revlog_requirement
    }

    /// Whether a payload above [`BLOCK_LEN`](crate::BLOCK_LEN) is cut into blocks.
    pub(crate) fn is_blocked_when_long(self) -> bool {
        self.layout() == BodyLayout::Block
    }

    /// The layout of the body.
    pub(crate) fn layout(self) -> BodyLayout {
        self.facts().layout
    }
}

/// The layout of a body that is not blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyLayout {
    /// The payload's length, then the payload.
    Store,
    /// The lengths of payload and block, then the block, which does not say where it ends.
    Block,
    /// The payload's length, then a stream, which says where it ends.
    Stream,
    /// A zstd frame, which states the payload's length and where it ends.
    Frame,
}

/// The facts about a body.
struct BodyFacts {
    number: u8,
    name: &'static str,
    takes_dictionary: bool,
    layout: BodyLayout,
    revlog_requirement: Option<&'static str>,
}

/// The bodies by number, for messages: `1 (store), 2 (zstd), ... or 11 (deflate)`.
fn known_bodies() -> String {
    let named: Vec<String> = Body::ALL.iter().map(|body| format!("{} ({})", body.nibble(), body.name())).collect();
    match named.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => named.concat(),
    }
}

/// A tag that is valid in this format version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) body: Body,
    pub(crate) checksum: bool,
    pub(crate) blocked: bool,
    pub(crate) needs_base: bool,
    pub(crate) dictionary: Option<u8>,
}

impl Tag {
    /// The tag of an unblocked body without base or dictionary.
    pub(crate) fn plain(body: Body, checksum: bool) -> Self {
        Tag { body, checksum, blocked: false, needs_base: false, dictionary: None }
    }

    /// The tag byte.
    pub(crate) fn to_byte(self) -> u8 {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        self.body.nibble()
            | flag(!self.checksum, NO_CHECKSUM)
            | flag(self.blocked, BLOCKED)
            | flag(self.needs_base, BASE_PREFIX)
            | flag(self.dictionary.is_some(), DICTIONARY)
    }

    /// Appends the tag byte and the dictionary's number, if there is one.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        out.push(self.to_byte());
        out.extend(self.dictionary);
    }

    /// The length of the tag byte and the dictionary's number.
    #[inline]
    pub(crate) fn len(self) -> usize {
        TAG_LEN + usize::from(self.dictionary.is_some())
    }

    /// The length of the tag whose first byte is `first`.
    pub(crate) fn len_of(first: u8) -> usize {
        TAG_LEN + usize::from(first & DICTIONARY != 0)
    }

    /// Whether a chunk with this tag can be a block of the blocked chunk with the tag `outer`: it is stored or has the
    /// same body, needs neither base nor dictionary, and has a checksum if the outer chunk has.
    pub(crate) fn is_block_of(self, outer: Tag) -> bool {
        let is_plain = !self.blocked && !self.needs_base && self.dictionary.is_none();
        is_plain && self.checksum == outer.checksum && (self.body == outer.body || self.body == Body::Store)
    }

    /// How the body uses the base's content.
    pub(crate) fn base_use(self) -> BaseUse {
        match (self.needs_base, self.body) {
            (false, _) => BaseUse::None,
            (true, Body::ZstdPatch) => BaseUse::Patch,
            (true, _) => BaseUse::Prefix,
        }
    }

    /// Reads the tag at the start of `stored`.
    ///
    /// # Errors
    /// When the body is unknown in this version, or does not allow the flags.
    pub(crate) fn parse(stored: &[u8]) -> Result<Self, CodecError> {
        let Some(&tag) = stored.first() else { return Err(CodecError::EmptyChunk) };
        let nibble = tag & BODY_MASK;
        let Some(body) = Body::from_nibble(nibble) else {
            let found = format!("body {nibble}");
            return Err(CodecError::Tag { tag, expected: format!("body {}", known_bodies()), found });
        };
        let refuse = |expected: &str, flag: &str| {
            let found = format!("{flag} with body {}", body.name());
            Err(CodecError::Tag { tag, expected: expected.to_owned(), found })
        };
        let (blocked, needs_base) = (tag & BLOCKED != 0, tag & BASE_PREFIX != 0);
        if blocked && !body.is_blocked_when_long() {
            return refuse("blocks only for a codec that cannot stream", "flag 0x20 (blocked)");
        }
        if needs_base && !matches!(body, Body::Zstd | Body::ZstdPatch) {
            return refuse("a base only for a zstd body", "flag 0x10 (base prefix)");
        }
        if body == Body::ZstdPatch && !needs_base {
            return refuse("a base for a zstd patch body", "a clear flag 0x10 (base prefix)");
        }
        let has_dictionary = tag & DICTIONARY != 0;
        if has_dictionary && (!body.takes_dictionary() || blocked || needs_base) {
            return refuse(
                "a dictionary only for an unblocked body that takes one and needs no base",
                "flag 0x40 (dictionary)",
            );
        }
        let dictionary = match (has_dictionary, stored.get(TAG_LEN)) {
            (false, _) => None,
            (true, Some(number)) => Some(*number),
            (true, None) => return Err(CodecError::Truncated { codec: "tag", available: TAG_LEN as u64 }),
        };
        Ok(Tag { body, checksum: tag & NO_CHECKSUM == 0, blocked, needs_base, dictionary })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_tag_bytes_round_trip() {
        let valid: Vec<u8> = (0..=u8::MAX).filter(|byte| Tag::parse(&[*byte, 7]).is_ok()).collect();
        let with_checksum: Vec<u8> = valid.iter().copied().filter(|byte| byte & NO_CHECKSUM == 0).collect();
        assert_eq!(with_checksum, [1, 2, 3, 4, 5, 6, 7, 9, 0x0a, 0x0b, 0x12, 0x1c, 0x23, 0x24, 0x25, 0x42, 0x43, 0x4b]);
        assert_eq!(valid.len(), 2 * with_checksum.len());
        for byte in valid {
            let mut written = Vec::new();
            Tag::parse(&[byte, 7]).unwrap().write(&mut written);
            assert_eq!(written, [byte, 7][..written.len()]);
        }
    }

    #[test]
    fn errors_say_what_was_found() {
        let message = |byte| Tag::parse(&[byte]).unwrap_err().to_string();
        let bodies = "body 1 (store), 2 (zstd), 3 (lz4), 4 (snappy), 5 (lzo), 6 (brotli), 7 (lzma), 9 (xz), 10 (bzip2), \
                      11 (deflate) or 12 (zstd patch)";
        assert_eq!(message(0x00), format!("tag byte 0x00: expected {bodies}, found body 0"));
        assert_eq!(message(0x42), "tag: expected more stored bytes, found the end after 1");
        assert_eq!(
            message(0x52),
            "tag byte 0x52: expected a dictionary only for an unblocked body that takes one and needs no base, \
             found flag 0x40 (dictionary) with body zstd"
        );
        assert_eq!(
            message(0x13),
            "tag byte 0x13: expected a base only for a zstd body, found flag 0x10 (base prefix) with body lz4"
        );
        assert_eq!(
            message(0x21),
            "tag byte 0x21: expected blocks only for a codec that cannot stream, found flag 0x20 (blocked) with body store"
        );
    }
}
