//! `cargo xtask test`: installs what the tests need, builds and runs all tests, and reports where the time went.
//!
//! There is one build for all tests. cargo chooses the features of dependencies by the packages that are built
//! together, so each further selection of packages would compile hundreds of crates again. The build has the feature of
//! the codec that the default build leaves out.

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
use std::path::Path;
use std::time::Instant;

use self::arguments::Arguments;
use self::build::{Targets, TestBinary, variable_of_features};
use self::run::{Surroundings, run_binary};
use self::scratch::ScratchSpace;
use self::staged::Staged;
use self::times::{Part, Times};
use crate::needs::Machine;
use crate::process::{self, Failure, Outcome, cargo};
use crate::{cmake, git, mercurial};

/// Environment variables for the build and the tests: the PATH, and the paths of cmake, hg and the built libraries.
type Variables = Vec<(&'static str, OsString)>;

/// Runs the chore.
pub(crate) fn run(words: &[OsString]) -> Outcome<()> {
    let arguments = Arguments::parse(words)?;
    if arguments.stress {
        return stress::run(&arguments);
    }
    let mut times = Times::default();
    let variables = times.of(Part::Needs, install)?;
    let scratch = ScratchSpace::choose()?;
    let starter = permissions::starter_that_respects_them();
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

/// Installs what is missing, and returns the environment variables with the paths.
fn install() -> Outcome<Variables> {
    let machine = Machine::this();
    machine.install_missing()?;
    let variables = with_path(mercurial::install()?, &crate::target_dir().join("git"), &machine)?;
    process::run(cargo().args(["fetch", "--locked"]))?;
    Ok(variables)
}

/// Adds the path of cmake and a PATH with a git that the tests can use. Both are installed if they are missing, the git
/// in the folder `git`.
fn with_path(mut variables: Variables, git: &Path, machine: &Machine) -> Outcome<Variables> {
    let (git, cmake) = (git::install(git, machine)?, cmake::install()?);
    let folder_of_cmake = cmake.as_deref().and_then(Path::parent).map(Path::to_owned);
    variables.push(("PATH", machine.path_with_first(git.into_iter().chain(folder_of_cmake))?));
    variables.extend(cmake.map(|cmake| (cmake::VARIABLE, cmake.into_os_string())));
    Ok(variables)
}

fn run_all(surroundings: &Surroundings, variables: &Variables, times: &mut Times) -> Outcome<()> {
    let built = times.of(Part::Compiling, || build::build(&Targets::All, variables))?;
    let staged = Staged::new(&built.programs, &std::env::temp_dir())?;
    let mut failures = run_binaries(&built.binaries, &[], surroundings, &with_staged(variables, &staged), times)?;
    failures.extend(times.of(Part::Crates, || build::examples_in_documentation(variables)));
    report(failures)
}

fn run_matching(
    names: &[String],
    surroundings: &Surroundings,
    variables: &Variables,
    times: &mut Times,
) -> Outcome<()> {
    let selection = selection::find(crate::workspace_root(), names)?;
    let built = times.of(Part::Compiling, || build::build(&selection.targets(), variables))?;
    let binaries: Vec<TestBinary> = built.binaries.iter().filter(|binary| selection.has(binary)).cloned().collect();
    let staged = Staged::new(&built.programs, &std::env::temp_dir())?;
    let variables = with_staged(variables, &staged);
    let failures = run_binaries(&binaries, names, surroundings, &variables, times)?;
    if times.tests() == 0 {
        return Err(Failure(format!("no test name contains {}", names.join(" or "))));
    }
    report(failures)
}

/// Adds the variables for tests that load programs and libraries which cargo does not build with the tests.
fn with_staged(variables: &Variables, staged: &Staged) -> Variables {
    variables.iter().cloned().chain([staged.variable(), variable_of_features()]).collect()
}

/// Runs each binary and returns the names of failed tests. A failure does not stop the other binaries.
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
    Err(Failure(format!("{} tests failed", failures.len())))
}
