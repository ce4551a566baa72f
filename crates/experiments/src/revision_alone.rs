//! A repository of one revision without its history, which would be copied many times and never read.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use repackbench_client::{GitProgram, find_program, run};
use repackbench_reader::Repository;
use repackbench_writer::git::metadata::isolate;
use walkdir::WalkDir;

use crate::{Context, ExperimentError, probe};

/// The branch that points to the revision.
pub(crate) const BRANCH: &str = "main";

/// Fetches the revision `id` of the repository into a new one at `target`, with the user's git.
pub(crate) fn fetch_alone(context: &Context<'_>, id: &str, target: &Path) -> Result<(), ExperimentError> {
    let Repository::Git(source) = context.source else {
        return fetch_from(context, context.source.folder(), id, target);
    };
    GitProgram::new(&context.options.git)?.check_owner(source.git_dir())?;
    // git serves the source, and somebody else may have written its configuration.
    let isolated = target.with_extension("isolated");
    isolate(source, &isolated)?;
    let fetched = fetch_from(context, &isolated, id, target);
    fs::remove_dir_all(&isolated).map_err(|error| ExperimentError::io("remove", &isolated, error))?;
    fetched
}

/// The same from the repository at `source`, which this program made.
pub(crate) fn fetch_from(context: &Context<'_>, source: &Path, id: &str, target: &Path) -> Result<(), ExperimentError> {
    let run = |arguments: &[&str], name: &str| -> Result<(), ExperimentError> {
        let mut command = probe::git(context, target);
        command.env("GIT_ALLOW_PROTOCOL", "file").args(arguments);
        Ok(run(command, name, &|| context.progress.is_cancelled())?)
    };
    // An id of SHA-256 has 64 digits.
    let format = if id.len() > 40 { "--object-format=sha256" } else { "--object-format=sha1" };
    run(&["init", "-q", "--bare", "-b", BRANCH, format], "git init")?;
    let program = find_program(context.options.git.as_os_str())?;
    let upload = format!("{} -c uploadpack.allowAnySHA1InWant=true upload-pack", quoted(&program.to_string_lossy()));
    let source = source.to_string_lossy();
    let upload = format!("--upload-pack={upload}");
    run(&["fetch", "-q", "--no-tags", "--depth=1", &upload, "--", &source, id], "git fetch --depth=1")?;
    run(&["update-ref", &format!("refs/heads/{BRANCH}"), id], "git update-ref")
}

/// `word` quoted for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The bytes of files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DiskUse {
    /// Their lengths.
    pub(crate) bytes: u64,
    /// Their disk space.
    pub(crate) allocated: u64,
}

/// The bytes of all files below `folder`.
pub(crate) fn disk_use(folder: &Path) -> Result<DiskUse, ExperimentError> {
    let mut sum = DiskUse::default();
    for entry in WalkDir::new(folder) {
        let metadata = entry.and_then(|entry| entry.metadata());
        let metadata = metadata.map_err(|error| ExperimentError::io("list", folder, error.into()))?;
        if metadata.is_file() {
            sum.bytes += metadata.len();
            // `st_blocks` counts units of 512 bytes on every file system (stat(2)).
            sum.allocated += metadata.blocks() * 512;
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_words_survive_a_shell() {
        for word in ["git", "/a b/git", "it's", "$(x)"] {
            let output = std::process::Command::new("sh").args(["-c", &format!("printf %s {}", quoted(word))]).output();
            assert_eq!(String::from_utf8(output.unwrap().stdout).unwrap(), word);
        }
    }

    #[test]
    fn disk_use_adds_lengths_and_blocks() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        fs::write(folder.path().join("a"), [1; 100]).unwrap();
        fs::write(folder.path().join("sub/b"), [1; 5000]).unwrap();
        let found = disk_use(folder.path()).unwrap();
        assert_eq!(found.bytes, 5100);
        assert_eq!(found.allocated % 512, 0);
    }
}
