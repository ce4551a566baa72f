//! Unsupported repositories are rejected by name before anything is written.

use crate::support::fixture::REFUSED;
use crate::support::program::{self, command, exit};
use crate::support::{Fixture, Scratch};

/// The error line for a fixture that must be rejected.
fn refusal(name: &str) -> String {
    assert!(REFUSED.contains(&name));
    let (source, scratch) = (Fixture::get(name).repo(), Scratch::new());
    let outcome = program::run(
        command().args(["convert", "--codec", "zstd:5"]).arg(source).arg("-o").arg(scratch.join("variant")),
    );
    let line = outcome.exits(exit::BAD_INPUT).error_line();
    assert_eq!(scratch.names(), [""; 0], "no files remain");
    line
}

#[test]
fn rejects_an_unknown_extension() {
    let line = refusal("unknown-extension").to_lowercase();
    assert!(line.contains("timetravel"), "{line}");
}

#[test]
fn rejects_a_base_outside_its_pack_and_names_both() {
    let line = refusal("outside-base");
    let fixture = Fixture::get("outside-base");
    for object in ["outside-base", "outside-delta"] {
        let id = fixture.note(object);
        assert!(line.contains(&id), "{line} does not name {id}");
    }
}

#[test]
fn rejects_a_folder_without_a_repository() {
    let scratch = Scratch::new();
    let outcome = program::run(command().args(["convert", "--codec", "zstd:5"]).arg(scratch.path()));
    let line = outcome.exits(exit::BAD_INPUT).error_line();
    assert!(line.contains(&*scratch.path().to_string_lossy()), "{line}");
}

#[test]
fn rejects_a_path_that_does_not_exist() {
    let scratch = Scratch::new();
    for subcommand in [&["convert", "--codec", "store"][..], &["size"], &["bench", "--codec", "store"]] {
        let outcome = program::run(command().args(subcommand).arg(scratch.join("absent")));
        let line = outcome.exits(exit::BAD_INPUT).error_line();
        assert!(line.contains("absent"), "{line}");
    }
}
