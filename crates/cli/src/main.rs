//! `repackbench`: the command line.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod experiment_runs;
mod failure;
mod options;
mod output;
mod progress;
mod repository;

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process::ExitCode,
    sync::Arc,
};

use clap::{CommandFactory, FromArgMatches};
use repackbench_client::METER_COMMAND;
use repackbench_reader::threads;
use signal_hook::consts::SIGXFSZ;

use args::{Arguments, Command};
use commands::{generate::GenerateArguments, peak_memory::PeakMemoryArguments};
use failure::Failure;

/// The name of the program when git runs it.
const GIT_PROGRAM: &str = "git-repackbench";

fn main() -> ExitCode {
    handle_file_size_limit();
    let words: Vec<OsString> = std::env::args_os().collect();
    let result = match parse(&words) {
        Ok(Parsed::Arguments { arguments, is_quiet }) => run(*arguments).inspect(|_| note_missing_threads(is_quiet)),
        Ok(Parsed::Generate(arguments)) => commands::generate::run(&arguments, &Arguments::command()),
        Ok(Parsed::PeakMemory(arguments)) => commands::peak_memory::run(&arguments),
        Err(error) => {
            // clap also returns help and version as errors, which go to stdout.
            let code = if error.use_stderr() { ExitCode::from(failure::USAGE) } else { ExitCode::SUCCESS };
            let _ = error.print();
            return code;
        }
    };
    match result {
        Ok(code) => code,
        Err(failure) => {
            failure.print();
            failure.exit_code()
        }
    }
}

/// Sets a handler for the signal that a write beyond `ulimit -f` raises, which would end the process. With a handler
/// the write fails, as on a full disk. Child processes do not inherit it. If no handler can be set, the signal still
/// ends the process.
fn handle_file_size_limit() {
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// The parsed command line.
enum Parsed {
    Arguments {
        arguments: Box<Arguments>,
        /// Whether to omit notes.
        is_quiet: bool,
    },
    /// The hidden command that writes man pages and completions of the others.
    Generate(GenerateArguments),
    /// The hidden command that this program runs itself.
    PeakMemory(PeakMemoryArguments),
}

fn parse(words: &[OsString]) -> Result<Parsed, clap::Error> {
    let mut program =
        Arguments::command().subcommand(GenerateArguments::command()).subcommand(PeakMemoryArguments::command());
    let called = words.first().and_then(|word| Path::new(word).file_name());
    if called == Some(OsStr::new(GIT_PROGRAM)) {
        program = program.bin_name("git repackbench");
    }
    let matches = program.try_get_matches_from_mut(words)?;
    match matches.subcommand() {
        Some(("generate", matches)) => return GenerateArguments::from_arg_matches(matches).map(Parsed::Generate),
        Some((METER_COMMAND, matches)) => {
            return PeakMemoryArguments::from_arg_matches(matches).map(Parsed::PeakMemory);
        }
        _ => {}
    }
    let arguments = Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut program))?;
    let quiet = matches.subcommand().and_then(|(_, matches)| matches.try_get_one("quiet").ok().flatten().copied());
    Ok(Parsed::Arguments { arguments: Box::new(arguments), is_quiet: quiet.unwrap_or(false) })
}

fn note_missing_threads(is_quiet: bool) {
    if let Some(why) = threads::shortage().filter(|_| !is_quiet) {
        failure::print_note(format_args!("done on fewer threads, as not all of them could be started: {why}"));
    }
}

fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    match arguments.command {
        Command::Estimate(arguments) => commands::estimate::run(&arguments),
        Command::Convert(arguments) => commands::convert::run(&arguments),
        Command::Verify(arguments) => commands::verify::run(&arguments),
        Command::Size(arguments) => commands::size::run(&arguments),
        Command::Bench(arguments) => commands::bench::run(&arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::Alternatives(arguments) => commands::alternatives::run(&arguments),
        Command::Experiment(arguments) => commands::experiment::run(&arguments),
        Command::Explain(arguments) => commands::explain::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Replay(arguments) => commands::replay::run(&arguments),
        Command::Serve(arguments) => commands::serve::run(&arguments),
        Command::Exec(arguments) => commands::exec::run(&arguments),
        Command::Env(arguments) => commands::env::run(&arguments),
        Command::Payloads(arguments) => commands::payloads::run(&arguments),
        Command::Train(arguments) => commands::train::run(&arguments),
        Command::Chains(arguments) => commands::chains::run(&arguments),
        Command::Trace(arguments) => commands::trace::run(&arguments),
        Command::Codecs => commands::codecs::run(),
        Command::Schema => commands::schema::run(),
        Command::Cache(arguments) => commands::cache::run(&arguments),
    }
}
