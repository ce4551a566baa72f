//! Converts one large chunk without ever holding its whole payload.

use std::{
    io::{BufRead, Read, Write},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
};

use gix_hash::{Kind, ObjectId};
use repackbench_codec::{ChunkDecoder, ChunkEncoder, CodecError};
use repackbench_reader::{hash::IdHasher, threads};

use crate::{Progress, WriterError};

/// The number of payload bytes in a piece, and the number of pieces that may wait.
const PIECE: usize = 1 << 20;
const PIECES: usize = 4;

/// The results of both threads of a streamed conversion.
pub(super) struct Streamed {
    /// The length of the source's chunk, or why it cannot be decoded.
    pub(super) consumed: Result<u64, CodecError>,
    /// The length of the new chunk, or why it cannot be encoded. Meaningless if the source cannot be decoded.
    pub(super) encoded: Result<u64, CodecError>,
    /// A digest of the new payload, to compare with that of the decoded new chunk.
    pub(super) digest: ObjectId,
}

/// A chunk to convert, and how the new payload differs from its own.
pub(super) struct SourceChunk<'a, R> {
    decoder: &'a mut ChunkDecoder,
    /// The reader that yields the chunk next.
    stored: R,
    payload_len: u64,
    /// Length of the header of the payload that is dropped, in bytes.
    dropped_len: usize,
    /// The header that the new payload gets instead.
    header: &'a [u8],
}

impl<'a, R: BufRead + Send> SourceChunk<'a, R> {
    /// The chunk that `stored` yields next, whose payload has `payload_len` bytes and does not change.
    pub(super) fn new(decoder: &'a mut ChunkDecoder, stored: R, payload_len: u64) -> Self {
        SourceChunk { decoder, stored, payload_len, dropped_len: 0, header: &[] }
    }

    /// The same chunk, with `header` in place of the first `dropped_len` bytes of its payload.
    pub(super) fn with_header(self, dropped_len: usize, header: &'a [u8]) -> Self {
        SourceChunk { dropped_len, header, ..self }
    }

    /// Length of the new payload in bytes.
    pub(super) fn new_payload_len(&self) -> u64 {
        self.payload_len.saturating_sub(self.dropped_len as u64).saturating_add(self.header.len() as u64)
    }
}

/// Decodes the chunk `source` on a thread of its own, and encodes its payload into `sink` on this one.
///
/// # Errors
/// Only [`WriterError::Interrupted`], when the user stops the work, and [`WriterError::Thread`].
pub(super) fn convert(
    source: SourceChunk<'_, impl BufRead + Send>,
    encoder: &mut ChunkEncoder,
    sink: &mut dyn Write,
    progress: &dyn Progress,
) -> crate::Result<Streamed> {
    let new_len = source.new_payload_len();
    let SourceChunk { decoder, mut stored, payload_len, dropped_len: mut to_drop, header } = source;
    let (sender, receiver) = sync_channel(PIECES);
    std::thread::scope(|scope| {
        let decoding = threads::spawn(scope, move || {
            let mut hasher = IdHasher::new(Kind::Sha256);
            hasher.update(header);
            send(&sender, header);
            let consumed = decoder.decode_stream_from(&mut stored, payload_len, &mut |bytes| {
                if progress.is_cancelled() {
                    return Err(std::io::Error::other("cancelled"));
                }
                let dropped = to_drop.min(bytes.len());
                to_drop -= dropped;
                let bytes = bytes.get(dropped..).unwrap_or_default();
                hasher.update(bytes);
                send(&sender, bytes);
                Ok(())
            });
            (consumed, hasher.finish())
        });
        let decoding = decoding.map_err(WriterError::Thread)?;
        let mut payload = PieceReader { receiver: Some(receiver), piece: Vec::new(), read: 0 };
        let encoded = encoder.encode_stream(&mut payload, new_len, sink);
        // If the encoder gave up, the decoding thread would otherwise wait for a receiver of its pieces.
        payload.receiver = None;
        match decoding.join() {
            // Both threads stopped early, so their results say nothing about source or sink.
            Ok(_) if progress.is_cancelled() => Err(WriterError::Interrupted),
            Ok((consumed, digest)) => Ok(Streamed { consumed, encoded, digest }),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Decodes the chunk that `stored` yields next. Returns the number of bytes consumed and the digest of the payload.
pub(super) fn digest(
    decoder: &mut ChunkDecoder,
    mut stored: impl BufRead,
    payload_len: u64,
) -> Result<(u64, ObjectId), CodecError> {
    let mut hasher = IdHasher::new(Kind::Sha256);
    let consumed = decoder.decode_stream_from(&mut stored, payload_len, &mut |bytes| {
        hasher.update(bytes);
        Ok(())
    })?;
    Ok((consumed, hasher.finish()))
}

/// Sends `bytes` in pieces. If the encoder gave up, nobody receives them, but decoding continues: its result about the
/// source must not depend on the encoder.
fn send(sender: &SyncSender<Vec<u8>>, bytes: &[u8]) {
    for piece in bytes.chunks(PIECE) {
        if sender.send(piece.to_vec()).is_err() {
            return;
        }
    }
}

/// Reads what the decoding thread sends. The end of the channel is the end of the payload.
struct PieceReader {
    receiver: Option<Receiver<Vec<u8>>>,
    piece: Vec<u8>,
    read: usize,
}

impl Read for PieceReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.read == self.piece.len() {
            match self.receiver.as_ref().map(Receiver::recv) {
                Some(Ok(piece)) => (self.piece, self.read) = (piece, 0),
                _ => return Ok(0),
            }
        }
        let count = self.piece.get(self.read..).unwrap_or_default().read(buffer)?;
        self.read += count;
        Ok(count)
    }
}
