//! The command line of `generate`, which is for packagers and not in the help.

use std::path::PathBuf;

use clap::Parser;

/// Write the man pages and shell completions.
///
/// They go where they are found below the prefix's folder `share`. The same program writes the same bytes.
#[derive(Debug, Parser)]
#[command(name = "generate", hide = true)]
pub(crate) struct GenerateArguments {
    /// The folder `share`, new or not.
    #[arg(value_name = "SHARE")]
    pub(crate) share: PathBuf,
}
