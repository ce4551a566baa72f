//! Which repositories belong to a shard or a sample. The name decides, by its hash: adding a repository moves no other
//! one.

use std::str::FromStr;

use sha2::{Digest, Sha256};

/// A part of a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    /// Counted from 1.
    pub(crate) number: u32,
    pub(crate) count: u32,
}

impl Shard {
    /// The whole fleet.
    #[cfg(test)]
    pub(crate) const ALL: Shard = Shard { number: 1, count: 1 };

    /// Whether the repository of this name belongs to it: the hash of the name modulo the number of shards.
    pub(crate) fn has(self, name: &str) -> bool {
        hash(&[name.as_bytes()]) % u64::from(self.count) == u64::from(self.number - 1)
    }
}

impl FromStr for Shard {
    type Err = &'static str;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected I/N with I from 1 to N, such as 2/8";
        let (number, count) = typed.split_once('/').ok_or(EXPECTED)?;
        let [number, count] = [number, count].map(|part| part.parse::<u32>().unwrap_or(0));
        if (1..=count).contains(&number) { Ok(Shard { number, count }) } else { Err(EXPECTED) }
    }
}

/// Whether the repository of this name belongs to the sample of this share that is drawn by `seed`.
pub(crate) fn is_in_sample(name: &str, seed: u64, share: f64) -> bool {
    hash(&[&seed.to_le_bytes(), name.as_bytes()]) as f64 / (u64::MAX as f64) < share
}

/// The first eight bytes of SHA-256.
fn hash(parts: &[&[u8]]) -> u64 {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> impl Iterator<Item = String> {
        (0..1000).map(|at| format!("forge/{at}.git"))
    }

    #[test]
    fn every_name_is_in_one_shard() {
        let sizes: Vec<usize> =
            (1..=7).map(|number| names().filter(|name| Shard { number, count: 7 }.has(name)).count()).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 1000);
        assert!(sizes.iter().all(|size| (100..190).contains(size)), "{sizes:?}");
        assert!(names().all(|name| Shard::ALL.has(&name)));
        // The same on every machine and in every version: the first bytes of SHA-256 of "a" are ca978112.
        assert_eq!(hash(&[b"a"]), 0xca97_8112_ca1b_bdca);
    }

    #[test]
    fn samples_have_their_share_and_depend_on_the_seed() {
        let drawn = |seed| names().filter(|name| is_in_sample(name, seed, 0.1)).collect::<Vec<_>>();
        assert!((70..130).contains(&drawn(1).len()), "{}", drawn(1).len());
        assert_ne!(drawn(1), drawn(2));
        assert!(names().all(|name| is_in_sample(&name, 1, 1.1) && !is_in_sample(&name, 1, 0.0)));
    }

    #[test]
    fn shards_are_counted_from_one() {
        assert_eq!("2/8".parse(), Ok(Shard { number: 2, count: 8 }));
        for typed in ["", "1", "0/8", "9/8", "1/0", "-1/2", "a/b", "1/2/3"] {
            assert!(typed.parse::<Shard>().is_err(), "{typed}");
        }
    }
}
