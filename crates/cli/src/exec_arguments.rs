//! The command lines of `exec` and `env`.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, ValueEnum};
use repackbench_client::Zlib;
use repackbench_codec::CodecSpec;

use crate::repository_path::located;

/// Run the user's own git or hg on a repository under any codec.
///
/// git is not patched: a library that is preloaded into it answers zlib's functions, and reads
/// every codec whose chunks can be decoded by themselves, with dictionaries too. The command works
/// on the variant's own directory, in which plain git stops at the guard and this git does not.
/// Nothing is left behind, and any number of commands may run at once. What git writes is zlib,
/// unless --codec, or repackbench.codec in the variant's configuration, names another codec for its
/// packs and loose objects. What leaves a variant by push, fetch, clone or bundle is always zlib.
///
/// Without REPOSITORY git finds its repository from the current folder, as it always does. With it,
/// what an outer git exports about its own repository is cleared; what `git -c` sets is passed on.
///
/// hg gets the repository by -R, and the extension that --hg-extension names. Its repositories say
/// themselves which codec they are under: --codec sets level and implementation.
///
/// This program becomes the command, so that exit status and signals are the command's. Variants
/// with prefix or patch are refused: git does not tell zlib the base of a delta.
///
/// Examples:
///   repackbench exec linux.zstd-5 -- git log -Smalloc
///   repackbench exec linux.lz4-1 -- git rev-list --objects --all
///   repackbench exec --zlib zlib-rs linux -- git fsck --full
///   repackbench exec linux.zstd-5 -- git --work-tree /tmp/tree checkout -f
///   repackbench exec --codec zstd:5 linux.zstd-5 -- git repack -adF
///   repackbench exec -- git status
///   repackbench exec --shell
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ExecArguments {
    /// The repository, a variant or not [default: what git finds from the current folder].
    #[arg(value_parser = located())]
    pub(crate) repository: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) client: GitArguments,

    /// Start a shell, the one that SHELL names, in which every git reads variants.
    #[arg(long, conflicts_with = "command")]
    pub(crate) shell: bool,

    /// The extension that hg needs for codecs it does not have: the folder that `cargo xtask hg-extension` prints [default: the one that
    /// was installed with this program, if any].
    #[arg(long = "hg-extension", value_name = "DIR")]
    pub(crate) hg_extension: Option<PathBuf>,

    /// The command and its arguments, behind `--`.
    #[arg(last = true, required_unless_present = "shell", value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Print what a shell has to export so that every git it starts reads variants.
///
/// It is what `exec` sets for its command, for a terminal, a cron job or a daemon:
///
///   eval "$(repackbench env)"
///
/// The library is named by its path: leave the program where it is while such a shell is in use.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct EnvArguments {
    #[command(flatten)]
    pub(crate) client: GitArguments,
}

/// What git is told besides its repository.
#[derive(Debug, Args)]
pub(crate) struct GitArguments {
    /// The codec of what git writes to object stores of variants. The store of an ordinary repository gets it if plain git reads
    /// that codec; dict=, prefix, patch and codecs for kinds take what git does not tell zlib, and are refused.
    #[arg(long, value_name = "CODEC")]
    pub(crate) codec: Option<CodecSpec>,

    /// Who reads and writes zlib streams for git.
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Implementation::Host)]
    pub(crate) zlib: Implementation,
}

/// The zlib that the preloaded library hands zlib streams to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Implementation {
    /// The one that git is linked with.
    Host,
    /// Stock zlib.
    Stock,
    /// zlib-rs, a zlib written in Rust.
    ZlibRs,
    /// zlib-ng, a faster zlib in C; only in builds with the feature zlib-ng, which take cmake.
    ZlibNg,
    /// libdeflate where a stream is read at once, else the one that git is linked with.
    Libdeflate,
}

impl From<Implementation> for Zlib {
    fn from(implementation: Implementation) -> Self {
        match implementation {
            Implementation::Host => Zlib::Host,
            Implementation::Stock => Zlib::Stock,
            Implementation::ZlibRs => Zlib::ZlibRs,
            Implementation::ZlibNg => Zlib::ZlibNg,
            Implementation::Libdeflate => Zlib::Libdeflate,
        }
    }
}
