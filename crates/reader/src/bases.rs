//! The content that stored deltas are based on, for those who encode deltas with it.

use repackbench_codec::Decoders;

use crate::{
    ReaderError, Repository, Result,
    git::{
        delta::{self, DeltaError, DeltaSizes},
        pack::{DeltaForest, EntryTable, PackFile},
        packed_objects::PackedObjects,
    },
    hg::revlog::{Revlog, TextReader},
};

/// Where a chunk stands in its pack or revlog.
#[derive(Debug, Clone, Copy)]
pub struct ChunkPlace<'a>(pub(crate) Place<'a>);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'a> {
    /// An entry of a pack, by its position in file order.
    Entry { pack: &'a PackFile, table: &'a EntryTable, forest: &'a DeltaForest, position: usize },
    /// A loose object, or a value of a B-tree.
    Loose,
    /// A revision of a revlog.
    Revision { revlog: &'a Revlog, revision: usize },
}

/// A delta, its base and what it makes of it: numbers of contents in one pack or revlog, which are the same wherever the same
/// content is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeltaLinks {
    /// What it is based on.
    pub base: u64,
    /// The object or text that it makes.
    pub object: u64,
    /// How many deltas lead to that, this one among them.
    pub chain_len: u32,
}

impl<'a> ChunkPlace<'a> {
    /// The place of `revision` of `revlog`.
    pub fn of_revision(revlog: &'a Revlog, revision: usize) -> Self {
        ChunkPlace(Place::Revision { revlog, revision })
    }

    /// What the chunk is based on; `None` if it is no delta, or one whose result nothing guards.
    pub fn links(&self) -> Result<Option<DeltaLinks>> {
        Ok(match self.0 {
            Place::Loose => None,
            Place::Entry { table, forest, position, .. } => {
                let offset = |position| table.extent(position).map(|(offset, _)| offset);
                let base = forest.base(position).and_then(offset);
                let chain_len = forest.chain_lengths().get(position).copied().unwrap_or_default();
                base.zip(offset(position)).map(|(base, object)| DeltaLinks { base, object, chain_len })
            }
            Place::Revision { revlog, revision } => {
                let base = revlog.delta_base(revision);
                let is_guarded = revlog.entry(revision)?.is_hashed();
                let chain_len = revlog.chain_length(revision);
                let links = |base| DeltaLinks { base: base as u64, object: revision as u64, chain_len };
                base.filter(|_| is_guarded).map(links)
            }
        })
    }

    /// How long the base of the delta `payload` is, and what that makes of it, in bytes.
    ///
    /// # Errors
    /// The delta does not say it.
    pub fn content_lens(&self, payload: &[u8]) -> Result<(u64, u64)> {
        match self.0 {
            Place::Loose => Ok((0, payload.len() as u64)),
            Place::Entry { pack, table, position, .. } => {
                let sizes = DeltaSizes::parse(payload).map_err(|error| bad_delta(pack, table, position, error))?;
                Ok((sizes.base, sizes.result))
            }
            Place::Revision { revlog, revision } => {
                let base = revlog.delta_base(revision).map(|base| revlog.entry(base)).transpose()?;
                let length = |len: u32| u64::from(len);
                Ok((base.map_or(0, |base| length(base.text_len)), length(revlog.entry(revision)?.text_len)))
            }
        }
    }
}

fn bad_delta(pack: &PackFile, table: &EntryTable, position: usize, error: DeltaError) -> ReaderError {
    pack.bad_delta(table.extent(position).map_or(0, |(offset, _)| offset), error)
}

/// Reads bases and what deltas make of them, with caches and contexts that are reused. Chunks that follow one another in a pack or
/// revlog are best asked about in that order.
pub struct BaseReader {
    container: Container,
    /// The file whose content the caches hold.
    file: std::path::PathBuf,
}

enum Container {
    Git(Box<PackedObjects>),
    Hg(Box<TextReader>),
}

impl std::fmt::Debug for BaseReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BaseReader").field("file", &self.file).finish_non_exhaustive()
    }
}

impl BaseReader {
    /// For chunks of `repository`, which the implementations that `decoders` names decode.
    ///
    /// # Errors
    /// When a dictionary cannot be read.
    pub fn new(repository: &Repository, decoders: Decoders) -> Result<Self> {
        let container = match repository {
            Repository::Git(git) => Container::Git(Box::new(PackedObjects::new(git.decoder(decoders)?))),
            Repository::Hg(hg) => Container::Hg(Box::new(TextReader::new(hg.decoder(decoders)?))),
        };
        Ok(BaseReader { container, file: std::path::PathBuf::new() })
    }

    /// Puts the content of the base of the delta at `place` into `base`, replacing what is there.
    ///
    /// # Errors
    /// The base, or one that it is based on, is damaged.
    pub fn read_base(&mut self, place: ChunkPlace<'_>, base: &mut Vec<u8>) -> Result<()> {
        let Some(links) = place.links()? else { return Ok(()) };
        match (&mut self.container, place.0) {
            (Container::Git(objects), Place::Entry { pack, .. }) => {
                if self.file != pack.path() {
                    objects.forget();
                    pack.path().clone_into(&mut self.file);
                }
                objects.read(pack, 0, links.base, base).map(drop)
            }
            (Container::Hg(texts), Place::Revision { revlog, revision }) => {
                if self.file != revlog.files().index {
                    texts.forget();
                    self.file.clone_from(&revlog.files().index);
                }
                let Some(number) = revlog.delta_base(revision) else { return Ok(()) };
                texts.read(revlog, 0, number, base)
            }
            // A place of another repository: nothing is based on anything.
            _ => Ok(()),
        }
    }

    /// Puts what the delta `payload` at `place` makes of `base` into `object`, replacing what is there.
    ///
    /// # Errors
    /// The delta does not fit its base.
    pub fn read_object(
        &mut self,
        place: ChunkPlace<'_>,
        base: &[u8],
        payload: &[u8],
        object: &mut Vec<u8>,
    ) -> Result<()> {
        match (&mut self.container, place.0) {
            (Container::Hg(texts), Place::Revision { revlog, revision }) => texts.read(revlog, 0, revision, object),
            (_, Place::Entry { pack, table, position, .. }) => {
                delta::apply(base, payload, object).map_err(|error| bad_delta(pack, table, position, error))
            }
            _ => Ok(()),
        }
    }
}
