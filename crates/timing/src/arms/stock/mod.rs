//! Workloads as the users' own commands: stock git or hg, unpatched, each job a process.
//!
//! - `workload`: which jobs there are, and their names, which are those of the replays where both do the same;
//! - `git_program`: the git of a session and what it is told in every row;
//! - `git`: what a job is in words of git, with or without the library;
//! - `help`: what else than a codec helps git;
//! - `hg`: the same in words of hg, with the extension or without;
//! - `copies`: repositories that commands may write to;
//! - `run`: jobs, run without a clock or timed;
//! - `child`: one process, timed;
//! - `output`: what it leaves, counted and hashed;
//! - `replayed`: what a replay comes to in the same words.
//!
//! A row reads through a `StockClient`; another client is one more of those.

mod child;
mod copies;
mod git;
mod git_program;
mod help;
mod hg;
mod output;
mod replayed;
mod run;
mod workload;

use std::{
    cell::OnceCell,
    ffi::OsString,
    fmt::Display,
    io,
    path::{Path, PathBuf},
    process::Command,
};

use repackbench_client::{ChildError, ClientError, Zlib};
use repackbench_records::{Client, WorkloadLabel};

pub use self::copies::copy_repository;
pub(crate) use self::git::{GitReader, GitRow};
pub(crate) use self::git_program::Git;
pub use self::help::Help;
pub use self::hg::LATER_LAYOUTS;
use self::hg::changesets;
pub(crate) use self::hg::{Hg, HgRow};
use self::output::OutputForm;
pub(crate) use self::replayed::output_of;
pub(crate) use self::run::{RowClient, StockOutput, StockRunner};
pub use self::workload::{Caches, NoStockWorkload, Receiver, StockWorkload};
use crate::workloads::WorkloadError;

/// Which jobs the user's own client does, and which clients.
#[derive(Debug, Clone)]
pub struct StockPlan {
    /// The git to run, by name or path.
    pub git: OsString,
    /// The hg to run, by name or path.
    pub hg: OsString,
    /// The extension that hg needs for codecs it does not have; with it every codec is read by the same code.
    pub hg_extension: Option<PathBuf>,
    /// Further implementations of zlib that the baseline is read by, a row for each.
    pub zlibs: Vec<Zlib>,
    /// What else helps git: a row of the baseline for each, and rows of all that has rechosen deltas with all of them.
    pub helps: Vec<Help>,
    /// Whether caches that hide work are off, or as a forge has them, or both.
    pub caches: Vec<Caches>,
    /// The jobs.
    pub workloads: Vec<StockWorkload>,
    /// A program that tells the peak memory of a command, by its [`METER_COMMAND`](repackbench_client::METER_COMMAND); without one, peaks are not known.
    pub meter: Option<PathBuf>,
}

/// Why a command could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum StockError {
    /// The client cannot be run on a repository.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A command failed, or did what it should not.
    #[error("{command}: {why}")]
    Failed {
        /// The command, as a shell would read it but for quotes.
        command: String,
        /// What it said.
        why: String,
    },
    /// Files around it cannot be written or read.
    #[error(transparent)]
    Files(#[from] WorkloadError),
    /// The clock cannot be read.
    #[error("cannot read the clock: {0}")]
    Clock(io::Error),
    /// The system refuses to start a thread that attends to a command.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl StockError {
    /// The error of a command that was run.
    pub(crate) fn of(command: &Command, error: ChildError) -> Self {
        match error {
            ChildError::Failed(why) => StockError::failed(command, &why),
            ChildError::Stopwatch(error) => StockError::Clock(error),
            ChildError::Thread(error) => StockError::Thread(error),
            ChildError::Interrupted => StockError::Interrupted,
        }
    }

    pub(crate) fn failed(command: &Command, why: &str) -> Self {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let command = words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
        StockError::Failed { command, why: why.to_owned() }
    }

    pub(crate) fn files(action: &'static str, path: &Path, error: impl Display) -> Self {
        let path = path.display().to_string();
        StockError::Files(WorkloadError::Files { action, path, message: error.to_string() })
    }

    fn refused(why: impl Into<String>) -> Self {
        StockError::Files(WorkloadError::Refused { why: why.into() })
    }
}

/// One job: a workload, and what helps it.
#[derive(Debug, Clone)]
pub(crate) struct StockJob {
    pub(crate) workload: StockWorkload,
    pub(crate) caches: Caches,
    pub(crate) label: WorkloadLabel,
    /// The commit that it starts from.
    pub(crate) revision: Option<String>,
    /// The most commits that it looks at.
    pub(crate) commits: Option<u64>,
    /// Whether rows differ in what helps them: then they print the same only in another order.
    pub(crate) has_helps: bool,
}

/// A command that is ready to be started.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) command: Command,
    /// The file that is its stdin already, for who starts it in another way; it has an empty one without.
    pub(crate) input: Option<PathBuf>,
    pub(crate) form: OutputForm,
    pub(crate) made: Made,
}

/// What a command makes besides its output.
#[derive(Debug)]
pub(crate) enum Made {
    /// Nothing.
    Nothing,
    /// The files of a work tree.
    Files(PathBuf),
    /// Objects, which this command lists.
    Objects(Box<Command>),
    /// The changesets of a Mercurial repository.
    Changesets {
        /// The repository.
        root: PathBuf,
        /// Lists them.
        list: Box<Command>,
    },
}

/// One row's client: it knows the variant, and what a job is in its words.
pub(crate) trait StockClient {
    /// What records say of it.
    fn client(&self) -> &Client;

    /// Whether it can do the job.
    fn is_for(&self, job: &StockJob) -> bool;

    /// A folder for what lives as long as one run.
    fn scratch(&self) -> &Path;

    /// What costs nothing but the start of its process.
    fn start(&self) -> Result<Command, StockError>;

    /// Makes ready what `job` needs, in the empty folder `scratch`; not timed. The folder is removed afterwards.
    fn prepare(&self, job: &StockJob, scratch: &Path) -> Result<Prepared, StockError>;
}

/// Runs a command whose time does not matter, and returns what it prints.
fn output(command: &mut Command) -> Result<Vec<u8>, StockError> {
    repackbench_client::output(command).map_err(|error| StockError::of(command, error))
}

/// The folder that `make` makes when it is asked for first.
fn made_once(
    cell: &OnceCell<PathBuf>,
    place: PathBuf,
    make: impl FnOnce(&Path) -> Result<(), StockError>,
) -> Result<&Path, StockError> {
    if cell.get().is_none() {
        make(&place)?;
    }
    Ok(cell.get_or_init(|| place))
}

fn revision(job: &StockJob) -> Result<&str, StockError> {
    job.revision.as_deref().ok_or_else(|| StockError::refused(format!("{}: no revision to start from", job.label.name)))
}
