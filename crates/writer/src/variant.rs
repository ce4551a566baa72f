//! Makes variants of a repository through the cache.

use std::{
    fs,
    path::{Path, PathBuf},
};

use repackbench_codec::{CodecSpec, FORMAT_VERSION, catalogue};
use repackbench_reader::{ReaderError, Repository, git::GitRepository, hg::HgRepository};

use crate::{
    ConvertJob, DeltaRecomputer, GitDeltas, HgDeltas, JobControl, Layout, Result, WriterError,
    cache::{Cache, GetOrMakeError, VariantDir, VariantKey, VariantOrigin},
    conversion::{Conversion, SearchCost},
    convert::{convert, other_system},
    git, hg,
};

/// A hash of the state of `source`: two repositories with the same fingerprint hold the same history and chunks.
///
/// # Errors
/// `source` cannot be read.
pub fn fingerprint(source: &Repository) -> Result<VariantKey> {
    key(source, "", "")
}

/// The variant of `source` under `spec` and `layout`, made now or taken from `cache`.
///
/// # Errors
/// [`GetOrMakeError::Make`] with the error of [`convert`], or with [`ReaderError::Changed`] when the source is no
/// longer in the state that the cache key describes; [`GetOrMakeError::Cache`] when the cache fails.
pub fn cached_variant(
    cache: &Cache,
    source: &Repository,
    spec: &CodecSpec,
    layout: Layout,
    control: JobControl<'_>,
) -> std::result::Result<VariantDir, GetOrMakeError<WriterError>> {
    // Before the source is read, which takes a while with many loose objects.
    layout.check(source, spec).map_err(GetOrMakeError::Make)?;
    let (spec_text, key_text) = (layout.added_to(spec.canonical()), layout.added_to_key(spec.canonical()));
    let request = Request {
        key: &|| key(source, &key_text, &encoder()),
        convert: &|target| convert(source, spec, layout, &ConvertJob::new(target, control)).map(search_of),
        state: &|| fingerprint(source),
        folder: source.folder(),
        spec: spec_text.clone(),
        encoder: encoder(),
    };
    request.get_or_make(cache)
}

/// The variant of `source` under `spec` with recomputed deltas, made now or taken from `cache`.
///
/// # Errors
/// As [`cached_variant`], with the error of [`convert_recomputed`](crate::convert_recomputed).
pub fn cached_recomputed(
    cache: &Cache,
    source: &Repository,
    spec: &CodecSpec,
    recomputer: &DeltaRecomputer,
    control: JobControl<'_>,
) -> std::result::Result<VariantDir, GetOrMakeError<WriterError>> {
    match (source, recomputer) {
        (Repository::Git(source), DeltaRecomputer::Git(git)) => git_recomputed(cache, source, spec, &**git, control),
        (Repository::Hg(source), DeltaRecomputer::Hg(hg)) => hg_recomputed(cache, source, spec, &**hg, control),
        _ => Err(GetOrMakeError::Make(other_system(spec))),
    }
}

/// The canonical spelling of `spec`, and that deltas are recomputed: part of cache keys, so the word must not change.
fn recomputed(spec: &CodecSpec) -> String {
    format!("{}, rechosen", spec.canonical())
}

/// Git searches for deltas once, and the result is converted to each codec.
fn git_recomputed(
    cache: &Cache,
    source: &GitRepository,
    spec: &CodecSpec,
    git: &dyn GitDeltas,
    control: JobControl<'_>,
) -> std::result::Result<VariantDir, GetOrMakeError<WriterError>> {
    let readable = git::recompute::readable_spec().map_err(GetOrMakeError::Make)?;
    let settings = git::recompute::search_settings(source).into_iter();
    let settings: String = settings.map(|(name, value)| format!(", {name} {value}")).collect();
    let encoder = format!("{}, {}{settings}", encoder(), git.identity());
    let first = Request {
        key: &|| git::variant::key(source, &recomputed(&readable), &encoder),
        convert: &|target| {
            git::recompute::convert_recomputed(source, &readable, git, &ConvertJob::new(target, control)).map(search_of)
        },
        state: &|| git::variant::key(source, "", ""),
        folder: source.git_dir(),
        spec: recomputed(&readable),
        encoder: encoder.clone(),
    };
    let first = first.get_or_make(cache)?;
    if *spec == readable {
        return Ok(first);
    }
    let opened = Repository::open(first.path()).map_err(|error| GetOrMakeError::Make(error.into()))?;
    let request = Request {
        key: &|| git::variant::key(source, &recomputed(spec), &encoder),
        convert: &|target| convert(&opened, spec, Layout::default(), &ConvertJob::new(target, control)).map(search_of),
        state: &|| git::variant::key(source, "", ""),
        folder: source.git_dir(),
        spec: recomputed(spec),
        encoder: encoder.clone(),
    };
    Ok(request.get_or_make(cache)?.after(first.making_cost()))
}

