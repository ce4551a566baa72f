//! The command line of `exec`.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, ValueEnum};
use repackbench_client::Zlib;
use repackbench_codec::CodecSpec;

use crate::repository_path::located;

/// Run the user's own git or hg on a repository under any codec.
///
/// git is not patched: a library that is preloaded into it answers zlib's functions, and reads
/// every codec whose chunks can be decoded by themselves, with dictionaries too. What git writes is
/// zlib, unless --codec names another codec for its packs and loose objects; what leaves the
/// repository by push, fetch, clone or bundle is always zlib. Repositories that mix codecs stay
/// readable. The command gets GIT_DIR: of a variant a view without the guard that stops plain git.
/// What the command changes in it, the variant gets when it ends.
///
/// hg gets the repository by -R, and the extension that --hg-extension names. Its repositories say
/// themselves which codec they are under: --codec sets level and implementation.
///
/// What an outer git exports about its own repository is cleared; what `git -c` sets is passed on.
/// Linked work trees that `git worktree` makes last: REPOSITORY may be one of them.
///
/// The exit status is the command's; signals are passed on to it. Variants with prefix or patch are
/// refused: git does not tell zlib the base of a delta.
///
/// Examples:
///   repackbench exec linux.zstd-5 -- git log -Smalloc
///   repackbench exec linux.lz4-1 -- git rev-list --objects --all
///   repackbench exec --zlib zlib-rs linux -- git fsck --full
///   repackbench exec linux.zstd-5 -- git --work-tree /tmp/tree checkout -f
///   repackbench exec --codec zstd:5 linux.zstd-5 -- git repack -adF
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ExecArguments {
    /// The repository, a variant or not.
    #[arg(value_parser = located())]
    pub(crate) repository: PathBuf,

    /// The codec of what git writes to the repository's object store. The repository has to be a variant, unless stock git
    /// reads that codec; dict=, prefix, patch and codecs for kinds take what git does not tell zlib, and are refused.
    #[arg(long, value_name = "CODEC")]
    pub(crate) codec: Option<CodecSpec>,

    /// Who reads and writes zlib streams for git.
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Implementation::Host)]
    pub(crate) zlib: Implementation,

    /// The extension that hg needs for codecs it does not have: the folder that `cargo xtask hg-extension` prints [default: the one that
    /// was installed with this program, if any].
    #[arg(long = "hg-extension", value_name = "DIR")]
    pub(crate) hg_extension: Option<PathBuf>,

    /// The command and its arguments, behind `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
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
