//! Codec specs: what the user types, parsed and checked once.
//!
//! ```text
//! spec    = codec [":" level] *("," option)
//! option  = "checksum=" ("yes" | "no")         ; codecs with a tag byte
//!         | "frame=" ("magicless" | "standard") ; zstd
//!         | "loose=" level                      ; codecs with levels
//! ```

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use crate::algorithm::{Algorithm, Levels};
use crate::codec::Codec;
use crate::codecs::brotli::Brotli;
use crate::codecs::bzip2::Bzip2;
use crate::codecs::deflate::RawDeflate;
use crate::codecs::libdeflate::Libdeflate;
use crate::codecs::lz4::Lz4;
use crate::codecs::lzma::{Lzma, Xz};
use crate::codecs::miniz::Miniz;
use crate::codecs::sirocco::Sirocco;
use crate::codecs::store::Store;
use crate::codecs::zlib::Zlib;
#[cfg(feature = "zlib-ng")]
use crate::codecs::zlib_ng::ZlibNg;
use crate::codecs::zlib_rs::ZlibRs;
use crate::codecs::zopfli::Zopfli;
use crate::codecs::zstd::Zstd;
use crate::error::CodecError;

/// The level at which git writes loose objects when nothing is configured (`Z_BEST_SPEED`).
const GIT_LOOSE_LEVEL: i32 = 1;

/// The level of the baseline: what git packs with when nothing is configured.
const GIT_PACK_LEVEL: i32 = 6;

/// A codec with its level and options.
///
/// Two specs are equal when they mean the same, however they were typed: `zlib` equals `zlib:6`.
/// `Display` gives back what was typed.
#[derive(Clone, Debug)]
pub struct CodecSpec {
    typed: String,
    meaning: Meaning,
}

/// Everything that decides which bytes are written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Meaning {
    algorithm: Algorithm,
    level: Option<i32>,
    checksum: bool,
    standard_frame: bool,
    loose: Option<i32>,
}

impl CodecSpec {
    /// The spec of `algorithm` at its default level, as if its bare name had been typed.
    pub fn of(algorithm: Algorithm) -> Self {
        let level = algorithm.levels().map(|levels| levels.default);
        let loose = default_loose_level(algorithm, level);
        let meaning = Meaning { algorithm, level, checksum: true, standard_frame: false, loose };
        CodecSpec { typed: algorithm.name().to_owned(), meaning }
    }

    /// The codec without level and options.
    pub fn algorithm(&self) -> Algorithm {
        self.meaning.algorithm
    }

    /// The effective level, typed or default; `None` for codecs without levels.
    pub fn level(&self) -> Option<i32> {
        self.meaning.level
    }

    /// Whether chunks are RFC 1950 streams, which stock git reads.
    pub fn is_zlib_family(&self) -> bool {
        self.meaning.algorithm.is_zlib_family()
    }

    /// Whether a chunk carries a checksum of its payload. Always true for the zlib family (Adler-32).
    pub fn checksum(&self) -> bool {
        self.meaning.checksum
    }

    /// Whether zstd writes standard frames (`frame=standard`) in place of tag byte and magicless frame.
    pub fn standard_frame(&self) -> bool {
        self.meaning.standard_frame
    }

    /// The codec beneath the container: bodies without tag bytes, set up for this spec.
    ///
    /// # Errors
    /// When the codec cannot be set up.
    pub fn new_codec(&self) -> Result<Box<dyn Codec>, CodecError> {
        let level = self.meaning.level.unwrap_or_default();
        let mut codec: Box<dyn Codec> = match self.meaning.algorithm {
            Algorithm::Store => Box::new(Store::new()),
            // Where a level is taken as unsigned, none is negative.
            Algorithm::Zlib => Box::new(Zlib::new(level.unsigned_abs())),
            Algorithm::Deflate => Box::new(RawDeflate::new(level.unsigned_abs())),
            #[cfg(feature = "zlib-ng")]
            Algorithm::ZlibNg => Box::new(ZlibNg::new(level)),
            Algorithm::ZlibRs => Box::new(ZlibRs::new(level)),
            Algorithm::Miniz => Box::new(Miniz::new(level)),
            Algorithm::Sirocco => Box::new(Sirocco::new(level)),
            Algorithm::Libdeflate => Box::new(Libdeflate::new(level)),
            Algorithm::Zopfli => Box::new(Zopfli::new(level.unsigned_abs())),
            Algorithm::Zstd => Box::new(Zstd::new(level, self.meaning.standard_frame)),
            Algorithm::Lz4 => Box::new(Lz4::fast()),
            Algorithm::Lz4hc => Box::new(Lz4::high(level)),
            Algorithm::Brotli => Box::new(Brotli::new(level.unsigned_abs())),
            Algorithm::Lzma => Box::new(Lzma::new(level.unsigned_abs())),
            Algorithm::Xz => Box::new(Xz::new(level.unsigned_abs())),
            Algorithm::Bzip2 => Box::new(Bzip2::new(level.unsigned_abs())),
        };
        codec.set_checksum(self.meaning.checksum);
        Ok(codec)
    }

