//! The configuration of a variant.
//!
//! A function of the source's format, extensions and remotes and of the codec spec, and of nothing else: converting to
//! another codec and back gives the bytes of converting directly. Where a variant has no packs, their `.promisor` marks decide, too.
//! Nothing is taken over that git would run: no filter, alias, hook, helper or program of any kind.

use bstr::{BString, ByteSlice as _};
use gix_config::file::Metadata;
use repackbench_codec::{CodecSpec, FORMAT_VERSION};
use repackbench_reader::{ReaderError, git::GitRepository};

use super::remotes::{Remotes, kept_entries};
use crate::error::Result;

/// What a variant is beside its spec.
#[derive(Debug, Clone, Copy)]
pub(super) struct VariantKind {
    /// Whether stock git can read it.
    pub(super) is_read_by_git: bool,
    /// Whether it has the packs of its source, and so their marks.
    pub(super) has_packs: bool,
    /// What it keeps of remotes.
    pub(super) remotes: Remotes,
}

/// The bytes of `config` for a bare copy of `source` under `spec`. What is not taken over of remotes goes to `left_aside`.
pub(super) fn for_variant(
    source: &GitRepository,
    spec: &CodecSpec,
    kind: VariantKind,
    left_aside: &mut Vec<String>,
) -> Result<BString> {
    let extensions = extensions(source, spec, kind);
    // Git wants version 1 for `partialClone`, too, though it honours it in version 0; with no extension 0 says the same.
    let format_version = if extensions.is_empty() { "0" } else { "1" };
    let mut core = vec![
        ("repositoryformatversion", BString::from(format_version)),
        ("filemode", boolean(source.config().boolean("core.filemode").ok().flatten().unwrap_or(true))),
        ("bare", boolean(true)),
    ];
    // Decides which objects are visited, unlike the rest of [core], so that a workload reads the same in every variant.
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
        let entries = kept_entries(remote, kind.remotes, left_aside);
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
    if !kind.is_read_by_git {
        extensions.push(("repackbench", format!("{FORMAT_VERSION};{}", spec.canonical()).into()));
    }
    extensions
}

/// The name of the first remote; that of git's default if there is none.
fn first_remote(source: &GitRepository) -> BString {
    let mut remotes = source.config().sections_by_name("remote").into_iter().flatten();
    let name = remotes.find_map(|section| section.header().subsection_name().map(ToOwned::to_owned));
    name.unwrap_or_else(|| "origin".into())
}

/// The value of `extensions.objectFormat`; none for SHA-1, which git takes an absent value for.
fn object_format(hash: gix_hash::Kind) -> Option<&'static str> {
    if hash == gix_hash::Kind::Sha256 { Some("sha256") } else { None }
}

fn boolean(value: bool) -> BString {
    if value { "true" } else { "false" }.into()
}
