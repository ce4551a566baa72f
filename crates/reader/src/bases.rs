//! The content that stored deltas are based on, for workloads that encode deltas with it.

use std::path::PathBuf;

use repackbench_codec::Decoders;

use crate::{
    DeltaLinks, Repository, Result,
    git::{pack::EntryPlace, packed_objects::PackedObjects},
    hg::revlog::{RevisionPlace, Revlog, TextReader},
};

/// The place of a chunk in its pack or revlog.
#[derive(Debug, Clone, Copy)]
pub struct ChunkPlace<'a>(BasePlace<'a>);

#[derive(Debug, Clone, Copy)]
enum BasePlace<'a> {
    Entry(EntryPlace<'a>),
    /// A loose object, or a value of a B-tree: never a delta.
    Alone,
    Revision(RevisionPlace<'a>),
}

impl<'a> ChunkPlace<'a> {
    /// The place of `revision` of `revlog`.
    pub fn of_revision(revlog: &'a Revlog, revision: usize) -> Self {
        ChunkPlace(BasePlace::Revision(RevisionPlace { revlog, revision }))
    }

    /// The place of a chunk in a Git repository; `None` for one that is in no pack.
    pub(crate) fn of_entry(entry: Option<EntryPlace<'a>>) -> Self {
        ChunkPlace(entry.map_or(BasePlace::Alone, BasePlace::Entry))
    }

    /// Its place among the entries of a pack; `None` if it is in no pack.
    pub fn in_pack(&self) -> Option<EntryPlace<'a>> {
        match self.0 {
            BasePlace::Entry(entry) => Some(entry),
            BasePlace::Alone | BasePlace::Revision(_) => None,
        }
    }

    /// The chunk's base; `None` if the chunk is no delta, or if no hash guards the delta's result.
    pub fn links(&self) -> Result<Option<DeltaLinks>> {
        match self.0 {
            BasePlace::Alone => Ok(None),
            BasePlace::Entry(entry) => Ok(entry.links()),
            BasePlace::Revision(revision) => revision.links(),
        }
    }

    /// The lengths in bytes of the base of the delta `payload`, and of the delta's result.
    ///
    /// # Errors
    /// The delta is damaged.
    pub fn content_lens(&self, payload: &[u8]) -> Result<(u64, u64)> {
        match self.0 {
            BasePlace::Alone => Ok((0, payload.len() as u64)),
            BasePlace::Entry(entry) => entry.content_lens(payload),
            BasePlace::Revision(revision) => revision.content_lens(),
        }
    }
}

/// Reads bases and the results of deltas, with caches and contexts that are reused. It is fastest when called for
/// chunks in their order in the pack or revlog.
pub struct BaseReader {
    contents: Contents,
    /// The file whose content the caches hold.
    file: PathBuf,
}

enum Contents {
    Git(Box<PackedObjects>),
    Hg(Box<TextReader>),
}

impl std::fmt::Debug for BaseReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BaseReader").field("file", &self.file).finish_non_exhaustive()
    }
}

impl BaseReader {
    /// A reader for chunks of `repository`. `decoders` names the implementations that decode them.
    ///
    /// # Errors
    /// A dictionary cannot be read.
    pub fn new(repository: &Repository, decoders: Decoders) -> Result<Self> {
        let contents = match repository {
            Repository::Git(git) => Contents::Git(Box::new(PackedObjects::new(git.decoder(decoders)?))),
            Repository::Hg(hg) => Contents::Hg(Box::new(TextReader::new(hg.decoder(decoders)?))),
        };
        Ok(BaseReader { contents, file: PathBuf::new() })
    }

    /// Clears the cache and sets its limit in decoded bytes; `None` for as much as the memory ceiling allows.
    pub fn set_cache_limit(&mut self, limit_bytes: Option<u64>) {
        match &mut self.contents {
            Contents::Git(objects) => objects.set_cache_limit(limit_bytes),
            Contents::Hg(texts) => texts.set_cache_limit(limit_bytes),
        }
    }

    /// Replaces `base` by the content that the delta at `place` is based on; in a numbered pack by its numbered form, to
    /// which the delta belongs.
    ///
    /// # Errors
    /// The base, or one that it is based on, is damaged.
    pub fn read_base(&mut self, place: ChunkPlace<'_>, base: &mut Vec<u8>) -> Result<()> {
        let Some(links) = place.links()? else { return Ok(()) };
        match (&mut self.contents, place.0) {
            (Contents::Git(objects), BasePlace::Entry(EntryPlace { pack, .. })) => {
                if self.file != pack.path() {
                    objects.clear_caches();
                    pack.path().clone_into(&mut self.file);
                }
                objects.read_numbered(pack, 0, links.base, base).map(drop)
            }
            (Contents::Hg(texts), BasePlace::Revision(RevisionPlace { revlog, revision })) => {
                if self.file != revlog.files().index {
                    texts.clear_caches();
                    self.file.clone_from(&revlog.files().index);
                }
                let Some(number) = revlog.delta_base(revision) else { return Ok(()) };
                texts.read(revlog, 0, number, base)
            }
            // A place in another repository.
            _ => Ok(()),
        }
    }

    /// Replaces `object` by the result of the delta `payload` at `place`, which is based on `base`.
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
        match (&mut self.contents, place.0) {
            (Contents::Hg(texts), BasePlace::Revision(RevisionPlace { revlog, revision })) => {
                texts.read(revlog, 0, revision, object)
            }
            (_, BasePlace::Entry(entry)) => entry.apply(base, payload, object),
            _ => Ok(()),
        }
    }
}
