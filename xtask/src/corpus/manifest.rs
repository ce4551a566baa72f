//! The manifest of the corpus: repositories by URL and commit, and figures that are the same on every machine.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files::failed;
use crate::process::{Failure, Outcome};

/// The content of the manifest file. Unknown fields are errors, because a figure under a misspelt name would never be
/// compared.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    /// Notes for people who open the file.
    about: Vec<String>,
    /// The codec specs whose stored bytes are compared.
    pub(super) specs: Vec<String>,
    pub(super) repositories: Vec<Entry>,
}

/// One repository. Figures that have not been measured yet are absent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) role: Role,
    pub(super) url: String,
    /// The full id of the commit. The repository consists of everything that it reaches.
    pub(super) commit: String,
    /// A description of the commit, and other remarks, such as where its role is stated.
    pub(super) note: String,
    /// How to convert it to Mercurial before it is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) conversion: Option<Conversion>,
    /// The number of Git objects that the commit reaches, including itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) objects: Option<u64>,
    /// The length of all payloads before compression. For Git, the payloads are the contents of the objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) payload_bytes: Option<u64>,
    /// The length of all chunks under each spec. For Git, each object is stored whole, without its header; for
    /// Mercurial, the deltas are those that hg chose.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) stored_bytes: BTreeMap<String, u64>,
}

/// The kind of repository that an entry is an example of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Kernel,
    Git,
    ConvertedMercurial,
    ManyBinaries,
    ManyTranslations,
    SmallLibrary,
    Library,
    Program,
}

/// Whether codec specs were chosen on this repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Role {
    ChosenOn,
    HeldOut,
}

/// A conversion of the Git repository to Mercurial. The release of hg decides which deltas the result has.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Conversion {
    /// The release of hg.
    pub(super) hg: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) changesets: Option<u64>,
    /// The node of the last changeset: a hash over the whole history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tip: Option<String>,
}

/// The figures measured for an entry.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) objects: u64,
    pub(super) converted: Option<Converted>,
    pub(super) sizes: Option<Sizes>,
}

/// Facts about a converted repository.
#[derive(Debug)]
pub(super) struct Converted {
    pub(super) changesets: u64,
    pub(super) tip: String,
}

/// The total lengths of a repository's payloads and chunks.
#[derive(Debug)]
pub(super) struct Sizes {
    pub(super) payload_bytes: u64,
    /// By codec spec.
    pub(super) stored_bytes: BTreeMap<String, u64>,
}

impl Manifest {
    /// Reads and checks the file.
    pub(super) fn read(path: &Path) -> Outcome<Self> {
        let failed = |error: &dyn Display| failed(path, error);
        let text = fs::read(path).map_err(|error| failed(&error))?;
        let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| failed(&error))?;
        manifest.check().map_err(|error| failed(&error))?;
        Ok(manifest)
    }

    /// The text of the file.
    pub(super) fn text(&self) -> Outcome<String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Failure(error.to_string()))?;
        Ok(text + "\n")
    }

    /// Replaces the file atomically.
    pub(super) fn write(&self, path: &Path) -> Outcome<()> {
        let unfinished = path.with_extension("unfinished");
        let failed = |error: std::io::Error| failed(path, &error);
        fs::write(&unfinished, self.text()?).map_err(failed)?;
        fs::rename(&unfinished, path).map_err(failed)
    }

    fn check(&self) -> Result<(), String> {
        for (index, entry) in self.repositories.iter().enumerate() {
            let name = &entry.name;
            // The name becomes that of a folder, and of other folders with an ending.
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
            if name.is_empty() || name.starts_with('-') || !name.chars().all(is_plain) {
                return Err(format!("expected a name of letters, digits and hyphens, found {name:?}"));
            }
            if self.repositories.iter().take(index).any(|earlier| earlier.name == *name) {
                return Err(format!("{name} occurs twice"));
            }
            // git would take a URL that begins with a hyphen for an option.
            if entry.url.is_empty() || entry.url.starts_with('-') {
                return Err(format!("{name}: expected a URL, found {:?}", entry.url));
            }
            let is_id = |id: &str| id.len() == 40 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            let tip = entry.conversion.as_ref().and_then(|conversion| conversion.tip.as_ref());
            if let Some(id) = std::iter::once(&entry.commit).chain(tip).find(|id| !is_id(id)) {
                return Err(format!("{name}: expected an id of 40 lower-case hexadecimal digits, found {id:?}"));
            }
        }
        Ok(())
    }
}

