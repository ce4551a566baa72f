//! Tests of the loop.

use std::{
    cell::{Cell, RefCell},
    io,
};

use repackbench_writer::{NoProgress, ProgressUnit};

use super::*;
use crate::clock::ClockReading;

/// Shows the seconds that a test sets.
pub(crate) struct SetClock(Cell<u64>);

impl SetClock {
    pub(crate) fn at(seconds: u64) -> Self {
        SetClock(Cell::new(seconds))
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.0.set(self.0.get() + seconds);
    }

    pub(crate) fn set(&self, seconds: u64) {
        self.0.set(seconds);
    }
}

impl Clock for SetClock {
    fn read(&self) -> io::Result<ClockReading> {
        Ok(ClockReading { wall: Duration::from_secs(self.0.get()), user: Duration::ZERO, sys: Duration::ZERO })
    }

    fn read_cpu(&self) -> io::Result<Duration> {
        Ok(Duration::ZERO)
    }

    fn read_children(&self) -> io::Result<ClockReading> {
        self.read()
    }
}

/// A stop of the loop, or a failure that a test has made.
#[derive(Debug)]
enum Failure {
    Stopped(Stop),
    Failed,
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Failure::Stopped(stop)
    }
}

/// Keeps the turns that were run. Each takes `seconds` on the clock.
struct Recorder<'c> {
    clock: &'c SetClock,
    seconds: u64,
    warmed_up: Vec<Slot>,
    ran: Vec<(u32, usize)>,
    enough: u32,
    fails_at: Option<usize>,
}

impl<'c> Recorder<'c> {
    fn new(clock: &'c SetClock) -> Self {
        Recorder { clock, seconds: 1, warmed_up: Vec::new(), ran: Vec::new(), enough: 0, fails_at: None }
    }

    fn run_all(&mut self, schedule: Schedule, limit: Option<TimeLimit>) -> Result<End, Failure> {
        let clock = self.clock;
        Session::new(clock, &NoProgress).run(schedule, limit, self)
    }
}

impl Arms for Recorder<'_> {
    type Error = Failure;

    fn warm_up(&mut self, slot: Slot) -> Result<(), Failure> {
        self.warmed_up.push(slot);
        Ok(())
    }

    fn run(&mut self, turn: Turn) -> Result<(), Failure> {
        if self.fails_at == Some(self.ran.len()) {
            return Err(Failure::Failed);
        }
        self.ran.push((turn.block, turn.slot.variant()));
        self.clock.set(self.clock.0.get() + self.seconds);
        Ok(())
    }

    fn is_enough(&mut self, blocks: u32) -> Result<bool, Failure> {
        Ok(blocks == self.enough)
    }
}

#[test]
fn blocks_run_until_they_are_enough() {
    let clock = SetClock::at(0);
    let mut arms = Recorder { enough: 2, ..Recorder::new(&clock) };
    assert_eq!(arms.run_all(Schedule::once_each(3, 9, 7), None).unwrap(), End::Complete);
    assert_eq!(arms.ran.len(), 6);
    for block in 0..2 {
        let mut ran: Vec<usize> = arms.ran.iter().filter(|(of, _)| *of == block).map(|(_, arm)| *arm).collect();
        ran.sort_unstable();
        assert_eq!(ran, [0, 1, 2]);
    }
    arms.warmed_up.sort_unstable();
    assert_eq!(arms.warmed_up, [0, 1, 2].map(Slot::Variant));
    let mut all = Recorder::new(&clock);
    assert_eq!(all.run_all(Schedule::new(3, 4, 7), None).unwrap(), End::Complete);
    assert_eq!(all.ran.len(), 4 * 4, "the baseline twice in each block");
}

#[test]
fn a_time_limit_ends_the_loop() {
    let seconds = Duration::from_secs;
    let run = |limit: TimeLimit| {
        let clock = SetClock::at(100);
        let mut arms = Recorder { seconds: 2, ..Recorder::new(&clock) };
        let end = arms.run_all(Schedule::once_each(3, 5, 7), Some(limit)).unwrap();
        match end {
            End::Complete => (5, 0, Duration::ZERO),
            End::OutOfTime { next, last_block } => {
                assert_eq!(arms.ran.len(), (next.block * 3 + next.position) as usize);
                (next.block, next.position, last_block)
            }
        }
    };
    // Blocks end at 106, 112, 118, 124 and 130.
    assert_eq!(run(TimeLimit::BlocksBegin(seconds(112))), (2, 0, seconds(6)));
    assert_eq!(run(TimeLimit::BlocksBegin(seconds(113))), (3, 0, seconds(6)));
    assert_eq!(run(TimeLimit::BlocksBegin(seconds(0))), (1, 0, seconds(6)), "the first block always begins");
    assert_eq!(run(TimeLimit::BlocksBegin(seconds(125))), (5, 0, Duration::ZERO));
    assert_eq!(run(TimeLimit::BlocksEnd(seconds(118))), (3, 0, seconds(6)));
    assert_eq!(run(TimeLimit::BlocksEnd(seconds(117))), (2, 0, seconds(6)));
    assert_eq!(run(TimeLimit::BlocksEnd(seconds(0))), (1, 0, seconds(6)), "the first block always begins");
    assert_eq!(run(TimeLimit::TurnsBegin(seconds(109))), (1, 2, seconds(6)));
    assert_eq!(run(TimeLimit::TurnsBegin(seconds(100))), (0, 0, Duration::ZERO));
}

/// A lane that notes its name for each block in `log`. A block takes `seconds`, and `enough` blocks are enough.
struct Named<'c> {
    name: char,
    clock: &'c SetClock,
    seconds: u64,
    enough: u32,
    log: &'c RefCell<String>,
}

