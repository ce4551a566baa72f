//! The decoded chunks that changesets introduced: what a pull sends and an `hg unbundle` appends.

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
    /// The revision that the payload is a delta against; `None` for a full text.
    pub base: Option<usize>,
    /// The delta or full text.
    pub payload: &'a [u8],
}

/// Decodes chunks, reusing contexts and buffers.
pub struct NewChunks {
    decoder: RevlogDecoder,
    /// Reads the full texts with which some chunks were compressed.
    texts: TextReader,
    base: Vec<u8>,
    stored: Vec<u8>,
    payload: Vec<u8>,
    /// The access log while accesses are recorded.
    log: Option<Arc<AccessLog>>,
}

impl std::fmt::Debug for NewChunks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewChunks").finish_non_exhaustive()
    }
}

impl NewChunks {
    /// A decoder for chunks of `repository`. `decoders` names the implementations that decode them.
    ///
    /// # Errors
    /// A dictionary cannot be read.
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

    /// Starts recording accesses to revlogs that are passed to [`watch`](NewChunks::watch).
    pub fn record_accesses(&mut self, recording: Recording) {
        self.log = Some(AccessLog::new(recording));
    }

    /// Ends the recording and returns what was read.
    pub fn take_accesses(&mut self) -> AccessTrace {
        self.log.take().map(|log| log.take()).unwrap_or_default()
    }

    /// Records accesses to `revlog` too, if recording is on.
    pub fn watch(&self, revlog: &mut Revlog) {
        if let Some(log) = &self.log {
            revlog.set_log(Some(log));
        }
    }

    /// Clears the cache of texts.
    pub fn clear_caches(&mut self) {
        self.texts.clear_caches();
    }

    /// Hands the chunks of `revlog` that belong to one of `changesets` to `visit`, in order. `number` identifies the
    /// revlog in the cache.
    ///
    /// # Errors
    /// Errors of `visit`, and any damage.
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

    /// Decodes `chunk` into `self.payload` and returns the revision that it is a delta against.
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

/// The changeset that introduced `revision`; `None` if the entry names none.
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

/// One above the last new revision that is in one batch with `start`.
fn end_of_run(revlog: &Revlog, start: usize, changesets: &Range<usize>) -> usize {
    let end_of = |revision: usize| revlog.entries().get(revision).map_or(0, Entry::end);
    let offset = revlog.entries().get(start).map_or(0, |entry| entry.offset);
    let fits =
        |revision: &usize| is_new(revlog, *revision, changesets) && end_of(*revision).saturating_sub(offset) <= BATCH;
    start + 1 + (start + 1..revlog.len()).take_while(fits).count()
}
