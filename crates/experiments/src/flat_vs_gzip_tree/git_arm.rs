//! The caveat of the published text, closed: a real checkout, by Git's own way to its objects, of loose ones that are flat and of others
//! that are compressed.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use repackbench_codec::{CodecSpec, Decoders};
use repackbench_reader::{Repository, files::Descriptor};
use repackbench_timing::{
    bench::BenchError,
    clock::{Sample, measure},
    cold::ColdCopies,
    workloads::{Counter, HistoryRange, VariantPlace, WorkloadError, WorkloadSpec},
};
use repackbench_writer::{Layout, StoreKind, WriterError, cache::GetOrMakeError, convert};

use super::{Readings, reading::chill, trees::COPIES};
use crate::{
    Context, ExperimentError,
    interleaved::{Runs, interleaved},
    revision_alone::{BRANCH, disk_use, fetch_alone},
};

/// What loose objects are encoded with: not at all, as published, and as git does by default today.
pub(super) const ARMS: [(&str, &str); 3] =
    [("loose objects, flat", "store"), ("loose objects, zlib 9", "zlib:9"), ("loose objects, zlib 1", "zlib:1")];

/// What messages call this part.
pub(super) const WHAT: &str = "checking out of loose objects, cold";

/// What was measured.
#[derive(Debug, Default)]
pub(super) struct GitArm {
    /// For each of [`ARMS`] the readings, in run r of copy r modulo [`COPIES`].
    pub(super) readings: Vec<Readings>,
    /// For each the lengths of its loose objects, together.
    pub(super) bytes: Vec<u64>,
}

impl GitArm {
    /// The readings of that arm, if there are any.
    pub(super) fn get(&self, arm: usize) -> Option<&Readings> {
        self.readings.get(arm).filter(|readings| !readings.elapsed.is_empty())
    }
}

/// Checks `revision` out of cold copies of every arm.
pub(super) fn measure_checkouts(
    context: &Context<'_>,
    revision: &Descriptor,
    drops_all: bool,
    wanted: u32,
    share: Option<Duration>,
) -> Result<(GitArm, Runs), ExperimentError> {
    let what = WHAT;
    let left_out =
        |why: &str| Runs { done: 0, left_out: Some(format!("{what}: left out: {why}")), is_interrupted: false };
    let Repository::Git(_) = context.source else {
        return Ok((GitArm::default(), left_out("this is no Git repository.")));
    };
    if share.is_some_and(|share| share.is_zero()) {
        return Ok((GitArm::default(), left_out("the budget was used up before.")));
    }
    let scratch = context.cache.scratch();
    let scratch = scratch.map_err(|error| ExperimentError::from(BenchError::from(GetOrMakeError::Cache(error))))?;
    let root = scratch.path();
    let variants = match variants(context, revision, root) {
        Ok(variants) => variants,
        // git refuses to hand out some revisions, such as those of partial clones.
        Err(ExperimentError::Writer(error @ (WriterError::Program { .. } | WriterError::Spec { .. }))) => {
            return Ok((GitArm::default(), left_out(&format!("{error}."))));
        }
        Err(error) => return Err(error),
    };
    let paths: Vec<&Path> = variants.iter().map(PathBuf::as_path).collect();
    let mut arm = GitArm { readings: vec![Readings::default(); ARMS.len()], bytes: Vec::new() };
    for path in &paths {
        arm.bytes.push(disk_use(&path.join("objects"))?.bytes);
    }
    let copies = ColdCopies::make(&paths, COPIES as usize, root, context.progress)?;
    let runs = interleaved(context, what, ARMS.len(), wanted, share, &mut |run, number| {
        let (Some(copy), Some(readings)) =
            (copies.of(number).get((run % COPIES) as usize), arm.readings.get_mut(number))
        else {
            return Ok(());
        };
        let sample = check_out(context, copy, &root.join("checkout"), drops_all)?;
        readings.push(sample, None);
        Ok(())
    })?;
    arm.readings.iter_mut().for_each(|readings| readings.truncate(runs.done));
    Ok((arm, runs))
}

/// A repository of that revision alone for each arm, in `root`.
fn variants(context: &Context<'_>, revision: &Descriptor, root: &Path) -> Result<Vec<PathBuf>, ExperimentError> {
    let alone = root.join("revision.git");
    fetch_alone(context, &revision.revision, &alone)?;
    let source = Repository::open(&alone)?;
    let layout = Layout { store: StoreKind::Loose, ..Layout::default() };
    let mut variants = Vec::new();
    for (number, (_, spec)) in ARMS.iter().enumerate() {
        let refused = |error| WriterError::Spec { spec: (*spec).to_owned(), why: format!("{error}") };
        let parsed: CodecSpec = spec.parse().map_err(refused)?;
        let target = root.join(format!("arm-{number}.git"));
        convert(&source, &parsed, layout, &target, false, context.options.threads, context.progress)?;
        variants.push(target);
    }
    Ok(variants)
}

/// Checks the revision out of `copy`, of which nothing is in memory, into `folder`, which is removed again. Opening the repository is part
/// of the time, as it is for git.
fn check_out(context: &Context<'_>, copy: &Path, folder: &Path, drops_all: bool) -> Result<Sample, ExperimentError> {
    let range = HistoryRange { revision: BRANCH.to_owned(), commits: None };
    let mut workload = WorkloadSpec::Checkout.build(&range, Some(folder.to_owned()));
    let decoders = Decoders::default();
    let place = {
        let repository = Repository::open(copy)?;
        VariantPlace::of(&repository, decoders)
    };
    workload.prepare(&place).map_err(BenchError::from)?;
    chill(copy, drops_all)?;
    let mut counter = Counter::default();
    let (result, sample) = measure(context.clock, || {
        let mut history = Repository::open(copy)?.history(decoders)?;
        workload.run(history.as_mut(), &mut counter)
    })
    .map_err(|error| ExperimentError::io("read", "the system's clock", error))?;
    result.map_err(|error: WorkloadError| BenchError::from(error))?;
    workload.clean_up().map_err(BenchError::from)?;
    fs::remove_dir_all(folder).map_err(|error| ExperimentError::io("remove", folder, error))?;
    Ok(sample)
}
