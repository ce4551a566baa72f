//! How the encoders number the positions of a payload, and compare its bytes.

/// Numbers positions consecutively from payload to payload, so that tables need not be cleared: numbers from an earlier
/// payload are smaller than that of the first position of this one.
pub(super) struct Positions {
    /// The number of the first byte of this payload. No position has the number 0.
    first: u32,
    /// The number after that of the last byte of this payload.
    end: u32,
}

impl Positions {
    pub(super) fn new() -> Self {
        Positions { first: 1, end: 1 }
    }

    /// Moves on to `end`, as if payloads of that many bytes had been numbered.
    #[cfg(test)]
    pub(super) fn skip_to(&mut self, end: u32) {
        assert!(self.end <= end);
        self.end = end;
    }

    /// Starts a payload. Returns false if the numbers start from 1 again: the caller must then fill its tables with
    /// zeros.
    ///
    /// Returns `None` if the payload is too long to be numbered.
    pub(super) fn begin(&mut self, payload_len: usize) -> Option<bool> {
        let length = u32::try_from(payload_len).ok()?;
        if let Some(end) = self.end.checked_add(length) {
            (self.first, self.end) = (self.end, end);
            return Some(true);
        }
        (self.first, self.end) = (1, length.checked_add(1)?);
        Some(false)
    }

    /// The number of a position within the payload.
    #[inline]
    pub(super) fn number(&self, position: usize) -> u32 {
        #[allow(clippy::cast_possible_truncation, reason = "`begin` saw that every position has a number of 32 bits")]
        self.first.wrapping_add(position as u32)
    }

    /// The position with this number, or one far after the payload if the number is from an earlier payload.
    #[inline]
    pub(super) fn position(&self, number: u32) -> usize {
        if number < self.first { usize::MAX } else { (number - self.first) as usize }
    }
}

/// The four bytes at `position`, if the payload is long enough.
#[inline]
pub(super) fn word(payload: &[u8], position: usize) -> Option<u32> {
    payload.get(position..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// The number of equal bytes from `position` and from `earlier` on.
#[inline]
pub(super) fn common_len(payload: &[u8], earlier: usize, position: usize) -> usize {
    const STEP: usize = size_of::<u64>();
    let ahead = payload.get(position..).unwrap_or_default();
    let behind = payload.get(earlier..).unwrap_or_default();
    let mut length = 0;
    for (one, other) in ahead.chunks_exact(STEP).zip(behind.chunks_exact(STEP)) {
        let read = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let difference = read(one) ^ read(other);
        if difference != 0 {
            return length + (difference.trailing_zeros() / u8::BITS) as usize;
        }
        length += STEP;
    }
    let rest = ahead.iter().skip(length).zip(behind.iter().skip(length));
    length + rest.take_while(|(one, other)| one == other).count()
}
