//! `floor:ingest` and `floor:serve`: only what those encode and decode.
//!
//! They encode as well, and do not read through a history, so they repeat the work of their codec themselves.

use repackbench_reader::History;
use repackbench_records::{ComparedTime, WorkloadLabel};

use super::{Counts, Observer, VariantPlace, Workload, WorkloadError};

/// A workload that can do only the work of its codec.
pub(super) trait CodecPart: Workload {
    /// Reads into memory everything that a run on `place` takes.
    fn prepare_codec(&mut self, place: &VariantPlace) -> Result<(), WorkloadError>;

    /// Whether there is anything to do.
    fn has_codec_work(&self) -> bool;

    /// Decodes and encodes what a run of the workload does, in its order. `history` has the contexts that reading uses.
    fn run_codec(&mut self, history: &mut dyn History) -> Result<(), WorkloadError>;

    /// The counts of that.
    fn codec_counts(&self) -> Counts;
}

/// The floor of such a workload.
pub(super) struct CodecOnly<W>(pub(super) W);

impl<W: CodecPart> Workload for CodecOnly<W> {
    fn label(&self) -> WorkloadLabel {
        let label = self.0.label();
        WorkloadLabel { name: format!("floor:{}", label.name), ..label }
    }

    fn compared_time(&self) -> ComparedTime {
        self.0.compared_time()
    }

    fn announce(&mut self, variants: &[&VariantPlace]) {
        self.0.announce(variants);
    }

    fn prepare(&mut self, variant: &VariantPlace) -> Result<(), WorkloadError> {
        self.0.prepare_codec(variant)
    }

    fn has_work(&self) -> bool {
        self.0.has_codec_work()
    }

    fn run(&mut self, history: &mut dyn History, _observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        self.0.run_codec(history)
    }

    fn extra(&self) -> Counts {
        self.0.codec_counts()
    }
}
