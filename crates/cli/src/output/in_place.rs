//! What `convert --in-place` says at its end: what was replaced, where the old files are, and the way back.

use std::{fmt, path::Path};

use repackbench_writer::Replaced;

use super::shell_line;

/// A repository that was converted in place.
pub(crate) struct ReplacedInPlace<'a> {
    /// The path of the repository, as the user called it.
    pub(crate) path: &'a Path,
    pub(crate) replaced: &'a Replaced,
}

impl fmt::Display for ReplacedInPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Replaced { packs, loose_objects, bytes_before, bytes_after, backup, way_back, notes } = self.replaced;
        for note in notes {
            writeln!(f, "note     {note}")?;
        }
        if self.replaced.is_nothing() {
            write!(f, "replaced nothing in {}: all is stored so already", self.path.display())?;
        } else {
            let (before, after) = (megabytes(*bytes_before), megabytes(*bytes_after));
            let plural = |count: u64| if count == 1 { "" } else { "s" };
            write!(f, "replaced {}: {packs} pack{of} or revlog{of}", self.path.display(), of = plural(*packs))?;
            if *loose_objects > 0 {
                write!(f, " and {loose_objects} loose object{}", plural(*loose_objects))?;
            }
            write!(f, ", {before} MB before, {after} MB after")?;
        }
        if let (Some(backup), Some(way_back)) = (backup, way_back) {
            let command = shell_line(&["sh".into(), way_back.into()]);
            write!(f, "\nbackup   {}\nback     {command}", backup.display())?;
        }
        Ok(())
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / 1e6)
}
