//! A folder of links to what is in another one, and what has to go back there.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::{ClientError, name_of};

/// A folder that shows another one.
#[derive(Debug)]
pub(crate) struct ShownFolder {
    folder: PathBuf,
    behind: PathBuf,
    copies: Vec<Copied>,
    links: Vec<OsString>,
    left_out: &'static [&'static str],
}

/// A file that is shown as a copy.
#[derive(Debug)]
struct Copied {
    name: &'static str,
    /// As it is behind.
    original: Vec<u8>,
    /// As it is shown when the command begins.
    begun: Vec<u8>,
}

impl ShownFolder {
    /// Shows `behind` at `folder`: with copies of the files `copied`, links to all else and to what is `always` linked, there or not,
    /// and without what is `left_out`.
    pub(crate) fn make(
        behind: &Path,
        folder: &Path,
        copied: &[&'static str],
        always: &[&str],
        left_out: &'static [&'static str],
    ) -> Result<Self, ClientError> {
        fs::create_dir(folder)?;
        let mut links = Vec::new();
        for entry in fs::read_dir(behind).map_err(|error| failed(behind, &error))? {
            let name = entry?.file_name();
            if !copied.iter().chain(left_out).any(|other| name == **other) {
                links.push(name);
            }
        }
        for name in always.iter().map(OsString::from) {
            if !links.contains(&name) {
                links.push(name);
            }
        }
        for name in &links {
            symlink(behind.join(name), folder.join(name))?;
        }
        let mut copies = Vec::new();
        for name in copied {
            let place = behind.join(name);
            let original = fs::read(&place).map_err(|error| failed(&place, &error))?;
            fs::write(folder.join(name), &original)?;
            copies.push(Copied { name, begun: original.clone(), original });
        }
        Ok(ShownFolder { folder: folder.to_owned(), behind: behind.to_owned(), copies, links, left_out })
    }

    /// Takes the copies, as they are now, for what the command begins with.
    pub(crate) fn begins_now(&mut self) -> Result<(), ClientError> {
        for copy in &mut self.copies {
            copy.begun = fs::read(self.folder.join(copy.name))?;
        }
        Ok(())
    }

    /// What shows.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is shown.
    pub(crate) fn behind(&self) -> &Path {
        &self.behind
    }

    /// Gives the folder behind what changed in this one; `prepare` may change a copy before it goes there.
    pub(crate) fn bring_back(
        &self,
        prepare: impl Fn(&str, &Path) -> Result<(), ClientError>,
    ) -> Result<(), ClientError> {
        for Copied { name, original, begun } in &self.copies {
            let shown = self.folder.join(name);
            let bytes = fs::read(&shown).map_err(|error| failed(&shown, &error))?;
            if bytes == *begun {
                continue;
            }
            let place = self.behind.join(name);
            if fs::read(&place).map_err(|error| failed(&place, &error))? != *original {
                let message =
                    format!("{}: changed by another program while the command changed it, too", name_of(&place));
                return Err(ClientError::Busy { message, hint: None });
            }
            prepare(name, &shown)?;
            self.replace(name.as_ref())?;
        }
        for name in &self.links {
            match fs::symlink_metadata(self.folder.join(name)) {
                Ok(found) if found.is_file() => self.replace(name)?,
                Ok(_) => {}
                Err(_) => match fs::remove_file(self.behind.join(name)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(failed(&self.behind.join(name), &error));
                    }
                    _ => {}
                },
            }
        }
        self.bring_new()
    }

    /// Moves what is new, such as reflogs where there were none.
    fn bring_new(&self) -> Result<(), ClientError> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let copied = self.copies.iter().map(|copy| copy.name);
            let known = copied.chain(self.left_out.iter().copied()).any(|other| name == *other);
            // Of a command that was killed.
            let is_lock = Path::new(&name).extension() == Some(OsStr::new("lock"));
            if known || self.links.contains(&name) || is_lock {
                continue;
            }
            match entry.file_type()? {
                kind if kind.is_dir() => copy_folder(&entry.path(), &self.behind.join(&name))?,
                kind if kind.is_file() => self.replace(&name)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Puts the view's file behind it, by renaming.
    fn replace(&self, name: &OsStr) -> Result<(), ClientError> {
        replace(&self.folder.join(name), &self.behind.join(name))
    }
}

/// Puts a copy of `from` in the place of `to`, by renaming.
pub(crate) fn replace(from: &Path, to: &Path) -> Result<(), ClientError> {
    let folder = to.parent().unwrap_or(to);
    let unfinished = tempfile::Builder::new()
        .prefix("repackbench-exec-")
        .tempfile_in(folder)
        .map_err(|error| failed(folder, &error))?;
    // Permissions too.
    fs::copy(from, unfinished.path()).map_err(|error| failed(to, &error))?;
    unfinished.persist(to).map_err(|error| failed(to, &error.error))?;
    Ok(())
}

/// Copies a folder and all in it, into one that may be there.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<(), ClientError> {
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

fn failed(path: &Path, error: &io::Error) -> ClientError {
    ClientError::refused(format!("{}: {error}", name_of(path)))
}
