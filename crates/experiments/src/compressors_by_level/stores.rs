//! A B-tree compared with files: the objects of the revision, and of [a few](FEW) of its files, uncompressed, as loose objects and in one B-tree.
//!
//! This program does not include Berkeley DB, so no figure here says anything about the published one.

use std::{fs, path::Path, time::Duration};

use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;
use repackbench_records::{Figure, Statement};
use repackbench_writer::{ConvertJob, Layout, StoreKind, WriterError, convert};

use super::{few_files::fetch_few, phases::FEW};
use crate::{
    Context, ExperimentError,
    interleaved::{Runs, interleaved},
    revision_alone::{DiskUse, disk_use, fetch_alone},
    samples::Samples,
};

/// The name of this part in messages.
pub(super) const WHAT: &str = "a B-tree beside files";

/// Uncompressed, like the published store.
const SPEC: &str = "store";

/// The stores.
pub(super) const STORES: [(&str, StoreKind); 2] = [("files", StoreKind::Loose), ("B-tree", StoreKind::Btree)];

/// Reading, decoding, encoding, verifying and writing.
pub(super) const MAKE: &str = "make";
/// The time until all of it was on the disk.
pub(super) const SYNC: &str = "sync";

/// The figures of one store.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct StoreTimes {
    pub(super) size: Option<DiskUse>,
    /// Seconds of [`MAKE`] and [`SYNC`].
    pub(super) samples: Samples,
}

impl StoreTimes {
    /// The sum of both: a store that leaves its writing to the sync gains nothing.
    pub(super) fn make_and_sync(&self) -> Vec<f64> {
        self.samples.sum(&[MAKE, SYNC])
    }
}

/// The measured stores.
#[derive(Debug, Default)]
pub(super) struct Stores {
    /// Each of [`STORES`] with all objects of the revision; empty if nothing was measured.
    pub(super) all: Vec<StoreTimes>,
    /// Each with the objects of [`FEW`] of its files; empty if it has no more files.
    pub(super) few: Vec<StoreTimes>,
}

impl Stores {
    fn get_mut(&mut self, arm: usize) -> Option<&mut StoreTimes> {
        self.all.iter_mut().chain(&mut self.few).nth(arm)
    }
}

/// Writes each store `wanted` times, in new folders below `folder`.
pub(super) fn measure_stores(
    context: &Context<'_>,
    revision: &str,
    folder: &Path,
    wanted: u32,
    share: Option<Duration>,
) -> Result<(Stores, Runs), ExperimentError> {
    let left_out = |why: Statement| (Stores::default(), Runs::left_out(why.with("what", WHAT)));
    let Repository::Git(_) = context.source else {
        return Ok(left_out(Statement::new("left-out-not-git")));
    };
    let root = folder.join("stores");
    let mut stores = Stores { all: vec![StoreTimes::default(); STORES.len()], few: Vec::new() };
    let mut without_few = None;
    let measured = (|| {
        fs::create_dir_all(&root).map_err(|error| ExperimentError::io("make", &root, error))?;
        let alone = root.join("revision.git");
        fetch_alone(context, revision, &alone)?;
        let mut sources = vec![Repository::open(&alone)?];
        let few = root.join("few.git");
        match fetch_few(context, &alone, revision, FEW as usize, &few) {
            Ok(false) => {}
            Ok(true) => {
                sources.push(Repository::open(&few)?);
                stores.few = vec![StoreTimes::default(); STORES.len()];
            }
            // git refuses some names; all files are measured nevertheless.
            Err(ExperimentError::Writer(error @ WriterError::Program { .. })) => {
                let failed = Statement::new("few-files-failed").with("what", WHAT).with("files", Figure::count(FEW));
                without_few = Some(failed.with("error", error.to_string()).into());
            }
            Err(error) => return Err(error),
        }
        interleaved(context, WHAT, STORES.len() * sources.len(), wanted, share, &mut |_, arm| {
            let (source, store) = (sources.get(arm / STORES.len()), STORES.get(arm % STORES.len()));
            match (source, store, stores.get_mut(arm)) {
                (Some(source), Some((_, store)), Some(times)) => {
                    write_store(context, source, *store, &root.join("store.git"), times)
                }
                _ => Ok(()),
            }
        })
    })();
    let mut runs = match measured {
        Ok(runs) => runs,
        // git refuses to hand out some revisions, such as those of partial clones.
        Err(ExperimentError::Writer(error @ (WriterError::Program { .. } | WriterError::Spec { .. }))) => {
            return Ok(left_out(Statement::new("part-failed").with("error", error.to_string())));
        }
        Err(error) => return Err(error),
    };
    runs.left_out.splice(0..0, without_few);
    stores.all.iter_mut().chain(&mut stores.few).for_each(|times| times.samples.truncate(runs.done));
    Ok((stores, runs))
}

/// Writes the store at `target`, which is removed again.
fn write_store(
    context: &Context<'_>,
    source: &Repository,
    store: StoreKind,
    target: &Path,
    times: &mut StoreTimes,
) -> Result<(), ExperimentError> {
    let spec = SPEC.parse::<CodecSpec>();
    let spec = spec.map_err(|error| WriterError::Spec { spec: SPEC.to_owned(), why: format!("{error}") })?;
    let layout = Layout { store, ..Layout::default() };
    let (conversion, _) = convert(source, &spec, layout, &ConvertJob::new(target, context.control()))?;
    times.size = Some(disk_use(&target.join("objects"))?);
    times.samples.push(MAKE, conversion.elapsed.as_secs_f64());
    times.samples.push(SYNC, conversion.sync.as_secs_f64());
    fs::remove_dir_all(target).map_err(|error| ExperimentError::io("remove", target, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Setting, git, words};

    #[test]
    fn names_that_git_refuses_leave_out_only_the_few_files() {
        let files: Vec<_> = (0..=FEW).map(|number| (format!("h{number}"), b"content\n".to_vec())).collect();
        let outcome = Setting::new(&files, 1).run(|context| {
            let source = context.source.folder();
            let blob = git(source, &["rev-parse", "HEAD:h1"]);
            let entry = format!("100644,{blob},git~1");
            git(source, &["-c", "core.protectNTFS=false", "update-index", "--add", "--cacheinfo", &entry]);
            let tree = git(source, &["-c", "core.protectNTFS=false", "write-tree"]);
            let revision = git(source, &["commit-tree", "-m", "a name of Windows", &tree]);
            git(source, &["update-ref", "HEAD", &revision]);
            let scratch = crate::on_disk::folder();
            let source = Repository::open(source)?;
            let context = Context { source: &source, ..*context };
            let (stores, runs) = measure_stores(&context, &revision, scratch.path(), 1, None)?;
            assert!(stores.few.is_empty() && runs.done == 1, "{runs:?} {stores:?}");
            assert!(stores.all.iter().all(|times| times.samples.get(MAKE).len() == 1 && times.size.is_some()));
            let why = words(&runs.left_out).concat();
            assert!(why.contains("1,000 files were left out: git update-index: it takes 999 of 1000 paths."), "{why}");
            Err(ExperimentError::Interrupted)
        });
        assert!(outcome.is_err_and(|error| error.is_interruption()));
    }
}
