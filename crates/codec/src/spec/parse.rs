//! Parses the text of a spec. A token is the text between two commas.

use super::choice::{CodecChoice, DictionarySource, default_loose_level};
use super::error::{SpecError, SpecErrorKind};
use super::option::OptionName;
use super::{Meaning, SpecKind};
use crate::algorithm::Algorithm;
use crate::codecs::descriptor::Levels;

/// The minimum length of a dictionary, in bytes: a smaller one cannot be trained.
const MIN_DICTIONARY: usize = crate::training::MIN_DICTIONARY_LEN;

/// The valid windows of zstd, as binary logarithms of their length in bytes: from its own minimum to the maximum that a
/// reader accepts.
const WINDOW_LOGS: std::ops::RangeInclusive<u32> = 10..=crate::codecs::zstd::frame::MAX_WINDOW_LOG;

/// A part of a spec whose options are being read.
struct SpecPart {
    kind: Option<SpecKind>,
    choice: CodecChoice,
    loose: Option<i32>,
    seen: Vec<OptionName>,
}

/// The options that apply to all parts of a spec, whichever part they follow.
#[derive(Default)]
struct OptionsOfAll {
    max_chain: Option<u32>,
    numbers: bool,
}

impl OptionsOfAll {
    /// Checks that no part needs bases where objects are numbered, and that chunks have checksums: a damaged number
    /// names another object.
    fn check_conflicts(&self, parts: &[SpecPart]) -> Result<(), SpecErrorKind> {
        for SpecPart { choice, .. } in parts.iter().filter(|_| self.numbers) {
            let options = [(choice.prefix, "prefix"), (choice.patch, "patch"), (!choice.checksum, "checksum=no")];
            for (is_typed, option) in options {
                if is_typed {
                    return Err(SpecErrorKind::Conflict { first: option, second: "ids=number" });
                }
            }
        }
        Ok(())
    }
}

/// Parses a spec that is not the name of one.
pub(super) fn meaning(typed: &str) -> Result<Meaning, SpecError> {
    let mut parts: Vec<SpecPart> = Vec::new();
    let mut of_all = OptionsOfAll::default();
    let mut at = 0;
    for token in typed.split(',') {
        let kind = token.split_once('=').and_then(|(name, codec)| Some((SpecKind::from_name(name)?, codec)));
        let is_repeated = kind.is_some_and(|(kind, _)| parts.iter().any(|part| part.kind == Some(kind)));
        let result = match (kind, parts.last_mut()) {
            (Some((kind, _)), _) if is_repeated => Err(SpecErrorKind::RepeatedKind { kind: kind.name() }),
            (Some((kind, codec)), _) => SpecPart::new(Some(kind), codec).map(|part| parts.push(part)),
            (None, None) => SpecPart::new(None, token).map(|part| parts.push(part)),
            (None, Some(part)) => part.option(token, &mut of_all),
        };
        // An error in the codec of a part is after the name of the kind.
        let is_codec = matches!(
            result,
            Err(SpecErrorKind::NotBuiltIn { .. }
                | SpecErrorKind::UnknownCodec { .. }
                | SpecErrorKind::BadLevel { .. }
                | SpecErrorKind::NoLevels { .. })
        );
        let mut skipped = kind.filter(|_| is_codec).map_or(0, |(kind, _)| kind.name().len() + 1);
        // An error in the level is after the name of the codec.
        if let Err(SpecErrorKind::BadLevel { .. } | SpecErrorKind::NoLevels { .. } | SpecErrorKind::SeveralLevels) =
            result
        {
            let value = token.rfind([':', '=']).map_or(0, |separator| separator + 1);
            skipped = skipped.max(value);
        }
        let result = result.and_then(|()| of_all.check_conflicts(&parts));
        result.map_err(|kind| SpecError::new(kind, typed, at + skipped))?;
        at += token.len() + 1;
    }
    let mut default = CodecChoice::of(Algorithm::Zlib);
    let mut kinds = Vec::new();
    for part in parts {
        let kind = part.kind;
        let choice = part.finish();
        match kind {
            Some(kind) => kinds.push((kind, choice)),
            None => default = choice,
        }
    }
    Ok(Meaning::new(default, kinds, of_all.max_chain, of_all.numbers))
}

