//! The verdict on each claim.

use repackbench_analysis::{
    ArmReader, Judgement, Ratio, Side, WorkloadKey, between, claim_outcomes, measured_size, named_ratio, side, takes,
    takes_the_same_beside, undecided,
};
use repackbench_records::{ClaimOutcome, Figure, Outcome, Statement};

use super::tables::{
    FETCH_SAME, Findings, INCREMENTAL, PICKAXE, REPACK, SERVE_SAME, SERVE_ZLIB, TRAVERSE, arm, published_user_ratio,
};

/// The codec that most claims are about.
const ARM: &str = "zstd:3";
/// The other levels at which a full repack was faster.
const UP_TO_7: [&str; 3] = ["zstd:1", "zstd:5", "zstd:7"];
/// A pack that is smaller by less than this part of 1 is no gain; one that is smaller by twice as much is.
const NO_GAIN: f64 = 0.005;
/// The published text and the published bytes of the size at level 5 differ by less than this.
const NEAR: f64 = 0.001;
/// An effect is much smaller if it is at most this part of another.
const MUCH_LESS: f64 = 0.5;
/// Work is expensive if it takes more than this many times as long.
const EXPENSIVE: f64 = 2.0;

/// An outcome for each published claim.
pub(super) fn claims(found: &Findings<'_>) -> Vec<ClaimOutcome> {
    let judged = [
        ("rev-list", read(found, TRAVERSE, "rev-list")),
        ("log-s", read(found, PICKAXE, "log -S")),
        ("size-5", size_at_5(found)),
        ("past-9", past_9(found)),
        ("size-does-not-read", size_does_not_read(found)),
        ("wrapper", wrapper(found)),
        ("repack", repack(found)),
        ("incremental", incremental(found)),
        ("recompress", recompress(found)),
    ];
    claim_outcomes(found.published, judged)
}

/// A read by git under zstd:3.
fn read(found: &Findings<'_>, job: WorkloadKey, command: &str) -> Judgement {
    let published: Vec<f64> = published_user_ratio(found, ARM, command).into_iter().collect();
    let what = Statement::new("under").with("what", format!("git {command}")).with("spec", ARM);
    let replayed = found.in_process(job, ARM);
    let replayed = replayed.map(|ratio| Statement::new("replay-takes").with("ratio", &ratio.estimate));
    takes(what, &published, found.by_git(job, ARM).as_ref()).because(replayed)
}

fn size_at_5(found: &Findings<'_>) -> Judgement {
    let Some(size) = found.size_ratio("zstd:5", super::BASELINE) else {
        return Judgement::not_measured("zstd:5");
    };
    let by_bytes =
        found.commands().and_then(|table| Some(table.value("zstd:5", "size")? / table.value("zlib", "size")?));
    let bound = by_bytes.unwrap_or(1.0).max(1.0) + NEAR;
    let (outcome, id) = if (size - 1.0).abs() <= bound - 1.0 {
        (Outcome::Reproduced, "packs-differ")
    } else if size > 1.0 {
        // The published pack was larger than zlib's, too.
        (Outcome::Changed, "packs-larger")
    } else {
        (Outcome::NotReproduced, "packs-smaller")
    };
    let reason = Statement::new(id).with("change", Figure::share((size - 1.0).abs()));
    Judgement::new(outcome, vec![measured_size(size)], reason)
}

fn past_9(found: &Findings<'_>) -> Judgement {
    let Some(size) = found.size_ratio("zstd:11", "zstd:9") else {
        return Judgement::missing(Statement::new("levels-9-and-11-not-measured"));
    };
    let gain = 1.0 - size;
    let outcome = match gain {
        gain if gain < NO_GAIN => Outcome::Reproduced,
        gain if gain < 2.0 * NO_GAIN => Outcome::Changed,
        _ => Outcome::NotReproduced,
    };
    let reason = Statement::new("past-9-shrinks").with("gain", Figure::share(gain));
    let time = of_two(found, REPACK, "zstd:11", "zstd:9");
    let time = time.map(|time| Statement::new("past-9-repack-takes").with("ratio", &time.estimate));
    let measured = Statement::new("of-the-bytes").with("ratio", Figure::ratio(size));
    Judgement::new(outcome, vec![measured], reason).because(time)
}

