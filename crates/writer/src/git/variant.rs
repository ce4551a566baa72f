//! Variants of a Git repository through the cache.

use std::{fs, path::Path};

use repackbench_codec::{CodecSpec, FORMAT_VERSION, catalogue};
use repackbench_reader::{
    ReaderError,
    git::{GitRepository, pack::PackFile, repository::Target},
};

use super::convert;
use crate::{
    Progress, Result, WriterError,
    cache::{Cache, GetOrMakeError, VariantDir, VariantInputs, VariantKey, VariantOrigin},
};

/// What decides the content of every variant of `source`, whatever the codec.
fn inputs(source: &GitRepository) -> Result<VariantInputs> {
    let mut inputs = VariantInputs {
        format_version: FORMAT_VERSION,
        object_hash: source.object_hash().to_string(),
        ..VariantInputs::default()
    };
    for reference in source.references()? {
        let target = match reference.target {
            Target::Object(id) => id.to_string(),
            Target::Symbolic(name) => format!("ref: {name}"),
        };
        inputs.refs.push((reference.name.into(), target.into_bytes()));
    }
    if !source.uses_replacements()? {
        // No reference can have this name; what it says decides what some of them mean.
        inputs.refs.push((b"core.useReplaceRefs".to_vec(), b"false".to_vec()));
    }
    for files in source.packs() {
        let pack = PackFile::open(files, source.object_hash())?;
        inputs.pack_checksums.push(pack.trailer()?.as_bytes().to_vec());
    }
    inputs.loose_ids = source.loose_objects()?.as_slice().iter().map(|object| object.id.as_bytes().to_vec()).collect();
    inputs.shallow = read_if_there(&source.common_dir().join("shallow"))?;
    inputs.grafts = read_if_there(&source.common_dir().join("info/grafts"))?;
    Ok(inputs)
}

fn read_if_there(path: &Path) -> Result<Vec<u8>> {
    match fs::read(path) {
        Ok(content) => Ok(content),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(ReaderError::io("read", path, error).into()),
    }
}

/// A name for the state that `source` is in: two repositories with the same one hold the same refs and chunks.
pub fn fingerprint(source: &GitRepository) -> Result<VariantKey> {
    inputs(source).map(VariantInputs::key)
}

/// What decides the content of the variant of `source` under `spec`.
fn variant_inputs(source: &GitRepository, spec: &CodecSpec) -> Result<VariantInputs> {
    // Another release of a library may compress differently, and so may another of ours.
    let libraries = catalogue().into_iter().map(|codec| format!("{} {}", codec.implementation, codec.version));
    let encoder = libraries.collect::<Vec<_>>().join(", ");
    Ok(VariantInputs { spec: spec.canonical(), encoder, ..inputs(source)? })
}

/// Where the variant of `source` under `spec` comes from, in words that hold in whatever folder they are read.
fn origin(source: &GitRepository, spec: &CodecSpec) -> Result<VariantOrigin> {
    let path = source.common_dir();
    let path = fs::canonicalize(path).map_err(|error| ReaderError::io("resolve", path, error))?;
    Ok(VariantOrigin { source: path, spec: spec.canonical(), format_version: FORMAT_VERSION })
}

/// The variant of `source` under `spec`, made now or taken from `cache`.
///
/// # Errors
/// [`GetOrMakeError::Make`] with what [`convert`] returned, or [`ReaderError::Changed`] in it when the source is no longer
/// in the state that the variant would be filed under; [`GetOrMakeError::Cache`] with the cache's own failures.
pub fn cached_variant(
    cache: &Cache,
    source: &GitRepository,
    spec: &CodecSpec,
    threads: usize,
    progress: &dyn Progress,
) -> std::result::Result<VariantDir, GetOrMakeError<WriterError>> {
    let key = variant_inputs(source, spec).map_err(GetOrMakeError::Make)?.key();
    let origin = origin(source, spec).map_err(GetOrMakeError::Make)?;
    cache.get_or_make(&key, &origin, |folder| convert_under_key(source, spec, &key, folder, threads, progress))
}

/// Converts `source` into `folder`, provided that what is converted is what `key` names. The key was computed before the
/// conversion began to watch the source, which may have changed in between: the variant would be whole, and the wrong one.
fn convert_under_key(
    source: &GitRepository,
    spec: &CodecSpec,
    key: &VariantKey,
    folder: &Path,
    threads: usize,
    progress: &dyn Progress,
) -> Result<()> {
    convert(source, spec, folder, false, threads, progress)?;
    if variant_inputs(source, spec)?.key() != *key {
        return Err(ReaderError::Changed { path: source.common_dir().to_owned() }.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoProgress;

    #[test]
    fn a_source_that_changed_since_its_key_was_computed_is_not_filed_under_it() {
        let folder = tempfile::tempdir().unwrap();
        let repository = folder.path().join("repo.git");
        for name in ["objects", "refs/heads"] {
            fs::create_dir_all(repository.join(name)).unwrap();
        }
        fs::write(repository.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let source = GitRepository::open(&repository).unwrap();
        let spec: CodecSpec = "store".parse().unwrap();
        let key = variant_inputs(&source, &spec).unwrap().key();
        let make = |name: &str| convert_under_key(&source, &spec, &key, &folder.path().join(name), 1, &NoProgress);

        make("unchanged").unwrap();
        fs::write(repository.join("HEAD"), "ref: refs/heads/other\n").unwrap();
        let changed = make("changed");
        assert!(matches!(changed, Err(WriterError::Reader(ReaderError::Changed { .. }))), "{changed:?}");
    }
}
