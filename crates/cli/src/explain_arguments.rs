//! What `repackbench explain` takes.

use std::path::PathBuf;

use clap::Args;
use repackbench_codec::CodecSpec;
use repackbench_timing::workloads::WorkloadSpec;

use crate::{
    pace_arguments::PaceArguments,
    repository_path::located,
    shared_arguments::{Effort, MemoryArguments, RangeArguments},
};

/// Split the ratio of a codec's time to zlib's into what it is made of.
///
/// Is it zstd, or is it just not zlib? Rows that differ in one thing at a time lead from stock
/// zlib to the codec: the same bytes read by the fastest other library (implementation); the same
/// DEFLATE blocks without zlib's header and Adler-32, read by that library (framing); the codec
/// without a checksum (format); the codec (integrity). All are measured in the same random blocks,
/// and their product is held against the ratio as measured.
///
/// Examples:
///   repackbench explain . --workload traverse --codec zstd:5
///   repackbench explain repo --workload checkout:sink --codec lz4 --blocks 15
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ExplainArguments {
    /// The repository.
    #[arg(value_parser = located())]
    pub(crate) repository: PathBuf,

    /// The codec to explain.
    #[arg(long, value_name = "SPEC")]
    pub(crate) codec: CodecSpec,

    /// The level of zlib that it is compared with.
    #[arg(long, value_name = "SPEC", default_value = "zlib:6", value_parser = parse_zlib)]
    pub(crate) baseline: CodecSpec,

    /// A workload to explain; may be given several times.
    #[arg(long = "workload", value_name = "W", required = true)]
    pub(crate) workloads: Vec<WorkloadSpec>,

    #[command(flatten)]
    pub(crate) range: RangeArguments,

    #[command(flatten)]
    pub(crate) pace: PaceArguments,

    /// The seed of the random order; by default another one each time.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Write one JSON record per run to FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    #[command(flatten)]
    pub(crate) effort: Effort,
}

/// The baseline has to be stock zlib's: the first step is to another implementation of it.
fn parse_zlib(typed: &str) -> Result<CodecSpec, String> {
    let spec: CodecSpec = typed.parse().map_err(|error: repackbench_codec::SpecError| error.to_string())?;
    match spec.algorithm().name() {
        "zlib" if spec.is_uniform() && !spec.uses_dictionaries() => Ok(spec),
        _ => Err("expected a level of zlib, such as zlib:6".to_owned()),
    }
}
