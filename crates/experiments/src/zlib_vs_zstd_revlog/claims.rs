//! The verdict on each claim.

use repackbench_analysis::{Judgement, Side, claim_outcomes, measured_ratio, measured_size, side, takes, undecided};
use repackbench_records::{ClaimOutcome, Figure, Outcome, Statement};

use super::{
    BASELINE, ZLIB, ZSTD, ZSTD_DEFAULT,
    findings::{COMPRESS, DECODE, DEFAULTS, EXTREMES, Findings, READ, READING, TRAVERSE, Task, VERIFY, WRITE, WRITING},
};
use crate::measuring::MOSTLY_START;

/// The variation in size over all levels that was published as small, as a part of 1.
const SMALL: f64 = 0.1;
/// Sizes that differ by more than this are neither in the same range nor small variations.
const NOT_SMALL: f64 = 2.0 * SMALL;
/// The lowest and the highest level of zstd.
const LOWEST: &str = "zstd:1";
const HIGHEST: &str = "zstd:20";

/// An outcome for each published claim.
pub(super) fn claims(found: &Findings<'_>) -> Vec<ClaimOutcome> {
    let judged = [
        ("read", read(found)),
        ("read-any-level", any_level(found, READ, READING, reading())),
        ("write", write(found)),
        ("write-any-level", unless_mostly_start(found, any_level(found, WRITE, WRITING, writing()))),
        ("write-high-level", unless_mostly_start(found, high_level(found))),
        ("size", size(found)),
        ("size-levels", size_levels(found)),
    ];
    claim_outcomes(found.published, judged)
}

fn reading() -> Statement {
    Statement::new("reading-all-revisions")
}

fn writing() -> Statement {
    Statement::new("writing-all-revisions")
}

fn under(what: Statement, spec: &str) -> Statement {
    Statement::new("under").with("what", what).with("spec", spec)
}

/// A statement about another task under zstd's default level, as a reason.
fn beside(found: &Findings<'_>, id: &str, task: Task) -> Option<Statement> {
    found.ratio(task, ZSTD_DEFAULT).map(|ratio| Statement::new(id).with("ratio", &ratio.estimate))
}

fn read(found: &Findings<'_>) -> Judgement {
    let published = found.published_ratios(READING, DEFAULTS);
    let what = under(reading(), ZSTD_DEFAULT);
    let others = [("only-decoding-takes", DECODE), ("reading-history-takes", TRAVERSE), ("hg-verify-takes", VERIFY)];
    takes(what, &published, found.ratio(READ, ZSTD_DEFAULT).as_ref())
        .because(others.into_iter().filter_map(|(id, task)| beside(found, id, task)))
}

fn write(found: &Findings<'_>) -> Judgement {
    let published = found.published_ratios(WRITING, DEFAULTS);
    let judgement = takes(under(writing(), ZSTD_DEFAULT), &published, found.ratio(WRITE, ZSTD_DEFAULT).as_ref());
    unless_mostly_start(found, judgement).because(beside(found, "only-compressing-takes", COMPRESS))
}

/// The same judgement of a command of hg, or none where its start takes too much of it.
fn unless_mostly_start(found: &Findings<'_>, judgement: Judgement) -> Judgement {
    let share = found.start_share(WRITE).filter(|share| *share > MOSTLY_START && !judgement.measured.is_empty());
    let Some(share) = share else { return judgement };
    let start = Statement::new("start-of-hg-takes").with("command", "hg debugupgraderepo");
    let reasons = vec![start.with("share", Figure::share(share)), Statement::new("repository-too-small")];
    Judgement { outcome: Outcome::Undecided, reasons, ..judgement }
}

/// The slowest level of zstd beside the fastest of zlib. Levels that were left out may be slower, or faster.
fn any_level(found: &Findings<'_>, task: Task, table: &str, what: Statement) -> Judgement {
    let Some(extremes) = found.extremes(task) else { return Judgement::not_measured(what) };
    let published = found.published_ratios(table, EXTREMES);
    let what = Statement::new("under-instead-of")
        .with("what", what)
        .with("spec", extremes.slowest_zstd)
        .with("of", extremes.fastest_zlib);
    let mut judgement = takes(what, &published, Some(&extremes.ratio));
    let missing = found.missing(task);
    if !missing.is_empty() {
        if matches!(judgement.outcome, Outcome::Reproduced | Outcome::Changed) {
            judgement.outcome = Outcome::Undecided;
        }
        judgement.reasons.push(Statement::new("not-measured-under").with("codecs", missing));
    }
    judgement
}

