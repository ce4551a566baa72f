//! A Git repository as chunks in file order.

use std::path::Path;

use repackbench_codec::{BLOCK_LEN, ZlibReader};

use super::{
    GitRepository,
    btree::{BtreeFile, BtreePlace, ValueHead},
    loose::LooseFile,
    pack::{DeltaForest, EntryPlace, EntryTable, PackFile, StoredEntry},
};
use crate::{Chunk, ChunkKind, ReaderError, Result, Store};

/// The chunks of a repository: packs in order, then the B-tree, then loose objects.
#[derive(Debug)]
pub struct GitStore<'a> {
    repository: &'a GitRepository,
}

impl<'a> GitStore<'a> {
    /// The chunks of `repository`.
    pub fn new(repository: &'a GitRepository) -> Self {
        GitStore { repository }
    }

    fn visit_btree(&self, visit: &mut dyn FnMut(&Chunk<'_>) -> Result<()>) -> Result<()> {
        let Some(path) = self.repository.btree() else { return Ok(()) };
        let btree = BtreeFile::open(path, self.repository.object_hash())?;
        let mut value = Vec::new();
        btree.for_each(&mut |_, place| {
            let head = btree.head(&place)?;
            if head.payload_len > BLOCK_LEN as u64 {
                return visit(&value_chunk(&btree, &place, &head, &[]));
            }
            let (head, stored) = btree.load(&place, &mut value)?;
            visit(&value_chunk(&btree, &place, &head, stored))
        })
    }

    fn visit_loose(&self, visit: &mut dyn FnMut(&Chunk<'_>) -> Result<()>) -> Result<()> {
        let loose = self.repository.loose_objects()?;
        let mut decoder = self.repository.decoder(ZlibReader::Stock)?;
        let mut stored = Vec::new();
        for at in 0..loose.len() {
            let Some(path) = loose.path(at) else { continue };
            let file = LooseFile::open(&path, &mut decoder, &mut stored)?;
            visit(&loose_chunk(&path, &file, &stored))?;
        }
        Ok(())
    }
}

impl Store for GitStore<'_> {
    fn for_each_chunk(&self, visit: &mut dyn FnMut(&Chunk<'_>) -> Result<()>) -> Result<()> {
        for files in self.repository.packs() {
            let pack = PackFile::open(files, self.repository.object_hash())?;
            visit_pack(&pack, visit)?;
        }
        self.visit_btree(visit)?;
        self.visit_loose(visit)
    }
}

/// The value at `place` of `btree` as a chunk with the stored bytes `stored`.
pub(super) fn value_chunk<'a>(
    btree: &'a BtreeFile,
    place: &BtreePlace,
    head: &ValueHead,
    stored: &'a [u8],
) -> Chunk<'a> {
    let header_len = head.len as u64;
    Chunk {
        file: btree.path(),
        offset: place.offset,
        header_len,
        kind: ChunkKind { object: head.kind, is_delta: false },
        base: None,
        payload_len: head.payload_len,
        stored_len: place.len.saturating_sub(header_len),
        stored,
    }
}

/// The loose object `file` at `path` as a chunk with the stored bytes `stored`.
pub(super) fn loose_chunk<'a>(path: &'a Path, file: &LooseFile, stored: &'a [u8]) -> Chunk<'a> {
    Chunk {
        file: path,
        offset: 0,
        header_len: 0,
        kind: ChunkKind { object: file.header.kind, is_delta: false },
        base: None,
        payload_len: file.header.payload_len(),
        stored_len: file.stored_len,
        stored,
    }
}

/// The entry at `place`, which is `entry`, as a chunk.
pub(super) fn entry_chunk<'a>(place: EntryPlace<'a>, entry: &StoredEntry<'a>) -> Result<Chunk<'a>> {
    let EntryPlace { pack, table, forest, position } = place;
    let Some(object) = forest.kind(position) else {
        return Err(ReaderError::internal(pack.path(), format!("entry {position} has no kind")));
    };
    let base = forest.base(position).and_then(|base| table.extent(base)).map(|(offset, _)| offset);
    Ok(Chunk {
        file: pack.path(),
        offset: entry.offset,
        header_len: entry.header.header_len as u64,
        kind: ChunkKind { object, is_delta: base.is_some() },
        base,
        payload_len: entry.header.payload_len,
        stored_len: entry.stored.len() as u64,
        stored: entry.stored,
    })
}

fn visit_pack(pack: &PackFile, visit: &mut dyn FnMut(&Chunk<'_>) -> Result<()>) -> Result<()> {
    let table = EntryTable::new(pack)?;
    let forest = DeltaForest::new(pack, &table)?;
    for position in 0..table.len() {
        let place = EntryPlace { pack, table: &table, forest: &forest, position };
        visit(&entry_chunk(place, &table.entry(pack, position)?)?)?;
    }
    Ok(())
}
