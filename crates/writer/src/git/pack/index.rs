//! Writes the files beside a pack: index, reverse index, object times.
//!
//! | file | layout (big-endian) | source |
//! |---|---|---|
//! | `.idx` version 2 | `ff 74 4f 63`, u32 2, 256 x u32 fan-out, ids, CRC-32s, u32 offsets (top bit: place in the next table), u64 offsets, pack checksum, own checksum | gitformat-pack(5) |
//! | `.rev` version 1 | `RIDX`, u32 1, u32 hash function, u32 index positions in pack order, pack checksum, own checksum | gitformat-pack(5) |
//! | `.numbers` version 1 | `NUMB`, u32 1, u32 hash function, pack checksum, own checksum | docs/format.md |
//! | `.mtimes` version 1 | `MTME`, u32 1, u32 hash function, u32 seconds in index order, pack checksum, own checksum | gitformat-pack(5) |

use std::{io::Write, path::Path};

use repackbench_reader::{
    Place, ReaderError,
    git::{
        numbered::{MARK_SIGNATURE, MARK_VERSION},
        pack::{EntryTable, PackFile},
    },
    hash::IdHasher,
};

use super::emit::FinishedPack;
use crate::{Result, WriterError, git::order::WriteOrder, new_file::create_read_only};

/// Offsets from here on need a place in the table of 64-bit offsets.
const LARGE_OFFSET: u64 = 1 << 31;

/// The length of signature, version and hash function at the start of `.rev` and `.mtimes`.
const SIDE_FILE_HEADER: usize = 12;

/// A file under construction that ends with checksums.
struct ChecksummedFile<'a> {
    path: &'a Path,
    file: std::io::BufWriter<std::fs::File>,
    hasher: IdHasher,
}

impl<'a> ChecksummedFile<'a> {
    fn create(path: &'a Path, hash: gix_hash::Kind) -> Result<Self> {
        let file = std::io::BufWriter::with_capacity(1 << 18, create_read_only(path)?);
        Ok(ChecksummedFile { path, file, hasher: IdHasher::new(hash) })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.hasher.update(bytes);
        self.file.write_all(bytes).map_err(|e| WriterError::io("write", self.path, e))
    }

    fn put_u32(&mut self, value: u32) -> Result<()> {
        self.put(&value.to_be_bytes())
    }

    fn finish(mut self, pack: &FinishedPack) -> Result<()> {
        self.put(pack.checksum.as_bytes())?;
        let checksum = self.hasher.clone().finish();
        let write = |file: &mut std::io::BufWriter<_>| file.write_all(checksum.as_bytes()).and_then(|()| file.flush());
        write(&mut self.file).map_err(|e| WriterError::io("write", self.path, e))
    }
}

fn hash_function(hash: gix_hash::Kind) -> u32 {
    match hash {
        gix_hash::Kind::Sha256 => 2,
        _ => 1,
    }
}

