//! Writes the files of a revision, as git or hg does into an empty work tree.
//!
//! Nothing is ever replaced, and no symbolic link is followed. Directories are created or checked, by the library's
//! stack for Git and by [`Folders`] otherwise; files and links are only created where nothing exists. So a forged tree
//! with both a link `a` and a file `a/b`, which neither git nor hg writes, is an error and creates no file elsewhere.
//! Each system refuses names that lead into its repository folder.

use std::{
    cell::RefCell,
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
    object::{Data, Find},
    stack::{
        Platform, State,
        state::{Attributes, attributes::Source},
    },
    validate::path::component,
};
use repackbench_reader::{Changes, FileVersion, History, git::SharedObjectStore, traits::FileMode};

use super::{
    conversion::Converter,
    files_error,
    folders::{Folders, check_path},
};
use crate::workloads::{Observer, WorkloadError};

/// The number of written files and bytes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written {
    /// Files and symbolic links.
    pub(super) files: u64,
    /// Bytes in them.
    pub(super) bytes: u64,
}

/// Writes revisions, reusing its buffers.
#[derive(Debug, Default)]
pub(super) struct FileWriter {
    files: Changes,
    content: Vec<u8>,
    converter: Converter,
}

impl FileWriter {
    /// Writes the files of `revision` into `folder`, in the order of their paths. Files that a partial clone lacks are
    /// left out. `observer` is notified of each file.
    pub(super) fn write(
        &mut self,
        history: &mut dyn History,
        revision: &oid,
        folder: &Path,
        observer: &mut dyn Observer,
    ) -> Result<Written, WorkloadError> {
        let mut files = std::mem::take(&mut self.files);
        let written = history.manifest(revision, &mut files).map_err(WorkloadError::from).and_then(|()| {
            let mut places = Places::new(&files, history.git_objects(), folder)?;
            if let Places::Git(places) = &places {
                self.converter.start(&places.stack);
            }
            self.write_all(&files, history, &mut places, folder, observer)
        });
        self.files = files;
        written
    }

    fn write_all(
        &mut self,
        files: &Changes,
        history: &mut dyn History,
        places: &mut Places,
        folder: &Path,
        observer: &mut dyn Observer,
    ) -> Result<Written, WorkloadError> {
        let mut written = Written::default();
        for (path, change) in files.iter() {
            let Some(version) = change.new else { continue };
            let is_file = version.mode != FileMode::Gitlink;
            if is_file && !history.content(path, &version, &mut self.content)? {
                continue;
            }
            let bytes = match places {
                Places::Git(places) => self.write_git(path, &version, places, observer),
                Places::Other(folders) => self.write_other(path, &version, folders, observer),
            };
            let bytes = bytes.map_err(|e| files_error("write", &folder.join(OsStr::from_bytes(path)), e))?;
            if is_file {
                written.files += 1;
                written.bytes += bytes;
            }
        }
        Ok(written)
    }

    /// Writes the converted file at `path` of a Git repository and the directories that lead there; returns its length
    /// in bytes.
    fn write_git(
        &mut self,
        path: &[u8],
        version: &FileVersion,
        places: &mut GitPlaces,
        observer: &mut dyn Observer,
    ) -> Result<u64, FileError> {
        let place = places.place(path, version.mode, observer)?;
        match version.mode {
            FileMode::Gitlink => Ok(0),
            FileMode::Symlink => observer.writing(|| write_link(&self.content, place.path())),
            FileMode::Regular | FileMode::Executable => {
                let content = self.converter.convert(&place, &version.id, &self.content)?;
                observer.writing(|| write_file(content, version.mode, place.path()))
            }
        }
    }

    /// Like [`write_git`](FileWriter::write_git) for any other system: content is written unchanged.
    fn write_other(
        &self,
        path: &[u8],
        version: &FileVersion,
        folders: &mut Folders,
        observer: &mut dyn Observer,
    ) -> Result<u64, FileError> {
        check_path(path)?;
        observer.writing(|| {
            let place = folders.place(path)?;
            match version.mode {
                FileMode::Symlink => write_link(&self.content, place),
                mode => write_file(&self.content, mode, place),
            }
        })
    }
}

/// The places of files, and the names that they may have.
enum Places {
    /// With the attributes of paths.
    Git(GitPlaces),
    /// Of any other system, which is Mercurial.
    Other(Folders),
}

impl Places {
    /// The places of `files` in `folder`; of Git if there are `objects`.
    fn new(files: &Changes, objects: Option<SharedObjectStore>, folder: &Path) -> Result<Self, WorkloadError> {
        Ok(match objects {
            Some(objects) => {
                let stack = Box::new(attribute_stack(files, &objects, folder)?);
                Places::Git(GitPlaces { stack, objects, directory: Vec::new() })
            }
            None => Places::Other(Folders::new(folder)),
        })
    }
}

/// The places of the files of a Git repository, and their attributes.
struct GitPlaces {
    stack: Box<Stack>,
    objects: SharedObjectStore,
    /// The directory of the last path, with the slash at its end.
    directory: Vec<u8>,
}

