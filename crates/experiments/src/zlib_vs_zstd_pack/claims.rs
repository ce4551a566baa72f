//! What is to be said of each claim.

use repackbench_records::{ClaimOutcome, Outcome};

use super::tables::{
    FETCH_SAME, Findings, INCREMENTAL, PICKAXE, REPACK, SERVE_SAME, SERVE_ZLIB, TRAVERSE, arm, published_user_ratio,
};
use crate::{
    estimates::{JobName, Ratio, Who, between},
    text::{estimate, list, percent, size_ratio},
    verdict::{Judgement, Side, outcomes, side, takes, takes_the_same_beside, undecided},
};

/// The codec that most claims are about.
const ARM: &str = "zstd:3";
/// The other levels at which a full repack was faster.
const UP_TO_7: [&str; 3] = ["zstd:1", "zstd:5", "zstd:7"];
/// A smaller pack by less than this is no gain, and by twice as much it is one, as a part of 1.
const NO_GAIN: f64 = 0.005;
/// Text and bytes of the published size at level 5 differ by less than this.
const NEAR: f64 = 0.001;
/// What matters much less matters at most this part.
const MUCH_LESS: f64 = 0.5;
/// Expensive is what takes more than this many times as long.
const EXPENSIVE: f64 = 2.0;

/// An outcome for each published claim.
pub(super) fn claims(found: &Findings<'_>) -> Vec<ClaimOutcome> {
    let judged = [
        ("rev-list", read(found, "git rev-list", TRAVERSE, "rev-list")),
        ("log-s", read(found, "git log -S", PICKAXE, "log -S")),
        ("size-5", size_at_5(found)),
        ("past-9", past_9(found)),
        ("size-does-not-read", size_does_not_read(found)),
        ("wrapper", wrapper(found)),
        ("repack", repack(found)),
        ("incremental", incremental(found)),
        ("recompress", recompress(found)),
    ];
    outcomes(found.published, judged)
}

/// A read by git under zstd:3.
fn read(found: &Findings<'_>, what: &str, job: JobName, command: &str) -> Judgement {
    let published: Vec<f64> = published_user_ratio(found, ARM, command).into_iter().collect();
    let mut judgement = takes(&format!("{what} under {ARM}"), &published, found.by_git(job, ARM).as_ref());
    if let Some(replayed) = found.in_process(job, ARM) {
        let replayed = estimate(&replayed.estimate);
        judgement.reason.push_str(&format!(" Replayed, with little work but decoding, it takes {replayed}."));
    }
    judgement
}

fn size_at_5(found: &Findings<'_>) -> Judgement {
    let Some(size) = found.size_ratio("zstd:5", super::BASELINE) else {
        return Judgement::missing("zstd:5 was not measured.");
    };
    let by_bytes =
        found.commands().and_then(|table| Some(table.value("zstd:5", "size")? / table.value("zlib", "size")?));
    let bound = by_bytes.unwrap_or(1.0).max(1.0) + NEAR;
    let apart = percent((size - 1.0).abs());
    let (outcome, than) = if (size - 1.0).abs() <= bound - 1.0 {
        (Outcome::Reproduced, "differ")
    } else if size > 1.0 {
        // The published pack was larger than zlib's, too.
        (Outcome::Changed, "are larger")
    } else {
        (Outcome::NotReproduced, "are smaller")
    };
    let reason = format!("The packs {than} by {apart}, with the deltas of the source in both.");
    Judgement::new(outcome, size_ratio(size), reason)
}

fn past_9(found: &Findings<'_>) -> Judgement {
    let Some(size) = found.size_ratio("zstd:11", "zstd:9") else {
        return Judgement::missing("zstd:9 and zstd:11 were not both measured.");
    };
    let gain = 1.0 - size;
    let outcome = match gain {
        gain if gain < NO_GAIN => Outcome::Reproduced,
        gain if gain < 2.0 * NO_GAIN => Outcome::Changed,
        _ => Outcome::NotReproduced,
    };
    let mut reason = format!("From level 9 to 11 the packs shrink by {:.2} %.", gain * 100.0);
    if let Some(time) = repack_between(found, "zstd:11", "zstd:9") {
        reason.push_str(&format!(" A full repack then takes {} of the CPU time.", estimate(&time.estimate)));
    }
    Judgement::new(outcome, format!("{} of the bytes", size_ratio(size)), reason)
}

