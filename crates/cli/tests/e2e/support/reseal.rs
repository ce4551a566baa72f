//! Damaging packs so that the damage itself must be found: after a change, every checksum that covers it is made right again.

use std::fs;
use std::path::{Path, PathBuf};

use sha1::{Digest, Sha1};

use super::git;

const TRAILER: usize = 20;
const INDEX_HEADER: usize = 8 + 4 * 256;

/// The only pack of a SHA-1 repository with an index of version 2, as bytes to change.
pub(crate) struct OpenPack {
    /// The pack file.
    pub(crate) path: PathBuf,
    /// Its bytes.
    pub(crate) pack: Vec<u8>,
    /// Its index's bytes.
    pub(crate) index: Vec<u8>,
    /// Where each entry starts, ascending, and the id that the index gives it.
    pub(crate) entries: Vec<(usize, String)>,
}

impl OpenPack {
    /// Reads the pack and its index. The repository must have exactly one.
    pub(crate) fn open(repo: &Path) -> Self {
        let mut packs = git::pack_files(repo, "pack");
        assert_eq!(packs.len(), 1, "one pack expected in {}", repo.display());
        let path = packs.remove(0);
        let pack = fs::read(&path).expect("the pack");
        let index = fs::read(path.with_extension("idx")).expect("the index");
        assert_eq!(index[..8], *b"\xfftOc\0\0\0\x02", "an index of version 2");
        let count = number(&index, INDEX_HEADER - 4);
        let mut entries: Vec<(usize, String)> = (0..count)
            .map(|nth| {
                let id = &index[INDEX_HEADER + nth * 20..][..20];
                let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
                (number(&index, offset_field(count, nth)), hex)
            })
            .collect();
        entries.sort();
        OpenPack { path, pack, index, entries }
    }

    /// Writes pack and index as they are now.
    pub(crate) fn write(&self) {
        replace(&self.path, &self.pack);
        replace(&self.path.with_extension("idx"), &self.index);
    }

    /// Makes the CRC-32 of each entry and all three trailers fit the bytes as they are now, then writes.
    pub(crate) fn reseal_and_write(&mut self) {
        let body = self.pack.len() - TRAILER;
        let checksum = Sha1::digest(&self.pack[..body]);
        self.pack[body..].copy_from_slice(&checksum);

        let count = self.entries.len();
        for nth in 0..count {
            let start = number(&self.index, offset_field(count, nth));
            let end = self.entries.iter().map(|(offset, _)| *offset).find(|&offset| offset > start).unwrap_or(body);
            let checked = crc32fast::hash(&self.pack[start.min(body)..end]);
            let field = INDEX_HEADER + count * 20 + nth * 4;
            self.index[field..][..4].copy_from_slice(&checked.to_be_bytes());
        }
        let length = self.index.len();
        self.index[length - 2 * TRAILER..length - TRAILER].copy_from_slice(&checksum);
        self.reseal_index();
        self.write();
    }

    /// Makes the index's own trailer fit its bytes.
    pub(crate) fn reseal_index(&mut self) {
        let body = self.index.len() - TRAILER;
        let own = Sha1::digest(&self.index[..body]);
        self.index[body..].copy_from_slice(&own);
    }

    /// The first entry of this type (1 to 4 whole, 6 and 7 deltas) that is at least `nth` entries into the file: where it starts,
    /// and where its base or its stored bytes start.
    pub(crate) fn entry_of_type(&self, wanted: u8, nth: usize) -> (usize, usize) {
        let start = self.entries[nth..]
            .iter()
            .map(|(offset, _)| *offset)
            .find(|&offset| self.pack[offset] >> 4 & 7 == wanted)
            .unwrap_or_else(|| panic!("no entry of type {wanted} in {}", self.path.display()));
        let mut after = start;
        while self.pack[after] & 0x80 != 0 {
            after += 1;
        }
        (start, after + 1)
    }

    /// Where the index keeps the offset of the entry that starts at `offset`.
    pub(crate) fn offset_field_of(&self, offset: usize) -> usize {
        let count = self.entries.len();
        let fields = (0..count).map(|nth| offset_field(count, nth));
        fields.into_iter().find(|&field| number(&self.index, field) == offset).expect("an entry at that offset")
    }
}

/// Overwrites a file that may be read-only, as git's object files are, without touching other names of the same inode.
pub(crate) fn replace(path: &Path, content: &[u8]) {
    fs::remove_file(path).expect("the old file");
    fs::write(path, content).expect("the new file");
}

fn offset_field(count: usize, nth: usize) -> usize {
    INDEX_HEADER + count * 24 + nth * 4
}

fn number(bytes: &[u8], at: usize) -> usize {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
}

/// Else the damage tests would test this module's mistakes.
#[test]
fn resealing_an_intact_pack_changes_nothing() {
    for name in ["bare", "ref-delta", "padded-sizes", "pack-v3"] {
        let scratch = super::Scratch::new();
        let repo = super::Fixture::copy(name, &scratch).repo();
        let mut open = OpenPack::open(&repo);
        let (pack, index) = (open.pack.clone(), open.index.clone());
        open.reseal_and_write();
        assert!(open.pack == pack && open.index == index, "{name}");
        git::output(&repo, ["fsck", "--full", "--strict"]);
    }
}
