//! The payloads of a Git repository in store order.

use repackbench_codec::{BLOCK_LEN, BaseUse, ChunkDecoder, Decoders};

use super::{
    GitRepository,
    btree::BtreeFile,
    chunk::decode_to_vec,
    loose::{self, LooseFile},
    pack::{DeltaForest, EntryTable, PackFile},
    store::value_chunk,
};
use crate::{
    Chunk, ChunkKind, ChunkPlace, ReaderError, bases,
    payloads::{LeftOut, PayloadVisitor},
};

/// Hands the payloads of `repository` to `visitor`: see [`Repository::for_each_payload`](crate::Repository::for_each_payload).
pub(crate) fn for_each_payload<E: From<ReaderError>>(
    repository: &GitRepository,
    decoders: Decoders,
    visitor: &mut PayloadVisitor<'_, E>,
) -> Result<LeftOut, E> {
    let mut walk = Walk { decoder: repository.decoder(decoders)?, payload: Vec::new(), left_out: LeftOut::default() };
    for files in repository.packs() {
        walk.pack(&PackFile::open(files, repository.object_hash())?, visitor)?;
    }
    walk.btree(repository, visitor)?;
    walk.loose(repository, visitor)?;
    Ok(walk.left_out)
}

/// Contexts and buffers for all packs and loose objects.
struct Walk {
    decoder: ChunkDecoder,
    payload: Vec<u8>,
    left_out: LeftOut,
}

impl Walk {
    fn pack<E: From<ReaderError>>(&mut self, pack: &PackFile, visitor: &mut PayloadVisitor<'_, E>) -> Result<(), E> {
        let table = EntryTable::new(pack)?;
        let forest = DeltaForest::new(pack, &table)?;
        for position in 0..table.len() {
            let Some(object) = forest.kind(position) else { continue };
            let entry = table.entry(pack, position)?;
            let base = forest.base(position).and_then(|base| table.extent(base)).map(|(offset, _)| offset);
            let chunk = Chunk {
                file: pack.path(),
                offset: entry.offset,
                header_len: entry.header.header_len as u64,
                kind: ChunkKind { object, is_delta: base.is_some() },
                base,
                payload_len: entry.header.payload_len,
                stored_len: entry.stored.len() as u64,
                stored: entry.stored,
            };
            if !(visitor.wanted)(&chunk) {
                continue;
            }
            if ChunkDecoder::base_use(entry.stored) != BaseUse::None {
                let what = "payloads that were compressed with their bases: take those of the repository that it was made from";
                return Err(ReaderError::unsupported(pack.path(), what).into());
            }
            if chunk.payload_len > BLOCK_LEN as u64 {
                self.left_out.add(chunk.payload_len);
                continue;
            }
            entry.check_crc(pack)?;
            entry.decode(pack, &mut self.decoder, &mut self.payload)?;
            let place = bases::Place::Entry { pack, table: &table, forest: &forest, position };
            (visitor.visit)(&chunk, ChunkPlace(place), &self.payload)?;
        }
        Ok(())
    }

    fn btree<E: From<ReaderError>>(
        &mut self,
        repository: &GitRepository,
        visitor: &mut PayloadVisitor<'_, E>,
    ) -> Result<(), E> {
        let Some(path) = repository.btree() else { return Ok(()) };
        let btree = BtreeFile::open(path, repository.object_hash())?;
        let mut places = Vec::new();
        btree.for_each(&mut |_, place| {
            places.push(place);
            Ok(())
        })?;
        let mut value = Vec::new();
        for place in places {
            let head = btree.head(&place)?;
            let is_large = head.payload_len > BLOCK_LEN as u64;
            let stored: &[u8] = if is_large { &[] } else { btree.load(&place, &mut value)?.1 };
            let chunk = value_chunk(&btree, &place, &head, stored);
            if !(visitor.wanted)(&chunk) {
                continue;
            }
            if is_large {
                self.left_out.add(chunk.payload_len);
                continue;
            }
            let consumed = decode_to_vec(&mut self.decoder, stored, head.payload_len, &mut self.payload);
            btree.check_consumed(&place, &head, consumed)?;
            (visitor.visit)(&chunk, ChunkPlace(bases::Place::Loose), &self.payload)?;
        }
        Ok(())
    }

    fn loose<E: From<ReaderError>>(
        &mut self,
        repository: &GitRepository,
        visitor: &mut PayloadVisitor<'_, E>,
    ) -> Result<(), E> {
        let objects = repository.loose_objects()?;
        let mut stored = Vec::new();
        for at in 0..objects.len() {
            let Some(path) = objects.path(at) else { continue };
            let LooseFile { header, stored_len, large } = LooseFile::open(&path, &mut self.decoder, &mut stored)?;
            let chunk = Chunk {
                file: &path,
                offset: 0,
                header_len: 0,
                kind: ChunkKind { object: header.kind, is_delta: false },
                base: None,
                payload_len: header.payload_len(),
                stored_len,
                stored: &stored,
            };
            if !(visitor.wanted)(&chunk) {
                continue;
            }
            if large.is_some() {
                self.left_out.add(chunk.payload_len);
                continue;
            }
            loose::decode_payload(&path, &header, &stored, &mut self.decoder, &mut self.payload)?;
            (visitor.visit)(&chunk, ChunkPlace(bases::Place::Loose), &self.payload)?;
        }
        Ok(())
    }
}
