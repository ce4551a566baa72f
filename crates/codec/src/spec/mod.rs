//! Codec specs: what the user types, which is parsed and checked once.
//!
//! ```text
//! spec    = name / part *("," kind "=" part) / kind "=" part *("," kind "=" part)
//! name    = "best-size" / "best-read" / "balanced"
//! kind    = "commit" / "tree" / "blob" / "tag" / "changelog" / "manifest" / "filelog" / "delta"
//! part    = codec [":" level] *("," option)
//! option  = "checksum=" ("yes" / "no")          ; codecs with a tag byte
//!         / "dict=" (size / "file")              ; zstd, lz4, lz4hc, zlib, deflate
//!         / "frame=" ("magicless" / "standard")  ; zstd
//!         / "ids=number"                         ; all, for Git: objects name others by number
//!         / "loose=" level                       ; codecs with levels
//!         / "max-chain=" number                  ; zstd with prefix or patch
//!         / "patch"                              ; zstd
//!         / "prefix"                             ; zstd
//!         / "store-if-larger=" ("yes" / "no")    ; codecs with a tag byte
//!         / "window=" log                        ; zstd
//! ```
//!
//! A part without a kind is the default for all kinds without a part of their own. Without such a part the default is
//! the baseline. `delta` stands for the deltas of every kind. `ids=` applies to all parts. An argument for several
//! specs, [`CodecSpecs`], also takes lists and ranges of levels.

mod choice;
mod error;
mod list;
mod named;
mod option;
mod other_name;
mod parse;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

pub use self::choice::{CodecChoice, DictionarySource};
pub use self::error::{SpecError, SpecErrorKind, nearest_name};
pub use self::list::CodecSpecs;
pub use self::named::named_specs;
pub use self::parse::parse_size;
use crate::algorithm::Algorithm;
use crate::codec::Codec;
use crate::dictionary::Dictionary;
use crate::error::CodecError;
use crate::kind::{ChunkKind, ObjectKind};
use crate::{FORMAT_VERSION, NUMBERS_FORMAT_VERSION};

/// The maximum length in bytes of the part of a file name that stands for a spec. A longer one is cut and ends in a
/// hash of the spec.
const MAX_FILE_STEM: usize = 120;

/// The level at which zstd compresses dictionaries.
const DICTIONARY_LEVEL: i32 = 19;

/// The kinds that a spec can have a part for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SpecKind {
    /// All payloads of one kind of object, whole or delta.
    Object(ObjectKind),
    /// The deltas of every kind.
    Delta,
}

impl SpecKind {
    /// Every kind, in the order in which the user sees them.
    pub const ALL: [SpecKind; 8] = [
        SpecKind::Object(ObjectKind::Commit),
        SpecKind::Object(ObjectKind::Tree),
        SpecKind::Object(ObjectKind::Blob),
        SpecKind::Object(ObjectKind::Tag),
        SpecKind::Object(ObjectKind::Changelog),
        SpecKind::Object(ObjectKind::Manifest),
        SpecKind::Object(ObjectKind::Filelog),
        SpecKind::Delta,
    ];

    /// The name that the user types.
    pub fn name(self) -> &'static str {
        match self {
            SpecKind::Object(kind) => kind.name(),
            SpecKind::Delta => "delta",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        SpecKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A codec with its level and options, the same for all kinds of payloads or one for each kind.
///
/// Two specs are equal when they mean the same, however they were typed: `zlib` equals `zlib:6`.
/// `Display` gives back what was typed.
#[derive(Clone, Debug)]
pub struct CodecSpec {
    typed: String,
    meaning: Meaning,
    /// The dictionary that the user supplied. Its hash is part of the meaning.
    own_dictionary: Option<Dictionary>,
}

/// Everything that decides which bytes are written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Meaning {
    default: CodecChoice,
    /// The parts that differ from the default.
    kinds: BTreeMap<SpecKind, CodecChoice>,
    max_chain: Option<u32>,
    /// Whether objects name others of their pack by number.
    numbers: bool,
}

impl CodecSpec {
    /// The spec of `algorithm` at its default level, as if the user had typed its bare name.
    pub fn of(algorithm: Algorithm) -> Self {
        CodecSpec { typed: algorithm.name().to_owned(), ..CodecSpec::of_choice(CodecChoice::of(algorithm)) }
    }

    /// The spec whose only part is `choice`, in its canonical spelling.
    pub(crate) fn of_choice(choice: CodecChoice) -> Self {
        let meaning = Meaning::new(choice, [], None, false);
        CodecSpec { typed: meaning.canonical(), meaning, own_dictionary: None }
    }

    /// The same spec with another meaning, in its canonical spelling.
    fn with_meaning(&self, meaning: Meaning) -> Self {
        CodecSpec { typed: meaning.canonical(), meaning, own_dictionary: self.own_dictionary.clone() }
    }