/// Writes the index of `finished` to `path`. Entries are in the same order as in the source's index, duplicates
/// included.
pub(super) fn write_index(pack: &PackFile, table: &EntryTable, finished: &FinishedPack, path: &Path) -> Result<()> {
    let index = pack.index();
    // The position in the pack of each entry of the index.
    let mut positions = vec![0usize; table.len()];
    for (position, at) in table.index_positions().iter().enumerate() {
        if let Some(slot) = positions.get_mut(*at as usize) {
            *slot = position;
        }
    }
    let mut file = ChecksummedFile::create(path, pack.hash_kind())?;
    file.put(b"\xfftOc")?;
    file.put_u32(2)?;
    let mut fan_out = [0u32; 256];
    for entry in index.iter() {
        if let Some(count) = fan_out.get_mut(usize::from(entry.oid.first_byte())) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for count in fan_out {
        sum += count;
        file.put_u32(sum)?;
    }
    for at in 0..index.num_objects() {
        file.put(index.oid_at_index(at).as_bytes())?;
    }
    for position in &positions {
        file.put_u32(finished.crcs.get(*position).copied().unwrap_or_default())?;
    }
    let offsets = || positions.iter().map(|position| finished.offsets.get(*position).copied().unwrap_or_default());
    let mut large = 0u32;
    for offset in offsets() {
        match u32::try_from(offset) {
            Ok(small) if offset < LARGE_OFFSET => file.put_u32(small)?,
            _ => {
                file.put_u32(large | 1 << 31)?;
                large += 1;
            }
        }
    }
    for offset in offsets().filter(|offset| *offset >= LARGE_OFFSET) {
        file.put(&offset.to_be_bytes())?;
    }
    file.finish(finished)
}

/// Writes the reverse index of `finished`, whose entries were written in `order`, to `path`.
pub(super) fn write_reverse_index(
    pack: &PackFile,
    table: &EntryTable,
    order: &WriteOrder,
    finished: &FinishedPack,
    path: &Path,
) -> Result<()> {
    let mut file = ChecksummedFile::create(path, pack.hash_kind())?;
    file.put(b"RIDX")?;
    file.put_u32(1)?;
    file.put_u32(hash_function(pack.hash_kind()))?;
    for at in order.positions(0..table.len()).filter_map(|position| table.index_position(position)) {
        file.put_u32(at)?;
    }
    file.finish(finished)
}

/// Writes the mark of a pack whose objects are numbered to `path`.
pub(super) fn write_numbers_mark(pack: &PackFile, finished: &FinishedPack, path: &Path) -> Result<()> {
    let mut file = ChecksummedFile::create(path, pack.hash_kind())?;
    file.put(MARK_SIGNATURE)?;
    file.put_u32(MARK_VERSION)?;
    file.put_u32(hash_function(pack.hash_kind()))?;
    file.finish(finished)
}

/// Writes the object times of a cruft pack to `path`: those of `source`, with the new pack's checksum. They are sorted
/// by object id, which a conversion does not change.
pub(super) fn rewrite_mtimes(pack: &PackFile, source: &Path, finished: &FinishedPack, path: &Path) -> Result<()> {
    let bytes = std::fs::read(source).map_err(|e| ReaderError::io("read", source, e))?;
    let mut expected_header = b"MTME".to_vec();
    expected_header.extend_from_slice(&1u32.to_be_bytes());
    expected_header.extend_from_slice(&hash_function(pack.hash_kind()).to_be_bytes());
    let times = pack.entry_count() as usize * 4;
    let expected_len = SIDE_FILE_HEADER + times + 2 * pack.hash_kind().len_in_bytes();
    if bytes.len() != expected_len {
        let (expected, found) = (format!("{expected_len} bytes"), format!("{}", bytes.len()));
        return Err(ReaderError::corrupt(source, Place::Whole, expected, found).into());
    }
    let (body, trailer) = bytes.split_at(SIDE_FILE_HEADER + times);
    if !body.starts_with(&expected_header) {
        let expected = "MTME, version 1 and the repository's hash function";
        return Err(ReaderError::corrupt(source, Place::Offset(0), expected, "a different header").into());
    }
    if !trailer.starts_with(pack.trailer()?.as_bytes()) {
        let expected = "the checksum of its pack";
        return Err(ReaderError::corrupt(source, Place::Offset(body.len() as u64), expected, "a different one").into());
    }
    let mut file = ChecksummedFile::create(path, pack.hash_kind())?;
    file.put(body)?;
    file.finish(finished)
}

#[cfg(test)]
pub(in crate::git) mod tests {
    use std::{fs, process::Command};

    use repackbench_reader::git::GitRepository;

    use super::*;

    /// A repository of five commits in `folder`, with all objects in one pack.
    pub(in crate::git) fn packed(folder: &Path) -> GitRepository {
        git(folder, &["init", "-q"], None);
        for number in 0..5 {
            fs::write(folder.join("file"), format!("content {number}")).unwrap();
            git(folder, &["add", "file"], None);
            git(folder, &["commit", "-qm", "change"], None);
        }
        git(folder, &["repack", "-adq"], None);
        GitRepository::open(folder).unwrap()
    }

    /// Runs git in `folder` without the user's configuration, and returns its output.
    pub(in crate::git) fn git(folder: &Path, arguments: &[&str], input: Option<&Path>) -> String {
        let mut command = Command::new("git");
        // The environment of the user may set GIT_DIR or a folder of configuration.
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.current_dir(folder).args(arguments).env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", folder);
        command.env("GIT_AUTHOR_NAME", "A").env("GIT_AUTHOR_EMAIL", "a@b").env("GIT_COMMITTER_NAME", "A");
        command.env("GIT_COMMITTER_EMAIL", "a@b");
        if let Some(input) = input {
            command.stdin(fs::File::open(input).unwrap());
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn offsets_beyond_four_gibibytes_are_read_by_git() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        let repository = packed(folder);
        let pack = PackFile::open(&repository.packs()[0], repository.object_hash()).unwrap();
        let table = EntryTable::new(&pack).unwrap();
        // On both sides of 2^31 and 2^32, not in order of ids.
        let offsets: Vec<u64> = (0..table.len() as u64).map(|position| 12 + position * 0x2000_0001).collect();
        let crcs: Vec<u32> = (0..table.len()).map(|position| position as u32).collect();
        let path = folder.join("large.idx");
        let finished = FinishedPack {
            path: path.clone(),
            checksum: pack.trailer().unwrap(),
            offsets: offsets.clone(),
            crcs,
            reference_deltas: Default::default(),
        };
        write_index(&pack, &table, &finished, &path).unwrap();

        let listed = git(folder, &["show-index"], Some(&path));
        assert!(offsets.iter().any(|offset| *offset > 1 << 32) && offsets.iter().any(|offset| *offset < 1 << 31));
        for (position, at) in table.index_positions().iter().enumerate() {
            let id = pack.index().oid_at_index(*at);
            let line = format!("{} {id} ({position:08x})", offsets[position]);
            assert!(listed.lines().any(|listed| listed == line), "{line} is not in\n{listed}");
        }
        let reread = gix_pack::index::File::at(&path, repository.object_hash()).unwrap();
        assert_eq!(reread.sorted_offsets(), offsets);
    }
}