fn repack_between(found: &Findings<'_>, one: &str, other: &str) -> Option<Ratio> {
    of_two(found, REPACK, one, other)
}

/// The time of one codec's row as a multiple of another's, by git; the noise is that of the workload.
fn of_two(found: &Findings<'_>, job: JobName, one: &str, other: &str) -> Option<Ratio> {
    let floor = found.by_git(job, one)?.floor;
    let (one, other) = (arm(Who::Library, one)?, arm(Who::Library, other)?);
    Some(Ratio { estimate: between(found.records, job, &one, &other)?, floor })
}

/// What zstd:3 was published to save beside zlib says how little is the same.
fn size_does_not_read(found: &Findings<'_>) -> Judgement {
    let judge = |(what, job): (&'static str, JobName)| {
        let ratio = of_two(found, job, ARM, "zstd:1")?;
        let published: Vec<f64> = published_user_ratio(found, ARM, what).into_iter().collect();
        Some((what, takes_the_same_beside(what, &published, Some(&ratio))))
    };
    let judged: Vec<(&str, Judgement)> =
        [("rev-list", TRAVERSE), ("log -S", PICKAXE)].into_iter().filter_map(judge).collect();
    let outcomes: Vec<Outcome> = judged.iter().map(|(_, judgement)| judgement.outcome).collect();
    let outcome = if outcomes.is_empty() {
        return Judgement::missing("Neither rev-list nor log -S were measured under zstd:1 and zstd:3.");
    } else if outcomes.contains(&Outcome::NotReproduced) {
        Outcome::NotReproduced
    } else if outcomes.contains(&Outcome::Undecided) {
        Outcome::Undecided
    } else {
        Outcome::Reproduced
    };
    let measured: Vec<String> =
        judged.iter().map(|(what, judgement)| format!("{what} {}", judgement.measured)).collect();
    let mut reasons: Vec<String> = judged.into_iter().map(|(_, judgement)| judgement.reason).collect();
    if let Some(size) = found.size_ratio(ARM, "zstd:1") {
        reasons.push(format!("The packs of {ARM} have {} of the bytes of those of zstd:1.", size_ratio(size)));
    }
    Judgement::new(outcome, measured.join(", "), reasons.join(" "))
}

/// Another wrapper than the published one: its cost is told, and is no verdict on that one.
fn wrapper(found: &Findings<'_>) -> Judgement {
    let figures = [("rev-list", TRAVERSE), ("log -S", PICKAXE), ("repack", REPACK)];
    let measured: Vec<String> = figures
        .iter()
        .filter_map(|(what, job)| Some(format!("{what} {}", estimate(&found.by_git(*job, super::BASELINE)?.estimate))))
        .collect();
    if measured.is_empty() {
        return Judgement::missing("git was not measured.");
    }
    let reason = "The wrapper of 2016 was linked into git; what was measured here is a preloaded library in its place.";
    Judgement::new(Outcome::NotComparable, measured.join(", "), reason.to_owned())
}

