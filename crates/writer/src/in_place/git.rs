//! Replaces the packs and loose objects of a Git repository, one by one.

use std::{
    collections::BTreeSet,
    fs::{self, File, FileTimes},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use repackbench_codec::{CodecSpec, ObjectKind};
use repackbench_reader::{
    ReaderError,
    git::{
        GitRepository,
        pack::PackFile,
        repository::{LooseObjects, PackFiles},
    },
};

use super::{
    InPlaceJob, Replaced,
    backup::Backup,
    bitmap, check_readable,
    durable::{
        check_owner, copy, create_folder, is_same_file, lock_folder, names_in, remove_if_there, rename,
        rename_if_there, replace, sync,
    },
    git_locks::GitLocks,
    space,
};
use crate::{
    Encoding, JobControl, ProgressUnit, Result, WorkFolder, WriterError,
    check::check_objects,
    convert::check_kinds_of,
    git::{
        convert_loose,
        pack::{PackJob, convert_pack},
    },
    leftovers::Commit,
    new_file::write_read_only,
    output::sync_tree,
    remove_leftovers,
};

/// The files of a pack but its index, in the order in which they get their names: git looks for the side files when it
/// opens the pack.
const BESIDE_INDEX: [&str; 6] = ["rev", "bitmap", "mtimes", "promisor", "keep", "pack"];

/// The file with the names of packs that were put in.
const NEW_PACKS: &str = "new-packs";

/// The file that names the packs for clients that read the repository through a plain web server.
const SERVED_PACKS: &str = "info/packs";

/// The name of that file in a backup, which the script that goes back uses, too.
const KEPT_SERVED_PACKS: &str = "served-packs";

/// Converts the repository `source` in place.
pub(super) fn convert(source: &GitRepository, spec: &CodecSpec, job: InPlaceJob<'_>) -> Result<Replaced> {
    check_kinds_of("Git", &ObjectKind::GIT, spec)?;
    check_readable(spec, spec.is_read_by_git(), "git", |codec| codec.read_by_git)?;
    refuse(source)?;
    let objects = own_objects(source)?;
    check_owner(&objects, "objects")?;
    let common_dir = canonical(source.common_dir())?;
    let _only = lock_folder(&common_dir)?;
    let parent = if is_same_device(&common_dir, &objects)? { common_dir.clone() } else { objects.clone() };
    remove_leftovers(&parent);
    let work =
        WorkFolder::create(&parent).map_err(|e| WriterError::io("create a folder in", &parent, e.kind().into()))?;
    create_folder(&objects.join("pack"))?;
    let folder = work.new_folder();
    let scratch = folder.parent().unwrap_or(&folder).to_owned();
    let _locks = GitLocks::take(&common_dir, &objects, &scratch)?;
    let backup = Backup::left(&parent)?;
    if let Some(backup) = &backup {
        let _commit = Commit::begin()?;
        finish_moves(backup, &objects)?;
    }
    // What was listed without the locks may be gone.
    let source = GitRepository::open(source.git_dir())?;
    let mut replacement = Replacement {
        source: &source,
        objects,
        parent,
        new: folder,
        scratch: scratch.clone(),
        packs: Vec::new(),
        replaced: Replaced::default(),
    };
    replacement.build(spec, job.control).map_err(|error| because_of_change(&source, error))?;
    // From here on, a stop by the user waits until all files have their places.
    let _commit = Commit::begin()?;
    let backup = replacement.swap(backup, job.control)?;
    let mut replaced = replacement.replaced;
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

/// Refuses repositories whose objects must not be replaced, or are not git's.
fn refuse(source: &GitRepository) -> Result<()> {
    let what = if source.extension_spec().is_some() {
        "converting in place a variant that stock git cannot read"
    } else if source.format().precious_objects {
        "converting in place with extensions.preciousObjects, which forbids to remove packs,"
    } else {
        return Ok(());
    };
    Err(ReaderError::unsupported(source.common_dir(), what).into())
}

/// The reason for `error`: git, which takes no lock for `repack` and `prune`, may have removed a file meanwhile.
fn because_of_change(source: &GitRepository, error: WriterError) -> WriterError {
    let is_gone = |files: &&PackFiles| !files.pack.exists() || !files.index.exists();
    if let Some(gone) = source.packs().iter().find(is_gone) {
        return ReaderError::Changed { path: gone.pack.clone() }.into();
    }
    match error {
        WriterError::Reader(ReaderError::Io { path, source, .. }) | WriterError::Io { path, source, .. }
            if source.kind() == io::ErrorKind::NotFound =>
        {
            ReaderError::Changed { path }.into()
        }
        error => error,
    }
}

fn own_objects(source: &GitRepository) -> Result<PathBuf> {
    let own = source.object_dirs().first().cloned();
    canonical(&own.unwrap_or_else(|| source.common_dir().join("objects")))
}

fn canonical(path: &Path) -> Result<PathBuf> {
    fs::canonicalize(path).map_err(|e| WriterError::io("find", path, e))
}

fn is_same_device(left: &Path, right: &Path) -> Result<bool> {
    let device =
        |path: &Path| fs::metadata(path).map(|found| found.dev()).map_err(|e| WriterError::io("inspect", path, e));
    Ok(device(left)? == device(right)?)
}

/// Finishes the moves of a killed run: files whose index has already been moved, and those of new packs that have not
/// got their index.
fn finish_moves(backup: &Backup, objects: &Path) -> Result<()> {
    let (packs, kept) = (objects.join("pack"), backup.folder().join("pack"));
    for name in names_in(&kept)?.iter().filter(|name| name.extension().is_some_and(|of| of == "idx")) {
        if !packs.join(name).exists() {
            move_beside_index(&packs.join(name), &kept)?;
        }
    }
    // A stranger's repository may have such a folder, too, with names that lead elsewhere.
    for name in backup.lines(NEW_PACKS)?.into_iter().filter(|name| is_pack_name(name)) {
        let index = packs.join(format!("{name}.idx"));
        if !index.exists() {
            BESIDE_INDEX.iter().try_for_each(|of| remove_if_there(&index.with_extension(of)))?;
        }
    }
    Ok(())
}

/// Whether `name` is that of a pack, without extension: `pack-` and a hash.
fn is_pack_name(name: &str) -> bool {
    let hash = name.strip_prefix("pack-");
    hash.is_some_and(|hash| matches!(hash.len(), 40 | 64) && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Moves the files of a pack whose index is already in the folder `kept`.
fn move_beside_index(index: &Path, kept: &Path) -> Result<()> {
    for extension in BESIDE_INDEX.iter().rev() {
        let from = index.with_extension(extension);
        if let Some(name) = from.file_name() {
            rename_if_there(&from, &kept.join(name))?;
        }
    }
    Ok(())
}

/// A pack and its new form.
struct NewPack {
    files: PackFiles,
    /// The state of the old pack before it was read.
    old: fs::Metadata,
    /// The new pack in the work folder.
    new: PathBuf,
}

/// The replacement of everything in one repository.
struct Replacement<'a> {
    source: &'a GitRepository,
    /// The object directory.
    objects: PathBuf,
    /// The folder that the backup is in.
    parent: PathBuf,
    /// Where new files are built: a bare repository.
    new: PathBuf,
    /// The folder for small files.
    scratch: PathBuf,
    packs: Vec<NewPack>,
    replaced: Replaced,
}

impl Replacement<'_> {
    /// Builds all new files, hashes every object in them, and syncs them.
    fn build(&mut self, spec: &CodecSpec, control: JobControl<'_>) -> Result<()> {
        let encoding = Encoding::plain(spec);
        let own: Vec<PackFiles> = self.source.packs().iter().filter(|files| files.object_dir == 0).cloned().collect();
        let (kept, own): (Vec<PackFiles>, Vec<PackFiles>) = own.into_iter().partition(|files| files.keep.is_some());
        self.note_left(kept.len());
        let loose = self.source.own_loose_objects()?;
        space::check(&self.parent, stored_bytes(&own, &loose)?)?;
        self.prepare_repository()?;
        self.convert_packs(own, &encoding, control)?;
        let out = self.new.join("objects");
        if !loose.is_empty() {
            control.progress.start("converting loose objects", loose.len() as u64, ProgressUnit::Items);
            convert_loose(&loose, &self.source.dictionaries()?, &encoding.for_loose_objects(), &out, control)?;
            control.progress.finish();
            self.drop_same_loose(&loose)?;
        }
        let note = check_objects(&GitRepository::open(&self.new)?, control)?;
        self.replaced.notes.push(note);
        sync_tree(&self.new)
    }

    fn note_left(&mut self, kept: usize) {
        if kept > 0 {
            let note = format!("{kept} packs have a .keep file and stay as they are, as git repack leaves them");
            self.replaced.notes.push(note);
        }
        if self.source.object_dirs().len() > 1 {
            self.replaced.notes.push("objects of alternates stay as they are".to_owned());
        }
    }

    /// Makes the folder of new files a repository, so that they can be verified like any other.
    fn prepare_repository(&self) -> Result<()> {
        for name in ["objects/pack", "refs"] {
            create_folder(&self.new.join(name))?;
        }
        let config = match self.source.object_hash() {
            gix_hash::Kind::Sha256 => "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n",
            _ => "[core]\n\trepositoryformatversion = 0\n",
        };
        for (name, content) in [("HEAD", "ref: refs/heads/main\n"), ("config", config)] {
            let path = self.new.join(name);
            fs::write(&path, content).map_err(|e| WriterError::io("write", path, e))?;
        }
        Ok(())
    }

    fn convert_packs(&mut self, own: Vec<PackFiles>, encoding: &Encoding, control: JobControl<'_>) -> Result<()> {
        let hash = self.source.object_hash();
        let dictionaries = self.source.dictionaries()?;
        let job = PackJob { hash, dictionaries: &dictionaries, encoding, order: None, control };
        let out = self.new.join("objects/pack");
        let mut total = 0;
        for files in &own {
            total += inspect(&files.pack)?.len();
        }
        control.progress.start("converting packs", total, ProgressUnit::Bytes);
        for files in own {
            let old = inspect(&files.pack)?;
            let converted = convert_pack(&files, &job, &out)?;
            let trailer = PackFile::open(&files, hash)?.trailer()?;
            if trailer != converted.checksum {
                self.carry_bitmaps(&files, &trailer, &converted)?;
                self.packs.push(NewPack { files, old, new: converted.path });
            } else if !converted.is_repeated {
                // The pack is as requested already, byte for byte.
                for extension in BESIDE_INDEX.iter().chain(&["idx"]) {
                    remove_if_there(&converted.path.with_extension(extension))?;
                }
            }
        }
        control.progress.finish();
        Ok(())
    }

    fn carry_bitmaps(
        &mut self,
        files: &PackFiles,
        trailer: &gix_hash::ObjectId,
        converted: &crate::git::pack::ConvertedPack,
    ) -> Result<()> {
        let path = files.pack.with_extension("bitmap");
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(ReaderError::io("read", path, error).into()),
        };
        match bitmap::for_pack(&bytes, trailer, &converted.checksum) {
            Some(carried) => write_read_only(&converted.path.with_extension("bitmap"), &carried),
            None => {
                self.replaced.notes.push(format!("{}: dropped: not bitmaps of its pack", path.display()));
                Ok(())
            }
        }
    }

    /// Removes new loose objects that are the same as the old ones, byte for byte.
    fn drop_same_loose(&self, loose: &LooseObjects) -> Result<()> {
        for path in (0..loose.len()).filter_map(|at| loose.path(at)) {
            let Some(new) = self.new_loose(&path) else { continue };
            if is_same_file(&path, &new)? {
                remove_if_there(&new)?;
            }
        }
        Ok(())
    }

    /// The new form of the loose object at `path`.
    fn new_loose(&self, path: &Path) -> Option<PathBuf> {
        Some(self.new.join("objects").join(path.parent()?.file_name()?).join(path.file_name()?))
    }

    /// Puts the new files in the place of the old ones. Continues in `backup`, if a killed run left one.
    fn swap(&mut self, backup: Option<Backup>, control: JobControl<'_>) -> Result<Option<Backup>> {
        let loose = self.source.own_loose_objects()?;
        let loose: Vec<(PathBuf, PathBuf)> = (0..loose.len())
            .filter_map(|at| loose.path(at))
            .filter_map(|old| Some((self.new_loose(&old)?, old)))
            .filter(|(new, _)| new.exists())
            .collect();
        self.check_unchanged()?;
        if control.progress.is_cancelled() {
            return Err(WriterError::Interrupted);
        }
        if self.packs.is_empty() && loose.is_empty() {
            return Ok(backup);
        }
        let backup = match backup {
            Some(backup) => backup,
            None => {
                let objects = if self.parent == self.objects { "" } else { "/objects" };
                Backup::create(&self.parent, &self.scratch, &way_back(objects))?
            }
        };
        for name in ["pack", "loose"] {
            create_folder(&backup.folder().join(name))?;
        }
        sync(backup.folder())?;
        self.swap_packs(&backup)?;
        self.swap_loose(&loose, &backup)?;
        Ok(Some(backup))
    }

    /// Fails if an old pack is gone, or is another file: then git has repacked meanwhile.
    fn check_unchanged(&self) -> Result<()> {
        for pack in &self.packs {
            let found = fs::metadata(&pack.files.pack);
            let is_same = |found: &fs::Metadata| {
                (found.dev(), found.ino(), found.len()) == (pack.old.dev(), pack.old.ino(), pack.old.len())
            };
            if !found.as_ref().is_ok_and(is_same) || !pack.files.index.exists() {
                return Err(ReaderError::Changed { path: pack.files.pack.clone() }.into());
            }
        }
        Ok(())
    }

    fn swap_packs(&mut self, backup: &Backup) -> Result<()> {
        let (folder, kept) = (self.objects.join("pack"), backup.folder().join("pack"));
        for pack in &self.packs {
            self.replaced.bytes_before += pack_bytes(&pack.files.pack)?;
        }
        let new: BTreeSet<&Path> = self.packs.iter().map(|pack| pack.new.as_path()).collect();
        for new in new {
            let old = self.packs.iter().find(|pack| pack.new == new);
            if let Some(old) = old {
                self.replaced.bytes_after += pack_bytes(new)?;
                put_in(new, old, &folder, backup)?;
            }
        }
        if self.packs.is_empty() {
            return Ok(());
        }
        sync(&folder)?;
        self.replace_served_packs(backup)?;
        self.move_multi_pack_index(&folder, &kept)?;
        for pack in &self.packs {
            // Somebody wants to keep it since.
            if pack.files.pack.with_extension("keep").exists() {
                continue;
            }
            if let Some(name) = pack.files.index.file_name() {
                rename_if_there(&pack.files.index, &kept.join(name))?;
            }
            move_beside_index(&pack.files.index, &kept)?;
            self.replaced.packs += 1;
        }
        sync(&folder)?;
        sync(&kept)
    }

    /// Moves the multi-pack-index away. It names old packs, and git looks into it first.
    fn move_multi_pack_index(&mut self, folder: &Path, kept: &Path) -> Result<()> {
        let names = names_in(folder)?;
        let of_index = |name: &&PathBuf| {
            let name = name.to_string_lossy();
            name.starts_with("multi-pack-index") && !name.ends_with(".lock")
        };
        let mut names: Vec<&PathBuf> = names.iter().filter(of_index).collect();
        // The index itself is the shortest name and goes first; its bitmaps have no meaning without it.
        names.sort();
        for name in &names {
            let to = kept.join(name);
            if to.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                // The layers of an incremental index, which the killed run has moved already.
                fs::remove_dir_all(&to).map_err(|e| WriterError::io("remove", &to, e))?;
            }
            rename_if_there(&folder.join(name), &to)?;
        }
        if !names.is_empty() {
            let note =
                "the multi-pack-index named old packs and is in the backup; git multi-pack-index write makes a new one";
            self.replaced.notes.push(note.to_owned());
            sync(folder)?;
        }
        Ok(())
    }

    /// Names the new packs where clients of a plain web server look for them.
    fn replace_served_packs(&self, backup: &Backup) -> Result<()> {
        let path = self.objects.join(SERVED_PACKS);
        let Ok(mut text) = fs::read_to_string(&path) else { return Ok(()) };
        keep_copy(&path, &backup.folder().join(KEPT_SERVED_PACKS))?;
        for pack in &self.packs {
            let name =
                |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            text = text.replace(&name(&pack.files.pack), &name(&pack.new));
        }
        replace(&path, text.as_bytes(), &self.scratch)
    }

    fn swap_loose(&mut self, loose: &[(PathBuf, PathBuf)], backup: &Backup) -> Result<()> {
        let mut folders = BTreeSet::new();
        for (new, old) in loose {
            let Some((fan_out, name)) = old.parent().and_then(Path::file_name).zip(old.file_name()) else { continue };
            let kept = backup.folder().join("loose").join(fan_out);
            if folders.insert(old.parent().map(Path::to_owned)) {
                create_folder(&kept)?;
            }
            if let Some([before, after]) = unless_gone(old, replace_loose(old, new, &kept.join(name)))? {
                self.replaced.bytes_before += before;
                self.replaced.bytes_after += after;
                self.replaced.loose_objects += 1;
            }
        }
        for folder in folders.into_iter().flatten() {
            if let Some(fan_out) = folder.file_name() {
                sync(&backup.folder().join("loose").join(fan_out))?;
            }
            unless_gone(&folder, sync(&folder))?;
        }
        Ok(())
    }
}

