//! The arms: the repository in several orders and as loose objects, with what each workload reads of them.

use std::path::{Path, PathBuf};

use repackbench_client::GitProgram;
use repackbench_codec::{CodecSpec, Decoders};
use repackbench_reader::{AccessPart, AccessTrace, Chunk, DEFAULT_DELTA_CACHE, FileRole, Recording, Repository};
use repackbench_records::Statement;
use repackbench_timing::{
    BenchError,
    trace::NEW_PAGES,
    workloads::{Blame, Counts, HistoryRange, Trees, VariantPlace, Workload, WorkloadSpec, record_accesses},
};
use repackbench_writer::{
    DeltaRecomputer, Layout, Order, StoreKind, WriterError,
    cache::{GetOrMakeError, VariantDir},
    cached_recomputed, cached_variant,
};

use super::history::MostChanged;
use crate::{Context, ExperimentError};

/// The codec of every arm: the one that git writes.
pub(super) const SPEC: &str = "zlib:6";

/// The number of commits of the pickaxe: enough to read all over the pack, and few enough for many cold runs.
const PICKAXE_COMMITS: u64 = 200;

/// The string that it looks for.
const NEEDLE: &str = "foo";

/// The label of the arm that git has repacked, with deltas of its own choice.
pub(super) const REPACKED: &str = "repacked by git";

/// The number of the checkout among the jobs.
pub(super) const CHECKOUT: usize = 0;

/// The number of the job that reads the trees of the same revision, and no file.
pub(super) const TREES: usize = 1;

/// The workloads, each with its name in tables.
pub(super) struct Jobs {
    jobs: Vec<(String, Box<dyn Workload>)>,
}

impl Jobs {
    /// The workloads that start from `revision`; the last one is the history of the file `most_changed`, if there is
    /// one.
    pub(super) fn new(revision: &str, most_changed: Option<&MostChanged>) -> Self {
        let whole = HistoryRange { revision: revision.to_owned(), commits: None, seed: 0 };
        let some = HistoryRange { commits: Some(PICKAXE_COMMITS), ..whole.clone() };
        let pickaxe = WorkloadSpec::PickaxeDiff(NEEDLE.to_owned());
        let mut jobs = vec![
            ("checkout:sink".to_owned(), WorkloadSpec::CheckoutToSink.build(&whole, None)),
            ("trees of the checkout".to_owned(), Box::new(Trees::new(revision))),
            ("traverse".to_owned(), WorkloadSpec::Traverse.build(&whole, None)),
            (format!("{pickaxe}, newest {PICKAXE_COMMITS} commits"), pickaxe.build(&some, None)),
        ];
        if let Some(MostChanged { path, commits, .. }) = most_changed {
            let range = HistoryRange { commits: *commits, ..whole };
            jobs.push((format!("blame of {path}"), Box::new(Blame::new(range, path))));
        }
        Jobs { jobs }
    }

    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    pub(super) fn name(&self, number: usize) -> &str {
        self.jobs.get(number).map_or("", |(name, _)| name.as_str())
    }

    pub(super) fn get(&mut self, number: usize) -> Option<&mut (dyn Workload + 'static)> {
        self.jobs.get_mut(number).map(|(_, workload)| workload.as_mut())
    }
}

/// Every layout that is tried, the source's own first: each order with bases first, then the two orders for a checkout
/// with deltas before their bases, then a file for each object.
fn layouts() -> Vec<Layout> {
    let mut layouts: Vec<Layout> = Order::ALL.into_iter().map(Layout::in_order).collect();
    layouts.sort_by_key(|layout| !layout.is_default());
    let with_references = [Order::Checkout, Order::TreesFirst];
    layouts.extend(with_references.map(|order| Layout { reference_deltas: true, ..Layout::in_order(order) }));
    layouts.push(Layout { store: StoreKind::Loose, ..Layout::default() });
    layouts
}

/// The label of the arm of `layout`.
fn label(layout: Layout) -> String {
    match layout {
        Layout { store: StoreKind::Loose, .. } => "loose objects".to_owned(),
        Layout { order, reference_deltas: true, .. } => format!("{order}, deltas before bases"),
        Layout { order, .. } => order.to_string(),
    }
}

