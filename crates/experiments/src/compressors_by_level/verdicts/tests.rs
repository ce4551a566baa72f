use repackbench_records::{Estimate, published_experiment};
use repackbench_report::sections::sentence;

use super::*;
use crate::{
    compressors_by_level::{
        Compressors,
        arms::ARMS,
        commits::Commits,
        phases::{CLOSE, FEW, MANY, OPEN, PhaseTimes},
        stores::{MAKE, SYNC},
    },
    samples::Samples,
    tests::outcome_of,
};

/// Runs that agree within a percent; those of different figures do not rise and fall together.
fn times(value: f64) -> Vec<f64> {
    let shift = (value * 10.0) as u32;
    (0..6).map(|run| value * (1.0 + 0.002 * f64::from((run * 5 + shift) % 6))).collect()
}

/// Sizes, then times to compress in place, and processor times to compress and uncompress.
fn timings(figures: [(u64, f64, f64, f64); 10]) -> Vec<Timings> {
    let made = figures.iter().map(|(stored, compress, compress_cpu, uncompress_cpu)| Timings {
        stored: Some(*stored),
        allocated: Some(*stored),
        samples: Samples::from([
            (COMPRESS, times(*compress)),
            (UNCOMPRESS, times(*uncompress_cpu + 1.0)),
            (COMPRESS_CPU, times(*compress_cpu)),
            (UNCOMPRESS_CPU, times(*uncompress_cpu)),
        ]),
    });
    made.collect()
}

/// Size, times and speed of each arm.
type AsPublished = [(u64, f64, f64, f64); 10];

/// The sizes and times of the published table, and figures that fit the claims on lzo.
fn as_published() -> AsPublished {
    [
        (2800, 79.0, 60.0, 3.0),
        (2800, 31.7, 12.0, 3.0),
        (3000, 26.1, 7.0, 3.0),
        (3100, 23.6, 5.0, 3.0),
        (2700, 134.0, 100.0, 9.0),
        (2700, 131.0, 100.0, 9.0),
        (2700, 130.0, 100.0, 9.0),
        (3060, 135.0, 90.0, 1.0),
        (3060, 57.9, 35.0, 1.0),
        (4110, 36.0, 2.0, 1.0),
    ]
}

#[test]
fn sizes_are_compared_as_they_were_published() {
    // By length level 9 and bzip2 save a third; in blocks all take the same space.
    let mut found = timings(as_published());
    found[0].stored = Some(1900);
    found[4].stored = Some(1900);
    let judged = figures(found);
    assert_eq!(outcome(&judged, "gzip-6"), Outcome::Reproduced);
    assert_eq!(outcome(&judged, "bzip2-small"), Outcome::Reproduced);
    // The sizes of lzo were published as lengths.
    let mut found = timings(as_published());
    found[8].allocated = Some(9000);
    assert_eq!(outcome(&figures(found), "lzo-7-size"), Outcome::Reproduced);
}

fn figures(timings: Vec<Timings>) -> Figures {
    Figures { compressors: vec![Compressors { files: 5, bytes: 50, timings }], ..Figures::default() }
}

fn outcome(figures: &Figures, id: &str) -> Outcome {
    let published = published_experiment(crate::compressors_by_level::NAME).unwrap();
    let outcomes = claims(published, figures);
    assert_eq!(outcomes.len(), published.claims.len());
    let found = outcome_of(id, outcomes);
    assert!(!found.reasons.is_empty(), "{id}");
    found.outcome
}

#[test]
fn figures_as_published_reproduce_the_claims() {
    let figures = figures(timings(as_published()));
    for id in [
        "gzip-6",
        "bzip2-small",
        "lzo-7-size",
        "lzo-decompress",
        "lzo-7-compress",
        "lzo-3-compress",
        "lzo-3-size",
        "lzo-level",
    ] {
        assert_eq!(outcome(&figures, id), Outcome::Reproduced, "{id}");
    }
    for id in ["btree-size", "btree-time", "btree-small"] {
        assert_eq!(outcome(&figures, id), Outcome::NotComparable, "{id}");
    }
    let size = |allocated| Some(crate::revision_alone::DiskUse { bytes: 1, allocated });
    let store = |allocated, time| StoreTimes {
        size: size(allocated),
        samples: [(MAKE, times(time)), (SYNC, times(time))].into(),
    };
    let all = vec![store(1000, 2.0), store(1200, 1.0)];
    let few = vec![store(100, 1.0), store(110, 4.0)];
    let mut figures_with = Figures { stores: Stores { all, few }, ..Figures::default() };
    assert_eq!(outcome(&figures_with, "btree-size"), Outcome::NotComparable, "whatever it takes");
    let (size, time) = btree_figures(&figures_with.stores.all);
    assert!(sentence(&size.unwrap()).starts_with("1.200") && sentence(&time.unwrap()).starts_with("0.50"));
    let small = sentence(&btree_small(&figures_with).unwrap());
    assert!(small.starts_with("4.0") && small.ends_with("with 1,000 files"), "{small}");
    assert_eq!(outcome(&figures_with, "btree-small"), Outcome::NotComparable, "whatever it takes");
    figures_with.stores.few.clear();
    figures_with.compressors.push(Compressors { files: 7, bytes: 50, timings: Vec::new() });
    let small = sentence(&btree_small(&figures_with).unwrap());
    assert!(small.starts_with("0.50") && small.ends_with("with 7 files"), "{small}");
    for id in ["little-memory", "factor-of-two", "level-3"] {
        assert_eq!(outcome(&figures, id), Outcome::Undecided, "{id}");
    }
}

