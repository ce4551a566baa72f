//! `exec` without the `--` before its command, as in `exec repo git log`, or without a command.

use std::{ffi::OsString, path::Path};

use clap::Command;

use super::typed::{TypedArgument, arguments};
use crate::{
    failure::{Failure, USAGE},
    options::enclosing_repository,
    output::shell_line,
};

/// The name of the command that takes a command.
const EXEC: &str = "exec";

/// The failure to name instead of clap's, which calls the command an unexpected argument. `None` if something else is
/// wrong.
pub(super) fn missing(words: &[OsString], program: &Command) -> Option<Failure> {
    let [_, name, rest @ ..] = words else { return None };
    if name != EXEC || rest.iter().any(|word| word == "--") {
        return None;
    }
    let exec = program.find_subcommand(EXEC)?;
    let mut start = 0;
    let mut found = None;
    for argument in arguments(exec, rest) {
        let is_positional = argument.declared.is_some_and(clap::Arg::is_positional);
        // The first word may be the repository. No program has the name of a folder.
        let is_repository = argument.words.first().is_some_and(|word| is_repository(Path::new(word)));
        if is_positional && !is_repository {
            found = Some(start);
            break;
        }
        start += argument.words.len();
    }
    let (own, command) = rest.split_at_checked(found?)?;
    let line = [&[env!("CARGO_BIN_NAME").into(), name.clone()], own, &["--".into()], command].concat();
    Some(Failure::new(USAGE, "exec: expected -- before the command").with_hint(shell_line(&line)))
}

/// The failure to name where there is no command, with an example. `None` for another command than `exec`.
pub(super) fn without_command(words: &[OsString], program: &Command) -> Option<Failure> {
    let [_, name, rest @ ..] = words else { return None };
    if name != EXEC {
        return None;
    }
    let exec = program.find_subcommand(EXEC)?;
    let own: Vec<OsString> = rest.iter().take_while(|word| *word != "--").cloned().collect();
    let is_of_hg = |argument: &TypedArgument<'_>| {
        let is_positional = argument.declared.is_some_and(clap::Arg::is_positional);
        is_positional && argument.words.first().is_some_and(|word| Path::new(word).join(".hg").is_dir())
    };
    let client = if arguments(exec, &own).iter().any(is_of_hg) { "hg" } else { "git" };
    let example = ["--", client, "log"].map(OsString::from);
    let line = [&[env!("CARGO_BIN_NAME").into(), name.clone()], &own[..], &example].concat();
    Some(Failure::new(USAGE, "exec: expected a command after --").with_hint(shell_line(&line)))
}

/// Whether `path` is a folder in or around which there is a repository.
fn is_repository(path: &Path) -> bool {
    path.is_dir() && path.canonicalize().is_ok_and(|folder| enclosing_repository(&folder).is_some())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Arguments;

    #[test]
    fn only_a_forgotten_separator_is_named() {
        let is_named = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            missing(&words, &Arguments::command()).is_some()
        };
        assert!(is_named("p exec git log") && is_named("p exec --zlib stock git log --oneline"));
        for line in ["p exec", "p exec -- git log", "p exec --shell", "p size git log"] {
            assert!(!is_named(line), "{line}");
        }
    }
}
