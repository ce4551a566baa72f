//! `repackbench`: what would a repository be like if its objects were compressed with another codec?
#![forbid(unsafe_code)]

mod args;
mod byte_size;
mod child;
mod commands;
mod compare_arguments;
mod exec_arguments;
mod explain_arguments;
mod failure;
mod output_arguments;
mod pace_arguments;
mod payload_arguments;
mod progress;
mod record_file;
mod report_arguments;
mod serve_arguments;
mod spec_arguments;
mod trace_arguments;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version go to stdout and are no error; clap has its own words for the rest.
            let code = if error.use_stderr() { ExitCode::from(failure::USAGE) } else { ExitCode::SUCCESS };
            let _ = error.print();
            return code;
        }
    };
    let result = match arguments.command {
        Command::Convert(arguments) => commands::convert::run(&arguments),
        Command::Verify(arguments) => commands::verify::run(&arguments),
        Command::Size(arguments) => commands::size::run(&arguments),
        Command::Bench(arguments) => commands::bench::run(&arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::Explain(arguments) => commands::explain::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Replay(arguments) => commands::replay::run(&arguments),
        Command::Serve(arguments) => commands::serve::run(&arguments),
        Command::Exec(arguments) => commands::exec::run(&arguments),
        Command::Payloads(arguments) => commands::payloads::run(&arguments),
        Command::Train(arguments) => commands::train::run(&arguments),
        Command::Chains(arguments) => commands::chains::run(&arguments),
        Command::Trace(arguments) => commands::trace::run(&arguments),
        Command::Codecs => commands::codecs::run(),
        Command::Schema => commands::schema::run(),
        Command::Cache(arguments) => commands::cache::run(&arguments),
    };
    match result {
        Ok(code) => code,
        Err(failure) => {
            failure.print();
            failure.exit_code()
        }
    }
}
