//! What the corpus is: repositories by URL and commit, and the figures that they give on every machine.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files::failed;
use crate::process::{Failure, Outcome};

/// The manifest's file. Fields that it does not know are refused: a figure under a misspelt name would never be compared.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    /// For whoever opens the file.
    about: Vec<String>,
    /// The codec specs whose stored bytes are compared.
    pub(super) specs: Vec<String>,
    pub(super) repositories: Vec<Entry>,
}

/// One repository. Figures that nobody has measured yet are absent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) role: Role,
    pub(super) url: String,
    /// The one commit that is meant, as its full id: what it reaches is the repository.
    pub(super) commit: String,
    /// Which commit that is, and what else has to be known of it, such as where its role is stated.
    pub(super) note: String,
    /// What becomes of it before it is measured: a Mercurial repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) conversion: Option<Conversion>,
    /// How many Git objects the commit reaches, itself included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) objects: Option<u64>,
    /// The length of all payloads before compression. Of Git they are the objects' contents, each whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) payload_bytes: Option<u64>,
    /// The length of all chunks under each spec: of Git each object whole, without its header, of Mercurial as hg chose the deltas.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) stored_bytes: BTreeMap<String, u64>,
}

/// What a repository is an example of.
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

/// Whether specs were chosen by what they do to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Role {
    ChosenOn,
    HeldOut,
}

/// A Mercurial repository that hg makes of a Git repository. What deltas it has is the choice of that release of hg.
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

/// What was found of an entry.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) objects: u64,
    pub(super) converted: Option<Converted>,
    pub(super) sizes: Option<Sizes>,
}

/// What hg made.
#[derive(Debug)]
pub(super) struct Converted {
    pub(super) changesets: u64,
    pub(super) tip: String,
}

/// The bytes of a repository's chunks.
#[derive(Debug)]
pub(super) struct Sizes {
    pub(super) payload_bytes: u64,
    /// By spec.
    pub(super) stored_bytes: BTreeMap<String, u64>,
}

impl Manifest {
    /// Reads the file, and checks what makes no sense.
    pub(super) fn read(path: &Path) -> Outcome<Self> {
        let failed = |error: &dyn Display| failed(path, error);
        let text = fs::read(path).map_err(|error| failed(&error))?;
        let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| failed(&error))?;
        manifest.check().map_err(|error| failed(&error))?;
        Ok(manifest)
    }

    /// The file's text.
    pub(super) fn text(&self) -> Outcome<String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Failure(error.to_string()))?;
        Ok(text + "\n")
    }

    /// Replaces the file, whole or not at all.
    pub(super) fn write(&self, path: &Path) -> Outcome<()> {
        let unfinished = path.with_extension("unfinished");
        let failed = |error: std::io::Error| failed(path, &error);
        fs::write(&unfinished, self.text()?).map_err(failed)?;
        fs::rename(&unfinished, path).map_err(failed)
    }

    fn check(&self) -> Result<(), String> {
        for (index, entry) in self.repositories.iter().enumerate() {
            let name = &entry.name;
            // It becomes the name of a folder, beside which others with endings are made.
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
            if name.is_empty() || name.starts_with('-') || !name.chars().all(is_plain) {
                return Err(format!("expected a name of letters, digits and hyphens, found {name:?}"));
            }
            if self.repositories.iter().take(index).any(|earlier| earlier.name == *name) {
                return Err(format!("{name} is there twice"));
            }
            // git takes what begins with a hyphen for an option.
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
    /// What differs from the figures here, each with both; figures that are absent differ from nothing.
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

    /// How many of the figures found stand here to be compared with.
    pub(super) fn comparable(&self, found: &Measured) -> usize {
        let conversion = self.conversion.as_ref().filter(|_| found.converted.is_some());
        let converted = conversion.map_or(0, |it| usize::from(it.changesets.is_some()) + usize::from(it.tip.is_some()));
        let sizes = found.sizes.as_ref().map_or(0, |sizes| {
            let specs = sizes.stored_bytes.keys().filter(|spec| self.stored_bytes.contains_key(*spec));
            usize::from(self.payload_bytes.is_some()) + specs.count()
        });
        usize::from(self.objects.is_some()) + converted + sizes
    }

    /// Takes over what was found. Sizes that were not measured are dropped if anything else shows that they are another commit's or another
    /// conversion's. Says whether they were.
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

    /// Whether both mean the same repository.
    pub(super) fn means_the_same(&self, other: &Entry) -> bool {
        let hg = |entry: &Entry| entry.conversion.as_ref().map(|conversion| conversion.hg.clone());
        self.name == other.name && self.commit == other.commit && hg(self) == hg(other)
    }
}

/// A figure of the manifest, as something to print.
fn shown<T: Display>(figure: Option<&T>) -> Option<&dyn Display> {
    figure.map(|figure| figure as &dyn Display)
}

impl Kind {
    /// As the manifest writes it.
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
    /// As the manifest writes it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Role::ChosenOn => "chosen-on",
            Role::HeldOut => "held-out",
        }
    }
}
