//! Payloads of entries in another form of references than they have.

use std::path::PathBuf;

use repackbench_codec::{ChunkDecoder, ZlibReader};
use repackbench_reader::{
    ObjectKind, Repository,
    git::{
        delta::{self, DeltaSizes},
        pack::{EntryPlace, PackFile},
        packed_objects::PackedObjects,
    },
    memory::{self, TurnTaker},
};

use super::{PayloadRewriter, ReferenceForm};
use crate::{Result, WriterError};

/// Translates payloads of entries. It belongs to one thread, and is fastest for entries in the order of their pack.
pub struct PayloadTranslator {
    becomes_numbered: bool,
    objects: PackedObjects,
    /// The pack that the cache of `objects` and the rewriter are for.
    pack: PathBuf,
    rewriter: Option<PayloadRewriter>,
    base: Vec<u8>,
    object: Vec<u8>,
    payload: Vec<u8>,
}

impl PayloadTranslator {
    /// A translator of entries of `repository` for one thread; `None` if all payloads stay as they are.
    ///
    /// # Errors
    /// The dictionaries of a variant cannot be read.
    pub fn for_repository(repository: &Repository, becomes_numbered: bool) -> Result<Option<Self>> {
        let Repository::Git(git) = repository else { return Ok(None) };
        if git.packs().iter().all(|files| files.numbers.is_some() == becomes_numbered) {
            return Ok(None);
        }
        let decoder = git.decoder(ZlibReader::Libdeflate)?;
        Ok(Some(PayloadTranslator::new(decoder, memory::thread_cache_limit(1), becomes_numbered)))
    }

    /// A translator that reads chunks with `decoder`, and caches as many bytes as `cache_limit` says.
    pub(crate) fn new(decoder: ChunkDecoder, cache_limit: u64, becomes_numbered: bool) -> Self {
        let mut objects = PackedObjects::new(decoder);
        objects.set_cache_limit(Some(cache_limit));
        PayloadTranslator {
            becomes_numbered,
            objects,
            pack: PathBuf::new(),
            rewriter: None,
            base: Vec::new(),
            object: Vec::new(),
            payload: Vec::new(),
        }
    }

    /// The payload that leads to the object of the entry at `place`, whose own is `payload`, in the other form: a delta
    /// against the same base if it is a delta. `None` if the payload stays as it is.
    ///
    /// # Errors
    /// The entry or its base is damaged, or the new payload leads to another object.
    pub fn translate(&mut self, place: EntryPlace<'_>, payload: &[u8], turn: &mut TurnTaker) -> Result<Option<&[u8]>> {
        let EntryPlace { pack, table, forest, position } = place;
        let Some(kind) = forest.kind(position).filter(|kind| *kind != ObjectKind::Blob) else { return Ok(None) };
        let Some(form) = ReferenceForm::changed(pack, self.becomes_numbered) else { return Ok(None) };
        let offset_of = |position| table.extent(position).map(|(offset, _)| offset);
        let offset = offset_of(position).unwrap_or_default();
        let base = forest.base(position).and_then(offset_of);
        self.begin(pack, form);
        if let Some(base) = base {
            self.objects.read(pack, 0, base, &mut self.base)?;
        }
        let object = match (form, base) {
            (ReferenceForm::Numbers, None) => payload,
            (ReferenceForm::Numbers, Some(_)) => {
                let bad_delta = |error| pack.bad_delta(offset, error);
                turn.reserve(DeltaSizes::parse(payload).map_err(bad_delta)?.result);
                delta::apply(&self.base, payload, &mut self.object).map_err(bad_delta)?;
                &self.object
            }
            (ReferenceForm::Ids, _) => {
                self.objects.read(pack, 0, offset, &mut self.object)?;
                &self.object
            }
        };
        turn.reserve(object.len().max(self.base.len()) as u64);
        let base = base.is_some().then_some(self.base.as_slice());
        let Some(rewriter) = &mut self.rewriter else { return Ok(None) };
        rewriter.rewrite(pack, kind, base, object, &mut self.payload);
        if rewriter.leads_back(pack, base.is_some(), &self.payload) {
            return Ok(Some(&self.payload));
        }
        let what = format!("entry at offset {offset}");
        let detail = "another object with its references in another form".to_owned();
        Err(WriterError::Unfaithful { path: pack.path().to_owned(), what, detail })
    }

    /// Makes `pack` the one that is translated.
    fn begin(&mut self, pack: &PackFile, form: ReferenceForm) {
        if self.rewriter.is_none() || self.pack != pack.path() {
            self.objects.clear_caches();
            pack.path().clone_into(&mut self.pack);
            self.rewriter = Some(PayloadRewriter::new(pack, form));
        }
    }

    /// Frees the memory of large objects: see [`TurnTaker::finish`].
    pub fn finish(&mut self, turn: &mut TurnTaker) {
        let PayloadTranslator { base, object, payload, .. } = self;
        turn.finish([base, object, payload]);
    }
}