fn hg_recomputed(
    cache: &Cache,
    source: &HgRepository,
    spec: &CodecSpec,
    hg: &dyn HgDeltas,
    control: JobControl<'_>,
) -> std::result::Result<VariantDir, GetOrMakeError<WriterError>> {
    hg::recompute::check_spec(spec).map_err(GetOrMakeError::Make)?;
    let identity = hg.identity(spec).map_err(GetOrMakeError::Make)?;
    let encoder = format!("{}, {identity}", encoder());
    let request = Request {
        key: &|| hg::variant::key(source, &recomputed(spec), &encoder),
        convert: &|target| {
            hg::recompute::convert_recomputed(source, spec, hg, &ConvertJob::new(target, control)).map(search_of)
        },
        state: &|| hg::variant::key(source, "", ""),
        folder: source.hg_dir(),
        spec: recomputed(spec),
        encoder: encoder.clone(),
    };
    request.get_or_make(cache)
}

fn key(source: &Repository, spec: &str, encoder: &str) -> Result<VariantKey> {
    match source {
        Repository::Git(source) => git::variant::key(source, spec, encoder),
        Repository::Hg(source) => hg::variant::key(source, spec, encoder),
    }
}

/// Names and versions of the libraries that encode, and a hash of this program's own sources. Another release of a
/// library, or another build of this program, may compress differently.
fn encoder() -> String {
    let libraries = catalogue().into_iter().map(|codec| format!("{} {}", codec.implementation, codec.version));
    libraries.chain([format!("sources {}", env!("REPACKBENCH_SOURCES"))]).collect::<Vec<_>>().join(", ")
}

fn search_of((conversion, _): (Conversion, PathBuf)) -> Option<SearchCost> {
    conversion.search
}

/// A request for a variant.
struct Request<'a> {
    /// Computes the key of the variant from the present state of the source.
    key: &'a dyn Fn() -> Result<VariantKey>,
    /// Converts the source into a new folder, and returns the cost of a search for deltas in that.
    convert: &'a dyn Fn(&Path) -> Result<Option<SearchCost>>,
    /// Computes the fingerprint of the source.
    state: &'a dyn Fn() -> Result<VariantKey>,
    /// The folder of the source.
    folder: &'a Path,
    spec: String,
    /// What encodes, as in the key.
    encoder: String,
}

impl Request<'_> {
    fn get_or_make(&self, cache: &Cache) -> std::result::Result<VariantDir, GetOrMakeError<WriterError>> {
        let key = (self.key)().map_err(GetOrMakeError::Make)?;
        // The origin takes as long as the key with many loose objects, and only a new variant needs it.
        if let Some(variant) = cache.get(&key)? {
            return Ok(variant);
        }
        let origin = self.origin().map_err(GetOrMakeError::Make)?;
        cache.get_or_make(&key, &origin, |target| self.convert_under_key(&key, target))
    }

    /// The origin of the variant. Its path is absolute, since it is read from other folders.
    fn origin(&self) -> Result<VariantOrigin> {
        let source = fs::canonicalize(self.folder).map_err(|error| ReaderError::io("resolve", self.folder, error))?;
        Ok(VariantOrigin {
            source,
            spec: self.spec.clone(),
            format_version: FORMAT_VERSION,
            state: Some((self.state)()?.to_string()),
            encoder: Some(self.encoder.clone()),
        })
    }

    /// Converts the source into `target`, and checks that the source is still what `key` describes. The key is computed
    /// before the conversion starts to watch the source. A change in between would give a complete variant under the
    /// wrong key.
    fn convert_under_key(&self, key: &VariantKey, target: &Path) -> Result<Option<SearchCost>> {
        let search = (self.convert)(target)?;
        if (self.key)()? != *key {
            return Err(ReaderError::Changed { path: self.folder.to_owned() }.into());
        }
        Ok(search)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_changed_after_its_key_was_computed_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let repository = folder.path().join("repo.git");
        for name in ["objects", "refs/heads"] {
            fs::create_dir_all(repository.join(name)).unwrap();
        }
        fs::write(repository.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let source = Repository::open(&repository).unwrap();
        let spec: CodecSpec = "store".parse().unwrap();
        let control = JobControl::quiet(1);
        let request = Request {
            key: &|| key(&source, &spec.canonical(), &encoder()),
            convert: &|target| {
                convert(&source, &spec, Layout::default(), &ConvertJob::new(target, control)).map(search_of)
            },
            state: &|| fingerprint(&source),
            folder: source.folder(),
            spec: spec.canonical(),
            encoder: encoder(),
        };
        let key = (request.key)().unwrap();

        request.convert_under_key(&key, &folder.path().join("unchanged")).unwrap();
        fs::write(repository.join("HEAD"), "ref: refs/heads/other\n").unwrap();
        let changed = request.convert_under_key(&key, &folder.path().join("changed"));
        assert!(matches!(changed, Err(WriterError::Reader(ReaderError::Changed { .. }))), "{changed:?}");
    }
}
