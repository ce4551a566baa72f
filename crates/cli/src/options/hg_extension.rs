//! Where hg's extension is.

use std::{
    env,
    path::{Path, PathBuf},
};

/// Where `xtask dist` puts it, seen from the program.
const INSTALLED: &str = "../lib/mercurial/repackbench";

/// The folder of the extension: the one that the user names, else the one that was installed with this program.
pub(crate) fn find_hg_extension(named: Option<&Path>) -> Option<PathBuf> {
    named.map(Path::to_owned).or_else(|| {
        let program = env::current_exe().ok()?;
        let folder = program.parent()?.join(INSTALLED);
        folder.join("__init__.py").is_file().then_some(folder)
    })
}
