//! Workloads as the users' own commands: stock git or hg, unpatched, each job a process.
//!
//! - `workload`: the jobs and their names, which are those of the replays if both do the same;
//! - `git_program`: the git of a session, with the settings of all rows;
//! - `git`: jobs as commands of git, with or without the library;
//! - `git_feature`: features of git that make it faster without another codec;
//! - `name_hashes`: name hashes in bitmaps, as those of a forge have them;
//! - `hg`: jobs as commands of hg, with the extension or without;
//! - `copies`: repositories that commands may write to;
//! - `run`: jobs, run without a clock or timed;
//! - `steps`: the commands of a job;
//! - `child`: one process, timed;
//! - `dialogue`: one process that is asked one question after the other, timed;
//! - `drawn`: requests and pushes, drawn from real history;
//! - `output`: what it prints or writes, counted and hashed;
//! - `replayed`: the output of a replay in the form of the command's.
//!
//! A row reads through a `StockClient`; another client would be one more implementation of it.

mod child;
mod copies;
mod dialogue;
mod drawn;
mod git;
mod git_feature;
mod git_program;
mod hg;
mod name_hashes;
mod output;
mod replayed;
mod run;
mod steps;
mod workload;

use std::{
    cell::OnceCell,
    ffi::OsString,
    fmt::Display,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    rc::Rc,
};

use repackbench_client::{ChildError, ClientError, Zlib};
use repackbench_records::{Client, WorkloadLabel, WrittenBytes};

pub use self::child::{Finished, run_timed};
pub(in crate::arms) use self::copies::bytes_of;
pub use self::copies::copy_repository;
pub(crate) use self::drawn::{DrawFrom, Drawn};
use self::drawn::{Request, Stream};
pub(crate) use self::git::{GitReader, GitRow};
pub use self::git_feature::GitFeature;
pub(crate) use self::git_program::Git;
use self::hg::changesets;
pub(crate) use self::hg::{DrawFromHg, Hg, HgNeeds, HgRow};
pub use self::hg::{LATER_LAYOUTS, last_of_revset};
use self::output::OutputForm;
pub(crate) use self::replayed::output_of;
pub(crate) use self::run::{RowClient, START, StockOutput, StockRunner};
pub(crate) use self::steps::{Prepared, Step, StepInput};
pub use self::workload::{Caches, HgJob, Maintenance, NoStockWorkload, Receiver, StockWorkload, WebRead};
use crate::workloads::{Counts, WorkloadError};

/// The jobs that the user's own client does, and the client.
#[derive(Debug, Clone)]
pub struct StockPlan {
    /// The git to run, by name or path.
    pub git: OsString,
    /// The hg to run, by name or path.
    pub hg: OsString,
    /// The extension that hg needs for codecs it does not have; with it every codec is read by the same code.
    pub hg_extension: Option<PathBuf>,
    /// Further implementations of zlib that read the baseline, a row for each.
    pub zlibs: Vec<Zlib>,
    /// Features of git: a row of the baseline with each, and a row of each variant with recomputed deltas with all of
    /// them.
    pub features: Vec<GitFeature>,
    /// The caches to measure with: off, as on a forge, or both.
    pub caches: Vec<Caches>,
    /// The jobs.
    pub workloads: Vec<StockWorkload>,
    /// A program that measures the peak memory of a command by its
    /// [`METER_COMMAND`](repackbench_client::METER_COMMAND); `None` if peaks are not measured.
    pub meter: Option<PathBuf>,
}

/// Why a command could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum StockError {
    /// The client cannot be run on a repository.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A command failed or had a wrong result.
    #[error("{command}: {why}")]
    Failed {
        /// The command line, without quotes.
        command: String,
        /// The reason.
        why: String,
    },
    /// Files of the command cannot be written or read.
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
            error @ (ChildError::Failed(_) | ChildError::Ended { .. }) => {
                StockError::failed(command, &error.to_string())
            }
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

/// One job: a workload with its caches.
#[derive(Debug, Clone)]
pub(crate) struct StockJob {
    pub(crate) workload: StockWorkload,
    pub(crate) caches: Caches,
    pub(crate) label: WorkloadLabel,
    /// The commit that it starts from.
    pub(crate) revision: Option<String>,
    /// The largest number of commits that it looks at.
    pub(crate) commits: Option<u64>,
    /// Whether rows differ in features of git: then they print the same lines in different orders.
    pub(crate) has_features: bool,
    /// What the session has drawn from history; empty for jobs that draw nothing.
    pub(crate) drawn: Rc<Drawn>,
}

impl StockJob {
    /// Gives it what was drawn, which is a part of its name.
    pub(crate) fn draw(&mut self, drawn: &Rc<Drawn>, seed: u64) {
        if !self.workload.is_drawn() {
            return;
        }
        self.drawn = Rc::clone(drawn);
        let mut names = vec![("seed", seed.to_string())];
        match (&self.workload, &drawn.stream) {
            // Nothing is left to chance.
            (StockWorkload::Hg(HgJob::Unbundle), _) => return,
            (StockWorkload::Hg(HgJob::Commit), _) => names.push(("files", drawn.changes.len().to_string())),
            (StockWorkload::Maintain(_), Some(stream)) => {
                names.push(("pushes", stream.pushes.len().to_string()));
                names.extend(stream.days.map(|days| ("days", format!("{days:.1}"))));
            }
            _ => names.push(("requests", self.requests().len().to_string())),
        }
        self.label.parameters.extend(names.into_iter().map(|(key, value)| (key.to_owned(), value)));
    }

