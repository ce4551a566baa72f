//! Name hashes in the bitmap of a multi-pack-index.
//!
//! git searches for deltas among objects of similar paths. Where it finds objects by a bitmap, it knows no paths, only
//! the hashes of them that the bitmap keeps. `git multi-pack-index write --bitmap` computes none: it carries over those
//! of an earlier bitmap, which a full `git repack -b` has written (git-config(1), `pack.writeBitmapHashCache`). A forge
//! has such a bitmap. A variant has none, and a repack would change its packs, so the hashes are filled in here.
//!
//! Sources: gitformat-bitmap(5), version 1, and gitformat-pack(5), multi-pack-index. Numbers are big-endian; n is the
//! number of objects, h the length of a hash.
//!
//! | file | bytes | field |
//! |---|---|---|
//! | bitmap | 0..8 | `BITM`, u16 version, u16 flags |
//! | | last h + 4n .. last h | name hashes, u32 each, in the order of the index, if the flags have [`HASH_CACHE`] |
//! | | last h | checksum of all before |
//! | multi-pack-index | 0..12 | `MIDX`, u8 version, u8 hash function, u8 number of chunks, u8, u32 |
//! | | 12.. | for each chunk: u32 id, u64 offset; then an offset of the end |

use std::{cmp::Ordering, fs, path::Path, process::Command};

use gix_hash::{Kind, ObjectId};
use repackbench_client::{Sink, run_child};
use repackbench_reader::hash::IdHasher;

use super::StockError;

/// The flag of bitmaps with name hashes.
const HASH_CACHE: u16 = 4;

/// Where the chunks of a multi-pack-index are listed, and the length of an entry.
const CHUNKS_AT: usize = 12;
const CHUNK_ENTRY: usize = 12;

/// The length of a name hash.
const HASH_LEN: usize = 4;

/// Fills the name hashes of `bitmap` in, which belongs to `index`. `list` is `git rev-list --objects --all` in their
/// repository. Objects that it does not list have no name, as in bitmaps of git.
///
/// A path with a line feed gets the hash of what is before it, because the list has no more of it.
///
/// # Errors
/// The command fails, or a file is not what this module describes.
pub(super) fn fill(bitmap: &Path, index: &Path, list: &mut Command) -> Result<(), StockError> {
    let read = |path: &Path| fs::read(path).map_err(|error| StockError::files("read", path, error));
    let (mut bytes, index_bytes) = (read(bitmap)?, read(index)?);
    let ids = Ids::of(&index_bytes)
        .ok_or_else(|| StockError::files("read", index, "expected a multi-pack-index with a list of ids"))?;
    let mut names = NameHashes { hashes: vec![0; ids.count()], ids, line: Vec::new() };
    run_child(list, &|| false, Some(&mut names), &mut ()).map_err(|error| StockError::of(list, error))?;
    names.line_ends();
    replace(&mut bytes, &names.hashes, names.ids.kind)
        .ok_or_else(|| StockError::files("read", bitmap, "expected a bitmap of version 1 with name hashes"))?;
    // git makes bitmaps read-only.
    let new = bitmap.with_extension("bitmap-new");
    fs::write(&new, bytes).map_err(|error| StockError::files("write", &new, error))?;
    fs::rename(&new, bitmap).map_err(|error| StockError::files("replace", bitmap, error))
}

/// Replaces the name hashes of a bitmap and its checksum; `None` if it has none for that many objects.
fn replace(bitmap: &mut [u8], hashes: &[u32], kind: Kind) -> Option<()> {
    let flags = bitmap.strip_prefix(b"BITM\0\x01")?.first_chunk().copied().map(u16::from_be_bytes)?;
    if flags & HASH_CACHE == 0 {
        return None;
    }
    let end = bitmap.len().checked_sub(kind.len_in_bytes())?;
    let start = end.checked_sub(hashes.len().checked_mul(HASH_LEN)?)?;
    for (place, hash) in bitmap.get_mut(start..end)?.chunks_exact_mut(HASH_LEN).zip(hashes) {
        place.copy_from_slice(&hash.to_be_bytes());
    }
    let (body, checksum) = bitmap.split_at_mut_checked(end)?;
    let mut hasher = IdHasher::new(kind);
    hasher.update(body);
    checksum.copy_from_slice(hasher.finish().as_bytes());
    Some(())
}

