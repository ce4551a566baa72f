//! Workloads: jobs that version-control users do, replayed on a variant.
//!
//! A workload tells an [`Observer`] all that it sees, and when it writes files. In a timed run that is a [`Counter`], which
//! only adds up; in a separate run, not timed, a [`Digester`] hashes the decoded content, so that variants can be held
//! against each other; and `repackbench replay` prints it, so that it can be held against stock git.

mod accesses;
mod blame;
mod checkout;
mod codec_only;
mod delta_bases;
mod destination;
mod diff;
mod encode;
mod every_object;
mod floor;
mod ingest;
mod observer;
mod patch;
mod selection;
mod serve;
mod traverse;
mod trees;
mod variant_place;

use std::path::Path;

use gix_hash::ObjectId;
use repackbench_reader::{History, ReaderError};
use repackbench_records::{ComparedTime, WorkloadLabel};
use repackbench_writer::WriterError;

pub(crate) use self::serve::StoreServer;
pub use self::{
    accesses::record_accesses,
    blame::Blame,
    observer::{Counter, Counts, Digester, Observer},
    patch::put_quoted,
    selection::{UnknownWorkload, WorkloadSpec},
    serve::{Exchange, Served},
    trees::Trees,
    variant_place::VariantPlace,
};

/// Why a workload could not be run.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The repository cannot be read.
    #[error(transparent)]
    Reader(#[from] ReaderError),
    /// What the workload needs cannot be written.
    #[error(transparent)]
    Writer(#[from] WriterError),
    /// The workload cannot be run on this repository, or went wrong.
    #[error("{why}")]
    Refused {
        /// Why not.
        why: String,
    },
    /// Files cannot be written, or a scratch folder not be made or removed.
    #[error("{path}: cannot {action}: {message}")]
    Files {
        /// What was tried, as an infinitive.
        action: &'static str,
        /// The file or folder it was tried on.
        path: String,
        /// What went wrong.
        message: String,
    },
}

impl WorkloadError {
    /// [`Workload::run`] without [`Workload::prepare`] for the same variant.
    fn not_prepared() -> Self {
        WorkloadError::Refused { why: "the run was not prepared".to_owned() }
    }
}

/// What part of history a workload looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRange {
    /// The revision that it starts from, by the name that the user gave.
    pub revision: String,
    /// The most commits that a log lists, those included that it does not compare: `git log -n`. `None` for all.
    pub commits: Option<u64>,
}

/// A job that is replayed.
pub trait Workload {
    /// Its name and parameters, as records and tables show them.
    fn label(&self) -> WorkloadLabel;

    /// Which of the times of a run is compared.
    fn compared_time(&self) -> ComparedTime {
        ComparedTime::Cpu
    }

    /// Told once of every variant of a session, before anything else: what is prepared may depend on all of them.
    fn announce(&mut self, variants: &[&VariantPlace]) {
        let _ = variants;
    }

    /// What has to be done before each run, which will be on `variant`, and is not part of the job: not timed.
    fn prepare(&mut self, variant: &VariantPlace) -> Result<(), WorkloadError> {
        let _ = variant;
        Ok(())
    }

    /// Whether there is anything to do on the variant that was prepared. What is nothing takes no time, and is not measured.
    fn has_work(&self) -> bool {
        true
    }

    /// The job: timed. It starts with empty caches, which the caller sees to.
    fn run(&mut self, history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError>;

    /// Counts of the last run that differ between variants by nature, such as stored bytes that were written.
    fn extra(&self) -> Counts {
        Counts::new()
    }

    /// What has to be done after each run: not timed.
    fn clean_up(&mut self) -> Result<(), WorkloadError> {
        Ok(())
    }
}

/// The commit that a workload starts from, by the name that the user gave.
fn start(history: &mut dyn History, revision: &str) -> Result<ObjectId, WorkloadError> {
    Ok(history.resolve(revision)?)
}

fn files_error(action: &'static str, path: &Path, error: impl std::fmt::Display) -> WorkloadError {
    WorkloadError::Files { action, path: path.display().to_string(), message: error.to_string() }
}
