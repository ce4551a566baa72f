//! Names that options and commands had in earlier versions. They still work, and a note says what replaced them. A
//! command that never had such an option names the one it has.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use clap::Command;

use crate::{
    failure::{Failure, USAGE},
    output::{atomic_file::is_json, shell_line},
};

/// A command that was renamed.
const COMMANDS: [(&str, &str); 1] = [("compare", "diff")];

/// Options that were renamed: command, former name, name.
const OPTIONS: [(&str, &str, &str); 6] = [
    ("experiment", "--budget", "--time"),
    ("experiment", "--out", "--output"),
    ("experiment", "--runs", "--blocks"),
    ("payloads", "--export", "--output"),
    ("replay", "--into", "--output"),
    ("serve", "--runs", "--blocks"),
];

/// What a former name of any command means: the option of that meaning, and those that do it in commands without one.
const MEANINGS: [(&str, &str, &[&str]); 5] = [
    ("--budget", "--time", &[]),
    ("--runs", "--blocks", &[]),
    ("--out", "--output", &FORMS),
    ("--into", "--output", &FORMS),
    ("--export", "--output", &FORMS),
];
/// Options that name a file to write.
const FORMS: [&str; 4] = ["--json", "--html", "--markdown", "--csv"];

/// The command that reads files of records.
const REPORT: &str = "report";
/// Options that once took no value and printed: command, option.
const PRINTED: [(&str, &str); 11] = [
    ("alternatives", "--csv"),
    ("alternatives", "--markdown"),
    ("bench", "--csv"),
    ("bench", "--markdown"),
    ("report", "--csv"),
    ("report", "--json"),
    ("report", "--markdown"),
    ("size", "--csv"),
    ("size", "--markdown"),
    ("trace", "--csv"),
    ("trace", "--markdown"),
];

/// The words of a command line with today's names, and a note about each name that was replaced.
pub(super) fn replace(typed: &[OsString]) -> (Vec<OsString>, Vec<String>) {
    let mut words = typed.to_vec();
    let mut notes = Vec::new();
    // `help compare` shows the help of the command.
    let place = if words.get(1).is_some_and(|word| word == "help") { 2 } else { 1 };
    if let Some(word) = words.get_mut(place)
        && let Some((former, name)) = COMMANDS.iter().find(|(former, _)| word == former)
    {
        *word = (*name).into();
        note(&mut notes, former, name);
    }
    let Some(command) = words.get(1).and_then(|word| word.to_str()).map(str::to_owned) else { return (words, notes) };
    // What follows `--` is not for this program.
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    for word in words.iter_mut().take(end).skip(2) {
        for (_, former, name) in OPTIONS.iter().filter(|(of, ..)| *of == command) {
            if let Some(replaced) = with_name(word, former, name) {
                *word = replaced;
                note(&mut notes, former, name);
            }
        }
    }
    print_without_value(&command, &mut words, end, &mut notes);
    (words, notes)
}

/// The failure to name instead of clap's, which suggests an option of similar letters: `words` have a former name that
/// this command never had. `None` if something else is wrong.
pub(super) fn elsewhere(words: &[OsString], program: &Command) -> Option<Failure> {
    let (mut command, mut path) = (program, Vec::new());
    let mut options = words.get(1..).unwrap_or_default().split(|word| word == "--").next().unwrap_or_default();
    while let [name, rest @ ..] = options
        && let Some(found) = name.to_str().and_then(|name| command.find_subcommand(name))
    {
        path.push(found.get_name());
        (command, options) = (found, rest);
    }
    let has = |option: &str| command.get_arguments().any(|arg| arg.get_long() == option.strip_prefix("--"));
    let (former, name, others, word) = options.iter().find_map(|word| {
        let is_meant = |former: &str| !has(former) && with_name(word, former, former).is_some();
        let (former, name, others) = MEANINGS.iter().find(|(former, ..)| is_meant(former))?;
        Some((former, name, others, word))
    })?;
    let refuse = |how: &str| Failure::new(USAGE, format!("{} has no {former}: {how}", path.join(" ")));
    if has(name) {
        let renamed = words.iter().map(|typed| match typed == word {
            true => with_name(typed, former, name).unwrap_or_else(|| typed.clone()),
            false => typed.clone(),
        });
        let own = std::iter::once(env!("CARGO_BIN_NAME").into());
        let line = shell_line(&own.chain(renamed.skip(1)).collect::<Vec<OsString>>());
        return Some(refuse(&format!("the option is {name}")).with_hint(line));
    }
    let others: Vec<&str> = others.iter().copied().filter(|option| has(option)).collect();
    match others[..] {
        [] => None,
        [option] => Some(refuse(&format!("{option} FILE writes a file"))),
        [ref first @ .., last] => Some(refuse(&format!("{} or {last} FILE writes a file", first.join(", ")))),
    }
}

