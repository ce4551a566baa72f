//! Lists and removes cached variants.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use super::{
    Cache, CacheError, REMOVING, VariantKey,
    lock::{VariantLock, WhenBusy},
    metadata::{Metadata, unix_seconds},
    remove_folder,
};

/// A variant that the cache holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedVariant {
    /// Its key.
    pub key: VariantKey,
    /// Its folder in the cache.
    pub folder: PathBuf,
    /// The repository that it was made from; bytes that are not UTF-8 are replaced.
    pub source: String,
    /// The codec spec in its canonical spelling.
    pub spec: String,
    /// The version of the on-disk format.
    pub format_version: u32,
    /// A hash of the state of the repository that it was made from; `None` for variants of older versions.
    pub state: Option<String>,
    /// Names, versions and settings of what wrote it; `None` for variants of older versions.
    pub encoder: Option<String>,
    /// The lengths of its files, in bytes.
    pub bytes: u64,
    /// When it was made, in seconds since 1970-01-01 UTC.
    pub created: u64,
    /// When it was used last, in seconds since 1970-01-01 UTC.
    pub last_used: u64,
}

/// Which variants to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrunePolicy {
    /// All.
    All,
    /// Those that were last used this long ago or longer.
    UnusedFor(Duration),
    /// Those used least recently, until the rest has at most this many bytes.
    KeepBytes(u64),
}

/// The result of pruning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Freed {
    /// The number of variants that were removed.
    pub variants: u64,
    /// The number of unfinished outputs of killed processes that were removed.
    pub outputs: u64,
    /// The number of folders of copies for cold runs, left by killed processes, that were removed.
    pub cold_copies: u64,
    /// The bytes of the removed files.
    pub bytes: u64,
    /// The number of variants and copies that stay because they are in use.
    pub in_use: u64,
}

impl Cache {
    /// The variants in the cache, most recently used first. Damaged variants and those that are being made are not
    /// listed.
    ///
    /// # Errors
    /// The folder of the cache cannot be read.
    pub fn list(&self) -> Result<Vec<CachedVariant>, CacheError> {
        let mut variants = Vec::new();
        for key in self.names()?.iter().filter_map(|name| VariantKey::from_hex(name)) {
            let Some(metadata) = self.complete_metadata(&key)? else { continue };
            let Metadata { source, spec, format_version, state, encoder, bytes, created, last_used, making: _ } =
                metadata;
            let folder = self.variant_folder(&key);
            variants.push(CachedVariant {
                key,
                folder,
                source,
                spec,
                format_version,
                state,
                encoder,
                bytes,
                created,
                last_used,
            });
        }
        variants.sort_unstable_by(|a, b| (b.last_used, a.key).cmp(&(a.last_used, b.key)));
        Ok(variants)
    }

    /// Removes variants by `policy`. Variants in use stay. Damaged ones and what killed processes left are removed
    /// under any policy.
    ///
    /// # Errors
    /// The folder of the cache cannot be read, or a variant cannot be removed. Variants before that one are gone.
    pub fn prune(&self, policy: PrunePolicy) -> Result<Freed, CacheError> {
        let variants = self.list()?;
        let mut freed = Freed::default();
        self.remove_damaged()?;
        freed.outputs = self.remove_left_outputs()?;
        (freed.cold_copies, freed.bytes, freed.in_use) = self.remove_left_copies()?;
        let now = unix_seconds(SystemTime::now());
        let mut kept_bytes = variants.iter().fold(0_u64, |sum, variant| sum.saturating_add(variant.bytes));
        for variant in variants.iter().rev() {
            let goes = match policy {
                PrunePolicy::All => true,
                PrunePolicy::UnusedFor(time) => now.saturating_sub(variant.last_used) >= time.as_secs(),
                PrunePolicy::KeepBytes(bytes) => kept_bytes > bytes,
            };
            if !goes {
                continue;
            }
            match self.remove(&variant.key) {
                Ok(()) => {
                    kept_bytes = kept_bytes.saturating_sub(variant.bytes);
                    freed.variants += 1;
                    freed.bytes = freed.bytes.saturating_add(variant.bytes);
                }
                Err(CacheError::Busy { .. }) => freed.in_use += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(freed)
    }

    /// Removes one variant, unless it is in use. It is renamed first, so that an interrupted removal leaves no
    /// incomplete variant under the final name.
    fn remove(&self, key: &VariantKey) -> Result<(), CacheError> {
        let _lock = VariantLock::exclusive(&self.lock_path(key), WhenBusy::Fail)?;
        let removing = self.root().join(format!("{key}{REMOVING}"));
        remove_folder(&removing)?;
        let folder = self.variant_folder(key);
        match fs::rename(&folder, &removing) {
            // Another process was faster.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            result => result.map_err(CacheError::io("rename", &folder))?,
        }
        remove_folder(&removing)
    }

    /// Removes folders that are named like variants but are incomplete, unless they are locked.
    fn remove_damaged(&self) -> Result<(), CacheError> {
        for key in self.names()?.iter().filter_map(|name| VariantKey::from_hex(name)) {
            if self.complete_metadata(&key)?.is_some() {
                continue;
            }
            match self.remove(&key) {
                Ok(()) | Err(CacheError::Busy { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
