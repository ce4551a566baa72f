//! Variants of a repository through the cache.

use std::{fs, path::Path};

use repackbench_codec::{CodecSpec, FORMAT_VERSION, catalogue};
use repackbench_reader::{ReaderError, Repository, git::GitRepository, hg::HgRepository};

use crate::{
    DeltaRecomputer, GitDeltas, HgDeltas, Layout, Progress, Result, WriterError,
    cache::{Cache, GetOrMakeError, VariantDir, VariantKey, VariantOrigin},
    conversion::convert,
    git::{self, rechosen::READABLE},
    hg,
};

/// A name for the state that `source` is in: two repositories with the same one hold the same history and chunks.
///
/// # Errors
/// When `source` cannot be read.
pub fn fingerprint(source: &Repository) -> Result<VariantKey> {
    key(source, "", "")
}

/// The variant of `source` under `spec` and `layout`, made now or taken from `cache`.
///
/// # Errors
/// [`GetOrMakeError::Make`] with what [`convert`] returned, or [`ReaderError::Changed`] in it when the source is no longer
/// in the state that the variant would be filed under; [`GetOrMakeError::Cache`] with the cache's own failures.
pub fn cached_variant(
    cache: &Cache,
    source: &Repository,
    spec: &CodecSpec,
    layout: Layout,
    threads: usize,
    progress: &dyn Progress,
) -> std::result::Result<VariantDir, GetOrMakeError<WriterError>> {
    // Before the source is looked at, which takes a while where there are many loose objects.
    layout.check(source, spec).map_err(GetOrMakeError::Make)?;
    let (spec_text, key_text) = (layout.added_to(spec.canonical()), layout.added_to_key(spec.canonical()));
    let request = Request {
        key: &|| key(source, &key_text, &encoder()),
        convert: &|folder| convert(source, spec, layout, folder, false, threads, progress).map(drop),
        folder: source.folder(),
        spec: spec_text.clone(),
    };
    request.get_or_make(cache)
}

/// The variant of `source` under `spec` with deltas chosen again, made now or taken from `cache`.
///
/// # Errors
/// As [`cached_variant`], with what [`git::rechosen::convert_rechosen`] or [`hg::rechosen::convert_rechosen`] returned;
/// [`WriterError::Spec`] where `recomputer` is the other system's.
pub fn cached_rechosen(
    cache: &Cache,
    source: &Repository,
    spec: &CodecSpec,
    recomputer: &DeltaRecomputer,
    threads: usize,
    progress: &dyn Progress,
) -> std::result::Result<VariantDir, GetOrMakeError<WriterError>> {
    match (source, recomputer) {
        (Repository::Git(source), DeltaRecomputer::Git(git)) => {
            git_rechosen(cache, source, spec, &**git, threads, progress)
        }
        (Repository::Hg(source), DeltaRecomputer::Hg(hg)) => hg_rechosen(cache, source, spec, &**hg, threads, progress),
        _ => {
            let why = "deltas of one version-control system are not chosen by another's program".to_owned();
            Err(GetOrMakeError::Make(WriterError::Spec { spec: spec.to_string(), why }))
        }
    }
}

/// The search for deltas is made once, and what it leaves converted to each codec.
fn git_rechosen(
    cache: &Cache,
    source: &GitRepository,
    spec: &CodecSpec,
    git: &dyn GitDeltas,
    threads: usize,
    progress: &dyn Progress,
) -> std::result::Result<VariantDir, GetOrMakeError<WriterError>> {
    let parse = |error| GetOrMakeError::Make(WriterError::Spec { spec: READABLE.to_owned(), why: format!("{error}") });
    let readable: CodecSpec = READABLE.parse().map_err(parse)?;
    let rechosen = |spec: &CodecSpec| format!("{}, rechosen", spec.canonical());
    let encoder = format!("{}, {}", encoder(), git.identity());
    let first = Request {
        key: &|| git::variant::key(source, &rechosen(&readable), &encoder),
        convert: &|target| {
            git::rechosen::convert_rechosen(source, &readable, git, target, false, threads, progress).map(drop)
        },
        folder: source.git_dir(),
        spec: rechosen(&readable),
    };
    let first = first.get_or_make(cache)?;
    if *spec == readable {
        return Ok(first);
    }
    let opened = Repository::open(first.path()).map_err(|error| GetOrMakeError::Make(error.into()))?;
    let request = Request {
        key: &|| git::variant::key(source, &rechosen(spec), &encoder),
        convert: &|target| convert(&opened, spec, Layout::default(), target, false, threads, progress).map(drop),
        folder: source.git_dir(),
        spec: rechosen(spec),
    };
    Ok(request.get_or_make(cache)?.after(first.making()))
}

