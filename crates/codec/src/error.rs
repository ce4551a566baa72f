//! The errors of encoding and decoding, as "expected this, found that".
//!
//! A message names the codec and the numbers but never a file, because this crate knows no repository. Callers
//! add the path and the offset.

use std::fmt;
use std::io;

/// The number of payload bytes in a body that has more or fewer than the caller expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundLength {
    /// Exactly this many bytes.
    Exactly(u64),
    /// More than the expected number; decoding stopped there.
    More,
}

impl fmt::Display for FoundLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FoundLength::Exactly(bytes) => write!(f, "{bytes}"),
            FoundLength::More => f.write_str("more"),
        }
    }
}

/// Why a chunk could not be encoded or decoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The chunk has no bytes.
    #[error("chunk: expected a tag byte or a zlib header, found no bytes")]
    EmptyChunk,

    /// The first byte is neither a tag byte of this format version nor the start of a zlib stream.
    #[error("tag byte {tag:#04x}: expected {expected}, found {found}")]
    Tag {
        /// The byte.
        tag: u8,
        /// What the format allows.
        expected: String,
        /// What the byte means.
        found: String,
    },

    /// The body ends before the payload does.
    #[error("{codec}: expected more stored bytes, found the end after {available}")]
    Truncated {
        /// Name of the body, such as `zlib stream`.
        codec: &'static str,
        /// The number of stored bytes.
        available: u64,
    },

    /// The payload is shorter or longer than the caller expected.
    #[error("{codec}: expected {expected} payload bytes, found {found}")]
    PayloadLength {
        /// Name of the body.
        codec: &'static str,
        /// The number of payload bytes that the caller expected.
        expected: u64,
        /// The number of payload bytes that the body holds or claims.
        found: FoundLength,
    },

    /// The payload is longer than the caller allows.
    #[error("{codec}: expected at most {limit} payload bytes, found {found}")]
    PayloadLimit {
        /// Name of the chunk.
        codec: &'static str,
        /// The maximum number of payload bytes that the caller allows.
        limit: u64,
        /// The number of payload bytes that the chunk holds or claims.
        found: FoundLength,
    },

    /// Bytes follow the end of a chunk.
    #[error("{codec}: expected the end after {expected} stored bytes, found {found}")]
    TrailingBytes {
        /// Name of the chunk.
        codec: &'static str,
        /// The length of the chunk in bytes.
        expected: u64,
        /// The number of stored bytes.
        found: u64,
    },

    /// The first byte of a revlog chunk is unknown.
    #[error("revlog chunk: expected 00, u, x, (, 4 or a tag byte as its first byte, found {header:#04x}")]
    RevlogHeader {
        /// The byte.
        header: u8,
    },

    /// The body was compressed with the content of the delta's base, which the caller did not give.
    #[error("{codec}: expected the content of the delta's base, found none")]
    BaseNeeded {
        /// Name of the body.
        codec: &'static str,
    },

    /// The body cannot have been compressed with this base's content.
    #[error("{codec}: expected a base that does not start like a dictionary, found one that does")]
    BadBase {
        /// Name of the body.
        codec: &'static str,
    },

    /// The chunk names a dictionary that the repository does not have.
    #[error("expected a dictionary of the repository, found {found}")]
    NoSuchDictionary {
        /// How the chunk names it.
        found: String,
    },

    /// The payload does not match the stored checksum.
    #[error("{codec}: payload checksum: expected {expected:08x}, found {found:08x}")]
    Checksum {
        /// Name of the body.
        codec: &'static str,
        /// The stored checksum.
        expected: u32,
        /// The checksum of the decoded payload.
        found: u32,
    },

    /// A length is not the shortest LEB128 encoding of a 64-bit number.
    #[error("{codec}: expected a length in LEB128, found {found}")]
    Length {
        /// Name of the body.
        codec: &'static str,
        /// What is wrong with it.
        found: &'static str,
    },

    /// The body breaks the rules of its codec in another way.
    #[error("{codec}: expected {expected}, found {found}")]
    Corrupt {
        /// Name of the body.
        codec: &'static str,
        /// What the codec's format requires.
        expected: &'static str,
        /// What was there, in the words of the implementation if it has any.
        found: String,
    },

    /// The body was made with a dictionary, and this decoder has none.
    #[error("{codec}: expected a body without dictionary, found one that needs dictionary {id:#010x}")]
    DictionaryNeeded {
        /// Name of the body.
        codec: &'static str,
        /// The dictionary's identifier in the body.
        id: u32,
    },

    /// The body was made with another dictionary than the one that this decoder has.
    #[error("{codec}: expected a body for the given dictionary, found one that needs dictionary {id:#010x}")]
    OtherDictionaryNeeded {
        /// Name of the body.
        codec: &'static str,
        /// The dictionary's identifier in the body.
        id: u32,
    },

    /// The codec takes no dictionaries.
    #[error("{codec} takes no dictionaries")]
    NoDictionaries {
        /// Name of the codec.
        codec: &'static str,
    },

    /// The bytes cannot be a dictionary of this codec.
    #[error("{codec}: expected a usable dictionary, found {length} bytes that the codec refuses")]
    BadDictionary {
        /// Name of the codec.
        codec: &'static str,
        /// Length of the refused dictionary in bytes.
        length: usize,
    },

    /// A streamed payload does not have the announced length.
    #[error("payload source: expected {expected} bytes, found {found}")]
    SourceLength {
        /// The announced number of bytes.
        expected: u64,
        /// The number of bytes that the source yielded.
        found: FoundLength,
    },

    /// There is no memory for the payload.
    #[error("{codec}: no memory for a payload of {wanted} bytes or more")]
    NoMemory {
        /// Name of the chunk.
        codec: &'static str,
        /// The room that could not be allocated, in bytes.
        wanted: u64,
    },

    /// The implementation failed for a reason other than the data, such as lack of memory.
    #[error("{codec}: {message}")]
    Implementation {
        /// Name of the codec.
        codec: &'static str,
        /// The message of the implementation.
        message: String,
    },

    /// A payload or stored bytes could not be read from their source or written to their sink.
    #[error("{action}: {source}")]
    Io {
        /// The action that failed, such as `reading the payload`.
        action: &'static str,
        /// The error of the reader or writer.
        source: io::Error,
    },
}

