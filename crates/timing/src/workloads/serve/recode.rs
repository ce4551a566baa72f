//! Compresses the entries of a pack again for a client that only reads zlib, while the pack is sent.
//!
//! A server that knows both formats finds objects, bitmaps and deltas as it always does, and then sends each stored
//! chunk through a decoder and zlib: a delta stays a delta. Only the distances to bases change, as entries get other
//! lengths. So the pack of an unpatched git, which holds stored chunks, is read from a pipe here, and no more than one
//! payload is in memory.

use std::io::{self, BufRead, Read, Write};

use gix_hash::Kind;
use repackbench_codec::{ChunkDecoder, ChunkEncoder, Decoders, Dictionaries, SharedFormat};
use repackbench_reader::git::pack::{
    EntryHeaderError, EntryKind, PackEntryHeader, write_offset_distance, write_type_and_size,
};

use super::{
    git::{OFFSET_DELTA, PackServer, REF_DELTA, type_number},
    sink::PackSink,
};
use crate::workloads::WorkloadError;

/// The longest header of an entry: a size of 10 bytes, and an id of 32.
const LONGEST_HEADER: usize = 42;

/// The most bytes that a payload gets before its chunk is decoded.
const FIRST_ROOM: u64 = 1 << 20;

/// Reads a pack whose entries may be under any codec, with `dictionaries`, from `input` to its end, and writes the same
/// objects and deltas under `zlib:6` to `output`. Entries that are zlib streams stay as they are. The checksum of the
/// pack that is read is not checked. Returns the number of entries that were compressed again.
///
/// # Errors
/// The pack is malformed, a chunk does not decode without its base, or reading or writing fails.
pub fn recode_pack(
    input: impl Read,
    output: Box<dyn Write>,
    hash: Kind,
    dictionaries: &Dictionaries,
) -> Result<u64, WorkloadError> {
    let mut pack = PackStream::new(input);
    let entries = pack.read_start()?;
    let mut recoder = Recoder {
        hash,
        decoder: ChunkDecoder::new(Decoders::default()).with_dictionaries(dictionaries),
        encoder: ChunkEncoder::new(&PackServer::PLAIN.parse().map_err(bad)?).map_err(bad)?,
        sink: PackSink::writing(hash, entries, output)?,
        places: Vec::new(),
        header: Vec::new(),
        payload: Vec::new(),
        chunk: Vec::new(),
        encoded: 0,
    };
    for _ in 0..entries {
        recoder.recode_entry(&mut pack)?;
    }
    pack.read_end(hash)?;
    recoder.sink.finish()?;
    Ok(recoder.encoded)
}

fn bad(error: impl std::fmt::Display) -> WorkloadError {
    WorkloadError::Refused { why: format!("the pack that is sent: {error}") }
}

/// A pack that is read from a pipe. It knows its position, and can record what is read.
struct PackStream<R> {
    reader: io::BufReader<R>,
    position: u64,
    /// What was read since recording began, if it is recorded.
    recorded: Option<Vec<u8>>,
}

impl<R: Read> PackStream<R> {
    fn new(input: R) -> Self {
        PackStream { reader: io::BufReader::with_capacity(1 << 16, input), position: 0, recorded: None }
    }

    /// Reads the head of the pack; returns the number of entries.
    fn read_start(&mut self) -> Result<u32, WorkloadError> {
        let mut head = [0; 12];
        self.read_exact(&mut head).map_err(bad)?;
        let [b'P', b'A', b'C', b'K', 0, 0, 0, 2, count @ ..] = head else {
            return Err(bad("expected the head of a pack of version 2"));
        };
        Ok(u32::from_be_bytes(count))
    }

    /// Reads the checksum and the end.
    fn read_end(&mut self, hash: Kind) -> Result<(), WorkloadError> {
        let mut rest = Vec::new();
        let longest = hash.len_in_bytes() as u64 + 1;
        self.take(longest).read_to_end(&mut rest).map_err(bad)?;
        match rest.len() == hash.len_in_bytes() {
            true => Ok(()),
            false => Err(bad("expected nothing but a checksum after the last entry")),
        }
    }

    /// Reads the header of the next entry.
    fn read_header(&mut self, hash: Kind) -> Result<PackEntryHeader, WorkloadError> {
        let mut bytes = Vec::with_capacity(LONGEST_HEADER);
        loop {
            let mut next = [0];
            self.read_exact(&mut next).map_err(bad)?;
            bytes.extend(next);
            match PackEntryHeader::parse(&bytes, hash) {
                Err(EntryHeaderError::Truncated) if bytes.len() < LONGEST_HEADER => {}
                parsed => return parsed.map_err(bad),
            }
        }
    }
}

impl<R: Read> Read for PackStream<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(bytes)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: Read> BufRead for PackStream<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        if let Some(recorded) = &mut self.recorded {
            recorded.extend_from_slice(self.reader.buffer().get(..count).unwrap_or_default());
        }
        self.reader.consume(count);
        self.position += count as u64;
    }
}

/// Writes entries to the pack for the client.
struct Recoder {
    hash: Kind,
    decoder: ChunkDecoder,
    encoder: ChunkEncoder,
    sink: PackSink,
    /// The start of each entry so far, in the pack that is read and in the one that is written.
    places: Vec<(u64, u64)>,
    header: Vec<u8>,
    payload: Vec<u8>,
    chunk: Vec<u8>,
    encoded: u64,
}

impl Recoder {
    fn recode_entry<R: Read>(&mut self, pack: &mut PackStream<R>) -> Result<(), WorkloadError> {
        let start = pack.position;
        let header = pack.read_header(self.hash)?;
        self.put_header(&header, start)?;
        self.read_chunk(pack, header.payload_len)?;
        if SharedFormat::of_chunk(&self.chunk) == Some(SharedFormat::Zlib) {
            return self.sink.put(&self.chunk);
        }
        self.encoded += 1;
        self.chunk.clear();
        self.encoder.encode(&self.payload, &mut self.chunk).map_err(bad)?;
        self.sink.put(&self.chunk)
    }

