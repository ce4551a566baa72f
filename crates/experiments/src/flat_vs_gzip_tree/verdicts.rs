//! What the figures say of each claim, by rules.
//!
//! - `compressed-faster`: the ratio of compressed to flat over the copies that were written side by side, with copies as a level of their
//!   own, by the rule for times (see [`crate::verdict`]).
//! - `layout`: copies that were made alike, each held against the second one in the same runs. **Reproduced** where some pair
//!   differs, by the sign test with Holm's correction, and the largest distance from 1 is at most [`TWICE`] the published one; **changed**
//!   where that is more; **not reproduced** where all intervals lie within [`NO_LAYOUT`] of 1; else undecided.
//! - `sparse`: the ratio of `gzip-1` to `flat-1`, by the rule for times.
//! - `seeks`: **not reproduced** where the numbers of seeks differ by more than [`SAME`]. Else the ratio of times is nearer to that of seeks
//!   or to that of bytes, on a scale of factors: wholly nearer to that of seeks is **reproduced**, wholly nearer to that of bytes
//!   **changed**, as the number is the same and does not bind.
//! - `caveat`: the ratio of checkouts from loose objects, compressed to flat, beside that of trees. **Reproduced** where its interval lies
//!   within [`CLOSE`] of the trees' ratio, **not reproduced** where it lies wholly beyond, else undecided.

use std::collections::BTreeMap;

use repackbench_records::{ClaimOutcome, Estimate, Outcome, Published};
use repackbench_timing::statistics::{ERROR_RATE, LEAST_FLOOR, hierarchical_interval, holm, sign_test};

use super::{
    Figures, Readings,
    git_arm::GitArm,
    tables::by_copy,
    trees::{COPIES, Kind, Trees},
};
use crate::{
    estimates::Ratio,
    interleaved::ratio_of,
    text::{estimate, percent, ratio},
    verdict::{Judgement, SAME, claim, takes},
};

/// A layout error is the published one if it is no more than so many times as large.
const TWICE: f64 = 2.0;
/// Copies whose ratio lies within this of 1 have no layout error worth a word.
const NO_LAYOUT: f64 = 0.01;

/// Two ratios are quite close if neither is more than this above the other, as a part of 1.
const CLOSE: f64 = 0.1;

/// The outcome of every claim.
pub(super) fn claims(published: &Published, trees: &Trees, figures: &Figures) -> Vec<ClaimOutcome> {
    let value = |id: &str| published.claim(id).and_then(|claim| claim.value);
    let seeks = |label: &str| figures.disk.get(label).and_then(|reads| reads.seeks);
    let bytes =
        |kind: Kind| trees.get(kind, 2).and_then(|tree| figures.disk.get(&tree.label())).map(|reads| reads.bytes);
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
                seeks("gzip-2").zip(seeks("flat-2")).map(|(gzip, flat)| gzip as f64 / flat as f64),
                bytes(Kind::Gzip).zip(bytes(Kind::Flat)).map(|(gzip, flat)| gzip as f64 / flat as f64),
                fair.as_ref(),
            ),
        ),
        ("caveat", judge_caveat(git_ratio(&figures.git).as_ref(), fair.as_ref())),
    ];
    judgements.into_iter().filter_map(|(id, judgement)| claim(published, id, judgement)).collect()
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
    let mut values = Vec::new();
    for copy in 0..COPIES {
        let times = |kind: Kind| raw.get(&format!("{}-{}", kind.name(), copy + 2)).map(|readings| &readings.elapsed);
        let (Some(one), Some(other)) = (times(one), times(other)) else { continue };
        let logs = one.iter().zip(other).map(|(one, other)| (one / other).ln());
        values.extend((0..).zip(logs).filter(|(_, log)| log.is_finite()).map(|(run, log)| (run, copy, log)));
    }
    let found = hierarchical_interval(&values)?;
    let interval = found.interval.map(|interval| [interval.low, interval.high]);
    let samples = values.iter().map(|(_, _, log)| log.exp()).collect();
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

