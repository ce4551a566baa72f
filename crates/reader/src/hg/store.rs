//! A Mercurial repository as chunks in file order.

use repackbench_codec::{BLOCK_LEN, BaseUse, Decoders, RevlogDecoder, ZlibReader};

use super::{
    HgRepository,
    revlog::{ENTRY_LEN, Entry, Revlog},
};
use crate::{Chunk, ChunkKind, LeftOut, ReaderError, Result, Store, WantedPayloads, memory};

/// The chunks of a repository: revlog after revlog.
#[derive(Debug)]
pub struct HgStore<'a> {
    repository: &'a HgRepository,
}

impl<'a> HgStore<'a> {
    /// The chunks of `repository`.
    pub fn new(repository: &'a HgRepository) -> Self {
        HgStore { repository }
    }
}

/// Number of stored bytes that are read at once. A longer chunk is read whole.
pub(super) const BATCH: u64 = 256 << 10;

impl Store for HgStore<'_> {
    fn for_each_chunk(&self, visit: &mut dyn FnMut(&Chunk<'_>) -> Result<()>) -> Result<()> {
        let mut reader = ChunkReader::new(self.repository, ZlibReader::Libdeflate.into())?;
        for files in self.repository.revlogs() {
            reader.read(&Revlog::open(files)?, &mut |chunk, _| visit(chunk))?;
        }
        Ok(())
    }
}

/// Receives a chunk, its revlog and revision, and its payload.
type VisitRevision<'a, E> = dyn FnMut(&Chunk<'_>, &Revlog, usize, &[u8]) -> std::result::Result<(), E> + 'a;

/// Hands the payloads of `repository` that are `wanted` to `visit`: see
/// [`Repository::for_each_payload`](crate::Repository::for_each_payload).
pub(crate) fn for_each_payload<E: From<ReaderError>>(
    repository: &HgRepository,
    decoders: Decoders,
    wanted: &mut WantedPayloads<'_>,
    visit: &mut VisitRevision<'_, E>,
) -> std::result::Result<LeftOut, E> {
    let mut reader = ChunkReader::new(repository, decoders)?;
    let mut left_out = LeftOut::default();
    for files in repository.revlogs() {
        reader.read(&Revlog::open(files)?, &mut |chunk, payload| {
            if !wanted(chunk) {
                return Ok(());
            }
            if chunk.payload_len > BLOCK_LEN as u64 {
                left_out.add(chunk.payload_len);
                return Ok(());
            }
            visit(chunk, payload.revlog, payload.revision, payload.get()?)
        })?;
    }
    Ok(left_out)
}

/// Contexts and buffers for all revlogs.
struct ChunkReader {
    decoder: RevlogDecoder,
    buffer: Vec<u8>,
    payload: Vec<u8>,
}

impl ChunkReader {
    fn new(repository: &HgRepository, decoders: Decoders) -> Result<Self> {
        let decoder = repository.decoder(decoders)?;
        Ok(ChunkReader { decoder, buffer: Vec::new(), payload: Vec::new() })
    }

    /// Hands each chunk of `revlog` to `visit`, with a way to decode its payload.
    fn read<E: From<ReaderError>>(
        &mut self,
        revlog: &Revlog,
        visit: &mut dyn FnMut(&Chunk<'_>, &mut ChunkPayload<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let ChunkReader { decoder, buffer, payload } = self;
        let mut first = 0;
        while let Some(last) = end_of_batch(revlog.entries(), first) {
            let run = revlog.chunks(first, last, buffer)?;
            for revision in first..=last {
                let entry = revlog.entry(revision)?;
                let (stored, base) = (run.get(revision)?, revlog.delta_base(revision));
                let mut payload = ChunkPayload { revlog, revision, stored, decoder, payload, is_decoded: false };
                let payload_len = match base {
                    None => u64::from(entry.text_len),
                    // Decoding would need the base. The chunk records the length of its payload.
                    Some(_) if RevlogDecoder::base_use(stored) != BaseUse::None => {
                        claimed_len(revlog, revision, stored)?
                    }
                    Some(_) => payload.get()?.len() as u64,
                };
                let (file, offset) = revlog.place(revision);
                let chunk = Chunk {
                    file,
                    offset,
                    header_len: ENTRY_LEN as u64,
                    kind: ChunkKind { object: revlog.files().kind, is_delta: base.is_some() },
                    base: base.map(|base| revlog.place(base).1),
                    payload_len,
                    stored_len: u64::from(entry.stored_len),
                    stored,
                };
                visit(&chunk, &mut payload)?;
            }
            first = last + 1;
        }
        Ok(())
    }
}

/// The payload length that a chunk which uses its base claims.
fn claimed_len(revlog: &Revlog, revision: usize, stored: &[u8]) -> Result<u64> {
    RevlogDecoder::claimed_len_on_base(stored)
        .ok_or_else(|| revlog.corrupt(revision, "a zstd frame with its content size", "none"))
}

/// The payload of a chunk, decoded on first use.
struct ChunkPayload<'a> {
    revlog: &'a Revlog,
    revision: usize,
    stored: &'a [u8],
    decoder: &'a mut RevlogDecoder,
    payload: &'a mut Vec<u8>,
    is_decoded: bool,
}

impl ChunkPayload<'_> {
    fn get(&mut self) -> Result<&[u8]> {
        if !self.is_decoded {
            self.revlog.decode(self.decoder, self.revision, self.stored, memory::largest(), self.payload)?;
            self.is_decoded = true;
        }
        Ok(self.payload)
    }
}

/// The last revision of the batch that starts with `first`; `None` past the end.
fn end_of_batch(entries: &[Entry], first: usize) -> Option<usize> {
    let start = entries.get(first)?.offset;
    let fits = |entry: &&Entry| entry.end().saturating_sub(start) <= BATCH;
    let more = entries.get(first + 1..).unwrap_or_default().iter().take_while(fits).count();
    Some(first + more)
}
