//! Workloads: jobs of version-control users, replayed on a variant.
//!
//! A workload reports all that it sees, and when it writes files, to an [`Observer`]. In a timed run the observer is a
//! [`Counter`], which only adds up. In a separate untimed run a [`Digester`] hashes the decoded content, so that
//! variants can be compared. `repackbench replay` prints the content, so that it can be compared with stock git.

mod accesses;
mod blame;
mod checkout;
mod codec_only;
pub(crate) mod delta_bases;
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
mod web_file;

use std::path::Path;

use gix_hash::ObjectId;
use repackbench_reader::{History, ReaderError};
use repackbench_records::{ComparedTime, WorkloadLabel};
use repackbench_writer::WriterError;

pub use self::{
    accesses::record_accesses,
    blame::Blame,
    observer::{Counter, Counts, Digester, Observer},
    patch::put_quoted,
    selection::{UnknownWorkload, WorkloadSpec},
    serve::{Exchange, Served, recode_pack},
    trees::Trees,
    variant_place::VariantPlace,
};
pub(crate) use self::{encode::refuse_numbers, serve::StoreServer, web_file::REQUESTS};

/// Why a workload could not be run.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The repository cannot be read.
    #[error(transparent)]
    Reader(#[from] ReaderError),
    /// Files or chunks of the workload cannot be written.
    #[error(transparent)]
    Writer(#[from] WriterError),
    /// The workload cannot run on this repository, or failed.
    #[error("{why}")]
    Refused {
        /// Why not.
        why: String,
    },
    /// Files cannot be written, or a scratch folder cannot be created or removed.
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

/// The part of history that a workload looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRange {
    /// The revision that it starts from, as typed.
    pub revision: String,
    /// The largest number of commits that a log lists, including those that it does not compare: `git log -n`. `None`
    /// for all.
    pub commits: Option<u64>,
    /// Decides what a workload draws from the history.
    pub seed: u64,
}

/// A job that is replayed.
pub trait Workload {
    /// Its name and parameters in records and tables.
    fn label(&self) -> WorkloadLabel;

    /// The time of a run that is compared.
    fn compared_time(&self) -> ComparedTime {
        ComparedTime::Cpu
    }

    /// Receives all variants of a session, before anything else: preparations may depend on all of them.
    fn announce(&mut self, variants: &[&VariantPlace]) {
        let _ = variants;
    }

    /// Prepares a run on `variant`; not part of the job, and not timed.
    fn prepare(&mut self, variant: &VariantPlace) -> Result<(), WorkloadError> {
        let _ = variant;
        Ok(())
    }

    /// Whether there is anything to do on the prepared variant. Otherwise the run takes no time and is not measured.
    fn has_work(&self) -> bool {
        true
    }

    /// The job: timed. The caller clears the caches before.
    fn run(&mut self, history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError>;

    /// Counts of the last run that differ between variants by nature, such as stored bytes that were written.
    fn extra(&self) -> Counts {
        Counts::new()
    }

    /// Cleans up after a run; not timed.
    fn clean_up(&mut self) -> Result<(), WorkloadError> {
        Ok(())
    }
}

/// The commit that a workload starts from, by the name that the user typed.
fn start(history: &mut dyn History, revision: &str) -> Result<ObjectId, WorkloadError> {
    Ok(history.resolve(revision)?)
}

fn files_error(action: &'static str, path: &Path, error: impl std::fmt::Display) -> WorkloadError {
    WorkloadError::Files { action, path: path.display().to_string(), message: error.to_string() }
}
