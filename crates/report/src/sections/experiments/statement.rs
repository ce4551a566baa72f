//! Statements of results in words.
//!
//! A statement holds an identifier and values; [`wording`](super::wording) has its sentence, in which `{name}` stands for a value:
//!
//! | placeholder | shows |
//! |---|---|
//! | `{name}` | a figure in its unit, with its interval where it has one; a name as it is; a phrase in words; a list as `a, b and c` |
//! | `{name:value}` | a figure without its interval |
//! | `{name:size}` | a ratio of sizes, which is exact: three decimals |
//! | `{name:part}` | a share of which only all is `100 %` and only none is `0 %` |
//! | `{name:kib}` | bytes in KiB (1024 bytes), the unit of pages and of reading ahead |
//! | `{name:page/pages}` | a count with its noun |

use repackbench_records::{Figure, Statement, StatementValue, StoredStatement, Unit};

use super::{wording::wording, words::figure};
use crate::number;

/// A statement as a sentence that begins with a capital letter, unless it begins with a name.
pub fn sentence(statement: &Statement) -> String {
    let mut text = String::new();
    write_phrase(&mut text, statement, true);
    text
}

/// Statements as sentences of one paragraph.
pub(crate) fn paragraph(statements: &[Statement]) -> String {
    statements.iter().map(sentence).collect::<Vec<_>>().join(" ")
}

/// Statements as phrases of one line, with commas between them.
pub(crate) fn enumeration(statements: &[Statement]) -> String {
    let phrase = |statement: &Statement| {
        let mut text = String::new();
        write_phrase(&mut text, statement, false);
        text
    };
    statements.iter().map(phrase).collect::<Vec<_>>().join(", ")
}

/// A statement as a sentence, or the text that an older version stored.
pub(crate) fn stored_sentence(stored: &StoredStatement) -> String {
    match stored {
        StoredStatement::Statement(statement) => sentence(statement),
        StoredStatement::Text(text) => text.clone(),
    }
}

/// What keeps `statement` from being shown in full: identifiers without words, placeholders without values, values that no placeholder shows.
/// Of its phrases, too.
pub fn wording_problems(statement: &Statement) -> Vec<String> {
    let mut problems: Vec<String> = statement.values.values().flat_map(value_problems).collect();
    let Some(template) = wording(&statement.id) else {
        problems.push(format!("{}: no wording", statement.id));
        return problems;
    };
    let names: Vec<&str> = pieces(template)
        .filter_map(|piece| if let Piece::Value { name, .. } = piece { Some(name) } else { None })
        .collect();
    let missing = names.iter().filter(|name| !statement.values.contains_key(**name));
    problems.extend(missing.map(|name| format!("{}: no value {name}", statement.id)));
    let unused = statement.values.keys().filter(|name| !names.contains(&name.as_str()));
    problems.extend(unused.map(|name| format!("{}: {name} is not shown", statement.id)));
    problems
}

fn value_problems(value: &StatementValue) -> Vec<String> {
    match value {
        StatementValue::Phrase(phrase) => wording_problems(phrase),
        StatementValue::List(values) => values.iter().flat_map(value_problems).collect(),
        StatementValue::Figure(_) | StatementValue::Name(_) => Vec::new(),
    }
}

/// A part of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece<'a> {
    Words(&'a str),
    Value { name: &'a str, style: &'a str },
}

fn pieces(template: &str) -> impl Iterator<Item = Piece<'_>> {
    // Every second part is in braces.
    template.split(['{', '}']).enumerate().map(|(at, part)| {
        if at % 2 == 0 {
            Piece::Words(part)
        } else {
            let (name, style) = part.split_once(':').unwrap_or((part, ""));
            Piece::Value { name, style }
        }
    })
}

fn write_phrase(text: &mut String, statement: &Statement, begins_sentence: bool) {
    let Some(template) = wording(&statement.id) else { return write_unknown(text, statement) };
    let mut begins_sentence = begins_sentence;
    for piece in pieces(template).filter(|piece| *piece != Piece::Words("")) {
        match piece {
            Piece::Words(words) if begins_sentence => text.push_str(&capitalized(words)),
            Piece::Words(words) => text.push_str(words),
            Piece::Value { name, style } => match statement.values.get(name) {
                Some(value) => write_value(text, value, style, begins_sentence),
                None => text.push('-'),
            },
        }
        begins_sentence = false;
    }
}

fn write_value(text: &mut String, value: &StatementValue, style: &str, begins_sentence: bool) {
    match value {
        StatementValue::Figure(figure) => text.push_str(&figure_text(figure, style)),
        StatementValue::Name(name) => text.push_str(name),
        StatementValue::Phrase(phrase) => write_phrase(text, phrase, begins_sentence),
        StatementValue::List(values) => {
            for (at, value) in values.iter().enumerate() {
                text.push_str(match at {
                    0 => "",
                    at if at + 1 == values.len() => " and ",
                    _ => ", ",
                });
                write_value(text, value, style, begins_sentence && at == 0);
            }
        }
    }
}

