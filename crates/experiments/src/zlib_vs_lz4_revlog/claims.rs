//! What is to be said of each claim.

use repackbench_records::{ClaimOutcome, Outcome, Published};

use super::{
    OLD, memory,
    shares::{ZlibShare, half_the_cpu},
    tables::{
        CLONE, DECODE, ENCODE, LZ4, LZ4HC, LayoutFindings, PUBLISHED_REPOSITORIES, SIZE, UPDATE, UPDATE_COLUMN, ZLIB,
    },
};
use crate::{
    text::{estimate, percent, ratio, size_ratio},
    verdict::{Judgement, is_as_large, outcomes, takes, takes_the_same_beside},
};

/// More is most.
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
        ("large-only", Judgement::missing("One repository does not tell: give several to one call.")),
    ];
    outcomes(published, judged)
}

/// Where the layout of 2012 was measured it decides, else the other one.
pub(super) fn deciding<'a, 'b, T>(
    layouts: &'b [LayoutFindings<'a>],
    of: impl Fn(&LayoutFindings<'a>) -> Option<T>,
) -> Option<(&'b LayoutFindings<'a>, T)> {
    let old = layouts.iter().filter(|layout| layout.name == OLD);
    let others = layouts.iter().filter(|layout| layout.name != OLD);
    old.chain(others).find_map(|layout| Some((layout, of(layout)?)))
}

fn zlib_itself(found: &LayoutFindings<'_>) -> Judgement {
    let share = ZlibShare::of(found, (UPDATE, UPDATE_COLUMN)).and_then(|share| share.alone);
    let (Some(share), Some(binding)) = (share, found.by_hg(UPDATE, ZLIB)) else {
        return Judgement::missing(
            "It takes hg update by plain hg and by hg with the extension, whose zlib has another binding.",
        );
    };
    let measured =
        format!("zlib alone {}; by another binding {} of the time", percent(share), estimate(&binding.estimate));
    let reason = "The extension's zlib has a binding of its own to Python: one binding stands beside another here, and none without.";
    Judgement::new(Outcome::NotComparable, measured, reason.to_owned())
}

/// What was published of compressing with lz4, as parts of zlib's time.
fn published_speeds(published: &Published) -> Vec<f64> {
    let rows = published.table("compressing").into_iter().flat_map(|table| &table.rows);
    rows.filter_map(|row| row.values.first().copied().flatten()).map(|times_faster| 1.0 / times_faster).collect()
}

fn lz4_compress(found: &LayoutFindings<'_>) -> Judgement {
    let measured = found.replayed(ENCODE, LZ4);
    let mut judgement = takes("Compressing with lz4", &published_speeds(found.published), measured.as_ref());
    if let Some(found) = measured.filter(|found| found.estimate.value > 0.0) {
        judgement.reason.push_str(&format!(" It is {} times as fast as zlib:6.", ratio(1.0 / found.estimate.value)));
    }
    judgement
}

fn lz4hc_compress(found: &LayoutFindings<'_>) -> Judgement {
    let beside = published_speeds(found.published);
    takes_the_same_beside("Compressing with lz4hc", &beside, found.replayed(ENCODE, LZ4HC).as_ref())
}

fn lz4hc_decompress(found: &LayoutFindings<'_>) -> Judgement {
    let published: Vec<f64> =
        found.published.claim("lz4hc-decompress").and_then(|claim| claim.value).into_iter().collect();
    takes("Decompressing what lz4hc wrote, beside lz4's,", &published, found.between(DECODE, LZ4HC, LZ4).as_ref())
}

/// What was published of a codec as a multiple of zlib, in each repository.
fn published_ratios(published: &Published, table: &str, codec: &str) -> Vec<f64> {
    let Some(table) = published.table(table) else { return Vec::new() };
    let ratio = |repository: &&str| Some(table.value(repository, codec)? / table.value(repository, ZLIB)?);
    PUBLISHED_REPOSITORIES.iter().filter_map(ratio).collect()
}

