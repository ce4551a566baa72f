//! The delta chains of packs.

use gix_hash::{ObjectId, Prefix};
use repackbench_codec::Decoders;
use repackbench_reader::{
    ReaderError,
    git::{
        GitRepository,
        pack::{DeltaForest, EntryTable, PackFile},
        packed_objects::PackedObjects,
    },
};

use super::{ChainStore, Location, ObjectName, VisitObject};

/// A pack with its entries in file order, and the number of deltas in the chain of each entry.
struct Pack {
    file: PackFile,
    table: EntryTable,
    chains: Vec<u32>,
}

/// The packs of a repository. A location is the number of a pack and the position of an entry in file order.
pub(super) struct PackedChains {
    packs: Vec<Pack>,
    objects: PackedObjects,
}

impl PackedChains {
    /// Opens every pack and reads the headers of all entries.
    pub(super) fn open(repository: &GitRepository, decoders: Decoders) -> Result<Self, ReaderError> {
        let mut packs = Vec::new();
        for files in repository.packs() {
            let file = PackFile::open(files, repository.object_hash())?;
            let table = EntryTable::new(&file)?;
            let chains = DeltaForest::new(&file, &table)?.chain_lengths().to_vec();
            packs.push(Pack { file, table, chains });
        }
        Ok(PackedChains { packs, objects: PackedObjects::new(repository.decoder(decoders)?) })
    }

    /// All entries that hold the object `id`, with the number of deltas in its chain.
    fn entries_of(&self, id: ObjectId) -> Vec<(Location, u32)> {
        let mut entries = Vec::new();
        let Ok(prefix) = Prefix::new(&id, id.kind().len_in_hex()) else { return entries };
        for (file, pack) in self.packs.iter().enumerate() {
            let index = pack.file.index();
            let mut matches = 0..0;
            index.lookup_prefix(prefix, Some(&mut matches));
            let positions = matches.filter_map(|at| pack.table.position_of(index.pack_offset_at_index(at)));
            entries.extend(
                positions
                    .filter_map(|position| Some((Location { file, position }, pack.chains.get(position).copied()?))),
            );
        }
        entries
    }
}

impl ChainStore for PackedChains {
    fn for_each(&mut self, visit: &mut VisitObject<'_>) -> Result<(), ReaderError> {
        for (file, pack) in self.packs.iter().enumerate() {
            for (position, chain) in pack.chains.iter().enumerate() {
                let Some((start, end)) = pack.table.extent(position) else { continue };
                let (header, _) = pack.file.entry(start)?;
                let chunk_start = start.saturating_add(header.header_len as u64);
                visit(Location { file, position }, *chain, end.saturating_sub(chunk_start));
            }
        }
        Ok(())
    }

    fn name(&mut self, location: Location) -> Result<Option<ObjectName>, ReaderError> {
        let pack = self.packs.get(location.file);
        let id = pack.and_then(|pack| {
            let at = pack.table.index_position(location.position)?;
            Some(pack.file.index().oid_at_index(at).to_owned())
        });
        Ok(id.filter(|id| self.entries_of(*id).len() == 1).map(ObjectName::Packed))
    }

    fn find(&mut self, name: &ObjectName, chain: u32) -> Result<Result<Location, String>, ReaderError> {
        let ObjectName::Packed(id) = name else { return Ok(Err("it is a Git repository".to_owned())) };
        let entries = self.entries_of(*id);
        let found = entries.iter().find(|(_, found)| *found == chain);
        Ok(match (found, entries.first()) {
            (Some((location, _)), _) => Ok(*location),
            (None, Some((_, found))) => Err(format!("{name} is at the end of {found} deltas instead of {chain}")),
            (None, None) => Err(format!("{name} is not in its packs")),
        })
    }

    fn prepare(&mut self, _location: Location) -> Result<(), ReaderError> {
        Ok(())
    }

    fn read(&mut self, location: Location, content: &mut Vec<u8>) -> Result<(), ReaderError> {
        self.objects.clear_caches();
        let Some(pack) = self.packs.get(location.file) else { return Ok(()) };
        let Some((offset, _)) = pack.table.extent(location.position) else { return Ok(()) };
        self.objects.read(&pack.file, location.file, offset, content).map(|_| ())
    }
}
