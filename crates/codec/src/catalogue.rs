//! What `repackbench codecs` lists.

use crate::algorithm::{Algorithm, Levels};
use crate::codec::Capabilities;
use crate::codecs::{block, libdeflate, liblz4, lz4, store, zlib, zstd};

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
    /// Stock git reads packs and loose objects under this codec.
    pub read_by_git: bool,
    /// Stock hg reads revlogs under this codec.
    pub read_by_hg: bool,
    /// What the codec can do by itself.
    pub capabilities: Capabilities,
}

/// Every codec, in the order in which they are listed to the user.
pub fn catalogue() -> Vec<CodecInfo> {
    Algorithm::ALL.into_iter().map(describe).collect()
}

fn describe(algorithm: Algorithm) -> CodecInfo {
    let (implementation, version) = implementation(algorithm);
    CodecInfo {
        algorithm,
        name: algorithm.name(),
        levels: algorithm.levels(),
        implementation,
        version,
        read_by_git: algorithm.is_zlib_family(),
        // Revlog chunks have raw, zlib and zstd headers of their own.
        read_by_hg: algorithm.is_zlib_family() || matches!(algorithm, Algorithm::Store | Algorithm::Zstd),
        capabilities: match algorithm {
            Algorithm::Store => store::CAPABILITIES,
            Algorithm::Zlib | Algorithm::ZlibRs => zlib::CAPABILITIES,
            Algorithm::Libdeflate => libdeflate::CAPABILITIES,
            Algorithm::Zstd => zstd::CAPABILITIES,
            Algorithm::Lz4 | Algorithm::Lz4hc => lz4::CAPABILITIES,
            Algorithm::Lz4Flex | Algorithm::Snappy | Algorithm::Lzo => block::CAPABILITIES,
        },
    }
}

/// Name and version of the library that serves a codec.
fn implementation(algorithm: Algorithm) -> (&'static str, String) {
    match algorithm {
        Algorithm::Store => ("repackbench", env!("CARGO_PKG_VERSION").to_owned()),
        Algorithm::Zlib => ("stock zlib (C, linked statically)", zlib::version()),
        Algorithm::ZlibRs => ("zlib-rs (Rust)", env!("REPACKBENCH_ZLIB_RS_VERSION").to_owned()),
        Algorithm::Libdeflate => ("libdeflate (C)", env!("REPACKBENCH_LIBDEFLATE_VERSION").to_owned()),
        Algorithm::Zstd => ("libzstd (C)", zstd_safe::version_string().to_owned()),
        Algorithm::Lz4 | Algorithm::Lz4hc => ("liblz4 (C)", liblz4::version()),
        Algorithm::Lz4Flex => ("lz4_flex (Rust)", env!("REPACKBENCH_LZ4_FLEX_VERSION").to_owned()),
        Algorithm::Snappy => ("snap (Rust)", env!("REPACKBENCH_SNAP_VERSION").to_owned()),
        Algorithm::Lzo => ("repackbench (Rust)", env!("CARGO_PKG_VERSION").to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_a_version() {
        for codec in catalogue() {
            let parts: Vec<&str> = codec.version.split('.').collect();
            assert!(parts.len() >= 2, "{}: {}", codec.name, codec.version);
            assert!(parts.iter().take(2).all(|part| part.parse::<u32>().is_ok()), "{}: {}", codec.name, codec.version);
        }
    }

    #[test]
    fn capabilities_are_those_of_the_codec_itself() {
        for codec in catalogue() {
            let made = crate::CodecSpec::of(codec.algorithm).new_codec().unwrap();
            assert_eq!(made.capabilities(), codec.capabilities, "{}", codec.name);
        }
    }
}
