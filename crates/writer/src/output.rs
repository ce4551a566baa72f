//! Builds the output of a conversion and gives it its final name.
//!
//! The output is built in a folder beside that name, synced, and renamed. Until then nothing exists under the final
//! name. If the work stops early, the run removes the folder. If the run was killed, the next run that writes beside it
//! does.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Component, Path, PathBuf},
};

use repackbench_codec::CodecSpec;
use repackbench_reader::{
    files::{DESCRIPTOR_FILE, Descriptor, FILES_FOLDER, FileTree},
    hg::repository::KEPT_IN_HG_DIR,
    threads,
};

use crate::{
    Result, WriterError,
    leftovers::Commit,
    work_folder::{WorkFolder, remove_leftovers},
};

/// The default output for `source` under `spec`: a sibling named after it and `suffix`, such as `repo.zstd-5` or
/// `repo.zstd-5.loose`.
pub fn default_output(source: &Path, spec: &CodecSpec, suffix: &str) -> Result<PathBuf> {
    // The name as the user sees it, so symbolic links are not followed. Only `..` has to be resolved.
    let mut path = std::path::absolute(source).map_err(|e| WriterError::io("find", source, e))?;
    if path.components().any(|component| component == Component::ParentDir) {
        path = fs::canonicalize(source).map_err(|e| WriterError::io("find", source, e))?;
    }
    // For `.git` and `.hg`, the name of the work tree counts, and the variant goes beside the work tree.
    if path.file_name().is_some_and(|name| name == ".git" || name == ".hg") {
        path.pop();
    }
    let mut name: OsString = path.file_name().map(Into::into).ok_or_else(|| WriterError::Output {
        path: source.to_owned(),
        why: "has no name to derive the output's name from; use -o".into(),
        force_helps: false,
    })?;
    name.push(".");
    name.push(spec.file_stem());
    name.push(suffix);
    Ok(path.with_file_name(name))
}

/// The number of files that are synced at the same time. The threads wait for the disk, not for a processor.
const SYNC_THREADS: usize = 16;

/// A folder under construction, and its final name.
#[derive(Debug)]
pub struct OutputPath {
    work: WorkFolder,
    building: PathBuf,
    target: PathBuf,
    replaces: bool,
}

impl OutputPath {
    /// Creates a folder beside `target`, after removing what killed runs left there. With `force`, an earlier
    /// repository at `target` is replaced when the new one is complete.
    ///
    /// # Errors
    /// `target` is taken and `force` is off, or `force` must not remove it: because it is neither a repository nor an
    /// empty folder, or because it contains one of `sources`.
    pub fn create(target: &Path, force: bool, sources: &[PathBuf]) -> Result<Self> {
        let refuse = |why: &str, force_helps| {
            Err(WriterError::Output { path: target.to_owned(), why: why.to_owned(), force_helps })
        };
        let parent = match target.parent() {
            Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
            Some(parent) => parent,
            None => return refuse("is not a path for a repository", false),
        };
        let Some(name) = target.file_name() else { return refuse("is not a path for a repository", false) };
        let Ok(parent) = fs::canonicalize(parent) else {
            return refuse("its parent folder does not exist", false);
        };
        // Before `target` is inspected, since a killed run may have moved it aside.
        remove_leftovers(&parent);
        let target_absolute = parent.join(name);
        for source in sources {
            let source = fs::canonicalize(source).map_err(|e| WriterError::io("find", source, e))?;
            if target_absolute.starts_with(&source) {
                return refuse("is inside the source, which is never written to", false);
            }
            if source.starts_with(&target_absolute) {
                return refuse("contains the source, which is never written to", false);
            }
        }
        let replaces = match fs::symlink_metadata(&target_absolute) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => false,
            Err(e) => return Err(WriterError::io("inspect", target, e)),
            Ok(_) if !force => return refuse("already exists", true),
            Ok(metadata) => match why_not_replaceable(&target_absolute, &metadata)? {
                None => true,
                Some(why) => return refuse(&why, false),
            },
        };
        let work =
            WorkFolder::create(&parent).map_err(|e| WriterError::io("create a folder in", &parent, e.kind().into()))?;
        let building = work.new_folder();
        Ok(OutputPath { work, building, target: target_absolute, replaces })
    }

    /// The folder to build in.
    pub fn building(&self) -> &Path {
        &self.building
    }

    /// Syncs everything that was built to disk, so that the output survives a crash once it has its final name.
    pub fn sync(&self) -> Result<()> {
        sync_tree(self.building())
    }

    /// Gives the folder its final name.
    ///
    /// # Errors
    /// The name is taken or cannot be given; [`WriterError::Interrupted`] if the process is ending.
    pub fn publish(self) -> Result<PathBuf> {
        let _commit = Commit::begin()?;
        let OutputPath { work, building, target, replaces } = self;
        let rename = |from: &Path, to: &Path| fs::rename(from, to).map_err(|e| WriterError::io("rename", from, e));
        let mut aside = None;
        if replaces {
            let old = work.replaced(&target).map_err(|e| WriterError::io("move aside", &target, e))?;
            rename(&target, &old)?;
            aside = Some(old);
        }
        if let Err(error) = fs::rename(&building, &target) {
            let is_taken = matches!(
                error.kind(),
                io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory
            );
            let error = match is_taken {
                // Another program has made it meanwhile.
                true => {
                    WriterError::Output { path: target.clone(), why: "already exists".to_owned(), force_helps: true }
                }
                false => WriterError::io("rename", &building, error),
            };
            if let Some(old) = aside
                && let Err(error) = rename(&old, &target)
            {
                // It may be the only copy.
                work.leave();
                return Err(error);
            }
            return Err(error);
        }
        if let Some(parent) = target.parent() {
            sync(parent)?;
        }
        Ok(target)
    }
}

