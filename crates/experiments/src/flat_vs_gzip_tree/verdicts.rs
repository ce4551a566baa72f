//! The verdict on each claim, by rules.
//!
//! - `compressed-faster`: the ratio of compressed to flat over the copies that were written side by side, with copies as a level of the
//!   statistics, by the common rule for times ([`takes`]).
//! - `layout`: copies made the same way, each compared with the second one in the same runs. **Reproduced** where some pair
//!   differs, by the sign test with Holm's correction, and the largest distance from 1 is at most [`TWICE`] the published one; **changed**
//!   where that is more; **not reproduced** where all intervals lie within [`NO_LAYOUT`] of 1; otherwise undecided.
//! - `sparse`: the ratio of `gzip-1` to `flat-1`, by the rule for times.
//! - `seeks`: **not reproduced** where the numbers of seeks differ by more than [`SAME`], over all copies or of the trees that were written
//!   as a whole, like the published ones: side by side nearly every file takes a seek. Otherwise the waiting time of readings, which is
//!   elapsed time without CPU time, decides: **undecided** unless it is [`MOST`] of the elapsed time of both kinds. Its ratio is compared
//!   with those of seeks and of bytes, as factors: wholly nearer to that of seeks is **reproduced**; wholly nearer to that of bytes is
//!   **changed**, because the number of seeks is the same and does not bind.
//! - `caveat`: the ratio of checkouts by git from loose objects, zlib 9 to zlib 0, beside that of trees. **Reproduced** where every ratio in the
//!   one interval lies within [`CLOSE`] of every ratio in the other, **not reproduced** where none does, otherwise undecided.

use std::collections::BTreeMap;

use repackbench_analysis::{
    ERROR_RATE, Judgement, Ratio, SAME, claim_outcomes, holm, median_estimate, named_ratio, sign_test, takes,
};
use repackbench_records::{ClaimOutcome, Estimate, Figure, Outcome, Published, Statement};

use super::{
    figures::{Figures, LayoutError, copy_label, fair_ratio, layout_errors, ratio_between, ratio_over_copies},
    git_arm::DECIDING,
    seeks::DiskReads,
    trees::{ALONE, COPIES, Kind},
};
use crate::samples::{CPU, ELAPSED, Samples};

/// A layout error agrees with the published one if it is at most this many times as large.
const TWICE: f64 = 2.0;
/// Copies whose ratio lies within this of 1 have no layout error.
const NO_LAYOUT: f64 = 0.01;

/// Fewer seeks than these depend on where a file or two happened to find room.
const LEAST_SEEKS: u64 = 100;

/// More than this part of the elapsed time is most of it.
const MOST: f64 = 0.5;

/// Two ratios are quite close if neither is more than this above the other, as a part of 1.
const CLOSE: f64 = 0.1;

/// The outcome of every claim.
pub(super) fn claims(published: &Published, figures: &Figures) -> Vec<ClaimOutcome> {
    let value = |id: &str| published.claim(id).and_then(|claim| claim.value);
    let fair = fair_ratio(&figures.raw, Kind::Gzip, Kind::Flat);
    let judgements = [
        (
            "compressed-faster",
            takes(Statement::new("compressed-tree"), value("compressed-faster").as_slice(), fair.as_ref()),
        ),
        ("layout", judge_layout(value("layout"), &layout_errors(&figures.raw))),
        (
            "sparse",
            takes(
                Statement::new("tree-compressed-in-place"),
                value("sparse").as_slice(),
                ratio_between(figures, "gzip-1", "flat-1").as_ref(),
            ),
        ),
        (
            "seeks",
            judge_seeks(
                [disk_ratio(&figures.disk, |reads| reads.seeks), seeks_alone(&figures.disk)],
                disk_ratio(&figures.disk, |reads| Some(reads.bytes)),
                &waits(&figures.raw),
            ),
        ),
        ("caveat", judge_caveat(figures.git.to_flat(DECIDING).as_ref(), fair.as_ref())),
    ];
    let judged = judgements.into_iter().map(|(id, judgement)| (id, with_inodes(judgement, figures.drops_all)));
    claim_outcomes(published, judged)
}

