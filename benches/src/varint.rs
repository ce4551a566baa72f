//! Numbers of seven bits a byte, the lowest first, with the high bit set in all bytes but the last.

/// Appends `value` to `bytes`.
pub fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Appends `value`, which may be negative, to `bytes`.
pub fn put_signed(bytes: &mut Vec<u8>, value: i64) {
    put(bytes, zigzag(value));
}

/// The number that stands for `value`: those near zero stay small, on both sides.
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The value that [`zigzag`] made `value` of.
pub fn signed(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Reads numbers from their bytes.
#[derive(Debug)]
pub struct VarintReader<'a>(pub &'a [u8]);

impl VarintReader<'_> {
    /// The next number, or what there is of it at the end of the bytes. Bits above 64 are lost.
    pub fn take(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        while let Some((byte, rest)) = self.0.split_first() {
            self.0 = rest;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                break;
            }
            shift += 7;
        }
        value
    }

    /// The next number, which may be negative.
    pub fn take_signed(&mut self) -> i64 {
        signed(self.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip() {
        let values = [0, 1, -1, 63, -64, 64, 1 << 20, i64::MIN, i64::MAX];
        let mut bytes = Vec::new();
        values.iter().for_each(|value| put_signed(&mut bytes, *value));
        let mut reader = VarintReader(&bytes);
        assert!(values.iter().all(|value| reader.take_signed() == *value) && reader.0.is_empty());
    }
}
