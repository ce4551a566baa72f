//! What is read: the repository in several orders and as loose objects, and what each workload reads of them.

use std::path::{Path, PathBuf};

use repackbench_codec::{CodecSpec, Decoders};
use repackbench_reader::{AccessPart, AccessTrace, DEFAULT_DELTA_CACHE, FileRole, Recording, Repository};
use repackbench_timing::{
    bench::BenchError,
    trace::{NEW_PAGES, record},
    workloads::{Blame, Counts, HistoryRange, VariantPlace, Workload, WorkloadSpec},
};
use repackbench_writer::{cache::VariantDir, cached_variant};

use super::history::MostChanged;
use crate::{Context, ExperimentError};

/// What every arm is compressed with: what git writes.
pub(super) const SPEC: &str = "zlib:6";

/// How many commits the pickaxe looks at: enough to be read all over, few enough for many cold runs.
const PICKAXE_COMMITS: u64 = 200;

/// The string that it looks for.
const NEEDLE: &str = "foo";

/// The number of the checkout among the jobs.
pub(super) const CHECKOUT: usize = 0;

/// The workloads, each with the name that tables give it.
pub(super) struct Jobs {
    jobs: Vec<(String, Box<dyn Workload>)>,
}

impl Jobs {
    /// Those that start from `revision`; the last one is the history of the file `most_changed`, if there is one.
    pub(super) fn new(revision: &str, most_changed: Option<&MostChanged>) -> Self {
        let whole = HistoryRange { revision: revision.to_owned(), commits: None };
        let some = HistoryRange { commits: Some(PICKAXE_COMMITS), ..whole.clone() };
        let pickaxe = WorkloadSpec::PickaxeDiff(NEEDLE.to_owned());
        let mut jobs = vec![
            ("checkout:sink".to_owned(), WorkloadSpec::CheckoutToSink.build(&whole, None)),
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

/// A variant of the repository.
pub(super) struct Arm {
    /// What tables call it.
    pub(super) label: String,
    /// The folder to open it by.
    pub(super) folder: PathBuf,
    pub(super) decoders: Decoders,
    /// The lengths of its packs, in bytes.
    pub(super) pack_bytes: u64,
    /// What each job reads of it, and what it counts; the jobs that it has no part in are left out at the end.
    pub(super) reads: Vec<JobReads>,
    /// Keeps it in the cache.
    _in_use: VariantDir,
}

/// What one job reads of one arm.
pub(super) struct JobReads {
    /// What is read, as far as it matters for pages.
    pub(super) trace: AccessTrace,
    /// What the job counted.
    pub(super) counts: Counts,
}

impl Arm {
    /// The number of files that hold one object each, among what `job` reads.
    pub(super) fn loose_files(&self, job: usize) -> u64 {
        let files = self.reads.get(job).map(|reads| reads.trace.files.as_slice()).unwrap_or_default();
        files.iter().filter(|file| file.role == FileRole::LooseObject).count() as u64
    }
}

/// The repository as every arm has it, in its own order.
pub(super) fn source_order(context: &Context<'_>, jobs: &mut Jobs) -> Result<Arm, ExperimentError> {
    let spec = spec()?;
    let made = cached_variant(context.cache, context.source, &spec, context.options.threads, context.progress);
    arm("source".to_owned(), made.map_err(BenchError::from)?, &spec, jobs, usize::MAX)
}

fn spec() -> Result<CodecSpec, ExperimentError> {
    let refuse = |why: String| ExperimentError::Refused { experiment: super::NAME, why };
    SPEC.parse().map_err(|error| refuse(format!("{SPEC}: {error}")))
}

/// The arm in `made`, on which the first `most` of `jobs` are traced.
fn arm(
    label: String,
    made: VariantDir,
    spec: &CodecSpec,
    jobs: &mut Jobs,
    most: usize,
) -> Result<Arm, ExperimentError> {
    let decoders = Decoders::for_spec(spec);
    let repository = Repository::open(made.path())?;
    let place = VariantPlace::of(&repository, decoders);
    let mut reads = Vec::new();
    for number in 0..jobs.len().min(most) {
        let Some(job) = jobs.get(number) else { break };
        let mut history = repository.history(decoders)?;
        let (trace, counts) = record(job, history.as_mut(), &place, NEW_PAGES).map_err(BenchError::from)?;
        reads.push(JobReads { trace, counts });
    }
    let folder = repository.own_folder().to_owned();
    let pack_bytes = pack_bytes(&folder)?;
    Ok(Arm { label, folder, decoders, pack_bytes, reads, _in_use: made })
}

/// The lengths of the packs of the repository in `folder`.
fn pack_bytes(folder: &Path) -> Result<u64, ExperimentError> {
    let packs = folder.join("objects/pack");
    let failed = |source| ExperimentError::Io { action: "list", path: packs.clone(), source };
    let mut bytes = 0;
    for entry in std::fs::read_dir(&packs).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.path().extension().is_some_and(|extension| extension == "pack") {
            bytes += entry.metadata().map_err(failed)?.len();
        }
    }
    Ok(bytes)
}

/// Every access of the checkout of `arm`, with what it was for, without what is read when files are opened: git reads a pack's head and
/// end by calls, which are no page faults. Of an index the fan-out stays.
pub(super) fn whole_checkout(arm: &Arm, jobs: &mut Jobs) -> Result<AccessTrace, ExperimentError> {
    let repository = Repository::open(&arm.folder)?;
    let place = VariantPlace::of(&repository, arm.decoders);
    let mut history = repository.history(arm.decoders)?;
    let Some(job) = jobs.get(CHECKOUT) else { return Ok(AccessTrace::default()) };
    let (mut trace, _) = record(job, history.as_mut(), &place, Recording::Accesses).map_err(BenchError::from)?;
    let files: Vec<FileRole> = trace.files.iter().map(|file| file.role).collect();
    trace.accesses.retain(|access| {
        let is_fan_out = files.get(access.file as usize) == Some(&FileRole::PackIndex) && access.offset == 0;
        access.part != AccessPart::Opening || is_fan_out
    });
    trace.decodes.clear();
    Ok(trace)
}

/// The place of a copy of `arm`.
pub(super) fn place_of(copy: &Path, arm: &Arm) -> VariantPlace {
    VariantPlace {
        folder: copy.to_owned(),
        payloads: copy.to_owned(),
        spec: None,
        decoders: arm.decoders,
        delta_cache: Some(DEFAULT_DELTA_CACHE),
    }
}
