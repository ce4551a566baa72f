//! The metadata file beside each cached variant.

use std::{
    fs,
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};

use crate::conversion::SearchCost;

/// The origin of a variant. It is informative only: the key alone decides whether a variant fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantOrigin {
    /// The repository that it was made from.
    pub source: PathBuf,
    /// The codec spec in its canonical spelling.
    pub spec: String,
    /// The version of the on-disk format.
    pub format_version: u32,
    /// A hash of the state of the repository, if it is known.
    pub state: Option<String>,
    /// Names, versions and settings of the programs and libraries that wrote it, if they are known.
    pub encoder: Option<String>,
}

/// The total cost of making a variant: reading the source, encoding, checking the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakingCost {
    /// CPU time of all threads, and of programs that were started.
    pub cpu: Duration,
    /// Elapsed time.
    pub wall: Duration,
    /// The search for deltas in it, if there was one; missing for variants of older versions.
    #[serde(default)]
    pub search: Option<SearchCost>,
}

/// Measures the cost of making a variant.
pub(crate) struct MakingClock {
    began: Instant,
    cpu: Option<Duration>,
}

impl MakingClock {
    pub(crate) fn start() -> Self {
        MakingClock { began: Instant::now(), cpu: process_cpu() }
    }

    /// The cost so far, with that of a search in it; `None` if the system does not report it.
    pub(crate) fn read(&self, search: Option<SearchCost>) -> Option<MakingCost> {
        let cpu = process_cpu()?.checked_sub(self.cpu?)?;
        Some(MakingCost { cpu, wall: self.began.elapsed(), search })
    }
}

/// CPU time of this process and of child processes that it waited for.
fn process_cpu() -> Option<Duration> {
    cpu_of(UsageWho::RUSAGE_SELF)?.checked_add(children_cpu()?)
}

/// CPU time of child processes that this one waited for; `None` if the system does not report it.
pub(crate) fn children_cpu() -> Option<Duration> {
    cpu_of(UsageWho::RUSAGE_CHILDREN)
}

fn cpu_of(who: UsageWho) -> Option<Duration> {
    let usage = getrusage(who).ok()?;
    [usage.user_time(), usage.system_time()].into_iter().try_fold(Duration::ZERO, |sum, time| {
        let seconds = Duration::from_secs(time.tv_sec().try_into().ok()?);
        sum.checked_add(seconds)?.checked_add(Duration::from_micros(time.tv_usec().try_into().ok()?))
    })
}

/// The content of the metadata file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Metadata {
    /// The source's path; bytes that are not UTF-8 are replaced.
    pub(super) source: String,
    pub(super) spec: String,
    pub(super) format_version: u32,
    /// See [`VariantOrigin::state`]; missing for variants of older versions.
    #[serde(default)]
    pub(super) state: Option<String>,
    /// See [`VariantOrigin::encoder`]; missing for variants of older versions.
    #[serde(default)]
    pub(super) encoder: Option<String>,
    /// The lengths of the variant's files, in bytes.
    pub(super) bytes: u64,
    /// The cost of making it; missing for variants of older versions, and if the system does not report it.
    #[serde(default)]
    pub(super) making: Option<MakingCost>,
    /// Seconds since 1970-01-01 UTC.
    pub(super) created: u64,
    /// Seconds since 1970-01-01 UTC.
    pub(super) last_used: u64,
}

/// The largest metadata file that is read. A real one holds a few short texts and numbers.
const MAX_METADATA_BYTES: u64 = 1 << 20;

impl Metadata {
    /// Metadata of a variant that was made just now.
    pub(super) fn new(origin: &VariantOrigin, bytes: u64, making: Option<MakingCost>) -> Self {
        let now = unix_seconds(SystemTime::now());
        Metadata {
            source: origin.source.to_string_lossy().into_owned(),
            spec: origin.spec.clone(),
            format_version: origin.format_version,
            state: origin.state.clone(),
            encoder: origin.encoder.clone(),
            bytes,
            making,
            created: now,
            last_used: now,
        }
    }

    /// The metadata in `path`; `None` if there is no such file or it has another format.
    pub(super) fn read(path: &Path) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(file) if file.len() > MAX_METADATA_BYTES => return Ok(None),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(error),
        }
        Ok(serde_json::from_slice(&fs::read(path)?).ok())
    }

    /// Writes the metadata to `path` atomically, so that readers see the old or the new.
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
