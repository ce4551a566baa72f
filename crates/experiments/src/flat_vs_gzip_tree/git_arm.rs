//! The caveat of the published text, tested: real checkouts from flat and from compressed loose objects, by git and replayed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use repackbench_client::{find_program, output};
use repackbench_codec::{CodecSpec, Decoders};
use repackbench_reader::{Repository, files::Descriptor};
use repackbench_records::{Estimate, Statement};
use repackbench_timing::{
    BenchError,
    arms::{cold::ColdCopies, stock::run_timed},
    clock::{Sample, measure},
    workloads::{Counter, Counts, HistoryRange, VariantPlace, WorkloadError, WorkloadSpec},
};
use repackbench_writer::{
    ConvertJob, Layout, NoProgress, StoreKind, WriterError, cache::GetOrMakeError, convert,
    files::files_in_folder_order,
};

use super::{copies::by_copy, reading::chill, trees::COPIES};
use crate::{
    Context, ExperimentError,
    interleaved::{Runs, interleaved},
    probe,
    revision_alone::{BRANCH, disk_use, fetch_alone},
    samples::{ELAPSED, Samples},
};

/// The program that checks out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The user's git.
    Git,
    /// This program.
    Replay,
}

/// Loose objects and their reader.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckoutArm {
    pub(super) label: &'static str,
    /// The spec of the objects, one of [`SPECS`]: flat, the published level, or git's default today.
    spec: &'static str,
    by: By,
    /// The index in [`ARMS`] of the flat arm that it is compared with; its own index for the flat arm.
    pub(super) flat: usize,
}

/// All arms. git reads only objects in a zlib frame, so its flat ones are stored blocks in such a frame.
pub(super) const ARMS: [CheckoutArm; 6] = [
    CheckoutArm { label: "git, zlib 0, which is flat", spec: "zlib:0", by: By::Git, flat: 0 },
    CheckoutArm { label: "git, zlib 9", spec: "zlib:9", by: By::Git, flat: 0 },
    CheckoutArm { label: "git, zlib 1", spec: "zlib:1", by: By::Git, flat: 0 },
    CheckoutArm { label: "replayed, flat", spec: "store", by: By::Replay, flat: 3 },
    CheckoutArm { label: "replayed, zlib 9", spec: "zlib:9", by: By::Replay, flat: 3 },
    CheckoutArm { label: "replayed, zlib 1", spec: "zlib:1", by: By::Replay, flat: 3 },
];

/// The index in [`ARMS`] of the arm that decides the claim: the published level, by git.
pub(super) const DECIDING: usize = 1;

/// The name of this part in messages.
pub(super) const WHAT: &str = "checking out of loose objects, cold";

/// The measured figures.
#[derive(Debug, Default)]
pub(super) struct GitArm {
    /// The readings of each of [`ARMS`]: run r reads copy r modulo [`COPIES`].
    pub(super) readings: Vec<Samples>,
    /// The total length of the loose objects of each.
    pub(super) bytes: Vec<u64>,
}

impl GitArm {
    /// The readings of that arm, if there are any.
    pub(super) fn get(&self, arm: usize) -> Option<&Samples> {
        self.readings.get(arm).filter(|readings| !readings.get(ELAPSED).is_empty())
    }

