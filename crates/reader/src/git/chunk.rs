//! Decoding a chunk into a buffer without trusting the length that the chunk claims.

use repackbench_codec::{BLOCK_LEN, ChunkDecoder, CodecError};

/// Up to this many bytes, any claimed payload length is plausible.
const ALWAYS_PLAUSIBLE_LEN: usize = 1 << 20;

/// A longer payload is plausible up to this many times the length of its stored bytes.
const PLAUSIBLE_EXPANSION: usize = 255;

/// Decodes the chunk at the start of `stored`, replacing the content of `payload`, and returns the number of stored
/// bytes consumed. For a claimed length above [`BLOCK_LEN`], or far above that of the stored bytes, the buffer only
/// grows with the decoded data. The caller has to [check](crate::memory::check) before whether the payload may be that
/// long.
pub fn decode_to_vec(
    decoder: &mut ChunkDecoder,
    stored: &[u8],
    payload_len: u64,
    payload: &mut Vec<u8>,
) -> Result<u64, CodecError> {
    decode_delta_to_vec(decoder, stored, None, payload_len, payload)
}

/// As [`decode_to_vec`], for the chunk of a delta, which may use the content of its `base`. Such a chunk is an error if
/// there is no base.
pub fn decode_delta_to_vec(
    decoder: &mut ChunkDecoder,
    stored: &[u8],
    base: Option<&[u8]>,
    payload_len: u64,
    payload: &mut Vec<u8>,
) -> Result<u64, CodecError> {
    match usize::try_from(payload_len) {
        Ok(len) if len <= BLOCK_LEN && (base.is_some() || is_plausible_len(len, stored.len())) => {
            // The old content of a reused buffer is overwritten, so only its growth is zeroed.
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

fn is_plausible_len(payload_len: usize, stored_len: usize) -> bool {
    payload_len <= stored_len.saturating_mul(PLAUSIBLE_EXPANSION).max(ALWAYS_PLAUSIBLE_LEN)
}

/// Appends `piece` to a payload that will have `payload_len` bytes. The capacity doubles, but never exceeds
/// `payload_len`.
pub(super) fn append(payload: &mut Vec<u8>, piece: &[u8], payload_len: u64) -> std::io::Result<()> {
    if payload.capacity() - payload.len() < piece.len() {
        let left = usize::try_from(payload_len).unwrap_or(usize::MAX).saturating_sub(payload.len());
        let more = payload.len().min(left).max(piece.len());
        payload.try_reserve_exact(more).map_err(|_| std::io::ErrorKind::OutOfMemory)?;
    }
    payload.extend_from_slice(piece);
    Ok(())
}
