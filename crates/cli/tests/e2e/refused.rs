//! What cannot be handled is refused by name, before anything is written.

use super::support::fixture::REFUSED;
use super::support::program::{self, command, exit};
use super::support::{Fixture, Scratch};

/// The one error line for a fixture that must be refused.
fn refusal(name: &str) -> String {
    assert!(REFUSED.contains(&name));
    let (source, scratch) = (Fixture::get(name).repo(), Scratch::new());
    let outcome = program::run(
        command().args(["convert", "--codec", "zstd:5"]).arg(source).arg("-o").arg(scratch.join("variant")),
    );
    let line = outcome.exits(exit::BAD_INPUT).error_line();
    assert_eq!(scratch.names(), [""; 0], "nothing is left behind");
    line
}

#[test]
fn a_reftable_is_refused_by_name() {
    assert!(refusal("reftable").contains("reftable"));
}

#[test]
fn an_unknown_extension_is_refused_by_name() {
    let line = refusal("unknown-extension").to_lowercase();
    assert!(line.contains("timetravel"), "{line}");
}

#[test]
fn a_base_outside_its_pack_is_refused_with_both_names() {
    let line = refusal("outside-base");
    let fixture = Fixture::get("outside-base");
    for object in ["outside-base", "outside-delta"] {
        let id = fixture.note(object);
        assert!(line.contains(&id), "{line} does not name {id}");
    }
}

#[test]
fn a_folder_without_a_repository_is_refused() {
    let scratch = Scratch::new();
    let outcome = program::run(command().args(["convert", "--codec", "zstd:5"]).arg(scratch.path()));
    let line = outcome.exits(exit::BAD_INPUT).error_line();
    assert!(line.contains(&*scratch.path().to_string_lossy()), "{line}");
}

#[test]
fn a_path_that_does_not_exist_is_refused() {
    let scratch = Scratch::new();
    for subcommand in [&["convert", "--codec", "store"][..], &["size"], &["bench", "--codec", "store"]] {
        let outcome = program::run(command().args(subcommand).arg(scratch.join("absent")));
        let line = outcome.exits(exit::BAD_INPUT).error_line();
        assert!(line.contains("absent"), "{line}");
    }
}
