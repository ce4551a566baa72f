//! The repository whose files are damaged: finding, copying and listing it, and putting damaged files right again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::reseal::{self, Hash};
use crate::files::{self, failed};
use crate::process::{Failure, Outcome};

/// Files and folders of a Git repository that are not copied: nothing reads samples of hooks, and work trees are
/// repositories of their own.
const NOT_COPIED: [&str; 4] = ["hooks", "modules", "worktrees", "lfs"];
/// Kinds of files that do not decide what is read.
const LESSER: [&str; 14] = [
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "ORIG_HEAD",
    "bitmap",
    "branch",
    "cache",
    "commit-graph",
    "description",
    "index",
    "info/exclude",
    "info/refs",
    "last-message.txt",
    "objects/info/packs",
    "undo",
];
/// The beginnings of kinds of files that hold objects.
const OBJECTS: [&str; 7] = ["pack", "idx", "loose object", "filelog", "store/00", "tree manifest", "dictionary"];

/// The version control system of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vcs {
    Git,
    Hg,
}

/// Finds the folder that holds the repository's own files: a git directory, or `.hg`.
pub(super) fn find(repository: &Path) -> Outcome<(Vcs, PathBuf)> {
    let (hg, git) = (repository.join(".hg"), repository.join(".git"));
    if hg.is_dir() {
        Ok((Vcs::Hg, hg))
    } else if git.join("objects").is_dir() {
        Ok((Vcs::Git, git))
    } else if repository.join("objects").is_dir() {
        Ok((Vcs::Git, repository.to_owned()))
    } else {
        Err(failed(repository, &"expected a Git or Mercurial repository that no other one shares"))
    }
}

/// Copies the repository's own files, `from` as [`find`] gives it, to the new folder `to`. Returns what programs call
/// the copy.
pub(super) fn copy(vcs: Vcs, from: &Path, to: &Path) -> Outcome<PathBuf> {
    let files = if vcs == Vcs::Hg { to.join(".hg") } else { to.to_owned() };
    copy_folder(from, &files, vcs)?;
    if vcs == Vcs::Git && files.join("objects/info/alternates").exists() {
        return Err(failed(from, &"it borrows objects, which are not copied; expected one that does not"));
    }
    Ok(to.to_owned())
}

fn copy_folder(from: &Path, to: &Path, vcs: Vcs) -> Outcome<()> {
    files::make_folder(to)?;
    for path in files::entries(from)? {
        let Some(name) = path.file_name() else { continue };
        let metadata = path.symlink_metadata().map_err(|error| failed(&path, &error))?;
        let is_left_out = vcs == Vcs::Git && NOT_COPIED.iter().any(|left_out| name == *left_out);
        if metadata.is_dir() && !is_left_out {
            copy_folder(&path, &to.join(name), vcs)?;
        } else if metadata.is_file() {
            write(&to.join(name), &files::read(&path)?)?;
        }
    }
    Ok(())
}

/// Writes a file, in place of one that may be read-only.
fn write(path: &Path, content: &[u8]) -> Outcome<()> {
    let written = fs::remove_file(path).or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    });
    written.and_then(|()| fs::write(path, content)).map_err(|error| failed(path, &error))
}

/// The files below `folder`, by their paths in it.
pub(super) fn contents(folder: &Path) -> Outcome<BTreeMap<PathBuf, Vec<u8>>> {
    let mut contents = BTreeMap::new();
    for path in paths(folder)? {
        contents.insert(path.clone(), files::read(&folder.join(path))?);
    }
    Ok(contents)
}

/// The paths of the files below `folder`, relative to it.
pub(super) fn paths(folder: &Path) -> Outcome<BTreeSet<PathBuf>> {
    let (mut paths, mut folders) = (BTreeSet::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for path in files::entries(&next)? {
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(relative) = path.strip_prefix(folder) {
                paths.insert(relative.to_owned());
            }
        }
    }
    Ok(paths)
}

/// The files of a repository, as they are when nothing is damaged.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) vcs: Vcs,
    pub(super) hash: Hash,
    pub(super) files: BTreeMap<PathBuf, Vec<u8>>,
    /// The kinds of files, with the paths of each.
    pub(super) kinds: BTreeMap<String, Vec<PathBuf>>,
}

impl Subject {
    pub(super) fn open(vcs: Vcs, repository: &Path) -> Outcome<Self> {
        let files = contents(repository)?;
        let mut kinds: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for path in files.keys() {
            kinds.entry(kind_of(vcs, path)).or_default().push(path.clone());
        }
        if kinds.is_empty() {
            return Err(Failure(format!("{}: no files", repository.display())));
        }
        let config = files.get(Path::new("config")).map(|config| String::from_utf8_lossy(config).to_lowercase());
        let is_sha256 = config.is_some_and(|config| config.replace(' ', "").contains("objectformat=sha256"));
        Ok(Subject { vcs, hash: if is_sha256 { Hash::Sha256 } else { Hash::Sha1 }, files, kinds })
    }

    /// Writes all files to the new folder `to`.
    pub(super) fn write_all(&self, to: &Path) -> Outcome<()> {
        for (path, content) in &self.files {
            let place = to.join(path);
            files::make_folder(place.parent().unwrap_or(to))?;
            write(&place, content)?;
        }
        // git knows a repository by this folder, and others may be empty.
        if self.vcs == Vcs::Git {
            files::make_folder(&to.join("refs"))?;
        }
        Ok(())
    }

