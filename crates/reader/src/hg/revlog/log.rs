//! Recording what is read of a revlog.
//!
//! An index is read as a whole when it is opened, and with it all chunks of an inline revlog. In other revlogs each run
//! of chunks is read in one call, including gaps.

use std::sync::Arc;

use super::{Entry, Revlog};
use crate::{
    ChunkKind,
    access::{Access, AccessLog, AccessPart, FileRole, TracedDecode},
};

/// A log, and the numbers of the files of a revlog in it.
#[derive(Debug)]
pub(crate) struct RevlogLog {
    log: Arc<AccessLog>,
    index: u32,
    /// The number of the file with the chunks.
    chunks: u32,
}

impl RevlogLog {
    /// Starts recording in `log`, beginning with the index of `revlog`.
    pub(super) fn new(revlog: &Revlog, log: Arc<AccessLog>) -> Self {
        let files = revlog.files();
        let len = revlog.index_len();
        let index = log.file(&files.index, FileRole::RevlogIndex, len);
        let chunks = match revlog.header() {
            Some(header) if !header.is_inline() => {
                let data_len = revlog.entries().last().map_or(0, Entry::end);
                log.file(&files.data, FileRole::RevlogData, data_len)
            }
            _ => index,
        };
        log.access(Access { file: index, part: AccessPart::RevlogIndex, kind: None, offset: 0, len });
        RevlogLog { log, index, chunks }
    }

    /// Records that the chunks of the ascending `revisions` of `revlog` were read in one call.
    #[cold]
    pub(super) fn run(&self, revlog: &Revlog, revisions: &[usize]) {
        if self.chunks == self.index {
            // The chunks are in memory.
            return;
        }
        let mut end = None;
        for revision in revisions {
            let Some(entry) = revlog.entries().get(*revision) else { continue };
            if let Some(gap) = end.filter(|end| *end < entry.offset) {
                self.access(AccessPart::Gap, None, gap, entry.offset - gap);
            }
            self.access(AccessPart::Chunk, Some(kind(revlog, *revision)), entry.offset, u64::from(entry.stored_len));
            end = Some(entry.end());
        }
    }

    fn access(&self, part: AccessPart, kind: Option<ChunkKind>, offset: u64, len: u64) {
        self.log.access(Access { file: self.chunks, part, kind, offset, len });
    }

    /// Records that the chunk of `revision` is decoded into a payload of at most `limit` bytes. `base` is the full text
    /// of its base, if the chunk is decoded with it.
    #[cold]
    pub(in crate::hg) fn decode(&self, revlog: &Revlog, revision: usize, limit: usize, base: Option<&[u8]>) {
        let (_, offset) = revlog.place(revision);
        let stored_len = revlog.entries().get(revision).map_or(0, |entry| u64::from(entry.stored_len));
        let base_revision = revlog.delta_base(revision).unwrap_or_default() as u64;
        self.log.decode(TracedDecode {
            file: self.chunks,
            offset,
            stored_len,
            payload_limit: limit as u64,
            kind: kind(revlog, revision),
            base: base.and_then(|text| self.log.base(self.chunks, base_revision, text)),
        });
    }
}

fn kind(revlog: &Revlog, revision: usize) -> ChunkKind {
    ChunkKind { object: revlog.files().kind, is_delta: revlog.delta_base(revision).is_some() }
}
