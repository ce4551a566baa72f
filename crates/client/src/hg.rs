//! Sets up hg commands with repackbench's extension.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    process::Command,
};

use repackbench_codec::DICTIONARY_REQUIREMENT;
use repackbench_reader::hg::HgRepository;

use crate::{ClientError, name_of};

/// The prefix of requirements for codecs that hg lacks.
const ENGINES: &str = "exp-compression-";
/// The only requirement with that prefix that hg knows.
const NONE: &str = "exp-compression-none";

/// The settings that hg needs to read `repository`. Where a repository requires an extension that comes with hg, such as
/// `lfs`, hg enables it by itself; `narrow` is the exception.
pub fn settings_to_read(repository: &HgRepository) -> &'static [&'static str] {
    match repository.requirements().contains("narrowhg-experimental") {
        true => &["extensions.narrow="],
        false => &[],
    }
}

/// Checks that hg can read `repository`, with the extension if one was named.
///
/// # Errors
/// Fails if the repository needs an extension that was not named, or if no hg can read it.
pub fn check_hg(repository: &HgRepository, extension: Option<&Path>) -> Result<(), ClientError> {
    let place = name_of(repository.hg_dir());
    let requirements = repository.requirements();
    let required = || requirements.work_tree.iter().chain(&requirements.store);
    let unreadable = [DICTIONARY_REQUIREMENT, repackbench_codec::BASE_REQUIREMENT];
    if let Some(name) = required().find(|name| unreadable.contains(&name.as_str())) {
        let message = format!(
            "{place}: expected a repository that hg can read with repackbench's extension, found the requirement {name}"
        );
        return Err(ClientError::refused(message));
    }
    match required().find(|name| name.starts_with(ENGINES) && *name != NONE) {
        Some(engine) if extension.is_none() => {
            let message = format!("{place}: {engine}: hg has this codec only with repackbench's extension");
            let hint = "`cargo xtask hg-extension` builds it and prints the folder for --hg-extension";
            Err(ClientError::refused(message).with_hint(hint))
        }
        _ => Ok(()),
    }
}

/// The hg command on `repository`, with the extension if one was named.
///
/// # Errors
/// Fails if `program` is not hg, if the repository needs an extension that was not named, or if no hg can read it.
pub fn hg_command(
    repository: &HgRepository,
    extension: Option<&Path>,
    program: &OsStr,
    words: &[OsString],
) -> Result<Command, ClientError> {
    let place = name_of(repository.hg_dir());
    if Path::new(program).file_name() != Some(OsStr::new("hg")) {
        let message = format!("{place}: a Mercurial repository: expected hg after --, found {}", program.display());
        return Err(ClientError::Usage { message });
    }
    check_hg(repository, extension)?;
    let mut command = Command::new(program);
    if let Some(extension) = extension {
        let mut setting = OsString::from("extensions.repackbench=");
        setting.push(extension);
        command.arg("--config").arg(setting);
        // An hg that reads revlogs in Rust does not use codecs of extensions.
        command.env("HGMODULEPOLICY", "c");
    }
    let root = repository.hg_dir().parent().unwrap_or(repository.hg_dir());
    command.arg("--repository").arg(root).args(words);
    Ok(command)
}