impl Arms for Named<'_> {
    type Error = Stop;

    fn begin(&mut self) -> Result<(), Stop> {
        self.log.borrow_mut().push(self.name.to_ascii_uppercase());
        Ok(())
    }

    fn run(&mut self, turn: Turn) -> Result<(), Stop> {
        if turn.position == 0 {
            self.log.borrow_mut().push(self.name);
            self.clock.set(self.clock.0.get() + self.seconds);
        }
        Ok(())
    }

    fn is_enough(&mut self, blocks: u32) -> Result<bool, Stop> {
        Ok(blocks >= self.enough)
    }
}

/// The order of the blocks of lanes with these names, seconds a block, and numbers of blocks that are enough. Each has
/// a minimum of three blocks and a maximum of nine. A capital shows that a lane begins.
fn order_of(lanes: &[(char, u64, u32)], limit: Option<TimeLimit>) -> (String, End) {
    let (clock, log) = (SetClock::at(0), RefCell::default());
    let lane = |(name, seconds, enough): &(char, u64, u32)| {
        let arms = Named { name: *name, clock: &clock, seconds: *seconds, enough: *enough, log: &log };
        Lane::new(Schedule::new(2, 9, 7), 3, arms)
    };
    let mut lanes: Vec<Lane<Named<'_>>> = lanes.iter().map(lane).collect();
    let end = Session::new(&clock, &NoProgress).run_in_turn(&mut lanes, limit).unwrap();
    drop(lanes);
    (log.into_inner(), end)
}

#[test]
fn lanes_take_turns_until_each_has_its_minimum() {
    let (order, end) = order_of(&[('a', 1, 3), ('b', 5, 3), ('c', 1, 3)], None);
    assert_eq!((order.as_str(), end), ("AaBbCcabcabc", End::Complete));
}

/// After their minimum, the lane that was measured for the shortest time is next, and a precise one gets no more.
#[test]
fn undecided_lanes_get_the_time_that_is_left() {
    let (order, end) = order_of(&[('a', 1, 3), ('b', 4, 5), ('c', 2, 9)], None);
    assert_eq!((order.as_str(), end), ("AaBbCcabcabccccbccbc", End::Complete));
}

#[test]
fn long_blocks_wait_once_their_share_is_used() {
    let within = |seconds| Some(TimeLimit::BlocksEnd(Duration::from_secs(seconds)));
    // Each share is 15 s: b has used its own after two blocks.
    let (order, end) = order_of(&[('a', 1, 4), ('b', 8, 9)], within(30));
    assert_eq!(order, "AaBbababa", "a has its minimum before b; a fourth block of b would end too late");
    assert!(matches!(end, End::OutOfTime { next: Turn { block: 3, .. }, .. }), "{end:?}");
    let (order, _) = order_of(&[('b', 8, 9), ('a', 1, 9)], within(30));
    assert_eq!(order, "BbAabaabaaa", "blocks of a still fit when those of b do not");
    let (order, _) = order_of(&[('b', 90, 9), ('a', 1, 9), ('c', 1, 9)], within(10));
    assert_eq!(order, "BbAaCc", "the first block of each lane always begins");
}

#[test]
fn resumed_lanes_go_on_where_they_stopped() {
    let (clock, log) = (SetClock::at(0), RefCell::default());
    let lane = |name, done: &[u32]| {
        let arms = Named { name, clock: &clock, seconds: 1, enough: 4, log: &log };
        Lane::new(Schedule::new(2, 9, 7).without(done.iter().copied().collect()), 3, arms)
    };
    let mut lanes = [lane('a', &[0, 1, 2]), lane('b', &[0]), lane('c', &[])];
    Session::new(&clock, &NoProgress).run_in_turn(&mut lanes, None).unwrap();
    assert_eq!(log.borrow().as_str(), "CcBbAacbcbc", "the fewest blocks come first");
}

#[test]
fn failures_end_the_loop() {
    let clock = SetClock::at(0);
    let mut failing = Recorder { fails_at: Some(4), ..Recorder::new(&clock) };
    assert!(matches!(failing.run_all(Schedule::once_each(3, 9, 7), None), Err(Failure::Failed)));
    assert_eq!(failing.ran.len(), 4);
}

/// Counts turns, and is cancelled after a number of them.
#[derive(Default)]
struct CancelledAfter {
    turns: u64,
    advanced: std::sync::atomic::AtomicU64,
}

impl Progress for CancelledAfter {
    fn start(&self, _step: &str, _total: u64, _unit: ProgressUnit) {}
    fn advance(&self, amount: u64) {
        self.advanced.fetch_add(amount, std::sync::atomic::Ordering::Relaxed);
    }
    fn finish(&self) {}
    fn is_cancelled(&self) -> bool {
        self.advanced.load(std::sync::atomic::Ordering::Relaxed) >= self.turns
    }
}

#[test]
fn the_user_can_stop_before_each_turn() {
    let clock = SetClock::at(0);
    for turns in [0, 1, 7] {
        let progress = CancelledAfter { turns, ..CancelledAfter::default() };
        let mut arms = Recorder::new(&clock);
        let ended = Session::new(&clock, &progress).run(Schedule::once_each(3, 9, 7), None, &mut arms);
        assert!(matches!(ended, Err(Failure::Stopped(Stop::Interrupted))), "{ended:?}");
        assert_eq!((arms.ran.len() as u64, arms.warmed_up.is_empty()), (turns, turns == 0));
    }
    let progress = CancelledAfter { turns: u64::MAX, ..CancelledAfter::default() };
    let schedule = Schedule::new(2, 3, 7);
    let turns = schedule.turns();
    Session::new(&clock, &progress).run(schedule, None, &mut Recorder::new(&clock)).unwrap();
    assert_eq!((progress.advanced.into_inner(), turns), (9, 9));
}
