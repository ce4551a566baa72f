//! Packs as bytes to read and to damage. After a change, [`OpenPack::reseal_and_write`] corrects every checksum that
//! covers it, so that only a check of the damaged field itself can find the damage.

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
    /// The bytes of the pack.
    pub(crate) pack: Vec<u8>,
    /// The bytes of the index.
    pub(crate) index: Vec<u8>,
    /// Where each entry starts, ascending, and the id that the index gives it.
    pub(crate) entries: Vec<(usize, String)>,
}

/// The header of an entry.
pub(crate) struct EntryHeader {
    /// 1 to 4 for a whole commit, tree, blob or tag, 6 and 7 for a delta whose base is named by distance or by id.
    pub(crate) entry_type: u8,
    /// The length of the payload.
    pub(crate) payload_len: u64,
    /// Where the base of a delta is named; for a whole object, the same as `chunk`.
    pub(crate) base: usize,
    /// Where the chunk starts.
    pub(crate) chunk: usize,
}

impl OpenPack {
    /// Reads the pack of a repository and its index. There must be exactly one pack. git is not asked: it refuses
    /// variants.
    #[track_caller]
    pub(crate) fn open(repo: &Path) -> Self {
        let folders = [repo.join("objects"), repo.join(".git/objects")];
        let objects = folders.into_iter().find(|folder| folder.is_dir()).expect("a folder of objects");
        let [pack] = Self::all(&objects)
            .try_into()
            .unwrap_or_else(|packs: Vec<_>| panic!("one pack expected in {}, found {}", repo.display(), packs.len()));
        pack
    }

    /// Reads all packs in a folder of objects.
    pub(crate) fn all(objects: &Path) -> Vec<Self> {
        let files =
            fs::read_dir(objects.join("pack")).expect("a folder of packs").map(|entry| entry.expect("an entry").path());
        files.filter(|file| file.extension().is_some_and(|extension| extension == "pack")).map(Self::read).collect()
    }

    fn read(path: PathBuf) -> Self {
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

    /// The headers of all entries, in file order.
    pub(crate) fn headers(&self) -> impl Iterator<Item = EntryHeader> {
        self.entries.iter().map(|(offset, _)| self.header(*offset))
    }

    fn header(&self, offset: usize) -> EntryHeader {
        let mut at = offset;
        let mut byte = || {
            at += 1;
            self.pack[at - 1]
        };
        let mut next = byte();
        let entry_type = next >> 4 & 7;
        let (mut payload_len, mut shift) = (u64::from(next & 15), 4);
        while next & 0x80 != 0 {
            next = byte();
            payload_len |= u64::from(next & 0x7f) << shift;
            shift += 7;
        }
        let base = at;
        match entry_type {
            6 => at += self.pack[at..].iter().take_while(|byte| **byte & 0x80 != 0).count() + 1,
            7 => at += 20,
            _ => {}
        }
        EntryHeader { entry_type, payload_len, base, chunk: at }
    }

    /// Writes the pack and the index.
    pub(crate) fn write(&self) {
        replace(&self.path, &self.pack);
        replace(&self.path.with_extension("idx"), &self.index);
    }

    /// Corrects the CRC-32 of each entry and all three trailers, then writes.
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

    /// Corrects the trailer of the index.
    pub(crate) fn reseal_index(&mut self) {
        let body = self.index.len() - TRAILER;
        let own = Sha1::digest(&self.index[..body]);
        self.index[body..].copy_from_slice(&own);
    }

    /// The first entry of this type, at least `nth` entries into the file: where it starts, and what follows its
    /// header, which is the name of its base or its chunk.
    pub(crate) fn entry_of_type(&self, wanted: u8, nth: usize) -> (usize, usize) {
        let headers = self.entries[nth..].iter().map(|(offset, _)| (*offset, self.header(*offset)));
        let found = headers.into_iter().find(|(_, header)| header.entry_type == wanted);
        let (start, header) = found.unwrap_or_else(|| panic!("no entry of type {wanted} in {}", self.path.display()));
        (start, header.base)
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

/// Otherwise the damage tests would test mistakes of this module.
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
