//! The beginning of a process that works on one repository for a fleet.

use std::ffi::OsString;

use repackbench_client::{WORKER_COMMAND, end_with_stdin, limit_memory};

use crate::failure::{Failure, TRY_AGAIN, USAGE};

/// The words of the command to run. If `words` begin with the command of a worker, this process ends with its parent and
/// within its memory from now on.
pub(crate) fn begin(words: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    if words.get(1).is_none_or(|word| word != WORKER_COMMAND) {
        return Ok(words);
    }
    let mut words = words.into_iter();
    let called = words.next();
    let mut rest: Vec<OsString> = words.skip(1).collect();
    if rest.first().is_some_and(|word| word == "--memory") {
        let bytes = rest.get(1).and_then(|word| word.to_str()?.parse().ok());
        let bytes = bytes.ok_or_else(|| Failure::new(USAGE, "--memory: expected a number of bytes"))?;
        limit_memory(bytes).map_err(|error| Failure::new(TRY_AGAIN, format!("cannot limit memory: {error}")))?;
        rest.drain(..2);
    }
    end_with_stdin().map_err(|error| Failure::new(TRY_AGAIN, format!("cannot start a thread: {error}")))?;
    Ok(called.into_iter().chain(rest).collect())
}
