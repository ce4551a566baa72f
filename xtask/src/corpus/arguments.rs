//! The command line of `cargo xtask corpus`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::manifest::{Entry, Manifest};
use crate::process::{Failure, Outcome};

const USAGE: &str = "\
usage: cargo xtask corpus [NAME...] [--list] [--check] [--update] [--out DIR] [--source NAME=PATH]...
                          [--manifest FILE] [--program FILE]
  NAME           a repository of the manifest (default: all of them)
  --list         list the repositories of the manifest, and fetch nothing
  --check        make a variant of each repository under every spec of the manifest, and compare sizes byte by byte
  --update       write the figures found into the manifest instead of comparing them
  --out DIR      the folder for the repositories (default: target/corpus)
  --source NAME=PATH
                 use this local Git repository instead of the URL
  --manifest FILE
                 the manifest (default: xtask/data/corpus.json)
  --program FILE the repackbench that makes variants (default: built from this checkout)";

#[derive(Debug)]
pub(super) struct Arguments {
    names: Vec<String>,
    pub(super) list: bool,
    pub(super) check: bool,
    pub(super) update: bool,
    pub(super) out: PathBuf,
    sources: Vec<(String, PathBuf)>,
    pub(super) manifest: PathBuf,
    pub(super) program: Option<PathBuf>,
}

/// The manifest of this checkout.
pub(super) fn default_manifest() -> PathBuf {
    crate::workspace_root().join("xtask").join("data").join("corpus.json")
}

/// Parses the words after the chore's name.
pub(super) fn parse(words: &[OsString]) -> Outcome<Arguments> {
    let usage = || Failure(USAGE.to_owned());
    let mut arguments = Arguments {
        names: Vec::new(),
        list: false,
        check: false,
        update: false,
        out: crate::target_dir().join("corpus"),
        sources: Vec::new(),
        manifest: default_manifest(),
        program: None,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut path = || words.next().map(PathBuf::from).ok_or_else(usage);
        match word.to_str() {
            Some("--list") => arguments.list = true,
            Some("--check") => arguments.check = true,
            Some("--update") => arguments.update = true,
            Some("--out") => arguments.out = path()?,
            Some("--source") => arguments.sources.push(source(words.next()).ok_or_else(usage)?),
            Some("--manifest") => arguments.manifest = path()?,
            Some("--program") => arguments.program = Some(path()?),
            Some(name) if !name.starts_with('-') => arguments.names.push(name.to_owned()),
            _ => return Err(usage()),
        }
    }
    Ok(arguments)
}

/// Splits `NAME=PATH`. The path becomes absolute, because git runs in other folders.
fn source(word: Option<&OsString>) -> Option<(String, PathBuf)> {
    let (name, path) = word?.to_str()?.split_once('=')?;
    Some((name.to_owned(), std::path::absolute(path).ok()?))
}

impl Arguments {
    /// Rejects names that the manifest does not have, because a misspelt name would seem to be fetched.
    pub(super) fn check_names(&self, manifest: &Manifest) -> Outcome<()> {
        let known = |name: &str| manifest.repositories.iter().any(|entry| entry.name == name);
        let names = self.names.iter().chain(self.sources.iter().map(|(name, _)| name));
        match names.into_iter().find(|name| !known(name)) {
            None => Ok(()),
            Some(name) => {
                let names: Vec<_> = manifest.repositories.iter().map(|entry| entry.name.as_str()).collect();
                Err(Failure(format!(
                    "no repository of the corpus is named {name}; expected one of {}",
                    names.join(", ")
                )))
            }
        }
    }

    /// Whether the entry was asked for.
    pub(super) fn wants(&self, entry: &Entry) -> bool {
        self.names.is_empty() || self.names.contains(&entry.name)
    }

    /// The local repository that replaces the entry's URL.
    pub(super) fn source(&self, entry: &Entry) -> Option<&Path> {
        self.sources.iter().find(|(name, _)| *name == entry.name).map(|(_, path)| path.as_path())
    }
}
