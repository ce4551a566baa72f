//! Compressing and uncompressing files where they lie, as `gzip` and its kin do: a new file beside the old one, then the old one goes.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use repackbench_codec::{FileDecoder, FileEncoder, FileForm};
use repackbench_reader::{Place, ReaderError};

use crate::{Progress, Result, WriterError};

/// Compresses `files`, names in the folder `root`, each of which gets the form's suffix. Returns the length of all that was
/// written.
///
/// # Errors
/// A file cannot be read, encoded, written or removed, or the user stops it.
pub fn compress(root: &Path, files: &[PathBuf], encoder: &mut FileEncoder, progress: &dyn Progress) -> Result<u64> {
    let suffix = encoder.form().suffix();
    let (mut content, mut stored, mut written) = (Vec::new(), Vec::new(), 0);
    for file in files {
        let old = root.join(file);
        read(&old, &mut content)?;
        stored.clear();
        encoder.encode(&content, &mut stored)?;
        replace(&old, &with_suffix(&old, suffix), &stored, progress)?;
        written += stored.len() as u64;
    }
    Ok(written)
}

/// Uncompresses what [`compress`] has written, each file to at most `limit` bytes. Returns the length of all that was written.
///
/// # Errors
/// A file cannot be read, decoded, written or removed, or the user stops it.
pub fn uncompress(
    root: &Path,
    files: &[PathBuf],
    form: FileForm,
    decoder: &mut FileDecoder,
    limit: usize,
    progress: &dyn Progress,
) -> Result<u64> {
    let (mut content, mut stored, mut written) = (Vec::new(), Vec::new(), 0);
    for file in files {
        let new = root.join(file);
        let old = with_suffix(&new, form.suffix());
        read(&old, &mut stored)?;
        content.clear();
        decoder.decode(&stored, limit, &mut content).map_err(|error| {
            ReaderError::corrupt(&old, Place::Whole, format!("a file of the form {}", form.name()), error.to_string())
        })?;
        replace(&old, &new, &content, progress)?;
        written += content.len() as u64;
    }
    Ok(written)
}

/// `path` with `suffix` behind its name.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn read(path: &Path, bytes: &mut Vec<u8>) -> Result<()> {
    bytes.clear();
    let read = File::open(path).and_then(|mut file| file.read_to_end(bytes));
    read.map(drop).map_err(|error| WriterError::io("read", path, error))
}

fn replace(old: &Path, new: &Path, bytes: &[u8], progress: &dyn Progress) -> Result<()> {
    if progress.is_cancelled() {
        return Err(WriterError::Interrupted);
    }
    if old == new {
        // Flat under `store`: there is nothing to do, and nothing must be lost.
        return Ok(());
    }
    let written: io::Result<()> = File::create_new(new).and_then(|mut file| file.write_all(bytes));
    written.map_err(|error| WriterError::io("write", new, error))?;
    fs::remove_file(old).map_err(|error| WriterError::io("remove", old, error))
}
