//! All commands. Parsing turns strings into checked values; no later code reads strings.

use clap::{Parser, Subcommand};

use crate::commands::{
    alternatives::AlternativesArguments,
    bench::BenchArguments,
    cache::CacheArguments,
    chains::ChainsArguments,
    codecs::CodecListArguments,
    convert::ConvertArguments,
    diff::DiffArguments,
    env::EnvArguments,
    estimate::EstimateArguments,
    exec::ExecArguments,
    experiment::ExperimentArguments,
    explain::ExplainArguments,
    fleet::FleetArguments,
    generate::{CompletionsArguments, ManArguments},
    payloads::PayloadsArguments,
    replay::ReplayArguments,
    report::ReportArguments,
    serve::ServeArguments,
    size::SizeArguments,
    trace::TraceArguments,
    train::TrainArguments,
    verify::VerifyArguments,
};

/// Show what other codecs than zlib would do to a Git or Mercurial repository.
///
/// repackbench rewrites a repository under another codec and level, leaves its delta structure untouched, and replays
/// checkout, history traversal and diff on each variant. The codec is the only difference.
#[derive(Debug, Parser)]
#[command(name = "repackbench", version, max_term_width = 100)]
#[command(
    after_help = "-h after a command shows its options, --help explains them. -V: version.",
    after_long_help = "Options:\n  \
        -h, --help     Print help; after a command, its options in short or in full\n  \
        -V, --version  Print version\n\n\
        Exit codes: 0 success, 1 failure, 2 usage error, 3 gate tripped, 65 bad input repository, \
        75 temporary failure (try again), 130 interrupted."
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
    Diff(DiffArguments),
    Alternatives(Box<AlternativesArguments>),
    Experiment(Box<ExperimentArguments>),
    Explain(Box<ExplainArguments>),
    Fleet(Box<FleetArguments>),
    Report(ReportArguments),
    Replay(ReplayArguments),
    Serve(ServeArguments),
    Exec(ExecArguments),
    Env(EnvArguments),
    Chains(ChainsArguments),
    Trace(Box<TraceArguments>),
    Payloads(PayloadsArguments),
    Train(TrainArguments),
    Codecs(CodecListArguments),
    Cache(CacheArguments),
    /// Print the JSON Schema of the records that --json writes
    Schema,
    Completions(CompletionsArguments),
    Man(ManArguments),
}

impl Arguments {
    /// Gives the command line `resumed` to the records of a resumed session.
    pub(crate) fn set_resumed(&mut self, resumed: Option<String>) {
        let session = match &mut self.command {
            Command::Bench(arguments) => &mut arguments.session,
            Command::Alternatives(arguments) => &mut arguments.session,
            Command::Explain(arguments) => &mut arguments.session,
            _ => return,
        };
        session.measure.command = resumed;
    }
}
