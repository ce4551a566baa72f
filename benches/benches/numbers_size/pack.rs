//! A pack with its chains of deltas.

use repackbench_benches::{BenchError, Result};
use repackbench_codec::ChunkDecoder;
use repackbench_reader::{
    ChunkKind, ObjectKind,
    git::{
        GitRepository, delta,
        pack::{DeltaForest, EntryTable, PackFile},
    },
};

use crate::reference::NumbersInForms;

/// A pack, the numbers of its objects, and the chains of its commits, trees and tags.
#[derive(Debug)]
pub(crate) struct NumberedPack {
    pub(crate) file: PackFile,
    pub(crate) numbers: NumbersInForms,
    table: EntryTable,
    forest: DeltaForest,
    /// The deltas against each object: those of the object at `i` end at `ends[i]`.
    deltas: Vec<u32>,
    ends: Vec<usize>,
}

/// An object that a walk along the chains comes to. Objects are named by their places in the pack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visited<'a> {
    pub(crate) place: u32,
    /// The whole object of its chain.
    pub(crate) origin: u32,
    /// The number of deltas from there to this object.
    pub(crate) depth: usize,
    pub(crate) content: &'a [u8],
}

impl NumberedPack {
    /// Opens all packs of `repository`.
    ///
    /// # Errors
    /// One is damaged.
    pub(crate) fn open_all(repository: &GitRepository) -> Result<Vec<Self>> {
        repository.packs().iter().map(|files| Self::new(PackFile::open(files, repository.object_hash())?)).collect()
    }

    fn new(file: PackFile) -> Result<Self> {
        let table = EntryTable::new(&file)?;
        let forest = DeltaForest::new(&file, &table)?;
        let numbers = NumbersInForms::new(&file, &table);
        let mut ends = vec![0; table.len()];
        let based = || (0..table.len()).filter_map(|place| Some((place, forest.base(place)?)));
        based().for_each(|(_, base)| ends[base] += 1);
        let mut sum = 0;
        for end in &mut ends {
            // The start for now: each delta that is placed moves it on.
            sum += std::mem::replace(end, sum);
        }
        let mut deltas = vec![0; sum];
        for (place, base) in based() {
            deltas[ends[base]] = place as u32;
            ends[base] += 1;
        }
        Ok(NumberedPack { file, numbers, table, forest, deltas, ends })
    }

    /// The number of objects.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// The places of all objects.
    pub(crate) fn places(&self) -> std::ops::Range<u32> {
        0..self.len() as u32
    }

    /// The kind of the chunk at `place`.
    pub(crate) fn kind(&self, place: u32) -> Option<ChunkKind> {
        let object = self.forest.kind(place as usize)?;
        Some(ChunkKind { object, is_delta: self.base(place).is_some() })
    }

    /// The base of the delta at `place`.
    pub(crate) fn base(&self, place: u32) -> Option<usize> {
        self.forest.base(place as usize)
    }

    /// The id of the object at `place`.
    pub(crate) fn id(&self, place: u32) -> Option<&gix_hash::oid> {
        self.table.index_position(place as usize).map(|at| self.file.index().oid_at_index(at))
    }

    /// Replaces `payload` by that of the chunk at `place`.
    ///
    /// # Errors
    /// It is damaged.
    pub(crate) fn payload(&self, place: u32, decoder: &mut ChunkDecoder, payload: &mut Vec<u8>) -> Result<()> {
        Ok(self.table.entry(&self.file, place as usize)?.decode(&self.file, decoder, payload)?)
    }

    /// Visits the commits, trees and tags whose chains begin at `origins`, each after its base. `payload_of` replaces a
    /// buffer by the payload of a chunk, and deltas are applied to what it returns.
    ///
    /// # Errors
    /// A delta is damaged, or one of the two functions fails.
    pub(crate) fn walk(
        &self,
        origins: impl Iterator<Item = u32>,
        payload_of: &mut dyn FnMut(u32, &mut Vec<u8>) -> Result<()>,
        visit: &mut dyn FnMut(Visited<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut contents: Vec<Vec<u8>> = vec![Vec::new()];
        let (mut pending, mut payload) = (Vec::new(), Vec::new());
        for origin in origins {
            if self.kind(origin).is_none_or(|kind| kind.is_delta || kind.object == ObjectKind::Blob) {
                continue;
            }
            pending.push((origin, 0));
            while let Some((place, depth)) = pending.pop() {
                if depth == 0 {
                    payload_of(place, &mut contents[0])?;
                } else {
                    payload_of(place, &mut payload)?;
                    contents.resize(contents.len().max(depth + 1), Vec::new());
                    let (bases, results) = contents.split_at_mut(depth);
                    delta::apply(&bases[depth - 1], &payload, &mut results[0])
                        .map_err(|error| BenchError::Setup(format!("{}: {error}", self.name(place))))?;
                }
                visit(Visited { place, origin, depth, content: &contents[depth] })?;
                let at = place as usize;
                let deltas = &self.deltas[at.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[at]];
                pending.extend(deltas.iter().rev().map(|delta| (*delta, depth + 1)));
            }
        }
        Ok(())
    }

    /// The object at `place` in messages.
    pub(crate) fn name(&self, place: u32) -> String {
        let id = self.id(place).map_or_else(|| format!("object {place}"), |id| id.to_string());
        format!("{}: {id}", self.file.path().display())
    }
}
