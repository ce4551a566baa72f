//! Mercurial repositories: [`convert`] writes a new repository beside its source, [`convert_into`] writes into a folder
//! of the caller.

mod chunks;
mod emit;
mod metadata;
pub mod recompute;
mod revlogs;
pub(crate) mod variant;

use std::path::{Path, PathBuf};

pub(crate) use self::metadata::requirement_lines;
use repackbench_codec::BASE_REQUIREMENT;
use repackbench_reader::{
    ReaderError, Snapshot,
    dictionaries::DICTIONARY_FOLDER,
    hg::{HgRepository, check_copied_files},
};

use crate::{
    ConvertJob, Encoding, JobControl, Result,
    check::check_revisions,
    conversion::{Conversion, build_beside, watched},
};

/// Converts the repository `source` into a new one: a folder with a `.hg` in it, and no checkout.
///
/// # Errors
/// See [`WriterError`](crate::WriterError); [`ReaderError::Changed`] or
/// [`Locked`](repackbench_reader::ReaderError::Locked) when the source was written to meanwhile. Nothing is left at the
/// target then.
pub fn convert(source: &HgRepository, encoding: &Encoding, job: &ConvertJob<'_>) -> Result<(Conversion, PathBuf)> {
    build_beside(job, &folders(source), |out| {
        let checked = || {
            let note = job.check.then(|| check_revisions(source, job.control)).transpose()?;
            Ok(note.into_iter().chain(convert_parts(source, encoding, out, job.control)?).collect())
        };
        watched(|| source.snapshot().map(Snapshot::Hg), checked)
    })
}

/// The folders of `source`. The store may be elsewhere.
pub(crate) fn folders(source: &HgRepository) -> [PathBuf; 2] {
    [source.hg_dir().to_owned(), source.store_dir()]
}

/// Converts the repository `source` into the empty folder `out`, which the caller syncs and renames, or discards on
/// errors.
pub fn convert_into(
    source: &HgRepository,
    encoding: &Encoding,
    out: &Path,
    control: JobControl<'_>,
) -> Result<Conversion> {
    watched(|| source.snapshot().map(Snapshot::Hg), || convert_parts(source, encoding, out, control))
}

/// Writes a repository without a checkout into the empty folder `out`, with a complete store and nothing else.
pub(crate) fn convert_store(
    source: &HgRepository,
    encoding: &Encoding,
    out: &Path,
    control: JobControl<'_>,
) -> Result<Vec<String>> {
    refuse_bases(source)?;
    let hg_dir = out.join(".hg");
    metadata::write_metadata(source, &[], encoding, &hg_dir, control)?;
    revlogs::convert_revlogs(source, encoding, &hg_dir.join("store"), control)
}

/// Does the work of a conversion into `out`. Returns notes, one sentence each.
fn convert_parts(
    source: &HgRepository,
    encoding: &Encoding,
    out: &Path,
    control: JobControl<'_>,
) -> Result<Vec<String>> {
    refuse_bases(source)?;
    check_copied_files(source)?;
    let hg_dir = out.join(".hg");
    metadata::write_metadata(source, source.kept_files(), encoding, &hg_dir, control)?;
    let store = hg_dir.join("store");
    encoding.write_dictionaries(&store.join(DICTIONARY_FOLDER))?;
    let notes = revlogs::convert_revlogs(source, encoding, &store, control)?;
    Ok(source.notes().iter().cloned().chain(notes).collect())
}

/// Refuses a variant whose deltas were compressed with the full texts of their bases: some of them are no longer
/// deltas, so no conversion can restore the original.
pub(crate) fn refuse_bases(source: &HgRepository) -> Result<()> {
    if !source.requirements().contains(BASE_REQUIREMENT) {
        return Ok(());
    }
    let what = format!("converting a variant with the requirement '{BASE_REQUIREMENT}' (convert its source instead)");
    Err(ReaderError::unsupported(source.hg_dir(), what).into())
}
