//! The decoder. Every read and write is checked against the bounds of its buffer.

use super::{END, FIRST_LITERALS, MAX_FAR_LEN, MAX_MIDDLE_LEN, MAX_RUN, MIDDLE_DISTANCE, NEAR_DISTANCE};

/// What is wrong with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The stream ends before its end marker.
    Truncated,
    /// A match starts before the payload does.
    Distance,
    /// Unknown instruction.
    Instruction,
    /// Bytes follow the end marker.
    Trailing,
    /// The payload does not fit into the room for it.
    TooLong,
    /// The payload has only this many bytes.
    TooShort(usize),
}

/// Literals and short matches are copied this many bytes at a time if there is room, whatever their length.
const WIDE: usize = 16;

/// Decodes the stream that is all of `stored` into all of `payload`.
///
/// # Errors
/// When the stream is damaged or its payload has another length. The content of `payload` is then unspecified.
pub(crate) fn decompress(stored: &[u8], payload: &mut [u8]) -> Result<(), Fault> {
    let mut stream = Stream { stored, taken: 0, payload, filled: 0 };
    stream.run()?;
    if stream.taken < stream.stored.len() {
        return Err(Fault::Trailing);
    }
    if stream.filled < stream.payload.len() {
        return Err(Fault::TooShort(stream.filled));
    }
    Ok(())
}

struct Stream<'a> {
    stored: &'a [u8],
    taken: usize,
    payload: &'a mut [u8],
    filled: usize,
}

impl Stream<'_> {
    fn run(&mut self) -> Result<(), Fault> {
        // The number of literals before the next instruction; 4 means 4 or more.
        let mut literals = 0;
        match self.stored.first() {
            Some(first) if usize::from(*first) > FIRST_LITERALS => {
                self.taken = 1;
                let count = usize::from(*first) - FIRST_LITERALS;
                self.copy_literals(count)?;
                literals = count.min(4);
            }
            _ => {}
        }
        loop {
            let code = usize::from(self.byte()?);
            let following = match code {
                0x40.. => {
                    let distance = (usize::from(self.byte()?) << 3) + (code >> 2 & 7) + 1;
                    self.copy_match(distance, (code >> 5) + 1)?;
                    code & 3
                }
                0x20.. => {
                    let length = self.length(code & 0x1f, MAX_MIDDLE_LEN)?;
                    let pair = self.pair()?;
                    self.copy_match((pair >> 2) + 1, length)?;
                    pair & 3
                }
                0x10.. => {
                    let length = self.length(code & 7, MAX_FAR_LEN)?;
                    let pair = self.pair()?;
                    let distance = ((code & 8) << 11) + (pair >> 2);
                    if distance == 0 {
                        return if (code, pair) == (usize::from(END[0]), 0) { Ok(()) } else { Err(Fault::Instruction) };
                    }
                    self.copy_match(MIDDLE_DISTANCE + distance, length)?;
                    pair & 3
                }
                _ if literals == 0 => {
                    let count = self.length(code, MAX_RUN)?;
                    self.copy_literals(count + usize::from(code > 0))?;
                    literals = 4;
                    continue;
                }
                _ => {
                    let (nearest, length) = if literals == 4 { (NEAR_DISTANCE + 1, 3) } else { (1, 2) };
                    let distance = (usize::from(self.byte()?) << 2) + (code >> 2) + nearest;
                    self.copy_match(distance, length)?;
                    code & 3
                }
            };
            self.copy_literals(following)?;
            literals = following;
        }
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        let byte = *self.stored.get(self.taken).ok_or(Fault::Truncated)?;
        self.taken += 1;
        Ok(byte)
    }

    fn pair(&mut self) -> Result<usize, Fault> {
        let pair = self.stored.get(self.taken..).and_then(<[u8]>::first_chunk).ok_or(Fault::Truncated)?;
        self.taken += pair.len();
        Ok(usize::from(u16::from_le_bytes(*pair)))
    }

    /// A length: `bits` plus two, or `longest` plus the extension if `bits` is zero.
    fn length(&mut self, bits: usize, longest: usize) -> Result<usize, Fault> {
        if bits > 0 {
            return Ok(bits + 2);
        }
        let mut length = longest;
        loop {
            match self.byte()? {
                // At most once per stored byte, so it cannot overflow.
                0 => length = length.saturating_add(255),
                last => return Ok(length.saturating_add(usize::from(last))),
            }
        }
    }

    #[inline]
    fn copy_literals(&mut self, count: usize) -> Result<(), Fault> {
        let from = self.stored.get(self.taken..).unwrap_or_default();
        let to = self.payload.get_mut(self.filled..).unwrap_or_default();
        match (from.first_chunk::<WIDE>(), to.first_chunk_mut::<WIDE>()) {
            (Some(from), Some(to)) if count <= WIDE => *to = *from,
            _ => {
                let from = from.get(..count).ok_or(Fault::Truncated)?;
                to.get_mut(..count).ok_or(Fault::TooLong)?.copy_from_slice(from);
            }
        }
        self.taken += count;
        self.filled += count;
        Ok(())
    }

    #[inline]
    fn copy_match(&mut self, distance: usize, length: usize) -> Result<(), Fault> {
        let start = self.filled.checked_sub(distance).ok_or(Fault::Distance)?;
        let end = self.filled.saturating_add(length);
        if end > self.payload.len() {
            return Err(Fault::TooLong);
        }
        if distance >= WIDE && length <= 2 * WIDE && end + WIDE <= self.payload.len() {
            self.copy_wide(start, end);
        } else {
            self.copy_repeated(start, end);
        }
        self.filled = end;
        Ok(())
    }

    /// Copies in steps of a fixed width. The last step may write beyond `end`.
    #[inline]
    fn copy_wide(&mut self, start: usize, end: usize) {
        let (mut from, mut to) = (start, self.filled);
        while to < end {
            let Some(piece) = self.payload.get(from..).and_then(<[u8]>::first_chunk::<WIDE>).copied() else { return };
            let Some(room) = self.payload.get_mut(to..).and_then(<[u8]>::first_chunk_mut) else { return };
            *room = piece;
            from += WIDE;
            to += WIDE;
        }
    }

    /// Copies the bytes from `start` on repeatedly, because a match may overlap its own copy.
    fn copy_repeated(&mut self, start: usize, end: usize) {
        let mut to = self.filled;
        if let (Some(byte), true) = (self.payload.get(start).copied(), to - start == 1) {
            self.payload.get_mut(to..end).unwrap_or_default().fill(byte);
            return;
        }
        while to < end {
            let length = (to - start).min(end - to);
            self.payload.copy_within(start..start + length, to);
            to += length;
        }
    }
}
