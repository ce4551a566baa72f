//! Room for payloads whose length is unknown, or claimed by bytes that may lie.

use crate::error::{CodecError, FoundLength};

/// The estimated ratio of payload length to stored length: most deltas and texts have at most this one. Room is filled
/// with zeros and growth copies, so both too much and too little room cost time.
const USUAL_EXPANSION: usize = 4;

/// The minimum initial room, in bytes.
const LEAST_ROOM: usize = 128;

/// A buffer that lacks at most this much room, in bytes, may double, because many payloads go into one buffer.
const SMALL_ROOM: usize = 64 << 10;

/// A claim of at most this many payload bytes is plausible in any case.
const PLAUSIBLE_LEN: usize = 1 << 20;

/// The maximum ratio of a plausible payload length to the stored length.
const PLAUSIBLE_EXPANSION: usize = 255;

/// The number of copies of its base that a payload may hold in addition.
const PLAUSIBLE_COPIES: usize = 4;

/// Whether a payload length that `stored_len` bytes claim is plausible, so that room for all of it is made at once.
/// `base_len` is the length of the base, or 0 if there is none.
pub(crate) fn is_plausible_len(payload_len: usize, stored_len: usize, base_len: usize) -> bool {
    let expanded = stored_len.saturating_mul(PLAUSIBLE_EXPANSION);
    payload_len <= expanded.saturating_add(base_len.saturating_mul(PLAUSIBLE_COPIES)).max(PLAUSIBLE_LEN)
}

/// Room for a payload at the end of a buffer. It grows only while bytes arrive, and never beyond the limit.
///
/// [`finish`](Self::finish) truncates the buffer to the end of the payload. If decoding fails, the caller truncates it.
pub(crate) struct GrowingPayload<'a> {
    buffer: &'a mut Vec<u8>,
    start: usize,
    filled: usize,
    limit: usize,
    codec: &'static str,
}

impl<'a> GrowingPayload<'a> {
    /// Creates an empty payload of at most `limit` bytes with `room` as its initial room. Errors name `codec`.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub(crate) fn new(
        buffer: &'a mut Vec<u8>,
        room: usize,
        limit: usize,
        codec: &'static str,
    ) -> Result<Self, CodecError> {
        let start = buffer.len();
        let room = room.min(limit);
        reserve(buffer, room, codec)?;
        buffer.resize(start.saturating_add(room), 0);
        Ok(GrowingPayload { buffer, start, filled: start, limit, codec })
    }

    /// The room that is not yet filled.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        self.buffer.get_mut(self.filled..).unwrap_or_default()
    }

    /// Adds `produced` bytes at the start of the room to the payload.
    pub(crate) fn advance(&mut self, produced: usize) {
        self.filled += produced;
    }

    /// Whether no room is left.
    pub(crate) fn is_full(&self) -> bool {
        self.filled == self.buffer.len()
    }

    /// Doubles the room for the payload. Returns false if the room has reached the limit.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub(crate) fn grow(&mut self) -> Result<bool, CodecError> {
        let room = self.buffer.len() - self.start;
        let Some(doubled) = doubled_room(room, self.limit) else { return Ok(false) };
        self.buffer.truncate(self.filled);
        let more = self.start.saturating_add(doubled).saturating_sub(self.filled);
        let reserved = self.buffer.try_reserve_exact(more);
        reserved.map_err(|_| CodecError::NoMemory { codec: self.codec, wanted: doubled as u64 })?;
        self.buffer.resize(self.start.saturating_add(doubled), 0);
        Ok(true)
    }

    /// The error for a payload above the limit.
    pub(crate) fn too_long(&self) -> CodecError {
        too_long(self.codec, self.limit)
    }

    /// Truncates the buffer to the end of the payload and returns the payload's length.
    pub(crate) fn finish(self) -> usize {
        self.buffer.truncate(self.filled);
        self.filled - self.start
    }
}

/// The initial room for the payload of `stored_len` bytes: the limit if that is likely to be the payload's length,
/// otherwise an estimate.
pub(crate) fn first_room(stored_len: usize, limit: usize) -> usize {
    let guess = stored_len.saturating_mul(USUAL_EXPANSION).max(LEAST_ROOM);
    if limit / 2 <= guess { limit } else { guess }
}

/// Twice as much room as `room`, but at most `limit`; `None` if `room` has reached the limit.
pub(crate) fn doubled_room(room: usize, limit: usize) -> Option<usize> {
    (room < limit).then(|| room.saturating_mul(2).max(LEAST_ROOM).min(limit))
}

/// Reserves memory for `room` bytes at the end of `buffer`, and exactly that much if it is a lot: the room doubles
/// already, and a buffer that also doubled could take up to twice the limit.
///
/// # Errors
/// When there is not enough memory: a few damaged or hostile bytes can decode to gigabytes.
pub(crate) fn reserve(buffer: &mut Vec<u8>, room: usize, codec: &'static str) -> Result<(), CodecError> {
    let reserved = if room <= SMALL_ROOM { buffer.try_reserve(room) } else { buffer.try_reserve_exact(room) };
    reserved.map_err(|_| CodecError::NoMemory { codec, wanted: room as u64 })
}

/// The error for a payload of more than `limit` bytes.
pub(crate) fn too_long(codec: &'static str, limit: usize) -> CodecError {
    CodecError::PayloadLimit { codec, limit: limit as u64, found: FoundLength::More }
}

/// A payload at the end of a buffer whose claimed length is implausible. Room is made as its pieces arrive.
pub(crate) struct PushedPayload<'a> {
    buffer: &'a mut Vec<u8>,
    start: usize,
    claimed: usize,
}

impl<'a> PushedPayload<'a> {
    /// Creates an empty payload that claims `claimed` bytes.
    pub(crate) fn new(buffer: &'a mut Vec<u8>, claimed: usize) -> Self {
        PushedPayload { start: buffer.len(), buffer, claimed }
    }

    /// Appends the next piece.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub(crate) fn push(&mut self, piece: &[u8]) -> std::io::Result<()> {
        let PushedPayload { buffer, start, claimed } = self;
        if buffer.capacity() - buffer.len() < piece.len() {
            let filled = buffer.len() - *start;
            let room = doubled_room(filled.saturating_add(piece.len()), *claimed).unwrap_or(*claimed);
            buffer.try_reserve_exact(room.saturating_sub(filled))?;
        }
        buffer.extend_from_slice(piece);
        Ok(())
    }
}

/// Makes `length` bytes of room at the end of `buffer`.
///
/// # Errors
/// When there is not enough memory.
pub(crate) fn new_room<'a>(
    buffer: &'a mut Vec<u8>,
    length: usize,
    codec: &'static str,
) -> Result<&'a mut [u8], CodecError> {
    let start = buffer.len();
    reserve(buffer, length, codec)?;
    buffer.resize(start.saturating_add(length), 0);
    Ok(buffer.get_mut(start..).unwrap_or_default())
}
