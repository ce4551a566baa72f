//! Revsets: hg's own language for sets of changesets.

use std::path::Path;

use repackbench_client::{HgProgram, check_hg, settings_to_read};
use repackbench_reader::hg::HgRepository;

use super::{copy_store, output};
use crate::arms::stock::StockError;

/// Asks `hg` for the last changeset of the revset `set`, which is the one that its own commands use where they need a
/// single revision. It is asked of a copy without configuration, in `scratch`, so no alias or extension of the source
/// has a part in it.
///
/// # Errors
/// hg cannot read the repository by itself, rejects the revset, or finds it empty.
pub fn last_of_revset(
    hg: &HgProgram,
    repository: &HgRepository,
    set: &str,
    scratch: &Path,
) -> Result<String, StockError> {
    check_hg(repository, None)?;
    let root = scratch.join("asked");
    copy_store(repository, &root)?;
    let mut command = hg.command();
    for setting in settings_to_read(repository) {
        command.args(["--config", setting]);
    }
    command.arg("-R").arg(&root).args(["log", "-T", "{node}", "-r", &format!("last({set})")]);
    let found = output(command.env("HOME", scratch).current_dir(scratch))?;
    match String::from_utf8(found) {
        // A set with brackets of its own could name several.
        Ok(node) if [40, 64].contains(&node.len()) => Ok(node),
        _ => Err(StockError::refused(format!("the revset {set} has no changeset"))),
    }
}
