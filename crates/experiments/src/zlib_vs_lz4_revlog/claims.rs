//! The verdict on each claim.

use repackbench_analysis::{
    Judgement, claim_outcomes, is_as_large, measured_size, named_ratio, takes, takes_the_same_beside,
};
use repackbench_records::{ClaimOutcome, Figure, Outcome, Published, Statement, StatementValue};

use super::{
    findings::{
        CLONE, DECODE, ENCODE, LZ4, LZ4HC, LayoutFindings, PUBLISHED_REPOSITORIES, SIZE, UPDATE, UPDATE_COLUMN, ZLIB,
        deciding,
    },
    memory,
    shares::{ZlibShare, half_the_cpu},
};

/// Most of something is more than this part.
const MOST: f64 = 0.5;

/// An outcome for each published claim.
pub(super) fn claims(published: &Published, layouts: &[LayoutFindings<'_>]) -> Vec<ClaimOutcome> {
    let Some(found) = layouts.first() else { return Vec::new() };
    let judged = [
        ("half-the-cpu", half_the_cpu(layouts)),
        ("zlib-itself", zlib_itself(found)),
        ("lz4-compress", lz4_compress(found)),
        ("lz4hc-compress", lz4hc_compress(found)),
        ("lz4hc-decompress", lz4hc_decompress(found)),
        ("lz4-size", lz4_size(layouts)),
        ("update", update(layouts)),
        ("clone", clone(layouts)),
        ("manifest", manifest(layouts)),
        ("memory", memory::judge(layouts)),
        ("large-only", Judgement::missing(Statement::new("one-repository"))),
    ];
    claim_outcomes(published, judged)
}

fn zlib_itself(found: &LayoutFindings<'_>) -> Judgement {
    let share = ZlibShare::of(found, (UPDATE, UPDATE_COLUMN)).and_then(|share| share.alone);
    let (Some(share), Some(binding)) = (share, found.by_hg(UPDATE, ZLIB)) else {
        return Judgement::missing(Statement::new("binding-not-compared"));
    };
    let measured = vec![
        Statement::new("zlib-alone").with("codec", ZLIB).with("share", Figure::share(share)),
        Statement::new("by-another-binding").with("ratio", &binding.estimate),
    ];
    Judgement::new(Outcome::NotComparable, measured, Statement::new("two-bindings"))
}

/// The published times of compressing with lz4 as parts of zlib's time.
fn published_speeds(published: &Published) -> Vec<f64> {
    let rows = published.table("compressing").into_iter().flat_map(|table| &table.rows);
    rows.filter_map(|row| row.values.first().copied().flatten()).map(|times_faster| 1.0 / times_faster).collect()
}

fn compressing(codec: &str) -> Statement {
    Statement::new("compressing").with("codec", codec)
}

fn lz4_compress(found: &LayoutFindings<'_>) -> Judgement {
    let measured = found.replayed(ENCODE, LZ4);
    let speed = measured.as_ref().map(|found| found.estimate.value).filter(|part| *part > 0.0);
    takes(compressing(LZ4), &published_speeds(found.published), measured.as_ref())
        .because(speed.map(|part| Statement::new("times-as-fast").with("times", Figure::ratio(1.0 / part))))
}

fn lz4hc_compress(found: &LayoutFindings<'_>) -> Judgement {
    let beside = published_speeds(found.published);
    takes_the_same_beside(compressing(LZ4HC), &beside, found.replayed(ENCODE, LZ4HC).as_ref())
}

fn lz4hc_decompress(found: &LayoutFindings<'_>) -> Judgement {
    let published = found.published.claim("lz4hc-decompress").and_then(|claim| claim.value);
    let what = Statement::new("decompressing-lz4hc");
    takes(what, published.as_slice(), found.between(DECODE, LZ4HC, LZ4).as_ref())
}

/// The published figures of a codec as multiples of zlib's, one for each repository.
fn published_ratios(published: &Published, table: &str, codec: &str) -> Vec<f64> {
    let Some(table) = published.table(table) else { return Vec::new() };
    let ratio = |repository: &&str| Some(table.value(repository, codec)? / table.value(repository, ZLIB)?);
    PUBLISHED_REPOSITORIES.iter().filter_map(ratio).collect()
}

fn lz4_size(layouts: &[LayoutFindings<'_>]) -> Judgement {
    let Some((layout, _)) = deciding(layouts, |layout| layout.size_ratio(LZ4)) else {
        return Judgement::missing(Statement::new("sizes-not-measured"));
    };
    let judge = |codec: &str| {
        let published = published_ratios(layout.published, SIZE, codec);
        is_as_large(layout.says("in-layout").with("what", codec), &published, layout.size_ratio(codec))
    };
    let elsewhere = layouts.iter().filter(|other| other.kind != layout.kind).filter_map(|other| {
        let size = |codec| Some(named(codec, measured_size(other.size_ratio(codec)?)));
        Some(other.says("sizes-in-layout").with("sizes", vec![size(LZ4)?, size(LZ4HC)?]))
    });
    together([(LZ4, judge(LZ4)), (LZ4HC, judge(LZ4HC))]).because(elsewhere)
}

fn named(name: &str, figure: Statement) -> Statement {
    Statement::new("named-figure").with("name", name).with("figure", figure)
}

/// Two judgements as one: what holds for only one of them has changed.
fn together(both: [(&str, Judgement); 2]) -> Judgement {
    let [(_, one), (_, other)] = &both;
    let outcome = match (one.outcome, other.outcome) {
        (one, other) if one == other => one,
        (Outcome::Undecided, _) | (_, Outcome::Undecided) => Outcome::Undecided,
        _ => Outcome::Changed,
    };
    let mut judgement = Judgement { outcome, measured: Vec::new(), reasons: Vec::new() };
    for (name, part) in both {
        judgement.measured.extend(part.measured.into_iter().map(|figure| named(name, figure)));
        judgement.reasons.extend(part.reasons);
    }
    judgement
}

/// A command of hg under `codec` in a layout.
fn by_hg(layout: &LayoutFindings<'_>, command: &str, codec: &str) -> StatementValue {
    let command = Statement::new("under").with("what", command).with("spec", codec);
    layout.says("in-layout").with("what", command).into()
}

fn update(layouts: &[LayoutFindings<'_>]) -> Judgement {
    let judgement = match deciding(layouts, |layout| layout.elapsed_by_hg(UPDATE, LZ4)) {
        Some((layout, found)) => {
            let published = published_ratios(layout.published, UPDATE_COLUMN, LZ4);
            takes(by_hg(layout, "hg update", LZ4), &published, Some(&found))
        }
        None => Judgement::missing(Statement::new("update-not-measured-under-lz4")),
    };
    let of_layout = |layout: &LayoutFindings<'_>| {
        let by_hg = layout.by_hg(UPDATE, LZ4);
        let start = by_hg.as_ref().and_then(|_| layout.start_share(UPDATE)).map(|share| {
            Statement::new("start-of-hg-takes").with("command", UPDATE_COLUMN).with("share", Figure::share(share))
        });
        let by_hg = by_hg.map(|found| layout.says("update-takes-user-time").with("ratio", &found.estimate));
        let replayed = layout.replayed(UPDATE, LZ4);
        let replayed = replayed.map(|found| layout.says("update-replayed-takes").with("ratio", &found.estimate));
        [by_hg, start, replayed].into_iter().flatten()
    };
    judgement.because(layouts.iter().flat_map(of_layout))
}

fn clone(layouts: &[LayoutFindings<'_>]) -> Judgement {
    let command = "hg clone --pull";
    let Some((layout, lz4)) = deciding(layouts, |layout| layout.elapsed_by_hg(CLONE, LZ4)) else {
        return Judgement::not_measured(Statement::new("under").with("what", command).with("spec", LZ4));
    };
    let published = layout.published.claim("clone").and_then(|claim| claim.value);
    let lz4hc = layout.elapsed_by_hg(CLONE, LZ4HC);
    let cpu_times = layouts.iter().filter_map(|layout| {
        let ratio = |codec| Some(named_ratio(codec, &layout.by_hg(CLONE, codec)?.estimate));
        let ratios: Vec<Statement> = [LZ4, LZ4HC].into_iter().filter_map(ratio).collect();
        (!ratios.is_empty()).then(|| layout.says("clone-takes-cpu-time").with("ratios", ratios))
    });
    together([
        (LZ4, takes(by_hg(layout, command, LZ4), published.as_slice(), Some(&lz4))),
        (LZ4HC, takes_the_same_beside(by_hg(layout, command, LZ4HC), published.as_slice(), lz4hc.as_ref())),
    ])
    .because(cpu_times)
}

fn manifest(layouts: &[LayoutFindings<'_>]) -> Judgement {
    let Some((layout, share)) = deciding(layouts, |layout| layout.manifest_share(LZ4)) else {
        return Judgement::missing(Statement::new("lz4-adds-no-bytes"));
    };
    let (outcome, id) = if share > MOST {
        (Outcome::Reproduced, "manifest-has-most")
    } else {
        (Outcome::NotReproduced, "manifest-has-half-or-less")
    };
    let measured = layouts.iter().filter_map(|layout| {
        Some(layout.says("share-in-layout").with("share", Figure::share(layout.manifest_share(LZ4)?)))
    });
    Judgement::new(outcome, measured.collect(), layout.says(id).with("codec", LZ4))
}

#[cfg(test)]
pub(super) mod tests {
    use repackbench_records::{ChunkForm, JudgedClaim, ObjectKind, Record, SizeRecord, published_experiment};

    use super::*;
    use crate::{
        tests::{assert_all_are_undecided, blocks, by_client, outcome_of, reason},
        zlib_vs_lz4_revlog::{
            LayoutKind::{self, AsFound, Of2012},
            NAME,
        },
    };

    pub(in super::super) fn size(manifest: u64, others: u64) -> SizeRecord {
        let mut size = SizeRecord { total_bytes: manifest + others, ..SizeRecord::default() };
        size.objects.get_mut(ObjectKind::Manifest, ChunkForm::Delta).add(manifest, 0);
        size.objects.get_mut(ObjectKind::Filelog, ChunkForm::Delta).add(others, 0);
        size
    }

    /// Records and sizes of a layout.
    pub(in super::super) type MadeUp<'a> = (LayoutKind, &'a [Record], &'a [(&'static str, SizeRecord)]);

    #[track_caller]
    pub(in super::super) fn judged(layouts: &[MadeUp<'_>], id: &str) -> JudgedClaim {
        let published = published_experiment(NAME).unwrap();
        let layouts: Vec<LayoutFindings<'_>> = layouts
            .iter()
            .map(|(kind, records, sizes)| LayoutFindings::of(*kind, published, records, sizes.to_vec()))
            .collect();
        outcome_of(id, claims(published, &layouts))
    }

    #[test]
    fn claims_without_figures_are_undecided() {
        let published = published_experiment(NAME).unwrap();
        let none = [LayoutFindings::of(AsFound, published, &[], vec![])];
        assert_all_are_undecided(published, &claims(published, &none));
    }

    #[test]
    fn layout_of_2012_decides_on_sizes() {
        let today = [(ZLIB, size(40, 60)), (LZ4, size(60, 60)), (LZ4HC, size(50, 60))];
        let old = [(ZLIB, size(50, 50)), (LZ4, size(90, 60)), (LZ4HC, size(70, 55))];
        let outcome = judged(&[(AsFound, &[], &today), (Of2012, &[], &old)], "lz4-size");
        assert_eq!(outcome.outcome, Outcome::Reproduced);
        assert_eq!(reason(&outcome.measured), "lz4 1.500 lz4hc 1.250");
        assert!(reason(&outcome.reasons).ends_with("As found: lz4 1.200 and lz4hc 1.100."), "{:?}", outcome.reasons);
        let outcome = judged(&[(AsFound, &[], &today)], "lz4-size");
        assert_eq!(outcome.outcome, Outcome::Changed);
        let manifest = judged(&[(AsFound, &[], &today), (Of2012, &[], &old)], "manifest");
        assert_eq!(manifest.outcome, Outcome::Reproduced);
        assert_eq!(reason(&manifest.measured), "As found 100 % In the layout of 2012 80 %");
        let files = [(ZLIB, size(50, 50)), (LZ4, size(60, 90))];
        assert_eq!(judged(&[(AsFound, &[], &files)], "manifest").outcome, Outcome::NotReproduced);
    }

    #[test]
    fn update_and_clone_are_those_of_hg() {
        for (part, outcome) in [(0.78, Outcome::Reproduced), (0.92, Outcome::Changed), (1.1, Outcome::NotReproduced)] {
            let records = by_client("checkout", &[("lz4", part)]);
            assert_eq!(judged(&[(AsFound, &records, &[])], "update").outcome, outcome, "{part}");
        }
        let clone = |lz4, lz4hc| {
            let records = by_client("clone:same", &[("lz4", lz4), ("lz4hc:9", lz4hc)]);
            judged(&[(AsFound, &records, &[])], "clone").outcome
        };
        assert_eq!(clone(0.56, 1.0), Outcome::Reproduced);
        assert_eq!(clone(0.8, 1.0), Outcome::Changed);
        assert_eq!(clone(1.2, 0.5), Outcome::NotReproduced);
    }

    #[test]
    fn update_and_clone_are_judged_by_elapsed_time() {
        // Less CPU time, but the same elapsed time: none of the published gain.
        for (workload, id) in [("checkout", "update"), ("clone:same", "clone")] {
            let mut records =
                by_client(workload, &[("lz4", if id == "update" { 0.78 } else { 0.56 }), ("lz4hc:9", 1.0)]);
            for record in &mut records {
                record.sample.wall_ns = 2_000_000_000 + u64::from(record.place.block);
            }
            let outcome = judged(&[(AsFound, &records, &[])], id);
            assert_ne!(outcome.outcome, Outcome::Reproduced, "{id}: {:?}", outcome.reasons);
            assert!(reason(&outcome.measured).contains("1.000 ["), "{id}: {:?}", outcome.measured);
        }
    }

    #[test]
    fn layout_of_2012_decides_on_clones() {
        let (today, old) = (
            by_client("clone:same", &[("lz4", 0.8), ("lz4hc:9", 1.0)]),
            by_client("clone:same", &[("lz4", 0.56), ("lz4hc:9", 1.0)]),
        );
        let outcome = judged(&[(AsFound, &today, &[]), (Of2012, &old, &[])], "clone");
        assert_eq!(outcome.outcome, Outcome::Reproduced, "{:?}", outcome.reasons);
        let why = reason(&outcome.reasons);
        assert!(why.contains(" As found, it takes of the CPU time: lz4 0.80 ["), "{why}");
        assert_eq!(judged(&[(AsFound, &today, &[]), (Of2012, &[], &[])], "clone").outcome, Outcome::Changed);
    }

    #[test]
    fn two_bindings_say_nothing_about_none() {
        let judge = |binding| {
            let mut records = by_client("checkout", &[("zlib:6", binding)]);
            records.extend(blocks("floor:checkout", "zlib:6", "lz4", 0.3));
            judged(&[(AsFound, &records, &[])], "zlib-itself").outcome
        };
        assert_eq!([0.95, 0.6].map(judge), [Outcome::NotComparable; 2]);
    }

    #[test]
    fn codecs_are_compared_by_their_encoders_and_decoders() {
        let judge = |job, codec, part, id| judged(&[(AsFound, &blocks(job, "zlib:6", codec, part), &[])], id).outcome;
        assert_eq!(judge("encode", "lz4", 0.08, "lz4-compress"), Outcome::Reproduced);
        assert_eq!(judge("encode", "lz4", 0.2, "lz4-compress"), Outcome::Changed);
        assert_eq!(judge("encode", "lz4hc:9", 1.0, "lz4hc-compress"), Outcome::Reproduced);
        assert_eq!(judge("encode", "lz4hc:9", 0.5, "lz4hc-compress"), Outcome::NotReproduced);
        let mut records = blocks("floor:traverse", "zlib:6", "lz4", 0.5);
        let lz4hc = blocks("floor:traverse", "zlib:6", "lz4hc:9", 0.45);
        records.extend(lz4hc.into_iter().filter(|record| record.variant.label() == "lz4hc:9"));
        assert_eq!(judged(&[(AsFound, &records, &[])], "lz4hc-decompress").outcome, Outcome::Reproduced);
    }
}