/// Adds to verdicts on times that folders and inodes were in memory, where their caches may not be dropped.
fn with_inodes(judgement: Judgement, drops_all: bool) -> Judgement {
    let is_limited = !drops_all && !judgement.measured.is_empty();
    judgement.because(is_limited.then(|| Statement::new("inodes-in-memory")))
}

fn judge_layout(published: Option<f64>, errors: &[LayoutError]) -> Judgement {
    let distance = |error: &LayoutError| error.ratio.estimate.value.ln().abs().exp_m1();
    let largest = errors.iter().max_by(|one, other| distance(one).total_cmp(&distance(other)));
    let (Some(largest), Some(published)) = (largest, published) else {
        return Judgement::not_measured(Statement::new("copies"));
    };
    let most = Figure::share(distance(largest));
    let shown = Statement::new("largest-layout-error").with("most", most).with("copies", largest.label());
    let judge = |outcome, reason| Judgement::new(outcome, vec![shown.with("ratio", &largest.ratio.estimate)], reason);
    let Some(intervals) = errors.iter().map(|error| error.ratio.estimate.interval).collect::<Option<Vec<_>>>() else {
        return judge(Outcome::Undecided, Statement::new("copies-without-intervals"));
    };
    let differs = differing(errors);
    let is_within = |[low, high]: &[f64; 2]| *low >= 1.0 / (1.0 + NO_LAYOUT) && *high <= 1.0 + NO_LAYOUT;
    if differs > 0 {
        let pairs = |id: &str| {
            let pairs = Statement::new(id).with("differing", Figure::count(differs));
            pairs.with("pairs", Figure::count(errors.len())).with("published", Figure::share(published))
        };
        if distance(largest) <= published * TWICE {
            judge(Outcome::Reproduced, pairs("copies-differ"))
        } else {
            judge(Outcome::Changed, pairs("copies-differ-more").with("most", most))
        }
    } else if intervals.iter().all(is_within) {
        judge(Outcome::NotReproduced, Statement::new("copies-agree").with("within", Figure::share(NO_LAYOUT)))
    } else {
        judge(Outcome::Undecided, Statement::new("copies-undecided").with("within", Figure::share(NO_LAYOUT)))
    }
}

/// The number of ratios that differ from 1, with Holm's correction: one of many pairs may seem to differ by chance.
fn differing(errors: &[LayoutError]) -> usize {
    let logs = errors.iter().map(|error| error.ratio.estimate.samples.iter().map(|sample| sample.ln()).collect());
    let mut probabilities: Vec<f64> = logs.map(|logs: Vec<f64>| sign_test(&logs, 0.0)).collect();
    holm(&mut probabilities.iter_mut().collect::<Vec<_>>());
    probabilities.iter().filter(|probability| **probability <= ERROR_RATE).count()
}

/// A sum over the compressed copies as a multiple of that over the flat ones.
fn disk_ratio(disk: &BTreeMap<String, DiskReads>, of: fn(&DiskReads) -> Option<u64>) -> Option<f64> {
    let sum = |kind: Kind| (0..COPIES).map(|copy| disk.get(&copy_label(kind, copy)).and_then(of)).sum::<Option<u64>>();
    let (gzip, flat) = (sum(Kind::Gzip)?, sum(Kind::Flat)?);
    Some(gzip as f64 / flat as f64).filter(|ratio| ratio.is_finite())
}

/// The seeks of the compressed tree that was written as a whole, as a multiple of those of the flat one. `None` where the flat one takes
/// fewer than [`LEAST_SEEKS`].
fn seeks_alone(disk: &BTreeMap<String, DiskReads>) -> Option<f64> {
    let seeks = |kind: Kind| disk.get(&kind.copy(ALONE))?.seeks;
    let flat = seeks(Kind::Flat).filter(|flat| *flat >= LEAST_SEEKS)?;
    Some(seeks(Kind::Gzip)? as f64 / flat as f64)
}