fn lz4_size(layouts: &[LayoutFindings<'_>]) -> Judgement {
    let Some((layout, _)) = deciding(layouts, |layout| layout.size_ratio(LZ4)) else {
        return Judgement::missing("Sizes were not measured.");
    };
    let judge = |codec: &str| {
        let published = published_ratios(layout.published, SIZE, codec);
        is_as_large(&format!("{codec}, {},", layout.name), &published, layout.size_ratio(codec))
    };
    let mut both = together([("lz4", judge(LZ4)), ("lz4hc", judge(LZ4HC))]);
    for other in layouts.iter().filter(|other| other.name != layout.name) {
        if let (Some(lz4), Some(lz4hc)) = (other.size_ratio(LZ4), other.size_ratio(LZ4HC)) {
            let figures = format!(" {}: lz4 {}, lz4hc {}.", capital(other.name), size_ratio(lz4), size_ratio(lz4hc));
            both.reason.push_str(&figures);
        }
    }
    both
}

/// Two judgements as one: what holds for one of them alone has changed.
fn together(both: [(&str, Judgement); 2]) -> Judgement {
    let [(_, one), (_, other)] = &both;
    let outcome = match (one.outcome, other.outcome) {
        (one, other) if one == other => one,
        (Outcome::Undecided, _) | (_, Outcome::Undecided) => Outcome::Undecided,
        _ => Outcome::Changed,
    };
    let shown: Vec<String> = both
        .iter()
        .filter(|(_, judgement)| !judgement.measured.is_empty())
        .map(|(name, judgement)| format!("{name} {}", judgement.measured))
        .collect();
    let reason = format!("{} {}", one.reason, other.reason);
    Judgement::new(outcome, shown.join(", "), reason)
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn update(layouts: &[LayoutFindings<'_>]) -> Judgement {
    let Some(first) = layouts.first() else { return Judgement::missing("Nothing was measured.") };
    let published = published_ratios(first.published, UPDATE_COLUMN, LZ4);
    let mut judgement = match deciding(layouts, |layout| layout.elapsed_by_hg(UPDATE, LZ4)) {
        Some((layout, found)) => takes(&format!("hg update under lz4, {},", layout.name), &published, Some(&found)),
        None => Judgement::missing("hg was not measured under lz4: --hg and --hg-extension name it and the extension."),
    };
    for layout in layouts {
        if let Some(found) = layout.by_hg(UPDATE, LZ4) {
            let start =
                layout.start_share(UPDATE).map(|start| format!(", the start of hg {} of the time", percent(start)));
            let start = start.unwrap_or_default();
            let figure = format!(" {}: {} of the user time{start}.", capital(layout.name), estimate(&found.estimate));
            judgement.reason.push_str(&figure);
        }
        if let Some(found) = layout.replayed(UPDATE, LZ4) {
            let figure = format!(" Replayed {}: {}", layout.name, estimate(&found.estimate));
            judgement.reason.push_str(&format!("{figure} of the CPU time without writing files."));
        }
    }
    judgement
}

fn clone(layouts: &[LayoutFindings<'_>]) -> Judgement {
    let Some((layout, lz4)) = deciding(layouts, |layout| layout.elapsed_by_hg(CLONE, LZ4)) else {
        return Judgement::missing("hg clone --pull was not measured under lz4.");
    };
    let published: Vec<f64> = layout.published.claim("clone").and_then(|claim| claim.value).into_iter().collect();
    let what = |codec: &str| format!("hg clone --pull under {codec}, {},", layout.name);
    let lz4hc = layout.elapsed_by_hg(CLONE, LZ4HC);
    let mut judgement = together([
        ("lz4", takes(&what(LZ4), &published, Some(&lz4))),
        ("lz4hc", takes_the_same_beside(&what(LZ4HC), &published, lz4hc.as_ref())),
    ]);
    for layout in layouts {
        let cpu = |codec| Some(format!("{codec} {}", estimate(&layout.by_hg(CLONE, codec)?.estimate)));
        let cpu: Vec<String> = [LZ4, LZ4HC].into_iter().filter_map(cpu).collect();
        if !cpu.is_empty() {
            judgement.reason.push_str(&format!(" {}, of the CPU time: {}.", capital(layout.name), cpu.join(", ")));
        }
    }
    judgement
}

fn manifest(layouts: &[LayoutFindings<'_>]) -> Judgement {
    let Some((layout, share)) = deciding(layouts, |layout| layout.manifest_share(LZ4)) else {
        return Judgement::missing("lz4 adds no bytes here.");
    };
    let outcome = if share > MOST { Outcome::Reproduced } else { Outcome::NotReproduced };
    let shown: Vec<String> = layouts
        .iter()
        .filter_map(|layout| Some(format!("{} {}", layout.name, percent(layout.manifest_share(LZ4)?))))
        .collect();
    let than = if share > MOST { "more" } else { "no more" };
    let reason = format!("The manifest holds {than} than half of the bytes that lz4 adds, {}.", layout.name);
    Judgement::new(outcome, shown.join(", "), reason)
}

#[cfg(test)]
pub(super) mod tests {
    use repackbench_records::{ChunkForm, ObjectKind, Record, SizeRecord, published_experiment};

    use super::*;
    use crate::{
        estimates::tests::{blocks, by_client},
        verdict::tests::{assert_all_are_undecided, outcome_of},
        zlib_vs_lz4_revlog::{AS_FOUND, NAME},
    };

    pub(in super::super) fn size(manifest: u64, others: u64) -> SizeRecord {
        let mut size = SizeRecord { total_bytes: manifest + others, ..SizeRecord::default() };
        size.objects.get_mut(ObjectKind::Manifest, ChunkForm::Delta).add(manifest, 0);
        size.objects.get_mut(ObjectKind::Filelog, ChunkForm::Delta).add(others, 0);
        size
    }

    /// Name, records and sizes of a layout.
    pub(in super::super) type MadeUp<'a> = (&'static str, &'a [Record], &'a [(&'static str, SizeRecord)]);

    #[track_caller]
    pub(in super::super) fn judged(layouts: &[MadeUp<'_>], id: &str) -> ClaimOutcome {
        let published = published_experiment(NAME).unwrap();
        let layouts: Vec<LayoutFindings<'_>> = layouts
            .iter()
            .map(|(name, records, sizes)| LayoutFindings::of(name, published, records, sizes.to_vec()))
            .collect();
        outcome_of(published, id, claims(published, &layouts))
    }

    #[test]
    fn every_published_claim_has_an_outcome_and_none_without_figures() {
        let published = published_experiment(NAME).unwrap();
        let none = [LayoutFindings::of(AS_FOUND, published, &[], vec![])];
        assert_all_are_undecided(published, &claims(published, &none));
    }

    #[test]
    fn the_layout_of_2012_decides_on_sizes_where_it_is_there() {
        let today = [(ZLIB, size(40, 60)), (LZ4, size(60, 60)), (LZ4HC, size(50, 60))];
        let old = [(ZLIB, size(50, 50)), (LZ4, size(90, 60)), (LZ4HC, size(70, 55))];
        let outcome = judged(&[(AS_FOUND, &[], &today), (OLD, &[], &old)], "lz4-size");
        assert_eq!((outcome.outcome, outcome.measured.as_str()), (Outcome::Reproduced, "lz4 1.500, lz4hc 1.250"));
        assert!(outcome.reason.ends_with("As found: lz4 1.200, lz4hc 1.100."), "{}", outcome.reason);
        let outcome = judged(&[(AS_FOUND, &[], &today)], "lz4-size");
        assert_eq!(outcome.outcome, Outcome::Changed);
        let manifest = judged(&[(AS_FOUND, &[], &today), (OLD, &[], &old)], "manifest");
        assert_eq!(
            (manifest.outcome, manifest.measured.as_str()),
            (Outcome::Reproduced, "as found 100 %, in the layout of 2012 80 %")
        );
        let files = [(ZLIB, size(50, 50)), (LZ4, size(60, 90))];
        assert_eq!(judged(&[(AS_FOUND, &[], &files)], "manifest").outcome, Outcome::NotReproduced);
    }

    #[test]
    fn update_and_clone_are_those_of_hg() {
        for (part, outcome) in [(0.78, Outcome::Reproduced), (0.92, Outcome::Changed), (1.1, Outcome::NotReproduced)] {
            let records = by_client("checkout", &[("lz4", part)]);
            assert_eq!(judged(&[(AS_FOUND, &records, &[])], "update").outcome, outcome, "{part}");
        }
        let clone = |lz4, lz4hc| {
            let records = by_client("clone:same", &[("lz4", lz4), ("lz4hc:9", lz4hc)]);
            judged(&[(AS_FOUND, &records, &[])], "clone").outcome
        };
        assert_eq!(clone(0.56, 1.0), Outcome::Reproduced);
        assert_eq!(clone(0.8, 1.0), Outcome::Changed);
        assert_eq!(clone(1.2, 0.5), Outcome::NotReproduced);
    }

    #[test]
    fn update_and_clone_are_judged_by_elapsed_time_as_they_were_published() {
        // Less time on the processor, and as long to wait: none of the published gain.
        for (workload, id) in [("checkout", "update"), ("clone:same", "clone")] {
            let mut records =
                by_client(workload, &[("lz4", if id == "update" { 0.78 } else { 0.56 }), ("lz4hc:9", 1.0)]);
            for record in &mut records {
                record.sample.wall_ns = 2_000_000_000 + u64::from(record.place.block);
            }
            let outcome = judged(&[(AS_FOUND, &records, &[])], id);
            assert_ne!(outcome.outcome, Outcome::Reproduced, "{id}: {}", outcome.reason);
            assert!(outcome.measured.contains("1.00 ["), "{id}: {}", outcome.measured);
        }
    }

    #[test]
    fn a_clone_is_judged_in_the_layout_of_2012_where_it_was_measured() {
        let (today, old) = (
            by_client("clone:same", &[("lz4", 0.8), ("lz4hc:9", 1.0)]),
            by_client("clone:same", &[("lz4", 0.56), ("lz4hc:9", 1.0)]),
        );
        let outcome = judged(&[(AS_FOUND, &today, &[]), (OLD, &old, &[])], "clone");
        assert_eq!(outcome.outcome, Outcome::Reproduced, "{}", outcome.reason);
        assert!(outcome.reason.contains(" As found, of the CPU time: lz4 0.80 ["), "{}", outcome.reason);
        assert_eq!(judged(&[(AS_FOUND, &today, &[]), (OLD, &[], &[])], "clone").outcome, Outcome::Changed);
    }

    #[test]
    fn one_binding_instead_of_another_tells_nothing_of_none() {
        let judge = |binding| {
            let mut records = by_client("checkout", &[("zlib:6", binding)]);
            records.extend(blocks("floor:checkout", "zlib:6", "lz4", 0.3));
            judged(&[(AS_FOUND, &records, &[])], "zlib-itself").outcome
        };
        assert_eq!([0.95, 0.6].map(judge), [Outcome::NotComparable; 2]);
    }

    #[test]
    fn codecs_are_compared_by_their_encoders_and_decoders() {
        let judge = |job, codec, part, id| judged(&[(AS_FOUND, &blocks(job, "zlib:6", codec, part), &[])], id).outcome;
        assert_eq!(judge("encode", "lz4", 0.08, "lz4-compress"), Outcome::Reproduced);
        assert_eq!(judge("encode", "lz4", 0.2, "lz4-compress"), Outcome::Changed);
        assert_eq!(judge("encode", "lz4hc:9", 1.0, "lz4hc-compress"), Outcome::Reproduced);
        assert_eq!(judge("encode", "lz4hc:9", 0.5, "lz4hc-compress"), Outcome::NotReproduced);
        let mut records = blocks("floor:traverse", "zlib:6", "lz4", 0.5);
        let lz4hc = blocks("floor:traverse", "zlib:6", "lz4hc:9", 0.45);
        records.extend(lz4hc.into_iter().filter(|record| record.variant.label() == "lz4hc:9"));
        assert_eq!(judged(&[(AS_FOUND, &records, &[])], "lz4hc-decompress").outcome, Outcome::Reproduced);
    }
}
