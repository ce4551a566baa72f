//! Decoding a chunk into a buffer that grows no faster than the data warrants.

use repackbench_codec::{BLOCK_LEN, ChunkDecoder, CodecError};

/// The longest payload, in bytes, that room is made for at once whatever its chunk's length.
const BELIEVED: usize = 1 << 20;

/// How many times as long as what is stored a longer one may be for that.
const BELIEVED_EXPANSION: usize = 255;

/// Decodes the chunk at the start of `stored` into `payload`, replacing what is there; returns the stored bytes
/// consumed. A claim of more than [`BLOCK_LEN`] bytes, or of far more than is stored, is not believed: such a payload is
/// appended as it is decoded. Whether it may be so long is for the caller to [check](crate::memory::check) before.
pub fn decode_to_vec(
    decoder: &mut ChunkDecoder,
    stored: &[u8],
    payload_len: u64,
    payload: &mut Vec<u8>,
) -> Result<u64, CodecError> {
    decode_delta_to_vec(decoder, stored, None, payload_len, payload)
}

/// As [`decode_to_vec`], for the chunk of a delta, which may use the content of its `base`; without one, such a chunk is
/// an error.
pub fn decode_delta_to_vec(
    decoder: &mut ChunkDecoder,
    stored: &[u8],
    base: Option<&[u8]>,
    payload_len: u64,
    payload: &mut Vec<u8>,
) -> Result<u64, CodecError> {
    match usize::try_from(payload_len) {
        Ok(len) if len <= BLOCK_LEN && (base.is_some() || is_believed(len, stored.len())) => {
            // What a reused buffer holds is overwritten, so only its growth is zeroed.
            let missing = len.saturating_sub(payload.len());
            let no_memory = |_| CodecError::NoMemory { codec: "chunk", wanted: payload_len };
            payload.try_reserve(missing).map_err(no_memory)?;
            payload.resize(len, 0);
            let decoded = match base {
                Some(base) => decoder.decode_on_base(stored, base, payload),
                None => decoder.decode(stored, payload),
            };
            decoded.map(|consumed| consumed as u64)
        }
        _ => {
            payload.clear();
            decoder.decode_stream(stored, payload_len, &mut |piece| append(payload, piece, payload_len))
        }
    }
}

fn is_believed(payload_len: usize, stored_len: usize) -> bool {
    payload_len <= stored_len.saturating_mul(BELIEVED_EXPANSION).max(BELIEVED)
}

/// Appends `piece` to a payload that will have `payload_len` bytes: its room doubles, but not beyond that.
pub(super) fn append(payload: &mut Vec<u8>, piece: &[u8], payload_len: u64) -> std::io::Result<()> {
    if payload.capacity() - payload.len() < piece.len() {
        let left = usize::try_from(payload_len).unwrap_or(usize::MAX).saturating_sub(payload.len());
        let more = payload.len().min(left).max(piece.len());
        payload.try_reserve_exact(more).map_err(|_| std::io::ErrorKind::OutOfMemory)?;
    }
    payload.extend_from_slice(piece);
    Ok(())
}
