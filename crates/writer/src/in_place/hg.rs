//! Replaces the store of a Mercurial repository by one exchange of two folders.
//!
//! With `share-safe`, the requirements of the store are in it and change in the same moment. Otherwise `.hg/requires`
//! first gets the requirements of both stores: hg reads each chunk by its first byte, so it reads the old store under
//! them too.

use std::{collections::BTreeSet, fs, io, os::unix::fs::symlink, path::Path};

use repackbench_codec::{CodecSpec, ObjectKind};
use repackbench_reader::{ReaderError, hg::HgRepository};

use super::{
    InPlaceJob, Replaced,
    backup::Backup,
    check_readable,
    durable::{check_owner, is_same_file, length, lock_folder, remove_if_there, rename, replace, sync},
    hg_locks::HgLocks,
    space,
};
use crate::{
    Encoding, JobControl, Result, WorkFolder, WriterError,
    check::check_revisions,
    convert::check_kinds_of,
    hg::{convert_store, requirement_lines},
    leftovers::Commit,
    output::sync_tree,
    remove_leftovers,
};

const STORE: &str = "store";
const REQUIRES: &str = "requires";
/// The requirements of the new store, as `.hg/requires` will be.
const NEW_REQUIRES: &str = "requires.new";
/// The file by which the new store is known until everything is done.
const NEW_MARK: &str = "repackbench-new";

/// Converts the repository whose `.hg` is `hg_dir` in place.
pub(super) fn convert(hg_dir: &Path, spec: &CodecSpec, job: InPlaceJob<'_>) -> Result<Replaced> {
    check_kinds_of("Mercurial", &ObjectKind::HG, spec)?;
    check_readable(spec, spec.is_read_by_hg(), "hg", |codec| codec.read_by_hg)?;
    let hg_dir = fs::canonicalize(hg_dir).map_err(|e| WriterError::io("find", hg_dir, e))?;
    if let Some(source) = HgRepository::source_of_share(&hg_dir)? {
        let what = format!("converting in place a share of {} (name that one),", source.display());
        return Err(ReaderError::unsupported(&hg_dir, what).into());
    }
    let store = hg_dir.join(STORE);
    if store.is_symlink() {
        return Err(ReaderError::unsupported(&store, "converting in place a store that is a symbolic link").into());
    }
    check_owner(&store, "a store")?;
    let _only = lock_folder(&hg_dir)?;
    let locks = HgLocks::take(&hg_dir)?;
    remove_leftovers(&hg_dir);
    let work =
        WorkFolder::create(&hg_dir).map_err(|e| WriterError::io("create a folder in", &hg_dir, e.kind().into()))?;
    let new = work.new_folder();
    let scratch = new.parent().unwrap_or(&new).to_owned();
    let place = Place { hg_dir: &hg_dir, scratch: &scratch };
    let finished = match Backup::left(&hg_dir)? {
        Some(backup) => {
            let _commit = Commit::begin()?;
            place.settle(backup)?
        }
        None => None,
    };
    let source = HgRepository::open_locked(&hg_dir)?;
    let (mut replaced, is_changed) = build(&source, spec, &new, job.control)?;
    // From here on, a stop by the user waits until the new store has its place.
    let _commit = Commit::begin()?;
    if job.control.progress.is_cancelled() {
        return Err(WriterError::Interrupted);
    }
    let backup = if is_changed { Some(place.swap(&source, spec, &new, &locks)?) } else { finished };
    if !is_changed {
        replaced = Replaced { notes: replaced.notes, ..Replaced::default() };
    }
    match backup {
        Some(backup) if job.keeps_backup => {
            let (folder, script) = backup.finish()?;
            (replaced.backup, replaced.way_back) = (Some(folder), Some(script));
        }
        Some(backup) => backup.discard(&scratch)?,
        None => {}
    }
    Ok(replaced)
}

/// Builds the new store in the empty folder `out`, hashes every revision in it, and syncs it. Returns whether it differs
/// from the old one.
fn build(source: &HgRepository, spec: &CodecSpec, out: &Path, control: JobControl<'_>) -> Result<(Replaced, bool)> {
    let files = source.files()?;
    space::check(out, files.iter().map(|(_, length)| *length).sum())?;
    let notes = convert_store(source, &Encoding::plain(spec), out, control)?;
    let new = HgRepository::open(out)?;
    if new.revlogs().len() != source.revlogs().len() {
        let detail = format!("{} revlogs instead of {}", new.revlogs().len(), source.revlogs().len());
        return Err(WriterError::Unfaithful { path: source.store_dir(), what: "the store".to_owned(), detail });
    }
    let mut replaced = Replaced { packs: new.revlogs().len() as u64, notes, ..Replaced::default() };
    replaced.notes.push(check_revisions(&new, control)?);
    let mut is_changed = new.requirements() != source.requirements();
    for (old, new) in source.revlogs().iter().zip(new.revlogs()) {
        for (old, new) in [(&old.index, &new.index), (&old.data, &new.data)] {
            replaced.bytes_before += length(old)?;
            replaced.bytes_after += length(new)?;
            is_changed = is_changed || !is_same_file(old, new)?;
        }
    }
    sync_tree(out)?;
    Ok((replaced, is_changed))
}

