//! The repositories of a fleet: from paths, patterns, folders and lists to a list in which each has a name.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::shard::Shard;
use crate::{
    failure::{FAILED, Failure, USAGE},
    options::is_repository,
};

/// Characters of patterns.
const PATTERN: [char; 3] = ['*', '?', '['];

/// A repository of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FleetMember {
    /// Unique in the fleet.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

/// A line of a manifest in JSONL.
#[derive(Debug, Deserialize)]
struct ManifestLine {
    #[serde(default)]
    name: Option<String>,
    path: PathBuf,
}

/// The repositories that the arguments stand for, sorted by name, each path once.
pub(crate) fn members(arguments: &[String], shard: Shard) -> Result<Vec<FleetMember>, Failure> {
    let mut found = Vec::new();
    for argument in arguments {
        find(argument, &mut found)?;
    }
    let mut paths = BTreeSet::new();
    found.retain(|member| paths.insert(member.path.canonicalize().unwrap_or_else(|_| member.path.clone())));
    let mut names: BTreeMap<&str, &Path> = BTreeMap::new();
    for member in &found {
        if let Some(other) = names.insert(&member.name, &member.path) {
            let (name, path) = (&member.name, member.path.display());
            let why = format!("two repositories have the name {name}: {} and {path}", other.display());
            return Err(Failure::new(USAGE, why));
        }
    }
    if found.is_empty() {
        let hint = "name repositories, a folder with repositories in it, or a list in a .txt or .jsonl file";
        return Err(Failure::new(USAGE, "there is no repository in the manifest").with_hint(hint));
    }
    found.retain(|member| shard.has(&member.name));
    found.sort();
    Ok(found)
}

/// Adds the repositories that one argument stands for.
fn find(argument: &str, found: &mut Vec<FleetMember>) -> Result<(), Failure> {
    let path = Path::new(argument);
    if path.exists() {
        let before = found.len();
        find_at(path, found)?;
        if found.len() == before {
            return Err(Failure::new(USAGE, format!("{argument}: there is no repository in it")));
        }
        return Ok(());
    }
    if !argument.contains(PATTERN) {
        return Err(Failure::new(USAGE, format!("{argument}: no such file or folder")));
    }
    let paths = glob::glob(argument).map_err(|error| Failure::new(USAGE, format!("{argument}: {error}")))?;
    for path in paths {
        match path {
            // A pattern may also match files beside the repositories.
            Ok(path) if path.is_dir() => find_at(&path, found)?,
            Ok(_) => {}
            // There may be repositories in a folder that cannot be read: that is a failure to record.
            Err(error) => found.push(FleetMember::at(error.path().to_owned())),
        }
    }
    Ok(())
}

fn find_at(path: &Path, found: &mut Vec<FleetMember>) -> Result<(), Failure> {
    if path.is_dir() {
        find_below(path, found);
        return Ok(());
    }
    let cannot = |why: &dyn std::fmt::Display| Failure::new(FAILED, format!("{}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| cannot(&error))?;
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    let is_json = path.extension().is_some_and(|extension| extension == "jsonl");
    for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        if is_json {
            let line: ManifestLine =
                serde_json::from_str(line).map_err(|error| cannot(&format!("line {number}: {error}")))?;
            found.push(match line.name {
                Some(name) => FleetMember { name, path: line.path },
                None => FleetMember::at(line.path),
            });
        } else {
            found.push(FleetMember::at(line.into()));
        }
    }
    Ok(())
}

/// Adds the repository in `folder`, or else those in the folders below it. A folder whose name says that it is a
/// repository was meant to be one, and one that cannot be read may be: that is a failure to record. Symbolic links
/// are not followed, so that no repository is found twice.
fn find_below(folder: &Path, found: &mut Vec<FleetMember>) {
    let is_named = folder.extension().is_some_and(|extension| extension == "git");
    let entries = if is_named || is_repository(folder) { None } else { folders_in(folder).ok() };
    match entries {
        Some(folders) => folders.iter().for_each(|folder| find_below(folder, found)),
        None => found.push(FleetMember::at(folder.to_owned())),
    }
}

/// The folders in `folder`.
fn folders_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            folders.push(entry.path());
        }
    }
    Ok(folders)
}

impl FleetMember {
    fn at(path: PathBuf) -> Self {
        FleetMember { name: path.display().to_string(), path }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn bare(path: &Path) {
        for folder in ["objects", "refs"] {
            fs::create_dir_all(path.join(folder)).unwrap();
        }
        fs::write(path.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    /// The names that the arguments stand for, below the folder.
    fn names(folder: &Path, arguments: &[&str]) -> Result<Vec<String>, String> {
        let arguments: Vec<String> = arguments.iter().map(|name| folder.join(name).display().to_string()).collect();
        let found = members(&arguments, Shard::ALL).map_err(|failure| failure.to_string())?;
        let root = format!("{}/", folder.display());
        Ok(found.into_iter().map(|member| member.name.replace(&root, "")).collect())
    }

    #[test]
    fn folders_patterns_and_lists_name_repositories_once() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        for name in ["forge/b.git", "forge/deep/a", "forge/deep/c.git"] {
            bare(&folder.join(name));
        }
        fs::create_dir_all(folder.join("forge/broken.git")).unwrap();
        fs::create_dir_all(folder.join("forge/empty")).unwrap();
        fs::create_dir_all(folder.join("tree/.git")).unwrap();
        let all = ["forge/b.git", "forge/broken.git", "forge/deep/a", "forge/deep/c.git"];
        assert_eq!(names(folder, &["forge"]).unwrap(), all);
        assert_eq!(names(folder, &["forge", "forge/b.git", "tree"]).unwrap(), [&all[..], &["tree"]].concat());
        assert_eq!(names(folder, &["forge/d*/*.git"]).unwrap(), ["forge/deep/c.git"]);
        assert_eq!(names(folder, &["forge/*.git"]).unwrap(), ["forge/b.git", "forge/broken.git"]);
        assert_eq!(names(folder, &["forge/broken.git"]).unwrap(), ["forge/broken.git"]);
        assert!(names(folder, &["forge/empty"]).unwrap_err().contains("no repository"));
        assert!(names(folder, &["missing"]).unwrap_err().contains("no such file"));
        let list = format!("# all\n\n{}\n/no/such\n", folder.join("tree").display());
        fs::write(folder.join("list.txt"), list).unwrap();
        // Their order depends on the folder.
        let listed: BTreeSet<String> = names(folder, &["list.txt"]).unwrap().into_iter().collect();
        assert_eq!(listed, ["/no/such", "tree"].map(str::to_owned).into());
    }

    #[test]
    fn names_of_a_manifest_are_unique() {
        let scratch = tempfile::tempdir().unwrap();
        let manifest = |text: &str| {
            fs::write(scratch.path().join("list.jsonl"), text).unwrap();
            names(scratch.path(), &["list.jsonl"])
        };
        let named = r#"{"name":"one","path":"/a"}"#.to_owned() + "\n" + r#"{"path":"/b"}"# + "\n";
        assert_eq!(manifest(&named).unwrap(), ["/b", "one"]);
        let twice = r#"{"name":"one","path":"/a"}"#.to_owned() + "\n" + r#"{"name":"one","path":"/b"}"#;
        assert!(manifest(&twice).unwrap_err().contains("two repositories have the name one"));
        assert!(manifest("{}").unwrap_err().contains("line 1"));
    }
}
