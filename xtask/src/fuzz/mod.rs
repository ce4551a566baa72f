//! `cargo xtask fuzz`: runs the targets of the package `fuzz` with libFuzzer, each for a time and under a memory cap.
//!
//! The committed corpora are copied to `target/fuzz/corpus`, where they grow. What crashes a target is in
//! `target/fuzz/artifacts`.

mod arguments;
mod build;
mod minimize;
mod run;

use std::ffi::OsString;
use std::path::PathBuf;

use self::run::Campaign;
use crate::files;
use crate::process::{Failure, Outcome};

/// Runs the chore.
pub(crate) fn run(words: &[OsString]) -> Outcome<()> {
    let arguments = arguments::parse(words)?;
    let targets = arguments.chosen(targets(&files::read_text(&package().join("Cargo.toml"))?))?;
    if arguments.list {
        targets.iter().for_each(|target| println!("{target}"));
        return Ok(());
    }
    let programs = build::build(&targets)?;
    if arguments.minimize {
        return targets.iter().try_for_each(|target| minimize::minimize(&programs, target));
    }
    println!("{}", Campaign::HEADING);
    let mut crashed = Vec::new();
    for target in targets {
        let campaign = run::run(&programs, &target, arguments.time(&target))?;
        println!("{campaign}");
        crashed.extend(campaign.crashes);
    }
    match crashed.is_empty() {
        true => Ok(()),
        false => Err(Failure(report(&crashed))),
    }
}

fn report(crashed: &[PathBuf]) -> String {
    let list: Vec<String> = crashed.iter().map(|path| format!("\n  {}", path.display())).collect();
    format!(
        "these inputs crash a target; the logs in target/fuzz/logs say why:{}\nMend each, move it to \
         fuzz/crashes/TARGET under a name that says what was wrong, and write a test of that name.",
        list.concat()
    )
}

/// The names of the programs in a manifest.
fn targets(manifest: &str) -> Vec<String> {
    let bins = manifest.split("[[bin]]").skip(1);
    bins.filter_map(|bin| Some(bin.split_once("name = \"")?.1.split_once('"')?.0.to_owned())).collect()
}

/// The package of the targets.
fn package() -> PathBuf {
    crate::workspace_root().join("fuzz")
}

/// The folder of everything that fuzzing writes, except for a new committed corpus.
fn folder() -> PathBuf {
    crate::target_dir().join("fuzz")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_those_of_the_manifest() {
        let manifest =
            "[package]\nname = \"no\"\n\n[[bin]]\nname = \"pack\"\npath = \"x\"\n\n[[bin]]\nname = \"spec\"\n";
        assert_eq!(targets(manifest), ["pack", "spec"]);
        let own = targets(&files::read_text(&package().join("Cargo.toml")).unwrap());
        assert!(own.len() > 10 && own.contains(&"preload".to_owned()), "{own:?}");
    }
}