    /// Writes damaged files in `repository`, which [`Subject::restore`] puts right again.
    pub(super) fn damage(repository: &Path, damaged: &[(PathBuf, Vec<u8>)]) -> Outcome<()> {
        damaged.iter().try_for_each(|(path, content)| write(&repository.join(path), content))
    }

    /// Writes the right contents of damaged files.
    pub(super) fn restore(&self, repository: &Path, damaged: &[(PathBuf, Vec<u8>)]) -> Outcome<()> {
        let right = |path: &PathBuf| self.files.get(path).map_or(&[][..], Vec::as_slice);
        damaged.iter().try_for_each(|(path, _)| write(&repository.join(path), right(path)))
    }

    /// The damaged file, with its checksums corrected, and the files beside it that hold its checksum.
    pub(super) fn resealed(&self, path: &Path, mut content: Vec<u8>) -> Vec<(PathBuf, Vec<u8>)> {
        reseal::reseal(&mut content, self.hash);
        let mut all = Vec::new();
        if reseal::is_pack(path) {
            for beside in reseal::beside(path) {
                if let Some(mut other) = self.files.get(&beside).cloned() {
                    reseal::reseal_beside(&beside, &mut other, &content, self.hash);
                    all.push((beside, other));
                }
            }
        }
        all.insert(0, (path.to_owned(), content));
        all
    }
}

/// How often a kind of file is drawn, in relation to others.
pub(super) fn weight(kind: &str) -> usize {
    match kind {
        _ if LESSER.contains(&kind) => 1,
        "packed-refs" => 8,
        _ if OBJECTS.iter().any(|objects| kind.starts_with(objects)) => 24,
        _ => 8,
    }
}

/// What the table calls files like this one.
fn kind_of(vcs: Vcs, path: &Path) -> String {
    let text = path.to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    let parts: Vec<&str> = text.split('/').collect();
    let kind = match (vcs, parts.as_slice()) {
        (Vcs::Git, ["objects", "pack", name]) if name.starts_with("multi-pack-index") => "multi-pack-index",
        (Vcs::Git, ["objects", "pack", _]) => return extension,
        (Vcs::Git, ["objects", "info", "commit-graph" | "commit-graphs", ..]) => "commit-graph",
        (Vcs::Git, ["objects", "info", "repackbench", ..]) => "dictionary",
        (Vcs::Git, ["objects", folder, _]) if folder.len() == 2 => "loose object",
        (Vcs::Git, [folder @ ("refs" | "logs"), ..]) => folder,
        (Vcs::Hg, [".hg", "cache" | "wcache", ..]) => "cache",
        (Vcs::Hg, [".hg", "store", "data" | "dh", ..]) => return format!("filelog .{extension}"),
        (Vcs::Hg, [".hg", "store", "meta", ..]) => return format!("tree manifest .{extension}"),
        (Vcs::Hg, [".hg", "store", "repackbench", ..]) => "dictionary",
        (Vcs::Hg, [.., name]) if name.starts_with("undo") => "undo",
        (Vcs::Hg, [".hg", rest @ ..]) => return rest.join("/"),
        _ => return text.into_owned(),
    };
    kind.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart() {
        for (vcs, path, kind) in [
            (Vcs::Git, "objects/pack/pack-1.idx", "idx"),
            (Vcs::Git, "objects/pack/multi-pack-index-1.bitmap", "multi-pack-index"),
            (Vcs::Git, "objects/ab/cd", "loose object"),
            (Vcs::Git, "objects/info/commit-graphs/graph-1.graph", "commit-graph"),
            (Vcs::Git, "objects/info/packs", "objects/info/packs"),
            (Vcs::Git, "refs/heads/a/b", "refs"),
            (Vcs::Git, "HEAD", "HEAD"),
            (Vcs::Hg, ".hg/store/00changelog.i", "store/00changelog.i"),
            (Vcs::Hg, ".hg/store/data/a.txt.d", "filelog .d"),
            (Vcs::Hg, ".hg/store/meta/a/00manifest.i", "tree manifest .i"),
            (Vcs::Hg, ".hg/store/undo.backupfiles", "undo"),
            (Vcs::Hg, ".hg/requires", "requires"),
        ] {
            assert_eq!(kind_of(vcs, Path::new(path)), kind, "{path}");
        }
    }

    #[test]
    fn damaged_files_are_put_right_again() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("objects/pack")).unwrap();
        fs::create_dir_all(from.join("hooks")).unwrap();
        for name in ["HEAD", "hooks/sample", "objects/pack/pack-1.pack", "objects/pack/pack-1.idx"] {
            fs::write(from.join(name), vec![7; 100]).unwrap();
        }
        assert_eq!(find(&from).unwrap(), (Vcs::Git, from.clone()));
        assert!(find(folder.path()).is_err());
        let copied = copy(Vcs::Git, &from, &to).unwrap();
        let subject = Subject::open(Vcs::Git, &copied).unwrap();
        assert_eq!(subject.files.len(), 3, "hooks are not copied");
        let before = contents(&copied).unwrap();
        let pack = Path::new("objects/pack/pack-1.pack");
        let damaged = subject.resealed(pack, vec![1; 50]);
        assert_eq!(damaged.iter().map(|(path, _)| path).collect::<Vec<_>>(), [pack, &pack.with_extension("idx")]);
        Subject::damage(&copied, &damaged).unwrap();
        assert_ne!(contents(&copied).unwrap(), before);
        subject.restore(&copied, &damaged).unwrap();
        assert_eq!(contents(&copied).unwrap(), before);
    }
}
