//! Where a variant is built and how it gets its final name.
//!
//! It is built in a folder beside that name, synced, and renamed. Until then nothing lies under the final name, and
//! whatever stops the work, the folder is removed.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Component, Path, PathBuf},
};

use repackbench_codec::CodecSpec;

use crate::{Result, WriterError};

/// The default output for `source` under `spec`: a sibling named after the codec, `repo.zstd-5`.
pub fn default_output(source: &Path, spec: &CodecSpec) -> Result<PathBuf> {
    // By name and not by what symbolic links lead to, as the user sees it; only `..` has to be followed.
    let mut path = std::path::absolute(source).map_err(|e| WriterError::io("find", source, e))?;
    if path.components().any(|component| component == Component::ParentDir) {
        path = fs::canonicalize(source).map_err(|e| WriterError::io("find", source, e))?;
    }
    // A work tree's .git or .hg goes by the work tree's name, and the variant lies beside that, not in it.
    if path.file_name().is_some_and(|name| name == ".git" || name == ".hg") {
        path.pop();
    }
    let mut name: OsString = path.file_name().map(Into::into).ok_or_else(|| WriterError::Output {
        path: source.to_owned(),
        why: "has no name to derive the output's from; name one with -o".into(),
        force_helps: false,
    })?;
    name.push(".");
    name.push(spec.file_stem());
    Ok(path.with_file_name(name))
}

/// How many files are synced at the same time. They wait for the disk and not for a processor.
const SYNC_THREADS: usize = 16;

/// A folder under construction, and the name that it is to get.
#[derive(Debug)]
pub struct OutputPath {
    building: tempfile::TempDir,
    target: PathBuf,
    replaces: bool,
}

impl OutputPath {
    /// Makes a folder beside `target`. With `force` an earlier repository there is replaced when this one is finished.
    ///
    /// # Errors
    /// `target` is taken and `force` is off, or it is something that `force` must not remove: anything but a
    /// repository or an empty folder, or what holds one of `sources`.
    pub fn create(target: &Path, force: bool, sources: &[PathBuf]) -> Result<Self> {
        let refuse = |why: &str, force_helps| {
            Err(WriterError::Output { path: target.to_owned(), why: why.to_owned(), force_helps })
        };
        let parent = match target.parent() {
            Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
            Some(parent) => parent,
            None => return refuse("is no place for a repository", false),
        };
        let Some(name) = target.file_name() else { return refuse("is no place for a repository", false) };
        let Ok(parent) = fs::canonicalize(parent) else {
            return refuse("the folder to write it into is not there", false);
        };
        let target_absolute = parent.join(name);
        for source in sources {
            let source = fs::canonicalize(source).map_err(|e| WriterError::io("find", source, e))?;
            if target_absolute.starts_with(&source) {
                return refuse("lies inside the source, which is never written to", false);
            }
            if source.starts_with(&target_absolute) {
                return refuse("holds the source, which is never written to", false);
            }
        }
        let replaces = match fs::symlink_metadata(&target_absolute) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => false,
            Err(e) => return Err(WriterError::io("inspect", target, e)),
            Ok(_) if !force => return refuse("exists already", true),
            Ok(metadata) if metadata.is_dir() && is_replaceable(&target_absolute)? => true,
            Ok(_) => return refuse("exists and is neither a bare repository nor an empty folder", false),
        };
        let building = tempfile::Builder::new()
            .prefix(".repackbench-")
            .tempdir_in(&parent)
            .map_err(|e| WriterError::io("make a folder in", &parent, e.kind().into()))?;
        Ok(OutputPath { building, target: target_absolute, replaces })
    }

    /// The folder to build in.
    pub fn building(&self) -> &Path {
        self.building.path()
    }

    /// Syncs everything that was built to disk, so that what gets the final name survives a crash.
    pub fn sync(&self) -> Result<()> {
        let mut folders = Vec::new();
        let mut files = Vec::new();
        for entry in walkdir::WalkDir::new(self.building()).contents_first(true) {
            let entry = entry.map_err(|e| WriterError::io("list", self.building(), e.into()))?;
            if entry.file_type().is_dir() {
                folders.push(entry.into_path());
            } else if entry.file_type().is_file() {
                files.push(entry.into_path());
            }
        }
        sync_all(&files)?;
        sync_all(&folders)
    }

    /// Gives the folder its final name.
    pub fn publish(self) -> Result<PathBuf> {
        let OutputPath { building, target, replaces } = self;
        let rename = |from: &Path, to: &Path| fs::rename(from, to).map_err(|e| WriterError::io("rename", from, e));
        set_default_permissions(building.path())?;
        let mut aside = None;
        if replaces {
            let parent = target.parent().unwrap_or(Path::new("."));
            let old = tempfile::Builder::new()
                .prefix(".repackbench-replaced-")
                .tempdir_in(parent)
                .map_err(|e| WriterError::io("make a folder in", parent, e.kind().into()))?;
            rename(&target, &old.path().join("old"))?;
            aside = Some(old);
        }
        if let Err(error) = rename(building.path(), &target) {
            if let Some(old) = aside {
                // Kept until it is back in its place: it may be the only copy.
                let old = old.keep();
                rename(&old.join("old"), &target)?;
                fs::remove_dir(&old).map_err(|e| WriterError::io("remove", &old, e))?;
            }
            return Err(error);
        }
        // It has another name now; there is nothing left to remove under the old one.
        drop(building.keep());
        if let Some(parent) = target.parent() {
            sync(parent)?;
        }
        if let Some(old) = aside {
            let path = old.path().to_owned();
            old.close().map_err(|e| WriterError::io("remove", path, e))?;
        }
        Ok(target)
    }
}

