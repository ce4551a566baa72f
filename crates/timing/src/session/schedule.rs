//! The order of runs: random blocks.
//!
//! Running one variant after another turns every drift of the machine into a difference between variants. Here each
//! block runs every variant once, in an order drawn again for each block, so that drift slower than a block hits all
//! variants alike and statistics can compare within blocks. The baseline runs twice in each block (A and A'), and both
//! runs are shuffled together with the others: only chance tells A from A', so their distance is pure noise.

use std::collections::BTreeSet;

use rand::{SeedableRng, rngs::SmallRng, seq::SliceRandom};

/// The number of the variant that is the baseline.
pub const BASELINE: usize = 0;

/// The run of one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// A variant, by its number; [`BASELINE`] is the baseline's first run (A).
    Variant(usize),
    /// The baseline's second run (A').
    BaselineAgain,
}

impl Slot {
    /// The number of the variant that runs: A' is the baseline.
    pub fn variant(self) -> usize {
        match self {
            Slot::Variant(number) => number,
            Slot::BaselineAgain => BASELINE,
        }
    }
}

/// One run in the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The block's number, counted from 0.
    pub block: u32,
    /// The position inside the block, counted from 0.
    pub position: u32,
    /// What runs.
    pub slot: Slot,
}

/// When there are enough runs of a workload: a number of blocks, and a precision of its ratios. The values of the
/// ratios play no part: stopping when a difference looks clear would produce false differences.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopRule {
    /// The smallest number of blocks.
    pub min_blocks: u32,
    /// The largest number of blocks, whatever the precision.
    pub max_blocks: u32,
    /// Half of the widest interval, as a logarithm, that is precise enough.
    pub precision: f64,
}

impl StopRule {
    /// Exactly `blocks` blocks, whatever the precision.
    pub fn exactly(blocks: u32) -> Self {
        StopRule { min_blocks: blocks, max_blocks: blocks, precision: 0.0 }
    }

    /// Whether the precision matters after `blocks` blocks.
    pub fn needs_precision(&self, blocks: u32) -> bool {
        (self.min_blocks..self.max_blocks).contains(&blocks)
    }

    /// Whether `blocks` blocks are enough, if half of the widest interval is `half_width`; `None` if there is no
    /// interval.
    pub fn is_done(&self, blocks: u32, half_width: Option<f64>) -> bool {
        let is_precise = half_width.is_some_and(|half_width| half_width <= self.precision);
        blocks >= self.max_blocks || (self.needs_precision(blocks) && is_precise)
    }

    /// About how many blocks are still to come after `blocks`, if half of the widest interval is `half_width`: intervals
    /// get narrower with the root of the number of blocks. All that are allowed if that is unknown.
    pub fn blocks_left(&self, blocks: u32, half_width: Option<f64>) -> u32 {
        let all = self.max_blocks.saturating_sub(blocks);
        let Some(half_width) = half_width else { return all };
        let factor = (half_width / self.precision).powi(2) - 1.0;
        // Saturates, also where no precision is wanted.
        ((f64::from(blocks) * factor).ceil() as u32).min(all)
    }
}

/// How the order of a block follows from that of the previous block.
#[derive(Debug, Clone)]
enum Order {
    /// A new random order.
    Random { random: Box<SmallRng>, seed: u64 },
    /// The first slot moves to the end.
    Rotating,
}

impl Order {
    fn next_block(&mut self, slots: &mut [Slot]) {
        match self {
            Order::Random { random, .. } => slots.shuffle(random),
            Order::Rotating if slots.is_empty() => {}
            Order::Rotating => slots.rotate_left(1),
        }
    }
}

/// All turns of a benchmark, in order: an iterator.
#[derive(Debug, Clone)]
pub struct Schedule {
    order: Order,
    slots: Vec<Slot>,
    blocks: u32,
    block: u32,
    position: usize,
    /// Blocks without turns.
    left_out: BTreeSet<u32>,
}

impl Schedule {
    /// A schedule of `blocks` blocks for `variants` variants, the first of which ([`BASELINE`]) is the baseline. The
    /// same seed gives the same order in the same build of the program. Without variants the schedule is empty.
    pub fn new(variants: usize, blocks: u32, seed: u64) -> Self {
        let mut slots: Vec<Slot> = (0..variants).map(Slot::Variant).collect();
        if variants > 0 {
            slots.push(Slot::BaselineAgain);
        }
        Self::random(slots, blocks, seed)
    }

