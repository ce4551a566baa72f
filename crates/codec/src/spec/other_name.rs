//! Names and spellings of other programs for codecs: gzip for zlib, `zstd-5` for `zstd:5`.

use crate::algorithm::Algorithm;

/// Names that other programs have for a codec, and its name here.
const OTHER_NAMES: [(&str, &str); 14] = [
    ("br", "brotli"),
    ("bz2", "bzip2"),
    ("bzip", "bzip2"),
    ("flate", "deflate"),
    ("gz", "zlib"),
    ("gzip", "zlib"),
    ("lz4-hc", "lz4hc"),
    ("lzma2", "xz"),
    ("none", "store"),
    ("null", "store"),
    ("raw", "store"),
    ("uncompressed", "store"),
    ("zst", "zstd"),
    ("zstandard", "zstd"),
];

/// What other programs write between a codec and its level.
const SEPARATORS: [char; 5] = ['-', '_', '=', '/', ' '];

/// The spec that somebody means who types `name`, which is no codec here, and `level` after a colon. The name may hold
/// the level: `zstd-5`, `gzip9`.
pub(super) fn meant(name: &str, level: Option<&str>) -> Option<String> {
    let name = name.to_lowercase();
    if let Some(algorithm) = codec(&name) {
        return Some(spec(algorithm, level));
    }
    let codec_and_sign = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let digits = name.strip_prefix(codec_and_sign).filter(|digits| !digits.is_empty())?;
    let named = codec_and_sign.strip_suffix(SEPARATORS).unwrap_or(codec_and_sign);
    // The second of two signs is that of the level.
    let (named, level) = match named.strip_suffix('-') {
        Some(named) => (named, format!("-{digits}")),
        None => (named, digits.to_owned()),
    };
    codec(named).map(|algorithm| spec(algorithm, Some(&level)))
}

/// The codec that has this name here or elsewhere.
fn codec(name: &str) -> Option<Algorithm> {
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|(_, name)| *name);
    Algorithm::from_name(other.unwrap_or(name))
}

/// `algorithm` at `level`, if it has that level.
fn spec(algorithm: Algorithm, level: Option<&str>) -> String {
    let number = level.and_then(|level| level.parse().ok());
    let valid = number.filter(|number| algorithm.levels().is_some_and(|levels| levels.contains(*number)));
    valid.map_or_else(|| algorithm.name().to_owned(), |level: i32| format!("{}:{level}", algorithm.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_spellings_mean_a_spec() {
        for (typed, level, expected) in [
            ("gzip", None, Some("zlib")),
            ("gzip", Some("9"), Some("zlib:9")),
            ("gzip-9", None, Some("zlib:9")),
            ("zstd-5", None, Some("zstd:5")),
            ("zstd5", None, Some("zstd:5")),
            ("ZSTD=19", None, Some("zstd:19")),
            ("zstd--5", None, Some("zstd:-5")),
            ("zstd-99", None, Some("zstd")),
            ("lz4-9", None, Some("lz4:9")),
            ("bz2", None, Some("bzip2")),
            ("none", Some("3"), Some("store")),
            ("zsdt", None, None),
            ("5", None, None),
            ("-", None, None),
            ("", None, None),
        ] {
            assert_eq!(meant(typed, level).as_deref(), expected, "{typed:?} {level:?}");
        }
    }

    #[test]
    fn other_names_are_of_codecs() {
        for (other, name) in OTHER_NAMES {
            assert!(Algorithm::from_name(name).is_some() && Algorithm::from_name(other).is_none(), "{other}");
        }
    }
}
