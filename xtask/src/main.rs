//! The project's own chores, run as `cargo xtask CHORE`.
//!
//! They hold the commands that a newcomer needs, so that no document has to list them: a demonstration on a real
//! repository, the whole test suite with everything it needs, the fixture repositories, and more.

#![forbid(unsafe_code)]

mod benches;
mod cmake;
mod corpus;
mod coverage;
mod demo;
mod deny;
mod differential;
mod dist;
mod docs;
mod draw;
mod environment;
#[cfg(test)]
#[path = "../../fixtures/executable.rs"]
mod executable;
mod faults;
mod files;
mod fixtures;
mod fleet;
mod fuzz;
mod git;
mod git_perf;
mod git_source;
mod git_suite;
mod hg_extension;
mod instructions;
mod licences;
mod mercurial;
mod mutate;
mod needs;
mod nightly;
mod process;
mod publish;
mod results;
mod sanitize;
mod slopes;
mod stock;
mod tests;
mod trial_arguments;
mod typed_time;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use process::Failure;

const USAGE: &str = "\
usage: cargo xtask CHORE

chores:
  demo [REPO]          build the program, then convert, verify, size and bench REPO (default: this checkout)
  test [NAME...]       install what the tests need, then build and run all tests, or those whose names contain a NAME.
                       Reports the slowest tests. --threads N runs N tests at once, --seed N uses a random order
  test --stress [NAME...]
                       run the tests in eight environments that no test may depend on: load, a slow disk, other users,
                       paths, languages and versions of git. --runs N,N... selects some of the eight. Needs root
  fixtures [NAME...]   make the fixture repositories in target/fixtures (default: all)
  instructions         count the instructions of the code that measurements depend on, and compare them with the
                       committed baseline. --update writes a new baseline
  benches              run the criterion benches for a moment each, to see that they work. Words go to criterion, and then
                       the run has its usual length
  hg-extension         build the Mercurial extension and print the folder to give to hg
  dist [--out DIR]     build everything that is installed, pack it into an archive, a Debian package and wheels, try each
                       of them, and print their paths. With --portable, they run on glibc 2.28 and later
  licences             print the licences of the libraries that `cargo install` links into the program
  docs                 make the site of the documents with mdBook in target/docs, and check its links and the spelling.
                       Prints the path of the first page
  corpus [NAME...]     fetch the repositories that figures are measured on, and check that they have not changed.
                       --list lists them, --check also compares the sizes of their variants byte by byte
  coverage REPO...     estimate repositories with many seeds, and print how often the intervals of sizes hold the true
                       size, and the errors. --seeds N, --codec SPEC, --time TIME, --program FILE
  deny                 check the licences and sources of all dependencies against deny.toml. Needs cargo-deny
  differential REPO... convert repositories there and back, and check that stock git or hg reads the same objects, refs and
                       phases in the result. --codec SPEC, --program FILE
  faults REPO...       convert copies of Git or Mercurial repositories, in place and into new folders, under strace, which
                       kills the program at 200 system calls and makes others fail, and check each with stock git or hg.
                       --way WAY, --kills N, --errors N, --only KIND, --program FILE
  fleet [N] [REPO...]  make N repositories (default: 1000) from the histories of those named (default: this checkout), run
                       `repackbench fleet` on them in two shards with kills and resumes, and check that every one has
                       exactly one final record. --time, --as-found, --kills N, --seed N, --program FILE
  fuzz [TARGET...]     run the fuzz targets, each for --time TIME and under a memory cap, and print what they covered.
                       --minimize chooses a committed corpus among the inputs found. Needs nightly and cargo-fuzz
  git-perf             run git's own performance scripts on variants; see docs/git-perf.md
  mutate [REPO]        damage each file of REPO and of its variants at random (default: some fixtures), and check that the
                       program refuses it, or reads what stock git or hg reads. --cases N (default: 1000), --target,
                       --seed, --case K, --jobs, --time, --program. See CONTRIBUTING.md
  publish              package the library crates, build each from its package alone, and upload nothing
  results              make the page of results, docs/results, from the committed records. --check compares instead,
                       and `results collect FOLDER --out FILE` measures the listed repositories in FOLDER
  git-suite            run git's own tests with the stand-in for zlib, reading and writing; see docs/git-suite.md
  sanitize [CRATE...]  run the tests of the crates with `unsafe` under sanitizers: addresses, leaks and, in C, undefined
                       behaviour. Needs nightly
  semver COMMIT        compare the public items of the library crates with those of a commit or tag. Needs
                       cargo-semver-checks
  slopes REPO...       measure how time and memory grow with the size of a repository; see docs/large.md. With
                       --source REPO... instead, makes a series of growing size of their histories. Linux only
";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let chore = arguments.next();
    let rest: Vec<OsString> = arguments.collect();
    let outcome = match chore.as_ref().and_then(|name| name.to_str()) {
        Some("demo") => demo::run(&rest),
        Some("test") => tests::run(&rest),
        Some("fixtures") => fixtures::run(&rest),
        Some("instructions") => instructions::run(&rest),
        Some("benches") => benches::run(&rest),
        Some("deny") => deny::run(&rest),
        Some("dist") => dist::run(&rest),
        Some("licences") => licences::run(&rest),
        Some("docs") => docs::run(&rest),
        Some("corpus") => match corpus::run(&rest) {
            Ok(code) => return code,
            Err(failure) => Err(failure),
        },
        Some("coverage") => coverage::run(&rest),
        Some("differential") => differential::run(&rest),
        Some("faults") => faults::run(&rest),
        Some("fleet") => fleet::run(&rest),
        Some("fuzz") => fuzz::run(&rest),
        Some("git-perf") => git_perf::run(&rest),
        Some("git-suite") => git_suite::run(&rest),
        Some("mutate") => mutate::run(&rest),
        Some("publish") => publish::run(&rest),
        Some("results") => results::run(&rest),
        Some("sanitize") => sanitize::run(&rest),
        Some("semver") => publish::semver(&rest),
        Some("slopes") => slopes::run(&rest),
        Some("hg-extension") => hg_extension::run(&rest),
        Some("help" | "--help" | "-h") => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(message)) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the checkout: the folder above this package.
fn workspace_root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// The folder in which cargo builds; the chores write only there.
fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => workspace_root().join(dir),
        None => workspace_root().join("target"),
    }
}
