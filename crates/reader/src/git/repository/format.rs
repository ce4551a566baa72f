//! The repository's format version and extensions, interpreted as in git's `setup.c`.
//!
//! | `core.repositoryformatversion` | meaning of `extensions.*` |
//! |---|---|
//! | absent (or no `config` at all) | all are ignored; SHA-1 |
//! | 0 | `noop`, `preciousObjects`, `partialClone`, `worktreeConfig` count; one that needs version 1 is an error |
//! | 1 | all count; an unknown one is an error |
//! | above 1 | rejected |
//!
//! Version 0 ignores unknown extensions.

use std::path::Path;

use bstr::{BStr, BString, ByteSlice};

use crate::{
    bounds::read_regular_file,
    error::{Place, ReaderError, Result},
};

/// The format of one repository: version, hash function and the extensions that a copy has to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryFormat {
    /// `core.repositoryformatversion`; 0 if absent.
    pub version: i64,
    /// `extensions.objectFormat`; SHA-1 if absent.
    pub object_hash: gix_hash::Kind,
    /// `extensions.partialClone`: the remote that can supply missing objects.
    pub partial_clone: Option<BString>,
    /// `extensions.preciousObjects`: nothing may be pruned.
    pub precious_objects: bool,
    /// Whether `extensions.noop` is present. It has no effect in any version.
    pub noop: bool,
    /// Whether `extensions.noop-v1` is present. It has no effect and needs version 1.
    pub noop_v1: bool,
    /// `extensions.refStorage`; `files` if absent.
    pub ref_storage: RefStorage,
    /// `extensions.repackbench`: the repository is a variant that stock git cannot read.
    pub variant: Option<VariantMark>,
}

/// The backend that stores refs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RefStorage {
    /// A file for each ref, and `packed-refs`.
    #[default]
    Files,
    /// The tables in the folder `reftable`.
    Reftable,
}

/// The value of `extensions.repackbench`, written as `<format version>;<codec spec>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantMark {
    /// The version of the container format, never newer than the one that this program writes.
    pub format_version: u32,
    /// The codec spec in its canonical spelling.
    pub spec: String,
}

impl RepositoryFormat {
    /// Reads the format and the extensions from `config`, which was read from `path`.
    pub(super) fn from_config(config: &gix_config::File, path: &Path) -> Result<Self> {
        let mut format = RepositoryFormat {
            version: 0,
            object_hash: gix_hash::Kind::Sha1,
            partial_clone: None,
            precious_objects: false,
            noop: false,
            noop_v1: false,
            ref_storage: RefStorage::Files,
            variant: None,
        };
        let Some(version) = version(config, path)? else {
            return Ok(format);
        };
        format.version = version;
        let mut version_1_only = None;
        for (name, value) in extensions(config) {
            match format.apply(&name, value.as_ref().map(|value| value.as_bstr()), path)? {
                ExtensionScope::AnyVersion => {}
                ExtensionScope::Version1Only => version_1_only = Some(name),
                ExtensionScope::Unknown if version == 0 => {}
                ExtensionScope::Unknown => return Err(ReaderError::unsupported(path, format!("extensions.{name}"))),
            }
        }
        match version_1_only {
            Some(name) if version == 0 => Err(ReaderError::corrupt(
                path,
                Place::Whole,
                format!("core.repositoryformatversion = 1, which extensions.{name} needs"),
                "0",
            )),
            _ => Ok(format),
        }
    }

    /// Applies one extension. `name` is in lower case.
    fn apply(&mut self, name: &str, value: Option<&BStr>, path: &Path) -> Result<ExtensionScope> {
        match name {
            "noop" => self.noop = true,
            "preciousobjects" => self.precious_objects = parse_boolean(value, path, "extensions.preciousObjects")?,
            "partialclone" => self.partial_clone = Some(required(value, path, "extensions.partialClone")?.to_owned()),
            // It only affects the index and the checkout of work trees. A bare copy has neither.
            "worktreeconfig" => {}
            _ => return self.apply_version_1_only(name, value, path),
        }
        Ok(ExtensionScope::AnyVersion)
    }

    fn apply_version_1_only(&mut self, name: &str, value: Option<&BStr>, path: &Path) -> Result<ExtensionScope> {
        match name {
            "noop-v1" => self.noop_v1 = true,
            "objectformat" => self.object_hash = object_hash(required(value, path, "extensions.objectFormat")?, path)?,
            "refstorage" => self.ref_storage = ref_storage(required(value, path, "extensions.refStorage")?, path)?,
            // It affects how links between work trees are written. A bare copy has none.
            "relativeworktrees" => {}
            "repackbench" => {
                self.variant = Some(variant_mark(required(value, path, "extensions.repackbench")?, path)?);
            }
            _ => return Ok(ExtensionScope::Unknown),
        }
        Ok(ExtensionScope::Version1Only)
    }
}

/// The format versions in which an extension counts.
enum ExtensionScope {
    AnyVersion,
    Version1Only,
    Unknown,
}

/// Reads the configuration file at `path` without following includes (git does not follow them for the format either).
/// A missing file is an empty configuration.
pub(super) fn read_config(path: &Path) -> Result<gix_config::File> {
    let content = read_regular_file(path)?.unwrap_or_default();
    let metadata = gix_config::file::Metadata::from(gix_config::Source::Local);
    gix_config::File::from_bytes_no_includes(&content, metadata, gix_config::file::init::Options::default()).map_err(
        |error| {
            let place = error
                .downcast_any_ref::<gix_config::parse::Error>()
                .map_or(Place::Whole, |error| Place::Line(error.line_number()));
            ReaderError::corrupt(path, place, "a Git configuration file", error.to_string())
        },
    )
}

