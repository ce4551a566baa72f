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
    verdict::{Judgement, claim, is_as_large, takes, takes_the_same, undecided},
};

/// About half of the time is between these.
const ABOUT_HALF: [f64; 2] = [0.35, 0.65];
/// A command of which the start of hg is a larger part tells nothing of codecs.
const MOSTLY_START: f64 = 0.25;
/// Less is no notable part.
const NOTABLE: f64 = 0.2;
/// More is most.
const MOST: f64 = 0.5;
/// Memory is pressed if the peak grows by more.
const PRESSES: f64 = 0.05;

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
    let notable = shares.iter().filter(|(.., share)| *share >= NOTABLE).count();
    let outcome = match (about_half, notable) {
        (halves, _) if 2 * halves > shares.len() => Outcome::Reproduced,
        (_, 0) => Outcome::NotReproduced,
        _ => Outcome::Changed,
    };
    let range = format!("{} to {}", percent(least), percent(most));
    let reason = match outcome {
        Outcome::Reproduced => format!("In most of these commands zlib alone takes {range} of the processor time."),
        Outcome::Changed => format!(
            "zlib alone takes a notable part ({} or more) in {notable} of these commands, and {range} in {about_half}.",
            percent(NOTABLE)
        ),
        _ => format!("In none of these commands zlib alone takes {} or more.", percent(NOTABLE)),
    };
    Judgement::new(outcome, measured, reason + &starts)
}

fn zlib_itself(found: &LayoutFindings<'_>) -> Judgement {
    let share = found.zlib_shares().into_iter().find(|(job, ..)| *job == UPDATE).map(|(.., share)| share);
    let (Some(share), Some(binding)) = (share, found.by_hg(UPDATE, ZLIB)) else {
        return Judgement::missing(
            "It takes hg update by plain hg and by hg with the extension, whose zlib has no such binding.",
        );
    };
    let measured =
        format!("zlib alone {}; without the binding {} of the time", percent(share), estimate(&binding.estimate));
    let Some([low, high]) = binding.estimate.interval else {
        return Judgement::new(Outcome::Undecided, measured, undecided("hg update without the binding", &binding));
    };
    let saved = [1.0 - high, 1.0 - low];
    let (outcome, reason) = match saved {
        [_, most] if most <= share / 2.0 => {
            (Outcome::Reproduced, "Without Python's binding update gains less than half of what zlib alone takes.")
        }
        [least, _] if least > share / 2.0 => {
            (Outcome::NotReproduced, "Without Python's binding update gains more than half of what zlib alone takes.")
        }
        _ => {
            (Outcome::Undecided, "The interval does not tell whether the binding costs half of what zlib alone takes.")
        }
    };
    Judgement::new(outcome, measured, reason.to_owned())
}

fn lz4_compress(found: &LayoutFindings<'_>) -> Judgement {
    let measured = found.replayed(ENCODE, LZ4);
    let mut judgement = takes("Compressing with lz4", &[1.0 / 15.0, 1.0 / 10.0], measured.as_ref());
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
    let mut judgement = match deciding(layouts, |layout| layout.by_hg(UPDATE, LZ4)) {
        Some((layout, found)) => takes(&format!("hg update under lz4, {},", layout.name), &published, Some(&found)),
        None => Judgement::missing("hg was not measured under lz4: --hg and --hg-extension name it and the extension."),
    };
    for layout in layouts {
        if let Some(found) = layout.by_hg(UPDATE, LZ4) {
            let start =
                layout.start_share(UPDATE).map(|start| format!(", the start of hg {} of the time", percent(start)));
            let start = start.unwrap_or_default();
            let figure = format!(" {}: {}{start}.", capital(layout.name), estimate(&found.estimate));
            judgement.reason.push_str(&figure);
        }
        if let Some(found) = layout.replayed(UPDATE, LZ4) {
            let figure = format!(" Replayed {}: {}.", layout.name, estimate(&found.estimate));
            judgement.reason.push_str(&figure);
        }
    }
    judgement
}

fn clone(found: &LayoutFindings<'_>) -> Judgement {
    let published: Vec<f64> = found.published.claim("clone").and_then(|claim| claim.value).into_iter().collect();
    let lz4 = found.by_hg(CLONE, LZ4);
    if lz4.is_none() {
        return Judgement::missing("hg clone --pull was not measured under lz4.");
    }
    together([
        ("lz4", takes("hg clone --pull under lz4", &published, lz4.as_ref())),
        ("lz4hc", takes_the_same("hg clone --pull under lz4hc", found.by_hg(CLONE, LZ4HC).as_ref())),
    ])
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

fn memory(found: &LayoutFindings<'_>) -> Judgement {
    let peaks = [("hg clone --pull", CLONE), ("hg update", UPDATE)].into_iter().find_map(|(what, job)| {
        Some((what, found.peak(job, ZLIB)?.value, found.peak(job, LZ4)?.value)).filter(|(_, zlib, _)| *zlib > 0.0)
    });
    let Some((what, zlib, lz4)) = peaks else {
        return Judgement::missing("The memory of hg's commands under lz4 was not measured.");
    };
    let grown = lz4 / zlib - 1.0;
    let outcome = if grown > PRESSES { Outcome::Reproduced } else { Outcome::NotReproduced };
    let change = if grown > PRESSES { "grows by more than" } else { "does not grow by more than" };
    let reason = format!("The peak resident memory of {what} {change} {}.", percent(PRESSES));
    Judgement::new(outcome, format!("{what}: {} with zlib, {} with lz4", megabytes(zlib), megabytes(lz4)), reason)
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
        assert_eq!(judge(0.3, 1.0, "half-the-cpu").outcome, Outcome::Changed);
        let little = judge(0.1, 1.0, "half-the-cpu");
        assert_eq!((little.outcome, little.measured.as_str()), (Outcome::NotReproduced, "at least: update 10 %"));
        let mut records = with_floor(0.1, 1.0);
        for record in &mut records {
            record.extra.insert("process start ns".to_owned(), 400_000_000);
        }
        let small = judged(&[(AS_FOUND, &records, &[])], "half-the-cpu");
        assert_eq!(small.outcome, Outcome::Undecided);
        assert!(small.reason.ends_with("The start of hg alone takes 40 % of update."), "{}", small.reason);
        assert_eq!(judge(0.5, 0.95, "zlib-itself").outcome, Outcome::Reproduced);
        assert_eq!(judge(0.5, 0.6, "zlib-itself").outcome, Outcome::NotReproduced);
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
    fn memory_is_the_peak_of_hg() {
        let judge = |lz4: u64| {
            let mut records = by_hg("clone:same", &[("lz4", 1.0)]);
            for record in &mut records {
                let is_lz4 = record.variant.label().starts_with("lz4");
                record.usage.peak_resident_bytes = Some(if is_lz4 { lz4 } else { 100_000_000 });
            }
            judged(&[(AS_FOUND, &records, &[])], "memory")
        };
        assert_eq!(judge(101_000_000).outcome, Outcome::NotReproduced);
        let grown = judge(150_000_000);
        assert_eq!(grown.outcome, Outcome::Reproduced);
        assert_eq!(grown.measured, "hg clone --pull: 100 MB with zlib, 150 MB with lz4");
    }
}