/// The waiting time of readings, which wait only for the disk.
#[derive(Debug, Default)]
struct Waits {
    /// The waiting time of the compressed copies as a multiple of that of the flat ones.
    ratio: Option<Ratio>,
    /// The waiting time as a part of the elapsed time, of the kind for which it is smaller: the median over runs and copies.
    part: Option<f64>,
}

fn waits(raw: &BTreeMap<String, Samples>) -> Waits {
    fn waited(readings: &Samples) -> Vec<f64> {
        readings.get(ELAPSED).iter().zip(readings.get(CPU)).map(|(elapsed, cpu)| (elapsed - cpu).max(0.0)).collect()
    }
    let part = |kind: Kind| {
        let of_copies = (0..COPIES).filter_map(|copy| raw.get(&copy_label(kind, copy)));
        let parts = of_copies.flat_map(|readings| {
            waited(readings).into_iter().zip(readings.get(ELAPSED)).map(|(waited, elapsed)| waited / elapsed)
        });
        median_estimate(parts.filter(|part| part.is_finite()).collect()).map(|found| found.value)
    };
    Waits {
        ratio: ratio_over_copies(raw, Kind::Gzip, Kind::Flat, waited),
        part: part(Kind::Gzip).zip(part(Kind::Flat)).map(|(gzip, flat)| gzip.min(flat)),
    }
}

/// Why the numbers of seeks differ, over the copies or between the trees that were written as a whole; `None` if they do not.
fn why_seeks_differ(seeks: f64, alone: Option<f64>) -> Option<Statement> {
    let differs = |seeks: &f64| (seeks - 1.0).abs() > SAME;
    let times =
        |id: &str, seeks: f64| Statement::new(id).with("seeks", Figure::ratio(seeks)).with("same", Figure::share(SAME));
    let of_copies = Some(seeks).filter(differs).map(|seeks| times("seeks-differ", seeks));
    of_copies.or_else(|| alone.filter(differs).map(|alone| times("seeks-of-whole-trees-differ", alone)))
}

fn judge_seeks([seeks, alone]: [Option<f64>; 2], bytes: Option<f64>, waits: &Waits) -> Judgement {
    let (Some(seeks), Some(bytes)) = (seeks, bytes) else {
        return Judgement::missing(Statement::new("extents-unknown"));
    };
    let ratio = |id: &str, value: f64| named_ratio(Statement::new(id), Figure::ratio(value));
    let mut shown = vec![ratio("seeks", seeks), ratio("bytes", bytes)];
    shown.extend(alone.map(|alone| ratio("seeks-of-whole-trees", alone)));
    let waiting = |found: &Ratio| named_ratio(Statement::new("waiting"), &found.estimate);
    shown.extend(waits.ratio.as_ref().map(waiting));
    shown.extend(waits.part.map(|part| Statement::new("of-the-time").with("part", Figure::share(part))));
    let judge = |outcome, reason| Judgement::new(outcome, shown, reason);
    if let Some(why) = why_seeks_differ(seeks, alone) {
        return judge(Outcome::NotReproduced, why);
    }
    let interval = waits.ratio.as_ref().and_then(|found| found.estimate.interval);
    let (Some([low, high]), Some(part)) = (interval, waits.part) else {
        return judge(Outcome::Undecided, Statement::new("seeks-same-no-interval"));
    };
    if part <= MOST {
        return judge(Outcome::Undecided, Statement::new("seeks-do-not-bind").with("part", Figure::share(part)));
    }
    // Half-way between the ratio if only seeks took time and the ratio if only bytes did.
    let middle = (seeks * bytes).sqrt();
    let (outcome, id) = if low > middle {
        (Outcome::Reproduced, "waiting-like-seeks")
    } else if high < middle {
        (Outcome::Changed, "waiting-like-bytes")
    } else {
        (Outcome::Undecided, "waiting-undecided")
    };
    judge(outcome, Statement::new(id).with("middle", Figure::ratio(middle)))
}

