//! The errors in a spec: what is wrong, where, and what is valid.

use std::fmt;

use super::SpecKind;
use super::option::OptionName;
use super::other_name;
use crate::algorithm::Algorithm;
use crate::codecs::descriptor::Levels;

/// Why a codec spec is invalid, and at which character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    kind: SpecErrorKind,
    typed: String,
    at: usize,
}

impl SpecError {
    pub(super) fn new(kind: SpecErrorKind, typed: &str, at: usize) -> Self {
        SpecError { kind, typed: typed.to_owned(), at }
    }

    /// The same error in a longer text.
    pub(super) fn within(self, typed: &str, at: usize) -> Self {
        SpecError { kind: self.kind, typed: typed.to_owned(), at }
    }

    /// The kind of the error.
    pub fn kind(&self) -> &SpecErrorKind {
        &self.kind
    }

    /// The position in the spec, in bytes.
    pub fn at(&self) -> usize {
        self.at
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = self.typed.get(..self.at).map_or(0, |before| before.chars().count());
        write!(f, "{}\n  {}\n  {:column$}^", self.kind, self.typed, "")
    }
}

impl std::error::Error for SpecError {}

/// What is wrong with a codec spec. The messages say what is valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecErrorKind {
    /// No codec has this name.
    #[error("unknown codec {typed:?}{}", meant_or_valid(.nearest))]
    UnknownCodec {
        /// The name as typed.
        typed: String,
        /// The spec that was probably meant, if there is one.
        nearest: Option<String>,
    },

    /// A second codec where options are expected.
    #[error("expected options after the codec, found another codec; bench and estimate take several as {}", repeated(.specs))]
    SecondCodec {
        /// The specs that were probably meant.
        specs: Vec<String>,
    },

    /// A named spec with a level, a kind or options.
    #[error("{name} cannot have a level, options or kinds: write {spec} instead and change that")]
    NamedWithMore {
        /// The name.
        name: &'static str,
        /// The spec that it stands for.
        spec: &'static str,
    },

    /// The codec exists, but not in this build.
    #[error("codec {codec} is not built in: build with --features {feature}, which needs cmake")]
    NotBuiltIn {
        /// Name of the codec.
        codec: &'static str,
        /// The cargo feature that enables it.
        feature: &'static str,
    },

    /// The codec does not have this level.
    #[error("{codec}: expected a level from {levels}, found {typed:?}{}", range_hint(.codec, .typed))]
    BadLevel {
        /// Name of the codec.
        codec: &'static str,
        /// The level as typed.
        typed: String,
        /// The valid levels.
        levels: Levels,
    },

    /// The codec has no levels.
    #[error("{codec} has no levels: expected {codec}, found {codec}:{typed}")]
    NoLevels {
        /// Name of the codec.
        codec: &'static str,
        /// The level as typed.
        typed: String,
    },

    /// Several levels where only one spec is allowed.
    #[error("expected one level, found several: only bench and estimate take lists and ranges of levels")]
    SeveralLevels,

    /// No option has this name.
    #[error("unknown option {typed:?}{}; {codec} takes {}", did_you_mean(.nearest), valid_options(.codec))]
    UnknownOption {
        /// The name as typed.
        typed: String,
        /// Name of the codec.
        codec: &'static str,
        /// The most similar valid name, if one is similar.
        nearest: Option<&'static str>,
    },

    /// The option exists only for other codecs.
    #[error("{codec} does not take option {option}; it takes {}", valid_options(.codec))]
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
        /// The value as typed; empty if there was none.
        typed: String,
        /// The valid values.
        valid: String,
    },

    /// The option was typed twice.
    #[error("option {option}: expected it once, found it twice")]
    RepeatedOption {
        /// Name of the option.
        option: &'static str,
    },

    /// Two options exclude each other.
    #[error("{first} cannot be combined with {second}")]
    Conflict {
        /// The first option.
        first: &'static str,
        /// The second option.
        second: &'static str,
    },

    /// The kind was named twice.
    #[error("kind {kind}: expected it once, found it twice")]
    RepeatedKind {
        /// Name of the kind.
        kind: &'static str,
    },

    /// Lists of levels with too many combinations.
    #[error("expected at most {limit} specs, found more")]
    TooManySpecs {
        /// The maximum number of specs.
        limit: usize,
    },
}