/// A variant of the repository.
pub(super) struct VariantArm {
    /// Its name in tables.
    pub(super) label: String,
    pub(super) layout: Layout,
    /// The folder to open.
    pub(super) folder: PathBuf,
    pub(super) decoders: Decoders,
    pub(super) packs: PackSizes,
    /// What each job reads of it and counts. The jobs that it takes no part in are the last ones, and are missing.
    pub(super) reads: Vec<JobReads>,
    /// Keeps the variant in the cache.
    _in_use: VariantDir,
}

/// The sizes of an arm's packs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PackSizes {
    /// The lengths of the files, in bytes.
    pub(super) bytes: u64,
    /// The headers of their entries, in bytes.
    pub(super) headers: u64,
    /// The number of deltas that name their base by its id.
    pub(super) reference_deltas: u64,
}

/// What one job reads of one arm.
pub(super) struct JobReads {
    /// The reads that matter for pages.
    pub(super) trace: AccessTrace,
    /// The counts of the job.
    pub(super) counts: Counts,
}

impl VariantArm {
    /// The number of files that hold one object each, among what `job` reads.
    pub(super) fn loose_files(&self, job: usize) -> u64 {
        let files = self.reads.get(job).map(|reads| reads.trace.files.as_slice()).unwrap_or_default();
        files.iter().filter(|file| file.role == FileRole::LooseObject).count() as u64
    }
}

/// The repository in every layout, the source's order first, and as git repacks it if the user wants that; and the
/// layouts that are left out, because not every repository can have every layout.
pub(super) fn make(
    context: &Context<'_>,
    jobs: &mut Jobs,
) -> Result<(Vec<VariantArm>, Vec<Statement>), ExperimentError> {
    let refuse = |why: String| ExperimentError::Refused { experiment: super::NAME, why };
    let spec: CodecSpec = SPEC.parse().map_err(|error| refuse(format!("{SPEC}: {error}")))?;
    let (mut arms, mut left_out) = (Vec::new(), Vec::new());
    for layout in layouts() {
        match cached_variant(context.cache, context.source, &spec, layout, context.control()) {
            Err(GetOrMakeError::Make(error @ WriterError::Spec { .. })) if !layout.is_default() => {
                let left = Statement::new("left-out-failed").with("what", label(layout));
                left_out.push(left.with("error", error.to_string()));
            }
            made => add(&mut arms, arm(label(layout), layout, made.map_err(BenchError::from)?, &spec, jobs)?, jobs)?,
        }
        if context.progress.is_cancelled() {
            return Err(ExperimentError::Interrupted);
        }
    }
    if context.options.is_repacked {
        let git = DeltaRecomputer::git(GitProgram::new(&context.options.git)?);
        let made = cached_recomputed(context.cache, context.source, &spec, &git, context.control());
        let made = made.map_err(BenchError::from)?;
        add(&mut arms, arm(REPACKED.to_owned(), Layout::default(), made, &spec, jobs)?, jobs)?;
    }
    Ok((arms, left_out))
}

/// Adds an arm, which has to count the same as the first one: otherwise they are not the same repository.
fn add(arms: &mut Vec<VariantArm>, arm: VariantArm, jobs: &Jobs) -> Result<(), ExperimentError> {
    if let Some(first) = arms.first() {
        check_counts(first, &arm, jobs)?;
    }
    arms.push(arm);
    Ok(())
}

fn check_counts(first: &VariantArm, arm: &VariantArm, jobs: &Jobs) -> Result<(), ExperimentError> {
    for (number, (expected, found)) in first.reads.iter().zip(&arm.reads).enumerate() {
        if expected.counts != found.counts {
            return Err(differs(jobs.name(number), (&first.label, &expected.counts), (&arm.label, &found.counts)));
        }
    }
    Ok(())
}

/// Two arms, or two runs of one, counted differently.
pub(super) fn differs(
    job: &str,
    (reference, expected): (&str, &Counts),
    (variant, found): (&str, &Counts),
) -> ExperimentError {
    let error = BenchError::Differs {
        workload: job.to_owned(),
        variant: variant.to_owned(),
        reference: reference.to_owned(),
        expected: format!("{expected:?}"),
        found: format!("{found:?}"),
    };
    error.into()
}