    /// A schedule of `blocks` blocks in which each of `arms` arms runs once, in an order drawn again for each block.
    pub fn once_each(arms: usize, blocks: u32, seed: u64) -> Self {
        Self::random((0..arms).map(Slot::Variant).collect(), blocks, seed)
    }

    /// A schedule of `blocks` blocks in which each of `arms` arms runs once, and each block begins with the arm that
    /// ran second in the previous block. The first block begins with arm `first` modulo the number of arms. For a few
    /// blocks, in which chance would not give each arm each position.
    pub fn rotating(arms: usize, blocks: u32, first: usize) -> Self {
        let mut slots: Vec<Slot> = (0..arms).map(Slot::Variant).collect();
        slots.rotate_left(first.checked_rem(arms).unwrap_or(0));
        Schedule { order: Order::Rotating, slots, blocks, block: 0, position: 0, left_out: BTreeSet::new() }
    }

    fn random(slots: Vec<Slot>, blocks: u32, seed: u64) -> Self {
        let order = Order::Random { random: Box::new(SmallRng::seed_from_u64(seed)), seed };
        let mut schedule = Schedule { order, slots, blocks, block: 0, position: 0, left_out: BTreeSet::new() };
        schedule.order.next_block(&mut schedule.slots);
        schedule
    }

    /// This schedule without the turns of `blocks`, which an earlier session has run. The order of the others stays.
    pub fn without(self, blocks: BTreeSet<u32>) -> Self {
        Schedule { left_out: blocks, ..self }
    }

    /// The number of blocks that [`Self::without`] has left out.
    pub(super) fn blocks_left_out(&self) -> u32 {
        u32::try_from(self.left_out.range(..self.blocks).count()).unwrap_or(u32::MAX)
    }

    /// The number of turns in all blocks.
    pub fn turns(&self) -> u64 {
        let blocks = self.blocks.saturating_sub(self.blocks_left_out());
        u64::from(blocks).saturating_mul(self.slots.len() as u64)
    }

    /// The order in which arms are warmed up: every slot once. A random schedule draws it, a rotating one has the arms'
    /// own order.
    pub fn warm_up(&self) -> Vec<Slot> {
        let mut slots = self.slots.clone();
        slots.sort_unstable();
        if let Order::Random { seed, .. } = &self.order {
            // Not the order of the first block, so that no variant runs twice in a row more often than others.
            slots.shuffle(&mut SmallRng::seed_from_u64(!seed));
        }
        slots
    }
}

impl Iterator for Schedule {
    type Item = Turn;

