//! Numbers of bytes as zstd takes them: `500`, `112k`, `112KiB`, `16M`.

use std::str::FromStr;

/// A number of bytes. With a unit it is a multiple of 1024, also with `KB` and the like, as in zstd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteSize(pub(crate) u64);

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let bad = || "expected a number of bytes, or of K, M or G (112k, 112KiB, 16M)".to_owned();
        let digits = typed.len() - typed.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        let (number, unit) = typed.split_at(digits);
        let shift = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            _ => return Err(bad()),
        };
        let number: u64 = number.parse().map_err(|_| bad())?;
        number.checked_mul(1 << shift).map(ByteSize).ok_or_else(bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_spelled_as_for_zstd() {
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
