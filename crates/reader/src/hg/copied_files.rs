//! Files that a conversion copies byte for byte and that hg reads before it shows anything: damage on which hg would
//! fail.

use std::{collections::BTreeSet, path::Path};

use super::{HgRepository, obsolescence, read_or_empty, store_names};
use crate::{Place, ReaderError, Result};

/// The roots of phases: lines whose order does not count.
pub(super) const PHASES: &str = "store/phaseroots";

/// The list of names in a store with hashed names.
pub(super) const FNCACHE: &str = "store/fncache";

/// The numbers of the phases that hg has: public, draft, secret, archived and internal.
const PHASE_NUMBERS: [&[u8]; 5] = [b"0", b"1", b"2", b"32", b"96"];

/// Checks the files of `repository` that a conversion copies.
///
/// # Errors
/// [`ReaderError::Corrupt`] for damage on which hg would fail, [`ReaderError::Io`].
pub fn check_copied_files(repository: &HgRepository) -> Result<()> {
    if repository.requirements().contains("fncache") {
        read_fncache(&repository.hg_dir().join(FNCACHE))?;
    }
    obsolescence::read(&repository.hg_dir().join(obsolescence::MARKERS))?;
    check_phases(&repository.hg_dir().join(PHASES))
}

/// Checks that each line is a phase and a node, as hg reads it.
fn check_phases(path: &Path) -> Result<()> {
    let content = read_or_empty(path)?;
    let content = content.strip_suffix(b"\n").unwrap_or(&content);
    if content.is_empty() {
        return Ok(());
    }
    for (number, line) in (1..).zip(content.split(|byte| *byte == b'\n')) {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let (phase, node) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let is_node = node.len() == 40 && node.iter().all(u8::is_ascii_hexdigit);
        if !is_node || !PHASE_NUMBERS.contains(&phase) || words.next().is_some() {
            let found = format!("'{}'", line.escape_ascii());
            return Err(ReaderError::corrupt(path, Place::Line(number), "the number of a phase and a node", found));
        }
    }
    Ok(())
}

/// The names in an fncache as hg reads it: a set of lines. The last line also has to end with a line feed.
///
/// # Errors
/// [`ReaderError::Corrupt`] for damage on which hg would fail.
pub(super) fn read_fncache(path: &Path) -> Result<BTreeSet<Vec<u8>>> {
    let content = read_or_empty(path)?;
    let Some((last, rest)) = content.split_last() else { return Ok(BTreeSet::new()) };
    let damaged = |line, found: &str| ReaderError::corrupt(path, Place::Line(line), "a name with a line feed", found);
    let count = rest.iter().filter(|byte| **byte == b'\n').count() + 1;
    if *last != b'\n' {
        return Err(damaged(count, "no line feed at the end"));
    }
    let mut names = BTreeSet::new();
    for (number, line) in (1..).zip(rest.split(|byte| *byte == b'\n')) {
        // Python also ends a line at a carriage return.
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        for name in line.split(|byte| *byte == b'\r') {
            if name.is_empty() {
                return Err(damaged(number, "an empty line"));
            }
            names.insert(store_names::unmark_directories(name));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn phases(content: &str) -> Result<()> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("phaseroots");
        fs::write(&path, content).unwrap();
        check_phases(&path)
    }

    #[test]
    fn roots_of_phases_are_lines_of_phase_and_node() {
        let node = "0123456789abcdef0123456789abcdef01234567";
        for good in [String::new(), format!("1 {node}\n"), format!("2 {node}\n32 {node}\n96 {node}")] {
            assert!(phases(&good).is_ok(), "{good:?}");
        }
        assert!(check_phases(Path::new("/no/such/file")).is_ok());
        for bad in [
            format!("1 {node}\n1 {}\n", &node[1..]),
            format!("1 {node}\n\n"),
            format!("1 {node}\n3 {node}\n"),
            format!("1 {node}\n{node}\n"),
            format!("1 {node}\n1 {node} {node}\n"),
            format!("1 {node}\n1 {}g\n", &node[1..]),
            format!("1 {node}\n\0\0"),
        ] {
            assert!(phases(&bad).unwrap_err().to_string().contains("phaseroots, line 2: expected"), "{bad:?}");
        }
    }
}
