//! A Git repository as chunks in file order.

use repackbench_codec::{BLOCK_LEN, ZlibReader};

use super::{
    GitRepository,
    btree::{BtreeFile, BtreePlace, ValueHead},
    loose::LooseFile,
    pack::{DeltaForest, EntryTable, PackFile},
};
use crate::{Chunk, ChunkKind, ReaderError, Result, Store};

/// The chunks of a repository: packs in order, then the B-tree, then loose objects.
#[derive(Debug)]
pub struct GitStore<'a> {
    repository: &'a GitRepository,
}

impl<'a> GitStore<'a> {
    /// Looks at `repository` as chunks.
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
            let LooseFile { header, stored_len, .. } = LooseFile::open(&path, &mut decoder, &mut stored)?;
            visit(&Chunk {
                file: &path,
                offset: 0,
                header_len: 0,
                kind: ChunkKind { object: header.kind, is_delta: false },
                base: None,
                payload_len: header.payload_len(),
                stored_len,
                stored: &stored,
            })?;
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

fn visit_pack(pack: &PackFile, visit: &mut dyn FnMut(&Chunk<'_>) -> Result<()>) -> Result<()> {
    let table = EntryTable::new(pack)?;
    let forest = DeltaForest::new(pack, &table)?;
    for position in 0..table.len() {
        let (Some((offset, end)), Some(kind)) = (table.extent(position), forest.kind(position)) else {
            return Err(ReaderError::internal(pack.path(), format!("entry {position} has a place and a kind")));
        };
        let (header, _) = pack.entry(offset)?;
        let header_len = header.header_len as u64;
        let base = forest.base(position).and_then(|base| table.extent(base)).map(|(offset, _)| offset);
        let stored = pack.bytes(offset + header_len, end)?;
        visit(&Chunk {
            file: pack.path(),
            offset,
            header_len,
            kind: ChunkKind { object: kind, is_delta: base.is_some() },
            base,
            payload_len: header.payload_len,
            stored_len: stored.len() as u64,
            stored,
        })?;
    }
    Ok(())
}
