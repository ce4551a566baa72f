//! Compresses and uncompresses files in place, like `gzip`: creates the new file beside the old one, then removes the
//! old one.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use repackbench_codec::{BLOCK_LEN, FileDecoder, FileEncoder};
use repackbench_reader::{Place, ReaderError};

use super::large;
use crate::{Progress, Result, WriterError};

/// Compresses `files`, which are relative to `root`. Each gets the suffix of the form. Returns the total length of the
/// new files.
///
/// If the new name of a file is taken by another one, the file waits until that one has its new name.
///
/// # Errors
/// A file cannot be read, encoded, written or removed, or the user stops the work.
pub fn compress(root: &Path, files: &[PathBuf], encoder: &mut FileEncoder, progress: &dyn Progress) -> Result<u64> {
    let suffix = encoder.form().suffix();
    let (mut content, mut stored) = (Vec::new(), Vec::new());
    in_turns(files, &mut |file| {
        let old = root.join(file);
        let new = with_suffix(&old, suffix);
        let (mut source, len) = open(&old)?;
        if len > BLOCK_LEN as u64 {
            return replace(&old, &new, progress, &mut |target| {
                large::encode(encoder, (&mut source, &old), len, (target, &new), progress)
            });
        }
        read(&mut source, &old, &mut content)?;
        stored.clear();
        encoder.encode(&content, &mut stored)?;
        replace(&old, &new, progress, &mut |target| put(target, &new, &stored))
    })
}

/// Uncompresses the output of [`compress`], each file to at most `limit` bytes. Returns the total length of the new
/// files.
///
/// # Errors
/// A file cannot be read, decoded, written or removed, or the user stops the work.
pub fn uncompress(
    root: &Path,
    files: &[PathBuf],
    decoder: &mut FileDecoder,
    limit: usize,
    progress: &dyn Progress,
) -> Result<u64> {
    let form = decoder.form();
    let (mut content, mut stored) = (Vec::new(), Vec::new());
    in_turns(files, &mut |file| {
        let new = root.join(file);
        let old = with_suffix(&new, form.suffix());
        read(&mut open(&old)?.0, &old, &mut stored)?;
        content.clear();
        decoder.decode(&stored, limit, &mut content).map_err(|error| {
            ReaderError::corrupt(&old, Place::Whole, format!("a file of the form {}", form.name()), error.to_string())
        })?;
        replace(&old, &new, progress, &mut |target| put(target, &new, &content))
    })
}

/// The outcome for one file.
enum Replaced {
    /// The file was replaced by one of this length.
    Written(u64),
    /// Another file has the new name.
    InTheWay(PathBuf),
}

/// Replaces each of `files`, and repeats that for files whose new name was taken. Returns the total length.
fn in_turns(files: &[PathBuf], replace: &mut dyn FnMut(&Path) -> Result<Replaced>) -> Result<u64> {
    let mut written = 0;
    let mut left: Vec<&PathBuf> = files.iter().collect();
    while !left.is_empty() {
        let count = left.len();
        let mut later = Vec::new();
        let mut blocked = PathBuf::new();
        for file in left {
            match replace(file)? {
                Replaced::Written(len) => written += len,
                Replaced::InTheWay(path) => {
                    later.push(file);
                    blocked = path;
                }
            }
        }
        if later.len() == count {
            return Err(WriterError::io("write", blocked, io::ErrorKind::AlreadyExists.into()));
        }
        left = later;
    }
    Ok(written)
}

/// `path` with `suffix` appended.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The file at `path`, and its length.
fn open(path: &Path) -> Result<(File, u64)> {
    let opened = File::open(path).and_then(|file| file.metadata().map(|metadata| (file, metadata.len())));
    opened.map_err(|error| WriterError::io("read", path, error))
}

fn read(file: &mut File, path: &Path, bytes: &mut Vec<u8>) -> Result<()> {
    bytes.clear();
    file.read_to_end(bytes).map(drop).map_err(|error| WriterError::io("read", path, error))
}

fn put(mut file: &File, path: &Path, bytes: &[u8]) -> Result<u64> {
    file.write_all(bytes).map_err(|error| WriterError::io("write", path, error))?;
    Ok(bytes.len() as u64)
}

/// Replaces `old` by `new`. `fill` writes the content of `new` and returns its length.
fn replace(
    old: &Path,
    new: &Path,
    progress: &dyn Progress,
    fill: &mut dyn FnMut(&File) -> Result<u64>,
) -> Result<Replaced> {
    if progress.is_cancelled() {
        return Err(WriterError::Interrupted);
    }
    // A flat tree under `store` stays as it is, and nothing must be lost.
    if old == new {
        return open(old).map(|(_, len)| Replaced::Written(len));
    }
    let file = match File::create_new(new) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Ok(Replaced::InTheWay(new.to_owned()));
        }
        made => made.map_err(|error| WriterError::io("write", new, error))?,
    };
    let len = fill(&file)?;
    drop(file);
    fs::remove_file(old).map_err(|error| WriterError::io("remove", old, error))?;
    Ok(Replaced::Written(len))
}

#[cfg(test)]
mod tests {
    use repackbench_codec::{CodecSpec, Decoders};

    use super::*;
    use crate::NoProgress;

    #[test]
    fn taken_names_are_retried_and_permanent_conflicts_fail() {
        let folder = tempfile::tempdir().unwrap();
        let spec: CodecSpec = "zlib:9".parse().unwrap();
        let mut encoder = FileEncoder::new(spec.default_choice()).unwrap();
        let mut decoder = FileDecoder::new(encoder.form(), Decoders::default());
        // In either order.
        for names in [["a", "a.gz", "a.gz.gz"], ["a.gz.gz", "a.gz", "a"]] {
            let names = names.map(PathBuf::from);
            names.iter().for_each(|name| fs::write(folder.path().join(name), name.to_str().unwrap()).unwrap());
            compress(folder.path(), &names, &mut encoder, &NoProgress).unwrap();
            assert!(!folder.path().join("a").exists() && folder.path().join("a.gz.gz.gz").exists());
            let back = uncompress(folder.path(), &names, &mut decoder, 100, &NoProgress).unwrap();
            assert_eq!(back, 12);
            for name in &names {
                assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), name.to_str().unwrap());
            }
        }
        let only = [PathBuf::from("a")];
        let error = compress(folder.path(), &only, &mut encoder, &NoProgress).unwrap_err().to_string();
        assert!(error.contains("a.gz") && error.contains("cannot write"), "{error}");
        assert_eq!(fs::read_to_string(folder.path().join("a")).unwrap(), "a");
    }
}
