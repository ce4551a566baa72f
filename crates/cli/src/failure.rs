//! How a command fails: one line on stderr, a hint where the user can do something, and an exit code.

use std::{
    fmt::{self, Display},
    fs::File,
    io::{self, Read as _, Write as _},
    path::Path,
    process::ExitCode,
};

use repackbench_client::ClientError;
use repackbench_experiments::ExperimentError;
use repackbench_reader::ReaderError;
use repackbench_timing::{
    BenchError,
    arms::{chains::ChainError, stock::StockError},
    workloads::WorkloadError,
};
use repackbench_writer::{
    WriterError,
    cache::{CacheError, GetOrMakeError},
};

/// The command could not do its work.
pub(crate) const FAILED: u8 = 1;
/// The command line is wrong.
pub(crate) const USAGE: u8 = 2;
/// A gate tripped: something became worse than the user allows.
pub(crate) const REGRESSION: u8 = 3;
/// The input repository is bad: EX_DATAERR of sysexits.h.
pub(crate) const BAD_INPUT: u8 = 65;
/// Another try may succeed: EX_TEMPFAIL of sysexits.h.
pub(crate) const TRY_AGAIN: u8 = 75;

/// Ended by SIGINT or SIGTERM: the code that a shell reports for SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;

/// The hint if the system refuses to start a thread.
const MORE_THREADS: &str =
    "raise the limit on processes or memory (ulimit -u, ulimit -v, pids.max), or end other programs";

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
    code: u8,
}

