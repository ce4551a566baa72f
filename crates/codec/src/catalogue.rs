//! What `repackbench codecs` lists.

use crate::algorithm::{Algorithm, Levels};
use crate::codec::Capabilities;
#[cfg(feature = "zlib-ng")]
use crate::codecs::zlib_ng;
use crate::codecs::{block, deflate, libdeflate, liblz4, lz4, lzma, rfc1950, store, stream, zlib, zopfli, zstd};

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
    let (implementation, version) = implementation(algorithm);
    let (language, licence) = origin(algorithm);
    CodecInfo {
        algorithm,
        name: algorithm.name(),
        levels: algorithm.levels(),
        implementation,
        version,
        language,
        licence,
        read_by_git: algorithm.is_zlib_family(),
        // Revlog chunks have raw, zlib and zstd headers of their own.
        read_by_hg: algorithm.is_zlib_family() || matches!(algorithm, Algorithm::Store | Algorithm::Zstd),
        capabilities: match algorithm {
            Algorithm::Store => store::CAPABILITIES,
            Algorithm::Zlib => zlib::CAPABILITIES,
            Algorithm::Deflate => deflate::CAPABILITIES,
            #[cfg(feature = "zlib-ng")]
            Algorithm::ZlibNg => rfc1950::CAPABILITIES,
            Algorithm::ZlibRs | Algorithm::Miniz | Algorithm::Sirocco => rfc1950::CAPABILITIES,
            Algorithm::Libdeflate => libdeflate::CAPABILITIES,
            Algorithm::Zopfli => zopfli::CAPABILITIES,
            Algorithm::Zstd => zstd::CAPABILITIES,
            Algorithm::Lz4 | Algorithm::Lz4hc => lz4::CAPABILITIES,
            Algorithm::Lz4Flex | Algorithm::Snappy | Algorithm::Lzo => block::CAPABILITIES,
            Algorithm::Brotli | Algorithm::Lzma | Algorithm::Xz | Algorithm::Bzip2 => stream::STREAMING,
        },
    }
}

/// Name and version of the library that serves a codec.
fn implementation(algorithm: Algorithm) -> (&'static str, String) {
    match algorithm {
        Algorithm::Store => ("repackbench", env!("CARGO_PKG_VERSION").to_owned()),
        Algorithm::Zlib | Algorithm::Deflate => ("stock zlib (C, linked statically)", zlib::version()),
        #[cfg(feature = "zlib-ng")]
        Algorithm::ZlibNg => ("zlib-ng (C)", zlib_ng::version()),
        Algorithm::ZlibRs => ("zlib-rs (Rust)", env!("REPACKBENCH_ZLIB_RS_VERSION").to_owned()),
        Algorithm::Miniz => ("miniz_oxide (Rust)", env!("REPACKBENCH_MINIZ_OXIDE_VERSION").to_owned()),
        Algorithm::Sirocco => ("sirocco (Rust)", env!("REPACKBENCH_SIROCCO_VERSION").to_owned()),
        // It decodes with stock zlib.
        Algorithm::Zopfli => ("zopfli (Rust)", env!("REPACKBENCH_ZOPFLI_VERSION").to_owned()),
        Algorithm::Libdeflate => ("libdeflate (C)", env!("REPACKBENCH_LIBDEFLATE_VERSION").to_owned()),
        Algorithm::Zstd => ("libzstd (C)", zstd_safe::version_string().to_owned()),
        Algorithm::Lz4 | Algorithm::Lz4hc => ("liblz4 (C)", liblz4::version()),
        Algorithm::Lz4Flex => ("lz4_flex (Rust)", env!("REPACKBENCH_LZ4_FLEX_VERSION").to_owned()),
        Algorithm::Snappy => ("snap (Rust)", env!("REPACKBENCH_SNAP_VERSION").to_owned()),
        Algorithm::Lzo => ("repackbench (Rust)", env!("CARGO_PKG_VERSION").to_owned()),
        Algorithm::Brotli => ("brotli (Rust)", env!("REPACKBENCH_BROTLI_VERSION").to_owned()),
        Algorithm::Lzma | Algorithm::Xz => ("liblzma (C)", lzma::version()),
        Algorithm::Bzip2 => ("libbz2-rs (Rust)", env!("REPACKBENCH_LIBBZ2_RS_VERSION").to_owned()),
    }
}

/// Language and licence of the library that serves a codec.
fn origin(algorithm: Algorithm) -> (&'static str, &'static str) {
    match algorithm {
        Algorithm::Store | Algorithm::Lzo => ("Rust", env!("CARGO_PKG_LICENSE")),
        Algorithm::Zlib | Algorithm::Deflate => ("C", "Zlib"),
        #[cfg(feature = "zlib-ng")]
        Algorithm::ZlibNg => ("C", "Zlib"),
        Algorithm::ZlibRs => ("Rust", "Zlib"),
        Algorithm::Miniz => ("Rust", "MIT OR Zlib OR Apache-2.0"),
        Algorithm::Sirocco => ("Rust", "MIT OR Apache-2.0"),
        Algorithm::Libdeflate => ("C", "MIT"),
        Algorithm::Zopfli => ("Rust", "Apache-2.0"),
        // Or, which we do not choose, GPL-2.0-only.
        Algorithm::Zstd => ("C", "BSD-3-Clause"),
        Algorithm::Lz4 | Algorithm::Lz4hc => ("C", "BSD-2-Clause"),
        Algorithm::Lz4Flex => ("Rust", "MIT"),
        Algorithm::Snappy => ("Rust", "BSD-3-Clause"),
        Algorithm::Brotli => ("Rust", "BSD-3-Clause AND MIT"),
        Algorithm::Lzma | Algorithm::Xz => ("C", "0BSD"),
        Algorithm::Bzip2 => ("Rust", "bzip2-1.0.6"),
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
