//! Writes the configuration of a variant.
//!
//! It depends only on the format, extensions and remotes of the source and on the codec spec. So converting to another
//! codec and back gives the same bytes as converting directly. If the variant has no packs, the `.promisor` marks of
//! the source's packs decide too. No setting is kept that makes git run a program: no filter, alias, hook or helper.

use bstr::{BString, ByteSlice as _};
use gix_config::file::Metadata;
use repackbench_codec::CodecSpec;
use repackbench_reader::{
    ReaderError,
    git::{GitRepository, repository::RefStorage},
};

use super::remotes::{Remotes, kept_entries};
use crate::error::Result;

/// The properties of a variant that its configuration depends on, besides the spec.
#[derive(Debug, Clone, Copy)]
pub(super) struct VariantKind {
    /// Whether stock git can read it.
    pub(super) is_read_by_git: bool,
    /// Whether it has the packs of its source, with their `.promisor` marks.
    pub(super) has_packs: bool,
    /// The settings of remotes that it keeps.
    pub(super) remotes: Remotes,
}

/// The bytes of `config` for a bare copy of `source` under `spec`. Adds the names of dropped remote settings to
/// `left_out`.
pub(super) fn for_variant(
    source: &GitRepository,
    spec: &CodecSpec,
    kind: VariantKind,
    left_out: &mut Vec<String>,
) -> Result<BString> {
    let extensions = extensions(source, spec, kind);
    // git requires version 1 for `partialClone`, although it honours the extension in version 0. Without extensions, 0
    // means the same.
    let format_version = if extensions.is_empty() { "0" } else { "1" };
    let mut core = vec![
        ("repositoryformatversion", BString::from(format_version)),
        ("filemode", boolean(source.config().boolean("core.filemode").ok().flatten().unwrap_or(true))),
        ("bare", boolean(true)),
    ];
    // Unlike the rest of [core], this decides which objects are visited. Keep it, so that a workload reads the same in
    // every variant.
    if !source.uses_replacements()? {
        core.push(("useReplaceRefs", boolean(false)));
    }
    let mut config = gix_config::File::new(Metadata::api());
    let refused = |what: String| ReaderError::unsupported(&source.common_dir().join("config"), what);
    for (name, values) in [("core", core), ("extensions", extensions)] {
        if values.is_empty() {
            continue;
        }
        let mut section = config.new_section(name, None::<BString>).map_err(|error| refused(error.to_string()))?;
        for (key, value) in values {
            section.push(key, value.as_slice()).map_err(|_| refused(format!("{name}.{key} = {value:?}")))?;
        }
    }
    for remote in source.config().sections_by_name("remote").into_iter().flatten() {
        let name = remote.header().subsection_name().map(ToOwned::to_owned);
        let entries = kept_entries(remote, kind.remotes, left_out);
        if entries.is_empty() {
            continue;
        }
        let mut section = config.new_section("remote", name).map_err(|error| refused(error.to_string()))?;
        for (key, value) in entries {
            let pushed = section.push(key.as_str(), value.as_ref().map(|value| value.as_bstr()));
            pushed.map_err(|_| refused(format!("remote.{key} = {value:?}")))?;
        }
    }
    Ok(config.to_bstring())
}

/// The extensions of the variant, in a fixed order.
fn extensions(source: &GitRepository, spec: &CodecSpec, kind: VariantKind) -> Vec<(&'static str, BString)> {
    let format = source.format();
    let mut extensions = Vec::new();
    if format.noop {
        extensions.push(("noop", boolean(true)));
    }
    if format.noop_v1 {
        extensions.push(("noop-v1", boolean(true)));
    }
    if let Some(name) = object_format(format.object_hash) {
        extensions.push(("objectFormat", name.into()));
    }
    if let Some(remote) = &format.partial_clone {
        extensions.push(("partialClone", remote.clone()));
    } else if !kind.has_packs && source.is_partial_clone() && !source.is_partial_by_configuration() {
        // Only marks beside packs say that objects may be missing, and there will be none.
        extensions.push(("partialClone", first_remote(source)));
    }
    if format.precious_objects {
        extensions.push(("preciousObjects", boolean(true)));
    }
    if format.ref_storage == RefStorage::Reftable {
        extensions.push(("refStorage", "reftable".into()));
    }
    if !kind.is_read_by_git {
        extensions.push(("repackbench", format!("{};{}", spec.format_version(), spec.canonical()).into()));
    }
    extensions
}

/// The name of the first remote, or git's default name if there is none.
fn first_remote(source: &GitRepository) -> BString {
    let mut remotes = source.config().sections_by_name("remote").into_iter().flatten();
    let name = remotes.find_map(|section| section.header().subsection_name().map(ToOwned::to_owned));
    name.unwrap_or_else(|| "origin".into())
}

/// The value of `extensions.objectFormat`; `None` for SHA-1, git's default.
fn object_format(hash: gix_hash::Kind) -> Option<&'static str> {
    if hash == gix_hash::Kind::Sha256 { Some("sha256") } else { None }
}

fn boolean(value: bool) -> BString {
    if value { "true" } else { "false" }.into()
}
