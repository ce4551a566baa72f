//! Detecting that a repository changed while it was read.
//!
//! Git replaces files by renaming and only adds objects. So a reader of many files, one after another, may see half of
//! a commit or of a repack. A snapshot taken before reading and checked afterwards turns that into an error.
//!
//! Small files are compared by inode, length and times (of content and inode, in nanoseconds). Packs and the files
//! beside them are only compared by name, inode and length: git never rewrites them in place, but it touches a pack
//! when it would write one of its objects again, and a local clone hard-links the files, which changes the times of
//! their inodes. Loose objects are compared by name.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use super::{
    BTREE_FILE, GitRepository, RefStorage, location::Location, loose_listing, pack_listing, references, reftable,
};
use crate::{
    bounds::Bounds,
    error::{ReaderError, Result},
    file_state::{FileState, PathState, add_file_state, first_difference},
};

/// The state of every file that a conversion reads, at one point in time.
#[derive(Debug, Clone)]
pub struct SourceSnapshot {
    scope: Scope,
    states: Vec<(PathBuf, PathState)>,
}

/// Everything that is compared.
#[derive(Debug, Clone)]
struct Scope {
    location: Location,
    object_dirs: Vec<PathBuf>,
    hash: gix_hash::Kind,
    ref_storage: RefStorage,
}

impl SourceSnapshot {
    /// Records the state of `repository` and checks that it has not changed since it was opened.
    pub(super) fn take(repository: &GitRepository) -> Result<Self> {
        let scope = Scope {
            location: repository.location.clone(),
            object_dirs: repository.object_dirs.clone(),
            hash: repository.object_hash(),
            ref_storage: repository.format.ref_storage,
        };
        let states = scope.states()?;
        // The repository was opened before. Reading the small files again detects changes since then.
        let mut again = GitRepository::open(&repository.location.git_dir)?;
        if !repository.borrows {
            again = again.without_alternates();
        }
        match difference(repository, &again) {
            Some(path) => Err(ReaderError::Changed { path }),
            None => Ok(SourceSnapshot { scope, states }),
        }
    }

    /// Fails if a file has changed since the snapshot.
    ///
    /// # Errors
    /// [`ReaderError::Changed`] names the first file, in path order, that changed, appeared or vanished.
    /// [`ReaderError::Io`] if a folder cannot be listed.
    pub fn check(&self) -> Result<()> {
        match first_difference(&self.states, &self.scope.states()?) {
            Some(path) => Err(ReaderError::Changed { path: path.to_owned() }),
            None => Ok(()),
        }
    }
}

impl Scope {
    /// The states of all files in scope, sorted by path.
    fn states(&self) -> Result<Vec<(PathBuf, PathState)>> {
        let Location { git_dir, common_dir } = &self.location;
        let mut states = Vec::new();
        for name in ["HEAD", "commondir"] {
            add_file_state(git_dir.join(name), FileState::of_small_file, &mut states)?;
        }
        for name in ["config", "packed-refs", "shallow", "info/grafts"] {
            add_file_state(common_dir.join(name), FileState::of_small_file, &mut states)?;
        }
        for path in self.reference_paths()? {
            add_file_state(path, FileState::of_small_file, &mut states)?;
        }
        for (number, object_dir) in self.object_dirs.iter().enumerate() {
            let bounds = if number == 0 { self.location.bounds() } else { Bounds::of(object_dir) };
            add_file_state(object_dir.join("info/alternates"), FileState::of_small_file, &mut states)?;
            add_file_state(object_dir.join(BTREE_FILE), FileState::of_pack_file, &mut states)?;
            let packs = object_dir.join("pack");
            for name in pack_listing::names_in(&packs)? {
                add_file_state(packs.join(name), FileState::of_pack_file, &mut states)?;
            }
            for first_byte in 0..=u8::MAX {
                states.push(fan_out_state(object_dir, bounds, first_byte, self.hash)?);
            }
        }
        // The sort is stable: a symbolic link and its target have the same path and stay in this order.
        states.sort_by(|left, right| left.0.cmp(&right.0));
        Ok(states)
    }

    /// The files of refs and reflogs.
    fn reference_paths(&self) -> Result<Vec<PathBuf>> {
        let location = &self.location;
        if self.ref_storage == RefStorage::Reftable {
            let mut paths = reftable::stack_files(&location.common_dir, location.bounds())?;
            if location.is_linked_work_tree() {
                paths.extend(reftable::stack_files(&location.git_dir, location.bounds())?);
            }
            return Ok(paths);
        }
        let (references, reflogs) = (references::reference_files(location)?, references::reflog_files(location)?);
        Ok(references.into_iter().chain(reflogs).map(|file| file.path).collect())
    }
}

fn fan_out_state(
    object_dir: &Path,
    bounds: Bounds<'_>,
    first_byte: u8,
    hash: gix_hash::Kind,
) -> Result<(PathBuf, PathState)> {
    let (mut count, mut digest) = (0_u64, 0_u64);
    loose_listing::visit_fan_out(object_dir, bounds, first_byte, hash, |id| {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        count += 1;
        digest = digest.wrapping_add(hasher.finish());
    })?;
    Ok((object_dir.join(format!("{first_byte:02x}")), PathState::Names { count, digest }))
}

/// The file that has changed between two openings of one repository.
fn difference(opened: &GitRepository, again: &GitRepository) -> Option<PathBuf> {
    let common_dir = opened.common_dir();
    let config_differs = opened.format != again.format || opened.config.to_bstring() != again.config.to_bstring();
    let changed_pack = || {
        let mut packs = opened.packs.iter().zip(&again.packs).filter(|(opened, again)| opened != again);
        packs.next().map(|(opened, _)| opened.pack.clone())
    };
    if opened.location != again.location {
        Some(opened.git_dir().join("commondir"))
    } else if config_differs {
        Some(common_dir.join("config"))
    } else if opened.object_dirs != again.object_dirs {
        Some(common_dir.join("objects/info/alternates"))
    } else if opened.packs != again.packs {
        Some(changed_pack().unwrap_or_else(|| common_dir.join("objects/pack")))
    } else if opened.btree != again.btree {
        opened.btree.clone().or_else(|| again.btree.clone())
    } else if opened.shallow != again.shallow {
        Some(common_dir.join("shallow"))
    } else if opened.grafts != again.grafts {
        Some(common_dir.join("info/grafts"))
    } else {
        None
    }
}