/// Gives options that once took no value the value `-`, where none follows. A file of records after such an option of
/// `report` is one to read, as it was then.
fn print_without_value(command: &str, words: &mut Vec<OsString>, end: usize, notes: &mut Vec<String>) {
    let is_value = |word: &OsString| word == "-" || !word.to_string_lossy().starts_with('-');
    let is_read = |word: &OsString| command == REPORT && is_json(Path::new(word));
    for at in (2..end).rev() {
        let is_printed = |word: &OsString| PRINTED.iter().any(|(of, option)| *of == command && word == option);
        let Some(option) = words.get(at).filter(|word| is_printed(word)).cloned() else { continue };
        if !words.get(at + 1).is_some_and(|word| is_value(word) && !is_read(word)) {
            words.insert(at + 1, "-".into());
            let option = option.display();
            note(notes, &option.to_string(), &format!("{option} -, or {option} FILE"));
        }
    }
}

/// `word` under another name if it is the option `former`, alone or with a value after `=`.
fn with_name(word: &OsStr, former: &str, name: &str) -> Option<OsString> {
    if word == former {
        return Some(name.into());
    }
    let value = word.to_str()?.strip_prefix(former)?.strip_prefix('=')?;
    Some(format!("{name}={value}").into())
}

/// Adds a note once.
fn note(notes: &mut Vec<String>, former: &str, name: &str) {
    let note = format!("{former} is now {name}");
    if !notes.contains(&note) {
        notes.push(note);
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Arguments;

    fn replaced(line: &str) -> (String, Vec<String>) {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let (words, notes) = replace(&words);
        (words.join(OsStr::new(" ")).into_string().unwrap(), notes)
    }

    #[test]
    fn former_names_become_todays_with_one_note() {
        for (typed, meant, expected) in [
            ("p compare a b", "p diff a b", &["compare is now diff"][..]),
            ("p help compare", "p help diff", &["compare is now diff"]),
            ("p experiment x --budget 1m", "p experiment x --time 1m", &["--budget is now --time"]),
            (
                "p experiment x --budget=1m --out=d",
                "p experiment x --time=1m --output=d",
                &["--budget is now --time", "--out is now --output"],
            ),
            ("p serve r --runs 2", "p serve r --blocks 2", &["--runs is now --blocks"]),
            (
                "p report a --markdown",
                "p report a --markdown -",
                &["--markdown is now --markdown -, or --markdown FILE"],
            ),
            ("p report --json --quiet a", "p report --json - --quiet a", &["--json is now --json -, or --json FILE"]),
        ] {
            assert_eq!(replaced(typed), (meant.to_owned(), expected.iter().map(ToString::to_string).collect()));
        }
    }

    #[test]
    fn commands_that_never_had_a_name_say_which_they_have() {
        let program = Arguments::command();
        let answer = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            elsewhere(&words, &program).map(|failure| failure.to_string())
        };
        for (line, expected) in [
            ("p bench r --budget 1m", "bench has no --budget: the option is --time"),
            ("p bench --runs=5 r", "bench has no --runs: the option is --blocks"),
            ("p estimate r --budget 1m", "estimate has no --budget: the option is --time"),
            ("p convert r --into x", "convert has no --into: the option is --output"),
            ("p train r --out x", "train has no --out: the option is --output"),
            ("p bench r --out x", "bench has no --out: --json, --html, --markdown or --csv FILE writes a file"),
            ("p diff a b --export x", "diff has no --export: --json or --markdown FILE writes a file"),
            (
                "p fleet summarize a --out x",
                "fleet summarize has no --out: --json, --html, --markdown or --csv FILE writes a file",
            ),
        ] {
            assert_eq!(answer(line).as_deref(), Some(expected), "{line}");
        }
        for line in ["p", "p bench r --budge 1m", "p exec r -- git --out", "p schema --out x", "p none --out x"] {
            assert_eq!(answer(line), None, "{line}");
        }
    }

    #[test]
    fn other_words_stay() {
        for line in [
            "p",
            "p exec r -- git --out --budget x",
            "p size r --markdown - --json x",
            "p size r --markdown file",
            "p bench r --time 1m --blocks 3",
            "p train --out x",
            "p size compare",
        ] {
            assert_eq!(replaced(line), (line.to_owned(), Vec::new()));
        }
    }

    #[test]
    fn tables_name_commands_and_options_that_exist() {
        let mut program = Arguments::command();
        program.build();
        let has = |command: &str, option: &str| {
            let command = program.find_subcommand(command).unwrap_or_else(|| panic!("{command}"));
            command.get_arguments().any(|arg| arg.get_long() == option.strip_prefix("--"))
        };
        for (former, name) in COMMANDS {
            assert!(program.find_subcommand(name).is_some() && program.find_subcommand(former).is_none());
        }
        for (command, former, name) in OPTIONS {
            assert!(has(command, name) && !has(command, former), "{command} {former}");
        }
        for (command, option) in PRINTED {
            assert!(has(command, option), "{command} {option}");
        }
        for (former, name) in OPTIONS.map(|(_, former, name)| (former, name)) {
            assert!(MEANINGS.iter().any(|meaning| (meaning.0, meaning.1) == (former, name)), "{former}");
        }
    }
}
