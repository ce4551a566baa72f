//! The whole pipeline on simulated times, whose true differences are known: schedule, records, comparison, verdicts.

use std::{
    cell::{Cell, RefCell},
    time::Duration,
};

use rand::{Rng, SeedableRng, rngs::SmallRng};
use repackbench_analysis::{LEAST_NOISE_FLOOR, compare_records, widest_half_width};
use repackbench_records::{Record, Role, Verdict, WorkloadComparison, fixtures::record};

use repackbench_writer::NoProgress;

use super::{Arms, BASELINE, Lane, Schedule, Session, Slot, Stop, StopRule, TimeLimit, Turn, tests::SetClock};

/// A machine's noise, in logarithms of time.
#[derive(Clone, Copy)]
struct Noise {
    /// The standard deviation of the noise of every run.
    bell: f64,
    /// How often a run is disturbed, and by how much on average.
    spikes: (f64, f64),
    /// How much slower the machine gets from one run to the next.
    drift: f64,
}

/// The noise of a virtual machine with a neighbour.
const MACHINE: Noise = Noise { bell: 0.01, spikes: (0.10, 0.05), drift: 0.001 };

/// Every run is disturbed, and always slowed down: the worst case for a mean of two runs.
const ONE_SIDED: Noise = Noise { bell: 0.002, spikes: (1.0, 0.10), drift: 0.0 };

impl Noise {
    fn draw(self, random: &mut SmallRng, position: u32) -> f64 {
        let bell: f64 = (0..12).map(|_| random.random_range(0.0..1.0)).sum::<f64>() - 6.0;
        let spike = random.random_bool(self.spikes.0).then(|| -random.random_range(f64::MIN_POSITIVE..1.0).ln());
        self.bell * bell + self.spikes.1 * spike.unwrap_or(0.0) + self.drift * f64::from(position)
    }
}

/// A session: the true log-ratio of each variant beside the baseline, the same in each of the workloads.
struct Simulation<'a> {
    workloads: &'a [&'a str],
    variants: &'a [f64],
    noise: Noise,
    stop: StopRule,
    /// The limit of time in seconds, of which a run takes one.
    time: Option<u64>,
}

/// The machine that all workloads run on.
struct Machine {
    random: RefCell<SmallRng>,
    /// The speed of the block.
    speed: Cell<f64>,
    clock: SetClock,
}

/// The runs of one workload, as arms.
struct SimulatedRuns<'a> {
    simulation: &'a Simulation<'a>,
    workload: &'a str,
    machine: &'a Machine,
    records: Vec<Record>,
    blocks: u32,
}

impl Arms for SimulatedRuns<'_> {
    type Error = Stop;

    fn run(&mut self, turn: Turn) -> Result<(), Stop> {
        let Machine { random, speed, clock } = self.machine;
        let random = &mut *random.borrow_mut();
        if turn.position == 0 {
            // Each block has its own speed; slow blocks follow each other.
            speed.set(0.7 * speed.get() + random.random_range(0.0..0.3));
        }
        let log = speed.get() + self.simulation.noise.draw(random, turn.position);
        clock.advance(1);
        self.records.push(self.simulation.record(self.workload, turn, log));
        Ok(())
    }

    fn is_enough(&mut self, blocks: u32) -> Result<bool, Stop> {
        self.blocks = blocks;
        let stop = self.simulation.stop;
        let reached = stop.needs_precision(blocks).then(|| compare_records(&self.records));
        let half_width = reached.and_then(|so_far| widest_half_width(&so_far[0]));
        Ok(stop.is_done(blocks, half_width))
    }
}

impl Simulation<'_> {
    /// The comparisons of the session's records, and the number of blocks of each workload.
    fn run(&self, seed: u64) -> (Vec<WorkloadComparison>, Vec<u32>) {
        let random = RefCell::new(SmallRng::seed_from_u64(seed));
        let machine = Machine { random, speed: Cell::new(0.0), clock: SetClock::at(0) };
        let mut lanes = Vec::new();
        for workload in self.workloads {
            let schedule = Schedule::new(1 + self.variants.len(), self.stop.max_blocks, seed);
            let runs = SimulatedRuns { simulation: self, workload, machine: &machine, records: Vec::new(), blocks: 0 };
            lanes.push(Lane::new(schedule, self.stop.min_blocks, runs));
        }
        let limit = self.time.map(|seconds| TimeLimit::BlocksEnd(Duration::from_secs(seconds)));
        Session::new(&machine.clock, &NoProgress).run_in_turn(&mut lanes, limit).unwrap();
        let (mut records, mut blocks) = (Vec::new(), Vec::new());
        for runs in lanes.into_iter().map(Lane::into_arms) {
            records.extend(runs.records);
            blocks.push(runs.blocks);
        }
        (compare_records(&records), blocks)
    }

    fn record(&self, workload: &str, turn: Turn, log: f64) -> Record {
        let (role, effect) = match turn.slot {
            Slot::BaselineAgain => (Role::BaselineAgain, 0.0),
            Slot::Variant(BASELINE) => (Role::Baseline, 0.0),
            Slot::Variant(number) => (Role::Candidate, self.variants[number - 1]),
        };
        let row = turn.slot.variant() as u32;
        record(workload, role, row, turn.block, (1e8 * (log + effect).exp()) as u64)
    }
}