/// Syncs `paths`, many at a time: a file system then writes its journal once for several of them, and thousands of small files
/// do not wait for the disk one after another.
fn sync_all(paths: &[PathBuf]) -> Result<()> {
    std::thread::scope(|scope| {
        let share = paths.len().div_ceil(SYNC_THREADS).max(1);
        let threads: Vec<_> = paths
            .chunks(share)
            .map(|share| scope.spawn(move || share.iter().try_for_each(|path| sync(path))))
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<()>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).fold(Ok(()), Result::and)
    })
}

fn sync(path: &Path) -> Result<()> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|e| WriterError::io("sync", path, e))
}

fn is_replaceable(folder: &Path) -> Result<bool> {
    let failed = |e| WriterError::io("list", folder, e);
    let mut entries = fs::read_dir(folder).map_err(failed)?;
    let is_git_directory =
        folder.join("HEAD").is_file() && folder.join("objects").is_dir() && folder.join("refs").is_dir();
    // A work tree's own git directory has an index as soon as there is anything in it to lose.
    let has_work_tree = folder.file_name().is_some_and(|name| name == ".git") || folder.join("index").exists();
    let is_bare = is_git_directory && !has_work_tree;
    // A Mercurial repository without a checkout is nothing but its .hg.
    let is_only_hg = match (entries.next().transpose().map_err(failed)?, entries.next().is_none()) {
        (None, _) => return Ok(true),
        (Some(first), is_only) => is_only && first.file_name() == ".hg" && first.path().join("requires").is_file(),
    };
    Ok(is_bare || is_only_hg)
}

/// A temporary folder is private to its owner; a repository has the permissions that the user's mask gives.
#[cfg(unix)]
fn set_default_permissions(folder: &Path) -> Result<()> {
    // What is always there in a Git repository, or in one of Mercurial.
    let [objects, hg] = ["objects", ".hg"].map(|name| folder.join(name));
    let probe = if hg.is_dir() { hg } else { objects };
    let permissions = fs::metadata(&probe).map_err(|e| WriterError::io("inspect", probe, e))?.permissions();
    fs::set_permissions(folder, permissions).map_err(|e| WriterError::io("set the permissions of", folder, e))
}

#[cfg(not(unix))]
fn set_default_permissions(_folder: &Path) -> Result<()> {
    Ok(())
}