    fn next(&mut self) -> Option<Turn> {
        while self.position == self.slots.len() || self.left_out.contains(&self.block) && self.block < self.blocks {
            self.block = self.block.saturating_add(1);
            self.position = 0;
            self.order.next_block(&mut self.slots);
            if self.slots.is_empty() {
                return None;
            }
        }
        if self.block >= self.blocks {
            return None;
        }
        let slot = *self.slots.get(self.position)?;
        let position = u32::try_from(self.position).ok()?;
        self.position += 1;
        Some(Turn { block: self.block, position, slot })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn blocks_run_variants_once_and_the_baseline_twice() {
        let turns: Vec<Turn> = Schedule::new(4, 3, 7).collect();
        assert_eq!(turns.len(), 3 * 5);
        for (number, block) in turns.chunks(5).enumerate() {
            let mut slots: Vec<Slot> = block.iter().map(|turn| turn.slot).collect();
            slots.sort();
            let variants = (0..4).map(Slot::Variant);
            assert_eq!(slots, variants.chain([Slot::BaselineAgain]).collect::<Vec<_>>());
            for (position, turn) in block.iter().enumerate() {
                assert_eq!((turn.block as usize, turn.position as usize), (number, position));
            }
        }
        assert_eq!(turns.iter().filter(|turn| turn.slot.variant() == BASELINE).count(), 3 * 2);
    }

    #[test]
    fn order_depends_on_the_seed() {
        let order = |seed| Schedule::new(5, 20, seed).map(|turn| turn.slot).collect::<Vec<_>>();
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let first = order(1);
        assert!(first.chunks(6).any(|block| block != &first[..6]), "every block has the same order");
    }

    #[test]
    fn slots_have_each_position_equally_often() {
        let blocks = 6000;
        let mut seen: BTreeMap<(Slot, u32), u32> = BTreeMap::new();
        for turn in Schedule::new(3, blocks, 42) {
            *seen.entry((turn.slot, turn.position)).or_default() += 1;
        }
        assert_eq!(seen.len(), 4 * 4);
        // Each count is binomial with mean 1500 and standard deviation 34: five of those would be a rare accident.
        assert!(seen.values().all(|&count| count.abs_diff(blocks / 4) < 170), "{seen:?}");
    }

    #[test]
    fn first_block_is_in_random_order() {
        let first_slots: Vec<Slot> =
            (0..50).filter_map(|seed| Schedule::new(3, 1, seed).next()).map(|turn| turn.slot).collect();
        for slot in [Slot::Variant(0), Slot::Variant(1), Slot::Variant(2), Slot::BaselineAgain] {
            assert!(first_slots.contains(&slot), "{slot:?} never comes first");
        }
    }

    #[test]
    fn warm_up_runs_each_slot_once_in_its_own_order() {
        let warm_up = Schedule::new(3, 9, 7).warm_up();
        let mut sorted = warm_up.clone();
        sorted.sort();
        assert_eq!(sorted, [Slot::Variant(0), Slot::Variant(1), Slot::Variant(2), Slot::BaselineAgain]);
        let first = |seed| Schedule::new(3, 1, seed).map(|turn| turn.slot).collect::<Vec<_>>();
        assert!((0..20).any(|seed| Schedule::new(3, 1, seed).warm_up() != first(seed)));
        assert_eq!(Schedule::new(0, 1, 7).warm_up(), []);
        let in_order = [Slot::Variant(0), Slot::Variant(1), Slot::Variant(2)];
        assert_eq!(Schedule::rotating(3, 3, 2).warm_up(), in_order);
    }

    #[test]
    fn precision_counts_between_min_and_max_blocks() {
        let rule = StopRule { min_blocks: 6, max_blocks: 10, precision: 0.01 };
        assert!(!rule.is_done(5, Some(0.0)), "too few");
        assert!(!rule.is_done(6, None) && !rule.is_done(6, Some(0.02)) && !rule.is_done(9, Some(0.011)));
        assert!(rule.is_done(6, Some(0.01)) && rule.is_done(10, None) && rule.is_done(11, Some(1.0)));
        let exactly = StopRule::exactly(3);
        assert!(!exactly.is_done(2, Some(0.0)) && exactly.is_done(3, None));
    }

    #[test]
    fn blocks_left_follow_from_the_width() {
        let rule = StopRule { min_blocks: 6, max_blocks: 40, precision: 0.01 };
        assert_eq!((rule.blocks_left(2, None), rule.blocks_left(41, None)), (38, 0));
        assert_eq!(rule.blocks_left(8, Some(0.02)), 24, "half as wide with four times as many");
        assert_eq!((rule.blocks_left(8, Some(0.2)), rule.blocks_left(8, Some(0.01))), (32, 0));
        assert_eq!(StopRule::exactly(9).blocks_left(2, Some(0.5)), 7);
    }

    #[test]
    fn schedules_leave_out_blocks_of_an_earlier_session() {
        let whole: Vec<Turn> = Schedule::new(3, 6, 7).collect();
        let rest = Schedule::new(3, 6, 7).without([0, 1, 4, 9].into());
        assert_eq!((rest.turns(), rest.blocks_left_out()), (3 * 4, 3));
        let rest: Vec<Turn> = rest.collect();
        let expected = whole.into_iter().filter(|turn| [2, 3, 5].contains(&turn.block));
        assert_eq!(rest, expected.collect::<Vec<_>>(), "the order of the others stays");
        assert_eq!(Schedule::new(3, 2, 7).without([0, 1].into()).count(), 0);
        assert_eq!(Schedule::new(0, 2, 7).without([0].into()).count(), 0);
    }

    #[test]
    fn rotation_gives_each_arm_each_position() {
        let order = |first| Schedule::rotating(3, 3, first).map(|turn| turn.slot.variant()).collect::<Vec<_>>();
        assert_eq!(order(0), [0, 1, 2, 1, 2, 0, 2, 0, 1]);
        assert_eq!(order(5), [2, 0, 1, 0, 1, 2, 1, 2, 0]);
        assert_eq!(Schedule::rotating(0, 3, 1).count(), 0);
    }

    #[test]
    fn empty_schedules_have_no_turns() {
        assert_eq!(Schedule::new(0, 10, 1).count(), 0);
        assert_eq!(Schedule::new(3, 0, 1).count(), 0);
        assert_eq!(Schedule::new(1, 2, 1).count(), 4);
    }
}
