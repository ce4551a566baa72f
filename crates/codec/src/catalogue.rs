//! The list of codecs that `repackbench codecs` prints.

use crate::algorithm::Algorithm;
use crate::codec::Capabilities;
use crate::codecs::descriptor::Levels;

/// One codec that the user can choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecInfo {
    /// The codec.
    pub algorithm: Algorithm,
    /// The name at the start of a codec spec.
    pub name: &'static str,
    /// The levels of the codec and its default level; `None` if it has no levels.
    pub levels: Option<Levels>,
    /// The library that implements the codec.
    pub implementation: &'static str,
    /// The version of the library: queried from the library if possible, otherwise that of its source.
    pub version: String,
    /// The language that the library is written in: `C` or `Rust`.
    pub language: &'static str,
    /// The licence under which the library is linked, as an SPDX expression.
    pub licence: &'static str,
    /// Stock git reads packs and loose objects that this codec wrote.
    pub read_by_git: bool,
    /// Stock hg reads revlogs that this codec wrote.
    pub read_by_hg: bool,
    /// What the codec can do without help from the container.
    pub capabilities: Capabilities,
}

impl CodecInfo {
    /// The name of the library: [`implementation`](CodecInfo::implementation) without the part in parentheses.
    pub fn library(&self) -> &'static str {
        self.implementation.split_once(" (").map_or(self.implementation, |(name, _)| name)
    }
}

/// Every codec, in the order in which the user sees them.
pub fn catalogue() -> Vec<CodecInfo> {
    Algorithm::ALL.into_iter().map(describe).collect()
}

fn describe(algorithm: Algorithm) -> CodecInfo {
    let descriptor = algorithm.descriptor();
    CodecInfo {
        algorithm,
        name: descriptor.name,
        levels: descriptor.levels.clone(),
        implementation: descriptor.implementation,
        version: (descriptor.version)(),
        language: descriptor.language,
        licence: descriptor.licence,
        read_by_git: algorithm.is_zlib_family(),
        // Revlog chunks have raw, zlib and zstd headers of their own.
        read_by_hg: descriptor.is_read_by_hg,
        capabilities: descriptor.capabilities,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::zlib;

    #[test]
    fn versions_are_dotted_numbers() {
        for codec in catalogue() {
            let parts: Vec<&str> = codec.version.split('.').collect();
            assert!(parts.len() >= 2, "{}: {}", codec.name, codec.version);
            assert!(parts.iter().take(2).all(|part| part.parse::<u32>().is_ok()), "{}: {}", codec.name, codec.version);
        }
    }

    /// A feature of some dependency could replace stock zlib with another implementation, whose version says so.
    #[test]
    fn stock_zlib_is_stock() {
        let version = zlib::version();
        assert!(version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'), "{version}");
    }

    #[test]
    fn capabilities_agree_with_the_codec() {
        for codec in catalogue() {
            let made = crate::CodecSpec::of(codec.algorithm).new_codec().unwrap();
            assert_eq!(made.capabilities(), codec.capabilities, "{}", codec.name);
        }
    }
}
