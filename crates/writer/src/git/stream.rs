//! Converts one large chunk without ever holding its payload.

use std::{
    io::{BufRead, Read, Write},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
};

use gix_hash::{Kind, ObjectId};
use repackbench_codec::{ChunkDecoder, ChunkEncoder, CodecError};
use repackbench_reader::{git::hash::GitHasher, threads};

use crate::{Progress, WriterError};

/// Payload bytes that are handed over at a time, and how many such pieces may wait.
const PIECE: usize = 1 << 20;
const PIECES: usize = 4;

/// What the two halves of a streamed conversion report.
pub(super) struct Streamed {
    /// Bytes of the source's chunk, or why it cannot be decoded.
    pub(super) consumed: Result<u64, CodecError>,
    /// Bytes of the new chunk, or why it cannot be encoded. Not to be looked at if the source cannot be decoded.
    pub(super) encoded: Result<u64, CodecError>,
    /// A digest of the payload, to compare with that of the new chunk's.
    pub(super) digest: ObjectId,
}

/// How the payload of the new chunk differs from that of the old one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reframed<'a> {
    /// How many bytes of the old one are left out at its start.
    pub(super) skipped: usize,
    /// What the new one begins with instead.
    pub(super) header: &'a [u8],
}

/// Decodes the chunk that `stored` yields next on a thread of its own and encodes its payload into `sink` on this one.
///
/// # Errors
/// Only [`WriterError::Interrupted`], when the user wants the work to stop, and [`WriterError::Thread`].
pub(super) fn convert(
    decoder: &mut ChunkDecoder,
    stored: impl BufRead + Send,
    payload_len: u64,
    encoder: &mut ChunkEncoder,
    sink: &mut dyn Write,
    progress: &dyn Progress,
) -> crate::Result<Streamed> {
    convert_reframed(decoder, stored, payload_len, Reframed::default(), encoder, sink, progress)
}

/// As [`convert`], where the new payload is not quite the old one.
///
/// # Errors
/// As [`convert`].
pub(super) fn convert_reframed(
    decoder: &mut ChunkDecoder,
    mut stored: impl BufRead + Send,
    payload_len: u64,
    reframed: Reframed<'_>,
    encoder: &mut ChunkEncoder,
    sink: &mut dyn Write,
    progress: &dyn Progress,
) -> crate::Result<Streamed> {
    let Reframed { mut skipped, header } = reframed;
    let new_len = payload_len.saturating_sub(skipped as u64).saturating_add(header.len() as u64);
    let (sender, receiver) = sync_channel(PIECES);
    std::thread::scope(|scope| {
        let decoding = threads::spawn(scope, move || {
            let mut hasher = GitHasher::new(Kind::Sha256);
            hasher.update(header);
            send(&sender, header);
            let consumed = decoder.decode_stream_from(&mut stored, payload_len, &mut |bytes| {
                if progress.is_cancelled() {
                    return Err(std::io::Error::other("cancelled"));
                }
                let left_out = skipped.min(bytes.len());
                skipped -= left_out;
                let bytes = bytes.get(left_out..).unwrap_or_default();
                hasher.update(bytes);
                send(&sender, bytes);
                Ok(())
            });
            (consumed, hasher.finish())
        });
        let decoding = decoding.map_err(WriterError::Thread)?;
        let mut payload = PieceReader { receiver: Some(receiver), piece: Vec::new(), read: 0 };
        let encoded = encoder.encode_stream(&mut payload, new_len, sink);
        // An encoder that gave up would leave the other side waiting for someone to take its pieces.
        payload.receiver = None;
        match decoding.join() {
            // Then both halves stopped early, and neither says anything of source or sink.
            Ok(_) if progress.is_cancelled() => Err(WriterError::Interrupted),
            Ok((consumed, digest)) => Ok(Streamed { consumed, encoded, digest }),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Decodes the chunk that `stored` yields next and gives back the bytes consumed and the payload's digest.
pub(super) fn digest(
    decoder: &mut ChunkDecoder,
    mut stored: impl BufRead,
    payload_len: u64,
) -> Result<(u64, ObjectId), CodecError> {
    let mut hasher = GitHasher::new(Kind::Sha256);
    let consumed = decoder.decode_stream_from(&mut stored, payload_len, &mut |bytes| {
        hasher.update(bytes);
        Ok(())
    })?;
    Ok((consumed, hasher.finish()))
}

/// Hands over pieces. Once the encoder gave up nobody takes them; decoding goes on all the same, so that what it says of
/// the source holds whatever happened on the other side.
fn send(sender: &SyncSender<Vec<u8>>, bytes: &[u8]) {
    for piece in bytes.chunks(PIECE) {
        if sender.send(piece.to_vec()).is_err() {
            return;
        }
    }
}

/// Reads what the decoding thread sends; at its end, the end of the payload.
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