/// The time of one codec's row as a multiple of another's, by git, with the noise floor of the workload.
fn of_two(found: &Findings<'_>, job: WorkloadKey, one: &str, other: &str) -> Option<Ratio> {
    let floor = found.by_git(job, one)?.floor;
    let (one, other) = (arm(ArmReader::ClientWithLibrary, one)?, arm(ArmReader::ClientWithLibrary, other)?);
    Some(Ratio { estimate: between(found.records, job, &one, &other)?, floor })
}

/// The margin for "the same" derives from the published saving of zstd:3 over zlib.
fn size_does_not_read(found: &Findings<'_>) -> Judgement {
    let judge = |(what, job): (&'static str, WorkloadKey)| {
        let ratio = of_two(found, job, ARM, "zstd:1")?;
        let published: Vec<f64> = published_user_ratio(found, ARM, what).into_iter().collect();
        Some((what, takes_the_same_beside(what, &published, Some(&ratio)), ratio))
    };
    let judged: Vec<(&str, Judgement, Ratio)> =
        [("rev-list", TRAVERSE), ("log -S", PICKAXE)].into_iter().filter_map(judge).collect();
    let outcomes: Vec<Outcome> = judged.iter().map(|(_, judgement, _)| judgement.outcome).collect();
    let outcome = if outcomes.is_empty() {
        return Judgement::missing(Statement::new("reads-not-measured"));
    } else if outcomes.contains(&Outcome::NotReproduced) {
        Outcome::NotReproduced
    } else if outcomes.contains(&Outcome::Undecided) {
        Outcome::Undecided
    } else {
        Outcome::Reproduced
    };
    let measured = judged.iter().map(|(what, _, ratio)| named_ratio(*what, &ratio.estimate)).collect();
    let size = found.size_ratio(ARM, "zstd:1");
    let size = size.map(|size| {
        Statement::new("packs-have").with("spec", ARM).with("ratio", Figure::ratio(size)).with("of", "zstd:1")
    });
    let reasons = judged.into_iter().flat_map(|(_, judgement, _)| judgement.reasons).chain(size).collect();
    Judgement { outcome, measured, reasons }
}

/// The cost of another wrapper than the published one, which is no verdict on that one.
fn wrapper(found: &Findings<'_>) -> Judgement {
    let figures = [("rev-list", TRAVERSE), ("log -S", PICKAXE), ("repack", REPACK)];
    let figure = |(what, job): (&'static str, WorkloadKey)| {
        Some(named_ratio(what, &found.by_git(job, super::BASELINE)?.estimate))
    };
    let measured: Vec<Statement> = figures.into_iter().filter_map(figure).collect();
    if measured.is_empty() {
        return Judgement::not_measured("git");
    }
    Judgement::new(Outcome::NotComparable, measured, Statement::new("another-wrapper"))
}

