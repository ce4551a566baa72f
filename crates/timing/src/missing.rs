//! The objects that a partial clone lacks.

use repackbench_codec::ZlibReader;
use repackbench_reader::{
    History, Repository, Result,
    git::{GitHistory, ObjectStore},
};

/// The limit of missing objects that are named: a clone without blobs lacks millions.
const NAMED: usize = 3;

/// A note on how many reachable objects are missing from `repository`, with the names of the first ones. `None` for a
/// complete repository. Only a partial clone, where objects may be missing on purpose, is walked at all.
pub fn notes(repository: &Repository) -> Result<Option<String>> {
    // What a narrow clone of Mercurial lacks is not in its store at all.
    let Repository::Git(repository) = repository else { return Ok(None) };
    if !repository.is_partial_clone() {
        return Ok(None);
    }
    let store = ObjectStore::open(repository, ZlibReader::Libdeflate)?;
    let mut history = GitHistory::new(repository, store)?;
    history.traverse(&mut |_, _| {})?;
    let objects = history.objects();
    let store = objects.lock();
    let missing = store.missing_objects();
    if missing.is_empty() {
        return Ok(None);
    }
    let names: Vec<String> = missing.iter().take(NAMED).map(ToString::to_string).collect();
    let more = if missing.len() > NAMED { ", ..." } else { "" };
    Ok(Some(format!("partial clone: {} objects are missing: {}{more}", missing.len(), names.join(", "))))
}
