//! What `convert` says at its end: who reads the result, the way back, and what to try next.

use std::{ffi::OsString, fmt, path::Path};

use repackbench_client::settings_to_read;
use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;
use repackbench_records::Readers;
use repackbench_timing::record_names::readers_of;
use repackbench_writer::{Layout, StoreKind};

use super::shell_line;
use crate::repository::is_without_commits;

/// The codec of the way back.
pub(super) const DEFAULT_CODEC: &str = "zlib:6";

/// A repository that was written.
pub(crate) struct Converted<'a> {
    /// What it was made from.
    pub(crate) source: &'a Repository,
    /// The path of the source, as the user called it.
    pub(crate) source_path: &'a Path,
    pub(crate) path: &'a Path,
    pub(crate) codec: &'a CodecSpec,
    pub(crate) layout: Layout,
    /// The options that describe the variant to `bench`.
    pub(crate) options: Vec<OsString>,
}

impl Converted<'_> {
    fn reader(&self) -> Readers {
        readers_of(self.source, self.codec, self.layout.store)
    }

    /// The line about readers, and what is needed for it.
    fn readers(&self) -> String {
        let (program, path) = (program_of(self.source), self.path.display());
        match (self.reader(), self.source) {
            (Readers::Stock, _) => stock_readers(self.source),
            (Readers::Exec, Repository::Git(_)) => format!("your {program}, by: repackbench exec {path} -- git log"),
            (Readers::Exec, Repository::Hg(_)) => {
                format!("your {program} with the extension, by: repackbench exec {path} -- hg log")
            }
            (Readers::Repackbench, _) => format!("repackbench alone; {program} has no means for it"),
        }
    }

    /// The way back to what stock programs read; `None` if they read this, as git's and hg's own zlib.
    fn way_back(&self) -> Option<String> {
        match self.reader() {
            Readers::Repackbench => Some(format!("use {}, which is unchanged", self.source_path.display())),
            _ if self.is_default() => None,
            _ => Some(command(&["convert".into(), "--codec".into(), DEFAULT_CODEC.into(), self.path.into()])),
        }
    }

    /// A comparison with the source, or measurements of a codec that is not the baseline, where there is anything to
    /// measure.
    fn next(&self) -> String {
        let is_empty = is_without_commits(self.source).unwrap_or(false);
        let words: &[OsString] = if self.is_default() || is_empty {
            &["verify".into(), self.source_path.into(), self.path.into()]
        } else {
            &[&["bench".into(), self.source_path.into()], &self.options[..]].concat()
        };
        command(words)
    }

    /// Whether this is what a conversion back writes.
    fn is_default(&self) -> bool {
        self.codec.canonical() == DEFAULT_CODEC && self.layout.store == StoreKind::AsFound
    }
}

impl fmt::Display for Converted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "wrote    {}", self.path.display())?;
        writeln!(f, "read by  {}", self.readers())?;
        if let Some(way_back) = self.way_back() {
            writeln!(f, "back     {way_back}")?;
        }
        write!(f, "next     {}", self.next())
    }
}

/// How the stock program reads a repository that has the form of `source`, under a codec that it reads.
pub(super) fn stock_readers(source: &Repository) -> String {
    match source {
        Repository::Hg(hg) if !settings_to_read(hg).is_empty() => {
            format!("hg, by: hg --config {}", settings_to_read(hg).join(" --config "))
        }
        _ => format!("{}, as it is", program_of(source)),
    }
}

fn program_of(source: &Repository) -> &'static str {
    match source {
        Repository::Git(_) => "git",
        Repository::Hg(_) => "hg",
    }
}

/// A command of this program, quoted for a shell.
pub(super) fn command(words: &[OsString]) -> String {
    shell_line(&[&[OsString::from(env!("CARGO_BIN_NAME"))], words].concat())
}
