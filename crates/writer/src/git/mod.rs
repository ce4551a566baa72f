//! Git repositories: [`convert`] writes a new one beside its source, [`convert_into`] one in a folder of the caller's.

mod btree_store;
mod loose;
mod loose_store;
pub mod metadata;
pub mod order;
pub mod pack;
pub mod rechosen;
mod stream;
pub(crate) mod variant;
mod whole_objects;

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use repackbench_codec::CodecSpec;
use repackbench_reader::{ReaderError, Snapshot, dictionaries::DICTIONARY_FOLDER, git::GitRepository};

use self::{
    order::{EntryOrder, ObjectOrder},
    pack::{PackJob, ReferenceDeltas, convert_pack},
};
use crate::{
    Encoding, Layout, Order, Progress, ProgressUnit, Result, StoreKind, WriterError,
    conversion::{Conversion, build_beside, watched},
};

/// Converts the repository at `source` into a new bare repository at `target`.
///
/// # Errors
/// See [`WriterError`]; [`ReaderError::Changed`] when the source changed meanwhile. Nothing is left under `target` then.
pub fn convert(
    source: &GitRepository,
    encoding: &Encoding,
    target: &Path,
    force: bool,
    threads: usize,
    progress: &dyn Progress,
) -> Result<(Conversion, PathBuf)> {
    convert_laid_out(source, encoding, Layout::default(), target, force, threads, progress)
}

/// As [`convert`], with objects in the store and the entries of packs in the order that `layout` says.
///
/// # Errors
/// As [`convert`].
pub fn convert_laid_out(
    source: &GitRepository,
    encoding: &Encoding,
    layout: Layout,
    target: &Path,
    force: bool,
    threads: usize,
    progress: &dyn Progress,
) -> Result<(Conversion, PathBuf)> {
    build_beside(target, force, &folders(source), |out| {
        let convert = || match layout.store {
            StoreKind::AsFound => convert_parts(source, encoding, layout, out, threads, progress),
            StoreKind::Loose => loose_store::convert_parts(source, encoding, out, threads, progress),
            StoreKind::Btree => btree_store::convert_parts(source, encoding, out, threads, progress),
        };
        watched(|| source.snapshot().map(Snapshot::Git), convert)
    })
}

/// The folders of `source`, those that it borrows objects from included.
pub(crate) fn folders(source: &GitRepository) -> Vec<PathBuf> {
    let mut folders = source.object_dirs().to_vec();
    folders.extend([source.git_dir().to_owned(), source.common_dir().to_owned()]);
    folders
}

/// Converts the repository `source` into the empty folder `out`, which the caller syncs and names, or discards on errors.
pub fn convert_into(
    source: &GitRepository,
    encoding: &Encoding,
    out: &Path,
    threads: usize,
    progress: &dyn Progress,
) -> Result<Conversion> {
    let convert = || convert_parts(source, encoding, Layout::default(), out, threads, progress);
    watched(|| source.snapshot().map(Snapshot::Git), convert)
}

fn convert_parts(
    source: &GitRepository,
    encoding: &Encoding,
    layout: Layout,
    out: &Path,
    threads: usize,
    progress: &dyn Progress,
) -> Result<Vec<String>> {
    // They are copied byte for byte, which would carry garbage along.
    source.references()?;
    let report = metadata::write_metadata(source, encoding.spec(), out)?;
    let mut notes = source.notes().to_vec();
    notes.extend(report.left_aside);
    let objects = out.join("objects");
    let dictionaries = source.dictionaries()?;
    encoding.write_dictionaries(&objects.join("info").join(DICTIONARY_FOLDER))?;
    let order = match layout.order {
        _ if source.packs().is_empty() => None,
        Order::Source => None,
        _ => {
            let (order, of_order) = ObjectOrder::new(source, layout, progress)?;
            notes.extend(of_order);
            Some(order)
        }
    };
    let job = PackJob {
        hash: source.object_hash(),
        dictionaries: &dictionaries,
        encoding,
        order: order.as_ref().map(|order| order as &dyn EntryOrder),
        threads,
        progress,
    };
    convert_packs(source, &job, &objects.join("pack"), &mut notes)?;
    let loose = source.loose_objects()?;
    if !loose.is_empty() {
        progress.start("converting loose objects", loose.len() as u64, ProgressUnit::Items);
        loose::convert_loose(&loose, &dictionaries, &encoding.for_loose_objects(), threads, &objects, progress)?;
        progress.finish();
    }
    Ok(notes)
}

/// Converts every pack of `source` into the folder `out`.
fn convert_packs(source: &GitRepository, job: &PackJob<'_>, out: &Path, notes: &mut Vec<String>) -> Result<()> {
    let mut total = 0;
    for files in source.packs() {
        total += std::fs::metadata(&files.pack).map_err(|e| ReaderError::io("inspect", &files.pack, e))?.len();
    }
    job.progress.start("converting packs", total, ProgressUnit::Bytes);
    for files in source.packs() {
        let converted = convert_pack(files, job, out)?;
        let name = files.pack.display();
        if converted.is_repeated {
            notes.push(format!("{name}: holds the same entries as a pack before it, and was written once"));
        }
        let ReferenceDeltas { entries, header_bytes } = converted.reference_deltas;
        if entries > 0 {
            notes.push(format!(
                "{name}: {entries} deltas lie before their bases and name them by id, which takes {header_bytes} more bytes of headers"
            ));
        }
    }
    job.progress.finish();
    Ok(())
}

/// An error for a variant whose deltas were compressed with their bases' content: some of them are no deltas any more, so
/// no conversion gives back what there was. The same for one in a B-tree, which has no deltas at all.
pub(crate) fn refuse_bases(source: &GitRepository) -> Result<()> {
    if let Some(btree) = source.btree() {
        let what = "converting a variant in a B-tree: convert the repository that it was made from";
        return Err(ReaderError::unsupported(btree, what).into());
    }
    let Some(recorded) = source.extension_spec() else { return Ok(()) };
    match recorded.parse::<CodecSpec>() {
        Ok(spec) if !spec.uses_bases() => Ok(()),
        // One that a later version wrote may use them too.
        _ => {
            let what = format!("converting a variant under {recorded}: convert the repository that it was made from");
            Err(ReaderError::unsupported(source.git_dir(), what).into())
        }
    }
}

/// Creates the file `path`, which must not exist, readable and nothing else once it is closed, as git's object files are.
pub(crate) fn create_read_only(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o444);
    options.open(path).map_err(|e| WriterError::io("create", path, e))
}

/// Writes `content` to `path`, replacing a file that is there.
pub(crate) fn write_file(path: &Path, content: &[u8]) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(WriterError::io("replace", path, e)),
        _ => {}
    }
    create_read_only(path)?.write_all(content).map_err(|e| WriterError::io("write", path, e))
}