    /// Writes the header of the entry that starts at `start` of the pack that is read.
    fn put_header(&mut self, header: &PackEntryHeader, start: u64) -> Result<(), WorkloadError> {
        let place = self.sink.written();
        self.header.clear();
        match header.kind {
            EntryKind::Whole(kind) => {
                write_type_and_size(type_number(kind) << 4, header.payload_len, &mut self.header);
            }
            EntryKind::OffsetDelta { distance } => {
                let base = start.checked_sub(distance).and_then(|base| self.written_place(base));
                let base = base.ok_or_else(|| bad(format!("no entry starts {distance} bytes before {start}")))?;
                write_type_and_size(OFFSET_DELTA << 4, header.payload_len, &mut self.header);
                write_offset_distance(place.saturating_sub(base), &mut self.header);
            }
            EntryKind::RefDelta { base } => {
                write_type_and_size(REF_DELTA << 4, header.payload_len, &mut self.header);
                self.header.extend_from_slice(base.as_bytes());
            }
        }
        self.places.push((start, place));
        self.sink.put(&self.header)
    }

    /// Where the entry that starts at `start` of the pack that is read was written.
    fn written_place(&self, start: u64) -> Option<u64> {
        let at = self.places.binary_search_by_key(&start, |(read, _)| *read).ok()?;
        self.places.get(at).map(|(_, written)| *written)
    }

    /// Reads the next chunk, and its payload of `payload_len` bytes.
    fn read_chunk<R: Read>(&mut self, pack: &mut PackStream<R>, payload_len: u64) -> Result<(), WorkloadError> {
        self.chunk.clear();
        self.payload.clear();
        // A wrong length must not take the memory.
        self.payload.reserve(usize::try_from(payload_len.min(FIRST_ROOM)).unwrap_or_default());
        pack.recorded = Some(std::mem::take(&mut self.chunk));
        let payload = &mut self.payload;
        let decoded = self.decoder.decode_stream_from(pack, payload_len, &mut |piece| {
            payload.extend_from_slice(piece);
            Ok(())
        });
        self.chunk = pack.recorded.take().unwrap_or_default();
        decoded.map(drop).map_err(bad)
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, rc::Rc};

    use repackbench_reader::hash::IdHasher;

    use super::*;

    /// A pack that tests read back.
    #[derive(Clone, Default)]
    struct Shared(Rc<RefCell<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn chunk(spec: &str, payload: &[u8]) -> Vec<u8> {
        let mut stored = Vec::new();
        ChunkEncoder::new(&spec.parse().unwrap()).unwrap().encode(payload, &mut stored).unwrap();
        stored
    }

    /// A pack with a blob, a delta on it by distance, a delta by id, and a blob under zlib.
    fn pack(spec: &str) -> Vec<u8> {
        let (blob, delta) = (b"content, content, content, content\n".as_slice(), [35, 35, 0x90, 35].as_slice());
        let mut pack = b"PACK\0\0\0\x02\0\0\0\x04".to_vec();
        let mut put = |header: &[u8], chunk: Vec<u8>| {
            let start = pack.len() as u64;
            pack.extend_from_slice(header);
            pack.extend(chunk);
            (start, pack.len() as u64)
        };
        let sized = |kind: u8, len: usize| {
            let mut header = Vec::new();
            write_type_and_size(kind << 4, len as u64, &mut header);
            header
        };
        let (first, second) = put(&sized(3, blob.len()), chunk(spec, blob));
        let mut by_distance = sized(OFFSET_DELTA, delta.len());
        write_offset_distance(second - first, &mut by_distance);
        put(&by_distance, chunk(spec, delta));
        put(&[sized(REF_DELTA, delta.len()), vec![7; 20]].concat(), chunk(spec, delta));
        put(&sized(3, blob.len()), chunk("zlib:1", blob));
        let mut hasher = IdHasher::new(Kind::Sha1);
        hasher.update(&pack);
        pack.extend_from_slice(hasher.finish().as_bytes());
        pack
    }

    fn recoded(pack: &[u8]) -> Result<(Vec<u8>, u64), WorkloadError> {
        let out = Shared::default();
        let encoded = recode_pack(pack, Box::new(out.clone()), Kind::Sha1, &Dictionaries::default())?;
        let bytes = out.0.borrow().clone();
        Ok((bytes, encoded))
    }

    #[test]
    fn packs_of_any_codec_become_that_of_zlib() {
        let expected = pack(PackServer::PLAIN);
        for spec in ["zstd:3", "lz4", "store", "zstd:9"] {
            assert_eq!(recoded(&pack(spec)).unwrap(), (expected.clone(), 3), "{spec}");
        }
        assert_eq!(recoded(&expected).unwrap(), (expected, 0));
    }

    #[test]
    fn malformed_packs_are_errors() {
        let whole = pack("zstd:3");
        for len in 0..whole.len() {
            assert!(recoded(&whole[..len]).is_err(), "{len} bytes");
        }
        assert!(recoded(&[whole.as_slice(), b"x"].concat()).is_err(), "bytes after the checksum");
        let mut other = whole.clone();
        other[7] = 3;
        assert!(recoded(&other).is_err(), "version 3");
        let mut moved = pack("zstd:3");
        let at = 12 + 2 + chunk("zstd:3", b"content, content, content, content\n").len() + 1;
        moved[at] -= 1;
        let error = recoded(&moved).unwrap_err().to_string();
        assert!(error.contains("no entry starts"), "{error}");
    }
}