/// Writes a line to stderr. If that fails, nobody can be told, and the exit code says what happened.
pub(crate) fn say(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

impl Failure {
    /// A failure with this exit code.
    pub(crate) fn new(code: u8, message: impl Display) -> Self {
        Failure { message: message.to_string(), hint: None, code }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same failure with another message.
    pub(crate) fn with_message(self, message: String) -> Self {
        Failure { message, ..self }
    }

    /// Prints the message and the hint to stderr.
    pub(crate) fn print(&self) {
        say(format_args!("repackbench: {}", one_line(&self.message)));
        if let Some(hint) = &self.hint {
            say(format_args!("hint: {hint}"));
        }
    }

    /// Whether the user interrupted the command.
    pub(crate) fn is_interrupt(&self) -> bool {
        self.code == INTERRUPTED
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Prints a note to stderr.
pub(crate) fn print_note(note: impl Display) {
    let note = format!("repackbench: note: {}", one_line(&note.to_string()));
    say(match terminal_size::terminal_size_of(io::stderr()) {
        Some((width, _)) => folded(&note, usize::from(width.0)),
        // A line of a log is a note.
        None => note,
    });
}

/// `note` in lines of at most `width` columns, broken between words, the second and later ones indented.
fn folded(note: &str, width: usize) -> String {
    textwrap::fill(note, textwrap::Options::new(width).subsequent_indent("  ").break_words(false))
}

/// Whether the file is a bundle of git.
fn is_bundle(path: &Path) -> bool {
    let mut start = [0; 15];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start.starts_with(b"# v") && start.ends_with(b" git bundle")
}

/// The message in one line, also with a line feed in a file name.
fn one_line(message: &str) -> String {
    message.replace('\n', "\\n")
}

impl From<ReaderError> for Failure {
    fn from(error: ReaderError) -> Self {
        match &error {
            ReaderError::Io { .. } | ReaderError::NoSuchRevision { .. } | ReaderError::Internal { .. } => {
                Failure::new(FAILED, error)
            }
            ReaderError::NotARepository { path, .. } => {
                let hint = match is_bundle(path) {
                    true => format!("git clone {} makes a repository of the bundle", path.display()),
                    false => "name a folder of a work tree, a git directory or .hg".to_owned(),
                };
                Failure::new(BAD_INPUT, error).with_hint(hint)
            }
            ReaderError::Corrupt { .. } => Failure::new(BAD_INPUT, error),
            ReaderError::TooLarge { .. } => Failure::new(BAD_INPUT, error)
                .with_hint("--memory SIZE sets another limit; one object may take an eighth of it"),
            ReaderError::Unsupported { .. } => Failure::new(BAD_INPUT, error),
            ReaderError::Missing { .. } => Failure::new(BAD_INPUT, error),
            ReaderError::Changed { .. } | ReaderError::Locked { .. } => {
                Failure::new(TRY_AGAIN, error).with_hint("try again when nothing writes to the repository")
            }
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        let (code, hint) = match error {
            ClientError::Reader(error) => return error.into(),
            ClientError::Io(_) => (FAILED, None),
            ClientError::Refused { hint, .. } => (FAILED, hint),
            ClientError::Usage { .. } => (USAGE, None),
            ClientError::Program { .. } => (FAILED, None),
            ClientError::Interrupted => (INTERRUPTED, None),
        };
        Failure { message, hint, code }
    }
}

impl From<WriterError> for Failure {
    fn from(error: WriterError) -> Self {
        match error {
            WriterError::Reader(error) => error.into(),
            WriterError::Interrupted => Failure::new(INTERRUPTED, error),
            WriterError::Spec { .. } => Failure::new(USAGE, error),
            WriterError::Thread(_) => Failure::new(TRY_AGAIN, error).with_hint(MORE_THREADS),
            WriterError::Output { force_helps: true, .. } => {
                Failure::new(FAILED, error).with_hint("--force replaces it, -o names another path")
            }
            _ => Failure::new(FAILED, error),
        }
    }
}

impl From<WorkloadError> for Failure {
    fn from(error: WorkloadError) -> Self {
        match error {
            WorkloadError::Reader(error) => error.into(),
            WorkloadError::Writer(error) => error.into(),
            WorkloadError::Refused { .. } | WorkloadError::Files { .. } => Failure::new(FAILED, error),
        }
    }
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        match error {
            BenchError::Variant(error) => error.into(),
            BenchError::Workload(error) => error.into(),
            BenchError::Writer(error) => error.into(),
            BenchError::Interrupted => Failure::new(INTERRUPTED, error),
            BenchError::Resume { .. } => Failure::new(USAGE, error).with_hint(
                "give the options of the session that wrote the records, or start a new one with --json FILE",
            ),
            BenchError::Plan { .. } | BenchError::UselessDecoder { .. } => Failure::new(USAGE, error),
            BenchError::Stock(StockError::Client(error)) => error.into(),
            BenchError::Stock(error @ StockError::Thread(_)) => Failure::new(TRY_AGAIN, error).with_hint(MORE_THREADS),
            BenchError::Stock(error) => Failure::new(FAILED, error),
            BenchError::Io { .. } | BenchError::Differs { .. } | BenchError::Cold(_) => Failure::new(FAILED, error),
        }
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Self {
        match error {
            ExperimentError::Bench(error) => (*error).into(),
            ExperimentError::Reader(error) => error.into(),
            ExperimentError::Writer(error) => error.into(),
            ExperimentError::Refused { .. } => Failure::new(USAGE, error),
            ExperimentError::Interrupted => Failure::new(INTERRUPTED, error),
            ExperimentError::Cold(_) | ExperimentError::Io { .. } => Failure::new(FAILED, error),
        }
    }
}

impl From<ChainError> for Failure {
    fn from(error: ChainError) -> Self {
        match error {
            ChainError::Reader(error) => error.into(),
            ChainError::Interrupted => Failure::new(INTERRUPTED, error),
            ChainError::Clock(_) | ChainError::NotAVariant { .. } => Failure::new(FAILED, error),
        }
    }
}

impl From<CacheError> for Failure {
    fn from(error: CacheError) -> Self {
        match error {
            CacheError::Busy { .. } => Failure::new(TRY_AGAIN, error),
            _ => Failure::new(FAILED, error),
        }
    }
}

impl From<GetOrMakeError<WriterError>> for Failure {
    fn from(error: GetOrMakeError<WriterError>) -> Self {
        match error {
            GetOrMakeError::Cache(error) => error.into(),
            GetOrMakeError::Make(error) => error.into(),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::new(FAILED, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_folded_between_words() {
        let note = "repackbench: note: /a/long/path/of/a/repository: nothing is packed";
        assert_eq!(folded(note, 80), note);
        assert_eq!(folded(note, 30), "repackbench: note:\n  /a/long/path/of/a/repository:\n  nothing is packed");
        assert!(folded(note, 10).lines().any(|line| line == "  /a/long/path/of/a/repository:"), "paths stay whole");
    }
}
