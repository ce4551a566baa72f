//! The small file beside each cached variant that says what it is.

use std::{
    fs,
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

/// What a variant was made of; for people, as the key alone decides whether a variant fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantOrigin {
    /// The repository that it was made from.
    pub source: PathBuf,
    /// The codec spec in its canonical spelling.
    pub spec: String,
    /// The version of the on-disk format.
    pub format_version: u32,
}

/// The content of the metadata file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Metadata {
    /// The source's path; bytes that are not UTF-8 are replaced.
    pub(super) source: String,
    pub(super) spec: String,
    pub(super) format_version: u32,
    /// The lengths of the variant's files, in bytes.
    pub(super) bytes: u64,
    /// Seconds since 1970-01-01 UTC.
    pub(super) created: u64,
    /// Seconds since 1970-01-01 UTC.
    pub(super) last_used: u64,
}

/// The longest metadata file that is read; a real one holds two short texts and four numbers.
const MAX_METADATA_BYTES: u64 = 1 << 20;

impl Metadata {
    /// Metadata of a variant that was made just now.
    pub(super) fn new(origin: &VariantOrigin, bytes: u64) -> Self {
        let now = unix_seconds(SystemTime::now());
        Metadata {
            source: origin.source.to_string_lossy().into_owned(),
            spec: origin.spec.clone(),
            format_version: origin.format_version,
            bytes,
            created: now,
            last_used: now,
        }
    }

    /// The metadata in `path`; `None` when there is no such file or it is not what we write.
    pub(super) fn read(path: &Path) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(file) if file.len() > MAX_METADATA_BYTES => return Ok(None),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(error),
        }
        Ok(serde_json::from_slice(&fs::read(path)?).ok())
    }

    /// Writes the metadata to `path` in one step, so that readers see the old or the new.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&mut file, self)?;
        file.write_all(b"\n")?;
        file.persist(path)?;
        Ok(())
    }
}

/// `time` in whole seconds since 1970-01-01 UTC; times before that count as 0.
pub(super) fn unix_seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
