//! hg with repackbench's extension.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process::Command,
};

use repackbench_codec::DICTIONARY_REQUIREMENT;
use repackbench_reader::hg::HgRepository;

use crate::{ClientError, name_of};

/// What the requirements of codecs that hg does not have begin with.
const ENGINES: &str = "exp-compression-";
/// The one of them that hg knows.
const NONE: &str = "exp-compression-none";

/// The command, on `repository` and with the extension where one was named.
///
/// # Errors
/// `program` is not hg, or the repository needs an extension that was not named, or what no hg can read.
pub fn hg_command(
    repository: &HgRepository,
    extension: Option<&Path>,
    program: &OsStr,
    words: &[OsString],
) -> Result<Command, ClientError> {
    let place = name_of(repository.hg_dir());
    if Path::new(program).file_name() != Some(OsStr::new("hg")) {
        let message = format!("{place}: a Mercurial repository: expected hg behind --, found {}", program.display());
        return Err(ClientError::Usage { message });
    }
    let requirements = repository.requirements();
    let required = || requirements.work_tree.iter().chain(&requirements.store);
    let unreadable = [DICTIONARY_REQUIREMENT, repackbench_codec::BASE_REQUIREMENT];
    if let Some(name) = required().find(|name| unreadable.contains(&name.as_str())) {
        let message = format!("{place}: expected what hg can read with repackbench's extension, found {name}");
        return Err(ClientError::refused(message));
    }
    let engine = required().find(|name| name.starts_with(ENGINES) && *name != NONE);
    let mut command = Command::new(program);
    match (extension, engine) {
        (Some(extension), _) => {
            let mut setting = OsString::from("extensions.repackbench=");
            setting.push(extension);
            command.arg("--config").arg(setting);
            // An hg that reads revlogs in Rust knows no codecs of extensions.
            command.env("HGMODULEPOLICY", "c");
        }
        (None, Some(engine)) => {
            let message = format!("{place}: {engine}: hg has this codec only with repackbench's extension");
            let hint = "`cargo xtask hg-extension` builds it and prints the folder for --hg-extension";
            return Err(ClientError::refused(message).with_hint(hint));
        }
        (None, None) => {}
    }
    let root = repository.hg_dir().parent().unwrap_or(repository.hg_dir());
    command.arg("--repository").arg(root).args(words);
    Ok(command)
}