impl SpecErrorKind {
    /// `level` is what follows the colon, if there is one.
    pub(super) fn unknown_codec(typed: &str, level: Option<&str>) -> Self {
        let names = Algorithm::ALL.iter().map(|algorithm| algorithm.name());
        let named = super::named_specs().iter().map(|(name, _)| *name);
        let similar = || nearest_name(typed, names.chain(named)).map(str::to_owned);
        let nearest = other_name::meant(typed, level).or_else(similar);
        SpecErrorKind::UnknownCodec { typed: typed.to_owned(), nearest }
    }

    pub(super) fn unknown_option(typed: &str, algorithm: Algorithm) -> Self {
        let names = OptionName::ALL.into_iter().map(OptionName::name);
        let kinds = SpecKind::ALL.into_iter().map(SpecKind::name);
        let nearest = nearest_name(typed, names.chain(kinds));
        SpecErrorKind::UnknownOption { typed: typed.to_owned(), codec: algorithm.name(), nearest }
    }

    pub(super) fn bad_level(algorithm: Algorithm, typed: &str) -> Self {
        match algorithm.levels() {
            Some(levels) => SpecErrorKind::BadLevel { codec: algorithm.name(), typed: typed.to_owned(), levels },
            None => SpecErrorKind::NoLevels { codec: algorithm.name(), typed: typed.to_owned() },
        }
    }
}

/// The most similar of `names` to what a user typed, if one is similar.
pub fn nearest_name(typed: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    // A suggestion with a lower Jaro-Winkler similarity (0 to 1) would confuse more than help.
    const SIMILAR_ENOUGH: f64 = 0.7;
    let typed = typed.to_lowercase();
    let similarity = |name: &&'static str| strsim::jaro_winkler(&typed, name);
    let best = names.max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    (similarity(&best) >= SIMILAR_ENOUGH).then_some(best)
}

/// The codec that was meant, or all that there are.
fn meant_or_valid(nearest: &Option<String>) -> String {
    match nearest {
        Some(_) => did_you_mean(nearest) + "; `repackbench codecs` lists all",
        None => format!("; expected one of {}", valid_codecs()),
    }
}

fn did_you_mean(nearest: &Option<impl fmt::Display>) -> String {
    nearest.as_ref().map(|name| format!(" (did you mean {name}?)")).unwrap_or_default()
}

/// The right spelling of a range that was typed with a hyphen, such as `1-3`; empty for anything else.
fn range_hint(codec: &str, typed: &str) -> String {
    let ends = typed.split_once('-').map(|(first, last)| [first, last].map(|end| end.parse::<i32>().ok()));
    match ends {
        Some([Some(first), Some(last)]) => format!(" (did you mean {codec}:{first}..{last}?)"),
        _ => String::new(),
    }
}

/// Specs as arguments of one command.
fn repeated(specs: &[String]) -> String {
    specs.iter().map(|spec| format!("--codec {spec}")).collect::<Vec<_>>().join(" ")
}

/// Every codec with its levels and every named spec, for error messages.
fn valid_codecs() -> String {
    let described = Algorithm::ALL.iter().map(|algorithm| match algorithm.levels() {
        Some(levels) => format!("{}:{levels}", algorithm.name()),
        None => algorithm.name().to_owned(),
    });
    let named = super::named_specs().iter().map(|(name, _)| (*name).to_owned());
    described.chain(named).collect::<Vec<_>>().join(", ")
}

/// The options of the codec with this name, for error messages.
fn valid_options(codec: &str) -> String {
    let algorithm = Algorithm::from_name(codec);
    let applies = |option: &OptionName| algorithm.is_some_and(|algorithm| option.applies_to(algorithm));
    let described: Vec<String> = OptionName::ALL
        .into_iter()
        .filter(applies)
        .map(|option| match option.values() {
            "" => option.name().to_owned(),
            values => format!("{}= ({values})", option.name()),
        })
        .collect();
    if described.is_empty() { "none".to_owned() } else { described.join(", ") }
}