    /// The spec for storing dictionaries: as small as possible, because they are read only once.
    pub fn for_dictionaries() -> Self {
        CodecSpec::of_choice(CodecChoice::at(Algorithm::Zstd, Some(DICTIONARY_LEVEL)))
    }

    /// The codec choice for payloads of `kind`.
    pub fn choice(&self, kind: ChunkKind) -> &CodecChoice {
        let delta = self.meaning.kinds.get(&SpecKind::Delta).filter(|_| kind.is_delta);
        delta.or_else(|| self.meaning.kinds.get(&SpecKind::Object(kind.object))).unwrap_or(&self.meaning.default)
    }

    /// The codec choice for payloads whose kind has no part of its own.
    pub fn default_choice(&self) -> &CodecChoice {
        &self.meaning.default
    }

    /// The default, then the parts for kinds that differ from it.
    pub fn choices(&self) -> impl Iterator<Item = &CodecChoice> {
        std::iter::once(&self.meaning.default).chain(self.meaning.kinds.values())
    }

    /// The kinds with a part that differs from the default.
    pub fn kinds(&self) -> impl Iterator<Item = SpecKind> {
        self.meaning.kinds.keys().copied()
    }

    /// A kind with a part of its own that is not in `objects`, if there is one.
    pub fn kind_outside(&self, objects: &[ObjectKind]) -> Option<SpecKind> {
        self.kinds().find(|kind| matches!(kind, SpecKind::Object(object) if !objects.contains(object)))
    }

    /// Whether payloads of all kinds are encoded in the same way.
    pub fn is_uniform(&self) -> bool {
        self.meaning.kinds.is_empty() && !self.uses_dictionaries() && !self.uses_numbers()
    }

    /// The codec of the default part.
    pub fn algorithm(&self) -> Algorithm {
        self.meaning.default.algorithm()
    }

    /// The level of the default part, which is typed or default; `None` if its codec has no levels.
    pub fn level(&self) -> Option<i32> {
        self.meaning.default.level()
    }

    /// Whether stock git reads all chunks: RFC 1950 streams without a preset dictionary, of objects that name others by
    /// id.
    pub fn is_read_by_git(&self) -> bool {
        let is_read = |choice: &CodecChoice| choice.algorithm().is_zlib_family() && choice.dictionary().is_none();
        self.choices().all(is_read) && !self.uses_numbers()
    }

    /// Whether stock hg reads all chunks of a revlog.
    pub fn is_read_by_hg(&self) -> bool {
        let is_read = |choice: &CodecChoice| choice.algorithm().is_read_by_hg() && choice.dictionary().is_none();
        self.choices().all(is_read) && !self.uses_bases()
    }

    /// Whether every chunk carries a checksum of its payload, as RFC 1950 streams always do.
    pub fn checksum(&self) -> bool {
        self.choices().all(CodecChoice::checksum)
    }

    /// Whether some payloads are compressed with a dictionary.
    pub fn uses_dictionaries(&self) -> bool {
        self.choices().any(|choice| choice.dictionary().is_some())
    }

    /// Whether some deltas are compressed with their base's content, which writers and readers then need.
    pub fn uses_bases(&self) -> bool {
        self.choices().any(CodecChoice::uses_base)
    }

    /// Whether the commits, trees and tags of a pack name other objects of it by number (`ids=number`).
    pub fn uses_numbers(&self) -> bool {
        self.meaning.numbers
    }

    /// The same spec with ids in the place of numbers.
    #[must_use]
    pub fn without_numbers(&self) -> CodecSpec {
        if !self.uses_numbers() {
            return self.clone();
        }
        self.with_meaning(Meaning { numbers: false, ..self.meaning.clone() })
    }

    /// The version of the format of a Git variant under this spec: the lowest that describes it.
    pub fn format_version(&self) -> u32 {
        if self.uses_numbers() { NUMBERS_FORMAT_VERSION } else { FORMAT_VERSION }
    }

    /// The maximum length of a chain, in deltas, at whose end a payload may be compressed with its base's content;
    /// `None` if there is no limit.
    pub fn max_chain(&self) -> Option<u32> {
        self.meaning.max_chain
    }

    /// The same spec with another `max-chain`.
    #[must_use]
    pub fn with_max_chain(&self, max_chain: u32) -> CodecSpec {
        if !self.uses_bases() {
            return self.clone();
        }
        let meaning = Meaning { max_chain: Some(max_chain), ..self.meaning.clone() };
        self.with_meaning(meaning)
    }

    /// The same spec with a dictionary that the user supplies, which the first digits of its hash identify. The parts
    /// with `dict=file` use it; if there are none, all parts that can use a dictionary.
    #[must_use]
    pub fn with_own_dictionary(&self, dictionary: Dictionary, digits: &str) -> CodecSpec {
        let asks = |choice: &CodecChoice| matches!(choice.dictionary(), Some(DictionarySource::File { .. }));
        let some_ask = self.choices().any(asks);
        let spec = self.map(&self.meaning, |choice| match some_ask && !asks(choice) {
            true => choice.clone(),
            false => choice.with_dictionary_file(digits),
        });
        CodecSpec { own_dictionary: Some(dictionary), ..spec }
    }

