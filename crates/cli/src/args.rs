//! All commands. Parsing turns strings into checked values; no later code reads strings.

use clap::{Parser, Subcommand};

use crate::commands::{
    alternatives::AlternativesArguments, bench::BenchArguments, cache::CacheArguments, chains::ChainsArguments,
    compare::CompareArguments, convert::ConvertArguments, env::EnvArguments, estimate::EstimateArguments, exec::ExecArguments,
    experiment::ExperimentArguments, explain::ExplainArguments, payloads::PayloadsArguments, replay::ReplayArguments,
    report::ReportArguments, serve::ServeArguments, size::SizeArguments, trace::TraceArguments, train::TrainArguments,
    verify::VerifyArguments,
};

/// Show what other codecs than zlib would do to a Git or Mercurial repository.
///
/// repackbench rewrites a repository under another codec and level, leaves its delta structure untouched, and replays
/// checkout, history traversal and diff on each variant. The codec is the only difference.
#[derive(Debug, Parser)]
#[command(name = "repackbench", version, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 success, 1 failure, 2 usage error, 3 gate tripped, 65 bad input repository, 75 temporary failure (try again), 130 interrupted."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Estimate(Box<EstimateArguments>),
    Convert(ConvertArguments),
    Verify(VerifyArguments),
    Size(SizeArguments),
    Bench(Box<BenchArguments>),
    Compare(CompareArguments),
    Alternatives(Box<AlternativesArguments>),
    Experiment(Box<ExperimentArguments>),
    Explain(Box<ExplainArguments>),
    Report(ReportArguments),
    Replay(ReplayArguments),
    Serve(ServeArguments),
    Exec(ExecArguments),
    Env(EnvArguments),
    Chains(ChainsArguments),
    Trace(Box<TraceArguments>),
    Payloads(PayloadsArguments),
    Train(TrainArguments),
    /// List all codecs with their levels, library, version and licence, and the stock programs that read them.
    Codecs,
    Cache(CacheArguments),
    /// Print the JSON Schema of the records that `bench --json` writes, one per line.
    Schema,
}