fn hg_rechosen(
    cache: &Cache,
    source: &HgRepository,
    spec: &CodecSpec,
    hg: &dyn HgDeltas,
    threads: usize,
    progress: &dyn Progress,
) -> std::result::Result<VariantDir, GetOrMakeError<WriterError>> {
    hg::rechosen::check_spec(spec).map_err(GetOrMakeError::Make)?;
    let identity = hg.identity(spec).map_err(GetOrMakeError::Make)?;
    let spec_text = format!("{}, rechosen", spec.canonical());
    let encoder = format!("{}, {identity}", encoder());
    let request = Request {
        key: &|| hg::variant::key(source, &spec_text, &encoder),
        convert: &|folder| hg::rechosen::convert_rechosen(source, spec, hg, folder, false, threads, progress).map(drop),
        folder: source.hg_dir(),
        spec: spec_text.clone(),
    };
    request.get_or_make(cache)
}

fn key(source: &Repository, spec: &str, encoder: &str) -> Result<VariantKey> {
    match source {
        Repository::Git(source) => git::variant::key(source, spec, encoder),
        Repository::Hg(source) => hg::variant::key(source, spec, encoder),
    }
}

/// Names and versions of the libraries that encode: another release may compress differently, and so may another of ours.
fn encoder() -> String {
    let libraries = catalogue().into_iter().map(|codec| format!("{} {}", codec.implementation, codec.version));
    libraries.collect::<Vec<_>>().join(", ")
}

/// A variant that is wanted.
struct Request<'a> {
    /// Looks at the source as it is now.
    key: &'a dyn Fn() -> Result<VariantKey>,
    /// Converts the source into a new folder.
    convert: &'a dyn Fn(&Path) -> Result<()>,
    /// The folder of the source.
    folder: &'a Path,
    spec: String,
}

impl Request<'_> {
    fn get_or_make(&self, cache: &Cache) -> std::result::Result<VariantDir, GetOrMakeError<WriterError>> {
        let key = (self.key)().map_err(GetOrMakeError::Make)?;
        let origin = self.origin().map_err(GetOrMakeError::Make)?;
        cache.get_or_make(&key, &origin, |target| self.convert_under_key(&key, target))
    }

    /// Where the variant comes from, in words that hold in whatever folder they are read.
    fn origin(&self) -> Result<VariantOrigin> {
        let source = fs::canonicalize(self.folder).map_err(|error| ReaderError::io("resolve", self.folder, error))?;
        Ok(VariantOrigin { source, spec: self.spec.clone(), format_version: FORMAT_VERSION })
    }

    /// Converts the source into `target`, provided that what is converted is what `key` names. The key was computed before
    /// the conversion began to watch the source, which may have changed in between: the variant would be whole, and the
    /// wrong one.
    fn convert_under_key(&self, key: &VariantKey, target: &Path) -> Result<()> {
        (self.convert)(target)?;
        if (self.key)()? != *key {
            return Err(ReaderError::Changed { path: self.folder.to_owned() }.into());
        }
        Ok(())
    }
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
        let source = Repository::open(&repository).unwrap();
        let spec: CodecSpec = "store".parse().unwrap();
        let request = Request {
            key: &|| key(&source, &spec.canonical(), &encoder()),
            convert: &|target| convert(&source, &spec, Layout::default(), target, false, 1, &NoProgress).map(drop),
            folder: source.folder(),
            spec: spec.canonical(),
        };
        let key = (request.key)().unwrap();

        request.convert_under_key(&key, &folder.path().join("unchanged")).unwrap();
        fs::write(repository.join("HEAD"), "ref: refs/heads/other\n").unwrap();
        let changed = request.convert_under_key(&key, &folder.path().join("changed"));
        assert!(matches!(changed, Err(WriterError::Reader(ReaderError::Changed { .. }))), "{changed:?}");
    }
}
