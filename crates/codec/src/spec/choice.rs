//! One part of a spec: a codec with its level and options.

use super::CodecSpec;
use crate::algorithm::Algorithm;
use crate::codec::Codec;
use crate::codecs::zstd::Zstd;
use crate::error::CodecError;

/// The level at which git writes loose objects when nothing is configured (`Z_BEST_SPEED`).
const GIT_LOOSE_LEVEL: i32 = 1;

/// The level of the baseline: what git packs with when nothing is configured.
const GIT_PACK_LEVEL: i32 = 6;

/// Where a dictionary comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DictionarySource {
    /// One is trained for each kind of payload, of at most so many bytes.
    Trained {
        /// The longest that one may be, in bytes.
        max_len: usize,
    },
    /// The user brings one.
    File {
        /// The first hexadecimal digits of its hash, once it was read.
        digits: String,
    },
}

/// What payloads of one kind are encoded with: codec, level and options.
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
    /// `algorithm` at its default level and without options.
    pub(crate) fn of(algorithm: Algorithm) -> Self {
        CodecChoice::at(algorithm, algorithm.levels().map(|levels| levels.default))
    }

    /// `algorithm` at `level` and without options.
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

    /// The effective level, typed or default; `None` for codecs without levels.
    pub fn level(&self) -> Option<i32> {
        self.level
    }

    /// Whether a chunk carries a checksum of its payload. Always true for the zlib family (Adler-32).
    pub fn checksum(&self) -> bool {
        self.checksum
    }

    /// Whether zstd writes standard frames (`frame=standard`) in place of tag byte and magicless frame.
    pub fn standard_frame(&self) -> bool {
        self.standard_frame
    }

    /// The binary logarithm of zstd's largest window in bytes, where it is not the level's own.
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

    /// Whether a delta may give way to its whole object, compressed with its base's content as zstd prefix.
    pub fn patch(&self) -> bool {
        self.patch
    }

    /// Whether deltas may need their base's content.
    pub fn uses_base(&self) -> bool {
        self.prefix || self.patch
    }

    /// Whether a payload is stored where its codec does not shrink it. RFC 1950 streams and standard frames cannot be.
    pub fn store_if_larger(&self) -> bool {
        self.store_if_larger
    }

    /// The codec beneath the container: bodies without tag bytes, set up for this choice.
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

    /// The spec of codec, level and checksum alone.
    pub fn without_options(&self) -> CodecSpec {
        let plain = CodecChoice::at(self.algorithm, self.level);
        CodecSpec::of_choice(CodecChoice { checksum: self.checksum, window_log: self.window_log, ..plain })
    }

    /// The same with standard zstd frames and without a dictionary.
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

    /// The same for what stands behind a tag byte in a revlog: without a checksum, and DEFLATE without its RFC 1950 wrapping,
    /// whose first byte is Mercurial's own there.
    pub(crate) fn behind_revlog_tag(&self) -> CodecChoice {
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

/// A size as it is typed: `112k`, or bytes where that is not whole.
fn size(bytes: usize) -> String {
    const KIB: usize = 1 << 10;
    if bytes.is_multiple_of(KIB) { format!("{}k", bytes / KIB) } else { bytes.to_string() }
}

/// The level of loose objects when `loose=` is not typed.
pub(super) fn default_loose_level(algorithm: Algorithm, level: Option<i32>) -> Option<i32> {
    let baseline = algorithm == Algorithm::Zlib && level == Some(GIT_PACK_LEVEL);
    if baseline { Some(GIT_LOOSE_LEVEL) } else { level }
}