fn repack(found: &Findings<'_>) -> Judgement {
    let published: Vec<f64> = published_user_ratio(found, ARM, "repack").into_iter().collect();
    let mut judgement = takes(full_repack(), &published, found.by_git(REPACK, ARM).as_ref());
    if judgement.measured.is_empty() {
        return judgement;
    }
    judgement.reasons.push(Statement::new("one-thread-packs"));
    let sides = UP_TO_7.map(|codec| (codec, found.by_git(REPACK, codec).map(|ratio| side(&ratio))));
    let those = |is_wanted: fn(Option<Side>) -> bool| -> Vec<&str> {
        sides.iter().filter(|(_, side)| is_wanted(*side)).map(|(codec, _)| *codec).collect()
    };
    let missing = those(|side| side.is_none());
    let unknown = those(|side| side == Some(Side::Unknown));
    let not_faster = those(|side| matches!(side, Some(Side::Within | Side::Above)));
    let lists = [("not-faster-under", &not_faster), ("undecided-under", &unknown), ("not-measured-under", &missing)];
    for (id, codecs) in lists.into_iter().filter(|(_, codecs)| !codecs.is_empty()) {
        judgement.reasons.push(Statement::new(id).with("codecs", codecs.clone()));
    }
    if matches!(judgement.outcome, Outcome::Reproduced | Outcome::Changed) {
        if !missing.is_empty() || !unknown.is_empty() {
            judgement.outcome = Outcome::Undecided;
        } else if !not_faster.is_empty() {
            judgement.outcome = Outcome::Changed;
        }
    }
    judgement
}

fn full_repack() -> Statement {
    Statement::new("full-repack").with("spec", ARM)
}

/// The least and the greatest distance of a ratio from 1, as logarithms; `None` without an interval.
fn effect(ratio: &Ratio) -> Option<[f64; 2]> {
    let [low, high] = ratio.estimate.interval?;
    let (one, other) = (low.ln().abs(), high.ln().abs());
    let least = if low <= 1.0 && high >= 1.0 { 0.0 } else { one.min(other) };
    Some([least, one.max(other)])
}

fn incremental(found: &Findings<'_>) -> Judgement {
    let Some(daily) = found.by_git(INCREMENTAL, ARM) else {
        return Judgement::not_measured(Statement::new("incremental-repack").with("spec", ARM));
    };
    let Some(full) = found.by_git(REPACK, ARM) else {
        return Judgement::not_measured(full_repack());
    };
    let measured = vec![named_ratio("incremental", &daily.estimate), named_ratio("full", &full.estimate)];
    let what = Statement::new("incremental-repack").with("spec", ARM);
    let differs = |id: &str| Statement::new(id).with("what", what.clone());
    let (outcome, reason) = match (effect(&daily), effect(&full)) {
        (None, _) => (Outcome::Undecided, undecided(what.clone(), &daily)),
        (_, None) => (Outcome::Undecided, undecided(full_repack(), &full)),
        _ if !matches!(side(&full), Side::Below | Side::Above) => {
            (Outcome::Undecided, Statement::new("full-does-not-differ").with("what", full_repack()))
        }
        (Some([_, most]), Some([least_of_full, _])) if most <= least_of_full * MUCH_LESS => {
            (Outcome::Reproduced, differs("differs-by-less-than-half"))
        }
        (Some([least, most]), Some([least_of_full, most_of_full]))
            if most <= least_of_full && least > most_of_full * MUCH_LESS =>
        {
            (Outcome::Changed, differs("differs-by-less"))
        }
        (Some([least, _]), Some([_, most_of_full])) if least > most_of_full => {
            (Outcome::NotReproduced, differs("differs-by-more"))
        }
        _ => (Outcome::Undecided, differs("differs-undecided")),
    };
    let fetch = found.by_git(FETCH_SAME, ARM);
    let fetch = fetch.map(|fetch| Statement::new("fetch-takes").with("ratio", &fetch.estimate));
    Judgement::new(outcome, measured, reason).because(fetch)
}

fn recompress(found: &Findings<'_>) -> Judgement {
    let Some(served) = found.in_process(SERVE_ZLIB, ARM) else {
        return Judgement::not_measured(Statement::new("serving"));
    };
    let measured = vec![Statement::new("of-serving-zlib").with("ratio", &served.estimate)];
    let what = Statement::new("serving-zlib-clients").with("spec", ARM);
    let serving = |id: &str| Statement::new(id).with("what", what.clone());
    let (outcome, reason) = match served.estimate.interval {
        Some([low, _]) if low > EXPENSIVE => (Outcome::Reproduced, serving("takes-more-than-twice")),
        Some(_) if side(&served) == Side::Above => (Outcome::Changed, serving("takes-longer-not-surely-twice")),
        Some([_, high]) if high <= 1.0 + served.floor => (Outcome::NotReproduced, serving("does-not-take-longer")),
        _ => (Outcome::Undecided, undecided(what.clone(), &served)),
    };
    let same = found.in_process(SERVE_SAME, ARM);
    let same = same.map(|same| Statement::new("serving-same-codec-takes").with("ratio", &same.estimate));
    Judgement::new(outcome, measured, reason).because(same)
}