    /// The spec for loose objects of a variant under this spec.
    ///
    /// The same codec and options, at the level of `loose=N` where that was typed. Without it, the
    /// baseline `zlib:6` writes loose objects at level 1, as git does by default, and every other
    /// spec at its own level.
    #[must_use]
    pub fn for_loose_objects(&self) -> CodecSpec {
        let meaning = Meaning { level: self.meaning.loose, ..self.meaning.clone() };
        CodecSpec { typed: meaning.canonical(), meaning }
    }

    /// The spec without the options that mean nothing in revlogs, whose container is Mercurial's: all of them.
    #[must_use]
    pub fn for_revlogs(&self) -> CodecSpec {
        let Meaning { algorithm, level, .. } = self.meaning;
        let loose = default_loose_level(algorithm, level);
        let meaning = Meaning { algorithm, level, checksum: true, standard_frame: false, loose };
        if meaning == self.meaning {
            return self.clone();
        }
        CodecSpec { typed: meaning.canonical(), meaning }
    }

    /// The one spelling of this meaning: level always spelled, options sorted, defaults omitted.
    pub fn canonical(&self) -> String {
        self.meaning.canonical()
    }

    /// A part of a file name that tells this spec from every other: `zstd-5`, `zstd-m7`, `store`,
    /// `zstd-5-checksum-no`. Lower-case letters, digits and `-` only.
    pub fn file_stem(&self) -> String {
        // In a canonical spec a minus sign only precedes a negative level: after ":" or "=".
        let canonical = self.canonical().replace(":-", "-m").replace("=-", "-m");
        canonical.replace([':', ',', '='], "-")
    }
}

impl Meaning {
    fn canonical(&self) -> String {
        let mut text = self.algorithm.name().to_owned();
        if let Some(level) = self.level {
            text.push_str(&format!(":{level}"));
        }
        if !self.checksum {
            text.push_str(",checksum=no");
        }
        if self.standard_frame {
            text.push_str(",frame=standard");
        }
        if let Some(loose) = self.loose
            && self.loose != default_loose_level(self.algorithm, self.level)
        {
            text.push_str(&format!(",loose={loose}"));
        }
        text
    }
}

/// The level of loose objects when `loose=` is not typed.
fn default_loose_level(algorithm: Algorithm, level: Option<i32>) -> Option<i32> {
    let baseline = algorithm == Algorithm::Zlib && level == Some(GIT_PACK_LEVEL);
    if baseline { Some(GIT_LOOSE_LEVEL) } else { level }
}

impl PartialEq for CodecSpec {
    fn eq(&self, other: &Self) -> bool {
        self.meaning == other.meaning
    }
}

impl Eq for CodecSpec {}

impl Hash for CodecSpec {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.meaning.hash(state);
    }
}

impl fmt::Display for CodecSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.typed)
    }
}

impl FromStr for CodecSpec {
    type Err = SpecError;

