//! One file a subcommand: arguments in, calls into the libraries, text out.

pub(crate) mod alternatives;
pub(crate) mod bench;
pub(crate) mod cache;
pub(crate) mod chains;
pub(crate) mod codecs;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod exec;
pub(crate) mod experiment;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod payloads;
pub(crate) mod peak_memory;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod schema;
pub(crate) mod serve;
mod session;
pub(crate) mod size;
pub(crate) mod trace;
pub(crate) mod train;
pub(crate) mod verify;
mod whole_file;

use std::{io::Write, path::Path};

use repackbench_reader::{
    ReaderError, Repository,
    git::incomplete::{refuse_dangling_references, refuse_missing_alternates},
};
use repackbench_report::{Article, Style, Table, articles_text, table_text};
use repackbench_writer::{
    Layout,
    cache::{Cache, OutputNote},
};

use crate::failure::{Failure, print_note};

/// Notes where an output is being made, so that `cache prune` finds what this run leaves there if it is killed. Where
/// there is no place for such a note, the next run that writes there finds it.
fn note_output(target: &Path) -> Option<OutputNote> {
    let folder = target.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder })?;
    Cache::open(None).and_then(|cache| cache.note_output(folder)).ok()
}

/// Opens the repository that the user named. One whose alternates are not there may lack any object, and is refused.
fn open(path: &Path) -> Result<Repository, Failure> {
    let repository = Repository::open(path)?;
    if let Repository::Git(git) = &repository {
        refuse_missing_alternates(git).map_err(|error| {
            Failure::from(error).with_hint("`repackbench convert --allow-missing` makes a variant of what is there")
        })?;
    }
    Ok(repository)
}

/// Opens a repository of which something is to be said as a whole. What it names has to be there, unless the user allows for less.
fn open_whole(path: &Path, allow_missing: bool, quiet: bool) -> Result<Repository, Failure> {
    let repository = Repository::open(path)?;
    if let Repository::Git(git) = &repository {
        for found in [refuse_missing_alternates(git), refuse_dangling_references(git)] {
            // What is not where it was explains whatever is missing.
            if found.is_err()
                && let Err(changed @ ReaderError::Changed { .. }) = git.snapshot()
            {
                return Err(changed.into());
            }
            match found {
                Err(error @ ReaderError::Corrupt { .. }) if allow_missing => {
                    if !quiet {
                        print_note(format!("{error}: left aside"));
                    }
                }
                Err(error @ ReaderError::Corrupt { .. }) => {
                    return Err(Failure::from(error).with_hint("--allow-missing goes on with what is there"));
                }
                found => found?,
            }
        }
    }
    Ok(repository)
}

/// Says what the repository was found to hold and is left aside, unless the user wants quiet.
fn print_notes(repository: &Repository, quiet: bool) {
    if !quiet {
        repository.notes().iter().for_each(print_note);
    }
}

/// Says which of the orders in `layouts` change nothing of `repository`, unless the user wants quiet.
fn print_idle_orders(repository: &Repository, layouts: &[Layout], quiet: bool) {
    let idle = layouts.iter().filter(|layout| layout.has_nothing_to_order(repository));
    let names: Vec<&str> = idle.map(|layout| layout.order.name()).collect();
    if !names.is_empty() && !quiet {
        let (folder, names) = (repository.folder().display(), names.join(","));
        print_note(format!("{folder}: --order {names}: no effect, as nothing is packed and only packs have an order"));
    }
}

/// Writes `text` to stdout. A reader that went away, such as `head`, is not a failure.
fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Prints what one command has to say, in a form that fits stdout.
fn print_article(article: Article) -> Result<(), Failure> {
    print(&articles_text(&[article], report::style()))
}

/// A table of words, without regard to the width of the terminal.
fn table_of_words(columns: &[&str], rows: &[Vec<String>]) -> String {
    table_text(&Table::of_words(columns, rows), Style::PLAIN)
}

/// The command as it was typed, quoted so that a shell reads it back; `None` where no shell could.
fn command_line() -> Option<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = std::iter::once(env!("CARGO_BIN_NAME").to_owned()).chain(words).collect();
    shlex::try_join(words.iter().map(String::as_str)).ok()
}

/// A path as the user would name it, for messages and tables.
fn name_of(path: &Path) -> String {
    path.display().to_string()
}