/// Rejects a codec where an option is expected, as in `zstd:5,zstd:9`.
pub(super) fn check_single_codec(typed: &str) -> Result<(), SpecError> {
    let is_codec = |token: &str| {
        let name = token.split(':').next().unwrap_or_default();
        Algorithm::from_name(name).is_some() || super::named_specs().iter().any(|(named, _)| *named == name)
    };
    let mut specs: Vec<String> = Vec::new();
    let (mut at, mut second) = (0, None);
    for token in typed.split(',') {
        match specs.last_mut() {
            Some(spec) if !is_codec(token) => {
                spec.push(',');
                spec.push_str(token);
            }
            last => {
                if last.is_some() {
                    second.get_or_insert(at);
                }
                specs.push(token.to_owned());
            }
        }
        at += token.len() + 1;
    }
    second.map_or(Ok(()), |at| Err(SpecError::new(SpecErrorKind::SecondCodec { specs }, typed, at)))
}

impl SpecPart {
    fn new(kind: Option<SpecKind>, codec: &str) -> Result<Self, SpecErrorKind> {
        let (name, level) = match codec.split_once(':') {
            Some((name, level)) => (name, Some(level)),
            None => (codec, None),
        };
        if cfg!(not(feature = "zlib-ng")) && matches!(name, "zlib-ng" | "zlib_ng" | "zlibng") {
            return Err(SpecErrorKind::NotBuiltIn { codec: "zlib-ng", feature: "zlib-ng" });
        }
        if let Some((name, spec)) = super::named_specs().iter().find(|(named, _)| *named == name) {
            return Err(SpecErrorKind::NamedWithMore { name, spec });
        }
        let algorithm = Algorithm::from_name(name).ok_or_else(|| SpecErrorKind::unknown_codec(name, level))?;
        let level = match (algorithm.levels(), level) {
            (Some(levels), Some(text)) => Some(parse_level(text, algorithm, &levels)?),
            (Some(levels), None) => Some(levels.default),
            (None, Some(text)) => {
                return Err(SpecErrorKind::NoLevels { codec: algorithm.name(), typed: text.to_owned() });
            }
            (None, None) => None,
        };
        Ok(SpecPart { kind, choice: CodecChoice::at(algorithm, level), loose: None, seen: Vec::new() })
    }

    /// Takes an option.
    fn option(&mut self, token: &str, of_all: &mut OptionsOfAll) -> Result<(), SpecErrorKind> {
        let (name, value) = match token.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (token, None),
        };
        let algorithm = self.choice.algorithm;
        let found = OptionName::ALL.into_iter().find(|option| option.name() == name);
        let Some(option) = found else {
            let is_level = token.parse::<i32>().is_ok() || token.contains("..");
            return Err(if is_level {
                SpecErrorKind::SeveralLevels
            } else {
                SpecErrorKind::unknown_option(name, algorithm)
            });
        };
        if !option.applies_to(algorithm) {
            return Err(SpecErrorKind::OptionNotForCodec { option: option.name(), codec: algorithm.name() });
        }
        if self.seen.contains(&option) {
            return Err(SpecErrorKind::RepeatedOption { option: option.name() });
        }
        self.seen.push(option);
        let typed = value.unwrap_or_default();
        let bad = || SpecErrorKind::BadValue {
            option: option.name(),
            typed: typed.to_owned(),
            valid: if option.values().is_empty() { "no value".to_owned() } else { option.values().to_owned() },
        };
        match option {
            OptionName::Checksum => self.choice.checksum = choice(typed, ["no", "yes"]).ok_or_else(bad)?,
            OptionName::StoreIfLarger => self.choice.store_if_larger = choice(typed, ["no", "yes"]).ok_or_else(bad)?,
            OptionName::Frame => {
                self.choice.standard_frame = choice(typed, ["magicless", "standard"]).ok_or_else(bad)?;
            }
            OptionName::Ids if typed != "number" => return Err(bad()),
            OptionName::Ids if of_all.numbers => {
                return Err(SpecErrorKind::RepeatedOption { option: option.name() });
            }
            OptionName::Ids => of_all.numbers = true,
            OptionName::Loose => {
                let levels = algorithm.levels().ok_or_else(bad)?;
                self.loose = Some(parse_level(typed, algorithm, &levels)?);
            }
            OptionName::Window => {
                let log = number(typed).filter(|log| WINDOW_LOGS.contains(log));
                self.choice.window_log = Some(log.ok_or_else(bad)?);
            }
            OptionName::Dict => self.choice.dictionary = Some(dictionary(typed, algorithm)?),
            OptionName::MaxChain => {
                let limit: u32 = number(typed).ok_or_else(bad)?;
                if of_all.max_chain.replace(limit).is_some() {
                    return Err(SpecErrorKind::RepeatedOption { option: option.name() });
                }
            }
            OptionName::Patch | OptionName::Prefix if value.is_some() => return Err(bad()),
            OptionName::Patch => self.choice.patch = true,
            OptionName::Prefix => self.choice.prefix = true,
        }
        self.check_conflicts()
    }

    /// Checks that a standard frame, which cannot name a dictionary or a base, needs none.
    fn check_conflicts(&self) -> Result<(), SpecErrorKind> {
        let CodecChoice { standard_frame, dictionary, prefix, patch, .. } = &self.choice;
        for (is_typed, option) in [(dictionary.is_some(), "dict="), (*prefix, "prefix"), (*patch, "patch")] {
            if *standard_frame && is_typed {
                return Err(SpecErrorKind::Conflict { first: option, second: "frame=standard" });
            }
        }
        Ok(())
    }

    fn finish(self) -> CodecChoice {
        let CodecChoice { algorithm, level, .. } = self.choice;
        CodecChoice { loose: self.loose.or_else(|| default_loose_level(algorithm, level)), ..self.choice }
    }
}