fn verdicts(comparisons: &[WorkloadComparison]) -> impl Iterator<Item = Verdict> {
    comparisons.iter().flat_map(|comparison| &comparison.rows).filter_map(|row| row.verdict)
}

fn is_difference(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}

/// The number of sessions for which `holds` is true.
fn share(sessions: u64, holds: impl Fn(u64) -> bool) -> f64 {
    (0..sessions).filter(|seed| holds(*seed)).count() as f64 / sessions as f64
}

/// Like a session with 8 ratios: at least 9 blocks, see [`blocks_for_verdicts`](super::blocks_for_verdicts).
const ADAPTIVE: StopRule = StopRule { min_blocks: 9, max_blocks: 40, precision: 0.01 };

#[test]
fn under_the_null_five_percent_of_sessions_differ() {
    for (noise, stop, time, sessions) in [
        (MACHINE, ADAPTIVE, None, 60),
        // 25 blocks, which the workloads that are not precise share.
        (MACHINE, ADAPTIVE, Some(150), 100),
        (MACHINE, StopRule::exactly(11), None, 300),
        (ONE_SIDED, StopRule::exactly(30), None, 200),
    ] {
        let session = Simulation { workloads: &["traverse", "diff:raw"], variants: &[0.0; 4], noise, stop, time };
        let rate = share(sessions, |seed| verdicts(&session.run(seed).0).any(is_difference));
        assert!(rate <= 0.05, "{rate} of sessions");
    }
}

/// The same with variants whose true difference is the floor itself, where a false verdict is most likely.
#[test]
fn at_the_floor_five_percent_of_sessions_differ() {
    let at_floor = LEAST_NOISE_FLOOR.ln_1p();
    let session = Simulation {
        workloads: &["traverse"],
        variants: &[at_floor, -at_floor, at_floor],
        noise: MACHINE,
        stop: StopRule::exactly(20),
        time: None,
    };
    let rate = share(400, |seed| verdicts(&session.run(seed).0).any(is_difference));
    assert!(rate <= 0.05, "{rate} of sessions");
}

#[test]
fn forty_blocks_find_a_difference_of_3_percent() {
    for (effect, expected) in [(-0.03_f64, Verdict::Faster), (0.03, Verdict::Slower)] {
        let session = Simulation {
            workloads: &["traverse", "diff:raw"],
            variants: &[effect.ln_1p(), 0.0, 0.0, 0.0],
            noise: MACHINE,
            stop: StopRule::exactly(40),
            time: None,
        };
        let found = share(100, |seed| {
            session.run(seed).0.iter().all(|comparison| comparison.rows[1].verdict == Some(expected))
        });
        assert!(found >= 0.9, "{effect}: found in {found} of sessions");
    }
}

#[test]
fn most_sessions_call_equal_variants_equal() {
    let calm = Noise { spikes: (0.05, 0.05), bell: 0.007, drift: 0.0 };
    let session = Simulation { workloads: &["traverse"], variants: &[0.0; 2], noise: calm, stop: ADAPTIVE, time: None };
    let said = share(60, |seed| verdicts(&session.run(seed).0).all(|verdict| verdict == Verdict::Same));
    assert!(said > 0.5, "{said}");
}

#[test]
fn sessions_end_when_precise_or_at_the_limit() {
    let blocks = |bell: f64| {
        let noise = Noise { bell, spikes: (0.0, 0.0), drift: 0.0 };
        let session = Simulation { workloads: &["traverse"], variants: &[-0.5; 2], noise, stop: ADAPTIVE, time: None };
        session.run(5).1[0]
    };
    assert_eq!(blocks(0.001), 9);
    assert!((10..40).contains(&blocks(0.012)), "{}", blocks(0.012));
    assert_eq!(blocks(0.1), 40);
}

/// A precise workload leaves its time to the others.
#[test]
fn limited_sessions_share_their_time() {
    let session = |bell| Simulation {
        workloads: &["traverse", "diff:raw"],
        variants: &[-0.5; 2],
        noise: Noise { bell, spikes: (0.0, 0.0), drift: 0.0 },
        stop: ADAPTIVE,
        time: Some(100),
    };
    // A block takes 4 s.
    let noisy = session(0.1).run(5).1;
    assert_eq!(noisy.iter().sum::<u32>(), 25, "{noisy:?}");
    assert!(noisy.iter().all(|blocks| *blocks >= 12), "{noisy:?}");
    assert_eq!(session(0.001).run(5).1, [9, 9], "no more than needed");
}

/// The reason for the floor: without it, the mean of A and A' would turn one-sided noise into differences.
#[test]
fn intervals_without_floor_show_false_differences() {
    let session = Simulation {
        workloads: &["traverse"],
        variants: &[0.0],
        noise: ONE_SIDED,
        stop: StopRule::exactly(30),
        time: None,
    };
    let leaves_out_1 = |seed| {
        let interval = session.run(seed).0[0].rows[1].ratio.unwrap().interval.unwrap();
        interval.low > 1.0 || interval.high < 1.0
    };
    let rate = share(600, leaves_out_1);
    assert!(rate > 0.06, "{rate}");
}
