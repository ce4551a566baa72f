//! A folder of links to what is in another one, and what has to go back there.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use crate::{ClientError, git::FOLDER_PREFIX, name_of};

/// What git never removes: where it is not in the view, that is no reason to remove it behind it.
const NEVER_REMOVED: [&str; 3] = ["description", "info", "packed-refs"];

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
            let shown = self.folder.join(name);
            match fs::symlink_metadata(&shown) {
                Ok(found) if found.is_file() => self.replace(name)?,
                Ok(_) => {}
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&shown, &error)),
                Err(_) if NEVER_REMOVED.iter().any(|kept| name == *kept) => {}
                Err(_) => self.remove(name)?,
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

    /// Removes behind the view what was removed in it.
    fn remove(&self, name: &OsStr) -> Result<(), ClientError> {
        let place = self.behind.join(name);
        match fs::remove_file(&place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&place, &error)),
            _ => Ok(()),
        }
    }

    /// Puts the view's file behind it, by renaming.
    fn replace(&self, name: &OsStr) -> Result<(), ClientError> {
        replace(&self.folder.join(name), &self.behind.join(name))
    }
}

/// Puts a copy of `from` in the place of `to`, by renaming.
pub(crate) fn replace(from: &Path, to: &Path) -> Result<(), ClientError> {
    let folder = to.parent().unwrap_or(to);
    let unfinished =
        tempfile::Builder::new().prefix(FOLDER_PREFIX).tempfile_in(folder).map_err(|error| failed(folder, &error))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files, and what shows it.
    fn shown(scratch: &Path, names: &[&str]) -> ShownFolder {
        let behind = scratch.join("behind");
        fs::create_dir(&behind).unwrap();
        for name in names {
            fs::write(behind.join(name), name).unwrap();
        }
        ShownFolder::make(&behind, &scratch.join("view"), &[], &[], &[]).unwrap()
    }

    #[test]
    fn what_a_command_removes_is_removed_and_what_git_never_removes_stays() {
        let scratch = tempfile::tempdir().unwrap();
        let names = ["MERGE_HEAD", "index", "packed-refs", "description"];
        let view = shown(scratch.path(), &names);
        for name in ["MERGE_HEAD", "packed-refs", "description"] {
            fs::remove_file(view.folder().join(name)).unwrap();
        }
        view.bring_back(|_, _| Ok(())).unwrap();
        let found = names.map(|name| view.behind().join(name).exists());
        assert_eq!(found, [false, true, true, true]);
    }

    #[test]
    fn a_view_that_cannot_be_inspected_removes_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let view = shown(scratch.path(), &["index"]);
        // A file in its place: nothing in it can be asked for.
        fs::remove_dir_all(view.folder()).unwrap();
        fs::write(view.folder(), "").unwrap();
        let error = view.bring_back(|_, _| Ok(())).unwrap_err().to_string();
        assert!(error.contains("view/index"), "{error}");
        assert!(view.behind().join("index").exists());
    }
}