/// A statement of a later version of this program, as far as it can be shown.
fn write_unknown(text: &mut String, statement: &Statement) {
    text.push_str(&statement.id);
    for (name, value) in &statement.values {
        text.push_str(&format!(" {name} "));
        write_value(text, value, "", false);
    }
}

/// Names of programs and codecs, which keep their small letter at the beginning of a sentence.
const NAMES: [&str; 12] =
    ["bzip2", "find", "git", "gzip", "hg", "libdeflate", "lz4", "lz4hc", "lzo", "rev-list", "zlib", "zstd"];

fn capitalized(words: &str) -> String {
    let first_word = words.split([' ', ',', '\'', ':']).next().unwrap_or_default();
    let mut letters = words.chars();
    match letters.next() {
        Some(first) if !NAMES.contains(&first_word) => first.to_uppercase().chain(letters).collect(),
        _ => words.to_owned(),
    }
}

fn figure_text(of: &Figure, style: &str) -> String {
    let show = |value: f64| match (style, of.unit) {
        ("size", Unit::Ratio) => number::three_decimals(value),
        ("part", Unit::Share) => number::exact_share(value),
        // Units of tables end at microseconds.
        (_, Unit::Seconds) if (0.5e-9..1e-7).contains(&value) => format!("{:.0} ns", value * 1e9),
        ("kib", Unit::Bytes) => format!("{} KiB", number::thousands(value as u64 >> 10)),
        (nouns, Unit::Count) if nouns.contains('/') => counted(value, nouns),
        (_, Unit::Ratio) => number::multiple(value),
        (_, unit) => signed(value, unit),
    };
    match of.interval.filter(|_| style != "value") {
        Some([low, high]) => format!("{} [{}, {}]", show(of.value), show(low), show(high)),
        None => show(of.value),
    }
}

/// A figure that may be below zero, such as a time that is saved.
fn signed(value: f64, unit: Unit) -> String {
    if value < 0.0 { format!("-{}", figure(-value, unit)) } else { figure(value, unit) }
}

fn counted(value: f64, nouns: &str) -> String {
    let (one, many) = nouns.split_once('/').unwrap_or((nouns, nouns));
    number::counted(value as u64, one, many)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_in_their_units() {
        let interval = Some([0.4, 0.625]);
        for (figure, style, text) in [
            (Figure { interval, ..Figure::ratio(0.5) }, "", "0.50 [0.40, 0.62]"),
            (Figure { interval, ..Figure::ratio(0.5) }, "value", "0.50"),
            (Figure::ratio(0.98765), "size", "0.988"),
            (Figure::seconds(-0.25), "", "-250 ms"),
            (Figure::bytes(131_072.0), "kib", "128 KiB"),
            (Figure::seconds(2.4e-8), "", "24 ns"),
            (Figure::count(1_u64), "page/pages", "1 page"),
            (Figure::count(1200_u64), "page/pages", "1,200 pages"),
            (Figure::share(0.000_123), "part", "0.012 %"),
            (Figure::share(0.9996), "part", "99.960 %"),
            (Figure::share(1.0), "part", "100 %"),
            (Figure::share(0.031), "", "3.1 %"),
        ] {
            assert_eq!(figure_text(&figure, style), text);
        }
    }

    #[test]
    fn sentences_begin_with_a_capital_and_names_do_not() {
        let what = |spec: &str| Statement::new("under").with("what", "git rev-list").with("spec", spec);
        let statement = Statement::new("not-measured").with("what", what("zstd:3"));
        assert_eq!(sentence(&statement), "git rev-list under zstd:3 was not measured.");
        let statement =
            Statement::new("not-measured").with("what", Statement::new("full-repack").with("spec", "zstd:3"));
        assert_eq!(sentence(&statement), "A full repack under zstd:3 was not measured.");
        assert_eq!(wording_problems(&statement), [""; 0]);
        assert_eq!(sentence(&Statement::new("own-lzo")), "lzo is this project's own encoder at lzop's levels.");
        let list = Statement::new("not-measured").with("what", vec!["zstd:1", "zstd:5", "zstd:7"]);
        assert_eq!(sentence(&list), "zstd:1, zstd:5 and zstd:7 was not measured.");
    }

    #[test]
    fn statements_of_later_versions_are_shown_as_they_are() {
        let statement = Statement::new("of-the-future").with("ratio", Figure::ratio(0.5));
        assert_eq!(sentence(&statement), "of-the-future ratio 0.50");
        assert_eq!(wording_problems(&statement), ["of-the-future: no wording"]);
        let incomplete = Statement::new("not-measured").with("floor", Figure::share(0.01));
        assert_eq!(wording_problems(&incomplete), ["not-measured: no value what", "not-measured: floor is not shown"]);
    }
}
