//! Converts a repository of either version-control system.

use std::path::PathBuf;

use repackbench_codec::{CodecSpec, ObjectKind};
use repackbench_reader::Repository;

use crate::{
    ConvertJob, DeltaRecomputer, Layout, Result, StoreKind, WriterError,
    conversion::Conversion,
    dictionaries::{encoding_for, encoding_for_whole},
    git, hg,
};

/// Converts `source` into a new repository without a checkout, whose objects are stored as `layout` says.
///
/// # Errors
/// See [`WriterError`]; [`ReaderError::Changed`](repackbench_reader::ReaderError::Changed) when the source changed
/// meanwhile. Nothing is left at the target then.
pub fn convert(
    source: &Repository,
    spec: &CodecSpec,
    layout: Layout,
    job: &ConvertJob<'_>,
) -> Result<(Conversion, PathBuf)> {
    check_kinds(source, spec)?;
    layout.check(source, spec)?;
    match source {
        Repository::Git(source) => git::refuse_bases(source)?,
        Repository::Hg(source) => hg::refuse_bases(source)?,
    }
    let (encoding, notes) = match layout.store {
        StoreKind::AsFound => encoding_for(source, spec, job.control)?,
        StoreKind::Loose | StoreKind::Btree => encoding_for_whole(source, spec, job.control)?,
    };
    let (mut conversion, path) = match source {
        Repository::Git(source) => git::convert(source, &encoding, layout, job)?,
        Repository::Hg(source) => hg::convert(source, &encoding, job)?,
    };
    conversion.notes.extend(notes);
    Ok((conversion, path))
}

/// Converts `source` as [`convert`] does, with deltas that `recomputer` searches for again.
///
/// # Errors
/// As [`git::recompute::convert_recomputed`] and [`hg::recompute::convert_recomputed`]; [`WriterError::Spec`] when
/// `recomputer` is for the other version-control system.
pub fn convert_recomputed(
    source: &Repository,
    spec: &CodecSpec,
    recomputer: &DeltaRecomputer,
    job: &ConvertJob<'_>,
) -> Result<(Conversion, PathBuf)> {
    check_kinds(source, spec)?;
    match (source, recomputer) {
        (Repository::Git(source), DeltaRecomputer::Git(git)) => {
            git::recompute::convert_recomputed(source, spec, &**git, job)
        }
        (Repository::Hg(source), DeltaRecomputer::Hg(hg)) => {
            hg::recompute::convert_recomputed(source, spec, &**hg, job)
        }
        _ => Err(other_system(spec)),
    }
}

/// The error for a recomputer of the other version-control system.
pub(crate) fn other_system(spec: &CodecSpec) -> WriterError {
    let why = "git recomputes only deltas of Git repositories, and hg only those of Mercurial repositories".to_owned();
    WriterError::Spec { spec: spec.to_string(), why }
}

/// The folders of `source`, which must not be written to.
pub(crate) fn folders(source: &Repository) -> Vec<PathBuf> {
    match source {
        Repository::Git(source) => git::folders(source),
        Repository::Hg(source) => hg::folders(source).into(),
    }
}

/// Refuses a spec that names object kinds of the other version-control system.
///
/// # Errors
/// The spec names one.
pub fn check_kinds(source: &Repository, spec: &CodecSpec) -> Result<()> {
    match source {
        Repository::Git(_) => check_kinds_of("Git", &ObjectKind::GIT, spec),
        Repository::Hg(_) => check_kinds_of("Mercurial", &ObjectKind::HG, spec),
    }
}

/// Refuses a spec that names other object kinds than `kinds`, which repositories of `system` have.
pub(crate) fn check_kinds_of(system: &str, kinds: &[ObjectKind], spec: &CodecSpec) -> Result<()> {
    match spec.kind_outside(kinds) {
        None if spec.uses_numbers() && !kinds.contains(&ObjectKind::Tree) => {
            let why = format!("a {system} repository has no trees that name objects: expected a spec without ids=");
            Err(WriterError::Spec { spec: spec.to_string(), why })
        }
        None => Ok(()),
        Some(kind) => {
            let known: Vec<String> = kinds.iter().map(|kind| format!("{kind}=")).collect();
            let why = format!("a {system} repository has no {}: expected {} or delta=", kind.name(), known.join(", "));
            Err(WriterError::Spec { spec: spec.to_string(), why })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_only_for_git() {
        let spec: CodecSpec = "zlib:6,ids=number".parse().unwrap();
        check_kinds_of("Git", &ObjectKind::GIT, &spec).unwrap();
        let error = check_kinds_of("Mercurial", &ObjectKind::HG, &spec).unwrap_err().to_string();
        assert!(error.contains("a Mercurial repository has no trees that name objects"), "{error}");
        check_kinds_of("Mercurial", &ObjectKind::HG, &"zlib:6".parse().unwrap()).unwrap();
    }
}
