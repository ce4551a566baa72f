//! Copies trees of files for cold reads, where the place of a file on the disk decides how fast it is read.

use std::{
    fs::{self, File},
    io::{Read, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use repackbench_codec::{CodecSpec, FileEncoder};
use repackbench_pagecache::sync_file_system;
use repackbench_reader::files::{Descriptor, FILES_FOLDER, FileTree};
use walkdir::WalkDir;

use super::{in_place, write_descriptor};
use crate::{Progress, ProgressUnit, Result, WriterError};

/// The number of bytes that are copied at a time. Most files are shorter.
const PIECE: usize = 1 << 20;

/// The files below `folder`, as relative paths, in the order in which its folders list them. That is the order of
/// `find` and `cp`, and not one that this program chose.
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

/// Copies the flat tree `source` to the new folder `target`, waits until the copy is on the disk, and compresses each
/// file in place. So each compressed file is stored where there was room at that moment, and the flat files leave
/// holes.
///
/// # Errors
/// A file cannot be read, encoded or written, or the user stops the work.
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
    write_out(target)?;
    Ok(FileTree::open(target)?)
}

/// Copies the trees `sources`, which hold the same revision, to new folders at the same positions in `targets`. Files
/// are interleaved: the first file of each tree, then the second of each, with the trees in the given `order`.
/// Everything is on the disk when this function returns.
///
/// The files of each tree come in the order in which its own folders list them, as with `find` and `cp`. A folder that
/// lists by a hash of names has another order for `x.c.gz` than for `x.c`, and reading a tree in another order than it
/// was written in takes more seeks. The bytes are read and written, since some file systems let copies share storage.
///
/// # Errors
/// The trees differ in their number of files, a file cannot be read or written, or the user stops the work.
pub fn copy_interleaved(sources: &[&Path], targets: &[&Path], order: &[usize], progress: &dyn Progress) -> Result<()> {
    let mut trees = Vec::new();
    for number in order {
        let (Some(source), Some(target)) = (sources.get(*number), targets.get(*number)) else { continue };
        fs::create_dir_all(target.join(FILES_FOLDER)).map_err(|e| WriterError::io("create", *target, e))?;
        write_descriptor(target, &Descriptor::read(source)?)?;
        trees.push((source.join(FILES_FOLDER), target.join(FILES_FOLDER)));
    }
    let turns = turns(&trees)?;
    progress.start("copying files", turns.len() as u64, ProgressUnit::Items);
    let mut piece = vec![0; PIECE];
    for (from, to) in turns {
        copy(&from, &to, &mut piece)?;
        progress.advance(1);
        if progress.is_cancelled() {
            return Err(WriterError::Interrupted);
        }
    }
    progress.finish();
    // The targets may be on several file systems. Sync each only once.
    let mut synced = Vec::new();
    for target in targets {
        let device = fs::metadata(target).map_err(|e| WriterError::io("inspect", *target, e))?.dev();
        if !synced.contains(&device) {
            write_out(target)?;
            synced.push(device);
        }
    }
    Ok(())
}

/// The source and target of each copy, in order: the first file of each tree, then the second of each, in the order of
/// each tree's own folders.
fn turns(trees: &[(PathBuf, PathBuf)]) -> Result<Vec<(PathBuf, PathBuf)>> {
    let mut listed = Vec::new();
    for (source, target) in trees {
        listed.push((source, target, files_in_folder_order(source)?));
    }
    let files = listed.first().map_or(0, |(_, _, files)| files.len());
    let mut turns = Vec::with_capacity(files.saturating_mul(listed.len()));
    if let Some((source, _, found)) = listed.iter().find(|(_, _, found)| found.len() != files) {
        return Err(WriterError::Output {
            path: (*source).clone(),
            why: format!("has {} files, but another tree of the revision has {files}", found.len()),
            force_helps: false,
        });
    }
    for number in 0..files {
        for (source, target, files) in &listed {
            turns.extend(files.get(number).map(|file| (source.join(file), target.join(file))));
        }
    }
    Ok(turns)
}

/// Copies a file with the buffer `piece`, and creates its folder if that is missing.
fn copy(from: &Path, to: &Path, piece: &mut [u8]) -> Result<()> {
    let cannot_read = |error| WriterError::io("read", from, error);
    let mut source = File::open(from).map_err(cannot_read)?;
    let failed = |error| WriterError::io("write", to, error);
    let mut file = match File::create_new(to) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            fs::create_dir_all(to.parent().unwrap_or(to)).map_err(failed)?;
            File::create_new(to).map_err(failed)?
        }
        made => made.map_err(failed)?,
    };
    loop {
        match source.read(piece) {
            Ok(0) => return Ok(()),
            Ok(len) => file.write_all(piece.get(..len).unwrap_or_default()).map_err(failed)?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(cannot_read(error)),
        }
    }
}

/// Waits until everything written to the file system of `folder` is on the device.
fn write_out(folder: &Path) -> Result<()> {
    sync_file_system(folder).map_err(|error| WriterError::io("sync the file system of", folder, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_copied_in_the_order_of_their_own_folders() {
        let folder = tempfile::tempdir().unwrap();
        let trees = ["", ".gz", ".zst"].map(|suffix| {
            let source = folder.path().join(format!("tree{suffix}"));
            for number in 0..60 {
                let file = source.join(format!("sub-{}/file-{number}.c{suffix}", number % 4));
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, "").unwrap();
            }
            (source, folder.path().join(format!("copy{suffix}")))
        });
        let turns = turns(&trees).unwrap();
        assert_eq!(turns.len(), 180);
        for (number, (source, target)) in trees.iter().enumerate() {
            let files = files_in_folder_order(source).unwrap();
            let of_tree = turns.iter().skip(number).step_by(3);
            let expected = files.iter().map(|file| (source.join(file), target.join(file)));
            assert!(of_tree.cloned().eq(expected), "{}", source.display());
        }
        fs::remove_file(trees[1].0.join("sub-0/file-0.c.gz")).unwrap();
        let error = super::turns(&trees).unwrap_err().to_string();
        assert!(error.contains("has 59 files") && error.contains("has 60"), "{error}");
    }
}
