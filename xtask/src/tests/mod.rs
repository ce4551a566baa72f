//! `cargo xtask test`: see that what the tests call is there, build every test, run them, and say where the time went.
//!
//! One build serves all: cargo chooses the features of dependencies by what is built together, so that each further selection of
//! packages would compile hundreds of crates again. It has the feature of the codec that the default build leaves out; what the
//! default build says in its place is tested at the end.

mod arguments;
pub(crate) mod build;
mod permissions;
mod run;
mod scratch;
mod selection;
mod staged;
mod stress;
mod times;

use std::ffi::OsString;
use std::time::Instant;

use self::arguments::Arguments;
use self::build::{Features, Targets, TestBinary};
use self::run::{Surroundings, run_binary};
use self::scratch::ScratchSpace;
use self::staged::Staged;
use self::times::{Part, Times};
use crate::needs::Machine;
use crate::process::{self, Failure, Outcome, cargo};
use crate::{cmake, mercurial};

/// The variables that the build and the tests need: where cmake, hg and the built libraries are.
type Variables = Vec<(&'static str, OsString)>;

/// The test targets that say what the default build refuses.
const DEFAULT_BUILD: [&str; 2] = ["preload", "spec"];

/// Runs the chore.
pub(crate) fn run(words: &[OsString]) -> Outcome<()> {
    let arguments = Arguments::parse(words)?;
    if arguments.stress {
        return stress::run(&arguments);
    }
    let mut times = Times::default();
    let variables = times.of(Part::Needs, install)?;
    let scratch = ScratchSpace::choose()?;
    let starter = permissions::without_the_power_to_ignore_them();
    let surroundings = Surroundings { variables: scratch.variables(), starter, ..arguments.surroundings() };
    let _writable_again = permissions::WritableAgain(crate::target_dir().join("tmp").join("fixtures"));
    let outcome = if arguments.names.is_empty() {
        run_all(&surroundings, &variables, &mut times)
    } else {
        run_matching(&arguments.names, &surroundings, &variables, &mut times)
    };
    eprint!("{times}");
    outcome
}

/// Makes what is missing, and gives the variables that say where it is.
fn install() -> Outcome<Variables> {
    Machine::this().install_what_is_missing()?;
    let mut variables = mercurial::install()?;
    variables.extend(cmake::install()?);
    process::run(cargo().args(["fetch", "--locked"]))?;
    Ok(variables)
}

fn run_all(surroundings: &Surroundings, variables: &Variables, times: &mut Times) -> Outcome<()> {
    let built = times.of(Part::Compiling, || build::build(&Targets::All, Features::All, variables))?;
    let staged = Staged::new(&built.programs, &std::env::temp_dir())?;
    let variables_of_all = with_staged(variables, &staged, Features::All);
    let mut failures = run_binaries(&built.binaries, &[], surroundings, &variables_of_all, times)?;
    let default = Targets::Named { lib: false, tests: DEFAULT_BUILD.map(str::to_owned).into() };
    let built = times.of(Part::Compiling, || build::build(&default, Features::Default, variables))?;
    let variables = with_staged(variables, &staged, Features::Default);
    failures.extend(run_binaries(&built.binaries, &[], surroundings, &variables, times)?);
    report(failures)
}

fn run_matching(
    names: &[String],
    surroundings: &Surroundings,
    variables: &Variables,
    times: &mut Times,
) -> Outcome<()> {
    let selection = selection::find(crate::workspace_root(), names)?;
    let built = times.of(Part::Compiling, || build::build(&selection.targets(), Features::All, variables))?;
    let binaries: Vec<TestBinary> = built.binaries.iter().filter(|binary| selection.has(binary)).cloned().collect();
    let staged = Staged::new(&built.programs, &std::env::temp_dir())?;
    let variables = with_staged(variables, &staged, Features::All);
    let failures = run_binaries(&binaries, names, surroundings, &variables, times)?;
    if times.tests() == 0 {
        return Err(Failure(format!("no test is called {}", names.join(" or "))));
    }
    report(failures)
}

/// `variables`, and those that say what the tests find of what cargo builds with none of them.
fn with_staged(variables: &Variables, staged: &Staged, features: Features) -> Variables {
    variables.iter().cloned().chain([staged.variable()]).chain(features.variable()).collect()
}

/// Runs each binary, and gives the names of tests that failed. One that fails stops no other.
fn run_binaries(
    binaries: &[TestBinary],
    names: &[String],
    surroundings: &Surroundings,
    variables: &Variables,
    times: &mut Times,
) -> Outcome<Vec<String>> {
    let mut failures = Vec::new();
    for binary in binaries {
        let started = Instant::now();
        let ran = run_binary(binary, names, surroundings, variables, &mut std::io::stdout().lock())?;
        times.add(Part::of(binary), started.elapsed());
        times.add_tests(binary, &ran.tests);
        failures.extend(ran.failed().iter().map(|test| binary.full_name(test)));
    }
    Ok(failures)
}

fn report(failures: Vec<String>) -> Outcome<()> {
    if failures.is_empty() {
        return Ok(());
    }
    eprintln!("failed tests:");
    failures.iter().for_each(|name| eprintln!("  {name}"));
    Err(Failure(format!("{} of the tests failed", failures.len())))
}