/// The sorted ids of a multi-pack-index.
struct Ids<'a> {
    kind: Kind,
    bytes: &'a [u8],
}

impl<'a> Ids<'a> {
    fn of(index: &'a [u8]) -> Option<Self> {
        let [version, function, chunks, ..] = *index.strip_prefix(b"MIDX")? else { return None };
        let kind = match (version, function) {
            (1, 1) => Kind::Sha1,
            (1, 2) => Kind::Sha256,
            _ => return None,
        };
        let entries = index.get(CHUNKS_AT..)?.get(..(usize::from(chunks) + 1) * CHUNK_ENTRY)?;
        let mut starts = entries.chunks_exact(CHUNK_ENTRY).skip_while(|entry| !entry.starts_with(b"OIDL"));
        let mut offset = || {
            let bytes = starts.next()?.get(4..)?.first_chunk().copied()?;
            usize::try_from(u64::from_be_bytes(bytes)).ok()
        };
        let (start, end) = (offset()?, offset()?);
        Some(Ids { kind, bytes: index.get(start..end)? })
    }

    fn count(&self) -> usize {
        self.bytes.len() / self.kind.len_in_bytes()
    }

    /// The position of `id`, by binary search.
    fn position(&self, id: &ObjectId) -> Option<usize> {
        let len = self.kind.len_in_bytes();
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.bytes.get(middle * len..(middle + 1) * len)?.cmp(id.as_bytes()) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(middle),
            }
        }
        None
    }
}

/// Takes the lines `ID PATH`, and those of commits, `ID`.
struct NameHashes<'a> {
    ids: Ids<'a>,
    /// The hash of each object's name, in the order of `ids`.
    hashes: Vec<u32>,
    /// The beginning of a line that is not complete.
    line: Vec<u8>,
}

impl NameHashes<'_> {
    fn line_ends(&mut self) {
        let mut parts = self.line.splitn(2, |byte| *byte == b' ');
        let id = parts.next().and_then(|id| ObjectId::from_hex(id).ok());
        if let Some(place) = id.and_then(|id| self.ids.position(&id)).and_then(|at| self.hashes.get_mut(at)) {
            *place = name_hash(parts.next().unwrap_or_default());
        }
        self.line.clear();
    }
}

impl Sink for NameHashes<'_> {
    fn take(&mut self, bytes: &[u8]) {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        self.line.extend_from_slice(lines.next().unwrap_or_default());
        for line in lines {
            self.line_ends();
            self.line.extend_from_slice(line);
        }
    }
}

