//! A part of a spec: a codec with its level and options.

use super::CodecSpec;
use crate::algorithm::Algorithm;
use crate::codec::Codec;
use crate::codecs::zstd::Zstd;
use crate::error::CodecError;

/// The level of git's loose objects by default (`Z_BEST_SPEED`).
const GIT_LOOSE_LEVEL: i32 = 1;

/// The level of the baseline, which is that of git's packs by default.
const GIT_PACK_LEVEL: i32 = 6;

/// Where a dictionary comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DictionarySource {
    /// A dictionary is trained for each kind of payload.
    Trained {
        /// The maximum length of the dictionary, in bytes.
        max_len: usize,
    },
    /// The user supplies the dictionary in a file.
    File {
        /// The first hexadecimal digits of its hash; empty until the file is read.
        digits: String,
    },
}

/// How payloads of one kind are encoded: codec, level and options.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CodecChoice {
    pub(super) algorithm: Algorithm,
    pub(super) level: Option<i32>,
    pub(super) checksum: bool,
    pub(super) standard_frame: bool,
    pub(super) window_log: Option<u32>,
    pub(super) dictionary: Option<DictionarySource>,
    pub(super) prefix: bool,
    pub(super) patch: bool,
    pub(super) store_if_larger: bool,
    pub(super) loose: Option<i32>,
}

impl CodecChoice {
    /// `algorithm` at its default level without options.
    pub(crate) fn of(algorithm: Algorithm) -> Self {
        CodecChoice::at(algorithm, algorithm.levels().map(|levels| levels.default))
    }

    /// `algorithm` at `level` without options.
    pub(super) fn at(algorithm: Algorithm, level: Option<i32>) -> Self {
        CodecChoice {
            algorithm,
            level,
            checksum: true,
            standard_frame: false,
            window_log: None,
            dictionary: None,
            prefix: false,
            patch: false,
            store_if_larger: true,
            loose: default_loose_level(algorithm, level),
        }
    }

    /// The codec without level and options.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The effective level, which is typed or default; `None` if the codec has no levels.
    pub fn level(&self) -> Option<i32> {
        self.level
    }

    /// Whether a chunk carries a checksum of its payload. Always true for the zlib family (Adler-32).
    pub fn checksum(&self) -> bool {
        self.checksum
    }

    /// Whether zstd writes standard frames (`frame=standard`) instead of tag byte and magicless frame.
    pub fn standard_frame(&self) -> bool {
        self.standard_frame
    }

    /// The binary logarithm of zstd's largest window in bytes, if it is not the level's own.
    pub fn window_log(&self) -> Option<u32> {
        self.window_log
    }

    /// Where the dictionary comes from, if there is one.
    pub fn dictionary(&self) -> Option<&DictionarySource> {
        self.dictionary.as_ref()
    }

    /// Whether a delta may be compressed with its base's content as zstd prefix.
    pub fn prefix(&self) -> bool {
        self.prefix
    }

    /// Whether a delta's whole object may replace it, compressed with the base's content as zstd prefix.
    pub fn patch(&self) -> bool {
        self.patch
    }

    /// Whether chunks of deltas may need the base's content.
    pub fn uses_base(&self) -> bool {
        self.prefix || self.patch
    }

    /// Whether a payload that does not shrink is stored. This has no effect for RFC 1950 streams and standard frames.
    pub fn store_if_larger(&self) -> bool {
        self.store_if_larger
    }

    /// Makes the codec below the container, set up for this choice. It writes bodies without tags.
    ///
    /// # Errors
    /// When the codec cannot be set up.
    pub fn new_codec(&self) -> Result<Box<dyn Codec>, CodecError> {
        let level = self.level.unwrap_or_default();
        let mut codec: Box<dyn Codec> = match self.algorithm {
            // The only codec with container options.
            Algorithm::Zstd => Box::new(Zstd::new(level, self.standard_frame).with_window(self.window_log)),
            algorithm => (algorithm.descriptor().new)(level),
        };
        codec.set_checksum(self.checksum);
        Ok(codec)
    }

    /// The spec of only codec, level, checksum and window.
    pub fn without_options(&self) -> CodecSpec {
        let plain = CodecChoice::at(self.algorithm, self.level);
        CodecSpec::of_choice(CodecChoice { checksum: self.checksum, window_log: self.window_log, ..plain })
    }

    /// The same choice with standard zstd frames and without a dictionary.
    pub(crate) fn in_standard_frame(&self) -> CodecChoice {
        CodecChoice { standard_frame: true, dictionary: None, ..self.clone() }
    }

    pub(super) fn for_loose_objects(&self) -> CodecChoice {
        CodecChoice { level: self.loose, loose: self.loose, prefix: false, patch: false, ..self.clone() }
    }

    pub(super) fn for_revlogs(&self) -> CodecChoice {
        CodecChoice {
            window_log: self.window_log,
            dictionary: self.dictionary.clone(),
            prefix: self.prefix,
            patch: self.patch,
            ..CodecChoice::at(self.algorithm, self.level)
        }
    }

    /// The same choice for tagged bodies in a revlog: without a checksum, and DEFLATE without its RFC 1950 wrapper,
    /// whose first byte is one of Mercurial's own headers.
    pub(crate) fn for_revlog_tag(&self) -> CodecChoice {
        let algorithm = if self.algorithm.is_zlib_family() { Algorithm::Deflate } else { self.algorithm };
        CodecChoice { algorithm, checksum: false, standard_frame: false, ..self.clone() }
    }

    pub(super) fn with_dictionary_file(&self, digits: &str) -> CodecChoice {
        let fits = self.algorithm.longest_dictionary().is_some() && !self.standard_frame;
        let dictionary = fits.then(|| DictionarySource::File { digits: digits.to_owned() });
        CodecChoice { dictionary: dictionary.or_else(|| self.dictionary.clone()), ..self.clone() }
    }

    pub(super) fn canonical(&self) -> String {
        let mut text = self.algorithm.name().to_owned();
        if let Some(level) = self.level {
            text.push_str(&format!(":{level}"));
        }
        let mut option = |is_typed: bool, option: &str| {
            if is_typed {
                text.push(',');
                text.push_str(option);
            }
        };
        option(!self.checksum, "checksum=no");
        match &self.dictionary {
            Some(DictionarySource::Trained { max_len }) => option(true, &format!("dict={}", size(*max_len))),
            Some(DictionarySource::File { digits }) if digits.is_empty() => option(true, "dict=file"),
            Some(DictionarySource::File { digits }) => option(true, &format!("dict=file-{digits}")),
            None => {}
        }
        option(self.standard_frame, "frame=standard");
        if let Some(loose) = self.loose {
            option(self.loose != default_loose_level(self.algorithm, self.level), &format!("loose={loose}"));
        }
        option(self.patch, "patch");
        option(self.prefix, "prefix");
        option(!self.store_if_larger, "store-if-larger=no");
        if let Some(window_log) = self.window_log {
            option(true, &format!("window={window_log}"));
        }
        text
    }
}

/// A size as the user types it: `112k`, or in bytes if it is not a whole number of KiB.
fn size(bytes: usize) -> String {
    const KIB: usize = 1 << 10;
    if bytes.is_multiple_of(KIB) { format!("{}k", bytes / KIB) } else { bytes.to_string() }
}

/// The level of loose objects if the spec has no `loose=`.
pub(super) fn default_loose_level(algorithm: Algorithm, level: Option<i32>) -> Option<i32> {
    let baseline = algorithm == Algorithm::Zlib && level == Some(GIT_PACK_LEVEL);
    if baseline { Some(GIT_LOOSE_LEVEL) } else { level }
}
