//! The cache of variants. Making a variant of a large repository takes minutes, and a benchmark is run many times.
//!
//! A cached variant has a folder of its own, named after its [`VariantKey`]:
//!
//! ```text
//! CACHEDIR.TAG              makes backup programs skip the cache
//! locks/KEY                 see `lock.rs`
//! KEY/metadata.json         the origin of the variant, and when it was last used
//! KEY/repository.git        the variant
//! KEY.making/               being made, under the key's lock; renamed to KEY when complete
//! KEY.removing/             being removed, under the key's lock
//! cold-copies-.../          copies that a run reads, see `scratch.rs`
//! outputs/...               links to folders outside where outputs are being made, see `outputs.rs`
//! ```
//!
//! A variant gets its final name last, so one with that name is complete. Opening a cache removes folders that
//! interrupted processes left under the other names. Nothing else in the cache's folder is touched.

use std::{
    env, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use walkdir::WalkDir;

mod error;
mod key;
mod lock;
mod metadata;
mod outputs;
mod prune;
mod scratch;

pub use error::{CacheError, GetOrMakeError};
pub use key::{KeyHasher, VariantInputs, VariantKey};
pub use metadata::{MakingCost, VariantOrigin};
pub use outputs::OutputNote;
pub use prune::{CachedVariant, Freed, PrunePolicy};
pub use scratch::{CachedCopies, ScratchFolder};

use lock::{VariantLock, WhenBusy};
pub(crate) use metadata::{MakingClock, children_cpu};
use metadata::{Metadata, unix_seconds};

use crate::{
    conversion::SearchCost,
    leftovers::{Leftover, note_unless_gone},
};

const METADATA_FILE: &str = "metadata.json";
const REPOSITORY_FOLDER: &str = "repository.git";
const LOCKS_FOLDER: &str = "locks";
const MAKING: &str = ".making";
const REMOVING: &str = ".removing";

/// The content that the Cache Directory Tagging Specification (<https://bford.info/cachedir/>) prescribes for
/// `CACHEDIR.TAG`.
const CACHEDIR_TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
    # This folder holds repackbench's cached variants; they can be made again.\n";

/// A folder of cached variants. Any number of processes may use it at the same time.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

/// A cached variant in use: no process removes the variant while this value lives.
#[derive(Debug)]
pub struct VariantDir {
    path: PathBuf,
    making: Option<MakingCost>,
    _lock: VariantLock,
}

impl VariantDir {
    /// The path of the variant, a bare repository.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The cost of making it, whenever that was; `None` for variants of older versions of the cache.
    pub fn making_cost(&self) -> Option<MakingCost> {
        self.making
    }

    /// Adds the cost of another variant that this one was made from.
    pub(crate) fn after(mut self, first: Option<MakingCost>) -> Self {
        self.making = match (self.making, first) {
            (Some(own), Some(first)) => {
                let (cpu, wall) = (own.cpu.saturating_add(first.cpu), own.wall.saturating_add(first.wall));
                Some(MakingCost { cpu, wall, search: own.search.or(first.search) })
            }
            _ => None,
        };
        self
    }
}

impl Cache {
    /// Opens the cache in `root`. By default it is in `$XDG_CACHE_HOME/repackbench`, or in `~/.cache/repackbench`.
    /// Creates the folder if it is missing, and removes what interrupted processes left.
    ///
    /// # Errors
    /// [`CacheError::NoPlace`] when the environment names no folder, [`CacheError::Io`] when the folder cannot be used.
    pub fn open(root: Option<PathBuf>) -> Result<Self, CacheError> {
        let root = match root {
            Some(root) => root,
            None => Cache::default_root().ok_or(CacheError::NoPlace)?,
        };
        fs::create_dir_all(&root).map_err(CacheError::io("create", &root))?;
        let tag = root.join("CACHEDIR.TAG");
        if !tag.exists() {
            fs::write(&tag, CACHEDIR_TAG).map_err(CacheError::io("write", &tag))?;
        }
        let cache = Cache { root };
        cache.remove_leftovers()?;
        Ok(cache)
    }

    /// The folder in which [`open`](Self::open) opens a cache by default, if the environment names one.
    pub fn default_root() -> Option<PathBuf> {
        default_root(env::var_os("XDG_CACHE_HOME").map(PathBuf::from), env::home_dir())
    }

    /// The folder of the cache.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The variant of `key`, made by `make` if the cache does not hold it. `make` receives the path of a folder that
    /// does not exist yet, creates the repository there, and returns the cost of a search for deltas if it made one. If two processes want the same variant at the same time,
    /// one makes it and the other waits.
    ///
    /// # Errors
    /// [`GetOrMakeError::Make`] with the error of `make`, [`GetOrMakeError::Cache`] when the cache itself fails.
    /// Nothing of the variant is left then.
    pub fn get_or_make<E>(
        &self,
        key: &VariantKey,
        origin: &VariantOrigin,
        make: impl FnOnce(&Path) -> Result<Option<SearchCost>, E>,
    ) -> Result<VariantDir, GetOrMakeError<E>> {
        let mut make = Some(make);
        loop {
            if let Some(variant) = self.get(key)? {
                return Ok(variant);
            }
            let _lock = VariantLock::exclusive(&self.lock_path(key), WhenBusy::Wait)?;
            // Another process may have made it while this one waited.
            if self.complete_metadata(key)?.is_none() {
                // This process made it, but another one pruned it in the short time without a lock.
                let make = make.take().ok_or_else(|| CacheError::Busy { path: self.lock_path(key) })?;
                self.make_alone(key, origin, make)?;
            }
            // The lock is released and taken again as a shared one, since not every system can downgrade an exclusive
            // lock. The variant can be pruned in between, so look again.
        }
    }

    /// The variant of `key`, if the cache holds it. Waits while the variant is being made or removed.
    ///
    /// # Errors
    /// The folder of the cache cannot be read.
    pub fn get(&self, key: &VariantKey) -> Result<Option<VariantDir>, CacheError> {
        let lock = VariantLock::shared(&self.lock_path(key))?;
        let Some(mut metadata) = self.complete_metadata(key)? else { return Ok(None) };
        metadata.last_used = unix_seconds(std::time::SystemTime::now());
        // A full disk must not prevent the use of a variant; it only looks unused then.
        let _ = metadata.write(&self.variant_folder(key).join(METADATA_FILE));
        let path = self.variant_folder(key).join(REPOSITORY_FOLDER);
        Ok(Some(VariantDir { path, making: metadata.making, _lock: lock }))
    }

    /// Makes the variant under its temporary name and renames it. The caller holds the key's lock exclusively.
    fn make_alone<E>(
        &self,
        key: &VariantKey,
        origin: &VariantOrigin,
        make: impl FnOnce(&Path) -> Result<Option<SearchCost>, E>,
    ) -> Result<(), GetOrMakeError<E>> {
        let making = self.root.join(format!("{key}{MAKING}"));
        let variant = self.variant_folder(key);
        // A folder with the final name but without metadata is a damaged variant.
        for folder in [&making, &variant] {
            remove_folder(folder)?;
        }
        let _leftover = Leftover::new(&making);
        fs::create_dir(&making).map_err(CacheError::io("create", &making))?;
        let clock = MakingClock::start();
        let made = make(&making.join(REPOSITORY_FOLDER))
            .map_err(GetOrMakeError::Make)
            .and_then(|search| finish(&making, &variant, origin, clock.read(search)).map_err(GetOrMakeError::Cache));
        if made.is_err() {
            // Report the first error. What cannot be removed now is removed at the next opening.
            let _ = remove_folder(&making);
        }
        made
    }

    fn complete_metadata(&self, key: &VariantKey) -> Result<Option<Metadata>, CacheError> {
        let folder = self.variant_folder(key);
        if !folder.join(REPOSITORY_FOLDER).is_dir() {
            return Ok(None);
        }
        let file = folder.join(METADATA_FILE);
        let metadata = Metadata::read(&file).map_err(CacheError::io("read", &file))?;
        // Whatever cleans up old files may have removed some. More bytes are what a client added.
        match metadata {
            Some(metadata) if folder_bytes(&folder.join(REPOSITORY_FOLDER))? >= metadata.bytes => Ok(Some(metadata)),
            _ => Ok(None),
        }
    }

    fn variant_folder(&self, key: &VariantKey) -> PathBuf {
        self.root.join(key.to_string())
    }

    fn lock_path(&self, key: &VariantKey) -> PathBuf {
        self.root.join(LOCKS_FOLDER).join(key.to_string())
    }

    /// Removes the temporary folders of processes that are gone, whose keys are not locked. What cannot be removed, such
    /// as another user's, is named at the end, and hinders nobody.
    fn remove_leftovers(&self) -> Result<(), CacheError> {
        for name in self.names()? {
            let Some(key) =
                [MAKING, REMOVING].into_iter().find_map(|suffix| VariantKey::from_hex(name.strip_suffix(suffix)?))
            else {
                continue;
            };
            match VariantLock::exclusive(&self.lock_path(&key), WhenBusy::Fail) {
                Ok(_lock) => {
                    let folder = self.root.join(&name);
                    note_unless_gone(&folder, fs::remove_dir_all(&folder));
                }
                Err(CacheError::Busy { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The names in the cache's folder. Names that are not UTF-8 are not ours.
    fn names(&self) -> Result<Vec<String>, CacheError> {
        let entries = fs::read_dir(&self.root).map_err(CacheError::io("list", &self.root))?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(CacheError::io("list", &self.root))?;
            names.extend(entry.file_name().into_string());
        }
        names.sort_unstable();
        Ok(names)
    }
}

/// Writes the metadata of a complete variant and gives it its final name.
fn finish(making: &Path, variant: &Path, origin: &VariantOrigin, cost: Option<MakingCost>) -> Result<(), CacheError> {
    let repository = making.join(REPOSITORY_FOLDER);
    if !repository.is_dir() {
        return Err(CacheError::NothingMade { path: repository });
    }
    let metadata = Metadata::new(origin, folder_bytes(&repository)?, cost);
    let file = making.join(METADATA_FILE);
    metadata.write(&file).map_err(CacheError::io("write", &file))?;
    fs::rename(making, variant).map_err(CacheError::io("rename", making))
}

/// The lengths of all files under `folder`, in bytes.
fn folder_bytes(folder: &Path) -> Result<u64, CacheError> {
    let mut bytes = 0_u64;
    for entry in WalkDir::new(folder) {
        let length = entry.and_then(|entry| entry.metadata()).map(|file| if file.is_file() { file.len() } else { 0 });
        bytes = bytes.saturating_add(length.map_err(|error| CacheError::io("measure", folder)(error.into()))?);
    }
    Ok(bytes)
}

/// Removes `folder` with its content, if it exists.
fn remove_folder(folder: &Path) -> Result<(), CacheError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result.map_err(CacheError::io("remove", folder)),
    }
}

/// The default folder according to the XDG Base Directory Specification, which says to ignore relative paths.
fn default_root(cache_home: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let cache_home = cache_home.filter(|path| path.is_absolute());
    let base = cache_home.or_else(|| home.filter(|path| path.is_absolute()).map(|home| home.join(".cache")))?;
    Some(base.join("repackbench"))
}

#[cfg(test)]
mod tests;
