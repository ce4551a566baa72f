//! Decoding a payload whose length nobody knows before it ends.

use crate::error::{CodecError, FoundLength};

/// How much longer than its stored bytes a payload is guessed to be: most deltas and texts are at most this much.
const USUAL_EXPANSION: usize = 4;

/// The least room to begin with, in bytes.
const LEAST_ROOM: usize = 128;

/// Room for a payload at the end of a buffer: it grows while bytes really arrive, and never beyond the limit.
///
/// Whoever gives up on a payload truncates the buffer; [`finish`](Self::finish) does so at the payload's end.
pub(crate) struct GrowingPayload<'a> {
    buffer: &'a mut Vec<u8>,
    start: usize,
    filled: usize,
    limit: usize,
}

impl<'a> GrowingPayload<'a> {
    /// An empty payload of at most `limit` bytes, with `room` to begin with.
    pub(crate) fn new(buffer: &'a mut Vec<u8>, room: usize, limit: usize) -> Self {
        let start = buffer.len();
        buffer.resize(start.saturating_add(room.min(limit)), 0);
        GrowingPayload { buffer, start, filled: start, limit }
    }

    /// The room that is not yet filled.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        self.buffer.get_mut(self.filled..).unwrap_or_default()
    }

    /// All the room there is: what is in it is forgotten.
    pub(crate) fn whole_room(&mut self) -> &mut [u8] {
        self.filled = self.start;
        self.room()
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
    pub(crate) fn grow(&mut self) -> bool {
        let room = self.buffer.len() - self.start;
        if room >= self.limit {
            return false;
        }
        let doubled = room.saturating_mul(2).max(LEAST_ROOM).min(self.limit);
        // The room doubles already: a buffer that doubles on its own would take up to twice the limit.
        self.buffer.reserve_exact(doubled - room);
        self.buffer.resize(self.start.saturating_add(doubled), 0);
        true
    }

    /// The error for a payload that goes on behind the limit.
    pub(crate) fn too_long(&self, codec: &'static str) -> CodecError {
        CodecError::PayloadLimit { codec, limit: self.limit as u64, found: FoundLength::More }
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

/// A codec whose chunks find their own end, also when the payload's length is not known.
pub(crate) trait OpenEnded: Send {
    /// Decodes the chunk that is all of `stored` and appends its payload to `payload`; returns the payload's length.
    ///
    /// # Errors
    /// When the chunk is damaged, does not end with `stored`, or its payload is longer than `limit`. What was appended
    /// is then unspecified.
    fn decode_to_end(&mut self, stored: &[u8], limit: usize, payload: &mut Vec<u8>) -> Result<usize, CodecError>;
}
