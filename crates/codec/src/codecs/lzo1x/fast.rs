//! The encoder of levels 1 to 6: one lookup in one table per position, as in LZO1X-1.

use super::MAX_DISTANCE;
use super::positions::{Positions, common_len, word};
use super::writer::{Match, NoRoom, Writer};

/// The length of the shortest match, in bytes. That many bytes are hashed.
const LEAST: usize = 4;

/// Encodes with a table of the last position of each hash. The table is kept from payload to payload.
pub(crate) struct FastEncoder {
    table: Vec<u32>,
    /// 32 minus the number of bits of a hash.
    hash_shift: u32,
    /// After each 2^`skip_shift` bytes without a match, every step skips one more position.
    skip_shift: u32,
    pub(super) positions: Positions,
}

impl FastEncoder {
    /// Creates an encoder with a table of 2^`table_bits` entries; `table_bits` is at most 16.
    pub(crate) fn new(table_bits: u32, skip_shift: u32) -> Self {
        let table = vec![0; 1 << table_bits];
        FastEncoder { table, hash_shift: u32::BITS - table_bits, skip_shift, positions: Positions::new() }
    }

    /// Writes the stream of `payload` to the start of `room` and returns the stream's length.
    ///
    /// # Errors
    /// When the stream does not fit.
    pub(crate) fn compress(&mut self, payload: &[u8], room: &mut [u8]) -> Result<usize, NoRoom> {
        if !self.positions.begin(payload.len()).ok_or(NoRoom)? {
            self.table.fill(0);
        }
        let mut writer = Writer::new(payload, room);
        let mut written = 0;
        let mut position = 0;
        while let Some(bytes) = word(payload, position) {
            let earlier = self.replace(bytes, position);
            if earlier >= position || position - earlier > MAX_DISTANCE || word(payload, earlier) != Some(bytes) {
                position += 1 + ((position - written) >> self.skip_shift);
                continue;
            }
            let back = common_end(
                payload.get(written..position).unwrap_or_default(),
                payload.get(..earlier).unwrap_or_default(),
            );
            let length = back + LEAST + common_len(payload, earlier + LEAST, position + LEAST);
            writer.sequence(written..position - back, Match { distance: position - earlier, length });
            position += length - back;
            written = position;
            if let Some(bytes) = word(payload, position - 2) {
                self.replace(bytes, position - 2);
            }
        }
        writer.finish(written)
    }

    /// Enters `position`, where `bytes` are, into the table and returns the position that it replaces.
    #[inline]
    fn replace(&mut self, bytes: u32, position: usize) -> usize {
        // Knuth's multiplicative hash: the golden ratio in 32 bits.
        let hash = bytes.wrapping_mul(0x9e37_79b1) >> self.hash_shift;
        let number = self.positions.number(position);
        match self.table.get_mut(hash as usize) {
            Some(entry) => self.positions.position(std::mem::replace(entry, number)),
            None => usize::MAX,
        }
    }
}

/// The length of the common suffix.
#[inline]
fn common_end(one: &[u8], other: &[u8]) -> usize {
    one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count()
}
