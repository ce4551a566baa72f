//! The kinds of damage, each drawn from a seed.

use std::fmt;

use crate::draw::Draw;

/// The most bytes that are inserted, swapped or zeroed.
const LONGEST: usize = 64;
/// The first and last bytes of a file, which hold headers and trailers, and are damaged more often than others.
const EDGE: usize = 64;

/// A kind of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MutationKind {
    /// One bit changes.
    Flip,
    /// The file ends early.
    Truncate,
    /// Random bytes come in between.
    Insert,
    /// Two places of the file change their bytes.
    Swap,
    /// Some bytes become 0.
    Zero,
}

impl MutationKind {
    pub(super) const ALL: [Self; 5] = [Self::Flip, Self::Truncate, Self::Insert, Self::Swap, Self::Zero];
}

impl fmt::Display for MutationKind {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.pad(match self {
            Self::Flip => "flip",
            Self::Truncate => "truncate",
            Self::Insert => "insert",
            Self::Swap => "swap",
            Self::Zero => "zero",
        })
    }
}

/// A damaged file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mutated {
    pub(super) kind: MutationKind,
    /// Where the damage begins.
    pub(super) offset: usize,
    pub(super) content: Vec<u8>,
}

/// Damages `content`. A kind that would change nothing there, such as zeroing zeros, gives way to another.
pub(super) fn mutate(content: &[u8], draw: &mut Draw) -> Mutated {
    for _ in 0..8 {
        let kind = MutationKind::ALL[draw.below(MutationKind::ALL.len())];
        let offset = place(content.len(), draw);
        let mutated = apply(kind, content, offset, draw);
        if mutated != content {
            return Mutated { kind, offset, content: mutated };
        }
    }
    let mut longer = content.to_vec();
    longer.push(1);
    Mutated { kind: MutationKind::Insert, offset: content.len(), content: longer }
}

/// A place in a file of this length: a third each near its start, near its end, and anywhere.
fn place(len: usize, draw: &mut Draw) -> usize {
    let edge = EDGE.min(len);
    match draw.below(3) {
        0 => draw.below(edge),
        1 => len.saturating_sub(1 + draw.below(edge)),
        _ => draw.below(len),
    }
}

fn apply(kind: MutationKind, content: &[u8], offset: usize, draw: &mut Draw) -> Vec<u8> {
    let mut mutated = content.to_vec();
    let len = 1 + draw.below(LONGEST);
    match kind {
        MutationKind::Flip => {
            if let Some(byte) = mutated.get_mut(offset) {
                *byte ^= 1 << draw.below(8);
            }
        }
        MutationKind::Truncate => mutated.truncate(offset),
        MutationKind::Insert => {
            let bytes: Vec<u8> = (0..len).map(|_| draw.byte()).collect();
            mutated.splice(offset..offset, bytes);
        }
        MutationKind::Swap => {
            let other = place(content.len(), draw);
            for nth in 0..len {
                if offset.max(other) + nth < mutated.len() {
                    mutated.swap(offset + nth, other + nth);
                }
            }
        }
        MutationKind::Zero => mutated.iter_mut().skip(offset).take(len).for_each(|byte| *byte = 0),
    }
    mutated
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(seed: u64) -> Mutated {
        mutate(&(0..=255).collect::<Vec<u8>>(), &mut Draw::new(seed))
    }

    #[test]
    fn a_seed_gives_the_same_damage_every_time() {
        for seed in 0..100 {
            assert_eq!(of(seed), of(seed));
        }
        assert!((1..100).any(|seed| of(seed) != of(0)));
    }

    #[test]
    fn every_kind_does_what_it_says() {
        let content: Vec<u8> = (0..=255).collect();
        let mut seen = std::collections::BTreeSet::new();
        for Mutated { kind, offset, content: mutated } in (0..1000).map(of) {
            let sorted = |bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                bytes.sort_unstable();
                bytes
            };
            let changed = || content.iter().zip(&mutated).filter(|(old, new)| old != new);
            let is_right = match kind {
                MutationKind::Flip => changed().map(|(old, new)| (old ^ new).count_ones()).sum::<u32>() == 1,
                MutationKind::Truncate => content[..offset] == *mutated,
                MutationKind::Insert => mutated.len() > 256 && mutated.ends_with(&content[offset..]),
                MutationKind::Swap => sorted(&content) == sorted(&mutated),
                MutationKind::Zero => changed().all(|(_, new)| *new == 0),
            };
            assert!(is_right && mutated != content, "{kind}");
            seen.insert(kind);
        }
        assert_eq!(seen.len(), MutationKind::ALL.len());
    }

    #[test]
    fn damage_changes_every_file() {
        for content in [&b""[..], b"\0", b"\0\0\0\0", b"a\n"] {
            assert!((0..200).all(|seed| mutate(content, &mut Draw::new(seed)).content != content), "{content:?}");
        }
    }
}