/// The arm of `layout` in `made`, on which the jobs are traced: on loose objects only the checkout and its trees.
fn arm(
    label: String,
    layout: Layout,
    made: VariantDir,
    spec: &CodecSpec,
    jobs: &mut Jobs,
) -> Result<VariantArm, ExperimentError> {
    let decoders = Decoders::for_spec(spec);
    let repository = Repository::open(made.path())?;
    let place = VariantPlace::of(&repository, decoders);
    let traced = if layout.store == StoreKind::Loose { TREES + 1 } else { jobs.len() };
    let mut reads = Vec::new();
    for number in 0..traced {
        let Some(job) = jobs.get(number) else { break };
        let mut history = repository.history(decoders)?;
        // Tables show every access of the checkout, and of the others only the pages that they read.
        let recording = if number == CHECKOUT { Recording::Accesses } else { NEW_PAGES };
        let (mut trace, counts) =
            record_accesses(job, history.as_mut(), &place, recording).map_err(BenchError::from)?;
        trace.decodes = Vec::new();
        reads.push(JobReads { trace, counts });
    }
    let folder = repository.own_folder().to_owned();
    let packs = pack_sizes(&repository, &folder)?;
    Ok(VariantArm { label, layout, folder, decoders, packs, reads, _in_use: made })
}

/// The sizes of the packs of `repository`, which is in `folder`.
fn pack_sizes(repository: &Repository, folder: &Path) -> Result<PackSizes, ExperimentError> {
    let Repository::Git(git) = repository else { return Ok(PackSizes::default()) };
    let id_len = git.object_hash().len_in_bytes() as u64;
    let mut sizes = PackSizes { bytes: file_lengths(&folder.join("objects/pack"), "pack")?, ..PackSizes::default() };
    repository.store().for_each_chunk(&mut |chunk: &Chunk<'_>| {
        sizes.headers += chunk.header_len;
        // A header without an id has two numbers of at most ten bytes each.
        sizes.reference_deltas += u64::from(chunk.kind.is_delta && chunk.header_len > id_len);
        Ok(())
    })?;
    Ok(sizes)
}

/// The length of all files in `folder` with this extension; 0 if there is no folder.
fn file_lengths(folder: &Path, extension: &str) -> Result<u64, ExperimentError> {
    let failed = |source| ExperimentError::Io { action: "list", path: folder.to_owned(), source };
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        entries => entries.map_err(failed)?,
    };
    let mut bytes = 0;
    for entry in entries {
        let entry = entry.map_err(failed)?;
        if entry.path().extension().is_some_and(|found| found == extension) {
            bytes += entry.metadata().map_err(failed)?.len();
        }
    }
    Ok(bytes)
}

/// The accesses of job `number` to `arm` as git would read its files, without those of opening them: git reads the head
/// and the end of a pack by calls, which are no page faults. The fan-out of an index stays, and ids are searched for by
/// git's rule, which reads far more of the index than this program's reader.
pub(super) fn faulting(arm: &VariantArm, jobs: &mut Jobs, number: usize) -> Result<AccessTrace, ExperimentError> {
    let name = jobs.name(number).to_owned();
    let (Some(reads), Some(job)) = (arm.reads.get(number), jobs.get(number)) else {
        return Ok(AccessTrace::default());
    };
    let repository = Repository::open(&arm.folder)?;
    let place = VariantPlace::of(&repository, arm.decoders);
    let mut history = repository.history(arm.decoders)?;
    let (trace, counts) =
        record_accesses(job, history.as_mut(), &place, Recording::AccessesOfGit).map_err(BenchError::from)?;
    if counts != reads.counts {
        return Err(differs(&name, (&arm.label, &reads.counts), ("the same, searched as git does it", &counts)));
    }
    let AccessTrace { files, mut accesses, .. } = trace;
    accesses.retain(|access| {
        let role = files.get(access.file as usize).map(|file| file.role);
        access.part != AccessPart::Opening || (role == Some(FileRole::PackIndex) && access.offset == 0)
    });
    Ok(AccessTrace { files, accesses, ..AccessTrace::default() })
}

/// A copy of `arm` as a place for workloads.
pub(super) fn place_of(copy: &Path, arm: &VariantArm) -> VariantPlace {
    VariantPlace {
        folder: copy.to_owned(),
        payloads: copy.to_owned(),
        spec: None,
        decoders: arm.decoders,
        delta_cache: Some(DEFAULT_DELTA_CACHE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_order_comes_first_and_loose_objects_last() {
        let labels: Vec<String> = layouts().into_iter().map(label).collect();
        assert_eq!(
            labels,
            [
                "source",
                "recency",
                "kind",
                "path",
                "checkout",
                "trees-first",
                "checkout, deltas before bases",
                "trees-first, deltas before bases",
                "loose objects"
            ]
        );
    }
}
