//! Writes literals and matches as the bytes of a stream.

use std::ops::Range;

use super::{
    AFTER_LITERALS_DISTANCE, END, FIRST_LITERALS, MAX_FAR_LEN, MAX_MIDDLE_LEN, MAX_NEAR_LEN, MAX_RUN, MIDDLE_DISTANCE,
    NEAR_DISTANCE,
};

/// The stream does not fit into the room for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

/// The maximum number of literals that the first byte of a stream can announce.
const MAX_FIRST_RUN: usize = 238;

/// A run of up to this many literals is copied as this many bytes, if the payload has them and the room suffices.
const WIDE: usize = 16;

/// The distance and the length of a match, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) distance: usize,
    pub(super) length: usize,
}

impl Match {
    /// The number of bytes that the match takes in the stream after `literals` literals.
    pub(super) fn cost(self, literals: usize) -> usize {
        let Match { distance, length } = self;
        let longest = match distance {
            ..=NEAR_DISTANCE if length <= MAX_NEAR_LEN => return 2,
            ..=AFTER_LITERALS_DISTANCE if length == 3 && literals >= 4 => return 2,
            ..=MIDDLE_DISTANCE => MAX_MIDDLE_LEN,
            _ => MAX_FAR_LEN,
        };
        3 + length.saturating_sub(longest).div_ceil(255)
    }
}

/// Writes the stream of one payload.
pub(super) struct Writer<'a> {
    payload: &'a [u8],
    room: &'a mut [u8],
    /// The length of the stream, whether it fits into the room or not.
    length: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(payload: &'a [u8], room: &'a mut [u8]) -> Self {
        Writer { payload, room, length: 0 }
    }

    /// Writes the payload's bytes within `literals`, then the match `found`, which is at least 3 bytes long.
    #[inline]
    pub(super) fn sequence(&mut self, literals: Range<usize>, found: Match) {
        let count = literals.len();
        self.literals(literals);
        let Match { distance, length } = found;
        if length <= MAX_NEAR_LEN && distance <= NEAR_DISTANCE {
            let code = distance - 1;
            self.put2((length - 1) << 5 | (code & 7) << 2, code >> 3);
        } else if length == 3 && count >= 4 && distance <= AFTER_LITERALS_DISTANCE {
            let code = distance - NEAR_DISTANCE - 1;
            self.put2((code & 3) << 2, code >> 2);
        } else if distance <= MIDDLE_DISTANCE {
            self.length_code(0x20, length, MAX_MIDDLE_LEN);
            let code = (distance - 1) << 2;
            self.put2(code, code >> 8);
        } else {
            let code = distance - MIDDLE_DISTANCE;
            self.length_code(0x10 | code >> 11 & 8, length, MAX_FAR_LEN);
            self.put2(code << 2, code >> 6 & 0xff);
        }
    }

    /// Writes the payload's bytes from `written` on and the end marker, and returns the length of the stream.
    ///
    /// # Errors
    /// When the stream did not fit.
    pub(super) fn finish(mut self, written: usize) -> Result<usize, NoRoom> {
        self.literals(written..self.payload.len());
        for byte in END {
            self.put(byte);
        }
        if self.length <= self.room.len() { Ok(self.length) } else { Err(NoRoom) }
    }

    #[inline]
    fn literals(&mut self, literals: Range<usize>) {
        let count = literals.len();
        match count {
            0 => return,
            ..=MAX_FIRST_RUN if self.length == 0 => self.put_low(FIRST_LITERALS + count),
            // The two lowest bits of the second byte from the end belong to the match before.
            ..=3 if self.length > 0 => {
                if let Some(byte) = self.room.get_mut(self.length - 2) {
                    *byte |= low(count);
                }
            }
            4..=MAX_RUN => self.put_low(count - 3),
            _ => {
                self.put(0);
                self.extension(count - MAX_RUN);
            }
        }
        let room = self.room.get_mut(self.length..).unwrap_or_default();
        let from = self.payload.get(literals.start..).unwrap_or_default();
        match (from.first_chunk::<WIDE>(), room.first_chunk_mut::<WIDE>()) {
            (Some(from), Some(to)) if count <= WIDE => *to = *from,
            _ => {
                if let (Some(from), Some(to)) = (from.get(..count), room.get_mut(..count)) {
                    to.copy_from_slice(from);
                }
            }
        }
        self.length += count;
    }

    fn length_code(&mut self, code: usize, length: usize, longest: usize) {
        if length <= longest {
            self.put_low(code | (length - 2));
        } else {
            self.put_low(code);
            self.extension(length - longest);
        }
    }

    fn extension(&mut self, mut rest: usize) {
        while rest > 255 {
            self.put(0);
            rest -= 255;
        }
        self.put_low(rest);
    }

    fn put(&mut self, byte: u8) {
        if let Some(room) = self.room.get_mut(self.length) {
            *room = byte;
        }
        self.length += 1;
    }

    fn put_low(&mut self, number: usize) {
        self.put(low(number));
    }

    fn put2(&mut self, first: usize, second: usize) {
        self.put_low(first);
        self.put_low(second);
    }
}

/// The low eight bits.
fn low(number: usize) -> u8 {
    number.to_le_bytes()[0]
}
