//! Tests of chunks: what each codec writes, and what its decoder makes of that, of damage and of other programs' output.
//!
//! They are one program, because each further one would link all codecs again.

mod base;
mod block;
#[path = "../common/mod.rs"]
mod common;
mod dictionary;
mod dictionary_chunks;
mod format;
mod hostile;
mod mutations;
mod push;
mod revlog;
mod revlog_hostile;
mod revlog_shared;
mod round_trip;
mod streams;
mod zlib_oracle;
