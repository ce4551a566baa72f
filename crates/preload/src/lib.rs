//! A library to preload into git, or into any program that is linked with zlib dynamically: it answers zlib's own functions, and so
//! lets that program read every codec of repackbench whose chunks can be decoded by themselves.
//!
//! It takes the place of some functions of the C library as well, and keeps nothing outside the process:
//!
//! | functions | what they do besides |
//! |---|---|
//! | `open`, `fopen` and the like | hide a variant's guard, tell what file of which object store is open, and refuse copies of object files in a repository without a guard |
//! | `rename` and the like | put the guard back |
//! | `link`, `linkat` | refuse to link object files of a variant into a repository without a guard |
//! | `mmap`, `munmap`, `read`, `pread` | tell where in memory which store's content lies, and so whose dictionaries a chunk needs |
//! | `__libc_start_main` | sees to it that what leaves a variant is zlib |
//!
//! The first bytes of a stream decide, when they arrive: one with a tag byte and a standard zstd frame are decoded by the codecs, in
//! a library of their own that is loaded when the first such stream is met. Everything else, and every stream that was opened as gzip
//! or raw DEFLATE, goes to a real zlib: the one that the program is linked with, unless the environment names another.
//!
//! | variable | meaning |
//! |---|---|
//! | `REPACKBENCH_ZLIB` | who reads and writes zlib streams: `host` (default), `stock`, `zlib-rs`, `zlib-ng`, or `libdeflate` for streams that are read whole |
//! | `REPACKBENCH_PRELOAD_CODECS` | the library with the codecs, if it is not beside this one |
//! | `REPACKBENCH_CODEC` | the codec of what git writes to object stores of variants: packs and loose objects; all else stays zlib. Without it, what `repackbench.codec` says in the variant's configuration |
//! | `REPACKBENCH_NEW` | a codec spec: repositories that `git init` and `git clone` make get the guard of variants under it |
//! | `REPACKBENCH_READER` | `1` says that a program reads objects through this library, so that the guard is hidden from it; git, libgit2 and dulwich are known to |
//! | `REPACKBENCH_COLLECT_LIMIT` | the longest payload that is collected for that codec, in bytes (default 512 MiB); a longer one stays zlib |
//!
//! A zlib calls its own functions by name, and so comes back here. That does no harm, because every function tells by the state in the
//! stream whether it is one of ours, and hands over those that are not. No panic leaves this library.

#![deny(unsafe_op_in_unsafe_fn)]
#![allow(non_snake_case, reason = "the names are zlib's")]
#![allow(clippy::missing_safety_doc, reason = "zlib.h says what the callers of its functions owe")]

mod caller;
mod codecs;
mod deflate;
mod deflate_stream;
mod files;
mod git_command;
mod guard;
mod inflate;
mod inflate_stream;
mod memory;
mod next;
mod objects;
mod purpose;
mod repository;
mod start;
mod zlib;

use std::{
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, Ordering},
};

/// Runs what a function of zlib's does; `failed` is its answer after a panic.
fn guarded<T>(failed: T, run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(failed)
}

/// Says on stderr what no return code of zlib's can say. Where even that fails there is nobody to tell.
fn complain(message: &str) {
    let _ = writeln!(std::io::stderr(), "repackbench: {message}");
}

/// Complains the first time, which `has_complained` remembers.
fn complain_once(has_complained: &AtomicBool, message: &str) {
    if !has_complained.swap(true, Ordering::Relaxed) {
        complain(message);
    }
}
