//! `cargo xtask fixtures`: makes the fixture repositories under `target/fixtures`, to look at them. Tests make their
//! own copies.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files;
use crate::git;
use crate::mercurial;
use crate::needs::Machine;
use crate::process::{Failure, Outcome, run as run_command};

/// Runs the chore. Each argument is the name of a fixture, with or without `.sh`; no argument means all fixtures.
pub(crate) fn run(names: &[OsString]) -> Outcome<()> {
    let scripts = scripts()?;
    for name in names {
        if !scripts.iter().any(|script| is_called(script, name)) {
            return Err(Failure(format!("no fixture is named {}", name.to_string_lossy())));
        }
    }
    let wanted = |script: &PathBuf| names.is_empty() || names.iter().any(|name| is_called(script, name));
    let scripts: Vec<PathBuf> = scripts.into_iter().filter(wanted).collect();
    let machine = Machine::this();
    machine.install_missing()?;
    let path = machine.path_with_first(git::install(&crate::target_dir().join("git"), &machine)?)?;
    let versions_of_hg = if scripts.iter().any(|script| calls_hg(script)) { mercurial::install()? } else { Vec::new() };
    for script in scripts {
        let Some(stem) = script.file_stem() else { continue };
        let folder = folder(stem);
        files::remove_folder(&folder)?;
        run_command(
            Command::new("bash").arg(&script).arg(&folder).env("PATH", &path).envs(versions_of_hg.iter().cloned()),
        )?;
    }
    Ok(())
}

/// The folder of the fixture `name`.
pub(crate) fn folder(name: impl AsRef<Path>) -> PathBuf {
    crate::target_dir().join("fixtures").join(name)
}

/// Every fixture script, sorted by name: `git-*.sh` and `hg-*.sh` in `fixtures/`.
fn scripts() -> Outcome<Vec<PathBuf>> {
    let mut scripts = files::entries(&crate::workspace_root().join("fixtures"))?;
    scripts.retain(|path| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        (name.starts_with("git-") || name.starts_with("hg-")) && name.ends_with(".sh")
    });
    Ok(scripts)
}

fn calls_hg(script: &Path) -> bool {
    script.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("hg-"))
}

fn is_called(script: &Path, name: &OsStr) -> bool {
    script.file_name() == Some(name) || script.file_stem() == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixtures_are_found_with_or_without_ending() {
        let scripts = scripts().expect("the fixture scripts");
        let named = |name: &str| scripts.iter().filter(|script| is_called(script, OsStr::new(name))).count();
        assert_eq!((named("git-bare"), named("git-bare.sh"), named("hg-default"), named("bare")), (1, 1, 1, 0));
        assert_eq!((named("lib.sh"), named("hg_lib.sh")), (0, 0));
    }
}