/// No figure was published: the side of 1 decides.
fn high_level(found: &Findings<'_>) -> Judgement {
    let what = Statement::new("under-instead-of").with("what", writing()).with("spec", HIGHEST).with("of", LOWEST);
    let Some(ratio) = found.between(WRITE, HIGHEST, LOWEST) else { return Judgement::not_measured(what) };
    let floor = Figure::share(ratio.floor);
    let of = |id: &str| Statement::new(id).with("what", what.clone());
    let (outcome, reason) = match side(&ratio) {
        Side::Below => (Outcome::Reproduced, of("takes-less-time").with("ratio", &ratio.estimate)),
        Side::Above => (Outcome::NotReproduced, of("takes-longer").with("ratio", &ratio.estimate)),
        Side::Within => (Outcome::NotReproduced, of("within-floor").with("floor", floor)),
        Side::Unknown => (Outcome::Undecided, undecided(what.clone(), &ratio)),
    };
    let compressing = found.between(COMPRESS, HIGHEST, LOWEST);
    let compressing = compressing.map(|ratio| Statement::new("only-compressing-takes").with("ratio", &ratio.estimate));
    Judgement::new(outcome, vec![measured_ratio(&ratio.estimate)], reason).because(compressing)
}

/// The verdict on a variation that was published as small.
fn small(variation: f64) -> Outcome {
    match variation {
        variation if variation <= SMALL => Outcome::Reproduced,
        variation if variation <= NOT_SMALL => Outcome::Changed,
        _ => Outcome::NotReproduced,
    }
}

fn size(found: &Findings<'_>) -> Judgement {
    let Some(ratio) = found.size_ratio() else {
        return Judgement::missing(Statement::new("sizes-not-measured"));
    };
    let variation = (ratio - 1.0).abs();
    let reason = Statement::new("size-differs-from").with("spec", ZSTD_DEFAULT).with("of", BASELINE);
    let reason = reason.with("change", Figure::share(variation)).with("small", Figure::share(SMALL));
    Judgement::new(small(variation), vec![measured_size(ratio)], reason)
}

fn size_levels(found: &Findings<'_>) -> Judgement {
    let spans = (found.size_span(&ZLIB, BASELINE), found.size_span(&ZSTD, ZSTD_DEFAULT));
    let (Some(zlib), Some(zstd)) = spans else {
        return Judgement::missing(Statement::new("sizes-not-measured"));
    };
    let span =
        |codec: &str, span| Statement::new("span-of-levels").with("codec", codec).with("span", Figure::share(span));
    let reason = Statement::new("widest-span").with("span", Figure::share(zlib.max(zstd)));
    let reason = reason.with("small", Figure::share(SMALL));
    Judgement::new(small(zlib.max(zstd)), vec![span("zlib", zlib), span("zstd", zstd)], reason)
}

#[cfg(test)]
mod tests {
    use repackbench_records::{JudgedClaim, Record, SizeRecord, published_experiment};

    use super::*;
    use crate::{
        tests::{assert_all_are_undecided, outcome_of, reason},
        zlib_vs_zstd_revlog::{
            NAME,
            findings::tests::{blocks_of, found_of, sizes_of},
        },
    };