/// Syncs everything in `folder` to disk.
pub(crate) fn sync_tree(folder: &Path) -> Result<()> {
    let mut folders = Vec::new();
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(folder).contents_first(true) {
        let entry = entry.map_err(|e| WriterError::io("list", folder, e.into()))?;
        if entry.file_type().is_dir() {
            folders.push(entry.into_path());
        } else if entry.file_type().is_file() {
            files.push(entry.into_path());
        }
    }
    sync_all(&files)?;
    sync_all(&folders)
}

/// Syncs many of `paths` at a time. The file system then writes its journal once for several files, and thousands of
/// small files do not wait for the disk one after another.
fn sync_all(paths: &[PathBuf]) -> Result<()> {
    threads::map(SYNC_THREADS, paths, |path| sync(path)).map(drop)
}

fn sync(path: &Path) -> Result<()> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|e| WriterError::io("sync", path, e))
}

/// The reason why something is not replaced although `force` is on.
const NOT_REPLACEABLE: &str = "exists and is neither a bare repository, a Mercurial repository without a checkout, a tree of files \
     that convert wrote, nor an empty folder";

/// The reason why `force` does not replace `target`; `None` if it does.
fn why_not_replaceable(target: &Path, metadata: &fs::Metadata) -> Result<Option<String>> {
    let failed = |e| WriterError::io("list", target, e);
    if !metadata.is_dir() {
        return Ok(Some(NOT_REPLACEABLE.to_owned()));
    }
    let is_git_directory =
        target.join("HEAD").is_file() && target.join("objects").is_dir() && target.join("refs").is_dir();
    // The git directory of a work tree has an index as soon as there is work to lose.
    let has_work_tree = target.file_name().is_some_and(|name| name == ".git") || target.join("index").exists();
    if is_git_directory && !has_work_tree {
        return Ok(None);
    }
    if FileTree::is_at(target) {
        return why_not_a_file_tree(target);
    }
    let mut entries = fs::read_dir(target).map_err(failed)?;
    match (entries.next().transpose().map_err(failed)?, entries.next().is_none()) {
        (None, _) => Ok(None),
        // A Mercurial repository without a checkout consists only of `.hg`.
        (Some(first), true) if first.file_name() == ".hg" && first.path().join("requires").is_file() => {
            why_not_a_converted_hg_dir(&first.path())
        }
        _ => Ok(Some(NOT_REPLACEABLE.to_owned())),
    }
}

/// The reason why the folder `target` is not a tree of files that a conversion wrote. The descriptor alone is no proof,
/// since any file can have its name: the folder has to hold exactly the number of files that it states, and nothing
/// else.
fn why_not_a_file_tree(target: &Path) -> Result<Option<String>> {
    let failed = |e| WriterError::io("list", target, e);
    for entry in fs::read_dir(target).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if name != DESCRIPTOR_FILE && name != FILES_FOLDER {
            return Ok(Some(format!("contains {}, which no conversion wrote", name.display())));
        }
    }
    let descriptor = match Descriptor::read(target) {
        Ok(descriptor) => descriptor,
        Err(error) => return Ok(Some(format!("is not a tree of files that convert wrote: {error}"))),
    };
    let mut files = 0u64;
    for entry in walkdir::WalkDir::new(target.join(FILES_FOLDER)) {
        let entry = entry.map_err(|e| failed(e.into()))?;
        if entry.file_type().is_file() {
            files += 1;
        } else if !entry.file_type().is_dir() {
            return Ok(Some(format!("contains {}, which no conversion wrote", entry.path().display())));
        }
    }
    let expected = descriptor.files;
    Ok((files != expected).then(|| format!("contains {files} files, but its {DESCRIPTOR_FILE} says {expected}")))
}

/// What hg adds to the output of a conversion when it only reads it.
const DERIVED_BY_HG: [&str; 2] = ["cache", "wcache"];

/// The reason why `hg_dir` is not the output of a conversion, such as shelved changes, a patch queue or the state of a
/// checkout.
fn why_not_a_converted_hg_dir(hg_dir: &Path) -> Result<Option<String>> {
    let failed = |e| WriterError::io("list", hg_dir, e);
    for entry in fs::read_dir(hg_dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let mut written = ["requires", "store"].iter().chain(&KEPT_IN_HG_DIR).chain(&DERIVED_BY_HG);
        if !written.any(|known| name == **known) {
            return Ok(Some(format!("contains .hg/{}, which no conversion wrote", name.display())));
        }
    }
    Ok(None)
}
