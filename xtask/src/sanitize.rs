//! `cargo xtask sanitize`: runs the tests of every crate with `unsafe` under the sanitizers for addresses, leaks and, in
//! C, undefined behaviour.
//!
//! Undefined behaviour in Rust is what Miri finds, but Miri cannot run C, and all `unsafe` of this project is there to
//! call C. Debug assertions check what `unsafe` functions of the standard library require instead.

use std::ffi::OsString;

use crate::nightly;
use crate::process::{self, Failure, Outcome};

/// The crates with `unsafe` that have tests. A test compares them with the sources.
const CRATES: [&str; 5] = ["codec", "fuzzing", "pagecache", "preload", "preload-codecs"];

/// Rust: addresses and leaks, also in libraries that a test loads. The program lends them the sanitizer.
const RUST: &str = "-Zsanitizer=address -Cdebug-assertions -Cforce-frame-pointers \
                    -Clink-arg=-Wl,--export-dynamic-symbol=__asan_*";

/// C: the same, and undefined behaviour, which ends the program with SIGILL. Not checked is what libraries do on purpose:
/// shifts and offsets that wrap, and loads of several bytes at any address. GCC, whose options these are, takes zstd's
/// constant arrays of functions for variables on the stack, so the use of those after their scope is not checked.
const C: &str = "-O1 -fsanitize=address,undefined -fsanitize-undefined-trap-on-error \
                 -fno-sanitize-address-use-after-scope \
                 -fno-sanitize=alignment,shift,pointer-overflow -fno-omit-frame-pointer";

/// Reports leaks, and strings of C without an end.
const OPTIONS: &str = "detect_leaks=1:abort_on_error=0:strict_string_checks=1";

/// Tests that cannot run, by crate. Programs into which some preload the library have no sanitizer to lend, the allocator
/// of the sanitizer does not say how much is allocated, and its memory does not fit into a small group.
const SKIPPED: [(&str, &str); 3] =
    [("preload", "consumers::"), ("codec", "heap::"), ("pagecache", "group_limits_the_cache")];

/// Runs the chore on the named crates, by default all.
pub(crate) fn run(words: &[OsString]) -> Outcome<()> {
    let crates = chosen(words)?;
    nightly::check()?;
    let host = nightly::host()?;
    let target = crate::target_dir().join("sanitize");
    let cargo = |word: &str| {
        let mut command = nightly::command("cargo");
        command.arg(word).args(["--locked", "--target", &host, "--target-dir"]).arg(&target);
        command.env("RUSTFLAGS", RUST).env("CFLAGS", C);
        command
    };
    process::run(cargo("build").args(["--package", "repackbench-preload", "--package", "repackbench-preload-codecs"]))?;
    for name in crates {
        let mut tests = cargo("test");
        tests.args(["--package", &format!("repackbench-{name}"), "--lib", "--tests"]);
        tests.env("ASAN_OPTIONS", [OPTIONS, nightly::ADDRESS_OPTIONS].join(":"));
        tests.env("REPACKBENCH_TEST_BUILT", target.join(&host).join("debug"));
        if let Some((_, skipped)) = SKIPPED.iter().find(|(of, _)| *of == name) {
            tests.args(["--", "--skip", skipped]);
        }
        process::run(&mut tests)?;
    }
    Ok(())
}

fn chosen(words: &[OsString]) -> Outcome<Vec<&'static str>> {
    let find = |word: &OsString| {
        CRATES.into_iter().find(|name| word == name).ok_or_else(|| {
            Failure(format!("sanitize takes names of crates with `unsafe` and tests: {}", CRATES.join(", ")))
        })
    };
    match words {
        [] => Ok(CRATES.to_vec()),
        words => words.iter().map(find).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::files;

    /// Whether a source file below `folder` has this word outside of comments and names.
    fn has_word(folder: &Path, word: &str) -> bool {
        let sources = files::with_extension(folder, "rs").unwrap();
        sources.iter().any(|path| files::read_text(path).unwrap().lines().any(|line| line.contains(word)))
    }

    #[test]
    fn crates_with_unsafe_and_tests_are_listed() {
        let crates = files::entries(&crate::workspace_root().join("crates")).unwrap();
        let listed = crates.into_iter().filter(|folder| {
            let has_unsafe = ["unsafe {", "unsafe fn"].iter().any(|word| has_word(&folder.join("src"), word));
            has_unsafe && has_word(folder, "#[test]")
        });
        let names: BTreeSet<String> =
            listed.map(|folder| folder.file_name().unwrap().to_string_lossy().into_owned()).collect();
        assert_eq!(names, CRATES.map(str::to_owned).into());
    }

    #[test]
    fn unknown_crates_are_refused() {
        assert_eq!(chosen(&["codec".into()]).unwrap(), ["codec"]);
        assert!(chosen(&["reader".into()]).is_err_and(|Failure(message)| message.contains("pagecache")));
    }
}
