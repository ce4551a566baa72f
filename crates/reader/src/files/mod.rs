//! Trees of files: the files of one revision, each compressed into a file of its own.
//!
//! | in the folder | |
//! |---|---|
//! | `repackbench-files` | the description of the tree: see [`Descriptor`] |
//! | `files/` | the revision's folders and files. Each file has its own name and the suffix of the form |
//!
//! A tree of files is neither a repository nor a checkout. It has no symbolic links, gitlinks or permissions.

mod descriptor;

use std::{
    fs,
    io::Read,
    path::{Component, Path, PathBuf},
};

use repackbench_codec::{CodecError, Decoders, FileDecoder};

pub use self::descriptor::{DESCRIPTOR_FILE, Descriptor};
use crate::{
    Place, ReaderError, Result,
    bounds::name_of,
    memory::{self, TooLarge},
};

/// The folder that holds the files.
pub const FILES_FOLDER: &str = "files";

/// An open tree of files.
#[derive(Debug)]
pub struct FileTree {
    folder: PathBuf,
    descriptor: Descriptor,
}

impl FileTree {
    /// Whether the folder at `path` has a descriptor.
    pub fn is_at(path: &Path) -> bool {
        path.join(DESCRIPTOR_FILE).is_file()
    }

    /// Opens the tree in the folder at `path`.
    ///
    /// # Errors
    /// The folder has no descriptor, or the descriptor is damaged or of another version.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(FileTree { folder: path.to_owned(), descriptor: Descriptor::read(path)? })
    }

    /// Its description.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// A reader of its files.
    pub fn reader(&self, decoders: impl Into<Decoders>) -> FileReader<'_> {
        FileReader {
            tree: self,
            decoder: FileDecoder::new(self.descriptor.form, decoders),
            stored: Vec::new(),
            content: Vec::new(),
        }
    }

    /// The stored file for `path`, a path in the revision; `None` if the path would leave the tree.
    pub fn place(&self, path: &Path) -> Option<PathBuf> {
        let is_inside = path.components().all(|component| matches!(component, Component::Normal(_)));
        let mut name = path.file_name().filter(|_| is_inside)?.to_owned();
        name.push(self.descriptor.form.suffix());
        Some(self.folder.join(FILES_FOLDER).join(path).with_file_name(name))
    }
}

/// Reads the files of a tree, reusing contexts and buffers.
#[derive(Debug)]
pub struct FileReader<'a> {
    tree: &'a FileTree,
    decoder: FileDecoder,
    stored: Vec<u8>,
    content: Vec<u8>,
}

impl FileReader<'_> {
    /// The content of the file at `path`, a path in the revision.
    ///
    /// # Errors
    /// There is no such file, it is damaged, or it holds more than the descriptor says of the whole tree.
    pub fn read(&mut self, path: &Path) -> Result<&[u8]> {
        let Some(place) = self.tree.place(path) else {
            let why = std::io::Error::from(std::io::ErrorKind::InvalidInput);
            return Err(ReaderError::io("read", path, why));
        };
        read_whole(&place, self.tree.descriptor.stored_bytes, &mut self.stored)?;
        self.content.clear();
        let claimed = usize::try_from(self.tree.descriptor.content_bytes).unwrap_or(usize::MAX);
        let decoded = self.decoder.decode(&self.stored, claimed.min(memory::largest()), &mut self.content);
        decoded.map_err(|error| match memory::excess_of(&error, memory::largest()) {
            Some(excess) => too_large(&place, "a file", excess),
            None => damaged(&place, &error),
        })?;
        Ok(&self.content)
    }
}

/// Reads the whole file at `path` into `stored`. Rejects a file longer than `limit` before taking memory for it, and
/// anything that is no regular file, because it might never end.
fn read_whole(path: &Path, limit: u64, stored: &mut Vec<u8>) -> Result<()> {
    let failed = |error| ReaderError::io("read", path, error);
    let kind = fs::metadata(path).map_err(failed)?.file_type();
    if !kind.is_file() {
        return Err(ReaderError::corrupt(path, Place::Whole, "a file", name_of(kind)));
    }
    let file = fs::File::open(path).map_err(failed)?;
    let len = file.metadata().map_err(failed)?.len();
    memory::check(len).map_err(|excess| too_large(path, "a file", excess))?;
    stored.clear();
    let len = file.take(limit.saturating_add(1)).read_to_end(stored).map_err(failed)? as u64;
    if len > limit {
        return Err(ReaderError::corrupt(path, Place::Whole, format!("at most {limit} bytes"), "more"));
    }
    Ok(())
}

fn too_large(path: &Path, what: &'static str, excess: TooLarge) -> ReaderError {
    ReaderError::too_large(path, Place::Whole, what, excess)
}

fn damaged(path: &Path, error: &CodecError) -> ReaderError {
    ReaderError::corrupt(path, Place::Whole, "a file in the format of the tree", error.to_string())
}

#[cfg(test)]
mod tests;