#[cfg(test)]
mod tests {
    use repackbench_analysis::Ratios;
    use repackbench_records::{JudgedClaim, Record, published_experiment};

    use super::*;
    use crate::{
        tests::{assert_all_are_undecided, blocks, by_client, outcome_of, reason},
        zlib_vs_zstd_pack::{NAME, tables::VariantBytes},
    };

    fn judged(records: &[Record], bytes: &[(&str, u64)], id: &str) -> JudgedClaim {
        let bytes =
            bytes.iter().map(|(spec, packs)| ((*spec).to_owned(), VariantBytes { packs: *packs, total: *packs }));
        let published = published_experiment(NAME).unwrap();
        let found = Findings {
            published,
            records,
            ratios: Ratios::of(records),
            bytes: bytes.collect(),
            as_found: VariantBytes::default(),
        };
        outcome_of(id, claims(&found))
    }

    #[test]
    fn claims_without_figures_are_undecided() {
        let published = published_experiment(NAME).unwrap();
        let found = Findings {
            published,
            records: &[],
            ratios: Ratios::of(&[]),
            bytes: vec![],
            as_found: VariantBytes::default(),
        };
        assert_all_are_undecided(published, &claims(&found));
    }

    #[test]
    fn reads_are_compared_with_published_user_times() {
        for (part, outcome) in [(0.937, Outcome::Reproduced), (0.7, Outcome::Changed), (1.2, Outcome::NotReproduced)] {
            let records = by_client("traverse", &[("zstd:3", part)]);
            assert_eq!(judged(&records, &[], "rev-list").outcome, outcome, "{part}");
        }
        let records = by_client("diff:pickaxe", &[("zstd:3", 0.817), ("zstd:1", 0.82)]);
        assert_eq!(judged(&records, &[], "log-s").outcome, Outcome::Reproduced);
        assert_eq!(judged(&records, &[], "size-does-not-read").outcome, Outcome::Reproduced);
        let records = by_client("diff:pickaxe", &[("zstd:3", 0.6), ("zstd:1", 0.8)]);
        assert_eq!(judged(&records, &[], "size-does-not-read").outcome, Outcome::NotReproduced);
        // zstd:3 saves 6 % of rev-list: most of that is a difference.
        let records = by_client("traverse", &[("zstd:3", 0.937), ("zstd:1", 0.98)]);
        assert_eq!(judged(&records, &[], "size-does-not-read").outcome, Outcome::NotReproduced);
    }

    #[test]
    fn sizes_of_packs_are_judged_by_their_bytes() {
        let at_5 = |bytes| judged(&[], &[("zlib:6", 100_000), ("zstd:5", bytes)], "size-5").outcome;
        // The published bytes are 1.0087 of zlib's: an even larger pack changes the figure, not the direction.
        assert_eq!(
            [100_800, 99_500, 101_000, 103_000, 98_000].map(at_5),
            [Outcome::Reproduced, Outcome::Reproduced, Outcome::Changed, Outcome::Changed, Outcome::NotReproduced]
        );
        let past = |bytes| judged(&[], &[("zstd:9", 100_000), ("zstd:11", bytes)], "past-9").outcome;
        assert_eq!([99_900, 99_300, 95_000].map(past), [Outcome::Reproduced, Outcome::Changed, Outcome::NotReproduced]);
    }