fn judge_caveat(git: Option<&Estimate>, trees: Option<&Ratio>) -> Judgement {
    let (Some(git), Some(trees)) = (git, trees) else {
        return Judgement::not_measured(Statement::new("checkouts-by-git"));
    };
    let shown = vec![
        named_ratio(Statement::new("checkouts"), git),
        named_ratio(Statement::new("reading-trees"), &trees.estimate),
    ];
    let judge = |outcome, reason| Judgement::new(outcome, shown, reason);
    let (Some([low, high]), Some([least, most])) = (git.interval, trees.estimate.interval) else {
        return judge(Outcome::Undecided, Statement::new("caveat-without-interval"));
    };
    // The ratio of checkouts as a multiple of that of trees, at least and at most.
    let (low, high) = (low / most, high / least);
    let (least, most) = (1.0 / (1.0 + CLOSE), 1.0 + CLOSE);
    let (outcome, id) = if low >= least && high <= most {
        (Outcome::Reproduced, "checkouts-close")
    } else if low > most {
        (Outcome::NotReproduced, "checkouts-slower")
    } else if high < least {
        (Outcome::NotReproduced, "checkouts-faster")
    } else {
        (Outcome::Undecided, "checkouts-undecided")
    };
    judge(outcome, Statement::new(id).with("close", Figure::share(CLOSE)))
}

#[cfg(test)]
mod tests {
    use repackbench_records::published_experiment;

    use super::*;
    use crate::{flat_vs_gzip_tree::git_arm::GitArm, interleaved::ratio_of};

    fn readings(elapsed: &[f64]) -> Samples {
        [(ELAPSED, elapsed.to_vec())].into()
    }

    /// The raw values of 2005.
    fn published_raw() -> BTreeMap<String, Samples> {
        let table = published_experiment(super::super::NAME).unwrap().table("reading").unwrap();
        table.rows.iter().map(|row| (row.label.clone(), readings(&row.samples))).collect()
    }

    #[test]
    fn published_values_reproduce_their_own_claims() {
        let raw = published_raw();
        let errors = layout_errors(&raw);
        let labels: Vec<String> = errors.iter().map(LayoutError::label).collect();
        assert_eq!(labels, ["flat-3 / flat-2", "gzip-3 / gzip-2"]);
        assert_eq!(judge_layout(Some(0.03), &errors).outcome, Outcome::Reproduced);
        let sparse = ratio_of(raw["gzip-1"].get(ELAPSED), raw["flat-1"].get(ELAPSED)).unwrap();
        assert_eq!(takes("it", &[1.4], Some(&sparse)).outcome, Outcome::Reproduced);
        // Two pairs of copies, which differ from each other by half of the effect, say too little about others.
        let fair = fair_ratio(&raw, Kind::Gzip, Kind::Flat).unwrap();
        assert!((fair.estimate.value - 0.967).abs() < 0.002, "{fair:?}");
        assert_eq!(takes("it", &[0.97], Some(&fair)).outcome, Outcome::Undecided);
    }

    fn copies(ratios: [f64; 4]) -> BTreeMap<String, Samples> {
        let flat: Vec<f64> = (0..12).map(|run| 10.0 + f64::from(run % 3) * 0.01).collect();
        let mut raw = BTreeMap::new();
        for (number, ratio) in (2..).zip(ratios) {
            raw.insert(format!("flat-{number}"), readings(&flat));
            raw.insert(format!("gzip-{number}"), readings(&flat.iter().map(|time| time * ratio).collect::<Vec<_>>()));
        }
        raw
    }

