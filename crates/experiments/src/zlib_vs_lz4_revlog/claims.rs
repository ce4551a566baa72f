//! What is to be said of each claim.

use repackbench_records::{ClaimOutcome, Outcome, Published};

use super::{
    OLD,
    tables::{
        CLONE, DECODE, ENCODE, LZ4, LZ4HC, LayoutFindings, PUBLISHED_REPOSITORIES, SIZE, UPDATE, UPDATE_COLUMN, ZLIB,
    },
};
use crate::{
    text::{estimate, megabytes, percent, ratio, size_ratio},
    verdict::{Judgement, claim, is_as_large, takes, takes_the_same},
};

/// About half of the time is between these.
const ABOUT_HALF: [f64; 2] = [0.35, 0.65];
/// A command of which the start of hg is a larger part tells nothing of codecs.
const MOSTLY_START: f64 = 0.25;
/// More is most.
const MOST: f64 = 0.5;

/// An outcome for each published claim.
pub(super) fn claims(published: &Published, layouts: &[LayoutFindings<'_>]) -> Vec<ClaimOutcome> {
    let Some(found) = layouts.first() else { return Vec::new() };
    let judged = [
        ("half-the-cpu", half_the_cpu(found)),
        ("zlib-itself", zlib_itself(found)),
        ("lz4-compress", lz4_compress(found)),
        ("lz4hc-compress", takes_the_same("Compressing with lz4hc", found.replayed(ENCODE, LZ4HC).as_ref())),
        ("lz4hc-decompress", lz4hc_decompress(found)),
        ("lz4-size", lz4_size(layouts)),
        ("update", update(layouts)),
        ("clone", clone(found)),
        ("manifest", manifest(layouts)),
        ("memory", memory(found)),
        ("large-only", Judgement::missing("One repository does not tell: experiment all takes several.")),
    ];
    judged.into_iter().filter_map(|(id, judgement)| claim(published, id, judgement)).collect()
}

/// Where the layout of 2012 was measured it decides, else the other one.
fn deciding<'a, 'b, T>(
    layouts: &'b [LayoutFindings<'a>],
    of: impl Fn(&LayoutFindings<'a>) -> Option<T>,
) -> Option<(&'b LayoutFindings<'a>, T)> {
    let old = layouts.iter().filter(|layout| layout.name == OLD);
    let others = layouts.iter().filter(|layout| layout.name != OLD);
    old.chain(others).find_map(|layout| Some((layout, of(layout)?)))
}

fn half_the_cpu(found: &LayoutFindings<'_>) -> Judgement {
    let shares = found.zlib_shares();
    if shares.is_empty() {
        let mut judgement = Judgement::missing("hg's own commands were not measured beside the codec alone.");
        if let Some(share) = found.replayed_share() {
            judgement.reason.push_str(&format!(" In the replay of update zlib takes {} at least.", percent(share)));
        }
        return judgement;
    }
    let shown: Vec<String> = shares.iter().map(|(_, name, share)| format!("{name} {}", percent(*share))).collect();
    let measured = format!("at least: {}", shown.join(", "));
    let (mostly_start, shares): (Vec<_>, Vec<_>) =
        shares.into_iter().partition(|(job, ..)| found.start_share(*job).is_some_and(|start| start > MOSTLY_START));
    let starts: String = mostly_start
        .iter()
        .filter_map(|(job, name, _)| {
            Some(format!(" The start of hg alone takes {} of {name}.", percent(found.start_share(*job)?)))
        })
        .collect();
    if shares.is_empty() {
        let reason = format!("The repository is too small to tell.{starts}");
        return Judgement::new(Outcome::Undecided, measured, reason);
    }
    let [least, most] = ABOUT_HALF;
    let about_half = shares.iter().filter(|(.., share)| (least..=most).contains(share)).count();
    let at_least = shares.iter().filter(|(.., share)| *share >= least).count();
    let outcome = if 2 * about_half > shares.len() {
        Outcome::Reproduced
    } else if 2 * at_least > shares.len() {
        Outcome::Changed
    } else {
        Outcome::Undecided
    };
    let range = format!("{} to {}", percent(least), percent(most));
    let reason = match outcome {
        Outcome::Reproduced => {
            format!("In most of these commands zlib alone takes {range} of the processor time, as a lower bound.")
        }
        Outcome::Changed => {
            format!(
                "In most of these commands zlib alone takes {} or more, and in many more than {}.",
                percent(least),
                percent(most)
            )
        }
        _ => format!("Lower bounds below {} do not tell how much zlib takes.", percent(least)),
    };
    Judgement::new(outcome, measured, reason + &starts)
}

fn zlib_itself(found: &LayoutFindings<'_>) -> Judgement {
    let share = found.zlib_shares().into_iter().find(|(job, ..)| *job == UPDATE).map(|(.., share)| share);
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
            let figure = format!(" Replayed {}: {} of the user time.", layout.name, estimate(&found.estimate));
            judgement.reason.push_str(&figure);
        }
    }
    judgement
}