fn read_if_there(path: &Path) -> Result<Vec<u8>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        found => found.map_err(|e| ReaderError::io("read", path, e).into()),
    }
}

/// Where a store is replaced.
struct Place<'a> {
    hg_dir: &'a Path,
    /// The folder for small files.
    scratch: &'a Path,
}

impl Place<'_> {
    /// Settles the conversion that a killed run left: finishes it after the exchange, discards it before.
    fn settle(&self, backup: Backup) -> Result<Option<Backup>> {
        let kept = backup.folder().join(STORE);
        // The new store has its mark until everything after the exchange is done, so one without it is the old one.
        if exists(&kept)? && !exists(&kept.join(NEW_MARK))? {
            self.finish(&backup)?;
            return Ok(Some(backup));
        }
        self.change_requirements(&backup, [NEW_REQUIRES, REQUIRES])?;
        backup.discard(self.scratch)?;
        Ok(None)
    }

    /// Puts the store that was built in `new` in the place of the old one.
    fn swap(&self, source: &HgRepository, spec: &CodecSpec, new: &Path, locks: &HgLocks) -> Result<Backup> {
        let backup = Backup::create(self.hg_dir, self.scratch, WAY_BACK)?;
        match self.swap_into(&backup, source, spec, new, locks) {
            Ok(()) => Ok(backup),
            Err(error) => {
                // Before the exchange, nothing of it stays. After it, the next run finishes.
                let _ = self.settle(backup);
                Err(error)
            }
        }
    }

    fn swap_into(
        &self,
        backup: &Backup,
        source: &HgRepository,
        spec: &CodecSpec,
        new: &Path,
        locks: &HgLocks,
    ) -> Result<()> {
        let store = self.hg_dir.join(STORE);
        let old = source.requirements();
        let compression = spec.revlog_requirements();
        let after = old.with_compression(compression);
        let current = read_if_there(&self.hg_dir.join(REQUIRES))?;
        backup.write(NEW_REQUIRES, &requirements(&old.work_tree, &after.work_tree, &current), 0o644)?;
        let both = old.work_tree.union(&after.work_tree).cloned().collect();
        backup.write(REQUIRES, &current, 0o644)?;
        sync(backup.folder())?;
        self.set_requirements(&requirements(&old.work_tree, &both, &current))?;
        let prepared = new.join(".hg").join(STORE);
        backup.write(NEW_CHANGELOG, &read_if_there(&prepared.join(NEW_CHANGELOG))?, 0o644)?;
        // At no time is the store without a lock.
        let lock = prepared.join("lock");
        symlink(locks.text(), &lock).map_err(|e| WriterError::io("create", &lock, e))?;
        let mark = prepared.join(NEW_MARK);
        fs::write(&mark, "").map_err(|e| WriterError::io("write", &mark, e))?;
        let kept = backup.folder().join(STORE);
        rename(&prepared, &kept)?;
        sync(&kept)?;
        sync(backup.folder())?;
        self.exchange(&store, &kept)?;
        sync(self.hg_dir)?;
        sync(backup.folder())?;
        self.finish(backup)
    }

    /// Exchanges two folders in one step.
    fn exchange(&self, store: &Path, kept: &Path) -> Result<()> {
        exchange_folders(store, kept).map_err(|error| {
            let why = format!("this file system or system cannot exchange two folders ({error}); use convert -o");
            WriterError::io("replace", store, io::Error::new(io::ErrorKind::Unsupported, why))
        })
    }

    /// Does what comes after the exchange.
    fn finish(&self, backup: &Backup) -> Result<()> {
        self.change_requirements(backup, [REQUIRES, NEW_REQUIRES])?;
        remove_if_there(&backup.folder().join(STORE).join("lock"))?;
        remove_if_there(&self.hg_dir.join(STORE).join(NEW_MARK))
    }

    /// Changes the requirements from one of two files in the backup to the other. hg may have added or removed others
    /// since, as with the first large file.
    fn change_requirements(&self, backup: &Backup, [from, to]: [&str; 2]) -> Result<()> {
        let paths = [from, to].map(|name| backup.folder().join(name));
        if !exists(&paths[0])? || !exists(&paths[1])? {
            // The run was killed before it changed them.
            return Ok(());
        }
        let lines = |content: &[u8]| -> BTreeSet<String> {
            content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(line_of).collect()
        };
        let [from, to] = [lines(&read_if_there(&paths[0])?), lines(&read_if_there(&paths[1])?)];
        let current = lines(&read_if_there(&self.hg_dir.join(REQUIRES))?);
        let mut wanted: BTreeSet<String> = current.difference(&(&from - &to)).cloned().collect();
        wanted.extend(to.difference(&from).cloned());
        if wanted == current { Ok(()) } else { self.set_requirements(&requirement_lines(&wanted)) }
    }

    /// Writes `.hg/requires`, unless it is so already.
    fn set_requirements(&self, content: &[u8]) -> Result<()> {
        let path = self.hg_dir.join(REQUIRES);
        if read_if_there(&path)? == content { Ok(()) } else { replace(&path, content, self.scratch) }
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn exchange_folders(left: &Path, right: &Path) -> nix::Result<()> {
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
    renameat2(AT_FDCWD, left, AT_FDCWD, right, RenameFlags::RENAME_EXCHANGE)
}

/// Other systems have no call for it.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn exchange_folders(_: &Path, _: &Path) -> nix::Result<()> {
    Err(nix::errno::Errno::ENOSYS)
}

