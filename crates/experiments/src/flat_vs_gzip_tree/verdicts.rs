//! What the figures say of each claim, by rules.
//!
//! - `compressed-faster`: the ratio of compressed to flat over the copies that were written side by side, with copies as a level of their
//!   own, by the rule for times (see [`crate::verdict`]).
//! - `layout`: copies that were made alike, each held against the second one in the same runs. **Reproduced** where some pair
//!   differs, by the sign test with Holm's correction, and the largest distance from 1 is at most [`TWICE`] the published one; **changed**
//!   where that is more; **not reproduced** where all intervals lie within [`NO_LAYOUT`] of 1; else undecided.
//! - `sparse`: the ratio of `gzip-1` to `flat-1`, by the rule for times.
//! - `seeks`: **not reproduced** where the numbers of seeks differ by more than [`SAME`], over all copies or of the trees that were written
//!   as a whole, as the published ones were: side by side nearly every file is a seek. Else the time that readings waited
//!   decides, which is elapsed time without processor time: **undecided** unless that is [`MOST`] of the elapsed time of either kind. Its
//!   ratio is nearer to that of seeks or to that of bytes, on a scale of factors: wholly nearer to that of seeks is **reproduced**, wholly
//!   nearer to that of bytes **changed**, as the number is the same and does not bind.
//! - `caveat`: the ratio of checkouts by git from loose objects, zlib 9 to zlib 0, beside that of trees. **Reproduced** where every ratio in the
//!   one interval lies within [`CLOSE`] of every ratio in the other, **not reproduced** where none does, else undecided.

use std::collections::BTreeMap;

use repackbench_analysis::{CopyRatio, ERROR_RATE, LEAST_FLOOR, hierarchical_interval, holm, sign_test};
use repackbench_records::{ClaimOutcome, Estimate, Outcome, Published};

use super::{
    Figures, Readings,
    git_arm::DECIDING,
    seeks::DiskReads,
    trees::{ALONE, COPIES, Kind},
};
use crate::{
    estimates::{Ratio, median_estimate},
    interleaved::ratio_of,
    text::{estimate, percent, ratio},
    verdict::{Judgement, SAME, outcomes, takes},
};

/// A layout error is the published one if it is no more than so many times as large.
const TWICE: f64 = 2.0;
/// Copies whose ratio lies within this of 1 have no layout error worth a word.
const NO_LAYOUT: f64 = 0.01;

/// What is said of every verdict where caches of folders and inodes may not be dropped.
const WARM_INODES: &str = "Folders and inodes were in memory, so that reading those is in no time here.";

/// So many seeks are more than where a file or two happened to find room.
const LEAST_SEEKS: u64 = 100;

/// So much of the elapsed time is most of it.
const MOST: f64 = 0.5;

/// Two ratios are quite close if neither is more than this above the other, as a part of 1.
const CLOSE: f64 = 0.1;

