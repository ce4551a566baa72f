//! A repository of a few of a revision's files, made by the user's git.

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
};

use repackbench_client::output;
use repackbench_writer::WriterError;

use crate::{
    Context, ExperimentError, probe,
    revision_alone::{fetch_alone, fetch_from},
};

/// The author and the date of the commit, fixed so that ids are.
const WHO: [(&str, &str); 6] = [
    ("GIT_AUTHOR_NAME", "repackbench"),
    ("GIT_AUTHOR_EMAIL", "repackbench@localhost"),
    ("GIT_AUTHOR_DATE", "1114467438 +0000"),
    ("GIT_COMMITTER_NAME", "repackbench"),
    ("GIT_COMMITTER_EMAIL", "repackbench@localhost"),
    ("GIT_COMMITTER_DATE", "1114467438 +0000"),
];

/// Makes a repository at `target` of one commit with `count` of the files of `revision`, taken evenly among its paths, each with its own name
/// and folders. Returns `false` and makes no repository if the revision has no more files than that. The repository `alone` holds only
/// this revision.
///
/// All objects of `alone` are measured, so nothing is written to it: the new trees and their commit are made in a second repository.
pub(super) fn fetch_few(
    context: &Context<'_>,
    alone: &Path,
    revision: &str,
    count: usize,
    target: &Path,
) -> Result<bool, ExperimentError> {
    let source = target.with_extension("source");
    let list = source.join("few-files");
    let ask_in = |folder: &Path, arguments: &[&str], input: Stdio| {
        let mut command = probe::git(context, folder);
        command.args(arguments);
        command.env("GIT_INDEX_FILE", source.join("few-index")).envs(WHO).stdin(input);
        answer(context, command, arguments)
    };
    let ask = |arguments: &[&str], input: Stdio| ask_in(&source, arguments, input);
    let entries = ask_in(alone, &["ls-tree", "-r", "-z", "--full-tree", revision], Stdio::null())?;
    // Links and commits of other repositories are not files.
    let files: Vec<&[u8]> =
        entries.split_inclusive(|byte| *byte == 0).filter(|entry| entry.starts_with(b"100")).collect();
    if files.len() <= count {
        return Ok(false);
    }
    fetch_alone(context, revision, &source)?;
    let chosen: Vec<u8> = evenly(&files, count).flatten().copied().collect();
    fs::write(&list, chosen).map_err(|error| ExperimentError::io("write", &list, error))?;
    let input = File::open(&list).map_err(|error| ExperimentError::io("open", &list, error))?;
    ask(&["update-index", "-z", "--index-info"], input.into())?;
    // git leaves out names that it refuses, such as git~1, with a warning.
    let taken = ask(&["ls-files", "-z"], Stdio::null())?.iter().filter(|byte| **byte == 0).count();
    if taken != count {
        let why = format!("it takes {taken} of {count} paths");
        return Err(WriterError::Program { command: "git update-index".to_owned(), why }.into());
    }
    let tree = id(ask(&["write-tree"], Stdio::null())?);
    let commit = id(ask(&["commit-tree", "-m", "a few files", &tree], Stdio::null())?);
    fetch_from(context, &source, &commit, target)?;
    fs::remove_dir_all(&source).map_err(|error| ExperimentError::io("remove", &source, error))?;
    Ok(true)
}

/// `count` of `items`, which are more, evenly spaced.
fn evenly<'a, T: Copy>(items: &'a [T], count: usize) -> impl Iterator<Item = T> + 'a {
    (0..count).filter_map(move |number| items.get(number.saturating_mul(items.len()) / count).copied())
}

/// The output of git, which ends soon; cancellation is checked afterwards.
fn answer(context: &Context<'_>, mut command: Command, arguments: &[&str]) -> Result<Vec<u8>, ExperimentError> {
    let output = output(&mut command);
    if context.progress.is_cancelled() {
        return Err(ExperimentError::Interrupted);
    }
    let command = format!("git {}", arguments.first().copied().unwrap_or_default());
    Ok(output.map_err(|error| WriterError::Program { command, why: error.to_string() })?)
}

/// The id in a line of git's output.
fn id(line: Vec<u8>) -> String {
    String::from_utf8_lossy(&line).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use repackbench_reader::Repository;
    use repackbench_writer::files::RevisionFiles;

    use super::*;
    use crate::tests::{Setting, files_of, git};

    #[test]
    fn items_are_taken_evenly() {
        let taken = |count| evenly(&[0, 1, 2, 3, 4, 5, 6], count).collect::<Vec<_>>();
        assert_eq!(taken(3), [0, 2, 4]);
        assert_eq!(taken(6), [0, 1, 2, 3, 4, 5]);
        assert_eq!(taken(1), [0]);
    }

    #[test]
    fn few_files_make_a_repository() {
        let mut files = files_of(40);
        files.push(("a \"name\"\nof two lines".to_owned(), b"content\n".to_vec()));
        let outcome = Setting::new(&files, 1).run(|context| {
            let all = RevisionFiles::open(context.source, None)?;
            let scratch = crate::on_disk::folder();
            let (alone, few) = (scratch.path().join("alone.git"), scratch.path().join("few.git"));
            let revision = all.id().to_string();
            fetch_alone(context, &revision, &alone)?;
            assert!(!fetch_few(context, &alone, &revision, 41, &few)?, "there are no more");
            assert!(!few.exists());
            // The first one, which has the unusual name, is among them.
            let objects = || git(&alone, &["count-objects", "-v"]);
            let before = objects();
            assert!(fetch_few(context, &alone, &revision, 7, &few)?);
            assert_eq!(objects(), before, "all objects of the other one are measured, too");
            assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 2, "what was made between is gone");
            let mut paths = Vec::new();
            let mut taken = RevisionFiles::open(&Repository::open(&few)?, None)?;
            taken.for_each(&mut |path, content| {
                paths.push((String::from_utf8(path.to_vec()).unwrap(), content.to_vec()));
                Ok(())
            })?;
            assert_eq!(paths.len(), 7);
            assert!(paths.iter().any(|(path, _)| path.starts_with("a \"name\"\n")), "{paths:?}");
            let mut known = Vec::new();
            RevisionFiles::open(context.source, None)?.for_each(&mut |path, content| {
                known.push((String::from_utf8(path.to_vec()).unwrap(), content.to_vec()));
                Ok(())
            })?;
            assert!(paths.iter().all(|file| known.contains(file)), "under their names, with their contents");
            Err(ExperimentError::Interrupted)
        });
        assert!(outcome.is_err_and(|error| error.is_interruption()));
    }
}