fn clone(found: &LayoutFindings<'_>) -> Judgement {
    let published: Vec<f64> = found.published.claim("clone").and_then(|claim| claim.value).into_iter().collect();
    let elapsed = |codec| found.elapsed_by_hg(CLONE, codec);
    let lz4 = elapsed(LZ4);
    if lz4.is_none() {
        return Judgement::missing("hg clone --pull was not measured under lz4.");
    }
    let mut judgement = together([
        ("lz4", takes("hg clone --pull under lz4", &published, lz4.as_ref())),
        ("lz4hc", takes_the_same("hg clone --pull under lz4hc", elapsed(LZ4HC).as_ref())),
    ]);
    let cpu = |codec| Some(format!("{codec} {}", estimate(&found.by_hg(CLONE, codec)?.estimate)));
    let cpu: Vec<String> = [LZ4, LZ4HC].into_iter().filter_map(cpu).collect();
    if !cpu.is_empty() {
        judgement.reason.push_str(&format!(" Of the CPU time: {}.", cpu.join(", ")));
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

/// The memory of hg's own commands is not measured, and that of a replay, which has neither hg's caches nor its Python, is told alone.
fn memory(found: &LayoutFindings<'_>) -> Judgement {
    let mut judgement = Judgement::missing("The memory of hg's commands is not measured.");
    if let (Some(zlib), Some(lz4)) = (found.replayed_peak(ZLIB), found.replayed_peak(LZ4)) {
        judgement.measured =
            format!("update, replayed: {} with zlib, {} with lz4", megabytes(zlib.value), megabytes(lz4.value));
        judgement
            .reason
            .push_str(" That of the replay of update is this program's, which reads through other caches than hg.");
    }
    judgement
}

#[cfg(test)]
mod tests {
    use repackbench_records::{ChunkForm, ObjectKind, Record, SizeRecord, published_experiment};

    use super::*;
    use crate::{
        estimates::tests::{blocks, run},
        zlib_vs_lz4_revlog::{AS_FOUND, NAME},
    };

    fn size(manifest: u64, others: u64) -> SizeRecord {
        let mut size = SizeRecord { total_bytes: manifest + others, ..SizeRecord::default() };
        size.objects.get_mut(ObjectKind::Manifest, ChunkForm::Delta).add(manifest, 0);
        size.objects.get_mut(ObjectKind::Filelog, ChunkForm::Delta).add(others, 0);
        size
    }

    /// Name, records and sizes of a layout.
    type MadeUp<'a> = (&'static str, &'a [Record], &'a [(&'static str, SizeRecord)]);

    fn judged(layouts: &[MadeUp<'_>], id: &str) -> ClaimOutcome {
        let published = published_experiment(NAME).unwrap();
        let layouts: Vec<LayoutFindings<'_>> = layouts
            .iter()
            .map(|(name, records, sizes)| LayoutFindings::of(name, published, records, sizes.to_vec()))
            .collect();
        let claim = published.claim(id).unwrap();
        claims(published, &layouts).into_iter().find(|outcome| outcome.claim == claim.claim).unwrap()
    }

    /// hg's rows: plain on zlib, and codecs with the extension.
    fn by_hg(workload: &str, codecs: &[(&str, f64)]) -> Vec<Record> {
        let mut records = Vec::new();
        for block in 0..7 {
            let base = 1000 + u64::from(block);
            for role in ["baseline", "baseline-again"] {
                records.push(run(workload, role, "zlib:6", Some(false), block, base));
            }
            for (codec, part) in codecs {
                records.push(run(workload, "candidate", codec, Some(true), block, (base as f64 * part) as u64));
            }
        }
        records
    }

    #[test]
    fn every_published_claim_has_an_outcome_and_none_without_figures() {
        let published = published_experiment(NAME).unwrap();
        let none = [LayoutFindings::of(AS_FOUND, published, &[], vec![])];
        let outcomes = claims(published, &none);
        assert_eq!(outcomes.len(), published.claims.len());
        assert!(outcomes.iter().all(|outcome| outcome.outcome == Outcome::Undecided && outcome.measured.is_empty()));
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
            let records = by_hg("checkout", &[("lz4", part)]);
            assert_eq!(judged(&[(AS_FOUND, &records, &[])], "update").outcome, outcome, "{part}");
        }
        let clone = |lz4, lz4hc| {
            let records = by_hg("clone:same", &[("lz4", lz4), ("lz4hc:9", lz4hc)]);
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
            let mut records = by_hg(workload, &[("lz4", if id == "update" { 0.78 } else { 0.56 }), ("lz4hc:9", 1.0)]);
            for record in &mut records {
                record.sample.wall_ns = 2_000_000_000 + u64::from(record.place.block);
            }
            let outcome = judged(&[(AS_FOUND, &records, &[])], id);
            assert_ne!(outcome.outcome, Outcome::Reproduced, "{id}: {}", outcome.reason);
            assert!(outcome.measured.contains("1.00 ["), "{id}: {}", outcome.measured);
        }
    }

    #[test]
    fn the_codec_alone_is_held_against_hg_under_zlib() {
        let with_floor = |floor: f64, without_binding: f64| {
            let mut records = by_hg("checkout", &[("zlib:6", without_binding)]);
            records.extend(blocks("floor:checkout", "zlib:6", "lz4", 0.3));
            let scale = floor * 10.0;
            for record in records.iter_mut().filter(|record| record.workload.name == "floor:checkout") {
                record.sample.user_ns = (record.sample.user_ns as f64 * scale) as u64;
            }
            records
        };
        let judge = |floor, binding, id| judged(&[(AS_FOUND, &with_floor(floor, binding), &[])], id);
        assert_eq!(judge(0.5, 1.0, "half-the-cpu").outcome, Outcome::Reproduced);
        assert_eq!(judge(0.8, 1.0, "half-the-cpu").outcome, Outcome::Changed);
        // A lower bound that is low refutes nothing.
        assert_eq!(judge(0.3, 1.0, "half-the-cpu").outcome, Outcome::Undecided);
        let little = judge(0.1, 1.0, "half-the-cpu");
        assert_eq!((little.outcome, little.measured.as_str()), (Outcome::Undecided, "at least: update 10 %"));
        let mut records = with_floor(0.1, 1.0);
        for record in &mut records {
            record.extra.insert("process start ns".to_owned(), 400_000_000);
        }
        let small = judged(&[(AS_FOUND, &records, &[])], "half-the-cpu");
        assert_eq!(small.outcome, Outcome::Undecided);
        assert!(small.reason.ends_with("The start of hg alone takes 40 % of update."), "{}", small.reason);
        // One binding instead of another tells nothing of none, whatever it saves.
        assert_eq!([0.95, 0.6].map(|part| judge(0.5, part, "zlib-itself").outcome), [Outcome::NotComparable; 2]);
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

    #[test]
    fn memory_of_a_replay_is_told_and_decides_nothing_about_hg() {
        let mut records = blocks("checkout", "zlib:6", "lz4", 1.0);
        for record in &mut records {
            let is_lz4 = record.variant.label().starts_with("lz4");
            record.usage.peak_resident_bytes = Some(if is_lz4 { 150_000_000 } else { 100_000_000 });
        }
        let outcome = judged(&[(AS_FOUND, &records, &[])], "memory");
        assert_eq!(outcome.outcome, Outcome::Undecided);
        assert_eq!(outcome.measured, "update, replayed: 100 MB with zlib, 150 MB with lz4");
    }
}
