//! Computes the cache keys of variants of a Mercurial repository.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use repackbench_codec::FORMAT_VERSION;
use repackbench_reader::{ReaderError, hg::HgRepository};

use crate::{
    Result, WriterError,
    cache::{KeyHasher, VariantKey},
};

/// The number of bytes that are hashed at a time.
const BUFFER: usize = 256 << 10;

/// A hash of the state of `source` and, with `spec` and `encoder`, of its variant. Two repositories with the same hash
/// hold the same revisions and chunks.
///
/// SHA-256 over: `mercurial`, the version of the format, `spec`, `encoder`, the two lists of requirements, the name,
/// the whole index and the length of the data file of each revlog, and name and content of every other copied file. An
/// index holds the node of every revision, its base and the length of its chunk, which decide the payloads.
pub(crate) fn key(source: &HgRepository, spec: &str, encoder: &str) -> Result<VariantKey> {
    let mut hasher = KeyHasher::default();
    hasher.text(b"mercurial");
    hasher.number(FORMAT_VERSION.into());
    hasher.text(spec.as_bytes());
    hasher.text(encoder.as_bytes());
    hash_lines(&mut hasher, &source.requirements().work_tree);
    hash_lines(&mut hasher, &source.requirements().store);
    hasher.number(source.revlogs().len() as u64);
    let mut buffer = vec![0; BUFFER];
    for files in source.revlogs() {
        hash_file(&mut hasher, source, &files.index, &mut buffer)?;
        let data_len = match fs::metadata(&files.data) {
            Ok(data) => data.len().saturating_add(1),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(ReaderError::io("inspect", &files.data, error).into()),
        };
        hasher.number(data_len);
    }
    let store = source.store_dir();
    let others = source.other_store_files().iter().chain(source.dictionary_files()).map(|path| store.join(path));
    let kept = source.kept_files().iter().map(|path| source.hg_dir().join(path));
    for path in others.chain(kept) {
        hash_file(&mut hasher, source, &path, &mut buffer)?;
    }
    Ok(hasher.finish())
}

fn hash_lines(hasher: &mut KeyHasher, lines: &BTreeSet<String>) {
    hasher.number(lines.len() as u64);
    lines.iter().for_each(|line| hasher.text(line.as_bytes()));
}

/// Hashes name, length and content of a file. The name of a large or external file is a hash of its content, so only
/// name and length are hashed.
fn hash_file(hasher: &mut KeyHasher, source: &HgRepository, path: &Path, buffer: &mut [u8]) -> Result<()> {
    let failed = |error| WriterError::from(ReaderError::io("read", path, error));
    let name = path.strip_prefix(source.hg_dir()).unwrap_or(path);
    hasher.text(name.as_os_str().as_bytes());
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    hasher.number(length);
    if name.starts_with("store/lfs/objects") || name.starts_with("largefiles") {
        return Ok(());
    }
    let mut hashed = 0;
    loop {
        let count = file.read(buffer).map_err(failed)?;
        hasher.bytes(buffer.get(..count).unwrap_or_default());
        hashed += count as u64;
        if count == 0 && hashed != length {
            return Err(ReaderError::Changed { path: path.to_owned() }.into());
        }
        if count == 0 {
            return Ok(());
        }
    }
}
