//! `repackbench convert --check`: damage that still decodes, which a conversion alone copies.

use std::path::Path;

use crate::support::hg::open_revlog::OpenRevlog;
use crate::support::open_pack::OpenPack;
use crate::support::program::{self, Outcome, command, convert, exit};
use crate::support::{Fixture, Scratch};
use crate::verify::some_loose_object;

fn converted(source: &Path, scratch: &Scratch, options: &[&str]) -> Outcome {
    let mut convert = command();
    convert.args(["convert", "--codec", "zlib:1"]).args(options).arg(source).arg("-o").arg(scratch.join("out"));
    program::run(&mut convert)
}

/// A variant of `source` under `codec` that `damage` changes, converted with options that check no hash, and with those
/// that check them. The error of the latter must have all `words`.
#[track_caller]
fn is_found_by_hashes_alone(
    source: &Path,
    codec: &str,
    [without, with]: [&[&str]; 2],
    damage: impl FnOnce(&Path),
    words: &[&str],
) {
    let (variants, outputs) = (Scratch::new(), Scratch::new());
    let variant = variants.join("variant");
    convert(source, codec, &variant);
    let sound = converted(&variant, &outputs, &[with, &["--force"]].concat()).exits(exit::OK);
    assert!(sound.text().contains("checked the hashes of "), "{}", sound.text());
    damage(&variant);
    converted(&variant, &outputs, &[without, &["--force", "-q"]].concat()).exits(exit::OK);
    let outputs = Scratch::new();
    let line = converted(&variant, &outputs, with).exits(exit::BAD_INPUT).error_line();
    for word in words {
        assert!(line.contains(word), "{word} is not named: {line}");
    }
    assert_eq!(outputs.names(), [""; 0], "no files remain");
}

/// The options of Git, which checks only on request, and those of Mercurial.
const GIT: [&[&str]; 2] = [&[], &["--check"]];
const MERCURIAL: [&[&str]; 2] = [&["--no-check"], &[]];

/// Every checksum is right.
#[test]
fn object_under_a_wrong_name_is_found() {
    let damage = |variant: &Path| {
        let mut pack = OpenPack::open(variant);
        // The last byte of an id: the order of the index stays as it is.
        pack.index[1032 + 20 * 10 + 19] ^= 1;
        pack.reseal_and_write();
    };
    is_found_by_hashes_alone(
        &Fixture::get("bare").repo(),
        "zlib:9",
        GIT,
        damage,
        &["pack-", "offset ", "expected", "found"],
    );
}

#[test]
fn loose_object_under_a_wrong_name_is_found() {
    let damage = |variant: &Path| {
        let (_, loose) = some_loose_object(variant);
        let mut name = loose.file_name().expect("a name").to_string_lossy().into_owned();
        let last = if name.pop() == Some('0') { '1' } else { '0' };
        name.push(last);
        std::fs::rename(&loose, loose.with_file_name(name)).expect("the object under another name");
    };
    is_found_by_hashes_alone(&Fixture::get("work-tree").repo(), "zlib:9", GIT, damage, &["expected", "found"]);
}

#[test]
fn revision_with_another_text_is_found() {
    let damage = |variant: &Path| {
        let mut revlog = OpenRevlog::open(variant, "data/story.txt");
        let chunk = revlog.chunk(0);
        chunk[chunk.len() / 2] ^= 1;
        revlog.write();
    };
    let words = ["story.txt.i at offset 64, revision 0", "expected", "found"];
    is_found_by_hashes_alone(&Fixture::hg("default").repo(), "store", MERCURIAL, damage, &words);
}

#[test]
fn tree_of_files_has_nothing_to_check() {
    let outcome = converted(&Fixture::get("bare").repo(), &Scratch::new(), &["--check", "--store", "files"]);
    assert!(outcome.exits(exit::USAGE).error_line().contains("--check"));
}
