//! The two files that change the parents of commits: `shallow` and `info/grafts`.

use std::{
    collections::{HashMap, hash_map::Entry},
    path::Path,
};

use bstr::ByteSlice;
use gix_hash::ObjectId;

use crate::{
    bounds::read_regular_file,
    error::{Place, ReaderError, Result},
};

/// Reads `shallow`: one commit id per line. A line that does not parse is a fatal error in git.
pub(super) fn read_shallow(path: &Path, hash: gix_hash::Kind) -> Result<Vec<ObjectId>> {
    let Some(content) = read_regular_file(path)? else { return Ok(Vec::new()) };
    let mut commits = Vec::new();
    for (number, line) in content.lines().enumerate() {
        let commit = parse_id(line, hash).ok_or_else(|| {
            let expected = format!("{} hexadecimal digits", hash.len_in_hex());
            ReaderError::corrupt(path, Place::Line(number + 1), expected, format!("'{}'", line.escape_ascii()))
        })?;
        commits.push(commit);
    }
    Ok(commits)
}

/// Reads `info/grafts`: a commit id and the ids of its parents per line, separated by single spaces. `#` begins a
/// comment line. As in git, a line that does not parse is skipped, and the first line for a commit counts.
pub(super) fn read_grafts(
    path: &Path,
    hash: gix_hash::Kind,
    notes: &mut Vec<String>,
) -> Result<HashMap<ObjectId, Vec<ObjectId>>> {
    let mut grafts = HashMap::new();
    let Some(content) = read_regular_file(path)? else { return Ok(grafts) };
    for (number, line) in content.lines().enumerate() {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let ids: Option<Vec<ObjectId>> = line.split_str(" ").map(|hex| parse_id(hex, hash)).collect();
        let mut note = |what: &str| notes.push(format!("{}, line {}: {what}", path.display(), number + 1));
        match ids.as_deref().and_then(<[ObjectId]>::split_first) {
            None => note("a graft that does not parse"),
            Some((commit, parents)) => match grafts.entry(*commit) {
                Entry::Vacant(entry) => {
                    entry.insert(parents.to_vec());
                }
                Entry::Occupied(_) => note("a second graft for the same commit"),
            },
        }
    }
    Ok(grafts)
}

/// Parses an id that has exactly the length of `hash`.
fn parse_id(hex: &[u8], hash: gix_hash::Kind) -> Option<ObjectId> {
    ObjectId::from_hex(hex).ok().filter(|id| id.kind() == hash)
}