    /// The dictionary that the user supplied.
    pub fn own_dictionary(&self) -> Option<&Dictionary> {
        self.own_dictionary.as_ref()
    }

    /// Makes the codec below the container for kinds without a part of their own. It writes bodies without tags.
    ///
    /// # Errors
    /// When the codec cannot be set up.
    pub fn new_codec(&self) -> Result<Box<dyn Codec>, CodecError> {
        self.meaning.default.new_codec()
    }

    /// The spec for loose objects of a variant under this spec.
    ///
    /// It has the same codecs and options at the level of `loose=N`, if that was typed. Otherwise the baseline `zlib:6`
    /// writes loose objects at level 1, as git does by default, and every other spec at its own level. Loose objects
    /// have no base, and no pack whose objects have numbers.
    #[must_use]
    pub fn for_loose_objects(&self) -> CodecSpec {
        let of_all = Meaning { max_chain: None, numbers: false, ..self.meaning.clone() };
        self.map(&of_all, CodecChoice::for_loose_objects)
    }

    /// The spec without the options that have no effect in revlogs, whose container is Mercurial's.
    #[must_use]
    pub fn for_revlogs(&self) -> CodecSpec {
        self.map(&self.meaning, CodecChoice::for_revlogs)
    }

    /// The spec with changed parts, and with those options for all parts that `of_all` has.
    fn map(&self, of_all: &Meaning, change: impl Fn(&CodecChoice) -> CodecChoice) -> CodecSpec {
        let kinds = self.meaning.kinds.iter().map(|(kind, choice)| (*kind, change(choice)));
        let meaning = Meaning::new(change(&self.meaning.default), kinds, of_all.max_chain, of_all.numbers);
        if meaning == self.meaning {
            return self.clone();
        }
        self.with_meaning(meaning)
    }

    /// The canonical spelling of this meaning: with the level, kinds and options sorted, without defaults.
    pub fn canonical(&self) -> String {
        self.meaning.canonical()
    }

    /// A part of a file name that differs from that of every other spec: `zstd-5`, `zstd-m7`, `store`,
    /// `zstd-5-checksum-no`. It consists of at most 120 lower-case letters, digits and `-`.
    pub fn file_stem(&self) -> String {
        // In a canonical spec, only negative levels have a minus sign before a digit. It comes after ":" or "=".
        let canonical = self.canonical();
        let mut stem = canonical.replace(":-", "-m").replace("loose=-", "loose-m").replace([':', ',', '=', '_'], "-");
        if stem.len() > MAX_FILE_STEM {
            let hash = xxhash_rust::xxh64::xxh64(canonical.as_bytes(), 0);
            stem.truncate(MAX_FILE_STEM - "-0123456789abcdef".len());
            stem.push_str(&format!("-{hash:016x}"));
        }
        stem
    }
}

impl Meaning {
    fn new(
        default: CodecChoice,
        kinds: impl IntoIterator<Item = (SpecKind, CodecChoice)>,
        max_chain: Option<u32>,
        numbers: bool,
    ) -> Self {
        let mut kinds: BTreeMap<SpecKind, CodecChoice> = kinds.into_iter().collect();
        // `delta` has precedence over the kinds, so a part for it that equals the default has an effect if there are
        // others.
        if kinds.keys().all(|kind| *kind == SpecKind::Delta) {
            kinds.retain(|_, choice| *choice != default);
        } else {
            kinds.retain(|kind, choice| *choice != default || *kind == SpecKind::Delta);
            if kinds.len() == 1 && kinds.contains_key(&SpecKind::Delta) {
                kinds.retain(|_, choice| *choice != default);
            }
        }
        let max_chain =
            max_chain.filter(|_| std::iter::once(&default).chain(kinds.values()).any(CodecChoice::uses_base));
        Meaning { default, kinds, max_chain, numbers }
    }

    fn canonical(&self) -> String {
        // The limit follows the first part that may have it.
        let mut max_chain = self.max_chain;
        let mut part = |choice: &CodecChoice| {
            let limit = max_chain.take_if(|_| choice.uses_base());
            choice.canonical() + &limit.map(|limit| format!(",max-chain={limit}")).unwrap_or_default()
        };
        let mut text = part(&self.default);
        if self.numbers {
            text.push_str(",ids=number");
        }
        for (kind, choice) in &self.kinds {
            text.push_str(&format!(",{}={}", kind.name(), part(choice)));
        }
        text
    }
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
        parse::check_single_codec(typed)?;
        let meaning = match named::expansion(typed) {
            Some(expansion) => parse::meaning(expansion)?,
            None => parse::meaning(typed)?,
        };
        Ok(CodecSpec { typed: typed.to_owned(), meaning, own_dictionary: None })
    }
}
