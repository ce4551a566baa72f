//! Puts bases before their deltas.

use super::positions::PositionSet;

/// Sorts positions so that bases come before their deltas. Each position of `wanted` is kept once, at its first place.
/// But the bases of a delta come right before it, unless they come earlier anyway. `bases` has the base of each
/// position; a whole entry is its own base, and there are no cycles. A delta that `may_precede` its base does not pull
/// it forward.
pub(super) fn bases_first(
    wanted: impl IntoIterator<Item = u32>,
    bases: &[u32],
    may_precede: impl Fn(u32) -> bool,
) -> Vec<u32> {
    let mut order = Vec::with_capacity(bases.len());
    let mut placed = PositionSet::new(bases.len());
    let mut chain = Vec::new();
    for wanted in wanted {
        let mut at = wanted;
        while placed.insert(at) {
            chain.push(at);
            match bases.get(at as usize) {
                Some(base) if *base != at && !may_precede(at) => at = *base,
                _ => break,
            }
        }
        order.extend(chain.drain(..).rev());
    }
    order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn base_is_pulled_forward_once() {
        // 0 is a delta on 2, 2 on 4; 3 on 4.
        let bases = [2, 1, 4, 4, 4];
        assert_eq!(bases_first(0..5, &bases, |_| false), [4, 2, 0, 1, 3]);
        assert_eq!(bases_first([3, 1, 0, 2, 4], &bases, |_| false), [4, 3, 1, 2, 0]);
        assert_eq!(bases_first([0, 0, 1], &bases, |_| false), [4, 2, 0, 1]);
    }

    #[test]
    fn deltas_that_may_precede_their_bases_keep_their_place() {
        let bases = [2, 1, 4, 4, 4];
        assert_eq!(bases_first(0..5, &bases, |_| true), [0, 1, 2, 3, 4]);
        assert_eq!(bases_first(0..5, &bases, |position| position != 2), [0, 1, 4, 2, 3]);
    }

    /// A forest of `len` positions, and an order of them.
    fn forests() -> impl Strategy<Value = (Vec<u32>, Vec<u32>, Vec<bool>)> {
        let position = any::<prop::sample::Index>();
        let entries = prop::collection::vec((position, any::<bool>(), any::<bool>()), 1..60);
        entries.prop_flat_map(|entries| {
            let len = entries.len();
            // Bases can be anywhere in the pack, like those that are named by id. In terms of a second numbering they
            // come earlier.
            let numbering = Just((0..len as u32).collect::<Vec<u32>>()).prop_shuffle();
            let wanted = Just((0..len as u32).collect::<Vec<u32>>()).prop_shuffle();
            let may_precede = entries.iter().map(|(_, _, may_precede)| *may_precede).collect::<Vec<bool>>();
            (numbering, wanted).prop_map(move |(numbering, wanted)| {
                let mut bases = vec![0; len];
                for (at, (base, is_delta, _)) in entries.iter().enumerate() {
                    let base = if *is_delta && at > 0 { base.index(at) } else { at };
                    bases[numbering[at] as usize] = numbering[base];
                }
                (bases, wanted, may_precede.clone())
            })
        })
    }

    proptest! {
        #[test]
        fn every_position_comes_once_and_after_its_base((bases, wanted, may_precede) in forests()) {
            let order = bases_first(wanted.iter().copied(), &bases, |position| may_precede[position as usize]);
            let mut places = vec![usize::MAX; bases.len()];
            for (place, position) in order.iter().enumerate() {
                prop_assert_eq!(places[*position as usize], usize::MAX, "{} stands twice", position);
                places[*position as usize] = place;
            }
            prop_assert_eq!(order.len(), bases.len());
            for (position, base) in bases.iter().enumerate() {
                let is_behind = places[*base as usize] <= places[position];
                prop_assert!(is_behind || may_precede[position], "{} stands before its base {}", position, base);
            }
            // Nothing comes later than necessary: before each position come only those wanted before it, and their
            // bases and its own.
            if let Some(first) = wanted.first() {
                let place = places[*first as usize];
                let mut at = *first as usize;
                for _ in 0..place {
                    at = bases[at] as usize;
                }
                prop_assert_eq!(places[at], 0, "only its bases stand before the first");
            }
        }
    }
}