    fn from_str(typed: &str) -> Result<Self, SpecError> {
        let mut parts = typed.split(',');
        let head = parts.next().unwrap_or_default();
        let (name, level) = match head.split_once(':') {
            Some((name, level)) => (name, Some(level)),
            None => (head, None),
        };
        if cfg!(not(feature = "zlib-ng")) && name == "zlib-ng" {
            return Err(SpecError::NotBuiltIn { codec: "zlib-ng", feature: "zlib-ng" });
        }
        let algorithm = Algorithm::from_name(name).ok_or_else(|| SpecError::unknown_codec(name))?;
        let level = match (algorithm.levels(), level) {
            (Some(levels), Some(text)) => Some(parse_level(text, algorithm, &levels)?),
            (Some(levels), None) => Some(levels.default),
            (None, Some(text)) => return Err(SpecError::NoLevels { codec: algorithm.name(), typed: text.to_owned() }),
            (None, None) => None,
        };
        let options = Options::parse(parts, algorithm)?;
        let meaning = Meaning {
            algorithm,
            level,
            checksum: options.checksum.unwrap_or(true),
            standard_frame: options.standard_frame.unwrap_or(false),
            loose: options.loose.or_else(|| default_loose_level(algorithm, level)),
        };
        Ok(CodecSpec { typed: typed.to_owned(), meaning })
    }
}

/// A decimal number with an optional minus sign, within the levels of `algorithm`.
fn parse_level(text: &str, algorithm: Algorithm, levels: &Levels) -> Result<i32, SpecError> {
    let bad = || SpecError::BadLevel { codec: algorithm.name(), typed: text.to_owned(), levels: levels.clone() };
    // `str::parse` also takes a plus sign, which no documentation of ours offers.
    if text.starts_with('+') {
        return Err(bad());
    }
    let level = text.parse().map_err(|_| bad())?;
    if levels.contains(level) { Ok(level) } else { Err(bad()) }
}

/// An option's name, so that the list of valid ones and the parser cannot differ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionName {
    Checksum,
    Frame,
    Loose,
}

impl OptionName {
    const ALL: [OptionName; 3] = [OptionName::Checksum, OptionName::Frame, OptionName::Loose];

    fn name(self) -> &'static str {
        match self {
            OptionName::Checksum => "checksum",
            OptionName::Frame => "frame",
            OptionName::Loose => "loose",
        }
    }

    fn values(self) -> &'static str {
        match self {
            OptionName::Checksum => "yes or no",
            OptionName::Frame => "magicless or standard",
            OptionName::Loose => "a level",
        }
    }

    fn applies_to(self, algorithm: Algorithm) -> bool {
        match self {
            OptionName::Checksum => !algorithm.is_zlib_family(),
            OptionName::Frame => algorithm == Algorithm::Zstd,
            OptionName::Loose => algorithm.levels().is_some(),
        }
    }
}

/// The options as typed; `None` where one was not.
#[derive(Default)]
struct Options {
    checksum: Option<bool>,
    standard_frame: Option<bool>,
    loose: Option<i32>,
}

impl Options {
    fn parse<'a>(typed: impl Iterator<Item = &'a str>, algorithm: Algorithm) -> Result<Self, SpecError> {
        let mut options = Options::default();
        for part in typed {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let option = OptionName::ALL
                .into_iter()
                .find(|option| option.name() == name)
                .ok_or_else(|| SpecError::unknown_option(name, algorithm))?;
            if !option.applies_to(algorithm) {
                return Err(SpecError::OptionNotForCodec { option: option.name(), codec: algorithm.name() });
            }
            let bad = || SpecError::BadValue { option: option.name(), typed: value.to_owned(), valid: option.values() };
            let repeated = match option {
                OptionName::Checksum => {
                    options.checksum.replace(choice(value, ["no", "yes"]).ok_or_else(bad)?).is_some()
                }
                OptionName::Frame => {
                    let standard = choice(value, ["magicless", "standard"]).ok_or_else(bad)?;
                    options.standard_frame.replace(standard).is_some()
                }
                OptionName::Loose => {
                    let levels = algorithm.levels().ok_or_else(bad)?;
                    options.loose.replace(parse_level(value, algorithm, &levels)?).is_some()
                }
            };
            if repeated {
                return Err(SpecError::RepeatedOption { option: option.name() });
            }
        }
        Ok(options)
    }
}

/// False for the first word, true for the second.
fn choice(value: &str, words: [&str; 2]) -> Option<bool> {
    words.iter().position(|word| *word == value).map(|position| position == 1)
}