/// A decimal number with an optional minus sign, within the levels of `algorithm`.
fn parse_level(text: &str, algorithm: Algorithm, levels: &Levels) -> Result<i32, SpecErrorKind> {
    let bad = || SpecErrorKind::bad_level(algorithm, text);
    if text.split_once("..").is_some_and(|(first, last)| first.parse::<i32>().is_ok() && last.parse::<i32>().is_ok()) {
        return Err(SpecErrorKind::SeveralLevels);
    }
    // `str::parse` also accepts a plus sign, which our documentation does not offer.
    if text.starts_with('+') {
        return Err(bad());
    }
    let level = text.parse().map_err(|_| bad())?;
    if levels.contains(level) { Ok(level) } else { Err(bad()) }
}

/// False for the first word, true for the second.
fn choice(value: &str, words: [&str; 2]) -> Option<bool> {
    words.iter().position(|word| *word == value).map(|position| position == 1)
}

/// A decimal number without a sign.
fn number<N: std::str::FromStr>(text: &str) -> Option<N> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A size, `file`, or `file-` and the first digits of the file's hash, which identify the file in a variant.
fn dictionary(typed: &str, algorithm: Algorithm) -> Result<DictionarySource, SpecErrorKind> {
    let longest = algorithm.longest_dictionary().unwrap_or_default();
    let bad = || SpecErrorKind::BadValue {
        option: OptionName::Dict.name(),
        typed: typed.to_owned(),
        valid: format!("a size from {MIN_DICTIONARY} to {}k for {}, or file", longest >> 10, algorithm.name()),
    };
    if typed == "file" {
        return Ok(DictionarySource::File { digits: String::new() });
    }
    if let Some(digits) = typed.strip_prefix("file-") {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let are_digits = !digits.is_empty() && digits.len() <= 64 && digits.bytes().all(is_digit);
        return if are_digits { Ok(DictionarySource::File { digits: digits.to_owned() }) } else { Err(bad()) };
    }
    let max_len = parse_size(typed).filter(|size| (MIN_DICTIONARY..=longest).contains(size)).ok_or_else(bad)?;
    Ok(DictionarySource::Trained { max_len })
}

/// Parses a number of bytes, or of KiB, MiB or GiB with the suffix `k`, `m` or `g`, like zstd. Capitals, and a `B` or
/// `iB` at the end, are also valid: `500`, `112k`, `112KiB`, `16M`.
pub fn parse_size(typed: &str) -> Option<usize> {
    let lower = typed.to_ascii_lowercase();
    let digits = lower.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match lower.get(digits.len()..)? {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return None,
    };
    number::<usize>(digits)?.checked_mul(factor)
}
