//! The payloads of a Git repository in store order.

use repackbench_codec::{BLOCK_LEN, BaseUse, ChunkDecoder, Decoders};

use super::{
    GitRepository,
    btree::BtreeFile,
    chunk::decode_to_vec,
    loose::{self, LooseFile},
    pack::{DeltaForest, EntryPlace, EntryTable, PackFile},
    store::{entry_chunk, loose_chunk, value_chunk},
};
use crate::{Chunk, LeftOut, ReaderError, WantedPayloads};

/// Receives a chunk, its place if it is an entry of a pack, and its payload.
type VisitEntry<'a, E> = dyn FnMut(&Chunk<'_>, Option<EntryPlace<'_>>, &[u8]) -> Result<(), E> + 'a;

/// Hands the payloads of `repository` that are `wanted` to `visit`: see
/// [`Repository::for_each_payload`](crate::Repository::for_each_payload).
pub(crate) fn for_each_payload<E: From<ReaderError>>(
    repository: &GitRepository,
    decoders: Decoders,
    wanted: &mut WantedPayloads<'_>,
    visit: &mut VisitEntry<'_, E>,
) -> Result<LeftOut, E> {
    let mut walk = Walk {
        decoder: repository.decoder(decoders)?,
        payload: Vec::new(),
        left_out: LeftOut::default(),
        wanted,
        visit,
    };
    for files in repository.packs() {
        walk.pack(&PackFile::open(files, repository.object_hash())?)?;
    }
    walk.btree(repository)?;
    walk.loose(repository)?;
    Ok(walk.left_out)
}

/// Contexts and buffers for all packs and loose objects.
struct Walk<'w, 'v, E> {
    decoder: ChunkDecoder,
    payload: Vec<u8>,
    left_out: LeftOut,
    wanted: &'w mut WantedPayloads<'v>,
    visit: &'w mut VisitEntry<'v, E>,
}

impl<E: From<ReaderError>> Walk<'_, '_, E> {
    fn pack(&mut self, pack: &PackFile) -> Result<(), E> {
        let table = EntryTable::new(pack)?;
        let forest = DeltaForest::new(pack, &table)?;
        for position in 0..table.len() {
            let place = EntryPlace { pack, table: &table, forest: &forest, position };
            let entry = table.entry(pack, position)?;
            let chunk = entry_chunk(place, &entry)?;
            if !(self.wanted)(&chunk) {
                continue;
            }
            if ChunkDecoder::base_use(entry.stored) != BaseUse::None {
                let what = "reading payloads that were compressed with their bases (read those of its source)";
                return Err(ReaderError::unsupported(pack.path(), what).into());
            }
            if chunk.payload_len > BLOCK_LEN as u64 {
                self.left_out.add(chunk.payload_len);
                continue;
            }
            entry.check_crc(pack)?;
            entry.decode(pack, &mut self.decoder, &mut self.payload)?;
            (self.visit)(&chunk, Some(place), &self.payload)?;
        }
        Ok(())
    }

    fn btree(&mut self, repository: &GitRepository) -> Result<(), E> {
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
            if !(self.wanted)(&chunk) {
                continue;
            }
            if is_large {
                self.left_out.add(chunk.payload_len);
                continue;
            }
            let consumed = decode_to_vec(&mut self.decoder, stored, head.payload_len, &mut self.payload);
            btree.check_consumed(&place, &head, consumed)?;
            (self.visit)(&chunk, None, &self.payload)?;
        }
        Ok(())
    }

    fn loose(&mut self, repository: &GitRepository) -> Result<(), E> {
        let objects = repository.loose_objects()?;
        let mut stored = Vec::new();
        for at in 0..objects.len() {
            let Some(path) = objects.path(at) else { continue };
            let file = LooseFile::open(&path, &mut self.decoder, &mut stored)?;
            let chunk = loose_chunk(&path, &file, &stored);
            if !(self.wanted)(&chunk) {
                continue;
            }
            if file.large.is_some() {
                self.left_out.add(chunk.payload_len);
                continue;
            }
            loose::decode_payload(&path, &file.header, &stored, &mut self.decoder, &mut self.payload)?;
            (self.visit)(&chunk, None, &self.payload)?;
        }
        Ok(())
    }
}
