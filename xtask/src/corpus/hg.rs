//! Making a Mercurial repository of a Git repository, with a stated release of hg.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::Trouble;
use super::fetch::MISLEADING;
use super::manifest::{Conversion, Converted, Entry};
use crate::environment::isolated;
use crate::files::{failed, remove_folder};
use crate::mercurial;
use crate::process::{Failure, output};

/// What a conversion was made of and by which hg, below its folder. What is there of another commit or release is not what is meant.
const NOTE: &str = ".hg/corpus";

/// Converts what `source` holds, the entry's commit, into `folder`, unless an earlier call did, and gives what came of it.
pub(super) fn convert(
    entry: &Entry,
    conversion: &Conversion,
    source: &Path,
    folder: &Path,
) -> Result<Converted, Trouble> {
    let name = &entry.name;
    let note = format!("{} by hg {}\n", entry.commit, conversion.hg);
    // Without hg nothing was found that differs.
    let program = mercurial::newest().map_err(|Failure(message)| Trouble::NotConverted(message))?;
    if folder.exists() {
        check_note(folder, &note)?;
    } else {
        let version = output(hg(&program).args(["version", "--quiet"]))?;
        if !version.contains(&format!("(version {})", conversion.hg)) {
            let expected = &conversion.hg;
            let found = version.trim();
            return Err(Trouble::NotConverted(format!("expected hg {expected} to convert it, found {found}")));
        }
        eprintln!("{name}: converting with hg {}", conversion.hg);
        let unfinished = folder.with_extension("unfinished");
        remove_folder(&unfinished)?;
        let mut convert = hg(&program);
        // Deltas are chosen by their compressed lengths too, so the engine is a part of what is meant.
        convert.args(["--config", "extensions.convert=", "--config", "format.revlog-compression=zlib"]);
        convert.args(["convert", "--quiet", "--datesort", "--source-type", "git", "--dest-type", "hg"]);
        if let Err(Failure(message)) = output(convert.arg(source).arg(&unfinished)) {
            remove_folder(&unfinished)?;
            // Above the reason there are thousands of warnings.
            let reason = message.lines().last().unwrap_or_default();
            return Err(Trouble::Failed(format!("hg convert: {reason}")));
        }
        fs::write(unfinished.join(NOTE), note).map_err(|error| failed(&unfinished.join(NOTE), &error))?;
        fs::rename(&unfinished, folder).map_err(|error| failed(folder, &error))?;
    }
    let mut log = hg(&program);
    let tip = output(log.arg("--cwd").arg(folder).args(["log", "--rev", "tip", "--template", "{rev} {node}"]))?;
    let parsed = tip.split_once(' ').and_then(|(rev, node)| Some((rev.parse::<u64>().ok()?.checked_add(1)?, node)));
    let (changesets, node) = parsed.ok_or_else(|| Trouble::Failed(format!("hg log said {tip:?}")))?;
    Ok(Converted { changesets, tip: node.to_owned() })
}

/// Sees that an earlier call made `folder` of the commit and by the hg that `expected` tells.
fn check_note(folder: &Path, expected: &str) -> Result<(), Trouble> {
    let found = fs::read_to_string(folder.join(NOTE)).unwrap_or_default();
    if found == expected {
        return Ok(());
    }
    let (folder, expected) = (folder.display(), expected.trim_end());
    let found = if found.is_empty() { "nothing that says so" } else { found.trim_end() };
    Err(Trouble::Differs(vec![format!(
        "{folder}: expected a conversion of {expected}, found {found}: remove the folder to convert it again"
    )]))
}

/// hg as it is without any configuration, and the git that it calls likewise: renames are found by git's rules.
fn hg(program: &OsStr) -> Command {
    let mut command = isolated(program);
    command.envs([("HGRCPATH", ""), ("HGPLAIN", "1"), ("LC_ALL", "C.UTF-8"), ("TZ", "UTC")]);
    command.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")]);
    let settings = ["HGENCODING", "HGENCODINGMODE", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"];
    for variable in settings.iter().chain(&MISLEADING) {
        command.env_remove(variable);
    }
    command
}