    /// The elapsed time of that arm as a multiple of that of its flat arm.
    pub(super) fn to_flat(&self, arm: usize) -> Option<Estimate> {
        let flat = ARMS.get(arm)?.flat;
        if flat == arm { None } else { by_copy(self.get(arm)?.get(ELAPSED), self.get(flat)?.get(ELAPSED)) }
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
    let left_out = |id: &str| (GitArm::default(), Runs::left_out(Statement::new(id).with("what", WHAT)));
    let Repository::Git(_) = context.source else {
        return Ok(left_out("left-out-not-git"));
    };
    if share.is_some_and(|share| share.is_zero()) {
        return Ok(left_out("left-out-budget-used"));
    }
    let scratch = context.cache.scratch();
    let scratch = scratch.map_err(|error| ExperimentError::from(BenchError::from(GetOrMakeError::Cache(error))))?;
    let root = scratch.path();
    let variants = match variants(context, revision, root) {
        Ok(variants) => variants,
        // git refuses to hand out some revisions, such as those of partial clones.
        Err(ExperimentError::Writer(error @ (WriterError::Program { .. } | WriterError::Spec { .. }))) => {
            let failed = Statement::new("part-failed").with("what", WHAT).with("error", error.to_string());
            return Ok((GitArm::default(), Runs::left_out(failed)));
        }
        Err(error) => return Err(error),
    };
    let paths: Vec<&Path> = variants.iter().map(PathBuf::as_path).collect();
    let mut arm = GitArm { readings: vec![Samples::default(); ARMS.len()], bytes: Vec::new() };
    for path in ARMS.iter().filter_map(|arm| paths.get(place_of(arm.spec))) {
        arm.bytes.push(disk_use(&path.join("objects"))?.bytes);
    }
    let copies = ColdCopies::make(&paths, COPIES as usize, root, context.progress)?;
    let mut counted: Option<Counts> = None;
    let runs = interleaved(context, WHAT, ARMS.len(), wanted, share, &mut |run, number| {
        let (Some(read), Some(readings)) = (ARMS.get(number), arm.readings.get_mut(number)) else { return Ok(()) };
        let copies = copies.of(place_of(read.spec));
        let Some(copy) = copies.get((run % COPIES) as usize) else { return Ok(()) };
        let folder = root.join("checkout");
        readings.push_times(match read.by {
            By::Git => check_out_by_git(context, copy, &folder, revision, drops_all)?,
            By::Replay => {
                let (sample, counts) = check_out(context, copy, &folder, drops_all)?;
                if counted.get_or_insert_with(|| counts.clone()) != &counts {
                    let why = format!("{}: a checkout wrote something else than the one before", copy.display());
                    return Err(ExperimentError::Refused { experiment: super::NAME, why });
                }
                sample
            }
        });
        fs::remove_dir_all(&folder).map_err(|error| ExperimentError::io("remove", folder, error))
    })?;
    arm.readings.iter_mut().for_each(|readings| readings.truncate(runs.done));
    Ok((arm, runs))
}

/// The specs of the arms, each once.
const SPECS: [&str; 4] = ["zlib:0", "zlib:9", "zlib:1", "store"];

/// The index of `spec` in [`SPECS`].
fn place_of(spec: &str) -> usize {
    SPECS.iter().position(|found| *found == spec).unwrap_or(SPECS.len())
}

/// A repository of only that revision for each of [`SPECS`], in `root`.
fn variants(context: &Context<'_>, revision: &Descriptor, root: &Path) -> Result<Vec<PathBuf>, ExperimentError> {
    let alone = root.join("revision.git");
    fetch_alone(context, &revision.revision, &alone)?;
    let source = Repository::open(&alone)?;
    let layout = Layout { store: StoreKind::Loose, ..Layout::default() };
    let mut variants = Vec::new();
    for (number, spec) in SPECS.into_iter().enumerate() {
        let refused = |error| WriterError::Spec { spec: spec.to_owned(), why: format!("{error}") };
        let parsed: CodecSpec = spec.parse().map_err(refused)?;
        let target = root.join(format!("loose-{number}.git"));
        convert(&source, &parsed, layout, &ConvertJob::new(&target, context.control()))?;
        variants.push(target);
    }
    Ok(variants)
}

/// Checks the revision out of the cold `copy` into the new `folder`, with the user's git.
fn check_out_by_git(
    context: &Context<'_>,
    copy: &Path,
    folder: &Path,
    revision: &Descriptor,
    drops_all: bool,
) -> Result<Sample, ExperimentError> {
    fs::create_dir(folder).map_err(|error| ExperimentError::io("create", folder, error))?;
    chill(copy, drops_all)?;
    bring_in_program(context, copy)?;
    let mut command = probe::git(context, copy);
    let index = folder.with_extension("index");
    command.env("GIT_WORK_TREE", folder).env("GIT_INDEX_FILE", &index).arg("-C").arg(folder);
    command.args(["-c", "core.bare=false", "checkout", "-q", "-f", BRANCH, "--", "."]);
    command.stdin(Stdio::null());
    // The user can stop the experiment between two checkouts.
    let finished = run_timed(&mut command, context.clock, &NoProgress, &mut Vec::new()).map_err(BenchError::from)?;
    let refused = |why: String| Err(ExperimentError::Refused { experiment: super::NAME, why });
    let written = files_in_folder_order(folder)?.len() as u64;
    if written != revision.files {
        return refused(format!(
            "git checkout of {}: expected {} files, found {written}",
            copy.display(),
            revision.files
        ));
    }
    fs::remove_file(&index).map_err(|error| ExperimentError::io("remove", index, error))?;
    Ok(finished.sample)
}

/// Brings git and its libraries into memory, where they are in daily work.
fn bring_in_program(context: &Context<'_>, copy: &Path) -> Result<(), ExperimentError> {
    // An error here shows again when git starts.
    if let Ok(program) = find_program(context.options.git.as_os_str()) {
        let _ = fs::read(program);
    }
    let mut command = probe::git(context, copy);
    command.arg("--version").stdin(Stdio::null());
    output(&mut command).map(drop).map_err(|error| error.of("git --version").into())
}

/// Checks the revision out of the cold `copy` into `folder`. Opening the repository is part of the time, as it is for git.
fn check_out(
    context: &Context<'_>,
    copy: &Path,
    folder: &Path,
    drops_all: bool,
) -> Result<(Sample, Counts), ExperimentError> {
    let range = HistoryRange { revision: BRANCH.to_owned(), commits: None, seed: 0 };
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
    Ok((sample, counter.counts()))
}
