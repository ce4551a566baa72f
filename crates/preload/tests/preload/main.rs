//! The stand-in against real zlib: the same calls on both, and zlib's own consumers on it.

mod calls;
mod chunks;
mod consumers;
mod fuzzed;
mod git_commands;
mod guard_text;
mod handed_over;
mod library;
mod object_paths;
mod same_as_zlib;
mod samples;
mod written;
