//! `repackbench exec` with the library that stands in for zlib, built as these tests were.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use super::program::{self, Scratch, exit};
use super::{built, git};

#[path = "../../../build/pack.rs"]
mod pack;

/// The file with the codecs, in the folder of the stand-in.
pub(crate) const CODECS_FILE: &str = "librepackbench_preload_codecs.so";

/// The file of the library.
pub(crate) fn stand_in() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| built::library("repackbench_preload"))
}

/// The binary, which finds the library and starts git as isolated as the tests do.
pub(crate) fn command() -> Command {
    let mut command = program::command();
    git::pin(&mut command);
    command.env("REPACKBENCH_PRELOAD", stand_in());
    command
}

/// `repackbench exec OPTIONS REPO -- WORDS`.
pub(crate) fn exec(repo: &Path, options: &[&str], words: &[&str]) -> Command {
    let mut command = command();
    command.arg("exec").args(options).arg(repo).arg("--").args(words);
    command
}

/// Copies the binary to `path`. The copy contains the libraries as a release build does, and no library is near it.
#[track_caller]
pub(crate) fn copy_embedding(path: &Path) {
    static PROGRAM: OnceLock<Vec<u8>> = OnceLock::new();
    let scratch = Scratch::new();
    let written = scratch.join("program");
    fs::write(&written, PROGRAM.get_or_init(embedding_program)).expect("a copy of the program");
    // Only another process may have the program open for writing: see `executable.rs`.
    let mut copy = Command::new("sh");
    copy.args(["-c", "mkdir -p \"${1%/*}\" && cat \"$0\" > \"$1\" && chmod 755 \"$1\""]).arg(&written).arg(path);
    program::run(&mut copy).exits(exit::OK);
}

/// The binary, stripped. If it is a debug build, its room is filled with the libraries.
fn embedding_program() -> Vec<u8> {
    let mut program = stripped(Path::new(env!("CARGO_BIN_EXE_repackbench")));
    let is_start = |start: &usize| program[*start..].starts_with(pack::MARK);
    let starts: Vec<usize> = positions(&program, pack::MARK[0]).filter(is_start).collect();
    let [start] = starts[..] else { panic!("the mark is in the program {} times", starts.len()) };
    let rest = &mut program[start..];
    // The length of what a release build contains is not zero.
    let frame_len: Range<usize> = pack::MARK.len()..pack::MARK.len() + 8;
    if rest[frame_len] == [0; 8] {
        let codecs = stand_in().with_file_name(CODECS_FILE);
        let packed = pack::pack(&stripped(stand_in()), &stripped(&codecs), 1).expect("packed libraries");
        let room = rest.iter().skip(packed_header_len()).take_while(|byte| **byte == 0).count() + packed_header_len();
        assert!(packed.len() <= room, "{} bytes of libraries, {room} bytes of room", packed.len());
        rest[..packed.len()].copy_from_slice(&packed);
    }
    program
}

/// The length of packed libraries without the frame.
fn packed_header_len() -> usize {
    pack::room(0).len()
}

fn positions(bytes: &[u8], byte: u8) -> impl Iterator<Item = usize> {
    bytes.iter().enumerate().filter(move |(_, found)| **found == byte).map(|(at, _)| at)
}

/// The content of a program or library without symbols and debug information.
fn stripped(file: &Path) -> Vec<u8> {
    let scratch = Scratch::new();
    let out = scratch.join("stripped");
    program::run(Command::new("strip").arg("-o").arg(&out).arg(file)).exits(exit::OK);
    fs::read(out).expect("a stripped file")
}
