//! A chain of 200,000 deltas, each based on the previous one. Code that walks to its start for every delta would take
//! hours, and code that recurses for every delta would overflow the stack.

use std::path::PathBuf;

use crate::support::program::{self, command, exit, replay, text};
use crate::support::{Scratch, crafted, git};

const DELTAS: usize = 200_000;

/// A chain of `deltas` deltas, each of which changes the number at the start of its base. The last object is a file.
fn chain(scratch: &Scratch, deltas: usize) -> PathBuf {
    let python = format!(
        "rest = b' is the number of this object in its chain\\n'\n\
         length = 8 + len(rest)\n\
         offset = pack.whole('blob', b'%08d' % 0 + rest)\n\
         for number in range(1, {deltas} + 1):\n    \
             start = b'%08d' % number\n    \
             delta = delta_varint(length) * 2 + b'\\x08' + start + bytes([0x91, 8, len(rest)])\n    \
             offset = pack.offset_delta('blob', offset, delta, start + rest)\n\
         oid = pack.entries[-1][0]\n{}",
        crafted::AS_A_FILE
    );
    crafted::repository(scratch, &python)
}

/// Otherwise the other tests would not be about a valid pack.
#[test]
fn git_reads_a_short_chain() {
    let scratch = Scratch::new();
    let repo = chain(&scratch, 1000);
    git::output(&repo, ["fsck", "--full", "--strict"]);
    assert_eq!(replay(&repo, "sizes", &[]).exits(exit::OK).text(), git::objects(&repo));
}

#[test]
fn commands_walk_the_chain_once() {
    let scratch = Scratch::new();
    let repo = chain(&scratch, DELTAS);
    let sizes = replay(&repo, "sizes", &[]).exits(exit::OK).text();
    assert_eq!(sizes.lines().count(), DELTAS + 3);
    assert_eq!(sizes.lines().filter(|line| line.ends_with(" blob 51")).count(), DELTAS + 1);

    let chains = program::run(command().args(["chains", "--quiet"]).arg(&repo)).exits(exit::OK).text();
    let longest = chains.lines().find(|line| line.starts_with("50+")).unwrap_or_else(|| panic!("{chains}"));
    assert!(longest.contains("199,951"), "{chains}");

    let into = scratch.join("out");
    replay(&repo, "checkout", &["--output", text(&into)]).exits(exit::OK);
    let content = std::fs::read_to_string(into.join("file")).expect("the file");
    assert_eq!(content, format!("{DELTAS:08} is the number of this object in its chain\n"));
    let size = program::run(command().arg("size").arg(&repo)).exits(exit::OK).text();
    // 14 payload bytes for each delta.
    assert!(size.lines().any(|line| line.starts_with("payload, blob, delta ") && line.ends_with(" 2.80")), "{size}");
}

#[test]
fn chain_converts_to_every_layout() {
    let scratch = Scratch::new();
    let repo = chain(&scratch, DELTAS);
    let all = replay(&repo, "cat-all", &[]).exits(exit::OK).text();
    assert_eq!(
        all.lines().filter(|line| line.ends_with(" is the number of this object in its chain")).count(),
        DELTAS + 1
    );
    for (number, options) in [
        &["--codec", "zstd:1"][..],
        &["--codec", "zstd:1,prefix"],
        &["--codec", "store", "--order", "checkout"],
        &["--codec", "store", "--store", "btree"],
    ]
    .into_iter()
    .enumerate()
    {
        let variant = scratch.join(&number.to_string());
        let mut convert = command();
        convert.args(["convert", "--quiet"]).args(options).arg(&repo).arg("-o").arg(&variant);
        program::run(&mut convert).exits(exit::OK);
        program::run(command().arg("verify").arg(&repo).arg(&variant)).exits(exit::OK);
    }
}
