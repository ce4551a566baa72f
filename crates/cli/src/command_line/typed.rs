//! The words of a command line as arguments, before clap parses them.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Command};

use crate::output::shell_line;

/// An argument as typed: an option with its value, or the value of a positional argument.
pub(super) struct TypedArgument<'c> {
    /// Its declaration; `None` for an unknown option, which clap rejects later.
    pub(super) declared: Option<&'c Arg>,
    pub(super) words: Vec<OsString>,
}

impl TypedArgument<'_> {
    pub(super) fn is(&self, id: &str) -> bool {
        self.declared.is_some_and(|arg| arg.get_id() == id)
    }

    pub(super) fn is_one_of(&self, ids: &[&str]) -> bool {
        ids.iter().any(|id| self.is(id))
    }

    /// The value of an option.
    pub(super) fn value(&self) -> Option<OsString> {
        match &self.words[..] {
            [option] => option.to_str()?.split_once('=').map(|(_, value)| value.into()),
            [_, value, ..] => Some(value.clone()),
            [] => None,
        }
    }

    /// Whether this argument, given now, takes the place of `recorded`: it is the same, or excludes it.
    pub(super) fn replaces(&self, recorded: &TypedArgument<'_>, command: &Command) -> bool {
        let (Some(own), Some(other)) = (self.declared, recorded.declared) else { return false };
        let excludes = |one: &Arg, two: &Arg| {
            command.get_arg_conflicts_with(one).iter().any(|excluded| excluded.get_id() == two.get_id())
        };
        own.get_id() == other.get_id() || excludes(own, other) || excludes(other, own)
    }

    pub(super) fn shown(&self) -> String {
        shell_line(&self.words)
    }
}

/// Splits the words after the name of `command` into arguments.
pub(super) fn arguments<'c>(command: &'c Command, words: &[OsString]) -> Vec<TypedArgument<'c>> {
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (declared, has_value) = declaration(command, word);
        let mut own = vec![word.clone()];
        if !has_value && declared.is_some_and(|arg| !arg.is_positional() && arg.get_action().takes_values()) {
            own.extend(words.next().cloned());
        }
        found.push(TypedArgument { declared, words: own });
    }
    found
}

/// The declaration of the argument that starts with `word`, and whether the word holds its value, too.
fn declaration<'c>(command: &'c Command, word: &OsStr) -> (Option<&'c Arg>, bool) {
    let text = word.to_string_lossy();
    if let Some(long) = text.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        return (command.get_arguments().find(|arg| arg.get_long() == Some(name)), value.is_some());
    }
    match text.strip_prefix('-').and_then(|rest| rest.chars().next()) {
        Some(short) => (command.get_arguments().find(|arg| arg.get_short() == Some(short)), text.chars().count() > 2),
        None => (command.get_positionals().next(), true),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Arguments;

    fn split(line: &str) -> Vec<(String, String)> {
        let program = Arguments::command();
        let bench = program.find_subcommand("bench").unwrap();
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let id = |argument: &TypedArgument| argument.declared.map_or("?".to_owned(), |arg| arg.get_id().to_string());
        arguments(bench, &words).iter().map(|argument| (id(argument), argument.shown())).collect()
    }

    #[test]
    fn options_are_split_with_their_values() {
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(id, words)| ((*id).to_owned(), (*words).to_owned())).collect()
        };
        assert_eq!(
            split("repo --codec zstd:5 --blocks=3 -q --self-test --no-such x"),
            pairs(&[
                ("repository", "repo"),
                ("codecs", "--codec zstd:5"),
                ("blocks", "'--blocks=3'"),
                ("quiet", "-q"),
                ("self_test", "--self-test"),
                ("?", "--no-such"),
                ("repository", "x"),
            ])
        );
    }
}
