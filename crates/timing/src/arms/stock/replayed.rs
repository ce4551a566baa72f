//! What a replay sees, printed like the output of the command that does the same: both have to be the same text.

use gix_hash::oid;
use repackbench_client::Sink;
use repackbench_reader::{History, ObjectKind};

use super::output::{OutputCounter, OutputDigester, OutputForm};
use crate::workloads::{Counts, HistoryRange, Observer, VariantPlace, WorkloadError, WorkloadSpec};

/// The output that a command of git would have.
pub(crate) struct ReplayedOutput {
    /// Bytes and lines; only lines if the command adds names to ids.
    pub(crate) counts: Counts,
    /// The digest of the text; `None` if only lines are counted.
    pub(crate) hex: Option<String>,
}

/// Replays a workload, and returns what git would print; `None` if a replay does not see exactly that.
pub(crate) fn output_of(
    spec: &WorkloadSpec,
    range: &HistoryRange,
    place: &VariantPlace,
    history: &mut dyn History,
) -> Result<Option<ReplayedOutput>, WorkloadError> {
    let has_names = match spec {
        WorkloadSpec::Traverse => true,
        WorkloadSpec::PickaxeDiff(_) | WorkloadSpec::Sizes => false,
        _ => return Ok(None),
    };
    let mut workload = spec.build(range, None);
    workload.prepare(place)?;
    let mut printed = Printed { digester: OutputDigester::new(OutputForm::Text), counter: OutputCounter::default() };
    workload.run(history, &mut printed)?;
    workload.clean_up()?;
    let mut counts = printed.counter.counts();
    if has_names {
        counts.retain(|name, _| name == "output lines");
    }
    let digest = printed.digester.digest().ok().filter(|_| !has_names);
    Ok(Some(ReplayedOutput { counts, hex: digest.map(|digest| digest.hex) }))
}

/// Prints what a workload sees.
struct Printed {
    digester: OutputDigester,
    counter: OutputCounter,
}

impl Printed {
    fn line(&mut self, line: &str) {
        self.digester.take(line.as_bytes());
        self.counter.take(line.as_bytes());
    }
}

impl Observer for Printed {
    fn object(&mut self, _kind: ObjectKind, id: &oid) {
        self.line(&format!("{id}\n"));
    }

    fn sized(&mut self, kind: ObjectKind, id: &oid, size: u64) {
        self.line(&format!("{id} {kind} {size}\n"));
    }

    fn hit(&mut self, id: &oid) {
        self.line(&format!("{id}\n"));
    }
}
