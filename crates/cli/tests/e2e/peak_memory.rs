//! `repackbench peak-memory`, which a benchmark runs between itself and a command of git or hg.

use std::fs;

use crate::support::program::{exit, text};
use crate::support::{Scratch, repackbench};

/// A command that holds a buffer of this size.
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
fn reports_the_peak_of_the_command_only() {
    // More than the command holds.
    let ours = vec![1_u8; 160 << 20];
    let scratch = Scratch::new();
    let file = scratch.join("peak");
    let words = ["peak-memory".to_owned(), text(&file).to_owned()];
    repackbench(words.into_iter().chain(holding(32))).exits(exit::OK);
    std::hint::black_box(&ours);
    let peak: u64 = fs::read_to_string(&file).expect("a peak").trim_end().parse().expect("a number");
    assert!((32 << 20..96 << 20).contains(&peak), "{peak}");
}

#[test]
fn passes_on_the_exit_code_and_is_hidden_from_help() {
    let scratch = Scratch::new();
    let file = scratch.join("peak");
    let path = text(&file);
    let outcome = repackbench(["peak-memory", path, "sh", "-c", "cat; echo said; exit 7"]).exits(7);
    assert_eq!(outcome.text(), "said\n");
    repackbench(["peak-memory", path]).exits(exit::USAGE);
    assert!(!repackbench(["--help"]).exits(exit::OK).text().contains("peak-memory"));
}
