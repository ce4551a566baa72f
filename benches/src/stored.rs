//! The chunks of a repository in memory, and the mere work of codecs on them, which is a lower bound for the time of a
//! conversion.

use std::{
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use repackbench_codec::{ChunkDecoder, ChunkEncoder, CodecSpec, RevlogDecoder, RevlogEncoder, ZlibReader};
use repackbench_reader::{Repository, git::chunk::decode_to_vec};
use repackbench_timing::clock::{SystemClock, measure};

use crate::{BenchError, Result};

/// The stored bytes of every chunk of a repository, in file order.
#[derive(Debug)]
pub struct StoredChunks {
    container: Container,
    bytes: Vec<u8>,
    chunks: Vec<StoredChunk>,
    payload_bytes: u64,
}

#[derive(Debug, Clone)]
struct StoredChunk {
    place: Range<usize>,
    payload_len: u64,
}

/// The container of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// The container of Git packs and loose objects.
    Pack,
    /// The container of revlogs.
    Revlog,
}

/// The number of chunks that a thread takes at a time.
const CHUNKS_AT_A_TIME: usize = 512;

impl StoredChunks {
    /// Reads every chunk of `repository` into memory, except for loose objects above 64 MiB.
    ///
    /// # Errors
    /// The repository cannot be read.
    pub fn load(repository: &Repository) -> Result<Self> {
        let container = match repository {
            Repository::Git(_) => Container::Pack,
            Repository::Hg(_) => Container::Revlog,
        };
        let mut loaded = StoredChunks { container, bytes: Vec::new(), chunks: Vec::new(), payload_bytes: 0 };
        repository.store().for_each_chunk(&mut |chunk| {
            // A large loose object is not in memory. It is in neither of the sums that are compared.
            if chunk.stored.len() as u64 != chunk.stored_len {
                return Ok(());
            }
            let start = loaded.bytes.len();
            loaded.bytes.extend_from_slice(chunk.stored);
            loaded.chunks.push(StoredChunk { place: start..loaded.bytes.len(), payload_len: chunk.payload_len });
            loaded.payload_bytes += chunk.payload_len;
            Ok(())
        })?;
        Ok(loaded)
    }

    /// The number of chunks.
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    /// Whether there are no chunks.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The length of all payloads together, in bytes.
    pub fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// The CPU time of one thread that converts every chunk to `spec` in memory.
    ///
    /// # Errors
    /// A chunk is damaged, or a codec fails.
    pub fn cpu_time(&self, spec: &CodecSpec) -> Result<Duration> {
        let mut work = CodecWork::new(self.container, spec)?;
        let (result, sample) = measure(&SystemClock::new(), || self.convert(&mut work, 0..self.chunks.len()))?;
        result.map(|()| sample.user + sample.sys)
    }

    /// The elapsed time of `threads` threads that share the same work, which shows how well the machine's cores scale.
    ///
    /// # Errors
    /// As [`cpu_time`](StoredChunks::cpu_time).
    pub fn wall_time(&self, spec: &CodecSpec, threads: usize) -> Result<Duration> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<()> {
            let mut work = CodecWork::new(self.container, spec)?;
            loop {
                let start = next.fetch_add(CHUNKS_AT_A_TIME, Ordering::Relaxed);
                if start >= self.chunks.len() {
                    return Ok(());
                }
                self.convert(&mut work, start..self.chunks.len().min(start + CHUNKS_AT_A_TIME))?;
            }
        };
        let start = Instant::now();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            threads.into_iter().try_for_each(|thread| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        Ok(start.elapsed())
    }

    fn convert(&self, work: &mut CodecWork, positions: Range<usize>) -> Result<()> {
        for chunk in self.chunks.get(positions).unwrap_or_default() {
            work.convert(self.bytes.get(chunk.place.clone()).unwrap_or_default(), chunk.payload_len)?;
        }
        Ok(())
    }
}

/// The steps of a conversion for each chunk, with the contexts and buffers of one thread: decode, encode, decode again,
/// compare. The same implementations as in the converter decode the source chunks.
pub struct CodecWork {
    codec: ContainerCodec,
    payload: Vec<u8>,
    encoded: Vec<u8>,
    again: Vec<u8>,
}

enum ContainerCodec {
    Pack(Box<(ChunkDecoder, ChunkEncoder)>),
    Revlog(Box<(RevlogDecoder, RevlogEncoder)>),
}

impl CodecWork {
    /// Creates the contexts for `spec`.
    ///
    /// # Errors
    /// The codec cannot be set up.
    pub fn new(container: Container, spec: &CodecSpec) -> Result<Self> {
        let reader = ZlibReader::Libdeflate;
        let codec = match container {
            Container::Pack => ContainerCodec::Pack(Box::new((ChunkDecoder::new(reader), ChunkEncoder::new(spec)?))),
            Container::Revlog => {
                ContainerCodec::Revlog(Box::new((RevlogDecoder::new(reader), RevlogEncoder::new(spec)?)))
            }
        };
        Ok(CodecWork { codec, payload: Vec::new(), encoded: Vec::new(), again: Vec::new() })
    }

    /// Converts the chunk `stored`, which holds `payload_len` payload bytes.
    ///
    /// # Errors
    /// The chunk is damaged, a codec fails, or the new chunk does not decode to the payload.
    pub fn convert(&mut self, stored: &[u8], payload_len: u64) -> Result<()> {
        let CodecWork { codec, payload, encoded, again } = self;
        encoded.clear();
        match codec {
            ContainerCodec::Pack(codec) => {
                let (decoder, encoder) = &mut **codec;
                decode_to_vec(decoder, stored, payload_len, payload)?;
                encoder.encode(payload, encoded)?;
                decode_to_vec(decoder, encoded, payload_len, again)?;
            }
            ContainerCodec::Revlog(codec) => {
                let (decoder, encoder) = &mut **codec;
                let limit = usize::try_from(payload_len).unwrap_or(usize::MAX);
                payload.clear();
                again.clear();
                decoder.decode(stored, limit, payload)?;
                encoder.encode(payload, encoded)?;
                decoder.decode(encoded, limit, again)?;
            }
        }
        if again == payload { Ok(()) } else { Err(BenchError::Unfaithful) }
    }
}