fn repack(found: &Findings<'_>) -> Judgement {
    let published: Vec<f64> = published_user_ratio(found, ARM, "repack").into_iter().collect();
    let mut judgement = takes(&format!("A full repack under {ARM}"), &published, found.by_git(REPACK, ARM).as_ref());
    if judgement.measured.is_empty() {
        return judgement;
    }
    judgement.reason.push_str(" One thread packs here, so the published user times are what it is held against.");
    let sides = UP_TO_7.map(|codec| (codec, found.by_git(REPACK, codec).map(|ratio| side(&ratio))));
    let those = |is_wanted: fn(Option<Side>) -> bool| -> Vec<String> {
        sides.iter().filter(|(_, side)| is_wanted(*side)).map(|(codec, _)| (*codec).to_owned()).collect()
    };
    let missing = those(|side| side.is_none());
    let unknown = those(|side| side == Some(Side::Unknown));
    let not_faster = those(|side| matches!(side, Some(Side::Within | Side::Above)));
    let words = [
        (&not_faster, "It is not faster under"),
        (&unknown, "Intervals do not tell of"),
        (&missing, "Not measured were"),
    ];
    for (codecs, what) in words.iter().filter(|(codecs, _)| !codecs.is_empty()) {
        judgement.reason.push_str(&format!(" {what} {}.", list(codecs)));
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

/// How far a ratio is from 1 at least and at most, as logarithms; none without an interval.
fn effect(ratio: &Ratio) -> Option<[f64; 2]> {
    let [low, high] = ratio.estimate.interval?;
    let (one, other) = (low.ln().abs(), high.ln().abs());
    let least = if low <= 1.0 && high >= 1.0 { 0.0 } else { one.min(other) };
    Some([least, one.max(other)])
}

fn incremental(found: &Findings<'_>) -> Judgement {
    let Some(daily) = found.by_git(INCREMENTAL, ARM) else {
        return Judgement::missing("An incremental repack was not measured.");
    };
    let Some(full) = found.by_git(REPACK, ARM) else {
        return Judgement::missing("There is no measured full repack to hold it against.");
    };
    let measured = format!("incremental {}, full {}", estimate(&daily.estimate), estimate(&full.estimate));
    let what = format!("An incremental repack under {ARM}");
    let (outcome, mut reason) = match (effect(&daily), effect(&full)) {
        (None, _) => (Outcome::Undecided, undecided(&what, &daily)),
        (_, None) => (Outcome::Undecided, undecided(&format!("A full repack under {ARM}"), &full)),
        _ if !matches!(side(&full), Side::Below | Side::Above) => (
            Outcome::Undecided,
            format!("A full repack under {ARM} does not differ beyond the noise floor, so that nothing is less."),
        ),
        (Some([_, most]), Some([least_of_full, _])) if most <= least_of_full * MUCH_LESS => {
            (Outcome::Reproduced, format!("{what} differs from zlib's by less than half of what a full one does."))
        }
        (Some([least, most]), Some([least_of_full, most_of_full]))
            if most <= least_of_full && least > most_of_full * MUCH_LESS =>
        {
            let reason = "differs from zlib's by less than a full one does, but not by less than half.";
            (Outcome::Changed, format!("{what} {reason}"))
        }
        (Some([least, _]), Some([_, most_of_full])) if least > most_of_full => {
            (Outcome::NotReproduced, format!("{what} differs from zlib's by more than a full one does."))
        }
        _ => (Outcome::Undecided, format!("The intervals do not tell how much less than a full one {what} differs.")),
    };
    if let Some(fetch) = found.by_git(FETCH_SAME, ARM) {
        reason.push_str(&format!(
            " A fetch between git's of today, who can only send zlib, takes {}; stored zstd cannot be sent as it is.",
            estimate(&fetch.estimate)
        ));
    }
    Judgement::new(outcome, measured, reason)
}

fn recompress(found: &Findings<'_>) -> Judgement {
    let Some(served) = found.in_process(SERVE_ZLIB, ARM) else {
        return Judgement::missing("Serving was not measured.");
    };
    let measured = format!("{} of the CPU time of serving stored zlib", estimate(&served.estimate));
    let what = format!("Serving a clone from {ARM} to a client that only knows zlib");
    let (outcome, reason) = match served.estimate.interval {
        Some([low, _]) if low > EXPENSIVE => (Outcome::Reproduced, format!("{what} takes more than twice as long.")),
        Some(_) if side(&served) == Side::Above => {
            (Outcome::Changed, format!("{what} takes longer, but not surely twice as long."))
        }
        Some([_, high]) if high <= 1.0 + served.floor => {
            (Outcome::NotReproduced, format!("{what} does not take longer."))
        }
        _ => (Outcome::Undecided, undecided(&what, &served)),
    };
    let like = found.in_process(SERVE_SAME, ARM).map(|ratio| estimate(&ratio.estimate));
    let like = like.map(|like| format!(" To a client that takes zstd it takes {like}.")).unwrap_or_default();
    Judgement::new(outcome, measured, reason + &like)
}

#[cfg(test)]
mod tests {
    use repackbench_records::{Record, published_experiment};

    use super::*;
    use crate::{
        estimates::{Ratios, tests::by_client},
        verdict::tests::{assert_all_are_undecided, outcome_of},
        zlib_vs_zstd_pack::{NAME, tables::VariantBytes},
    };

    fn judged(records: &[Record], bytes: &[(&str, u64)], id: &str) -> ClaimOutcome {
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
        outcome_of(published, id, claims(&found))
    }

    #[test]
    fn every_published_claim_has_an_outcome_and_none_without_figures() {
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
    fn reads_are_held_against_published_user_times() {
        for (part, outcome) in [(0.937, Outcome::Reproduced), (0.7, Outcome::Changed), (1.2, Outcome::NotReproduced)] {
            let records = by_client("traverse", &[("zstd:3", part)]);
            assert_eq!(judged(&records, &[], "rev-list").outcome, outcome, "{part}");
        }
        let records = by_client("diff:pickaxe", &[("zstd:3", 0.817), ("zstd:1", 0.82)]);
        assert_eq!(judged(&records, &[], "log-s").outcome, Outcome::Reproduced);
        assert_eq!(judged(&records, &[], "size-does-not-read").outcome, Outcome::Reproduced);
        let records = by_client("diff:pickaxe", &[("zstd:3", 0.6), ("zstd:1", 0.8)]);
        assert_eq!(judged(&records, &[], "size-does-not-read").outcome, Outcome::NotReproduced);
        // Most of the 6 % that zstd:3 saves of rev-list are no trifle there.
        let records = by_client("traverse", &[("zstd:3", 0.937), ("zstd:1", 0.98)]);
        assert_eq!(judged(&records, &[], "size-does-not-read").outcome, Outcome::NotReproduced);
    }

    #[test]
    fn sizes_of_packs_are_judged_by_their_bytes() {
        let at_5 = |bytes| judged(&[], &[("zlib:6", 100_000), ("zstd:5", bytes)], "size-5").outcome;
        // The published bytes are 1.0087 of zlib's: what is larger still is another figure, not another direction.
        assert_eq!(
            [100_800, 99_500, 101_000, 103_000, 98_000].map(at_5),
            [Outcome::Reproduced, Outcome::Reproduced, Outcome::Changed, Outcome::Changed, Outcome::NotReproduced]
        );
        let past = |bytes| judged(&[], &[("zstd:9", 100_000), ("zstd:11", bytes)], "past-9").outcome;
        assert_eq!([99_900, 99_300, 95_000].map(past), [Outcome::Reproduced, Outcome::Changed, Outcome::NotReproduced]);
    }

    #[test]
    fn another_wrapper_is_told_and_not_judged() {
        let records = by_client("traverse", &[("zlib:6", 1.5)]);
        let outcome = judged(&records, &[], "wrapper");
        assert_eq!(outcome.outcome, Outcome::NotComparable);
        assert!(outcome.measured.starts_with("rev-list 1.50 ["), "{}", outcome.measured);
    }

    #[test]
    fn a_repack_has_to_be_faster_at_all_levels_up_to_7() {
        let judge = |others: &[(&str, f64)]| {
            let codecs: Vec<(&str, f64)> = [("zstd:3", 0.93)].into_iter().chain(others.iter().copied()).collect();
            judged(&by_client("repack", &codecs), &[], "repack")
        };
        let with_7 = |at_7| judge(&[("zstd:1", 0.92), ("zstd:5", 0.94), ("zstd:7", at_7)]);
        assert_eq!(with_7(0.95).outcome, Outcome::Reproduced);
        let slow = with_7(1.1);
        assert_eq!(slow.outcome, Outcome::Changed);
        assert!(slow.reason.ends_with("It is not faster under zstd:7."), "{}", slow.reason);
        // What was left out is no evidence.
        let alone = judge(&[]);
        assert_eq!(alone.outcome, Outcome::Undecided);
        assert!(alone.reason.ends_with("Not measured were zstd:1, zstd:5 and zstd:7."), "{}", alone.reason);
    }

    /// An incremental repack and a full one, each with its part of zlib's time in a block.
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
    fn an_incremental_repack_is_held_against_the_full_one() {
        let judge = |part| judged(&incremental_and_full(|_| part, |_| 0.85), &[], "incremental").outcome;
        assert_eq!([0.97, 0.9, 0.6].map(judge), [Outcome::Reproduced, Outcome::Changed, Outcome::NotReproduced]);
    }

    #[test]
    fn an_incremental_repack_needs_a_full_one_that_was_measured_and_differs() {
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
    fn compressing_again_is_expensive_where_it_takes_more_than_twice_as_long() {
        let judge =
            |part| judged(&crate::estimates::tests::blocks("serve:zlib", "zlib:6", "zstd:3", part), &[], "recompress");
        assert_eq!(
            [5.0, 1.5, 0.9].map(|part| judge(part).outcome),
            [Outcome::Reproduced, Outcome::Changed, Outcome::NotReproduced]
        );
    }
}