    #[test]
    fn compressed_tree_is_judged_over_copies() {
        for (ratios, outcome) in [
            ([0.97, 0.968, 0.972, 0.97], Outcome::Reproduced),
            ([0.50, 0.51, 0.50, 0.505], Outcome::Changed),
            ([1.10, 1.11, 1.10, 1.105], Outcome::NotReproduced),
            ([1.0, 1.001, 0.999, 1.0], Outcome::NotReproduced),
            ([0.9, 1.1, 0.95, 1.02], Outcome::Undecided),
        ] {
            let fair = fair_ratio(&copies(ratios), Kind::Gzip, Kind::Flat);
            let found = takes("it", &[0.97], fair.as_ref());
            assert_eq!(found.outcome, outcome, "{ratios:?}: {:?}", found.reasons);
        }
        assert_eq!(fair_ratio(&BTreeMap::new(), Kind::Gzip, Kind::Flat), None);
    }

    #[test]
    fn layout_error_is_judged_between_like_copies() {
        let judged = |ratios| judge_layout(Some(0.03), &layout_errors(&copies(ratios))).outcome;
        assert_eq!(judged([1.0, 1.02, 1.0, 1.01]), Outcome::Reproduced);
        assert_eq!(judged([1.0, 1.3, 1.0, 1.0]), Outcome::Changed);
        assert_eq!(judged([1.0, 1.0, 1.0, 1.0]), Outcome::NotReproduced);
        let mut short = copies([1.0, 1.02, 1.0, 1.0]);
        short.values_mut().for_each(|readings| readings.truncate(3));
        assert_eq!(judge_layout(Some(0.03), &layout_errors(&short)).outcome, Outcome::Undecided);
        assert_eq!(judge_layout(Some(0.03), &[]).outcome, Outcome::Undecided);
        // One of six pairs whose six runs all lie on one side, as happens by chance.
        let mut six = copies([1.0, 1.2, 1.0, 1.0]);
        six.values_mut().for_each(|readings| readings.truncate(6));
        assert_eq!(judge_layout(Some(0.03), &layout_errors(&six)).outcome, Outcome::Undecided);
    }

    #[test]
    fn verdicts_say_that_inodes_were_in_memory() {
        let measured = vec![named_ratio("it", Figure::ratio(0.97))];
        let judged = Judgement::new(Outcome::Reproduced, measured, Statement::new("copies-differ"));
        assert_eq!(with_inodes(judged.clone(), true), judged);
        assert_eq!(with_inodes(judged, false).reasons[1], Statement::new("inodes-in-memory"));
        let missing = Judgement::not_measured("it");
        assert_eq!(with_inodes(missing.clone(), false), missing);
    }

    #[test]
    fn seeks_bind_where_waiting_follows_them() {
        let waits = |low: f64, high: f64, part| {
            let estimate = Estimate { value: (low * high).sqrt(), interval: Some([low, high]), samples: vec![] };
            Waits { ratio: Some(Ratio { estimate, floor: 0.01 }), part: Some(part) }
        };
        for (seeks, low, high, part, outcome) in [
            (1.0, 0.95, 0.99, 0.9, Outcome::Reproduced),
            // Waiting is a small part: equal times say nothing about seeks.
            (1.0, 0.95, 0.99, 0.4, Outcome::Undecided),
            (1.0, 0.45, 0.5, 0.4, Outcome::Undecided),
            (1.0, 0.45, 0.5, 0.9, Outcome::Changed),
            (1.0, 0.5, 0.9, 0.9, Outcome::Undecided),
            (0.5, 0.95, 0.99, 0.9, Outcome::NotReproduced),
        ] {
            let found = judge_seeks([Some(seeks), None], Some(0.45), &waits(low, high, part));
            assert_eq!(found.outcome, outcome, "{seeks} {low} {high} {part}: {:?}", found.reasons);
        }
        let judge = |seeks| judge_seeks(seeks, Some(0.45), &waits(0.95, 0.99, 0.9)).outcome;
        assert_eq!(judge([Some(1.0), Some(1.03)]), Outcome::Reproduced);
        assert_eq!(judge([Some(1.0), Some(0.1)]), Outcome::NotReproduced);
        assert_eq!(judge([None, Some(1.0)]), Outcome::Undecided);
        assert_eq!(judge_seeks([Some(1.0), None], Some(0.45), &Waits::default()).outcome, Outcome::Undecided);
    }