/// Reserves memory at the end of `out` for a new chunk of up to `most` bytes.
///
/// # Errors
/// When there is not enough memory, which must not end the process.
pub(crate) fn reserve_chunk(out: &mut Vec<u8>, most: usize) -> Result<(), CodecError> {
    let no_memory =
        |_| CodecError::Implementation { codec: "new chunk", message: format!("no memory for {most} bytes") };
    out.try_reserve(most).map_err(no_memory)
}

/// Compares the payload length that a body claims or holds with the one that the caller expects.
///
/// # Errors
/// When they differ.
#[inline]
pub(crate) fn expect_payload_len(codec: &'static str, expected: u64, found: u64) -> Result<(), CodecError> {
    if found == expected {
        return Ok(());
    }
    Err(CodecError::PayloadLength { codec, expected, found: FoundLength::Exactly(found) })
}

/// Checks that a payload of `length` bytes is within the caller's limit, and returns `length` as a length in memory.
///
/// # Errors
/// When it is longer.
#[inline]
pub(crate) fn check_limit(codec: &'static str, length: u64, limit: usize) -> Result<usize, CodecError> {
    let too_long = || CodecError::PayloadLimit { codec, limit: limit as u64, found: FoundLength::Exactly(length) };
    usize::try_from(length).ok().filter(|length| *length <= limit).ok_or_else(too_long)
}

/// Checks that a chunk took all of the `available` stored bytes that were given for it.
///
/// # Errors
/// When bytes are left.
#[inline]
pub(crate) fn expect_all_taken(codec: &'static str, taken: u64, available: u64) -> Result<(), CodecError> {
    if taken == available {
        return Ok(());
    }
    Err(CodecError::TrailingBytes { codec, expected: taken, found: available })
}

impl CodecError {
    /// Wraps an error of the reader that payloads come from.
    pub(crate) fn reading_payload(source: io::Error) -> Self {
        CodecError::Io { action: "reading the payload", source }
    }

    /// Wraps an error of the reader that stored bytes come from.
    pub(crate) fn reading_stored(source: io::Error) -> Self {
        CodecError::Io { action: "reading the stored bytes", source }
    }

    /// Wraps an error of the writer that stored bytes go to.
    pub(crate) fn writing_stored(source: io::Error) -> Self {
        CodecError::Io { action: "writing the stored bytes", source }
    }

    /// Wraps an error of the sink that decoded payloads go to.
    pub(crate) fn delivering_payload(source: io::Error) -> Self {
        CodecError::Io { action: "delivering the payload", source }
    }
}
