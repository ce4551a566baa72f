//! What `convert --in-place` says at its end: what was replaced, who reads it, the way back, and what to try next.

use std::{ffi::OsString, fmt, path::Path};

use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;
use repackbench_records::SizeRecord;
use repackbench_report::sections;
use repackbench_writer::Replaced;

use super::{
    converted::{DEFAULT_CODEC, command, stock_readers},
    shell_line,
};
use crate::repository::is_without_commits;

/// A repository that was converted in place.
pub(crate) struct ReplacedInPlace<'a> {
    /// The path of the repository, as the user called it.
    pub(crate) path: &'a Path,
    /// The repository afterwards.
    pub(crate) repository: &'a Repository,
    pub(crate) codec: &'a CodecSpec,
    pub(crate) replaced: &'a Replaced,
    /// Its size before and after, if both are known.
    pub(crate) sizes: Option<[SizeRecord; 2]>,
    /// The options that describe the codec to `bench`.
    pub(crate) options: Vec<OsString>,
}

impl ReplacedInPlace<'_> {
    /// `2 packs and 1 loose object`.
    fn parts(&self) -> String {
        let pack = match self.repository {
            Repository::Git(_) => "pack",
            Repository::Hg(_) => "revlog",
        };
        let counts = [(self.replaced.packs, pack), (self.replaced.loose_objects, "loose object")];
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let parts = counts.iter().filter(|(count, _)| *count > 0);
        parts.map(|(count, name)| format!("{count} {name}{}", plural(*count))).collect::<Vec<_>>().join(" and ")
    }

    /// Measurements of the new codec beside the baseline, or of others if it is the baseline.
    fn next(&self) -> String {
        let words = if is_without_commits(self.repository).unwrap_or(false) {
            vec!["size".into(), self.path.into()]
        } else if self.codec.canonical() == DEFAULT_CODEC {
            vec!["estimate".into(), self.path.into()]
        } else {
            [&["bench".into(), self.path.into()], &self.options[..]].concat()
        };
        command(&words)
    }
}

impl fmt::Display for ReplacedInPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Replaced { backup, way_back, notes, .. } = self.replaced;
        for note in notes {
            writeln!(f, "note     {note}")?;
        }
        if self.replaced.is_nothing() {
            writeln!(f, "replaced nothing in {}: all is stored so already", self.path.display())?;
        } else {
            write!(f, "replaced {}: {}", self.path.display(), self.parts())?;
            if let Some([before, after]) = &self.sizes {
                write!(f, "; {}", sections::size_change(before, after))?;
            }
            writeln!(f)?;
        }
        writeln!(f, "read by  {}", stock_readers(self.repository))?;
        if let (Some(backup), Some(way_back)) = (backup, way_back) {
            writeln!(f, "backup   {}", backup.display())?;
            writeln!(f, "back     {}", shell_line(&["sh".into(), way_back.into()]))?;
        }
        write!(f, "next     {}", self.next())
    }
}