/// Gives the files of the new pack at `new` their names in `folder`, the index last.
fn put_in(new: &Path, old: &NewPack, folder: &Path, backup: &Backup) -> Result<()> {
    let stem = new.file_stem().unwrap_or_default();
    let target = folder.join(stem);
    // Two packs of that name are the same: it is the checksum of the content. An older git named packs otherwise.
    // One that was there before stays, and is not ours to remove.
    if let (Ok(found), Ok(expected)) = (fs::metadata(target.with_extension("pack")), inspect(new))
        && found.len() != expected.len()
    {
        let why = "another pack has the name of a new one".to_owned();
        return Err(WriterError::Output { path: target.with_extension("pack"), why, force_helps: false });
    }
    if target.with_extension("idx").exists() {
        return Ok(());
    }
    backup.append_line(NEW_PACKS, &stem.to_string_lossy())?;
    // git renews the time of a pack whose objects it is given again, so that they do not expire.
    let times = fs::metadata(&old.files.pack).unwrap_or_else(|_| old.old.clone());
    for extension in BESIDE_INDEX.iter().chain(&["idx"]) {
        let file = new.with_extension(extension);
        // An index without its pack would take the place of a whole pack.
        if matches!(*extension, "pack" | "idx") || file.exists() {
            take_times_and_mode(&file, &times)?;
            rename(&file, &target.with_extension(extension))?;
        }
    }
    Ok(())
}

