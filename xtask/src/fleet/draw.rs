//! Random numbers from a seed, the same on every machine.

/// SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Debug)]
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Draw(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, or 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let end = end.max(1) as u64;
        // The rest is below `end`, which was a `usize`.
        usize::try_from(self.next() % end).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_published_sequence() {
        let mut draw = Draw::new(1_234_567);
        assert_eq!((draw.next(), draw.next()), (6_457_827_717_110_365_317, 3_203_168_211_198_807_973));
        assert!((0..100).all(|_| draw.below(7) < 7));
        assert_eq!(draw.below(0), 0);
    }
}
