//! How git reads and writes codecs under `exec` and `env`.

use std::{ffi::OsStr, path::Path};

use clap::Args;
use repackbench_client::{GitClient, check_needs_only_payload};
use repackbench_codec::CodecSpec;
use repackbench_reader::git::GitRepository;

use super::Implementation;
use crate::failure::Failure;

/// What the preloaded library does for git.
#[derive(Debug, Args)]
pub(crate) struct GitClientArguments {
    /// Codec that git writes to object stores of variants.
    ///
    /// The store of an ordinary repository gets it if plain git reads that codec. dict=, prefix, patch and codecs for
    /// kinds are rejected: they need what git does not pass to zlib.
    #[arg(long, value_name = "SPEC", help_heading = super::WHAT)]
    pub(crate) codec: Option<CodecSpec>,

    /// Library that reads and writes zlib streams for git.
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Implementation::Host, help_heading = super::WHAT)]
    zlib: Implementation,
}

impl GitClientArguments {
    /// Whether `--zlib` names another library than git's own.
    pub(crate) fn names_zlib(&self) -> bool {
        !matches!(self.zlib, Implementation::Host)
    }

    /// The git `program`, on a repository if one is named.
    pub(crate) fn client(
        &self,
        repository: Option<(&GitRepository, &Path)>,
        program: &OsStr,
    ) -> Result<GitClient, Failure> {
        if let Some(codec) = &self.codec {
            check_needs_only_payload(codec)?;
        }
        let mut client = GitClient::new(program, self.zlib.into())?;
        if let Some((git, place)) = repository {
            client = client.on(git, place)?;
        }
        if let Some(codec) = &self.codec {
            client = client.write_with(repository.map(|(git, _)| git), codec)?;
        }
        Ok(client)
    }
}