/// git's hash of a path. Its last sixteen characters decide; white space does not count.
fn name_hash(path: &[u8]) -> u32 {
    let characters = path.iter().filter(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    characters.fold(0, |hash: u32, byte| (hash >> 2).wrapping_add(u32::from(*byte) << 24))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn git(folder: &Path, words: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.current_dir(folder).args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(words);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", folder);
        command
    }

    fn run(folder: &Path, words: &[&str]) {
        let output = git(folder, words).output().unwrap();
        assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Writes a multi-pack-index with bitmaps. Returns its bitmap.
    fn write_bitmap(packs: &Path) -> PathBuf {
        let _ = fs::remove_file(packs.join("multi-pack-index"));
        run(packs, &["multi-pack-index", "write", "--bitmap"]);
        with_extension(packs, "multi-pack-index-", "bitmap")
    }

    fn with_extension(packs: &Path, prefix: &str, extension: &str) -> PathBuf {
        let found = fs::read_dir(packs).unwrap().map(|entry| entry.unwrap().path()).find(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(prefix) && name.ends_with(extension)
        });
        found.unwrap()
    }

    #[test]
    fn hashes_are_those_that_git_carries_over_from_a_repack() {
        for (format, hash_len) in [("sha1", 20), ("sha256", 32)] {
            let folder = tempfile::tempdir().unwrap();
            let repo = folder.path();
            run(repo, &["init", "-q", &format!("--object-format={format}")]);
            fs::create_dir(repo.join("a folder")).unwrap();
            for number in 0..40 {
                for path in ["README", "a folder/with spaces.txt", "a folder/\u{e4}\u{3042}.rs", "x"] {
                    fs::write(repo.join(path), format!("{path} {number}\n").repeat(20)).unwrap();
                }
                run(repo, &["add", "."]);
                run(repo, &["commit", "-q", "-m", &number.to_string()]);
            }
            run(repo, &["tag", "-a", "-m", "first", "v1"]);
            run(repo, &["repack", "-adbq"]);
            let packs = repo.join(".git/objects/pack");
            let index = packs.join("multi-pack-index");
            let bitmap = write_bitmap(&packs);
            let count = Ids::of(&fs::read(&index).unwrap()).unwrap().count();
            let hashes = |bitmap: &Path| {
                let bytes = fs::read(bitmap).unwrap();
                bytes[bytes.len() - hash_len - HASH_LEN * count..bytes.len() - hash_len].to_vec()
            };
            let expected = hashes(&bitmap);
            assert!(expected.iter().filter(|byte| **byte != 0).count() > count, "git has hashes");

            fs::remove_file(&bitmap).unwrap();
            fs::remove_file(with_extension(&packs, "pack-", "bitmap")).unwrap();
            let bitmap = write_bitmap(&packs);
            assert_eq!(hashes(&bitmap), vec![0; HASH_LEN * count], "git computes none");
            fill(&bitmap, &index, &mut git(repo, &["rev-list", "--objects", "--all"])).unwrap();
            assert_eq!(hashes(&bitmap), expected, "{format}");
            run(repo, &["rev-list", "--test-bitmap", "HEAD"]);
            run(repo, &["fsck", "--full"]);
        }
    }

    #[test]
    fn damaged_files_are_errors() {
        let bitmap = [&b"BITM\0\x01\0\x05"[..], &[0; 40], &[0; 8], &[0; 20]].concat();
        assert_eq!(replace(&mut bitmap.clone(), &[1, 2], Kind::Sha1), Some(()));
        assert_eq!(replace(&mut bitmap.clone(), &[0; 100], Kind::Sha1), None, "more objects than bytes");
        for end in [0, 7, 20] {
            assert_eq!(replace(&mut bitmap[..end].to_vec(), &[1, 2], Kind::Sha1), None, "{end} bytes");
        }
        let without = [&b"BITM\0\x01\0\x01"[..], &bitmap[8..]].concat();
        assert_eq!(replace(&mut without.clone(), &[1], Kind::Sha1), None, "without name hashes");

        let chunk = |id: &[u8], offset: u64| [id, &offset.to_be_bytes()].concat();
        let head = [&b"MIDX\x01\x01\x01\0\0\0\0\x01"[..], &chunk(b"OIDL", 36), &chunk(&[0; 4], 76), &[7; 40]].concat();
        assert_eq!(Ids::of(&head).map(|ids| ids.count()), Some(2));
        for end in 0..head.len() {
            assert!(Ids::of(&head[..end]).is_none(), "{end} bytes");
        }
    }

    #[test]
    fn lines_may_come_in_parts() {
        let id = ObjectId::from_bytes_or_panic(&[7; 20]);
        let ids = Ids { kind: Kind::Sha1, bytes: id.as_bytes() };
        let mut names = NameHashes { ids, hashes: vec![0], line: Vec::new() };
        for part in
            [format!("{}\n{}", ObjectId::null(Kind::Sha1), &id.to_string()[..5]), id.to_string()[5..].to_owned()]
        {
            names.take(part.as_bytes());
        }
        names.take(b" a f");
        names.take(b"ile");
        names.line_ends();
        assert_eq!(names.hashes, [name_hash(b"afile")]);
    }
}
