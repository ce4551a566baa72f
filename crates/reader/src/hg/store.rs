//! A Mercurial repository as chunks in file order.

use repackbench_codec::{RevlogDecoder, ZlibReader};

use super::{
    HgRepository,
    delta::longest_payload,
    revlog::{ENTRY_LEN, Entry, Revlog},
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

/// How many stored bytes are read at a time; a longer chunk is read whole.
const BATCH: u64 = 256 << 10;

impl Store for HgStore<'_> {
    fn for_each_chunk(&self, visit: &mut dyn FnMut(&Chunk<'_>) -> Result<()>) -> Result<()> {
        let mut reader = ChunkReader {
            decoder: RevlogDecoder::new(ZlibReader::Libdeflate),
            buffer: Vec::new(),
            payload: Vec::new(),
        };
        self.repository.revlogs().iter().try_for_each(|files| reader.read(&Revlog::open(files)?, visit))
    }
}

struct ChunkReader {
    decoder: RevlogDecoder,
    buffer: Vec<u8>,
    payload: Vec<u8>,
}

impl ChunkReader {
    fn read(&mut self, revlog: &Revlog, visit: &mut dyn FnMut(&Chunk<'_>) -> Result<()>) -> Result<()> {
        let ChunkReader { decoder, buffer, payload } = self;
        let mut first = 0;
        while let Some(last) = end_of_batch(revlog.entries(), first) {
            let run = revlog.chunks(first, last, buffer)?;
            for revision in first..=last {
                let entry = revlog.entry(revision)?;
                let (stored, base) = (run.get(revision)?, revlog.delta_base(revision));
                let payload_len = match base {
                    None => u64::from(entry.text_len),
                    Some(base) => {
                        payload.clear();
                        let limit = longest_payload(revlog.entry(base)?.text_len as usize, entry.text_len as usize);
                        let decoded = decoder.decode(stored, limit, payload);
                        decoded.map_err(|e| revlog.corrupt(revision, "a chunk that decodes", e.to_string()))? as u64
                    }
                };
                let (file, offset) = revlog.place(revision);
                visit(&Chunk {
                    file,
                    offset,
                    header_len: ENTRY_LEN as u64,
                    kind: ChunkKind { object: revlog.files().kind, is_delta: base.is_some() },
                    base: base.map(|base| revlog.place(base).1),
                    payload_len,
                    stored_len: u64::from(entry.stored_len),
                    stored,
                })?;
            }
            first = last + 1;
        }
        Ok(())
    }
}

/// The last revision of the batch that starts with `first`; `None` behind the end.
fn end_of_batch(entries: &[Entry], first: usize) -> Option<usize> {
    let start = entries.get(first)?.offset;
    let fits = |entry: &&Entry| (entry.offset + u64::from(entry.stored_len)).saturating_sub(start) <= BATCH;
    let more = entries.get(first + 1..).unwrap_or_default().iter().take_while(fits).count();
    Some(first + more)
}