/// Replaces the loose object `old` by `new`, and keeps it as `kept`. Returns the bytes of both.
fn replace_loose(old: &Path, new: &Path, kept: &Path) -> Result<[u64; 2]> {
    let (found, after) = (inspect(old)?, inspect(new)?.len());
    keep_copy(old, kept)?;
    take_times_and_mode(new, &found)?;
    rename(new, old)?;
    Ok([found.len(), after])
}

/// What became of a step on the file or folder at `path`; `None` if it failed since git has packed the loose objects
/// there meanwhile, and removed them.
fn unless_gone<T>(path: &Path, outcome: Result<T>) -> Result<Option<T>> {
    match outcome {
        Err(_) if !path.exists() => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// Gives a new file the times and the mode of the old one. git expires unreachable objects by these times, and searches
/// packs in their order.
fn take_times_and_mode(new: &Path, old: &fs::Metadata) -> Result<()> {
    let set = || -> io::Result<()> {
        let file = File::open(new)?;
        file.set_times(FileTimes::new().set_modified(old.modified()?))?;
        file.set_permissions(old.permissions())
    };
    set().map_err(|e| WriterError::io("set the times of", new, e))
}

/// Keeps the file `old` as `kept`, unless a killed run has kept it already.
fn keep_copy(old: &Path, kept: &Path) -> Result<()> {
    match fs::hard_link(old, kept) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // A file system without links, or a file of another user.
        Err(_) => copy(old, kept),
    }
}

fn inspect(path: &Path) -> Result<fs::Metadata> {
    fs::metadata(path).map_err(|error| match error.kind() {
        // git takes no lock for `repack`.
        io::ErrorKind::NotFound => ReaderError::Changed { path: path.to_owned() }.into(),
        _ => ReaderError::io("inspect", path, error).into(),
    })
}

/// The bytes of a pack and its index.
fn pack_bytes(pack: &Path) -> Result<u64> {
    Ok(inspect(pack)?.len() + inspect(&pack.with_extension("idx"))?.len())
}

/// The bytes of everything that is rewritten.
fn stored_bytes(packs: &[PackFiles], loose: &LooseObjects) -> Result<u64> {
    let mut bytes = 0u64;
    for path in packs
        .iter()
        .flat_map(PackFiles::files)
        .map(Path::to_owned)
        .chain((0..loose.len()).filter_map(|at| loose.path(at)))
    {
        bytes = bytes.saturating_add(fs::metadata(&path).map_or(0, |found| found.len()));
    }
    Ok(bytes)
}

/// A script that goes back to the files in the backup folder. `objects` leads from the folder around it to the objects.
/// It can be run again after it was killed, and does nothing once it has restored everything. It removes new packs only
/// while all packs that they were made from are there.
fn way_back(objects: &str) -> String {
    format!(
        r#"#!/bin/sh
# Restores the objects as they were stored before `repackbench convert --in-place`.
# Objects and commits that were added since stay. Nothing else may pack the repository meanwhile.
set -e
backup=$(cd "$(dirname "$0")" && pwd)
objects="$backup/..{objects}"
cd "$backup"
if [ -e done ]; then
    echo "restored already; the backup can be removed: $backup"
    exit 0
fi
if [ -e incomplete ]; then
    echo "the conversion was stopped: run the same convert --in-place again first" >&2
    exit 1
fi
for lock in "$backup/../gc.pid" "$objects/maintenance.lock" "$objects/pack/multi-pack-index.lock"; do
    if [ -e "$lock" ] || [ -L "$lock" ]; then
        # git ignores the file of a gc of this host that has ended.
        if [ "$lock" = "$backup/../gc.pid" ]; then
            pid='' host=''
            read -r pid host < "$lock" || :
            if [ "$host" = "$(uname -n)" ] && ! kill -0 "$pid" 2> /dev/null; then continue; fi
        fi
        echo "another program holds a lock: $lock" >&2
        exit 1
    fi
done
# Packs that were both put in and moved away are restored, and stay.
if [ ! -e restored ]; then ls pack > restored.new; mv restored.new restored; fi
rm -rf "$objects/pack/multi-pack-index" "$objects/pack/multi-pack-index.d"
for file in pack/pack-*; do
    case $file in *.idx | 'pack/pack-*') ;; *) mv -f "$file" "$objects/pack/" ;; esac
done
for file in pack/*.idx pack/multi-pack-index*; do
    if [ -e "$file" ]; then mv -f "$file" "$objects/pack/"; fi
done
while read -r name; do
    case $name in pack-*.pack | pack-*.idx) ;; *) continue ;; esac
    if [ ! -e "$objects/pack/$name" ]; then
        echo "$name is gone since: git or a conversion has packed its objects again, and nothing is removed" >&2
        exit 1
    fi
done < restored
if [ -e new-packs ]; then
    while read -r name; do
        if grep -qxF "$name.pack" restored; then continue; fi
        rm -f "$objects/pack/$name.idx"
        rm -f "$objects/pack/$name".*
    done < new-packs
fi
if [ -e served-packs ]; then mv -f served-packs "$objects/info/packs"; fi
find loose -type f | while read -r file; do
    mkdir -p "$objects/$(basename "$(dirname "$file")")"
    mv -f "$file" "$objects/${{file#loose/}}"
done
: > done
echo "restored; the empty backup can be removed: $backup"
"#
    )
}
