//! Builds tests, and reads from cargo's messages what it built.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Variables;
use crate::cmake;
use crate::process::{self, Failure, Outcome, cargo};

/// The features of the codec that the default build leaves out: those of what is installed, and that of the crate whose
/// own tests need it.
pub(crate) const FEATURES: [&str; 4] = ["--features", "repackbench-codec/zlib-ng", "--features", cmake::FEATURES];

/// The environment variable that names that codec for tests that load built libraries and cannot see the features.
pub(crate) fn variable_of_features() -> (&'static str, OsString) {
    ("REPACKBENCH_TEST_ZLIB_NG", "yes".into())
}

/// The test targets to build. Packages are never selected; see the parent module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Targets {
    /// Every test, and the libraries that tests load.
    All,
    /// Some tests, and the libraries that tests load.
    Named {
        /// Whether to build all unit tests.
        lib: bool,
        /// The names of the integration tests.
        tests: Vec<String>,
    },
}

/// A test program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestBinary {
    /// The name of its package.
    pub(crate) package: String,
    /// The name of its target; for unit tests, the package's library or program.
    pub(crate) target: String,
    /// Whether it is an integration test.
    pub(crate) is_integration: bool,
    /// The path of the program.
    pub(crate) executable: PathBuf,
    /// The folder of the package, in which tests run.
    pub(crate) folder: PathBuf,
}

/// The result of a build.
#[derive(Debug, Default)]
pub(crate) struct Built {
    /// The test programs, sorted by package and target.
    pub(crate) binaries: Vec<TestBinary>,
    /// The folder with the programs and libraries that are not tests.
    pub(crate) programs: PathBuf,
}

/// Builds `targets` in this checkout.
pub(crate) fn build(targets: &Targets, variables: &Variables) -> Outcome<Built> {
    build_in(&crate::target_dir(), cargo, targets, variables)
}

/// Builds `targets` with the `cargo` of some checkout, in its folder `target`. Diagnostics go to the terminal.
pub(crate) fn build_in(
    target: &Path,
    cargo: impl Fn() -> Command,
    targets: &Targets,
    variables: &Variables,
) -> Outcome<Built> {
    let mut built = Built { binaries: Vec::new(), programs: target.join("debug") };
    for selection in selections(targets) {
        let mut command = cargo();
        command.args(&selection).args(["--workspace", "--locked"]).args(FEATURES);
        command.arg("--message-format=json-render-diagnostics").envs(variables.iter().cloned());
        built.read(&messages(&mut command)?)?;
    }
    built.binaries.sort_by(|a, b| (&a.package, &a.target, &a.executable).cmp(&(&b.package, &b.target, &b.executable)));
    built.binaries.dedup();
    Ok(built)
}

/// Runs the examples in the documentation of the crates, which cargo builds and runs at once. Returns the failures.
pub(crate) fn examples_in_documentation(variables: &Variables) -> Vec<String> {
    let mut command = cargo();
    command.args(["test", "--doc", "--workspace", "--locked"]).args(FEATURES);
    match process::run(command.envs(variables.iter().cloned())) {
        Ok(()) => Vec::new(),
        Err(Failure(message)) => vec![format!("(examples in the documentation: {message})")],
    }
}

/// Runs cargo and returns its standard output. Its stderr goes to the terminal.
fn messages(command: &mut Command) -> Outcome<String> {
    let shown = process::shown(command);
    eprintln!("$ {shown}");
    let failed = |error: &dyn std::fmt::Display| Failure(format!("{shown}: {error}"));
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| failed(&error))
}

/// The cargo commands that build `targets`. The libraries need `build`, because `test` builds only the form that tests
/// link.
fn selections(targets: &Targets) -> Vec<Vec<String>> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    match targets {
        Targets::All => vec![words(&["build", "--lib", "--bins", "--tests"])],
        Targets::Named { lib, tests } => {
            let mut selections = Vec::new();
            if *lib {
                selections.push(words(&["test", "--no-run", "--lib", "--bins"]));
            }
            if !tests.is_empty() {
                let mut selection = words(&["build", "--lib"]);
                selection.extend(tests.iter().flat_map(|test| ["--test".to_owned(), test.clone()]));
                selections.push(selection);
            }
            selections
        }
    }
}

