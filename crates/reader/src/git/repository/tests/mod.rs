//! Tests with repositories made by real git.

mod format;
mod layout;
mod references;
mod reftable;
mod snapshot;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::GitRepository;
use crate::error::ReaderError;

/// A folder for the repositories of one test, removed on drop.
struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        Scratch { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Creates the repository `name` with two commits on `main` and the tag `v1` on the first.
    fn repository(&self, name: &str, init_options: &[&str]) -> PathBuf {
        let path = self.path(name);
        let init = [&["init", "-q", "-b", "main"], init_options, &[name]].concat();
        git(self.folder.path(), &init);
        commit(&path, "first");
        git(&path, &["tag", "v1"]);
        commit(&path, "second");
        path
    }
}

/// Commits a file whose name and content are `word`.
fn commit(repository: &Path, word: &str) {
    fs::write(repository.join(word), word).unwrap();
    git(repository, &["add", word]);
    git(repository, &["commit", "-q", "-m", word]);
}

/// Runs git in `folder` without the user's configuration, and returns its output.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "protocol.file.allow=always", "-c", "advice.detachedHead=false"])
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "A")
        .env("GIT_AUTHOR_EMAIL", "a@example.com")
        .env("GIT_AUTHOR_DATE", "1700000000 +0000")
        .env("GIT_COMMITTER_NAME", "C")
        .env("GIT_COMMITTER_EMAIL", "c@example.com")
        .env("GIT_COMMITTER_DATE", "1700000000 +0000")
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {arguments:?} in {}: {message}", folder.display());
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Opens `path`, which has to fail, and returns the message.
fn refusal(path: &Path) -> String {
    match GitRepository::open(path) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error.to_string(),
    }
}