/// The boolean `key` of `config`, which was read from `path`; `default` if it is not set.
pub(super) fn boolean(config: &gix_config::File, path: &Path, key: &str, default: bool) -> Result<bool> {
    match config.boolean(key) {
        Ok(value) => Ok(value.unwrap_or(default)),
        Err(_) => Err(ReaderError::corrupt(path, Place::Whole, format!("a boolean for {key}"), "another value")),
    }
}

/// Checks that every `remote.<name>.promisor` is a boolean, and that `partialclonefilter` has a value: git reads no
/// object otherwise.
pub(super) fn check_promisors(config: &gix_config::File, path: &Path) -> Result<()> {
    for section in config.sections_by_name("remote").into_iter().flatten() {
        for value in section.values("promisor") {
            parse_boolean(Some(value.as_ref()), path, "remote.<name>.promisor")?;
        }
        if section.value_implicit("partialclonefilter") == Some(None) {
            let expected = "a value for remote.<name>.partialclonefilter";
            return Err(ReaderError::corrupt(path, Place::Whole, expected, "none"));
        }
    }
    Ok(())
}

/// Whether any `remote.<name>.promisor` is true.
pub(super) fn has_promisor_remote(config: &gix_config::File) -> bool {
    config.sections_by_name("remote").into_iter().flatten().any(|section| match section.value_implicit("promisor") {
        None => false,
        Some(None) => true,
        Some(Some(value)) => gix_config::Boolean::try_from(value).is_ok_and(|value| value.0),
    })
}

/// `core.repositoryformatversion`. If it is given several times, the last one counts.
fn version(config: &gix_config::File, path: &Path) -> Result<Option<i64>> {
    let key = "core.repositoryformatversion";
    let found = || config.string(key).unwrap_or_default().to_string();
    match config.integer(key) {
        Ok(Some(version)) if version > 1 => Err(ReaderError::unsupported(path, format!("{key} = {version}"))),
        // Git treats a negative version like an absent one.
        Ok(Some(version)) if version < 0 => Ok(None),
        Ok(version) => Ok(version),
        Err(_) => Err(ReaderError::corrupt(path, Place::Whole, format!("a number for {key}"), found())),
    }
}

/// Every `extensions.<name>` with its value, in file order. Names are in lower case, and `<subsection>.<name>` with a
/// subsection.
fn extensions(config: &gix_config::File) -> Vec<(String, Option<BString>)> {
    let mut found = Vec::new();
    for section in config.sections_by_name("extensions").into_iter().flatten() {
        for name in section.value_names() {
            // If a name is given twice in one section, the last value counts, as in git.
            let value = section.value_implicit(&name).flatten();
            let name = name.to_ascii_lowercase();
            found.push(match section.header().subsection_name() {
                Some(subsection) => (format!("{subsection}.{name}"), value),
                None => (name, value),
            });
        }
    }
    found
}

fn required<'value>(value: Option<&'value BStr>, path: &Path, key: &str) -> Result<&'value BStr> {
    value.ok_or_else(|| ReaderError::corrupt(path, Place::Whole, format!("a value for {key}"), "none"))
}

fn parse_boolean(value: Option<&BStr>, path: &Path, key: &str) -> Result<bool> {
    // A key without '=' is true.
    let Some(value) = value else { return Ok(true) };
    gix_config::Boolean::try_from(value)
        .map(|value| value.0)
        .map_err(|_| ReaderError::corrupt(path, Place::Whole, format!("a boolean for {key}"), value.to_string()))
}

fn object_hash(name: &BStr, path: &Path) -> Result<gix_hash::Kind> {
    match name.as_bytes() {
        b"sha1" => Ok(gix_hash::Kind::Sha1),
        b"sha256" => Ok(gix_hash::Kind::Sha256),
        _ => Err(ReaderError::unsupported(path, format!("extensions.objectFormat = {name}"))),
    }
}

fn ref_storage(name: &BStr, path: &Path) -> Result<RefStorage> {
    match name.as_bytes() {
        b"files" => Ok(RefStorage::Files),
        b"reftable" => Ok(RefStorage::Reftable),
        _ => Err(ReaderError::unsupported(path, format!("extensions.refStorage = {name}"))),
    }
}

/// Parses `<format version>;<codec spec>`. A newer version is an error of its own.
fn variant_mark(value: &BStr, path: &Path) -> Result<VariantMark> {
    let malformed = || {
        let expected = "'<format version>;<codec spec>' for extensions.repackbench";
        ReaderError::corrupt(path, Place::Whole, expected, value.to_string())
    };
    let (version, spec) = value.to_str().ok().and_then(|text| text.split_once(';')).ok_or_else(malformed)?;
    let format_version: u32 = version.parse().map_err(|_| malformed())?;
    if format_version == 0 || spec.is_empty() {
        return Err(malformed());
    }
    if format_version > repackbench_codec::NUMBERS_FORMAT_VERSION {
        let known = repackbench_codec::NUMBERS_FORMAT_VERSION;
        let what = format!("extensions.repackbench format {format_version} (this program knows up to {known})");
        return Err(ReaderError::unsupported(path, what));
    }
    Ok(VariantMark { format_version, spec: spec.to_owned() })
}