/// The outcome of every claim.
pub(super) fn claims(published: &Published, figures: &Figures) -> Vec<ClaimOutcome> {
    let value = |id: &str| published.claim(id).and_then(|claim| claim.value);
    let fair = fair_ratio(&figures.raw, Kind::Gzip, Kind::Flat);
    let judgements = [
        ("compressed-faster", judge_time("the compressed tree", value("compressed-faster"), fair.as_ref())),
        ("layout", judge_layout(value("layout"), &layout_errors(&figures.raw))),
        (
            "sparse",
            judge_time(
                "The tree compressed in place",
                value("sparse"),
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
    let told = judgements.into_iter().map(|(id, judgement)| (id, of_inodes(judgement, figures.drops_all)));
    outcomes(published, told)
}

/// Says of what was judged from times that these are without a part of the published ones, where they are.
fn of_inodes(judgement: Judgement, drops_all: bool) -> Judgement {
    if drops_all || judgement.measured.is_empty() {
        return judgement;
    }
    Judgement { reason: format!("{} {WARM_INODES}", judgement.reason), ..judgement }
}

fn judge_time(what: &str, published: Option<f64>, measured: Option<&Ratio>) -> Judgement {
    takes(what, published.as_slice(), measured)
}

/// The ratio of one tree's times to another's.
pub(super) fn ratio_between(figures: &Figures, one: &str, other: &str) -> Option<Ratio> {
    ratio_of(&figures.raw.get(one)?.elapsed, &figures.raw.get(other)?.elapsed)
}

/// The ratio of one kind to another over all copies that were written side by side: what differs between copies is kept apart from what
/// differs between runs.
pub(super) fn fair_ratio(raw: &BTreeMap<String, Readings>, one: Kind, other: Kind) -> Option<Ratio> {
    ratio_over_copies(raw, one, other, |readings| readings.elapsed.clone())
}

/// The ratio of what `of` makes of the readings.
fn ratio_over_copies(
    raw: &BTreeMap<String, Readings>,
    one: Kind,
    other: Kind,
    of: fn(&Readings) -> Vec<f64>,
) -> Option<Ratio> {
    let mut values = Vec::new();
    for copy in 0..COPIES {
        let times = |kind: Kind| raw.get(&copy_label(kind, copy)).map(of);
        let (Some(one), Some(other)) = (times(one), times(other)) else { continue };
        let logs = one.iter().zip(&other).map(|(one, other)| (one / other).ln());
        values.extend((0..).zip(logs).filter(|(_, log)| log.is_finite()).map(|(block, log_ratio)| CopyRatio {
            block,
            copy,
            log_ratio,
        }));
    }
    let found = hierarchical_interval(&values)?;
    let interval = found.interval.map(|interval| [interval.low, interval.high]);
    let samples = values.iter().map(|value| value.log_ratio.exp()).collect();
    Some(Ratio { estimate: Estimate { value: found.ratio, interval, samples }, floor: LEAST_FLOOR })
}

/// Each copy of a kind as a multiple of the second one.
pub(super) fn layout_errors(raw: &BTreeMap<String, Readings>) -> Vec<(String, Ratio)> {
    let mut errors = Vec::new();
    for kind in [Kind::Flat, Kind::Gzip] {
        let times = |number: u32| raw.get(&format!("{}-{number}", kind.name())).map(|readings| &readings.elapsed);
        for number in 3..COPIES + 2 {
            if let (Some(first), Some(copy)) = (times(2), times(number))
                && let Some(found) = ratio_of(copy, first)
            {
                errors.push((format!("{0}-{number} / {0}-2", kind.name()), found));
            }
        }
    }
    errors
}

fn judge_layout(published: Option<f64>, errors: &[(String, Ratio)]) -> Judgement {
    let distance = |ratio: &Ratio| ratio.estimate.value.ln().abs().exp_m1();
    let largest = errors.iter().max_by(|(_, one), (_, other)| distance(one).total_cmp(&distance(other)));
    let (Some((label, largest)), Some(published)) = (largest, published) else {
        return Judgement::missing("Copies were not measured.");
    };
    let shown = format!("at most {}: {label} {}", percent(distance(largest)), estimate(&largest.estimate));
    let Some(intervals) = errors.iter().map(|(_, ratio)| ratio.estimate.interval).collect::<Option<Vec<_>>>() else {
        let why = "Copies have no intervals: those take six runs.".to_owned();
        return Judgement::new(Outcome::Undecided, shown, why);
    };
    let differs = differing(errors);
    let is_within = |[low, high]: &[f64; 2]| *low >= 1.0 / (1.0 + NO_LAYOUT) && *high <= 1.0 + NO_LAYOUT;
    let (outcome, reason) = if differs > 0 && distance(largest) <= published * TWICE {
        let why = format!(
            "{differs} of {} pairs of like copies differ by more than their runs do, none by more than twice the published {}.",
            errors.len(),
            percent(published)
        );
        (Outcome::Reproduced, why)
    } else if differs > 0 {
        let why = format!(
            "{differs} of {} pairs of like copies differ, and by up to {}, more than twice the published {}.",
            errors.len(),
            percent(distance(largest)),
            percent(published)
        );
        (Outcome::Changed, why)
    } else if intervals.iter().all(is_within) {
        (Outcome::NotReproduced, format!("All like copies agree within {}.", percent(NO_LAYOUT)))
    } else {
        (
            Outcome::Undecided,
            "No pair of like copies differs by more than its runs do, and not all agree within 1 %.".to_owned(),
        )
    };
    Judgement::new(outcome, shown, reason)
}

/// How many of the ratios are no 1: with Holm's correction, as one of many pairs may seem to differ by chance.
fn differing(errors: &[(String, Ratio)]) -> usize {
    let logs = errors.iter().map(|(_, ratio)| ratio.estimate.samples.iter().map(|sample| sample.ln()).collect());
    let mut probabilities: Vec<f64> = logs.map(|logs: Vec<f64>| sign_test(&logs, 0.0)).collect();
    holm(&mut probabilities.iter_mut().collect::<Vec<_>>());
    probabilities.iter().filter(|probability| **probability <= ERROR_RATE).count()
}

/// The label of a copy that was written side by side with others.
fn copy_label(kind: Kind, copy: u32) -> String {
    format!("{}-{}", kind.name(), copy + 2)
}

/// What the compressed copies take of the disk, together, as a multiple of what the flat ones take.
fn disk_ratio(disk: &BTreeMap<String, DiskReads>, of: fn(&DiskReads) -> Option<u64>) -> Option<f64> {
    let sum = |kind: Kind| (0..COPIES).map(|copy| disk.get(&copy_label(kind, copy)).and_then(of)).sum::<Option<u64>>();
    let (gzip, flat) = (sum(Kind::Gzip)?, sum(Kind::Flat)?);
    Some(gzip as f64 / flat as f64).filter(|ratio| ratio.is_finite())
}

/// The seeks of the compressed tree that was written as a whole, as a multiple of those of the flat one. `None` where there are fewer than
/// [`LEAST_SEEKS`] of those.
fn seeks_alone(disk: &BTreeMap<String, DiskReads>) -> Option<f64> {
    let seeks = |kind: Kind| disk.get(&format!("{}-{ALONE}", kind.name()))?.seeks;
    let flat = seeks(Kind::Flat).filter(|flat| *flat >= LEAST_SEEKS)?;
    Some(seeks(Kind::Gzip)? as f64 / flat as f64)
}

/// How long readings waited: for the disk, as nothing else is there to wait for.
#[derive(Debug, Default)]
struct Waits {
    /// The compressed copies' waiting as a multiple of that of the flat ones.
    ratio: Option<Ratio>,
    /// The part of the elapsed time, of the kind that has less of it: the median over runs and copies.
    part: Option<f64>,
}

fn waits(raw: &BTreeMap<String, Readings>) -> Waits {
    fn waited(readings: &Readings) -> Vec<f64> {
        readings.elapsed.iter().zip(&readings.cpu).map(|(elapsed, cpu)| (elapsed - cpu).max(0.0)).collect()
    }
    let part = |kind: Kind| {
        let of_copies = (0..COPIES).filter_map(|copy| raw.get(&copy_label(kind, copy)));
        let parts = of_copies.flat_map(|readings| {
            waited(readings).into_iter().zip(readings.elapsed.clone()).map(|(waited, elapsed)| waited / elapsed)
        });
        median_estimate(parts.filter(|part| part.is_finite()).collect()).map(|found| found.value)
    };
    Waits {
        ratio: ratio_over_copies(raw, Kind::Gzip, Kind::Flat, waited),
        part: part(Kind::Gzip).zip(part(Kind::Flat)).map(|(gzip, flat)| gzip.min(flat)),
    }
}

/// What tells that the number of seeks is not the same, over the copies or, second, of the trees that were written as a whole.
fn why_seeks_differ(seeks: f64, alone: Option<f64>) -> Option<String> {
    let differs = |seeks: f64| (seeks - 1.0).abs() > SAME;
    if differs(seeks) {
        let (seeks, same) = (ratio(seeks), percent(SAME));
        return Some(format!("The compressed trees take {seeks} times as many seeks, which is not within {same}."));
    }
    alone.filter(|alone| differs(*alone)).map(|alone| {
        format!(
            "Where trees were written as a whole, as the published ones were, the compressed one takes {} times as many seeks, which is not \
             within {}. Side by side nearly every file is one, so that their number is the same.",
            ratio(alone),
            percent(SAME)
        )
    })
}

fn judge_seeks([seeks, alone]: [Option<f64>; 2], bytes: Option<f64>, waits: &Waits) -> Judgement {
    let (Some(seeks), Some(bytes)) = (seeks, bytes) else {
        return Judgement::missing("The file system does not say where files lie, so that seeks cannot be counted.");
    };
    let mut shown = vec![format!("seeks {}", ratio(seeks)), format!("bytes {}", ratio(bytes))];
    shown.extend(alone.map(|alone| format!("seeks of whole trees {}", ratio(alone))));
    shown.extend(waits.ratio.as_ref().map(|found| format!("waiting {}", estimate(&found.estimate))));
    shown.extend(waits.part.map(|part| format!("which is {} of the time", percent(part))));
    let shown = shown.join(", ");
    if let Some(why) = why_seeks_differ(seeks, alone) {
        return Judgement::new(Outcome::NotReproduced, shown, why);
    }
    let same = "The number of seeks is almost the same";
    let interval = waits.ratio.as_ref().and_then(|found| found.estimate.interval);
    let (Some([low, high]), Some(part)) = (interval, waits.part) else {
        let why = format!("{same}; whether it binds takes an interval of times.");
        return Judgement::new(Outcome::Undecided, shown, why);
    };
    if part <= MOST {
        let why = format!(
            "{same}, but readings waited for {} of their time alone, so that neither seeks nor bytes bind: opening and reading files did.",
            percent(part)
        );
        return Judgement::new(Outcome::Undecided, shown, why);
    }
    // Half-way between what seeks alone and bytes alone would give.
    let middle = (seeks * bytes).sqrt();
    let (outcome, reason) = if low > middle {
        let why = format!(
            "{same}, and waiting is nearer to that ratio than to that of bytes: wholly above {}.",
            ratio(middle)
        );
        (Outcome::Reproduced, why)
    } else if high < middle {
        let why = format!("{same}, but waiting is nearer to the ratio of bytes: wholly below {}.", ratio(middle));
        (Outcome::Changed, why)
    } else {
        let why = format!(
            "{same}; the interval of waiting reaches across {}, half-way to the ratio of bytes.",
            ratio(middle)
        );
        (Outcome::Undecided, why)
    };
    Judgement::new(outcome, shown, reason)
}

fn judge_caveat(git: Option<&Estimate>, trees: Option<&Ratio>) -> Judgement {
    let (Some(git), Some(trees)) = (git, trees) else { return Judgement::missing("The Git arm was not measured.") };
    let shown = format!("checkouts {}, trees {}", estimate(git), estimate(&trees.estimate));
    let (Some([low, high]), Some([least, most])) = (git.interval, trees.estimate.interval) else {
        let why = "One of the ratios has no interval: that takes runs of two copies.".to_owned();
        return Judgement::new(Outcome::Undecided, shown, why);
    };
    // What checkouts are of trees, at least and at most.
    let (low, high) = (low / most, high / least);
    let (least, most) = (1.0 / (1.0 + CLOSE), 1.0 + CLOSE);
    let (outcome, reason) = if low >= least && high <= most {
        (
            Outcome::Reproduced,
            format!(
                "The interval of checkouts lies within {} of that of trees, wherever in it the ratio is.",
                percent(CLOSE)
            ),
        )
    } else if high < least || low > most {
        let why = if low > most { ": git decompresses what it checks out" } else { "" };
        let why = format!("The interval of checkouts lies more than {} from that of trees{why}.", percent(CLOSE));
        (Outcome::NotReproduced, why)
    } else {
        (
            Outcome::Undecided,
            format!(
                "The intervals of checkouts and of trees lie neither within {} of each other nor wholly beyond.",
                percent(CLOSE)
            ),
        )
    };
    Judgement::new(outcome, shown, reason)
}

#[cfg(test)]
mod tests {
    use repackbench_records::published_experiment;

    use super::*;
    use crate::flat_vs_gzip_tree::git_arm::GitArm;

    fn readings(elapsed: &[f64]) -> Readings {
        Readings { elapsed: elapsed.to_vec(), ..Readings::default() }
    }

    /// The raw values of 2005.
    fn published_raw() -> BTreeMap<String, Readings> {
        let table = published_experiment(super::super::NAME).unwrap().table("reading").unwrap();
        table.rows.iter().map(|row| (row.label.clone(), readings(&row.samples))).collect()
    }

    #[test]
    fn the_published_values_themselves() {
        let raw = published_raw();
        let errors = layout_errors(&raw);
        let labels: Vec<&str> = errors.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, ["flat-3 / flat-2", "gzip-3 / gzip-2"]);
        assert_eq!(judge_layout(Some(0.03), &errors).outcome, Outcome::Reproduced);
        let sparse = ratio_of(&raw["gzip-1"].elapsed, &raw["flat-1"].elapsed).unwrap();
        assert_eq!(judge_time("it", Some(1.4), Some(&sparse)).outcome, Outcome::Reproduced);
        // Two pairs of copies, which differ from each other by half of the effect, say too little of others.
        let fair = fair_ratio(&raw, Kind::Gzip, Kind::Flat).unwrap();
        assert!((fair.estimate.value - 0.967).abs() < 0.002, "{fair:?}");
        assert_eq!(judge_time("it", Some(0.97), Some(&fair)).outcome, Outcome::Undecided);
    }

    fn copies(ratios: [f64; 4]) -> BTreeMap<String, Readings> {
        let flat: Vec<f64> = (0..12).map(|run| 10.0 + f64::from(run % 3) * 0.01).collect();
        let mut raw = BTreeMap::new();
        for (number, ratio) in (2..).zip(ratios) {
            raw.insert(format!("flat-{number}"), readings(&flat));
            raw.insert(format!("gzip-{number}"), readings(&flat.iter().map(|time| time * ratio).collect::<Vec<_>>()));
        }
        raw
    }

    #[test]
    fn compressed_is_judged_over_copies() {
        for (ratios, outcome) in [
            ([0.97, 0.968, 0.972, 0.97], Outcome::Reproduced),
            ([0.50, 0.51, 0.50, 0.505], Outcome::Changed),
            ([1.10, 1.11, 1.10, 1.105], Outcome::NotReproduced),
            ([1.0, 1.001, 0.999, 1.0], Outcome::NotReproduced),
            ([0.9, 1.1, 0.95, 1.02], Outcome::Undecided),
        ] {
            let fair = fair_ratio(&copies(ratios), Kind::Gzip, Kind::Flat);
            let found = judge_time("it", Some(0.97), fair.as_ref());
            assert_eq!(found.outcome, outcome, "{ratios:?}: {}", found.reason);
        }
        assert_eq!(fair_ratio(&BTreeMap::new(), Kind::Gzip, Kind::Flat), None);
    }

    #[test]
    fn the_layout_error_is_judged_between_like_copies() {
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
    fn verdicts_say_that_inodes_were_warm() {
        let judged = || Judgement::new(Outcome::Reproduced, "0.97".to_owned(), "It is.".to_owned());
        assert_eq!(of_inodes(judged(), true), judged());
        let told = of_inodes(judged(), false).reason;
        assert!(told.starts_with("It is. Folders and inodes were in memory"), "{told}");
        let missing = Judgement::missing("It was not measured.");
        assert_eq!(of_inodes(missing.clone(), false), missing);
    }

    #[test]
    fn seeks_bind_where_waiting_is_as_seeks_are() {
        let waits = |low: f64, high: f64, part| {
            let estimate = Estimate { value: (low * high).sqrt(), interval: Some([low, high]), samples: vec![] };
            Waits { ratio: Some(Ratio { estimate, floor: 0.01 }), part: Some(part) }
        };
        for (seeks, low, high, part, outcome) in [
            (1.0, 0.95, 0.99, 0.9, Outcome::Reproduced),
            // Nothing much is waited for: that times are alike says nothing of seeks.
            (1.0, 0.95, 0.99, 0.4, Outcome::Undecided),
            (1.0, 0.45, 0.5, 0.4, Outcome::Undecided),
            (1.0, 0.45, 0.5, 0.9, Outcome::Changed),
            (1.0, 0.5, 0.9, 0.9, Outcome::Undecided),
            (0.5, 0.95, 0.99, 0.9, Outcome::NotReproduced),
        ] {
            let found = judge_seeks([Some(seeks), None], Some(0.45), &waits(low, high, part));
            assert_eq!(found.outcome, outcome, "{seeks} {low} {high} {part}: {}", found.reason);
        }
        let judge = |seeks| judge_seeks(seeks, Some(0.45), &waits(0.95, 0.99, 0.9)).outcome;
        assert_eq!(judge([Some(1.0), Some(1.03)]), Outcome::Reproduced);
        assert_eq!(judge([Some(1.0), Some(0.1)]), Outcome::NotReproduced);
        assert_eq!(judge([None, Some(1.0)]), Outcome::Undecided);
        assert_eq!(judge_seeks([Some(1.0), None], Some(0.45), &Waits::default()).outcome, Outcome::Undecided);
    }

    #[test]
    fn what_is_waited_for_is_no_processor_time_and_seeks_are_those_of_all_copies() {
        let mut raw = copies([0.97, 0.97, 0.97, 0.97]);
        // All but a second of it is the processor's, and that second is halved.
        for (label, found) in &mut raw {
            let waited = if label.starts_with("gzip") { 0.5 } else { 1.0 };
            found.cpu = found.elapsed.iter().map(|elapsed| elapsed - waited).collect();
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
    fn checkouts_are_close_where_their_ratio_is_that_of_trees() {
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
            assert_eq!(judged.reason.contains("git decompresses"), low == 1.2, "{}", judged.reason);
        }
        assert_eq!(judge_caveat(None, Some(&trees)).outcome, Outcome::Undecided);
        let single = Estimate { interval: None, ..found(0.9, 1.0) };
        assert_eq!(judge_caveat(Some(&single), Some(&trees)).outcome, Outcome::Undecided);
        let single = Ratio { estimate: Estimate { interval: None, ..found(0.95, 0.99) }, floor: 0.01 };
        assert_eq!(judge_caveat(Some(&found(0.95, 1.0)), Some(&single)).outcome, Outcome::Undecided);
        // Six runs of four copies, in which a checkout from compressed objects takes half as long again.
        let flat: Vec<f64> = (0..6).map(|run| 10.0 + f64::from(run % 3) * 0.01).collect();
        let slower = flat.iter().map(|time| time * 1.5).collect::<Vec<_>>();
        let arm = GitArm { readings: vec![readings(&flat), readings(&slower), Readings::default()], bytes: vec![] };
        assert!((arm.to_flat(DECIDING).unwrap().value - 1.5).abs() < 1e-9);
        assert_eq!(arm.to_flat(0), None);
        assert_eq!(GitArm::default().to_flat(DECIDING), None);
    }
}