/// The content of `.hg/requires` for `new`; `current` if they are the `old` ones.
fn requirements(old: &BTreeSet<String>, new: &BTreeSet<String>, current: &[u8]) -> Vec<u8> {
    if old == new { current.to_vec() } else { requirement_lines(new) }
}

/// A line of requirements, which are ASCII.
fn line_of(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

/// Whether there is a file or folder at `path`. A doubt is an error: a store must not be taken for another one.
fn exists(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(WriterError::io("inspect", path, error)),
    }
}

/// The copy of the new changelog in a backup, by which the script that goes back knows that no changeset was added since.
const NEW_CHANGELOG: &str = "00changelog.i";

/// A script that goes back to the store in the backup folder. It can be run again after it was killed, and does nothing
/// once it has restored the store.
const WAY_BACK: &str = r#"#!/bin/sh
# Restores the store as it was before `repackbench convert --in-place`.
# Nothing may use the repository meanwhile.
set -e
backup=$(cd "$(dirname "$0")" && pwd)
hg="$backup/.."
if [ -e "$backup/done" ]; then
    echo "restored already; the backup can be removed: $backup"
    exit 0
fi
if [ -e "$backup/incomplete" ]; then
    echo "the conversion was stopped: run the same convert --in-place again first" >&2
    exit 1
fi
if [ -L "$hg/store/lock" ] || [ -L "$hg/wlock" ]; then
    echo "another program holds the lock of $hg" >&2
    exit 1
fi
if [ ! -e "$backup/converted" ]; then
    if ! cat "$hg/store/00changelog.i" 2>/dev/null | cmp -s - "$backup/00changelog.i"; then
        echo "changesets were added, amended or removed since: going back would lose that" >&2
        exit 1
    fi
    mv "$hg/store" "$backup/converted"
fi
if [ -e "$backup/store" ]; then
    if [ -e "$hg/store" ]; then
        echo "there is a new store since the old one was moved to $backup/converted" >&2
        exit 1
    fi
    mv "$backup/store" "$hg/store"
fi
# hg may have added other requirements since.
if ! cmp -s "$backup/requires" "$backup/requires.new"; then
    grep -vxF -f "$backup/requires" "$backup/requires.new" > "$backup/requires.added" || :
    if [ -s "$backup/requires.added" ]; then
        grep -vxF -f "$backup/requires.added" "$hg/requires" > "$backup/requires.kept" || :
    else
        cp "$hg/requires" "$backup/requires.kept"
    fi
    grep -vxF -f "$backup/requires.new" "$backup/requires" >> "$backup/requires.kept" || :
    sort -u "$backup/requires.kept" > "$backup/requires.back"
    cp "$backup/requires.back" "$hg/requires"
fi
: > "$backup/done"
for file in phaseroots obsstore bookmarks; do
    if [ -e "$backup/converted/$file" ] && ! cmp -s "$backup/converted/$file" "$hg/store/$file"; then
        echo "$file has changed since the conversion: the newer one is in $backup/converted"
    fi
done
echo "restored; the backup can be removed: $backup"
"#;