    #[track_caller]
    fn judged(records: &[Record], sizes: Vec<(&'static str, SizeRecord)>, id: &str) -> JudgedClaim {
        outcome_of(id, claims(&found_of(published_experiment(NAME).unwrap(), records, sizes)))
    }

    fn by_hg(codecs: &[(&str, f64)]) -> Vec<Record> {
        blocks_of("repack", Some(false), codecs)
    }

    /// Every level of zlib takes as long as the baseline, and every one of zstd `part` of that, but the highest.
    fn levels(part: f64, highest: f64) -> Vec<(&'static str, f64)> {
        let zstd = ZSTD.map(|level| (level, if level == HIGHEST { highest } else { part }));
        ZLIB.into_iter().filter(|level| *level != BASELINE).map(|level| (level, 1.0)).chain(zstd).collect()
    }

    #[test]
    fn levels_of_claims_are_the_lowest_and_the_highest() {
        assert_eq!((ZSTD.first(), ZSTD.last()), (Some(&LOWEST), Some(&HIGHEST)));
    }

    #[test]
    fn claims_without_figures_are_undecided() {
        let published = published_experiment(NAME).unwrap();
        assert_all_are_undecided(published, &claims(&found_of(published, &[], vec![])));
    }

    #[test]
    fn reading_and_writing_are_compared_with_published_ranges() {
        let read = |part| judged(&blocks_of("cat-all", None, &[("zstd:3", part)]), vec![], "read").outcome;
        assert_eq!([0.57, 0.79].map(read), [Outcome::Reproduced; 2]);
        assert_eq!([0.4, 0.9, 1.2].map(read), [Outcome::Changed, Outcome::Changed, Outcome::NotReproduced]);
        let write = |part| judged(&by_hg(&[("zstd:3", part)]), vec![], "write").outcome;
        assert_eq!([0.64, 0.74].map(write), [Outcome::Reproduced; 2]);
        assert_eq!([0.5, 0.9, 1.2].map(write), [Outcome::Changed, Outcome::Changed, Outcome::NotReproduced]);
        // A replay of reading says nothing about writing, nor the other way round.
        assert_eq!(judged(&by_hg(&[("zstd:3", 0.7)]), vec![], "read").outcome, Outcome::Undecided);
    }

    #[test]
    fn slowest_zstd_is_compared_with_fastest_zlib() {
        for id in ["read-any-level", "write-any-level"] {
            let judge = |codecs: &[(&str, f64)]| {
                let mut records = by_hg(codecs);
                records.extend(blocks_of("cat-all", None, codecs));
                judged(&records, vec![], id)
            };
            assert_eq!(judge(&levels(0.6, 0.8)).outcome, Outcome::Reproduced, "{id}");
            assert_eq!(judge(&levels(0.6, 1.1)).outcome, Outcome::NotReproduced, "{id}");
            // Levels that were left out may be the slowest.
            let some: Vec<_> = levels(0.6, 0.8).into_iter().filter(|(level, _)| *level != HIGHEST).collect();
            let outcome = judge(&some);
            assert_eq!(outcome.outcome, Outcome::Undecided, "{id}");
            assert!(reason(&outcome.reasons).ends_with("zstd:20 were not measured."), "{:?}", outcome.reasons);
        }
    }

    #[test]
    fn high_levels_are_compared_with_the_lowest() {
        let judge = |highest| judged(&by_hg(&levels(0.6, highest)), vec![], "write-high-level").outcome;
        assert_eq!([0.5, 0.6, 0.8].map(judge), [Outcome::Reproduced, Outcome::NotReproduced, Outcome::NotReproduced]);
    }

    #[test]
    fn writing_decides_nothing_if_it_is_mostly_the_start_of_hg() {
        let judge = |start_ns: u64, id| {
            let mut records = by_hg(&levels(0.7, 0.7));
            for record in &mut records {
                record.extra.insert("process start ns".to_owned(), start_ns);
            }
            judged(&records, vec![], id)
        };
        for id in ["write", "write-any-level", "write-high-level"] {
            assert_ne!(judge(200_000_000, id).outcome, Outcome::Undecided, "{id}");
            let outcome = judge(300_000_000, id);
            assert_eq!(outcome.outcome, Outcome::Undecided, "{id}");
            assert!(reason(&outcome.reasons).contains("start of hg takes 30 %"), "{:?}", outcome.reasons);
        }
    }

    #[test]
    fn sizes_are_in_the_same_range_within_a_tenth() {
        let size = |zstd| judged(&[], sizes_of(&[("zlib:6", 1000), ("zstd:3", zstd)]), "size").outcome;
        assert_eq!(
            [950, 1090, 1150, 1250, 750].map(size),
            [
                Outcome::Reproduced,
                Outcome::Reproduced,
                Outcome::Changed,
                Outcome::NotReproduced,
                Outcome::NotReproduced
            ]
        );
        let levels = |zlib_1, zstd_20| {
            let sizes = [("zlib:6", 1000), ("zlib:1", zlib_1), ("zstd:3", 1000), ("zstd:20", zstd_20)];
            judged(&[], sizes_of(&sizes), "size-levels").outcome
        };
        assert_eq!(levels(1080, 950), Outcome::Reproduced);
        assert_eq!(levels(1120, 950), Outcome::Changed);
        assert_eq!(levels(1080, 750), Outcome::NotReproduced);
    }
}