/// Why a codec spec was refused; says what is valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// No codec has this name.
    #[error("unknown codec {typed:?}{}; valid are {}", did_you_mean(.nearest), valid_codecs())]
    UnknownCodec {
        /// The name as typed.
        typed: String,
        /// The valid name nearest to it, unless all are far.
        nearest: Option<&'static str>,
    },

    /// The codec exists, but not in this build.
    #[error("codec {codec} is not built in: build with --features {feature}, which needs cmake")]
    NotBuiltIn {
        /// Name of the codec.
        codec: &'static str,
        /// The cargo feature that has it.
        feature: &'static str,
    },

    /// The codec does not have this level.
    #[error("{codec}: expected a level from {levels}, found {typed:?}")]
    BadLevel {
        /// Name of the codec.
        codec: &'static str,
        /// The level as typed.
        typed: String,
        /// The valid levels.
        levels: Levels,
    },

    /// The codec has no levels at all.
    #[error("{codec} has no levels: expected {codec}, found {codec}:{typed}")]
    NoLevels {
        /// Name of the codec.
        codec: &'static str,
        /// The level as typed.
        typed: String,
    },

    /// No option has this name.
    #[error("unknown option {typed:?}{}; {codec} takes {}", did_you_mean(.nearest), valid_options(.codec))]
    UnknownOption {
        /// The name as typed.
        typed: String,
        /// Name of the codec.
        codec: &'static str,
        /// The valid name nearest to it, unless all are far.
        nearest: Option<&'static str>,
    },

    /// The option exists, for other codecs.
    #[error("option {option} is not for {codec}, which takes {}", valid_options(.codec))]
    OptionNotForCodec {
        /// Name of the option.
        option: &'static str,
        /// Name of the codec.
        codec: &'static str,
    },

    /// The option does not take this value.
    #[error("option {option}: expected {valid}, found {typed:?}")]
    BadValue {
        /// Name of the option.
        option: &'static str,
        /// The value as typed, empty where none was.
        typed: String,
        /// What it takes.
        valid: &'static str,
    },

    /// The option was typed twice.
    #[error("option {option}: expected it once, found it twice")]
    RepeatedOption {
        /// Name of the option.
        option: &'static str,
    },
}

impl SpecError {
    fn unknown_codec(typed: &str) -> Self {
        let nearest = nearest(typed, Algorithm::ALL.map(Algorithm::name));
        SpecError::UnknownCodec { typed: typed.to_owned(), nearest }
    }

    fn unknown_option(typed: &str, algorithm: Algorithm) -> Self {
        let nearest = nearest(typed, OptionName::ALL.map(OptionName::name));
        SpecError::UnknownOption { typed: typed.to_owned(), codec: algorithm.name(), nearest }
    }
}

/// The most similar of `names`, unless none is similar at all.
fn nearest<const COUNT: usize>(typed: &str, names: [&'static str; COUNT]) -> Option<&'static str> {
    // Below this Jaro-Winkler similarity (0 to 1) a suggestion confuses more than it helps.
    const SIMILAR_ENOUGH: f64 = 0.7;
    let typed = typed.to_lowercase();
    let similarity = |name: &&'static str| strsim::jaro_winkler(&typed, name);
    let best = names.into_iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    (similarity(&best) >= SIMILAR_ENOUGH).then_some(best)
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map(|name| format!(" (did you mean {name}?)")).unwrap_or_default()
}

/// Every codec with its levels, for error messages.
fn valid_codecs() -> String {
    let described = Algorithm::ALL.map(|algorithm| match algorithm.levels() {
        Some(levels) => format!("{}:{levels}", algorithm.name()),
        None => algorithm.name().to_owned(),
    });
    described.join(", ")
}

/// The options that the codec of this name takes, for error messages.
fn valid_options(codec: &str) -> String {
    let algorithm = Algorithm::from_name(codec);
    let applies = |option: &OptionName| algorithm.is_some_and(|algorithm| option.applies_to(algorithm));
    let described: Vec<String> = OptionName::ALL
        .into_iter()
        .filter(applies)
        .map(|option| format!("{}= ({})", option.name(), option.values()))
        .collect();
    described.join(", ")
}
