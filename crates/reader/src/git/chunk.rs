//! Decoding a chunk into a buffer that grows no faster than the data warrants.

use repackbench_codec::{BLOCK_LEN, ChunkDecoder, CodecError};

/// Decodes the chunk at the start of `stored` into `payload`, replacing what is there; returns the stored bytes
/// consumed. A claim of more than [`BLOCK_LEN`] bytes is not believed: such a payload is appended as it is decoded.
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
        Ok(len) if len <= BLOCK_LEN => {
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
            decoder.decode_stream(stored, payload_len, &mut |piece| {
                payload.try_reserve(piece.len()).map_err(|_| std::io::ErrorKind::OutOfMemory)?;
                payload.extend_from_slice(piece);
                Ok(())
            })
        }
    }
}