    /// The drawn requests of this job.
    fn requests(&self) -> &[Request] {
        let asked = match &self.workload {
            StockWorkload::Web(read) => read.requests(),
            StockWorkload::Hg(HgJob::Annotate) => HgJob::ANNOTATED,
            _ => return &[],
        };
        let drawn = self.drawn.requests.as_slice();
        drawn.get(..asked).unwrap_or(drawn)
    }

    fn stream(&self) -> Result<&Stream, StockError> {
        let refused = || StockError::refused(format!("{}: no pushes were drawn", self.label.name));
        self.drawn.stream.as_ref().ok_or_else(refused)
    }

    /// The counts of a run that wrote this many bytes into the store, and sent `sent` to it.
    pub(crate) fn written(&self, bytes: u64, sent: Option<u64>) -> Counts {
        let mut counts = Counts::from([(WrittenBytes::RUN.to_owned(), bytes)]);
        counts.extend(sent.map(|bytes| (WrittenBytes::SENT.to_owned(), bytes)));
        let stream = match &self.workload {
            StockWorkload::Maintain(Maintenance::IndexPack | Maintenance::Geometric) => self.drawn.stream.as_ref(),
            _ => None,
        };
        if let Some(stream) = stream {
            let pushed = stream.pushes.iter().map(|push| push.bytes).sum();
            counts.insert(WrittenBytes::PUSHED.to_owned(), pushed);
            // Rounds, and saturates.
            let of_day = stream.days.map(|days| (bytes as f64 / days).round() as u64);
            counts.extend(of_day.map(|bytes| (WrittenBytes::DAY.to_owned(), bytes)));
        }
        counts
    }

    /// What was drawn for it, for a record.
    pub(crate) fn drawn_names(&self) -> Vec<String> {
        let pushes = self.drawn.stream.iter().flat_map(|stream| &stream.pushes);
        match &self.workload {
            StockWorkload::Web(WebRead::Archive) => {
                self.requests().iter().map(|request| request.commit.clone()).collect()
            }
            StockWorkload::Maintain(_) => pushes.map(|push| format!("{}..{}", push.old, push.new)).collect(),
            StockWorkload::Hg(HgJob::Commit) => {
                let changes = self.drawn.changes.iter();
                changes.map(|file| String::from_utf8_lossy(&file.path).into_owned()).collect()
            }
            _ => self.requests().iter().map(|request| String::from_utf8_lossy(&request.name()).into_owned()).collect(),
        }
    }
    /// Limits a job that reads commits to the newest `commits`; `None` for all.
    pub(crate) fn limit_to(&mut self, commits: Option<u64>) {
        self.commits = commits;
        self.label.parameters.remove(WorkloadLabel::COMMITS);
        if let Some(commits) = commits {
            self.label.parameters.insert(WorkloadLabel::COMMITS.to_owned(), commits.to_string());
        }
    }
}

/// What a command makes apart from its output.
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
        /// The command that lists them.
        list: Box<Command>,
    },
}

/// The client of a row: it knows the variant and turns jobs into commands.
pub(crate) trait StockClient {
    /// The description of the client in records.
    fn client(&self) -> &Client;

    /// Whether it can do the job.
    fn is_for(&self, job: &StockJob) -> bool;

    /// The folder for files of a single run.
    fn scratch(&self) -> &Path;

    /// A command that does nothing except start its process.
    fn start(&self) -> Result<Command, StockError>;

    /// Prepares `job` in the empty folder `scratch`, which is removed afterwards; not timed.
    fn prepare(&self, job: &StockJob, scratch: &Path) -> Result<Prepared, StockError>;
}

/// Runs a command whose time does not matter, and returns its output.
pub(in crate::arms) fn output(command: &mut Command) -> Result<Vec<u8>, StockError> {
    repackbench_client::output(command).map_err(|error| StockError::of(command, error))
}

/// The folder `place`, which `make` creates at the first call.
fn made_once(
    cell: &OnceCell<PathBuf>,
    place: PathBuf,
    make: impl FnOnce(&Path) -> Result<(), StockError>,
) -> Result<&Path, StockError> {
    if cell.get().is_none() {
        make(&place).inspect_err(|_| {
            // Another job may want it, and should fail for the same reason. The error is the news, not what remains.
            let _ = fs::remove_dir_all(&place);
        })?;
    }
    Ok(cell.get_or_init(|| place))
}

fn revision(job: &StockJob) -> Result<&str, StockError> {
    job.revision.as_deref().ok_or_else(|| StockError::refused(format!("{}: no revision to start from", job.label.name)))
}
