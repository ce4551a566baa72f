//! Compares the stand-in with a real zlib, call by call, and runs programs that use zlib on the stand-in.

mod calls;
mod chunks;
mod consumers;
mod deflate_streams;
mod fuzzed;
mod git_commands;
mod guard_text;
mod handed_over;
mod library;
mod object_paths;
mod same_as_zlib;
mod samples;
