//! A git directory that shows a variant without the guard that stops plain git.
//!
//! `config`, without our extension, and `HEAD` are copies; everything else is a link into the variant, so that objects, refs and
//! reflogs are the variant's own. git replaces files by renaming, which replaces links in the view; so what changed there is brought
//! back when the command has ended.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{ClientError, name_of};

/// The key of the guard.
const GUARD: &str = "extensions.repackbench";

/// The files that are copied.
const COPIED: [&str; 2] = ["config", "HEAD"];

/// Files that git writes in place of a link, also where the variant has none yet.
const LINKED_ALWAYS: [&str; 1] = ["packed-refs"];

/// A view, and the variant behind it.
#[derive(Debug)]
pub(crate) struct View {
    folder: PathBuf,
    variant: PathBuf,
    guard: OsString,
    /// The copied files as the variant has them, and as the view began.
    copies: Vec<(&'static str, Vec<u8>, Vec<u8>)>,
    links: Vec<OsString>,
}

impl View {
    /// Makes a view of `variant` at `folder`.
    pub(crate) fn make(git: &Path, variant: &Path, folder: &Path) -> Result<Self, ClientError> {
        fs::create_dir(folder)?;
        let mut links = Vec::new();
        for entry in fs::read_dir(variant).map_err(|error| failed(variant, &error))? {
            let name = entry?.file_name();
            if !COPIED.iter().any(|copied| name == *copied) {
                links.push(name);
            }
        }
        for name in LINKED_ALWAYS.iter().map(OsString::from) {
            if !links.contains(&name) {
                links.push(name);
            }
        }
        for name in &links {
            symlink(variant.join(name), folder.join(name))?;
        }
        let mut originals = Vec::new();
        for name in COPIED {
            let bytes = fs::read(variant.join(name)).map_err(|error| failed(&variant.join(name), &error))?;
            fs::write(folder.join(name), &bytes)?;
            originals.push((name, bytes));
        }
        let config = folder.join("config");
        let guard = configure(git, &config, &["--get", GUARD])?;
        configure(git, &config, &["--unset-all", GUARD])?;
        let begun = |(name, original)| Ok((name, original, fs::read(folder.join(name))?));
        let copies = originals.into_iter().map(begun).collect::<io::Result<_>>()?;
        let guard = OsString::from(guard.trim_end());
        Ok(View { folder: folder.to_owned(), variant: variant.to_owned(), guard, copies, links })
    }

    /// The git directory.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Gives the variant what changed in the view.
    pub(crate) fn bring_back(&self, git: &Path) -> Result<(), ClientError> {
        for (name, original, begun) in &self.copies {
            let shown = self.folder.join(name);
            let bytes = fs::read(&shown).map_err(|error| failed(&shown, &error))?;
            if bytes == *begun {
                continue;
            }
            let place = self.variant.join(name);
            if fs::read(&place).map_err(|error| failed(&place, &error))? != *original {
                let message =
                    format!("{}: changed by another program while the command changed it, too", name_of(&place));
                return Err(ClientError::Busy { message, hint: None });
            }
            if *name == "config" {
                let guard = self.guard.to_string_lossy();
                configure(git, &shown, &["core.repositoryFormatVersion", "1"])?;
                configure(git, &shown, &[GUARD, &guard])?;
            }
            self.replace(name.as_ref())?;
        }
        for name in &self.links {
            match fs::symlink_metadata(self.folder.join(name)) {
                Ok(found) if found.is_file() => self.replace(name)?,
                Ok(_) => {}
                Err(_) => match fs::remove_file(self.variant.join(name)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(failed(&self.variant.join(name), &error));
                    }
                    _ => {}
                },
            }
        }
        self.bring_new()
    }

    /// Moves what is new in the view, such as reflogs where there were none.
    fn bring_new(&self) -> Result<(), ClientError> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let known = COPIED.iter().any(|copied| name == *copied) || self.links.contains(&name);
            // Of a command that was killed.
            let is_lock = Path::new(&name).extension() == Some(OsStr::new("lock"));
            if known || is_lock {
                continue;
            }
            match entry.file_type()? {
                kind if kind.is_dir() => copy_folder(&entry.path(), &self.variant.join(&name))?,
                kind if kind.is_file() => self.replace(&name)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Puts the view's file into the variant, by renaming.
    fn replace(&self, name: &OsStr) -> Result<(), ClientError> {
        let place = self.variant.join(name);
        let unfinished = tempfile::Builder::new()
            .prefix("repackbench-exec-")
            .tempfile_in(&self.variant)
            .map_err(|error| failed(&self.variant, &error))?;
        // Permissions too.
        fs::copy(self.folder.join(name), unfinished.path()).map_err(|error| failed(&place, &error))?;
        unfinished.persist(&place).map_err(|error| failed(&place, &error.error))?;
        Ok(())
    }
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), ClientError> {
    fs::create_dir_all(to).map_err(|error| failed(to, &error))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &place)?;
        } else {
            fs::copy(entry.path(), &place).map_err(|error| failed(&place, &error))?;
        }
    }
    Ok(())
}

/// `git config` on the file; what it printed.
fn configure(git: &Path, file: &Path, arguments: &[&str]) -> Result<String, ClientError> {
    let mut command = Command::new(git);
    // Not the repository around: nothing of it is to be read.
    command.env_remove("GIT_DIR").current_dir("/").arg("config").arg("--file").arg(file).args(arguments);
    let output = command.stdin(Stdio::null()).output().map_err(|error| failed(git, &error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let message = format!("{} config {}: {}", name_of(git), arguments.join(" "), said.trim_end());
    Err(ClientError::refused(message))
}

fn failed(path: &Path, error: &io::Error) -> ClientError {
    ClientError::refused(format!("{}: {error}", name_of(path)))
}