#[test]
fn missing_figures_are_undecided() {
    for figures in [Figures::default(), figures(vec![Timings::default(); ARMS.len()])] {
        let published = published_experiment(crate::compressors_by_level::NAME).unwrap();
        for claim in claims(published, &figures) {
            assert!(matches!(claim.outcome(), Outcome::Undecided | Outcome::NotComparable), "{claim:?}");
        }
    }
    let mut short = timings(as_published());
    for timings in &mut short {
        timings.samples.truncate(3);
    }
    let short = figures(short);
    for id in ["gzip-6", "bzip2-small", "lzo-decompress", "lzo-level"] {
        assert_eq!(outcome(&short, id), Outcome::Undecided, "{id}");
    }
    assert_eq!(outcome(&short, "lzo-3-size"), Outcome::Reproduced, "sizes are exact");
}

#[test]
fn gzip_6_is_best_unless_a_neighbour_is_better() {
    let with = |change: fn(&mut AsPublished)| {
        let mut all = as_published();
        change(&mut all);
        outcome(&figures(timings(all)), "gzip-6")
    };
    assert_eq!(with(|all| all[0].0 = 2700), Outcome::NotReproduced, "level 9 is smaller");
    assert_eq!(with(|all| all[2].0 = 2810), Outcome::NotReproduced, "level 3 is as small");
    assert_eq!(with(|all| all[0].1 = 20.0), Outcome::NotReproduced, "level 9 is faster");
    assert_eq!(with(|all| all[2].1 = 10.0), Outcome::Changed, "level 3 saves more than half");
}

#[test]
fn bzip2_is_judged_by_size_and_time() {
    let with = |size: u64, time: f64| {
        let mut all = as_published();
        (all[4].0, all[4].1) = (size, time);
        outcome(&figures(timings(all)), "bzip2-small")
    };
    assert_eq!(with(2700, 134.0), Outcome::Reproduced);
    assert_eq!(with(2900, 134.0), Outcome::Reproduced, "larger is no less little");
    assert_eq!(with(2610, 134.0), Outcome::Reproduced, "27 and 28 MB may be 26.5 and 28.5");
    assert_eq!(with(2590, 134.0), Outcome::Changed);
    assert_eq!(with(2000, 134.0), Outcome::Changed);
    assert_eq!(with(2700, 40.0), Outcome::Changed);
    assert_eq!(with(2000, 40.0), Outcome::NotReproduced);
    assert_eq!(with(2700, 31.7 * 1.999), Outcome::Undecided);
}

#[test]
fn empty_files_gain_the_time_of_writing() {
    let phases = |open: f64, write: f64, close: f64, empty: f64| {
        let arm = |length, phases: [f64; 3]| {
            let [open, write, close] = phases.map(times);
            PhaseTimes { files: MANY, length, samples: [(OPEN, open), (WRITE, write), (CLOSE, close)].into() }
        };
        let (full, none) = (arm(LENGTH, [open, write, close]), arm(0, [empty, 0.0, 0.0]));
        let few = PhaseTimes { files: FEW, ..full.clone() };
        let figures = Figures { phases: Phases(vec![full, none, few]), ..Figures::default() };
        outcome(&figures, "factor-of-two")
    };
    assert_eq!(phases(0.5, 1.0, 0.5, 1.1), Outcome::Reproduced);
    assert_eq!(phases(0.1, 1.0, 0.1, 1.0), Outcome::Changed);
    assert_eq!(phases(0.5, 1.0, 0.5, 0.5), Outcome::NotReproduced);
    assert_eq!(phases(0.5, 1.0, 0.5, 1.0), Outcome::Undecided);
}

#[test]
fn half_of_the_time_of_a_commit_is_a_bound() {
    let commits = |low: f64, high: f64| {
        let estimate = Estimate { value: (low * high).sqrt(), interval: Some([low, high]), samples: vec![] };
        let ratio = Some(Ratio { estimate, floor: 0.01 });
        let commits = Commits { ingest: ratio.clone(), encode: ratio };
        outcome(&Figures { commits, ..Figures::default() }, "level-3")
    };
    assert_eq!(commits(0.3, 0.45), Outcome::Reproduced);
    assert_eq!(commits(0.6, 0.9), Outcome::Changed);
    assert_eq!(commits(1.1, 1.2), Outcome::NotReproduced);
    assert_eq!(commits(0.4, 0.6), Outcome::Undecided);
    assert_eq!(commits(0.98, 1.01), Outcome::NotReproduced, "less than half it is not");
}
