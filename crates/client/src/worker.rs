//! A copy of this program that works for another one, its parent.
//!
//! The parent holds the other end of the worker's stdin. If the parent dies, even by SIGKILL, the worker reads the end of
//! stdin. It then stops as it does after Ctrl-C: it ends the processes that it started, and removes its files.

use std::{
    io, process,
    thread::{self, Builder},
    time::Duration,
};

use nix::sys::{
    resource::{Resource, getrlimit, setrlimit},
    signal::{Signal, raise},
};

/// The command of a worker: `WORKER fleet-worker [--memory BYTES] COMMAND...` runs COMMAND of the same program.
pub const WORKER_COMMAND: &str = "fleet-worker";

/// How long a worker may take to stop. It ends within a second.
const PATIENCE: Duration = Duration::from_secs(2);

/// The exit code of a worker that had to be ended.
const ABANDONED: i32 = 75;

/// Stops this process when its stdin ends.
///
/// # Errors
/// The system refuses to start a thread.
pub fn end_with_stdin() -> io::Result<()> {
    let watch = || {
        // What the parent writes, if anything, has no meaning. An error means that there is no parent either.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = raise(Signal::SIGTERM);
        thread::sleep(PATIENCE);
        process::exit(ABANDONED);
    };
    Builder::new().name("parent".to_owned()).spawn(watch).map(drop)
}

/// Limits the memory that this process and each one that it starts may allocate, to `bytes`. Mapped files do not count.
///
/// # Errors
/// The system refuses it.
pub fn limit_memory(bytes: u64) -> io::Result<()> {
    let (_, most) = getrlimit(Resource::RLIMIT_DATA)?;
    let bytes = bytes.min(most);
    Ok(setrlimit(Resource::RLIMIT_DATA, bytes, bytes)?)
}
