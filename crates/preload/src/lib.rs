//! A library to preload into git, or into any program that is dynamically linked with zlib.
//!
//! It replaces zlib's functions, so that the program can read every codec of repackbench whose chunks can be decoded by
//! themselves. It also replaces some functions of the C library, and keeps no state outside the process:
//!
//! | functions | what ours do in addition |
//! |---|---|
//! | `open`, `fopen` and similar | hide a variant's guard; record which object store an open file belongs to; refuse copies of object files in a repository without a guard |
//! | `rename` and similar | restore the guard |
//! | `link`, `linkat` | refuse to link object files of a variant into a repository without a guard |
//! | `mmap`, `munmap`, `read`, `pread` | record where in memory each store's content is, to find the dictionaries that a chunk needs |
//! | `__libc_start_main` | ensures that everything that leaves a variant is zlib |
//!
//! The first bytes of a stream decide who reads it. A stream that begins with a tag byte or as a standard zstd frame is
//! decoded by the codecs, in a library of their own that is loaded for the first such stream. All other streams, and
//! every stream that was opened as gzip or raw DEFLATE, go to a real zlib: the one that the program is linked with,
//! unless the environment names another.
//!
//! | variable | meaning |
//! |---|---|
//! | `REPACKBENCH_ZLIB` | the zlib that reads and writes zlib streams: `host` (default), `stock`, `zlib-rs`, `zlib-ng`, or `libdeflate` for streams that are read whole |
//! | `REPACKBENCH_PRELOAD_CODECS` | the path of the library with the codecs, if it is not beside this one |
//! | `REPACKBENCH_CODEC` | the codec of the packs and loose objects that git writes to object stores of variants; everything else stays zlib. Default: `repackbench.codec` in the variant's configuration |
//! | `REPACKBENCH_NEW` | a codec spec: repositories that `git init` and `git clone` make get the guard of a variant under this spec |
//! | `REPACKBENCH_READER` | `1` says that the program reads objects through this library, so that the guard is hidden from it. git, libgit2 and dulwich are recognized without it |
//! | `REPACKBENCH_COLLECT_LIMIT` | the longest payload that is collected for the codec, in bytes (default 512 MiB); a longer one stays zlib |
//!
//! A zlib calls its own functions by name, and so comes back here. That does no harm: every function recognizes streams
//! of ours by their state and passes on all others. No panic leaves this library.

#![deny(unsafe_op_in_unsafe_fn)]
#![allow(non_snake_case, reason = "the names are zlib's")]
#![allow(clippy::missing_safety_doc, reason = "zlib.h says what callers of its functions must ensure")]

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

/// Runs the body of an exported function. The result is `failed` after a panic.
fn guarded<T>(failed: T, run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(failed)
}

/// Prints to stderr what no return code of zlib can express. A failure to print is ignored, since it cannot be
/// reported.
fn complain(message: &str) {
    let _ = writeln!(std::io::stderr(), "repackbench: {message}");
}

/// Prints the message unless `has_complained` is already set, and sets it.
fn complain_once(has_complained: &AtomicBool, message: &str) {
    if !has_complained.swap(true, Ordering::Relaxed) {
        complain(message);
    }
}
