//! What commands print and write.

pub(crate) mod atomic_file;
pub(crate) mod converted;
pub(crate) mod experiment_output;
pub(crate) mod in_place;
pub(crate) mod listing;
pub(crate) mod record_file;
pub(crate) mod replay_printer;
pub(crate) mod result_output;
pub(crate) mod table_output;

use std::{
    ffi::OsString,
    fs::File,
    io::{self, BufWriter, IsTerminal, Write},
    path::Path,
};

use repackbench_report::{Article, Style, articles_text};

use crate::failure::{FAILED, Failure};

/// Writes `text` to stdout. A closed pipe, for example to `head`, is not a failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// Writes `bytes` to stdout, like [`print()`].
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = PipedStdout;
    Ok(stdout.write_all(bytes).and_then(|()| stdout.flush())?)
}

/// Stdout, whose reader may have seen enough: what is written to a closed pipe is lost without an error.
pub(crate) struct PipedStdout;

impl Write for PipedStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless_closed(io::stdout().lock().write(bytes), bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        unless_closed(io::stdout().lock().flush(), ())
    }
}

/// `result`, or `as_if_written` if it is that nobody reads.
fn unless_closed<T>(result: io::Result<T>, as_if_written: T) -> io::Result<T> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(as_if_written),
        result => result,
    }
}

/// Prints an article in the style of stdout.
pub(crate) fn print_article(article: Article) -> Result<(), Failure> {
    print(&articles_text(&[article], style()))
}

/// The style of stdout: its width and colours if it is a terminal, plain text otherwise.
pub(crate) fn style() -> Style {
    if !io::stdout().is_terminal() {
        return Style::PLAIN;
    }
    let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let is_coloured = !anstyle_query::no_color() && anstyle_query::term_supports_ansi_color();
    Style { width, is_coloured, is_detailed: true }
}

/// Creates a file that a command writes later. Commands create their files first, so that a misspelt folder does not
/// cost the results of a long run.
pub(crate) fn create(path: &Path) -> Result<BufWriter<File>, Failure> {
    File::create(path).map(BufWriter::new).map_err(|error| cannot_create(path, &error))
}

/// The failure to create a file or folder.
pub(crate) fn cannot_create(path: &Path, error: &io::Error) -> Failure {
    Failure::new(FAILED, format!("{}: cannot create: {error}", path.display()))
}

/// The failure to write a file.
pub(crate) fn cannot_write(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(FAILED, format!("{}: cannot write: {error}", path.display()))
}

/// The words, quoted for a shell.
pub(crate) fn shell_line(words: &[OsString]) -> String {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// The command line as typed, quoted for a shell; `None` if no shell could read it.
pub(crate) fn command_line() -> Option<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = std::iter::once(env!("CARGO_BIN_NAME").to_owned()).chain(words).collect();
    shlex::try_join(words.iter().map(String::as_str)).ok()
}
