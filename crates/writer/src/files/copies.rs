//! Copies of trees, for whoever reads them cold: where a file lies on a disk decides how fast it is read.

use std::{
    fs::{self, File},
    io::{Read, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use nix::unistd::syncfs;
use repackbench_codec::{CodecSpec, FileEncoder};
use repackbench_reader::files::{DESCRIPTOR_FILE, Descriptor, FILES_FOLDER, FileTree};
use walkdir::WalkDir;

use super::{in_place, write_descriptor};
use crate::{Progress, ProgressUnit, Result, WriterError};

/// The files below `folder`, by their names in it, in the order in which its folders list them: that of `find` and `cp`, and not one
/// that anybody chose.
///
/// # Errors
/// A folder cannot be listed.
pub fn files_in_folder_order(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in WalkDir::new(folder) {
        let entry = entry.map_err(|error| WriterError::io("list", folder, error.into()))?;
        if entry.file_type().is_file() {
            files.push(entry.path().strip_prefix(folder).unwrap_or(entry.path()).to_owned());
        }
    }
    Ok(files)
}

/// Copies flat `source` to the new folder `target`, waits until that is on the disk, and compresses each file in place. So each
/// compressed file lies where there was room when it was its turn, and where the flat files were there are holes.
///
/// # Errors
/// A file cannot be read, encoded or written, or the user stops it.
pub fn compressed_in_place(
    source: &Path,
    spec: &CodecSpec,
    target: &Path,
    progress: &dyn Progress,
) -> Result<FileTree> {
    copy_interleaved(&[source], &[target], &[0], progress)?;
    let flat = FileTree::open(target)?;
    let root = target.join(FILES_FOLDER);
    let files = files_in_folder_order(&root)?;
    let mut encoder = FileEncoder::new(spec.default_choice())?;
    let stored_bytes = in_place::compress(&root, &files, &mut encoder, progress)?;
    let descriptor =
        Descriptor { spec: spec.canonical(), form: encoder.form(), stored_bytes, ..flat.descriptor().clone() };
    write_descriptor(target, &descriptor)?;
    sync_file_system(target)?;
    Ok(FileTree::open(target)?)
}

/// Copies each of the trees `sources`, which hold the same revision, to the new folder in `targets` that has its place: one file of each,
/// then the next one of each, `order` saying whose comes first. All of it is on the disk when this returns.
///
/// Files come in the order in which the first tree's folders list them. Bytes are written anew, since some file systems share those of
/// copied files.
///
/// # Errors
/// A file cannot be read or written, or the user stops it.
pub fn copy_interleaved(sources: &[&Path], targets: &[&Path], order: &[usize], progress: &dyn Progress) -> Result<()> {
    let Some(first) = sources.first() else { return Ok(()) };
    let mut trees = Vec::new();
    for number in order {
        let (Some(source), Some(target)) = (sources.get(*number), targets.get(*number)) else { continue };
        fs::create_dir_all(target.join(FILES_FOLDER)).map_err(|e| WriterError::io("make", *target, e))?;
        let descriptor = Descriptor::read(source)?;
        write_descriptor(target, &descriptor)?;
        trees.push((*source, *target, descriptor.form.suffix()));
    }
    let suffix = Descriptor::read(first)?.form.suffix();
    let files = files_in_folder_order(&first.join(FILES_FOLDER))?;
    progress.start("copying files", files.len() as u64, ProgressUnit::Items);
    let mut bytes = Vec::new();
    for file in &files {
        let name = without_suffix(file, suffix)?;
        for (source, target, suffix) in &trees {
            let name = in_place::with_suffix(&name, suffix);
            copy(&source.join(FILES_FOLDER).join(&name), &target.join(FILES_FOLDER).join(&name), &mut bytes)?;
        }
        progress.advance(1);
        if progress.is_cancelled() {
            return Err(WriterError::Interrupted);
        }
    }
    progress.finish();
    // They may lie on several; of each once is enough.
    let mut synced = Vec::new();
    for target in targets {
        let device = fs::metadata(target).map_err(|e| WriterError::io("inspect", *target, e))?.dev();
        if !synced.contains(&device) {
            sync_file_system(target)?;
            synced.push(device);
        }
    }
    Ok(())
}

fn without_suffix(file: &Path, suffix: &str) -> Result<PathBuf> {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let name = file.as_os_str().as_bytes().strip_suffix(suffix.as_bytes());
    let name = name.ok_or_else(|| WriterError::Output {
        path: file.to_owned(),
        why: format!("is in a tree whose files end in {suffix:?}"),
        force_helps: false,
    })?;
    Ok(PathBuf::from(OsStr::from_bytes(name)))
}

/// Copies a file, and makes the folder that it lies in where that is missing.
fn copy(from: &Path, to: &Path, bytes: &mut Vec<u8>) -> Result<()> {
    bytes.clear();
    let read = File::open(from).and_then(|mut file| file.read_to_end(bytes));
    read.map_err(|error| WriterError::io("read", from, error))?;
    let failed = |error| WriterError::io("write", to, error);
    let mut file = match File::create_new(to) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            fs::create_dir_all(to.parent().unwrap_or(to)).map_err(failed)?;
            File::create_new(to).map_err(failed)?
        }
        made => made.map_err(failed)?,
    };
    file.write_all(bytes).map_err(failed)
}

/// Waits until everything that was written to the file system of `folder` is on its device.
fn sync_file_system(folder: &Path) -> Result<()> {
    let file = folder.join(DESCRIPTOR_FILE);
    let synced = File::open(&file).and_then(|file| Ok(syncfs(file)?));
    synced.map_err(|error| WriterError::io("write out", folder, error))
}
