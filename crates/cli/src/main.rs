//! `repackbench`: the command line.
#![forbid(unsafe_code)]

mod args;
mod command_line;
mod commands;
mod experiment_runs;
mod failure;
mod fleet;
mod help;
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
use repackbench_client::{METER_COMMAND, Preload};
use repackbench_reader::threads;
use repackbench_timing::arms::load::RECODE_COMMAND;
use repackbench_writer::leftovers;
use signal_hook::consts::SIGXFSZ;

use args::{Arguments, Command};
use command_line::CommandLine;
use commands::{
    generate::GenerateArguments, peak_memory::PeakMemoryArguments, recode_pack::RecodePackArguments,
    results_page::ResultsPageArguments,
};
use failure::Failure;
use output::print_bytes;

/// The name of the program when git runs it.
const GIT_PROGRAM: &str = "git-repackbench";

/// The preload libraries, or room for them: see `build.rs`.
static PRELOAD_LIBRARIES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/preload_libraries"));

fn main() -> ExitCode {
    handle_file_size_limit();
    // The compiler must not rely on their content: tests fill the room of a debug build.
    Preload::embed(std::hint::black_box(PRELOAD_LIBRARIES));
    let words = match fleet::worker::begin(std::env::args_os().collect()) {
        Ok(words) => words,
        Err(failure) => {
            failure.print();
            return failure.exit_code();
        }
    };
    let result = match parse(&words) {
        Ok(Parsed::Arguments { arguments, is_quiet }) => run(*arguments).inspect(|_| note_missing_threads(is_quiet)),
        Ok(Parsed::Generate(arguments)) => commands::generate::run(&arguments, &program()),
        Ok(Parsed::ResultsPage(arguments)) => commands::results_page::run(&arguments),
        Ok(Parsed::PeakMemory(arguments)) => commands::peak_memory::run(&arguments),
        Ok(Parsed::RecodePack(arguments)) => commands::recode_pack::run(&arguments),
        Err(Refused::Failure(failure)) => Err(failure),
        Err(Refused::Clap(error)) => {
            // clap also returns help and version as errors, which go to stdout.
            let code = if error.use_stderr() { ExitCode::from(failure::USAGE) } else { ExitCode::SUCCESS };
            let _ = error.print();
            return code;
        }
    };
    for left in leftovers::take_not_removed() {
        failure::print_note(format_args!("{}: left over, and could not be removed", left.display()));
    }
    match result {
        Ok(code) => code,
        Err(failure) => {
            failure.print();
            failure.exit_code()
        }
    }
}

/// The declaration of every command that users see.
fn program() -> clap::Command {
    help::arranged(Arguments::command())
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
    /// The hidden command that makes the page of results.
    ResultsPage(ResultsPageArguments),
    /// The hidden commands that this program runs itself.
    PeakMemory(PeakMemoryArguments),
    RecodePack(RecodePackArguments),
}

/// Why there is nothing to run.
enum Refused {
    /// The command line is wrong, or asks for help or the version.
    Clap(clap::Error),
    /// The session to resume cannot be read.
    Failure(Failure),
}

impl From<clap::Error> for Refused {
    fn from(error: clap::Error) -> Self {
        Refused::Clap(error)
    }
}

fn parse(typed: &[OsString]) -> Result<Parsed, Refused> {
    let mut program = program().subcommand(GenerateArguments::command()).subcommand(PeakMemoryArguments::command());
    program = program.subcommand(RecodePackArguments::command()).subcommand(ResultsPageArguments::command());
    let called = typed.first().and_then(|word| Path::new(word).file_name());
    if called == Some(OsStr::new(GIT_PROGRAM)) {
        program = program.bin_name("git repackbench");
    }
    let line = CommandLine::new(typed, &program).map_err(Refused::Failure)?;
    let matches = match program.try_get_matches_from_mut(&line.words) {
        Ok(matches) => matches,
        Err(error) => {
            line.print_notes();
            let failure = if error.use_stderr() { line.failure(error.kind(), &program) } else { None };
            return Err(failure.map_or(Refused::Clap(error), Refused::Failure));
        }
    };
    match matches.subcommand() {
        Some(("generate", matches)) => return Ok(Parsed::Generate(GenerateArguments::from_arg_matches(matches)?)),
        Some(("results-page", matches)) => {
            return Ok(Parsed::ResultsPage(ResultsPageArguments::from_arg_matches(matches)?));
        }
        Some((METER_COMMAND, matches)) => {
            return Ok(Parsed::PeakMemory(PeakMemoryArguments::from_arg_matches(matches)?));
        }
        Some((RECODE_COMMAND, matches)) => {
            return Ok(Parsed::RecodePack(RecodePackArguments::from_arg_matches(matches)?));
        }
        _ => {}
    }
    let mut arguments = Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut program))?;
    let quiet = matches.subcommand().and_then(|(_, matches)| matches.try_get_one("quiet").ok().flatten().copied());
    let is_quiet = quiet.unwrap_or(false);
    if !is_quiet {
        line.print_notes();
    }
    arguments.set_resumed(line.resumed);
    Ok(Parsed::Arguments { arguments: Box::new(arguments), is_quiet })
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
        Command::Diff(arguments) => commands::diff::run(&arguments),
        Command::Alternatives(arguments) => commands::alternatives::run(&arguments),
        Command::Experiment(arguments) => commands::experiment::run(&arguments),
        Command::Explain(arguments) => commands::explain::run(&arguments),
        Command::Fleet(arguments) => commands::fleet::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Replay(arguments) => commands::replay::run(&arguments),
        Command::Serve(arguments) => commands::serve::run(&arguments),
        Command::Exec(arguments) => commands::exec::run(&arguments),
        Command::Env(arguments) => commands::env::run(&arguments),
        Command::Payloads(arguments) => commands::payloads::run(&arguments),
        Command::Train(arguments) => commands::train::run(&arguments),
        Command::Chains(arguments) => commands::chains::run(&arguments),
        Command::Trace(arguments) => commands::trace::run(&arguments),
        Command::Codecs(arguments) => commands::codecs::run(&arguments),
        Command::Schema => commands::schema::run(),
        Command::Completions(arguments) => print_bytes(&arguments.script(&program())).map(|()| ExitCode::SUCCESS),
        Command::Man(arguments) => print_bytes(&arguments.page(&program())?).map(|()| ExitCode::SUCCESS),
        Command::Cache(arguments) => commands::cache::run(&arguments),
    }
}
