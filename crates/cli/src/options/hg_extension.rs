//! The Mercurial extension.

use std::{env, path::PathBuf};

use clap::Args;

/// Where `xtask dist` installs it, relative to the folder of the program.
const INSTALLED: &str = "../lib/mercurial/repackbench";

/// The folder of the extension.
#[derive(Debug, Args)]
pub(crate) struct HgExtensionArgument {
    /// Extension that hg needs for codecs it does not have: the folder that `cargo xtask hg-extension` prints
    /// [default: the one that was installed with this program, if any].
    #[arg(long = "hg-extension", value_name = "DIR", help_heading = super::EXPERT)]
    hg_extension: Option<PathBuf>,
}

impl HgExtensionArgument {
    /// The folder as typed.
    pub(crate) fn typed(&self) -> Option<PathBuf> {
        self.hg_extension.clone()
    }

    /// The folder that the user names, or else the one installed with this program.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        self.typed().or_else(|| {
            let program = env::current_exe().ok()?;
            let folder = program.parent()?.join(INSTALLED);
            folder.join("__init__.py").is_file().then_some(folder)
        })
    }
}