impl Built {
    /// Adds the test programs in cargo's messages, which are lines of JSON.
    fn read(&mut self, messages: &str) -> Outcome<()> {
        for line in messages.lines().filter(|line| line.starts_with('{')) {
            let message: Value =
                serde_json::from_str(line).map_err(|error| Failure(format!("a message of cargo: {error}")))?;
            if message["reason"] != "compiler-artifact" {
                continue;
            }
            self.binaries.extend(test_binary(&message));
        }
        Ok(())
    }
}

fn test_binary(message: &Value) -> Option<TestBinary> {
    if message["profile"]["test"] != true {
        return None;
    }
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
    let kinds = message["target"]["kind"].as_array()?;
    Some(TestBinary {
        package: package_name(message["package_id"].as_str()?)?.to_owned(),
        target: message["target"]["name"].as_str()?.to_owned(),
        is_integration: kinds.iter().any(|kind| kind == "test"),
        executable: message["executable"].as_str()?.into(),
        folder: folder.to_owned(),
    })
}

/// The name in a package id: `path+file:///FOLDER#NAME@VERSION`, or `path+file:///FOLDER#VERSION` if the folder has the
/// same name.
fn package_name(id: &str) -> Option<&str> {
    let (path, fragment) = id.rsplit_once('#')?;
    match fragment.split_once('@') {
        Some((name, _)) => Some(name),
        None => path.rsplit('/').next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/codec#repackbench-codec@0.1.0","manifest_path":"/w/crates/codec/Cargo.toml","target":{"kind":["test"],"name":"spec"},"profile":{"test":true},"filenames":["/w/target/debug/deps/spec-1"],"executable":"/w/target/debug/deps/spec-1"}
{"reason":"compiler-artifact","package_id":"path+file:///w/xtask#0.1.0","manifest_path":"/w/xtask/Cargo.toml","target":{"kind":["bin"],"name":"xtask"},"profile":{"test":true},"filenames":["/w/target/debug/deps/xtask-1"],"executable":"/w/target/debug/deps/xtask-1"}
{"reason":"compiler-artifact","package_id":"path+file:///w/xtask#0.1.0","manifest_path":"/w/xtask/Cargo.toml","target":{"kind":["bin"],"name":"xtask"},"profile":{"test":false},"filenames":["/w/target/debug/xtask"],"executable":"/w/target/debug/xtask"}
{"reason":"compiler-artifact","package_id":"path+file:///w/crates/preload#repackbench-preload@0.1.0","manifest_path":"/w/crates/preload/Cargo.toml","target":{"kind":["cdylib"],"name":"repackbench_preload"},"profile":{"test":false},"filenames":["/w/target/debug/librepackbench_preload.so"],"executable":null}
{"reason":"build-finished","success":true}
"#;

    #[test]
    fn test_programs_are_found_in_messages_of_cargo() {
        let mut built = Built::default();
        built.read(MESSAGES).unwrap();
        let found: Vec<(&str, &str, bool)> =
            built.binaries.iter().map(|binary| (&*binary.package, &*binary.target, binary.is_integration)).collect();
        assert_eq!(found, [("repackbench-codec", "spec", true), ("xtask", "xtask", false)]);
        assert_eq!(built.binaries[0].folder, Path::new("/w/crates/codec"));
    }

    #[test]
    fn only_selected_targets_are_built() {
        let words = |targets| selections(&targets).iter().map(|words| words.join(" ")).collect::<Vec<String>>();
        let e2e = || vec!["e2e".to_owned()];
        assert_eq!(words(Targets::All), ["build --lib --bins --tests"]);
        assert_eq!(words(Targets::Named { lib: false, tests: e2e() }), ["build --lib --test e2e"]);
        let both = words(Targets::Named { lib: true, tests: e2e() });
        assert_eq!(both, ["test --no-run --lib --bins", "build --lib --test e2e"]);
    }
}
