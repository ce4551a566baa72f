//! Variants with a dictionary. Fixtures are too small to train one, so it is given.

use std::fs;
use std::path::Path;

use super::git;
use super::program::{self, Scratch, command, convert, exit};

/// The length of the dictionary. A zlib stream can use at most 32 KiB.
const LENGTH: usize = 8 << 10;

/// Converts, with a dictionary of the newest patches of the source if `codec` has `dict=file`.
#[track_caller]
pub(crate) fn convert_with_dictionary(source: &Path, codec: &str, options: &[&str], out: &Path) {
    if !codec.contains("dict=file") {
        return convert(source, codec, out);
    }
    let scratch = Scratch::new();
    let dictionary = scratch.join("dictionary");
    let mut patches = git::git(source, ["log", "-p", "--all"]).exits(exit::OK).stdout;
    patches.truncate(LENGTH);
    fs::write(&dictionary, patches).expect("a dictionary");
    let mut conversion = command();
    conversion.args(["convert", "--quiet", "--codec", codec, "--dict"]).arg(&dictionary).args(options);
    program::run(conversion.arg(source).arg("-o").arg(out)).exits(exit::OK);
    assert!(out.join("objects/info/repackbench/dictionaries").exists());
}
