//! Whole files: the content of a file under a codec, in the codec's usual file format if it has one.
//!
//! | form | written by | file |
//! |---|---|---|
//! | flat | `store` | the content |
//! | gzip | the zlib family and `deflate` | one member of RFC 1952: see [`gzip`] |
//! | zstd | `zstd` | one standard frame (RFC 8878) |
//! | bzip2 | `bzip2` | one stream |
//! | xz | `xz` | one stream, with a CRC-32 of the content |
//! | chunk | every other codec | one chunk, which starts with a tag byte and its payload's length |

mod decoder;
mod encoder;
mod gzip;
mod trimmed;

pub use decoder::FileDecoder;
pub use encoder::FileEncoder;

use crate::algorithm::Algorithm;
use crate::spec::CodecChoice;

/// The format of a file under a codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileForm {
    /// The unchanged content.
    Flat,
    /// The format of `gzip`.
    Gzip,
    /// The format of `zstd`.
    Zstd,
    /// The format of `bzip2`.
    Bzip2,
    /// The format of `xz`.
    Xz,
    /// One of our chunks.
    Chunk,
}

impl FileForm {
    /// Every form.
    pub const ALL: [FileForm; 6] =
        [FileForm::Flat, FileForm::Gzip, FileForm::Zstd, FileForm::Bzip2, FileForm::Xz, FileForm::Chunk];

    /// The form of files with `choice`.
    pub fn of(choice: &CodecChoice) -> Self {
        match choice.algorithm() {
            Algorithm::Store => FileForm::Flat,
            Algorithm::Deflate => FileForm::Gzip,
            algorithm if algorithm.is_zlib_family() => FileForm::Gzip,
            Algorithm::Zstd => FileForm::Zstd,
            Algorithm::Bzip2 => FileForm::Bzip2,
            Algorithm::Xz => FileForm::Xz,
            _ => FileForm::Chunk,
        }
    }

    /// The name of the form.
    pub fn name(self) -> &'static str {
        match self {
            FileForm::Flat => "flat",
            FileForm::Gzip => "gzip",
            FileForm::Zstd => "zstd",
            FileForm::Bzip2 => "bzip2",
            FileForm::Xz => "xz",
            FileForm::Chunk => "chunk",
        }
    }

    /// The form of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        FileForm::ALL.into_iter().find(|form| form.name() == name)
    }

    /// The suffix of the file's name, which the programs that read it require.
    pub fn suffix(self) -> &'static str {
        match self {
            FileForm::Flat => "",
            FileForm::Gzip => ".gz",
            FileForm::Zstd => ".zst",
            FileForm::Bzip2 => ".bz2",
            FileForm::Xz => ".xz",
            FileForm::Chunk => ".chunk",
        }
    }
}

#[cfg(test)]
mod tests;
