//! Finds the test targets that contain the tests of a name, by searching the sources, so that nothing else is built.
//!
//! A name selects tests as libtest's filter does: those whose path, `module::function`, contains it. Modules are
//! recognized by files and `mod` lines, functions by the attribute above them. For a function that a macro makes, a
//! match in the macro's call is enough. Selecting a target too many only costs the time to build it, because tests that
//! do not match are not run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::build::{Targets, TestBinary};
use crate::files::{entries, read_text, with_extension};
use crate::process::{Failure, Outcome};

/// The folders of packages below the workspace's root.
const GROUPS: [&str; 2] = ["crates", "integrations"];

/// Packages directly below the root.
const AT_ROOT: [&str; 2] = ["benches", "xtask"];

/// The test targets that may contain tests of some names: packages by folder, and integration tests also by target.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    units: BTreeSet<PathBuf>,
    integration: BTreeSet<(PathBuf, String)>,
}

impl Selection {
    pub(crate) fn targets(&self) -> Targets {
        let tests: BTreeSet<String> = self.integration.iter().map(|(_, target)| target.clone()).collect();
        Targets::Named { lib: !self.units.is_empty(), tests: tests.into_iter().collect() }
    }

    /// Whether `binary` is selected.
    pub(crate) fn has(&self, binary: &TestBinary) -> bool {
        if binary.is_integration {
            self.integration.contains(&(binary.folder.clone(), binary.target.clone()))
        } else {
            self.units.contains(&binary.folder)
        }
    }
}

/// Finds the targets of the workspace at `root` that may contain tests with one of `names`.
pub(crate) fn find(root: &Path, names: &[String]) -> Outcome<Selection> {
    let mut selection = Selection::default();
    for package in packages(root)? {
        for file in with_extension(&package.join("src"), "rs")? {
            if may_hold(&file, &module_path(&package.join("src"), &file), names)? {
                selection.units.insert(package.clone());
            }
        }
        let tests = package.join("tests");
        for file in with_extension(&tests, "rs")? {
            let modules = module_path(&tests, &file);
            let Some((target, modules)) = modules.split_first() else { continue };
            if may_hold(&file, modules, names)? {
                selection.integration.insert((package.clone(), target.clone()));
            }
        }
    }
    if selection == Selection::default() {
        return Err(Failure(format!("no test name contains {}", names.join(" or "))));
    }
    Ok(selection)
}

fn packages(root: &Path) -> Outcome<Vec<PathBuf>> {
    let mut packages: Vec<PathBuf> = AT_ROOT.iter().map(|name| root.join(name)).collect();
    for group in GROUPS {
        packages.extend(entries(&root.join(group))?);
    }
    packages.retain(|folder| folder.join("Cargo.toml").is_file());
    packages.sort();
    Ok(packages)
}

/// The path of the module in a file below `root`: `a`, `b` for `a/b.rs` and `a/b/mod.rs`.
fn module_path(root: &Path, file: &Path) -> Vec<String> {
    let below = file.strip_prefix(root).unwrap_or(file).with_extension("");
    let mut modules: Vec<String> = below.iter().map(|component| component.to_string_lossy().into_owned()).collect();
    if modules.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        modules.pop();
    }
    modules
}

/// Whether a file with this module path may contain a test whose path contains one of `names`.
fn may_hold(file: &Path, modules: &[String], names: &[String]) -> Outcome<bool> {
    Ok(text_may_hold(&read_text(file)?, modules, names))
}

fn text_may_hold(text: &str, modules: &[String], names: &[String]) -> bool {
    if !["#[test]", "proptest!", "test!"].iter().any(|sign| text.contains(sign)) {
        return false;
    }
    let inner: Vec<&str> = text.lines().filter_map(|line| line.trim_start().strip_prefix("mod ")).collect();
    let module =
        |part: &str| modules.iter().any(|module| module.contains(part)) || inner.iter().any(|line| line.contains(part));
    names.iter().any(|name| {
        let parts: Vec<&str> = name.split("::").filter(|part| !part.is_empty()).collect();
        match parts.split_last() {
            None => true,
            Some((last, before)) => before.iter().all(|part| module(part)) && (module(last) || is_test(text, last)),
        }
    })
}

/// Whether `part` occurs in a function below a test attribute, or in a line of a macro's call.
fn is_test(text: &str, part: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let mut is_below = false;
    lines.any(|line| {
        let names_it = line.contains(part) && (is_below && line.contains("fn ") || line.contains("=>"));
        is_below = line.starts_with("#[") || (is_below && !line.contains("fn "));
        names_it
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
        fn helper_of_ours() {}
        mod inner {
            #[test]
            #[should_panic]
            fn it_panics() {}
        }
        conversions! { no_config => \"no-config\", }
    ";

    #[test]
    fn tests_are_found_by_function_module_or_macro() {
        let has = |name: &str| text_may_hold(SOURCE, &["serve".to_owned()], &[name.to_owned()]);
        for name in ["it_panics", "panics", "serve", "serve::", "inner::it_panics", "serve::inner", "no_config"] {
            assert!(has(name), "{name}");
        }
        for name in ["helper_of_ours", "other", "other::it_panics"] {
            assert!(!has(name), "{name}");
        }
        assert!(!text_may_hold("fn serve() {}", &["serve".to_owned()], &["serve".to_owned()]), "it has no tests");
    }

    #[test]
    fn files_map_to_modules() {
        let of = |file: &str| module_path(Path::new("/w/src"), Path::new(file)).join("::");
        assert_eq!(of("/w/src/lib.rs"), "");
        assert_eq!(of("/w/src/git/mod.rs"), "git");
        assert_eq!(of("/w/src/git/pack.rs"), "git::pack");
        assert_eq!(of("/w/src/e2e/main.rs"), "e2e");
    }

    #[test]
    fn test_of_this_workspace_is_found() {
        let found = find(crate::workspace_root(), &["files_map_to_modules".to_owned()]).unwrap();
        assert_eq!(found.targets(), Targets::Named { lib: true, tests: Vec::new() });
        assert_eq!(found.units.into_iter().collect::<Vec<_>>(), [crate::workspace_root().join("xtask")]);
        let missing = find(crate::workspace_root(), &[format!("no_such_{}", "test")]);
        assert!(missing.is_err_and(|Failure(message)| message.contains("no test name contains")));
    }
}
