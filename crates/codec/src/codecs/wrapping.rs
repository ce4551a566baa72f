//! DEFLATE blocks with and without the wrapping of RFC 1950.

/// How messages name an RFC 1950 stream.
pub(super) const STREAM: &str = "zlib stream";

/// How messages name a tagged body of raw DEFLATE.
pub(super) const DEFLATE_BODY: &str = "deflate body";

/// What is around the DEFLATE blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrapping {
    /// Header and Adler-32 (RFC 1950).
    Zlib,
    /// Nothing (RFC 1951).
    None,
}

impl Wrapping {
    /// How messages name the blocks with it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Wrapping::Zlib => STREAM,
            Wrapping::None => DEFLATE_BODY,
        }
    }
}