impl GitPlaces {
    /// The place of `path`. The stack creates the directories that lead there, and the directory that stands for a
    /// submodule. That is part of writing: on some file systems it takes as long as a file, and its time varies as
    /// much. In the same call the stack decodes the `.gitattributes` of new directories, which is not part of writing.
    fn place(&mut self, path: &[u8], mode: FileMode, observer: &mut dyn Observer) -> std::io::Result<Platform<'_>> {
        let directory = path.get(..path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1));
        let is_new = directory != Some(&self.directory) || mode == FileMode::Gitlink;
        let mode = Some(index_mode(mode));
        if !is_new {
            return self.stack.at_entry(path, mode, &self.objects);
        }
        self.directory = directory.unwrap_or_default().to_vec();
        observer.start_writing();
        let objects = OutsideOfWriting { objects: &self.objects, observer: RefCell::new(&mut *observer) };
        let place = self.stack.at_entry(path, mode, &objects);
        observer.end_writing();
        place
    }
}

/// Objects that are decoded during a write, but do not belong to it.
struct OutsideOfWriting<'a> {
    objects: &'a dyn Find,
    observer: RefCell<&'a mut dyn Observer>,
}

impl Find for OutsideOfWriting<'_> {
    fn try_find<'a>(&self, id: &oid, buffer: &'a mut Vec<u8>) -> Result<Option<Data<'a>>, gix_error::Error> {
        self.observer.borrow_mut().end_writing();
        let found = self.objects.try_find(id, buffer);
        self.observer.borrow_mut().start_writing();
        found
    }
}

/// Why one file cannot be written.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error("another path of the revision conflicts with it")]
    Collision,
    #[error(transparent)]
    Forbidden(#[from] super::folders::ForbiddenPath),
    #[error(transparent)]
    Io(std::io::Error),
    #[error(transparent)]
    Conversion(#[from] super::conversion::ConversionError),
}

impl From<std::io::Error> for FileError {
    /// The folder was empty, so anything found there was written before.
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => FileError::Collision,
            _ => FileError::Io(error),
        }
    }
}

/// Creates a file. The umask of the process applies, as it does to the files of git and hg.
fn write_file(content: &[u8], mode: FileMode, path: &Path) -> Result<u64, FileError> {
    let mode = if mode == FileMode::Executable { 0o777 } else { 0o666 };
    let mut file = File::options().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(content)?;
    Ok(content.len() as u64)
}

/// Creates a link to `target`, up to its first NUL byte: the system takes no more, and git accepts that.
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

/// Creates directories in `folder`, and looks up the attributes that the `.gitattributes` among `files` give to paths.
fn attribute_stack(files: &Changes, objects: &SharedObjectStore, folder: &Path) -> Result<Stack, WorkloadError> {
    let mut collection = MetadataCollection::default();
    // No files: attributes outside of the revision would make the benchmark depend on the machine.
    let no_files: [PathBuf; 0] = [];
    let built_in = Search::new_globals(no_files, &mut Vec::new(), &mut collection)
        .map_err(|e| files_error("check out into", folder, e))?;
    let attributes = Attributes::new(built_in, None, Source::IdMapping, collection);
    // The default of git on systems other than Windows and macOS. Names that only Windows forbids are allowed.
    let forbidden = component::Options { protect_windows: false, protect_hfs: false, protect_ntfs: true };
    let state = State::for_checkout(false, forbidden, attributes);
    Ok(Stack::new(folder, state, Case::Sensitive, Vec::new(), attribute_files(files, objects)?))
}

/// The `.gitattributes` files, sorted by path. git ignores those that are symbolic links.
fn attribute_files(files: &Changes, objects: &SharedObjectStore) -> Result<Vec<(BString, ObjectId)>, WorkloadError> {
    const NAME: &[u8] = b".gitattributes";
    let mut store = objects.lock();
    let named = files
        .iter()
        .filter(|(path, _)| path.rsplit(|byte| *byte == b'/').next() == Some(NAME))
        .filter_map(|(path, change)| Some((path, change.new?)))
        .filter(|(_, version)| matches!(version.mode, FileMode::Regular | FileMode::Executable));
    let mut found = Vec::new();
    for (path, version) in named {
        if store.contains(&version.id)? {
            found.push((BString::from(path), version.id));
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::workloads::{Counter, observer::tests::MadeUpClock};

    /// Objects that take a second on the clock to decode.
    struct SlowObjects<'c>(&'c MadeUpClock);

    impl Find for SlowObjects<'_> {
        fn try_find<'a>(&self, _id: &oid, _buffer: &'a mut Vec<u8>) -> Result<Option<Data<'a>>, gix_error::Error> {
            self.0.pass(1000);
            Ok(None)
        }
    }

    #[test]
    fn decoding_attributes_is_not_part_of_writing() {
        let clock = MadeUpClock::default();
        let mut counter = Counter::timing_writes(&clock);
        let (objects, id) = (SlowObjects(&clock), ObjectId::null(gix_hash::Kind::Sha1));
        let observer: &mut dyn Observer = &mut counter;
        observer.start_writing();
        clock.pass(20);
        let outside = OutsideOfWriting { objects: &objects, observer: RefCell::new(&mut *observer) };
        assert!(outside.try_find(&id, &mut Vec::new()).unwrap().is_none());
        clock.pass(300);
        observer.end_writing();
        // What was created before and after, and the millisecond of the reading at the end of each.
        assert_eq!(counter.writing().unwrap(), Some(Duration::from_millis(20 + 1 + 300 + 1)));
    }
}
