//! The wrapper around DEFLATE blocks, and the names of both forms.

/// The name of an RFC 1950 stream in messages.
pub(super) const STREAM: &str = "zlib stream";

/// The name of a tagged body of raw DEFLATE in messages.
pub(super) const DEFLATE_BODY: &str = "deflate body";

/// The wrapper around DEFLATE blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrapping {
    /// Header and Adler-32 (RFC 1950).
    Zlib,
    /// No wrapper (RFC 1951).
    None,
}

impl Wrapping {
    /// The name in messages of blocks in this wrapper.
    pub(super) fn name(self) -> &'static str {
        match self {
            Wrapping::Zlib => STREAM,
            Wrapping::None => DEFLATE_BODY,
        }
    }
}
