//! Operations on files and folders. A failure names the path.

use std::fmt::Display;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::process::{Failure, Outcome};

/// The failure of an operation on `path`.
pub(crate) fn failed(path: &Path, error: &dyn Display) -> Failure {
    Failure(format!("{}: {error}", path.display()))
}

/// Reads a file that has to be text.
pub(crate) fn read_text(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| failed(path, &error))
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Outcome<Vec<u8>> {
    fs::read(path).map_err(|error| failed(path, &error))
}

/// The paths in a folder, sorted.
pub(crate) fn entries(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let failed = |error: io::Error| failed(folder, &error);
    let entries = fs::read_dir(folder).map_err(failed)?;
    let mut paths = entries.map(|entry| Ok(entry.map_err(failed)?.path())).collect::<Outcome<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// The only entry of a folder. It is a failure if there are none or several.
pub(crate) fn only_entry(folder: &Path) -> Outcome<PathBuf> {
    match entries(folder)?.as_slice() {
        [only] => Ok(only.clone()),
        all => Err(Failure(format!("{}: {} entries, expected one", folder.display(), all.len()))),
    }
}

/// The files with this extension below `folder`, sorted; none if it does not exist.
pub(crate) fn with_extension(folder: &Path, extension: &str) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop().filter(|folder| folder.is_dir()) {
        for entry in entries(&folder)? {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|of| of == extension) {
                found.push(entry);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Makes a folder and those above it, unless they exist.
pub(crate) fn make_folder(folder: &Path) -> Outcome<()> {
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))
}

/// Removes a folder with everything in it, if it exists.
pub(crate) fn remove_folder(folder: &Path) -> Outcome<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(folder, &error)),
        _ => Ok(()),
    }
}

/// Makes `folder` if needed, and waits until no other run of a chore has locked it. The lock lasts as long as the open
/// file.
pub(crate) fn lock(folder: &Path) -> Outcome<File> {
    make_folder(folder)?;
    let failed = |error: io::Error| failed(folder, &error);
    let lock = File::create(folder.join("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    Ok(lock)
}
