//! Random numbers from a seed, the same on every machine.

/// SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Debug)]
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Draw(seed)
    }

    /// The numbers of one of many jobs, the same whichever jobs run before it.
    pub(crate) fn of_job(seed: u64, number: u64) -> Self {
        Draw(Draw(seed).next() ^ Draw(number).next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Any byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    /// A number below `end`, or 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
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

    #[test]
    fn jobs_have_numbers_of_their_own() {
        let first = |seed, number| Draw::of_job(seed, number).next();
        assert_eq!(first(1, 2), first(1, 2));
        assert_ne!(first(1, 2), first(1, 3));
        assert_ne!(first(1, 2), first(2, 2));
    }
}
