//! Git repositories: [`convert`] writes a new repository beside its source, [`convert_into`] writes into a folder of
//! the caller.

mod btree_store;
mod loose;
mod loose_store;
pub mod metadata;
pub mod numbers;
pub mod order;
pub mod pack;
pub mod recompute;
mod stream;
pub(crate) mod variant;
mod whole_objects;

use std::path::{Path, PathBuf};

use repackbench_codec::CodecSpec;
use repackbench_reader::{ReaderError, Snapshot, dictionaries::DICTIONARY_FOLDER, git::GitRepository};

pub(crate) use self::loose::convert_loose;
use self::{
    order::{EntryOrder, ObjectOrder},
    pack::{PackJob, ReferenceDeltas, convert_pack},
};
use crate::{
    ConvertJob, Encoding, JobControl, Layout, Order, ProgressUnit, Result, StoreKind,
    check::check_objects,
    conversion::{Conversion, build_beside, watched},
};

/// Converts the repository `source` into a new bare repository, whose store and packs `layout` describes.
///
/// # Errors
/// See [`WriterError`](crate::WriterError); [`ReaderError::Changed`] when the source changed meanwhile. Nothing is left
/// at the target then.
pub fn convert(
    source: &GitRepository,
    encoding: &Encoding,
    layout: Layout,
    job: &ConvertJob<'_>,
) -> Result<(Conversion, PathBuf)> {
    // What the variant borrows from must stay, too.
    let kept = [&folders(source)[..], job.alternates].concat();
    build_beside(job, &kept, |out| {
        let convert = || match layout.store {
            StoreKind::AsFound => {
                metadata::write_alternates(job.alternates, out)?;
                convert_parts(source, encoding, layout, out, job.control)
            }
            StoreKind::Loose => loose_store::convert_parts(source, &encoding.for_whole_objects(), out, job.control),
            StoreKind::Btree => btree_store::convert_parts(source, &encoding.for_whole_objects(), out, job.control),
        };
        let checked = || {
            // Stores of whole objects hash each object that they write. A wrong number names another object.
            let is_checked = (job.check || source.has_numbers()) && layout.store == StoreKind::AsFound;
            let note = is_checked.then(|| check_objects(source, job.control)).transpose()?;
            Ok(note.into_iter().chain(convert()?).collect())
        };
        watched(|| source.snapshot().map(Snapshot::Git), checked)
    })
}

/// The folders of `source`, including those that it borrows objects from.
pub(crate) fn folders(source: &GitRepository) -> Vec<PathBuf> {
    let mut folders = source.object_dirs().to_vec();
    folders.extend([source.git_dir().to_owned(), source.common_dir().to_owned()]);
    folders
}

/// Converts the repository `source` into the empty folder `out`, which the caller syncs and renames, or discards on
/// errors.
pub fn convert_into(
    source: &GitRepository,
    encoding: &Encoding,
    out: &Path,
    control: JobControl<'_>,
) -> Result<Conversion> {
    let convert = || convert_parts(source, encoding, Layout::default(), out, control);
    watched(|| source.snapshot().map(Snapshot::Git), convert)
}

fn convert_parts(
    source: &GitRepository,
    encoding: &Encoding,
    layout: Layout,
    out: &Path,
    control: JobControl<'_>,
) -> Result<Vec<String>> {
    let (objects, mut notes) = begin(source, encoding, StoreKind::AsFound, out)?;
    let dictionaries = source.dictionaries()?;
    let order = match layout.order {
        _ if source.packs().is_empty() => None,
        Order::Source => None,
        _ => {
            let (order, of_order) = ObjectOrder::new(source, layout, control.progress)?;
            notes.extend(of_order);
            Some(order)
        }
    };
    let job = PackJob {
        hash: source.object_hash(),
        dictionaries: &dictionaries,
        encoding,
        order: order.as_ref().map(|order| order as &dyn EntryOrder),
        control,
    };
    convert_packs(source, &job, &objects.join("pack"), &mut notes)?;
    let loose = source.loose_objects()?;
    if !loose.is_empty() {
        control.progress.start("converting loose objects", loose.len() as u64, ProgressUnit::Items);
        convert_loose(&loose, &dictionaries, &encoding.for_loose_objects(), &objects, control)?;
        control.progress.finish();
    }
    Ok(notes)
}

/// Writes everything but objects into the empty folder `out`. Returns the object directory and the notes of the
/// conversion so far.
fn begin(source: &GitRepository, encoding: &Encoding, store: StoreKind, out: &Path) -> Result<(PathBuf, Vec<String>)> {
    // References are copied byte for byte, so garbage in them has to be found here.
    source.references()?;
    let report = metadata::write_metadata(source, encoding.spec(), store, out)?;
    let mut notes = source.notes().to_vec();
    if store != StoreKind::AsFound {
        notes.extend(whole_objects::promisor_note(source));
    }
    notes.extend(report.left_out);
    let objects = out.join("objects");
    encoding.write_dictionaries(&objects.join("info").join(DICTIONARY_FOLDER))?;
    Ok((objects, notes))
}

/// Converts every pack of `source` into the folder `out`.
fn convert_packs(source: &GitRepository, job: &PackJob<'_>, out: &Path, notes: &mut Vec<String>) -> Result<()> {
    let mut total = 0;
    for files in source.packs() {
        total += std::fs::metadata(&files.pack).map_err(|e| ReaderError::io("inspect", &files.pack, e))?.len();
    }
    job.control.progress.start("converting packs", total, ProgressUnit::Bytes);
    for files in source.packs() {
        let converted = convert_pack(files, job, out)?;
        let name = files.pack.display();
        if converted.is_repeated {
            notes.push(format!("{name}: has the same entries as an earlier pack, and was written once"));
        }
        let ReferenceDeltas { entries, header_bytes } = converted.reference_deltas;
        if entries > 0 {
            notes.push(format!(
                "{name}: {entries} deltas come before their bases and name them by id, which takes {header_bytes} additional header bytes"
            ));
        }
    }
    job.control.progress.finish();
    Ok(())
}

/// Refuses a variant whose deltas were compressed with the content of their bases: some of them are no longer deltas,
/// so no conversion can restore the original. Also refuses a variant in a B-tree, which has no deltas at all.
pub(crate) fn refuse_bases(source: &GitRepository) -> Result<()> {
    if let Some(btree) = source.btree() {
        let what = "converting a variant in a B-tree (convert its source instead)";
        return Err(ReaderError::unsupported(btree, what).into());
    }
    let Some(recorded) = source.extension_spec() else { return Ok(()) };
    match recorded.parse::<CodecSpec>() {
        Ok(spec) if !spec.uses_bases() => Ok(()),
        // A spec of a later version may use bases too.
        _ => {
            let what = format!("converting a variant under {recorded} (convert its source instead)");
            Err(ReaderError::unsupported(source.git_dir(), what).into())
        }
    }
}
