//! Numbers of bytes in the notation of zstd: `500`, `112k`, `112KiB`, `16M`.

use std::str::FromStr;

use repackbench_codec::parse_size;

/// A number of bytes. All units are powers of 1024, also `KB` and the like, as in zstd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteSize(pub(crate) u64);

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let bad = || "expected a number of bytes, or one with K, M or G (112k, 112KiB, 16M)".to_owned();
        parse_size(typed).map(|bytes| ByteSize(bytes as u64)).ok_or_else(bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_sizes_as_zstd_does() {
        for (typed, bytes) in [
            ("0", 0),
            ("500", 500),
            ("112k", 112 << 10),
            ("112KiB", 112 << 10),
            ("64KB", 64 << 10),
            ("16M", 16 << 20),
            ("2GiB", 2 << 30),
        ] {
            assert_eq!(typed.parse(), Ok(ByteSize(bytes)), "{typed}");
        }
        for typed in ["", "k", "-1", "+1", "1.5k", "1 k", "12x", "99999999999999999999", "99999999999G"] {
            assert!(typed.parse::<ByteSize>().is_err(), "{typed}");
        }
    }
}
