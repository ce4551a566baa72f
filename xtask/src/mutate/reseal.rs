//! Corrects the checksums that cover damage in a Git repository, as a faulty or hostile writer would leave it.
//! Otherwise a checksum of the whole file finds nearly all damage, and no other check is tried.

use std::path::{Path, PathBuf};

use sha1::{Digest, Sha1};
use sha2::Sha256;

/// The ending of packs.
const PACK: &str = "pack";
/// The endings of other files that end with a checksum of themselves.
const SEALED: [&str; 5] = ["idx", "rev", "mtimes", "bitmap", "graph"];
/// The names of such files without an ending.
const SEALED_NAMES: [&str; 2] = ["multi-pack-index", "commit-graph"];
/// The endings of files beside a pack that end with the checksum of the pack and one of themselves.
pub(super) const NAMES_PACK: [&str; 3] = ["idx", "rev", "mtimes"];
/// The bytes of an index of version 2 before the first id.
const INDEX_HEADER: usize = 8 + 4 * 256;
const INDEX_MAGIC: &[u8] = b"\xfftOc\0\0\0\x02";
/// An offset with this bit is that of a longer offset in another table.
const IS_LONG: u32 = 1 << 31;

/// The hash function of a repository's ids and checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hash {
    Sha1,
    Sha256,
}

impl Hash {
    pub(super) fn len(self) -> usize {
        match self {
            Hash::Sha1 => 20,
            Hash::Sha256 => 32,
        }
    }

    fn of(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Hash::Sha1 => Sha1::digest(bytes).to_vec(),
            Hash::Sha256 => Sha256::digest(bytes).to_vec(),
        }
    }
}

/// Whether the file ends with a checksum of itself.
pub(super) fn is_sealed(path: &Path) -> bool {
    let has = |name: Option<&std::ffi::OsStr>, of: &[&str]| name.is_some_and(|name| of.iter().any(|one| name == *one));
    has(path.extension(), &SEALED) || has(path.extension(), &[PACK]) || has(path.file_name(), &SEALED_NAMES)
}

/// Whether other files hold the checksum of this one.
pub(super) fn is_pack(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == PACK)
}

/// Writes the checksum of what comes before it at the end of a file. Does nothing to a file that is too short for one.
pub(super) fn reseal(content: &mut [u8], hash: Hash) {
    if let Some((body, trailer)) = content.len().checked_sub(hash.len()).map(|len| content.split_at_mut(len)) {
        trailer.copy_from_slice(&hash.of(body));
    }
}

/// Corrects a file beside a pack, one of [`NAMES_PACK`], for a pack that has been resealed.
pub(super) fn reseal_beside(path: &Path, content: &mut [u8], pack: &[u8], hash: Hash) {
    let Some(checksum) = pack.len().checked_sub(hash.len()).and_then(|start| pack.get(start..)) else { return };
    if path.extension().is_some_and(|extension| extension == "idx") {
        correct_crcs(content, pack.get(..pack.len() - hash.len()).unwrap_or_default(), hash);
    }
    let end = content.len();
    if let Some(place) = end.checked_sub(2 * hash.len()).and_then(|start| content.get_mut(start..end - hash.len())) {
        place.copy_from_slice(checksum);
    }
    reseal(content, hash);
}

/// Corrects the CRC-32 of each entry in an index of version 2.
fn correct_crcs(index: &mut [u8], entries: &[u8], hash: Hash) {
    let Some(tables) = index.starts_with(INDEX_MAGIC).then_some(()).and_then(|()| tables(index, hash)) else { return };
    let mut offsets = tables.offsets.clone();
    offsets.sort_unstable();
    for (nth, &start) in tables.offsets.iter().enumerate() {
        let next = offsets.get(offsets.partition_point(|&offset| offset <= start));
        let end = next.copied().unwrap_or(entries.len()).min(entries.len());
        let crc = entries.get(start..end).map(crc32fast::hash);
        let place = tables.crcs + 4 * nth;
        if let (Some(crc), Some(place)) = (crc, index.get_mut(place..place + 4)) {
            place.copy_from_slice(&crc.to_be_bytes());
        }
    }
}

