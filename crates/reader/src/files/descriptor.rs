//! The file that describes a tree of files.
//!
//! It is text with one line per field, in this order: name, space, value. It holds nothing else.
//!
//! | name | value |
//! |---|---|
//! | `repackbench-files` | the version of this format: 1 |
//! | `spec` | the codec spec in canonical form |
//! | `form` | the format of the files: see [`FileForm`] |
//! | `revision` | the hexadecimal id of the revision |
//! | `files` | number of files; decimal, as all values below |
//! | `content-bytes` | total length of their contents |
//! | `stored-bytes` | total length of the files as stored |
//! | `symlinks` | number of symbolic links of the revision that are left out |
//! | `gitlinks` | number of commits of other repositories that are left out |
//! | `missing` | number of files that are left out because a partial clone lacks them |

use std::path::Path;

use repackbench_codec::{CodecSpec, FileForm};

use super::read_whole;
use crate::{Place, ReaderError, Result};

/// The descriptor's name in the folder of the tree.
pub const DESCRIPTOR_FILE: &str = "repackbench-files";

/// The version of the format.
const VERSION: u64 = 1;

/// The longest descriptor in bytes. The longest canonical spec has a few hundred.
const MAX_LEN: u64 = 4096;

/// The description of a tree of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// The codec spec in canonical form.
    pub spec: String,
    /// The format of the files.
    pub form: FileForm,
    /// The hexadecimal id of the revision.
    pub revision: String,
    /// Number of files.
    pub files: u64,
    /// Total length of their contents in bytes.
    pub content_bytes: u64,
    /// Total length of the files as stored, in bytes.
    pub stored_bytes: u64,
    /// Number of symbolic links of the revision that are left out.
    pub symlinks: u64,
    /// Number of commits of other repositories that are left out.
    pub gitlinks: u64,
    /// Number of files that are left out because a partial clone lacks them.
    pub missing: u64,
}

impl Descriptor {
    /// The text of the file.
    pub fn to_text(&self) -> String {
        let lines = [
            (DESCRIPTOR_FILE, VERSION.to_string()),
            ("spec", self.spec.clone()),
            ("form", self.form.name().to_owned()),
            ("revision", self.revision.clone()),
            ("files", self.files.to_string()),
            ("content-bytes", self.content_bytes.to_string()),
            ("stored-bytes", self.stored_bytes.to_string()),
            ("symlinks", self.symlinks.to_string()),
            ("gitlinks", self.gitlinks.to_string()),
            ("missing", self.missing.to_string()),
        ];
        lines.iter().map(|(name, value)| format!("{name} {value}\n")).collect()
    }

    /// Reads the descriptor of the tree in `folder`.
    ///
    /// # Errors
    /// The descriptor is missing, or not exactly as the writer writes it.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(DESCRIPTOR_FILE);
        let mut bytes = Vec::new();
        read_whole(&path, MAX_LEN, &mut bytes)?;
        let text = str::from_utf8(&bytes)
            .map_err(|error| ReaderError::corrupt(&path, Place::Whole, "text in UTF-8", error.to_string()))?;
        Lines { path: &path, lines: text.split('\n'), number: 0 }.descriptor()
    }
}

/// The lines that are still to be read, with the path and line number for errors.
struct Lines<'a> {
    path: &'a Path,
    lines: std::str::Split<'a, char>,
    number: usize,
}

impl<'a> Lines<'a> {
    fn descriptor(mut self) -> Result<Descriptor> {
        let version = self.number(DESCRIPTOR_FILE)?;
        if version != VERSION {
            return Err(ReaderError::unsupported(self.path, format!("version {version} of the format")));
        }
        let descriptor = Descriptor {
            spec: self.checked("spec", "a codec spec", |text| text.parse::<CodecSpec>().is_ok())?.to_owned(),
            form: self.form()?,
            revision: self.checked("revision", "a hexadecimal id", is_id)?.to_owned(),
            files: self.number("files")?,
            content_bytes: self.number("content-bytes")?,
            stored_bytes: self.number("stored-bytes")?,
            symlinks: self.number("symlinks")?,
            gitlinks: self.number("gitlinks")?,
            missing: self.number("missing")?,
        };
        match (self.lines.next(), self.lines.next()) {
            (Some(""), None) => Ok(descriptor),
            (rest, _) => {
                Err(self
                    .corrupt("the end of the file".to_owned(), rest.unwrap_or("a line without a line feed").to_owned()))
            }
        }
    }

    /// The value of the next line, which has to be the line of `name`.
    fn value(&mut self, name: &str) -> Result<&'a str> {
        self.number += 1;
        let line = self.lines.next().unwrap_or_default();
        let value = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(' '));
        value.ok_or_else(|| self.corrupt(format!("a line that begins with \"{name} \""), format!("{line:?}")))
    }

    fn checked(&mut self, name: &str, expected: &str, is_good: impl FnOnce(&str) -> bool) -> Result<&'a str> {
        let value = self.value(name)?;
        if is_good(value) { Ok(value) } else { Err(self.corrupt(expected.to_owned(), format!("{value:?}"))) }
    }

    fn number(&mut self, name: &str) -> Result<u64> {
        let value = self.value(name)?;
        // Each number has only one spelling.
        let number = value.parse().ok().filter(|number: &u64| number.to_string() == value);
        number.ok_or_else(|| self.corrupt("a decimal number".to_owned(), format!("{value:?}")))
    }

    fn form(&mut self) -> Result<FileForm> {
        let value = self.value("form")?;
        FileForm::from_name(value).ok_or_else(|| {
            let names = FileForm::ALL.map(FileForm::name).join(", ");
            self.corrupt(format!("one of {names}"), format!("{value:?}"))
        })
    }

    fn corrupt(&self, expected: String, found: String) -> ReaderError {
        ReaderError::corrupt(self.path, Place::Line(self.number), expected, found)
    }
}

fn is_id(text: &str) -> bool {
    gix_hash::ObjectId::from_hex(text.as_bytes()).is_ok()
}
