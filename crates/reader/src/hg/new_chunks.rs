//! The chunks that changesets brought, decoded: what a pull sends and an `hg unbundle` appends.

use std::{ops::Range, sync::Arc};

use repackbench_codec::{BaseUse, Decoders, RevlogDecoder};

use super::{
    HgRepository,
    revlog::{Entry, Revlog, TextReader},
    store::BATCH,
};
use crate::{AccessTrace, ObjectKind, Recording, Result, access::AccessLog, memory};

/// A decoded chunk of a revision.
#[derive(Debug, Clone, Copy)]
pub struct NewChunk<'a> {
    /// Its revlog.
    pub revlog: &'a Revlog,
    /// The revision's number in it.
    pub revision: usize,
    /// The revision that the payload is a delta against; `None` if it is a full text.
    pub base: Option<usize>,
    /// Delta or full text.
    pub payload: &'a [u8],
}

/// Decodes chunks, with contexts and buffers that are reused.
pub struct NewChunks {
    decoder: RevlogDecoder,
    /// Reads the full texts that some chunks were compressed with.
    texts: TextReader,
    base: Vec<u8>,
    stored: Vec<u8>,
    payload: Vec<u8>,
    /// Where accesses are recorded, while they are.
    log: Option<Arc<AccessLog>>,
}

impl std::fmt::Debug for NewChunks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewChunks").finish_non_exhaustive()
    }
}

impl NewChunks {
    /// For chunks of `repository`, which the implementations that `decoders` names decode.
    ///
    /// # Errors
    /// When a dictionary cannot be read.
    pub fn new(repository: &HgRepository, decoders: Decoders) -> Result<Self> {
        Ok(NewChunks {
            decoder: repository.decoder(decoders)?,
            texts: TextReader::new(repository.decoder(decoders)?),
            base: Vec::new(),
            stored: Vec::new(),
            payload: Vec::new(),
            log: None,
        })
    }

    /// Records from now on what is read of revlogs that [`watch`](NewChunks::watch) is told of.
    pub fn record_accesses(&mut self, recording: Recording) {
        self.log = Some(AccessLog::new(recording));
    }

    /// What was read since then, and ends the recording.
    pub fn take_accesses(&mut self) -> AccessTrace {
        self.log.take().map(|log| log.take()).unwrap_or_default()
    }

    /// Has what is read of `revlog` recorded, if anything is.
    pub fn watch(&self, revlog: &mut Revlog) {
        if let Some(log) = &self.log {
            revlog.set_log(Some(log));
        }
    }

    /// Empties the cache of texts.
    pub fn clear_caches(&mut self) {
        self.texts.clear_caches();
    }

    /// Hands the chunks of `revlog`, which `number` tells from others, that belong to one of `changesets` to `visit`, in their
    /// order.
    ///
    /// # Errors
    /// What `visit` returns, and any damage.
    pub fn for_each(
        &mut self,
        revlog: &Revlog,
        number: usize,
        changesets: &Range<usize>,
        visit: &mut dyn FnMut(NewChunk<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut at = 0;
        while let Some(start) = (at..revlog.len()).find(|revision| is_new(revlog, *revision, changesets)) {
            let end = end_of_run(revlog, start, changesets);
            let mut stored = std::mem::take(&mut self.stored);
            let chunks = revlog.chunks(start, end - 1, &mut stored)?;
            for revision in start..end {
                let base = self.decode(revlog, number, revision, chunks.get(revision)?)?;
                visit(NewChunk { revlog, revision, base, payload: &self.payload })?;
            }
            self.stored = stored;
            at = end;
        }
        Ok(())
    }

    /// Puts the payload of `chunk` into `self.payload`, and says what it is a delta against.
    fn decode(&mut self, revlog: &Revlog, number: usize, revision: usize, chunk: &[u8]) -> Result<Option<usize>> {
        let room = memory::largest();
        let NewChunks { decoder, texts, base: base_text, payload, .. } = self;
        payload.clear();
        let Some(base) = revlog.delta_base(revision) else {
            let limit = revlog.payload_limit(revision, 0, room)?;
            let decoded = decoder.decode(chunk, limit, payload);
            decoded.map_err(|error| revlog.undecodable(revision, &error, room))?;
            if let Some(log) = revlog.log() {
                log.decode(revlog, revision, limit, None);
            }
            return Ok(None);
        };
        let base_use = RevlogDecoder::base_use(chunk);
        let limit = revlog.payload_limit(revision, revlog.entry(base)?.text_len as usize, room)?;
        let text_len = revlog.entry(revision)?.text_len as usize;
        let limit = if base_use == BaseUse::Patch { text_len } else { limit };
        let base_text = match base_use {
            BaseUse::None => None,
            BaseUse::Prefix | BaseUse::Patch => {
                texts.read(revlog, number, base, base_text)?;
                Some(base_text.as_slice())
            }
        };
        let decoded = match base_text {
            None => decoder.decode(chunk, limit, payload),
            Some(base_text) => decoder.decode_on_base(chunk, base_text, limit, payload),
        };
        decoded.map_err(|error| revlog.undecodable(revision, &error, room))?;
        if let Some(log) = revlog.log() {
            log.decode(revlog, revision, limit, base_text);
        }
        Ok((base_use != BaseUse::Patch).then_some(base))
    }
}

/// The changeset that brought `revision`; `None` if it says none.
pub fn changeset_of(revlog: &Revlog, revision: usize) -> Option<usize> {
    if revlog.files().kind == ObjectKind::Changelog {
        return Some(revision);
    }
    revlog.entries().get(revision).and_then(|entry| usize::try_from(entry.link).ok())
}

/// Whether `revision` belongs to one of `changesets`.
fn is_new(revlog: &Revlog, revision: usize, changesets: &Range<usize>) -> bool {
    changeset_of(revlog, revision).is_some_and(|changeset| changesets.contains(&changeset))
}

/// One above the last of the new revisions from `start` on that lie within a batch.
fn end_of_run(revlog: &Revlog, start: usize, changesets: &Range<usize>) -> usize {
    let end_of = |revision: usize| revlog.entries().get(revision).map_or(0, Entry::end);
    let offset = revlog.entries().get(start).map_or(0, |entry| entry.offset);
    let fits =
        |revision: &usize| is_new(revlog, *revision, changesets) && end_of(*revision).saturating_sub(offset) <= BATCH;
    start + 1 + (start + 1..revlog.len()).take_while(fits).count()
}
