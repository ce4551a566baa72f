//! Decoding a payload whose length nobody knows before it ends.

use crate::error::{CodecError, FoundLength};

/// How much longer than its stored bytes a payload is guessed to be: most deltas and texts are at most this much. All of the
/// room is filled with zeros, and growing copies, so neither much too much nor too little is good.
const USUAL_EXPANSION: usize = 4;

/// The least room to begin with, in bytes.
const LEAST_ROOM: usize = 128;

/// A buffer that lacks so much room, in bytes, may double: many payloads go into one.
const SMALL_ROOM: usize = 64 << 10;

/// A payload of at most this many bytes is plausible, whatever claims it.
const PLAUSIBLE_LEN: usize = 1 << 20;

/// How many times as long as its stored bytes a plausible payload may be,
const PLAUSIBLE_EXPANSION: usize = 255;

/// and how many times as long as its base on top of that, where it has one.
const PLAUSIBLE_COPIES: usize = 4;

/// Whether room is made at once for a payload that `stored_len` bytes with a base of `base_len` bytes claim; without a base, its length
/// is 0.
pub(crate) fn is_plausible_len(payload_len: usize, stored_len: usize, base_len: usize) -> bool {
    let expanded = stored_len.saturating_mul(PLAUSIBLE_EXPANSION);
    payload_len <= expanded.saturating_add(base_len.saturating_mul(PLAUSIBLE_COPIES)).max(PLAUSIBLE_LEN)
}

/// Room for a payload at the end of a buffer: it grows while bytes really arrive, and never beyond the limit.
///
/// Whoever gives up on a payload truncates the buffer; [`finish`](Self::finish) does so at the payload's end.
pub(crate) struct GrowingPayload<'a> {
    buffer: &'a mut Vec<u8>,
    start: usize,
    filled: usize,
    limit: usize,
    codec: &'static str,
}

impl<'a> GrowingPayload<'a> {
    /// An empty payload of at most `limit` bytes, with `room` to begin with. `codec` is for messages.
    ///
    /// # Errors
    /// When there is no memory for that.
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

    /// Counts `produced` bytes at the start of the room as payload.
    pub(crate) fn advance(&mut self, produced: usize) {
        self.filled += produced;
    }

    /// Whether no room is left.
    pub(crate) fn is_full(&self) -> bool {
        self.filled == self.buffer.len()
    }

    /// Doubles the room for the payload; false where it has reached the limit.
    ///
    /// # Errors
    /// When there is no memory for that.
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

    /// The error for a payload that goes on behind the limit.
    pub(crate) fn too_long(&self) -> CodecError {
        too_long(self.codec, self.limit)
    }

    /// Ends the buffer where the payload ends; returns the payload's length.
    pub(crate) fn finish(self) -> usize {
        self.buffer.truncate(self.filled);
        self.filled - self.start
    }
}

/// The room to begin with for the payload of `stored_len` bytes: the limit, where it is likely to be the length itself,
/// else a guess.
pub(crate) fn first_room(stored_len: usize, limit: usize) -> usize {
    let guess = stored_len.saturating_mul(USUAL_EXPANSION).max(LEAST_ROOM);
    if limit / 2 <= guess { limit } else { guess }
}

/// Twice as much room as `room`, and not more than `limit`; `None` where that is reached.
pub(crate) fn doubled_room(room: usize, limit: usize) -> Option<usize> {
    (room < limit).then(|| room.saturating_mul(2).max(LEAST_ROOM).min(limit))
}

/// Takes memory for `room` bytes behind the end of `buffer`, and, of a large one, for no more: rooms double already, and a buffer
/// that doubles on its own would take up to twice the limit.
///
/// # Errors
/// When there is none: a few damaged or hostile bytes can decode to gigabytes.
pub(crate) fn reserve(buffer: &mut Vec<u8>, room: usize, codec: &'static str) -> Result<(), CodecError> {
    let reserved = if room <= SMALL_ROOM { buffer.try_reserve(room) } else { buffer.try_reserve_exact(room) };
    reserved.map_err(|_| CodecError::NoMemory { codec, wanted: room as u64 })
}

/// The error for a payload that goes on behind `limit` bytes.
pub(crate) fn too_long(codec: &'static str, limit: usize) -> CodecError {
    CodecError::PayloadLimit { codec, limit: limit as u64, found: FoundLength::More }
}

/// A payload whose claimed length is not plausible, at the end of a buffer: room is made as its pieces arrive.
pub(crate) struct PushedPayload<'a> {
    buffer: &'a mut Vec<u8>,
    start: usize,
    claimed: usize,
}

impl<'a> PushedPayload<'a> {
    /// An empty payload, which is to have `claimed` bytes.
    pub(crate) fn new(buffer: &'a mut Vec<u8>, claimed: usize) -> Self {
        PushedPayload { start: buffer.len(), buffer, claimed }
    }

    /// Appends the next piece.
    ///
    /// # Errors
    /// When there is no memory for it.
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
/// When there is no memory for that.
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
