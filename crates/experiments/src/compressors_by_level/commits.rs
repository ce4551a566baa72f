//! The processor time of a big commit: level 3 beside level 9.

use std::time::Duration;

use repackbench_analysis::{ArmKey, ArmReader, Ratio, Ratios, WorkloadKey};
use repackbench_codec::CodecSpec;
use repackbench_timing::workloads::WorkloadSpec;

use super::Figures;
use crate::{
    Context, ExperimentError,
    budget::Budget,
    measuring::{Job, Measuring, Work},
};

/// What messages call this part.
pub(super) const WHAT: &str = "CPU time of commits";

/// The levels that the claim is about.
const FAST: &str = "zlib:3";
const SLOW: &str = "zlib:9";

/// The ratios of level 3 to level 9.
#[derive(Debug, Default)]
pub(super) struct Commits {
    /// Writing what the last commits brought: hashing, compressing, and files.
    pub(super) ingest: Option<Ratio>,
    /// Compressing all payloads of the repository.
    pub(super) encode: Option<Ratio>,
}

/// Measures both, and says whether the user stopped it.
pub(super) fn measure(
    context: &Context<'_>,
    wanted: u32,
    share: Option<Duration>,
    figures: &mut Figures,
) -> Result<bool, ExperimentError> {
    let refused = |spec: &str| ExperimentError::Refused { experiment: super::NAME, why: format!("{spec}: not a spec") };
    let parse = |spec: &str| spec.parse::<CodecSpec>().map_err(|_| refused(spec));
    let (fast, slow) = (parse(FAST)?, parse(SLOW)?);
    let options = crate::Options { runs: Some(wanted), ..context.options.clone() };
    let context = Context { options: &options, ..*context };
    let mut measuring = Measuring::new(&context, context.source, context.name.to_owned(), slow);
    let mut budget = Budget::new(context.clock, share, 1)?;
    let codecs = [fast.clone()];
    let work = Work::Replays(vec![WorkloadSpec::Ingest, WorkloadSpec::Encode]);
    let job = Job::new(WHAT, work, 1, &codecs);
    measuring.measure(&job, &mut budget)?;
    let ratios = Ratios::of(&measuring.records);
    let arm = ArmKey::new(ArmReader::Replay, fast.canonical());
    figures.commits = Commits {
        ingest: ratios.get(WorkloadKey::newest("ingest"), &arm),
        encode: ratios.get(WorkloadKey::all("encode"), &arm),
    };
    figures.left_out.append(&mut measuring.left_out);
    Ok(measuring.is_interrupted)
}