    #[test]
    fn waiting_excludes_cpu_time_and_seeks_cover_all_copies() {
        let mut raw = copies([0.97, 0.97, 0.97, 0.97]);
        // All but a second is CPU time, and that second is halved.
        for (label, found) in &mut raw {
            let waited = if label.starts_with("gzip") { 0.5 } else { 1.0 };
            let cpu = found.get(ELAPSED).iter().map(|elapsed| elapsed - waited).collect();
            found.set(CPU, cpu);
        }
        let found = waits(&raw);
        assert!((found.ratio.unwrap().estimate.value - 0.5).abs() < 1e-6);
        assert!(found.part.is_some_and(|part| (0.04..0.06).contains(&part)), "{:?}", found.part);

        let reads = |seeks: u64| DiskReads { seeks: Some(seeks), bytes: 4096, ..DiskReads::default() };
        let mut disk: BTreeMap<String, DiskReads> = BTreeMap::new();
        for (copy, (gzip, flat)) in (0..COPIES).zip([(100, 100), (300, 100), (100, 100), (100, 100)]) {
            disk.insert(copy_label(Kind::Gzip, copy), reads(gzip));
            disk.insert(copy_label(Kind::Flat, copy), reads(flat));
        }
        assert_eq!(disk_ratio(&disk, |reads| reads.seeks), Some(1.5));
        assert_eq!(disk_ratio(&BTreeMap::new(), |reads| reads.seeks), None);
        disk.extend([("flat-6".to_owned(), reads(100)), ("gzip-6".to_owned(), reads(25))]);
        assert_eq!(seeks_alone(&disk), Some(0.25));
        disk.insert("flat-6".to_owned(), reads(99));
        assert_eq!(seeks_alone(&disk), None);
        assert_eq!(seeks_alone(&BTreeMap::new()), None);
    }

    #[test]
    fn checkouts_are_compared_with_trees() {
        let found =
            |low: f64, high: f64| Estimate { value: (low * high).sqrt(), interval: Some([low, high]), samples: vec![] };
        let trees = Ratio { estimate: found(0.95, 0.99), floor: 0.01 };
        for (low, high, outcome) in [
            (0.95, 1.0, Outcome::Reproduced),
            (1.2, 1.3, Outcome::NotReproduced),
            (0.5, 0.6, Outcome::NotReproduced),
            (0.9, 1.2, Outcome::Undecided),
            // Close to the middle of the trees' interval, and to 0.99, but not to 0.95.
            (0.98, 1.06, Outcome::Undecided),
        ] {
            let judged = judge_caveat(Some(&found(low, high)), Some(&trees));
            assert_eq!(judged.outcome, outcome, "{low} {high}");
            assert_eq!(judged.reasons[0].id == "checkouts-slower", low == 1.2, "{:?}", judged.reasons);
        }
        assert_eq!(judge_caveat(None, Some(&trees)).outcome, Outcome::Undecided);
        let single = Estimate { interval: None, ..found(0.9, 1.0) };
        assert_eq!(judge_caveat(Some(&single), Some(&trees)).outcome, Outcome::Undecided);
        let single = Ratio { estimate: Estimate { interval: None, ..found(0.95, 0.99) }, floor: 0.01 };
        assert_eq!(judge_caveat(Some(&found(0.95, 1.0)), Some(&single)).outcome, Outcome::Undecided);
        // Six runs of four copies, in which a checkout from compressed objects takes half as long again.
        let flat: Vec<f64> = (0..6).map(|run| 10.0 + f64::from(run % 3) * 0.01).collect();
        let slower = flat.iter().map(|time| time * 1.5).collect::<Vec<_>>();
        let arm = GitArm { readings: vec![readings(&flat), readings(&slower), Samples::default()], bytes: vec![] };
        assert!((arm.to_flat(DECIDING).unwrap().value - 1.5).abs() < 1e-9);
        assert_eq!(arm.to_flat(0), None);
        assert_eq!(GitArm::default().to_flat(DECIDING), None);
    }
}
