//! A repository of a few of a revision's files, which the user's git makes.

use std::{
    fs::{self, File},
    path::Path,
    process::{Command, Stdio},
};

use repackbench_writer::WriterError;

use crate::{Context, ExperimentError, probe, revision_alone::fetch_from};

/// Who made the commit, and when: any will do, but always the same.
const WHO: [(&str, &str); 6] = [
    ("GIT_AUTHOR_NAME", "repackbench"),
    ("GIT_AUTHOR_EMAIL", "repackbench@localhost"),
    ("GIT_AUTHOR_DATE", "1114467438 +0000"),
    ("GIT_COMMITTER_NAME", "repackbench"),
    ("GIT_COMMITTER_EMAIL", "repackbench@localhost"),
    ("GIT_COMMITTER_DATE", "1114467438 +0000"),
];

/// Makes a repository at `target` of one commit with `count` of the files that `revision` has in the repository `source`, taken evenly among
/// its paths, each with its own name and folders. `false`, and no repository, if the revision has no more files than that.
///
/// `source` gets the commit, too: it has to be one that was made to be removed again.
pub(super) fn fetch_few(
    context: &Context<'_>,
    source: &Path,
    revision: &str,
    count: usize,
    target: &Path,
) -> Result<bool, ExperimentError> {
    let list = source.join("few-files");
    let ask = |arguments: &[&str], input: Stdio| {
        let mut command = probe::git(context, source);
        command.args(["-c", "safe.directory=*"]).args(arguments);
        command.env("GIT_INDEX_FILE", source.join("few-index")).envs(WHO).stdin(input);
        answer(command, arguments)
    };
    let entries = ask(&["ls-tree", "-r", "-z", "--full-tree", revision], Stdio::null())?;
    // Links and commits of other repositories are no files.
    let files: Vec<&[u8]> =
        entries.split_inclusive(|byte| *byte == 0).filter(|entry| entry.starts_with(b"100")).collect();
    if files.len() <= count {
        return Ok(false);
    }
    let chosen: Vec<u8> = evenly(&files, count).flatten().copied().collect();
    fs::write(&list, chosen).map_err(|error| ExperimentError::io("write", &list, error))?;
    let input = File::open(&list).map_err(|error| ExperimentError::io("open", &list, error))?;
    ask(&["update-index", "-z", "--index-info"], input.into())?;
    let tree = id(ask(&["write-tree"], Stdio::null())?);
    let commit = id(ask(&["commit-tree", "-m", "a few files", &tree], Stdio::null())?);
    fetch_from(context, source, &commit, target)?;
    Ok(true)
}

/// `count` of `items`, which are more, at even distances.
fn evenly<'a, T: Copy>(items: &'a [T], count: usize) -> impl Iterator<Item = T> + 'a {
    (0..count).filter_map(move |number| items.get(number.saturating_mul(items.len()) / count).copied())
}

/// What git prints.
fn answer(mut command: Command, arguments: &[&str]) -> Result<Vec<u8>, ExperimentError> {
    let name = format!("git {}", arguments.first().copied().unwrap_or_default());
    let failed = |why: String| WriterError::Program { command: name.clone(), why };
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("{}: {}", output.status, words.trim())).into());
    }
    Ok(output.stdout)
}

/// The id in a line of git's.
fn id(line: Vec<u8>) -> String {
    String::from_utf8_lossy(&line).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use repackbench_reader::Repository;
    use repackbench_writer::files::RevisionFiles;

    use super::*;
    use crate::{
        revision_alone::fetch_alone,
        tests::{Setting, files_of},
    };

    #[test]
    fn items_are_taken_evenly() {
        let taken = |count| evenly(&[0, 1, 2, 3, 4, 5, 6], count).collect::<Vec<_>>();
        assert_eq!(taken(3), [0, 2, 4]);
        assert_eq!(taken(6), [0, 1, 2, 3, 4, 5]);
        assert_eq!(taken(1), [0]);
    }

    #[test]
    fn a_few_files_are_a_repository_of_their_own() {
        let mut files = files_of(40);
        files.push(("a \"name\"\nof two lines".to_owned(), b"content\n".to_vec()));
        let outcome = Setting::new(&files, 1).run(|context| {
            let all = RevisionFiles::open(context.source, None)?;
            let scratch = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
            let (alone, few) = (scratch.path().join("alone.git"), scratch.path().join("few.git"));
            let revision = all.id().to_string();
            fetch_alone(context, &revision, &alone)?;
            assert!(!fetch_few(context, &alone, &revision, 41, &few)?, "there are no more");
            assert!(!few.exists());
            // The first one, which has the odd name, is among them.
            assert!(fetch_few(context, &alone, &revision, 7, &few)?);
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
