//! What `convert` says at its end: who reads the result, the way back, and what to try next.

use std::{ffi::OsString, fmt, path::Path};

use repackbench_codec::{CodecSpec, catalogue};
use repackbench_reader::Repository;
use repackbench_writer::{Layout, StoreKind};

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

/// Who reads a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// The stock program.
    Stock,
    /// The user's own git with a preloaded library, or hg with the extension, under `exec`.
    Exec,
    /// Only this program.
    Repackbench,
}

impl Converted<'_> {
    fn reader(&self) -> Reader {
        let is_read = match self.source {
            Repository::Git(_) => self.codec.is_read_by_git(),
            Repository::Hg(_) => is_read_by_hg(self.codec),
        };
        match self.layout.store {
            StoreKind::Btree => Reader::Repackbench,
            _ if self.codec.uses_bases() => Reader::Repackbench,
            _ if is_read => Reader::Stock,
            _ => Reader::Exec,
        }
    }

    /// The line about readers, and what is needed for it.
    fn readers(&self) -> String {
        let (program, path) = (program_of(self.source), self.path.display());
        match (self.reader(), self.source) {
            (Reader::Stock, _) => format!("{program}, as it is"),
            (Reader::Exec, Repository::Git(_)) => format!("your {program}, by: repackbench exec {path} -- git log"),
            (Reader::Exec, Repository::Hg(_)) => {
                format!("your {program} with the extension, by: repackbench exec {path} -- hg log")
            }
            (Reader::Repackbench, _) => format!("repackbench alone; {program} has no means for it"),
        }
    }

    /// The way back to what stock programs read.
    fn way_back(&self) -> String {
        match self.reader() {
            Reader::Repackbench => format!("use {}, which is unchanged", self.source_path.display()),
            _ => command(&["convert".into(), "--codec".into(), "zlib:6".into(), self.path.into()]),
        }
    }

    fn next(&self) -> String {
        command(&[&["bench".into(), self.source_path.into()], &self.options[..]].concat())
    }
}

impl fmt::Display for Converted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "wrote    {}", self.path.display())?;
        writeln!(f, "read by  {}", self.readers())?;
        writeln!(f, "back     {}", self.way_back())?;
        write!(f, "next     {}", self.next())
    }
}

fn program_of(source: &Repository) -> &'static str {
    match source {
        Repository::Git(_) => "git",
        Repository::Hg(_) => "hg",
    }
}

fn is_read_by_hg(codec: &CodecSpec) -> bool {
    let readable = catalogue().into_iter().filter(|info| info.read_by_hg).map(|info| info.algorithm);
    let readable: Vec<_> = readable.collect();
    codec.choices().all(|choice| readable.contains(&choice.algorithm()) && choice.dictionary().is_none())
}

/// A command of this program, quoted for a shell.
fn command(words: &[OsString]) -> String {
    let words = words.iter().map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = std::iter::once(env!("CARGO_BIN_NAME").to_owned()).chain(words).collect();
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}
