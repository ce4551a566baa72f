//! The repository that is measured, and variants of it.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use repackbench_codec::CodecSpec;
use repackbench_reader::git::GitRepository;
use repackbench_writer::{Encoding, JobControl, git::convert_into};
use tempfile::TempDir;

use crate::{BenchError, Result, child::time_child, stock_git};

/// The first argument of the program that is no option: the path of a repository.
pub fn path_argument() -> Option<PathBuf> {
    env::args_os().skip(1).find(|argument| !argument.to_string_lossy().starts_with('-')).map(PathBuf::from)
}

/// The repository that is measured, and a scratch folder for variants and clones of it. Dropping this value removes the
/// folder.
///
/// If a repository has no packs, such as a new checkout, a bare clone of it is measured, which git packs.
#[derive(Debug)]
pub struct Subject {
    repository: GitRepository,
    path: PathBuf,
    name: String,
    scratch: TempDir,
}

impl Subject {
    /// Opens the repository at `path`, otherwise the one that `REPACKBENCH_REPO` names, otherwise the one that this
    /// workspace is a checkout of.
    ///
    /// # Errors
    /// There is no repository (the message has a hint), or it has to be cloned and cannot be.
    pub fn open(path: Option<PathBuf>) -> Result<Self> {
        let named = || env::var_os("REPACKBENCH_REPO").filter(|path| !path.is_empty()).map(PathBuf::from);
        let path = path.or_else(named).unwrap_or_else(|| workspace_root().to_owned());
        let scratch = tempfile::Builder::new()
            .prefix("repackbench-benches-")
            .tempdir()
            .map_err(|e| BenchError::io("make a folder in", env::temp_dir(), e))?;
        let mut subject = Subject { repository: open(&path)?, name: path.display().to_string(), path, scratch };
        if subject.repository.packs().is_empty() {
            let clone = subject.scratch().join("clone");
            let mut command = stock_git(subject.scratch());
            command.args(["clone", "--quiet", "--mirror", "--no-local"]).arg(&subject.path).arg(&clone);
            time_child(&mut command)?;
            subject.repository = open(&clone)?;
            subject.path = clone;
            subject.name.push_str(" (has no packs: a clone of it)");
        }
        Ok(subject)
    }

    /// The repository.
    pub fn repository(&self) -> &GitRepository {
        &self.repository
    }

    /// The path of the repository.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name in results.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The scratch folder.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Makes the variant with `spec` in the scratch folder, on all cores, without syncing it to disk.
    ///
    /// # Errors
    /// As [`convert_into`], and when there already is a variant with that spec.
    pub fn make_variant(&self, spec: &CodecSpec) -> Result<GitRepository> {
        let folder = self.scratch().join(spec.file_stem());
        fs::create_dir(&folder).map_err(|e| BenchError::io("make the folder", &folder, e))?;
        convert_into(&self.repository, &Encoding::plain(spec), &folder, JobControl::quiet(cores()))?;
        Ok(GitRepository::open(&folder)?)
    }
}

fn open(path: &Path) -> Result<GitRepository> {
    GitRepository::open(path).map_err(|error| {
        BenchError::Setup(format!("{error}\nhint: REPACKBENCH_REPO=PATH names another repository to measure"))
    })
}

/// The folder of the workspace's `Cargo.toml`.
pub(crate) fn workspace_root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// Whether the run only has to show that everything works, with small samples and short measurements.
pub fn is_short_run() -> bool {
    env::var_os("REPACKBENCH_BENCH_SHORT").is_some_and(|value| !value.is_empty() && value != "0")
        || env::args().any(|argument| argument == "--quick")
}

/// How often each pair runs, unless `REPACKBENCH_REPETITIONS` is set.
const DEFAULT_REPETITIONS: usize = 5;

/// How often each pair runs.
///
/// # Errors
/// `REPACKBENCH_REPETITIONS` is not a number above 0.
pub fn repetitions() -> Result<usize> {
    let Ok(typed) = env::var("REPACKBENCH_REPETITIONS") else {
        return Ok(if is_short_run() { 1 } else { DEFAULT_REPETITIONS });
    };
    typed.parse().ok().filter(|repetitions| *repetitions > 0).ok_or_else(|| {
        BenchError::Setup(format!("REPACKBENCH_REPETITIONS: expected a number above 0, found {typed:?}"))
    })
}

/// Parses the codec spec `typed`.
///
/// # Errors
/// It is not a codec spec.
pub fn spec(typed: &str) -> Result<CodecSpec> {
    typed.parse().map_err(|e| BenchError::Setup(format!("{typed}: {e}")))
}

/// The number of threads that this machine runs at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