fn judge_seeks(seeks: Option<f64>, bytes: Option<f64>, times: Option<&Ratio>) -> Judgement {
    let (Some(seeks), Some(bytes)) = (seeks, bytes) else {
        return Judgement::missing("The file system does not say where files lie, so that seeks cannot be counted.");
    };
    let shown = match times {
        Some(times) => format!("seeks {}, bytes {}, time {}", ratio(seeks), ratio(bytes), estimate(&times.estimate)),
        None => format!("seeks {}, bytes {}", ratio(seeks), ratio(bytes)),
    };
    if (seeks - 1.0).abs() > SAME {
        let why = format!(
            "The compressed tree takes {} times as many seeks, which is not within {}.",
            ratio(seeks),
            percent(SAME)
        );
        return Judgement::new(Outcome::NotReproduced, shown, why);
    }
    let Some([low, high]) = times.and_then(|times| times.estimate.interval) else {
        let why = "The number of seeks is almost the same; whether it binds takes an interval of times.".to_owned();
        return Judgement::new(Outcome::Undecided, shown, why);
    };
    // Half-way between what seeks alone and bytes alone would give.
    let middle = (seeks * bytes).sqrt();
    let (outcome, reason) = if low > middle {
        (
            Outcome::Reproduced,
            format!(
                "The number of seeks is almost the same, and times are nearer to that ratio than to that of bytes: wholly above {}.",
                ratio(middle)
            ),
        )
    } else if high < middle {
        (
            Outcome::Changed,
            format!(
                "The number of seeks is almost the same, but times are nearer to the ratio of bytes: wholly below {}.",
                ratio(middle)
            ),
        )
    } else {
        (
            Outcome::Undecided,
            format!(
                "The number of seeks is almost the same; the interval of times reaches across {}, half-way to the ratio of bytes.",
                ratio(middle)
            ),
        )
    };
    Judgement::new(outcome, shown, reason)
}

/// Checkouts from compressed objects as a multiple of those from flat ones.
fn git_ratio(arm: &GitArm) -> Option<Estimate> {
    by_copy(arm.get(1)?, arm.get(0)?)
}

fn judge_caveat(git: Option<&Estimate>, trees: Option<&Ratio>) -> Judgement {
    let (Some(git), Some(trees)) = (git, trees) else { return Judgement::missing("The Git arm was not measured.") };
    let shown = format!("checkouts {}, trees {}", estimate(git), estimate(&trees.estimate));
    let Some([low, high]) = git.interval else {
        let why = "The ratio of checkouts has no interval: that takes runs of two copies.".to_owned();
        return Judgement::new(Outcome::Undecided, shown, why);
    };
    let (least, most) = (trees.estimate.value / (1.0 + CLOSE), trees.estimate.value * (1.0 + CLOSE));
    let (outcome, reason) = if low >= least && high <= most {
        (
            Outcome::Reproduced,
            format!("The interval of checkouts lies within {} of the ratio of trees.", percent(CLOSE)),
        )
    } else if high < least || low > most {
        (
            Outcome::NotReproduced,
            format!(
                "The interval of checkouts lies more than {} from the ratio of trees: a checkout also decompresses, and writes files.",
                percent(CLOSE)
            ),
        )
    } else {
        (
            Outcome::Undecided,
            format!(
                "The interval of checkouts lies neither within {} of the ratio of trees nor wholly beyond.",
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
    fn seeks_bind_where_times_are_as_seeks_are() {
        let times = |low: f64, high: f64| {
            let estimate = Estimate { value: (low * high).sqrt(), interval: Some([low, high]), samples: vec![] };
            Ratio { estimate, floor: 0.01 }
        };
        for (seeks, low, high, outcome) in [
            (1.0, 0.95, 0.99, Outcome::Reproduced),
            (1.0, 0.45, 0.5, Outcome::Changed),
            (1.0, 0.5, 0.9, Outcome::Undecided),
            (0.5, 0.95, 0.99, Outcome::NotReproduced),
        ] {
            let found = judge_seeks(Some(seeks), Some(0.45), Some(&times(low, high)));
            assert_eq!(found.outcome, outcome, "{seeks} {low} {high}: {}", found.reason);
        }
        assert_eq!(judge_seeks(None, Some(0.45), None).outcome, Outcome::Undecided);
        assert_eq!(judge_seeks(Some(1.0), Some(0.45), None).outcome, Outcome::Undecided);
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
        ] {
            assert_eq!(judge_caveat(Some(&found(low, high)), Some(&trees)).outcome, outcome, "{low} {high}");
        }
        assert_eq!(judge_caveat(None, Some(&trees)).outcome, Outcome::Undecided);
        let single = Estimate { interval: None, ..found(0.9, 1.0) };
        assert_eq!(judge_caveat(Some(&single), Some(&trees)).outcome, Outcome::Undecided);
        // Six runs of four copies, in which a checkout from compressed objects takes half as long again.
        let flat: Vec<f64> = (0..6).map(|run| 10.0 + f64::from(run % 3) * 0.01).collect();
        let slower = flat.iter().map(|time| time * 1.5).collect::<Vec<_>>();
        let arm = GitArm { readings: vec![readings(&flat), readings(&slower), Readings::default()], bytes: vec![] };
        assert!((git_ratio(&arm).unwrap().value - 1.5).abs() < 1e-9);
        assert_eq!(git_ratio(&GitArm::default()), None);
    }
}
