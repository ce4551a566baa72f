//! Programs of the user's that do a part of the work: hg and git, where they choose deltas again.

use std::{
    io::{Read, Seek},
    process::{Command, Stdio},
    time::Duration,
};

use crate::{Progress, Result, WriterError};

/// How often the end of the program and the user's wish to stop are looked for.
const POLL: Duration = Duration::from_millis(20);

/// The most of a program's last words that a message quotes, in bytes.
const LAST_WORDS: usize = 1000;

/// Runs `command`, which messages call `name`, to its end, or to the user's wish to stop.
pub(crate) fn run(mut command: Command, name: &str, progress: &dyn Progress) -> Result<()> {
    let failed = |why: String| WriterError::Program { command: name.to_owned(), why };
    let io = |error: std::io::Error| failed(error.to_string());
    let mut said = tempfile::tempfile().map_err(io)?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said.try_clone().map_err(io)?);
    let mut child = command.spawn().map_err(io)?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(io)? {
            break status;
        }
        if progress.is_cancelled() {
            // It may have ended by itself meanwhile.
            let _ = child.kill();
            child.wait().map_err(io)?;
            return Err(WriterError::Interrupted);
        }
        std::thread::sleep(POLL);
    };
    if status.success() {
        return Ok(());
    }
    let mut words = Vec::new();
    said.rewind().and_then(|()| said.read_to_end(&mut words)).map_err(io)?;
    Err(failed(format!("{status}: {}", last_words(&words))))
}

/// What `command`, which messages call `name`, prints.
pub(crate) fn ask(mut command: Command, name: &str) -> Result<String> {
    let failed = |why: String| WriterError::Program { command: name.to_owned(), why };
    let output = command.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(failed(last_words(&output.stderr))),
    }
}

fn last_words(said: &[u8]) -> String {
    let start = said.len().saturating_sub(LAST_WORDS);
    String::from_utf8_lossy(said.get(start..).unwrap_or_default()).trim().to_owned()
}
