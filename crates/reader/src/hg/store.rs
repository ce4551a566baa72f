//! A Mercurial repository as chunks in file order.

use repackbench_codec::{RevlogDecoder, ZlibReader};

use super::{
    HgRepository,
    delta::longest_payload,
    revlog::{ENTRY_LEN, Revlog},
};
use crate::{Chunk, ChunkKind, Result, Store};

/// The chunks of a repository: revlog after revlog.
#[derive(Debug)]
pub struct HgStore<'a> {
    repository: &'a HgRepository,
}

impl<'a> HgStore<'a> {
    /// Looks at `repository` as chunks.
    pub fn new(repository: &'a HgRepository) -> Self {
        HgStore { repository }
    }
}

impl Store for HgStore<'_> {
    fn for_each_chunk(&self, visit: &mut dyn FnMut(&Chunk<'_>) -> Result<()>) -> Result<()> {
        let mut decoder = RevlogDecoder::new(ZlibReader::Libdeflate);
        let (mut buffer, mut payload) = (Vec::new(), Vec::new());
        for files in self.repository.revlogs() {
            let revlog = Revlog::open(files)?;
            for (revision, entry) in revlog.entries().iter().enumerate() {
                let stored = revlog.chunks(revision, revision, &mut buffer)?.get(revision)?;
                let base = revlog.delta_base(revision);
                let payload_len = match base {
                    None => u64::from(entry.text_len),
                    Some(base) => {
                        payload.clear();
                        let limit = longest_payload(revlog.entry(base)?.text_len as usize, entry.text_len as usize);
                        let decoded = decoder.decode(stored, limit, &mut payload);
                        decoded.map_err(|e| revlog.corrupt(revision, "a chunk that decodes", e.to_string()))? as u64
                    }
                };
                let (file, offset) = revlog.place(revision);
                visit(&Chunk {
                    file,
                    offset,
                    header_len: ENTRY_LEN as u64,
                    kind: ChunkKind { object: files.kind, is_delta: base.is_some() },
                    base: base.map(|base| revlog.place(base).1),
                    payload_len,
                    stored_len: u64::from(entry.stored_len),
                    stored,
                })?;
            }
        }
        Ok(())
    }
}
