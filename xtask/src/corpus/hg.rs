//! Converts a Git repository to Mercurial with a given release of hg.

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

/// The file in a converted repository that names its commit and the release of hg. A conversion with another note is
/// not used.
const NOTE: &str = ".hg/corpus";

/// Converts the entry's commit from `source` into `folder`, unless an earlier call did. Returns facts about the result.
pub(super) fn convert(
    entry: &Entry,
    conversion: &Conversion,
    source: &Path,
    folder: &Path,
) -> Result<Converted, Trouble> {
    let name = &entry.name;
    let note = format!("{} by hg {}\n", entry.commit, conversion.hg);
    // Without hg there is nothing to compare, which is not a difference.
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
        // hg also chooses deltas by their compressed lengths, so the compression engine has to be fixed.
        convert.args(["--config", "extensions.convert=", "--config", "format.revlog-compression=zlib"]);
        convert.args(["convert", "--quiet", "--datesort", "--source-type", "git", "--dest-type", "hg"]);
        if let Err(Failure(message)) = output(convert.arg(source).arg(&unfinished)) {
            remove_folder(&unfinished)?;
            // Thousands of warnings may precede the reason.
            let reason = message.lines().last().unwrap_or_default();
            return Err(Trouble::Failed(format!("hg convert: {reason}")));
        }
        fs::write(unfinished.join(NOTE), note).map_err(|error| failed(&unfinished.join(NOTE), &error))?;
        fs::rename(&unfinished, folder).map_err(|error| failed(folder, &error))?;
    }
    let mut log = hg(&program);
    let tip = output(log.arg("--cwd").arg(folder).args(["log", "--rev", "tip", "--template", "{rev} {node}"]))?;
    let parsed = tip.split_once(' ').and_then(|(rev, node)| Some((rev.parse::<u64>().ok()?.checked_add(1)?, node)));
    let (changesets, node) = parsed.ok_or_else(|| Trouble::Failed(format!("hg log printed {tip:?}")))?;
    Ok(Converted { changesets, tip: node.to_owned() })
}

/// Checks that an earlier call made `folder` from the commit and with the hg in `expected`.
fn check_note(folder: &Path, expected: &str) -> Result<(), Trouble> {
    let found = fs::read_to_string(folder.join(NOTE)).unwrap_or_default();
    if found == expected {
        return Ok(());
    }
    let (folder, expected) = (folder.display(), expected.trim_end());
    let found = if found.is_empty() { "no note" } else { found.trim_end() };
    Err(Trouble::Differs(vec![format!(
        "{folder}: expected a conversion of {expected}, found {found}; remove the folder to convert it again"
    )]))
}

/// An hg command without any configuration. The git that it calls has none either, because git's rules find renames.
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
