//! Collects the licences of the linked crates and of the C sources in them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::files::{entries, failed};
use crate::process::{Failure, Outcome, cargo, output};

/// The names of licence files, without their ending.
const NAMES: [&str; 4] = ["LICENSE", "LICENCE", "UNLICENSE", "NOTICE"];

/// How many folder levels of a crate are searched: deep enough for the C libraries in it.
const DEPTH: usize = 3;

/// The program, and the libraries that it contains.
const PROGRAM: [&str; 3] = ["repackbench-cli", "repackbench-preload", "repackbench-preload-codecs"];

/// Prints the licences of what `cargo install` builds without features.
pub(crate) fn run(arguments: &[OsString]) -> Outcome<()> {
    if !arguments.is_empty() {
        return Err(Failure("licences takes no arguments".into()));
    }
    print!("{}", of_dependencies(&PROGRAM, "")?);
    Ok(())
}

/// Lists the dependencies of `packages` with these `features` and their licences, then each distinct text once, with the
/// files that have it.
pub(crate) fn of_dependencies(packages: &[&str], features: &str) -> Outcome<String> {
    let sources = sources()?;
    let mut tree = cargo();
    tree.args(["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}|{l}"]);
    tree.args(["--features", features]);
    let listed = output(tree.args(packages.iter().flat_map(|package| ["--package", package])))?;
    let mut list = String::from("repackbench is linked with these libraries:\n\n");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // cargo marks repeated lines with (*).
    let lines: BTreeSet<&str> = listed.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    for line in lines {
        let Some((package, licence)) = line.split_once('|') else { continue };
        let words: Vec<&str> = package.split(' ').collect();
        // The line of a crate of this workspace has its path after the version.
        let [name, version] = words.as_slice() else { continue };
        let unpacked = format!("{name}-{}", version.trim_start_matches('v'));
        let folder = sources
            .get(&unpacked)
            .ok_or_else(|| Failure(format!("{unpacked}: expected its sources, unpacked by cargo")))?;
        let _ = writeln!(list, "{name} {version}: {licence}");
        collect(folder, folder, DEPTH, &format!("{name} {version}"), &mut texts)?;
    }
    for (text, owners) in texts {
        let _ = write!(list, "\n{}\n{}\n\n{text}", "-".repeat(80), owners.join("\n"));
    }
    Ok(list)
}

/// The folders into which cargo has unpacked crates from registries, by `NAME-VERSION`.
fn sources() -> Outcome<BTreeMap<String, PathBuf>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let registries = home.ok_or_else(|| Failure("CARGO_HOME: expected a folder".into()))?.join("registry").join("src");
    let mut sources = BTreeMap::new();
    for registry in entries(&registries)? {
        for source in entries(&registry)? {
            if let Some(name) = source.file_name() {
                sources.insert(name.to_string_lossy().into_owned(), source);
            }
        }
    }
    Ok(sources)
}

/// Adds the licence texts in `place`, a folder of the crate at `root`, to `texts`.
fn collect(
    root: &Path,
    place: &Path,
    depth: usize,
    owner: &str,
    texts: &mut BTreeMap<String, Vec<String>>,
) -> Outcome<()> {
    for path in entries(place)? {
        if path.is_dir() {
            if depth > 1 {
                collect(root, &path, depth - 1, owner, texts)?;
            }
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if NAMES.iter().any(|prefix| name.starts_with(prefix)) {
            let bytes = fs::read(&path).map_err(|error| failed(&path, &error))?;
            let inside = path.strip_prefix(root).unwrap_or(&path).display();
            texts.entry(String::from_utf8_lossy(&bytes).into_owned()).or_default().push(format!("{owner}: {inside}"));
        }
    }
    Ok(())
}
