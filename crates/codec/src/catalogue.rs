//! What `repackbench codecs` lists.

use crate::algorithm::Algorithm;
use crate::codec::Capabilities;
use crate::codecs::descriptor::Levels;

/// One codec, as a user chooses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecInfo {
    /// The codec.
    pub algorithm: Algorithm,
    /// The name that a codec spec begins with.
    pub name: &'static str,
    /// The levels it takes and its default; `None` for codecs without levels.
    pub levels: Option<Levels>,
    /// The library at work.
    pub implementation: &'static str,
    /// The library's version: asked of the library where it can be, else taken from what it was built from.
    pub version: String,
    /// The language that the library is written in: `C` or `Rust`.
    pub language: &'static str,
    /// The licence under which the library is linked, as an SPDX expression.
    pub licence: &'static str,
    /// Stock git reads packs and loose objects under this codec.
    pub read_by_git: bool,
    /// Stock hg reads revlogs under this codec.
    pub read_by_hg: bool,
    /// What the codec can do by itself.
    pub capabilities: Capabilities,
}

impl CodecInfo {
    /// The name of the library at work, without what [`implementation`](CodecInfo::implementation) says of it.
    pub fn library(&self) -> &'static str {
        self.implementation.split_once(" (").map_or(self.implementation, |(name, _)| name)
    }
}

/// Every codec, in the order in which they are listed to the user.
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
    fn every_version_is_a_version() {
        for codec in catalogue() {
            let parts: Vec<&str> = codec.version.split('.').collect();
            assert!(parts.len() >= 2, "{}: {}", codec.name, codec.version);
            assert!(parts.iter().take(2).all(|part| part.parse::<u32>().is_ok()), "{}: {}", codec.name, codec.version);
        }
    }

    /// A stand-in for stock zlib, which a feature of some dependency could bring in, says so in its version.
    #[test]
    fn stock_zlib_is_stock() {
        let version = zlib::version();
        assert!(version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'), "{version}");
    }

    #[test]
    fn capabilities_are_those_of_the_codec_itself() {
        for codec in catalogue() {
            let made = crate::CodecSpec::of(codec.algorithm).new_codec().unwrap();
            assert_eq!(made.capabilities(), codec.capabilities, "{}", codec.name);
        }
    }
}