impl Entry {
    /// The figures that differ, each with the expected and the found value. Absent figures do not differ.
    pub(super) fn differences(&self, found: &Measured) -> Vec<String> {
        let mut differences = Vec::new();
        let mut compare = |what: &str, expected: Option<&dyn Display>, found: &dyn Display| {
            let differs = |expected: &&dyn Display| expected.to_string() != found.to_string();
            if let Some(expected) = expected.filter(differs) {
                differences.push(format!("{what}: expected {expected}, found {found}"));
            }
        };
        compare("objects", shown(self.objects.as_ref()), &found.objects);
        if let (Some(expected), Some(found)) = (&self.conversion, &found.converted) {
            compare("changesets", shown(expected.changesets.as_ref()), &found.changesets);
            compare("tip", shown(expected.tip.as_ref()), &found.tip);
        }
        if let Some(found) = &found.sizes {
            compare("bytes of payload", shown(self.payload_bytes.as_ref()), &found.payload_bytes);
            for (spec, bytes) in &found.stored_bytes {
                compare(&format!("stored bytes under {spec}"), shown(self.stored_bytes.get(spec)), bytes);
            }
        }
        differences
    }

    /// How many of the found figures the entry has, so that they can be compared.
    pub(super) fn comparable(&self, found: &Measured) -> usize {
        let conversion = self.conversion.as_ref().filter(|_| found.converted.is_some());
        let converted = conversion.map_or(0, |it| usize::from(it.changesets.is_some()) + usize::from(it.tip.is_some()));
        let sizes = found.sizes.as_ref().map_or(0, |sizes| {
            let specs = sizes.stored_bytes.keys().filter(|spec| self.stored_bytes.contains_key(*spec));
            usize::from(self.payload_bytes.is_some()) + specs.count()
        });
        usize::from(self.objects.is_some()) + converted + sizes
    }

    /// Replaces the figures by those found.
    ///
    /// Sizes that were not measured are dropped if another figure shows that they belong to another commit or
    /// conversion. Returns whether they were dropped.
    pub(super) fn update(&mut self, found: Measured) -> bool {
        let conversion = self.conversion.as_ref().zip(found.converted.as_ref());
        let is_same = self.objects == Some(found.objects)
            && conversion.is_none_or(|(expected, found)| {
                expected.changesets == Some(found.changesets) && expected.tip.as_deref() == Some(&found.tip)
            });
        self.objects = Some(found.objects);
        if let (Some(conversion), Some(converted)) = (&mut self.conversion, found.converted) {
            conversion.changesets = Some(converted.changesets);
            conversion.tip = Some(converted.tip);
        }
        let had_sizes = self.payload_bytes.is_some() || !self.stored_bytes.is_empty();
        match found.sizes {
            Some(sizes) => {
                self.payload_bytes = Some(sizes.payload_bytes);
                self.stored_bytes = sizes.stored_bytes;
                false
            }
            None if had_sizes && !is_same => {
                self.payload_bytes = None;
                self.stored_bytes.clear();
                true
            }
            None => false,
        }
    }

    /// Whether both entries describe the same repository.
    pub(super) fn is_same_repository(&self, other: &Entry) -> bool {
        let hg = |entry: &Entry| entry.conversion.as_ref().map(|conversion| conversion.hg.clone());
        self.name == other.name && self.commit == other.commit && hg(self) == hg(other)
    }
}

/// A figure of the manifest, for printing.
fn shown<T: Display>(figure: Option<&T>) -> Option<&dyn Display> {
    figure.map(|figure| figure as &dyn Display)
}

impl Kind {
    /// The name in the manifest.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Kernel => "kernel",
            Kind::Git => "git",
            Kind::ConvertedMercurial => "converted-mercurial",
            Kind::ManyBinaries => "many-binaries",
            Kind::ManyTranslations => "many-translations",
            Kind::SmallLibrary => "small-library",
            Kind::Library => "library",
            Kind::Program => "program",
        }
    }
}

impl Role {
    /// The name in the manifest.
    pub(super) fn name(self) -> &'static str {
        match self {
            Role::ChosenOn => "chosen-on",
            Role::HeldOut => "held-out",
        }
    }
}
