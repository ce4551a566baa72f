//! `repackbench peak-memory`, which the program runs itself between a benchmark and a command of git or hg.

use std::fs;

use super::support::program::exit;
use super::support::{Scratch, repackbench};

/// A command that holds a buffer of so many MiB.
fn holding(mebibytes: u32) -> [String; 5] {
    [
        "dd".to_owned(),
        "if=/dev/zero".to_owned(),
        "of=/dev/null".to_owned(),
        format!("bs={mebibytes}M"),
        "count=1".to_owned(),
    ]
}

#[test]
fn the_peak_is_the_command_s_and_not_that_of_who_asks() {
    // More than the command holds.
    let ours = vec![1_u8; 160 << 20];
    let (scratch, file) = (Scratch::new(), "told");
    let told = scratch.join(file);
    let words = ["peak-memory".to_owned(), told.to_str().expect("a path in UTF-8").to_owned()];
    repackbench(words.into_iter().chain(holding(32))).exits(exit::OK);
    std::hint::black_box(&ours);
    let peak: u64 = fs::read_to_string(&told).expect("a peak").trim_end().parse().expect("a number");
    assert!((32 << 20..96 << 20).contains(&peak), "{peak}");
}

#[test]
fn it_ends_as_the_command_does_and_stands_in_no_help() {
    let scratch = Scratch::new();
    let told = scratch.join("told");
    let path = told.to_str().expect("a path in UTF-8");
    let outcome = repackbench(["peak-memory", path, "sh", "-c", "cat; echo said; exit 7"]).exits(7);
    assert_eq!(outcome.text(), "said\n");
    repackbench(["peak-memory", path]).exits(exit::USAGE);
    assert!(!repackbench(["--help"]).exits(exit::OK).text().contains("peak-memory"));
}
