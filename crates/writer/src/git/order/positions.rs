//! Sets of positions in a pack, one bit each.

/// A set of positions.
#[derive(Debug, Clone)]
pub(super) struct PositionSet(Vec<u64>);

impl PositionSet {
    /// An empty set of positions below `len`.
    pub(super) fn new(len: usize) -> Self {
        PositionSet(vec![0; len.div_ceil(64)])
    }

    /// The set of `positions`, all below `len`.
    pub(super) fn of<'a>(len: usize, positions: impl IntoIterator<Item = &'a u32>) -> Self {
        let mut set = PositionSet::new(len);
        for position in positions {
            set.insert(*position);
        }
        set
    }

    /// Adds `position`. Returns whether it was not in the set before.
    pub(super) fn insert(&mut self, position: u32) -> bool {
        let Some(word) = self.0.get_mut(position as usize / 64) else { return false };
        let bit = 1 << (position % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    pub(super) fn contains(&self, position: u32) -> bool {
        self.0.get(position as usize / 64).is_some_and(|word| word & (1 << (position % 64)) != 0)
    }
}
