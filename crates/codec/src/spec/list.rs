//! Lists and ranges of levels: one argument for several specs.

use std::fmt;
use std::str::FromStr;

use super::error::{SpecError, SpecErrorKind};
use super::{CodecSpec, SpecKind, parse};
use crate::algorithm::Algorithm;

/// The maximum number of specs that one argument may stand for.
const MAX_SPECS: usize = 1000;

/// Several specs in one argument: `zlib:1..9` and `zstd:1,3,5` stand for one spec per level, with the same options.
///
/// If two parts have several levels, the argument stands for every combination. A range leaves out numbers that are not
/// levels of the codec, such as 0 for zstd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecSpecs {
    typed: String,
    specs: Vec<CodecSpec>,
}

impl CodecSpecs {
    /// The specs in the order in which their levels were typed. There is at least one.
    pub fn specs(&self) -> &[CodecSpec] {
        &self.specs
    }
}

impl fmt::Display for CodecSpecs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.typed)
    }
}

/// A token with everything that it may stand for.
struct Token<'a> {
    /// Each alternative and its position in the argument.
    alternatives: Vec<(String, usize)>,
    /// `codec:` or `kind=codec:`, and the codec, if the token names levels.
    levels_of: Option<(&'a str, Algorithm)>,
}

/// One alternative of each token so far: a spec, and the position of each of its tokens in the argument.
#[derive(Clone, Default)]
struct Combination {
    text: String,
    typed_at: Vec<usize>,
}

impl FromStr for CodecSpecs {
    type Err = SpecError;

    fn from_str(typed: &str) -> Result<Self, SpecError> {
        parse::check_single_codec(typed)?;
        let tokens = tokens(typed)?;
        let count = tokens.iter().try_fold(1usize, |count, token| count.checked_mul(token.alternatives.len()));
        if count.is_none_or(|count| count > MAX_SPECS) {
            return Err(SpecError::new(SpecErrorKind::TooManySpecs { limit: MAX_SPECS }, typed, 0));
        }
        let mut combinations = vec![Combination::default()];
        for token in &tokens {
            let extended = combinations.iter().flat_map(|before| token.alternatives.iter().map(|one| before.with(one)));
            combinations = extended.collect();
        }
        let specs = combinations.iter().map(|combination| {
            let parsed: Result<CodecSpec, SpecError> = combination.text.parse();
            // The message shows what the user typed, even if only one of several specs is wrong.
            parsed.map_err(|error| {
                let at = combination.typed_position(typed, error.at());
                error.within(typed, at)
            })
        });
        Ok(CodecSpecs { typed: typed.to_owned(), specs: specs.collect::<Result<_, _>>()? })
    }
}

impl Combination {
    fn with(&self, (alternative, at): &(String, usize)) -> Self {
        let mut longer = self.clone();
        if !longer.typed_at.is_empty() {
            longer.text.push(',');
        }
        longer.text.push_str(alternative);
        longer.typed_at.push(*at);
        longer
    }

    /// The position in `typed`, the argument, of the byte at `position` of this spec, or that of its token if the
    /// argument does not contain the token up to that byte.
    fn typed_position(&self, typed: &str, position: usize) -> usize {
        let before = self.text.get(..position).unwrap_or_default();
        let token_start = before.rfind(',').map_or(0, |comma| comma + 1);
        let typed_at = self.typed_at.get(before.matches(',').count()).copied().unwrap_or_default();
        let token_before = self.text.get(token_start..position).unwrap_or_default();
        let begins_alike = typed.get(typed_at..).is_some_and(|rest| rest.starts_with(token_before));
        typed_at + if begins_alike { position - token_start } else { 0 }
    }
}

/// Splits the argument. The meaning of a bare number or range depends on the token before it.
fn tokens(typed: &str) -> Result<Vec<Token<'_>>, SpecError> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut at = 0;
    for text in typed.split(',') {
        let error = |kind| SpecError::new(kind, typed, at);
        match tokens.last_mut() {
            Some(Token { alternatives, levels_of: Some((head, algorithm)) }) if is_levels(text) => {
                let more = levels(text, *algorithm).map_err(error)?;
                alternatives.extend(more.iter().map(|level| (format!("{head}{level}"), at)));
            }
            _ => tokens.push(token(text, at).map_err(error)?),
        }
        at += text.len() + 1;
    }
    Ok(tokens)
}

fn token(text: &str, at: usize) -> Result<Token<'_>, SpecErrorKind> {
    let plain = Token { alternatives: vec![(text.to_owned(), at)], levels_of: None };
    let Some((head, typed_levels)) = text.split_once(':') else { return Ok(plain) };
    let codec = match head.split_once('=') {
        Some((kind, codec)) if SpecKind::from_name(kind).is_some() => codec,
        _ => head,
    };
    let Some(algorithm) = Algorithm::from_name(codec).filter(|algorithm| algorithm.levels().is_some()) else {
        return Ok(plain);
    };
    let head = text.get(..=head.len()).unwrap_or_default();
    let alternatives = match is_levels(typed_levels) {
        true => levels(typed_levels, algorithm)?.iter().map(|level| (format!("{head}{level}"), at)).collect(),
        false => plain.alternatives,
    };
    Ok(Token { alternatives, levels_of: Some((head, algorithm)) })
}

/// Whether `text` is a number or a range of numbers.
fn is_levels(text: &str) -> bool {
    let is_number = |text: &str| text.parse::<i32>().is_ok();
    is_number(text) || text.split_once("..").is_some_and(|(first, last)| is_number(first) && is_number(last))
}

/// The levels that a number or a range stands for. A number stays as it was typed.
fn levels(text: &str, algorithm: Algorithm) -> Result<Vec<String>, SpecErrorKind> {
    let Some((first, last)) = text.split_once("..") else { return Ok(vec![text.to_owned()]) };
    let bad = || SpecErrorKind::bad_level(algorithm, text);
    let (first, last): (i32, i32) = (first.parse().map_err(|_| bad())?, last.parse().map_err(|_| bad())?);
    let valid = algorithm.levels().ok_or_else(bad)?;
    if !valid.range.contains(&first) || !valid.range.contains(&last) {
        return Err(bad());
    }
    if first.abs_diff(last) as usize >= MAX_SPECS {
        return Err(SpecErrorKind::TooManySpecs { limit: MAX_SPECS });
    }
    let mut found: Vec<String> =
        (first.min(last)..=first.max(last)).filter(|level| valid.contains(*level)).map(|l| l.to_string()).collect();
    if first > last {
        found.reverse();
    }
    if found.is_empty() { Err(bad()) } else { Ok(found) }
}