struct Tables {
    /// Where the table of CRC-32 begins.
    crcs: usize,
    /// Where each entry starts in the pack.
    offsets: Vec<usize>,
}

/// The tables of an intact index of version 2. None if it has long offsets, or is cut short.
fn tables(index: &[u8], hash: Hash) -> Option<Tables> {
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let count = usize::try_from(number(INDEX_HEADER - 4)?).ok()?;
    let crcs = INDEX_HEADER + count * hash.len();
    let offsets = (0..count).map(|nth| {
        let offset = number(crcs + 4 * count + 4 * nth)?;
        (offset & IS_LONG == 0).then(|| usize::try_from(offset).ok())?
    });
    Some(Tables { crcs, offsets: offsets.collect::<Option<_>>()? })
}

/// The files beside `pack` that hold its checksum.
pub(super) fn beside(pack: &Path) -> impl Iterator<Item = PathBuf> {
    NAMES_PACK.map(|extension| pack.with_extension(extension)).into_iter()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::process;

    /// A repository with one pack, from a fixture script.
    fn repository(name: &str, folder: &Path) -> PathBuf {
        let script = crate::workspace_root().join("fixtures").join(name);
        process::output(Command::new("bash").arg(script).arg(folder.join("made"))).unwrap();
        folder.join("made").join("repo")
    }

    #[test]
    fn resealing_intact_files_changes_nothing() {
        for (name, hash) in
            [("git-bare.sh", Hash::Sha1), ("git-reverse-index.sh", Hash::Sha1), ("git-sha256.sh", Hash::Sha256)]
        {
            let folder = tempfile::tempdir().unwrap();
            let packs = crate::files::with_extension(&repository(name, folder.path()), PACK).unwrap();
            assert!(!packs.is_empty(), "{name}");
            for path in packs {
                let pack = std::fs::read(&path).unwrap();
                let mut resealed = pack.clone();
                reseal(&mut resealed, hash);
                assert!(resealed == pack, "{name}");
                for path in beside(&path).filter(|path| path.exists()) {
                    let content = std::fs::read(&path).unwrap();
                    let mut resealed = content.clone();
                    reseal_beside(&path, &mut resealed, &pack, hash);
                    assert!(resealed == content, "{name}: {}", path.display());
                }
            }
        }
    }

    #[test]
    fn every_checksum_follows_a_change_of_the_pack() {
        let folder = tempfile::tempdir().unwrap();
        let pack = &crate::files::with_extension(&repository("git-bare.sh", folder.path()), PACK).unwrap()[0];
        let mut content = std::fs::read(pack).unwrap();
        let index = pack.with_extension("idx");
        let mut beside = std::fs::read(&index).unwrap();
        let before = (content.clone(), beside.clone());
        let changed = content.len() / 2;
        content[changed] ^= 1;
        reseal(&mut content, Hash::Sha1);
        reseal_beside(&index, &mut beside, &content, Hash::Sha1);
        let differing = |old: &[u8], new: &[u8]| old.iter().zip(new).filter(|(old, new)| old != new).count();
        assert!(differing(&before.0, &content) > 10, "a trailer differs");
        let crcs = tables(&beside, Hash::Sha1).unwrap();
        let span = crcs.crcs..crcs.crcs + 4 * crcs.offsets.len();
        assert!((1..=4).contains(&differing(&before.1[span.clone()], &beside[span])), "one CRC differs");
        assert!(beside.ends_with(&Hash::Sha1.of(&beside[..beside.len() - 20])));
    }

    #[test]
    fn damaged_files_are_resealed_without_a_panic() {
        for len in [0, 10, 20, 40, INDEX_HEADER, INDEX_HEADER + 7] {
            let mut content = vec![0xff; len];
            reseal(&mut content, Hash::Sha256);
            let filled = INDEX_MAGIC.iter().copied().chain(std::iter::repeat(0xff));
            let mut index: Vec<u8> = filled.take(len).collect();
            reseal_beside(Path::new("a.idx"), &mut index, &content, Hash::Sha1);
        }
    }
}
