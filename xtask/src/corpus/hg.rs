//! Making a Mercurial repository of a Git repository, with a stated release of hg.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::Trouble;
use super::fetch::{failed, remove};
use super::manifest::{Conversion, Converted};
use crate::environment::isolated;
use crate::mercurial;
use crate::process::{Failure, output};

/// Converts what `source` holds into `folder`, unless an earlier call did, and gives what came of it.
pub(super) fn convert(name: &str, conversion: &Conversion, source: &Path, folder: &Path) -> Result<Converted, Trouble> {
    // Without hg nothing was found that differs.
    let program = mercurial::newest().map_err(|Failure(message)| Trouble::NotFetched(message))?;
    if !folder.exists() {
        let version = output(hg(&program).args(["version", "--quiet"]))?;
        if !version.contains(&format!("(version {})", conversion.hg)) {
            let expected = &conversion.hg;
            return Err(Trouble::NotFetched(format!("expected hg {expected} to convert it, found {}", version.trim())));
        }
        eprintln!("{name}: converting with hg {}", conversion.hg);
        let unfinished = folder.with_extension("unfinished");
        remove(&unfinished)?;
        let mut convert = hg(&program);
        // Deltas are chosen by their compressed lengths too, so the engine is a part of what is meant.
        convert.args(["--config", "extensions.convert=", "--config", "format.revlog-compression=zlib"]);
        convert.args(["convert", "--quiet", "--datesort", "--source-type", "git", "--dest-type", "hg"]);
        if let Err(Failure(message)) = output(convert.arg(source).arg(&unfinished)) {
            remove(&unfinished)?;
            // Above the reason there are thousands of warnings.
            let reason = message.lines().last().unwrap_or_default();
            return Err(Trouble::Failed(format!("hg convert: {reason}")));
        }
        fs::rename(&unfinished, folder).map_err(|error| failed(folder, &error))?;
    }
    let mut log = hg(&program);
    let tip = output(log.arg("--cwd").arg(folder).args(["log", "--rev", "tip", "--template", "{rev} {node}"]))?;
    let parsed = tip.split_once(' ').and_then(|(rev, node)| Some((rev.parse::<u64>().ok()?.checked_add(1)?, node)));
    let (changesets, node) = parsed.ok_or_else(|| Trouble::Failed(format!("hg log said {tip:?}")))?;
    Ok(Converted { changesets, tip: node.to_owned() })
}

/// hg as it is without any configuration, and the git that it calls likewise: renames are found by git's rules.
fn hg(program: &OsStr) -> Command {
    let mut command = isolated(program);
    command.envs([("HGRCPATH", ""), ("HGPLAIN", "1"), ("LC_ALL", "C.UTF-8"), ("TZ", "UTC")]);
    command.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")]);
    for variable in ["HGENCODING", "HGENCODINGMODE", "GIT_DIR"] {
        command.env_remove(variable);
    }
    command
}
