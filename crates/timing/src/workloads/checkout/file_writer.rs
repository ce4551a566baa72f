//! Writes the files of a revision, as git does into an empty work tree.
//!
//! Nothing is ever replaced, and no symbolic link followed: directories are made, or found to be directories, by the
//! library's stack; files and links are only made where nothing is. So a tree that holds both a link `a` and a file
//! `a/b`, which git never writes and anyone can forge, ends in an error, not in a file elsewhere.

use std::{
    ffi::OsStr,
    fs::File,
    io::{ErrorKind, Write},
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

use bstr::BString;
use gix_hash::{ObjectId, oid};
use gix_worktree::{
    Stack,
    attributes::{Search, search::MetadataCollection},
    glob::pattern::Case,
    index::entry::Mode,
    object::{Find, find::Never},
    stack::{
        State,
        state::{Attributes, attributes::Source},
    },
    validate::path::component,
};
use repackbench_reader::{Changes, FileVersion, History, git::SharedObjectStore, traits::FileMode};

use super::{conversion::Converter, files_error};
use crate::workloads::WorkloadError;

/// What was written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written {
    /// Files and symbolic links.
    pub(super) files: u64,
    /// Bytes in them.
    pub(super) bytes: u64,
}

/// Writes one revision after another, in the same memory.
#[derive(Debug, Default)]
pub(super) struct FileWriter {
    files: Changes,
    content: Vec<u8>,
    converter: Converter,
}

impl FileWriter {
    /// Writes the files of `revision` into `folder`, in the order of their paths. Those that a partial clone lacks are left
    /// out.
    pub(super) fn write(
        &mut self,
        history: &mut dyn History,
        revision: &oid,
        folder: &Path,
    ) -> Result<Written, WorkloadError> {
        let mut files = std::mem::take(&mut self.files);
        let written = history.manifest(revision, &mut files).map_err(WorkloadError::from).and_then(|()| {
            let objects = history.git_objects();
            let mut stack = attribute_stack(&files, objects.as_ref(), folder)?;
            self.converter.start(&stack);
            self.write_all(&files, history, &mut stack, objects.as_ref())
        });
        self.files = files;
        written
    }

    fn write_all(
        &mut self,
        files: &Changes,
        history: &mut dyn History,
        stack: &mut Stack,
        objects: Option<&SharedObjectStore>,
    ) -> Result<Written, WorkloadError> {
        let mut written = Written::default();
        for (path, change) in files.iter() {
            let Some(version) = change.new else { continue };
            let is_file = version.mode != FileMode::Gitlink;
            if is_file && !history.content(path, &version, &mut self.content)? {
                continue;
            }
            let bytes = self
                .write_one(path, &version, stack, objects)
                .map_err(|e| files_error("write", &stack.base().join(OsStr::from_bytes(path)), e))?;
            if is_file {
                written.files += 1;
                written.bytes += bytes;
            }
        }
        Ok(written)
    }

    /// Writes what lies at `path`, and the directories that lead there; gives its length in bytes. Only Git, whose
    /// `objects` are given, converts content.
    fn write_one(
        &mut self,
        path: &[u8],
        version: &FileVersion,
        stack: &mut Stack,
        objects: Option<&SharedObjectStore>,
    ) -> Result<u64, FileError> {
        let attribute_source: &dyn Find = match objects {
            Some(objects) => objects,
            None => &Never,
        };
        // Makes the directories, and for a submodule the one that stands for it.
        let place = stack.at_entry(path, Some(index_mode(version.mode)), attribute_source)?;
        match version.mode {
            FileMode::Gitlink => Ok(0),
            FileMode::Symlink => write_link(&self.content, place.path()),
            FileMode::Regular | FileMode::Executable => {
                let content = match objects {
                    Some(_) => self.converter.convert(&place, &version.id, &self.content)?,
                    None => &self.content,
                };
                // The process's mask takes bits away, as it does from git's files.
                let mode = if version.mode == FileMode::Executable { 0o777 } else { 0o666 };
                let mut file = File::options().write(true).create_new(true).mode(mode).open(place.path())?;
                file.write_all(content)?;
                Ok(content.len() as u64)
            }
        }
    }
}

/// Why one file cannot be written.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error("another path of the revision is in its way")]
    Collision,
    #[error(transparent)]
    Io(std::io::Error),
    #[error(transparent)]
    Conversion(#[from] super::conversion::ConversionError),
}

impl From<std::io::Error> for FileError {
    /// The folder was empty, so whatever is found there was written before.
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => FileError::Collision,
            _ => FileError::Io(error),
        }
    }
}

/// Makes a link to `target`, up to its first NUL byte if it has one: the system takes no more, and git leaves it at that.
fn write_link(target: &[u8], path: &Path) -> Result<u64, FileError> {
    let target = target.split(|byte| *byte == 0).next().unwrap_or_default();
    std::os::unix::fs::symlink(OsStr::from_bytes(target), path)?;
    Ok(target.len() as u64)
}

fn index_mode(mode: FileMode) -> Mode {
    match mode {
        FileMode::Regular => Mode::FILE,
        FileMode::Executable => Mode::FILE_EXECUTABLE,
        FileMode::Symlink => Mode::SYMLINK,
        FileMode::Gitlink => Mode::COMMIT,
    }
}

/// Makes directories in `folder`, and knows the attributes that the `.gitattributes` among `files` give to paths if
/// these are Git's.
fn attribute_stack(
    files: &Changes,
    objects: Option<&SharedObjectStore>,
    folder: &Path,
) -> Result<Stack, WorkloadError> {
    let mut collection = MetadataCollection::default();
    // No files: attributes that lie outside the revision would make it another benchmark on every machine.
    let no_files: [PathBuf; 0] = [];
    let built_in = Search::new_globals(no_files, &mut Vec::new(), &mut collection)
        .map_err(|e| files_error("check out into", folder, e))?;
    let attributes = Attributes::new(built_in, None, Source::IdMapping, collection);
    // git's own choice on systems other than Windows and macOS. Names that only Windows forbids are allowed.
    let forbidden = component::Options { protect_windows: false, protect_hfs: false, protect_ntfs: objects.is_some() };
    let state = State::for_checkout(false, forbidden, attributes);
    let attribute_files = objects.map_or_else(Vec::new, |objects| attribute_files(files, objects));
    Ok(Stack::new(folder, state, Case::Sensitive, Vec::new(), attribute_files))
}

/// The `.gitattributes` files with their paths, sorted by them. git does not follow one that is a symbolic link.
fn attribute_files(files: &Changes, objects: &SharedObjectStore) -> Vec<(BString, ObjectId)> {
    const NAME: &[u8] = b".gitattributes";
    let mut store = objects.lock();
    let mut found: Vec<_> = files
        .iter()
        .filter(|(path, _)| path.rsplit(|byte| *byte == b'/').next() == Some(NAME))
        .filter_map(|(path, change)| Some((path, change.new?)))
        .filter(|(_, version)| matches!(version.mode, FileMode::Regular | FileMode::Executable))
        .filter(|(_, version)| store.contains(&version.id))
        .map(|(path, version)| (BString::from(path), version.id))
        .collect();
    found.sort();
    found
}
