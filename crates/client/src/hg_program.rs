//! The user's hg, for commands of this program's own.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::Command,
};

use crate::{ClientError, absolute, find_program, isolation, name_of, run};

/// What a version begins with.
const VERSION: &str = "Mercurial Distributed SCM";

/// The user's hg, as found once, for commands in isolation.
#[derive(Debug, Clone)]
pub struct HgProgram {
    program: PathBuf,
    name: String,
    banner: String,
    extension: Option<PathBuf>,
}

impl HgProgram {
    /// The hg that `name` starts, a path or a name on the PATH, asked for its version. `extension` is where repackbench's Mercurial
    /// extension lies: codecs that hg does not have need it.
    ///
    /// # Errors
    /// [`ClientError::Program`]: there is none, or it is no hg.
    pub fn new(name: impl AsRef<OsStr>, extension: Option<&Path>) -> Result<Self, ClientError> {
        let program = find_program(name.as_ref())?;
        let name = program.file_name().unwrap_or(OsStr::new("hg")).to_string_lossy().into_owned();
        let extension = extension.map(absolute).transpose()?;
        let mut hg = HgProgram { program, name, banner: String::new(), extension };
        let mut command = hg.command();
        command.args(["version", "-q"]);
        hg.banner = run::ask(command, &format!("{} version", name_of(&hg.program)))?;
        match hg.banner.starts_with(VERSION) {
            true => Ok(hg),
            false => {
                let why = format!("expected \"{VERSION} ...\", found {:?}", hg.banner);
                Err(ClientError::Program { command: format!("{} version", name_of(&hg.program)), why })
            }
        }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.program
    }

    /// The name of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it says of itself: `Mercurial Distributed SCM (version 7.2)`.
    pub fn banner(&self) -> &str {
        &self.banner
    }

    /// The version alone: `7.2`.
    pub fn version(&self) -> &str {
        let version = self.banner.rsplit_once("(version ").map_or(self.banner.as_str(), |(_, version)| version);
        version.trim_end_matches(')')
    }

    /// repackbench's extension, if it was named.
    pub fn extension(&self) -> Option<&Path> {
        self.extension.as_deref()
    }

    /// hg in isolation, on no repository yet and without the extension.
    pub fn command(&self) -> Command {
        isolation::hg(&self.program)
    }

    /// Lets `command` have the extension at `extension`, and write with `codec` if one is named.
    pub fn extend(command: &mut Command, extension: &Path, codec: Option<&str>) {
        let mut setting = OsString::from("extensions.repackbench=");
        setting.push(extension);
        command.arg("--config").arg(setting).args(["--config", "extensions.repackbench:required=yes"]);
        if let Some(codec) = codec {
            command.args(["--config", &format!("repackbench.codec={codec}")]);
        }
    }
}
