//! `floor:ingest` and `floor:serve`: what those encode and decode, and nothing else.
//!
//! They do not read through a history, and encode as well; so they know themselves what their codec does.

use repackbench_reader::History;
use repackbench_records::{ComparedTime, WorkloadLabel};

use super::{Counts, Observer, VariantPlace, Workload, WorkloadError};

/// A workload that can do its codec's part alone.
pub(super) trait CodecPart: Workload {
    /// Has all in memory that a run on `place` takes.
    fn prepare_codec(&mut self, place: &VariantPlace) -> Result<(), WorkloadError>;

    /// Whether there is anything to do.
    fn has_codec_work(&self) -> bool;

    /// Decodes and encodes what a run of the workload does, in its order. `history` has the contexts that reading uses.
    fn run_codec(&mut self, history: &mut dyn History) -> Result<(), WorkloadError>;

    /// What that was.
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
