//! Computes the cache keys of variants of a Git repository.

use std::{fs, path::Path};

use repackbench_codec::FORMAT_VERSION;
use repackbench_reader::{
    ReaderError,
    git::{
        GitRepository,
        btree::BtreeFile,
        pack::PackFile,
        repository::{RefStorage, Target},
    },
};

use crate::{
    Result,
    cache::{VariantInputs, VariantKey},
};

/// Everything in `source` that decides the content of its variants, for any codec.
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
        // No reference can have this name. The setting decides what some references mean.
        inputs.refs.push((b"core.useReplaceRefs".to_vec(), b"false".to_vec()));
    }
    if source.format().ref_storage == RefStorage::Reftable {
        inputs.refs.push((b"extensions.refStorage".to_vec(), b"reftable".to_vec()));
    }
    for files in source.packs() {
        let pack = PackFile::open(files, source.object_hash())?;
        let mut identity = pack.trailer()?.as_bytes().to_vec();
        // They are copied beside the pack, and git repacks marked packs differently.
        for (name, mark) in [("keep", &files.keep), ("promisor", &files.promisor)] {
            if let Some(mark) = mark {
                identity.extend(name.as_bytes());
                identity.extend(read_if_there(mark)?);
            }
        }
        inputs.pack_checksums.push(identity);
    }
    inputs.loose_ids = source.loose_objects()?.as_slice().iter().map(|object| object.id.as_bytes().to_vec()).collect();
    if let Some(path) = source.btree() {
        // Not the same as loose objects with these ids.
        inputs.pack_checksums.push(b"B-tree".to_vec());
        let btree = BtreeFile::open(path, source.object_hash())?;
        btree.for_each(&mut |id, _| {
            inputs.loose_ids.push(id.as_bytes().to_vec());
            Ok(())
        })?;
    }
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

/// A hash of the state of `source` and, with `spec` and `encoder`, of its variant.
pub(crate) fn key(source: &GitRepository, spec: &str, encoder: &str) -> Result<VariantKey> {
    let mut inputs = inputs(source)?;
    if !spec.is_empty() {
        // They are copied, but are no part of the state that sessions are compared by: a checkout changes them.
        inputs.refs.push((b"config".to_vec(), read_if_there(&source.common_dir().join("config"))?));
        for file in source.reflog_files()? {
            inputs.refs.push((file.name.clone().into(), read_if_there(&file.path)?));
        }
        // Reftables hold the reflogs, too.
        let tables = source.common_dir().join("reftable/tables.list");
        inputs.refs.push((b"reftable/tables.list".to_vec(), read_if_there(&tables)?));
    }
    Ok(VariantInputs { spec: spec.to_owned(), encoder: encoder.to_owned(), ..inputs }.key())
}
