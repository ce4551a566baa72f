//! A session that is resumed by its file alone: the arguments come from the command line in its records.
//!
//! Records are data from a file, and may come from somebody else. So what they name to run or to write is not taken
//! from them: programs have to be named again, and output files that are not named again are left out with a note.

use std::{ffi::OsString, path::Path};

use clap::Command;

use super::typed::{TypedArgument, arguments};
use crate::{
    failure::{Failure, USAGE},
    output::{record_file, shell_line},
};

/// The option that names the file of a session.
const RESUME: &str = "resume";
/// Options that name programs.
const PROGRAMS: [&str; 3] = ["git", "hg", "hg_extension"];
/// Options that name files to write.
const OUTPUTS: [&str; 4] = ["html", "svg", "markdown", "csv"];
/// Options about the file of records, in whose place the resumed file comes.
const RECORDS: [&str; 4] = ["json", "append", "force", RESUME];

/// The command line of a resumed session.
pub(super) struct Resumed {
    /// The words to parse.
    pub(super) words: Vec<OsString>,
    /// The command line that new records get.
    pub(super) command: String,
    pub(super) notes: Vec<String>,
}

/// Completes `words` by the command line in the file that they resume. `None` if they resume none, or if its records
/// hold no command line, as those of early versions do.
pub(super) fn complete(words: &[OsString], program: &Command) -> Result<Option<Resumed>, Failure> {
    let [called, name, given @ ..] = words else { return Ok(None) };
    let Some(command) = name.to_str().and_then(|name| program.find_subcommand(name)) else { return Ok(None) };
    let given = arguments(command, given);
    let Some(path) = given.iter().find(|argument| argument.is(RESUME)).and_then(TypedArgument::value) else {
        return Ok(None);
    };
    let session = record_file::last_session(Path::new(&path))?;
    let Some(recorded) = session.records.into_iter().next().and_then(|record| record.command) else { return Ok(None) };
    let refuse = |why: String| Failure::new(USAGE, format!("{}: {why}", path.display()));
    let recorded =
        shlex::split(&recorded).ok_or_else(|| refuse("the recorded command line is incomplete".to_owned()))?;
    let recorded: Vec<OsString> = recorded.into_iter().map(OsString::from).collect();
    let (recorded, _) = super::former_names::replace(&recorded);
    let [_, of, recorded @ ..] = &recorded[..] else {
        return Err(refuse("the recorded command line is empty".to_owned()));
    };
    if of != name {
        let (of, name) = (of.display(), name.display());
        return Err(refuse(format!("the records are of `{of}`, and cannot be resumed by `{name}`")));
    }
    let (mut kept, mut notes) = (Vec::new(), Vec::new());
    if session.has_others {
        notes.push(format!("{}: its last session is resumed; what else it holds stays as it is", path.display()));
    }
    for argument in arguments(command, recorded) {
        if given.iter().any(|given| given.replaces(&argument, command)) || argument.is_one_of(&RECORDS) {
            continue;
        }
        if argument.is_one_of(&PROGRAMS) {
            let typed = argument.shown();
            let why = format!("the session used {typed}, and programs are not taken from records");
            return Err(refuse(why).with_hint("give this option again to run the program"));
        }
        if argument.is_one_of(&OUTPUTS) {
            notes.push(format!("{}: not taken from the records; give it again to write it", argument.shown()));
            continue;
        }
        kept.extend(argument.words);
    }
    let takes_arguments = !kept.is_empty();
    let changes = given.iter().filter(|argument| !argument.is(RESUME)).flat_map(|argument| &argument.words);
    let session: Vec<OsString> = [name.clone()].into_iter().chain(kept).chain(changes.cloned()).collect();
    let command = shell_line(&[&[env!("CARGO_BIN_NAME").into()], &session[..]].concat());
    if takes_arguments {
        notes.push(format!("resuming: {command}"));
    }
    let resume = [OsString::from("--resume"), path];
    let words = [called.clone()].into_iter().chain(session).chain(resume).collect();
    Ok(Some(Resumed { words, command, notes }))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Arguments;

    #[test]
    fn lists_name_options_that_exist() {
        let program = Arguments::command();
        let bench = program.find_subcommand("bench").unwrap();
        for id in PROGRAMS.iter().chain(&OUTPUTS).chain(&RECORDS) {
            assert!(bench.get_arguments().any(|arg| arg.get_id() == id), "{id}");
        }
    }
}