    #[test]
    fn another_wrapper_is_shown_and_not_judged() {
        let records = by_client("traverse", &[("zlib:6", 1.5)]);
        let outcome = judged(&records, &[], "wrapper");
        assert_eq!(outcome.outcome, Outcome::NotComparable);
        assert!(reason(&outcome.measured).starts_with("rev-list 1.50 ["), "{:?}", outcome.measured);
    }

    #[test]
    fn repack_must_be_faster_at_all_levels_up_to_7() {
        let judge = |others: &[(&str, f64)]| {
            let codecs: Vec<(&str, f64)> = [("zstd:3", 0.93)].into_iter().chain(others.iter().copied()).collect();
            judged(&by_client("repack", &codecs), &[], "repack")
        };
        let with_7 = |at_7| judge(&[("zstd:1", 0.92), ("zstd:5", 0.94), ("zstd:7", at_7)]);
        assert_eq!(with_7(0.95).outcome, Outcome::Reproduced);
        let slow = with_7(1.1);
        assert_eq!(slow.outcome, Outcome::Changed);
        assert!(reason(&slow.reasons).ends_with("It is not faster under zstd:7."), "{:?}", slow.reasons);
        // Codecs that were left out are no evidence.
        let alone = judge(&[]);
        assert_eq!(alone.outcome, Outcome::Undecided);
        assert!(
            reason(&alone.reasons).ends_with("zstd:1, zstd:5 and zstd:7 were not measured."),
            "{:?}",
            alone.reasons
        );
    }

    /// An incremental repack and a full one, each with its ratio to zlib's time in a block.
    fn incremental_and_full(daily: impl Fn(u32) -> f64, full: impl Fn(u32) -> f64) -> Vec<Record> {
        let mut records = by_client("repack:incremental", &[("zstd:3", 1.0)]);
        for record in &mut records {
            record.workload.parameters.insert("commits".into(), "100".into());
        }
        records.extend(by_client("repack", &[("zstd:3", 1.0)]));
        for record in records.iter_mut().filter(|record| record.variant.label().starts_with("zstd")) {
            let block = record.place.block;
            let is_daily = record.workload.name.ends_with("incremental");
            let part = if is_daily { daily(block) } else { full(block) };
            record.sample.user_ns = (record.sample.user_ns as f64 * part) as u64;
        }
        records
    }

    #[test]
    fn incremental_repack_is_compared_with_the_full_one() {
        let judge = |part| judged(&incremental_and_full(|_| part, |_| 0.85), &[], "incremental").outcome;
        assert_eq!([0.97, 0.9, 0.6].map(judge), [Outcome::Reproduced, Outcome::Changed, Outcome::NotReproduced]);
    }

    #[test]
    fn incremental_repack_needs_a_full_one_that_differs() {
        let outcome = |records: &[Record]| judged(records, &[], "incremental").outcome;
        let both = incremental_and_full(|_| 0.97, |_| 0.85);
        let alone: Vec<Record> =
            both.into_iter().filter(|record| record.workload.name.ends_with("incremental")).collect();
        assert_eq!(outcome(&alone), Outcome::Undecided, "the published ratio is no yardstick");
        let none = incremental_and_full(|_| 1.0, |_| 0.999);
        assert_eq!(outcome(&none), Outcome::Undecided, "the full one does not differ");
        // The median is 0.85, and the interval reaches to 0.97.
        let wide = incremental_and_full(|_| 0.97, |block| 0.73 + 0.04 * f64::from(block));
        assert_eq!(outcome(&wide), Outcome::Undecided);
    }

    #[test]
    fn recompressing_is_expensive_above_twice_the_time() {
        let judge = |part| judged(&blocks("serve:zlib", "zlib:6", "zstd:3", part), &[], "recompress");
        assert_eq!(
            [5.0, 1.5, 0.9].map(|part| judge(part).outcome),
            [Outcome::Reproduced, Outcome::Changed, Outcome::NotReproduced]
        );
    }
}
