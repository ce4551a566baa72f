//! Runs the user's hg for commands of this program's own.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use crate::{ClientError, absolute, child, find_program, isolation, name_of};

/// The beginning of hg's version line.
const VERSION: &str = "Mercurial Distributed SCM";

/// The user's hg, found once, for commands in isolation.
#[derive(Debug, Clone)]
pub struct HgProgram {
    program: PathBuf,
    name: String,
    banner: String,
    extension: Option<PathBuf>,
}

/// The version line of `program`, which is asked once: starting hg takes a third of a second, and a session with many
/// rows names the same one for each.
fn banner(program: &Path) -> Result<String, ClientError> {
    static KNOWN: Mutex<Vec<(PathBuf, String)>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, banner)) = known.iter().find(|(path, _)| path == program) {
        return Ok(banner.clone());
    }
    let mut command = isolation::hg(program);
    command.args(["version", "-q"]);
    let name = format!("{} version", name_of(program));
    let banner = child::text(command, &name)?;
    if !banner.starts_with(VERSION) {
        let why = format!("expected \"{VERSION} ...\", found {banner:?}");
        return Err(ClientError::Program { command: name, why });
    }
    known.push((program.to_owned(), banner.clone()));
    Ok(banner)
}

impl HgProgram {
    /// Finds the hg that `name` starts, a path or a name on the PATH, and asks for its version, once in a process.
    /// `extension` is the path of repackbench's Mercurial extension, which is needed for codecs that hg lacks.
    ///
    /// # Errors
    /// [`ClientError::Program`] if there is none, or if it is not hg.
    pub fn new(name: impl AsRef<OsStr>, extension: Option<&Path>) -> Result<Self, ClientError> {
        let program = find_program(name.as_ref())?;
        let name = program.file_name().unwrap_or(OsStr::new("hg")).to_string_lossy().into_owned();
        let extension = extension.map(absolute).transpose()?;
        let banner = banner(&program)?;
        Ok(HgProgram { program, name, banner, extension })
    }

    /// The path of its file.
    pub fn path(&self) -> &Path {
        &self.program
    }

    /// The name of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its version line: `Mercurial Distributed SCM (version 7.2)`.
    pub fn banner(&self) -> &str {
        &self.banner
    }

    /// Only the version: `7.2`.
    pub fn version(&self) -> &str {
        let version = self.banner.rsplit_once("(version ").map_or(self.banner.as_str(), |(_, version)| version);
        version.trim_end_matches(')')
    }

    /// repackbench's extension, if it was named.
    pub fn extension(&self) -> Option<&Path> {
        self.extension.as_deref()
    }

    /// An hg command in isolation, without a repository and without the extension.
    pub fn command(&self) -> Command {
        isolation::hg(&self.program)
    }

    /// Adds the extension at `extension` to `command`, and the codec for writing if one is given.
    pub fn extend(command: &mut Command, extension: &Path, codec: Option<&str>) {
        let mut setting = OsString::from("extensions.repackbench=");
        setting.push(extension);
        command.arg("--config").arg(setting).args(["--config", "extensions.repackbench:required=yes"]);
        if let Some(codec) = codec {
            command.args(["--config", &format!("repackbench.codec={codec}")]);
        }
    }
}
