//! What the figures say of each claim, by rules. Ratios of times are taken within runs; sizes are exact.
//!
//! - `gzip-6`: level 9 gains no more than [`LITTLE`] in size and takes longer, and level 3 is larger by more than that: **reproduced** if it
//!   saves no more than half of the time, **changed** if it saves more. **Not reproduced** where level 9 gains more, or takes no longer, or
//!   level 3 is as small.
//!   Sizes are what files take of the disk, as published.
//! - `bzip2-small`: bzip2 -9 saves no more of what gzip -6 takes of the disk than the published sizes may mean, which are [rounded](ROUNDING),
//!   and takes at least [`SEVERAL`] times as long: **reproduced**; one of the two: **changed**; neither: **not reproduced**.
//! - `factor-of-two`: how many times as long full files take as empty ones. Wholly at most the published figure is **reproduced** where
//!   opening and closing takes as long as writing, within a factor of two, and **changed** where not; wholly above it is **not
//!   reproduced**.
//! - `little-memory`: by the rule for times, on flat files that are written and read twice, with a limit beside without one; wholly slower than
//!   the published instance is **reproduced**, too. Undecided where no limit could be set, or none stood in the way.
//! - `level-3`: wholly below the published figure is **reproduced**, wholly between it and 1 **changed**, wholly above the published
//!   figure otherwise **not reproduced**: less than half is refuted, and nothing is left of the direction.
//! - Claims on times of lzo: on processor time from memory to memory, by the rule for times; on its sizes, which were published as those of
//!   what it puts out and not by `du`, on lengths by that for sizes. That levels make no difference: by the rule for equal times.
//! - Claims on a B-tree are about Berkeley DB: another engine is **not comparable**.
//! - Claims whose figures have no interval are undecided, as are those that were not measured.

mod little_memory;

use repackbench_records::{ClaimOutcome, Outcome, Published};

use super::{
    Figures, arm,
    arms::Timings,
    phases::{FEW, LENGTH, Phases},
    stores::{StoreTimes, Stores},
};
use crate::{
    estimates::Ratio,
    interleaved::ratio_of,
    text::{count, estimate, list, percent, ratio, size_ratio},
    verdict::{Judgement, claim, is_as_large, takes, takes_the_same},
};

/// A size that differs by no more is as good.
const LITTLE: f64 = 0.01;
/// A published size may be so much more or less, in bytes: `du -h` prints whole MB.
const ROUNDING: f64 = 524_288.0;
/// As often is "several times".
const SEVERAL: f64 = 2.0;
/// Two phases are as long if neither is more than so many times the other.
const AS_LONG: f64 = 2.0;

/// What is said of every claim on lzo.
const OWN_LZO: &str = "lzo is this project's own encoder at lzop's levels.";

/// The outcome of every claim.
pub(super) fn claims(published: &Published, figures: &Figures) -> Vec<ClaimOutcome> {
    let timings = figures.compressors.first().map(|corpus| corpus.timings.as_slice()).unwrap_or_default();
    let found = Found { timings };
    let value = |id: &str| published.claim(id).and_then(|claim| claim.value);
    let btree = |measured: Option<String>| {
        let why = "The published store was Berkeley DB's, which is no part of this program: another engine says nothing of it.";
        Judgement::new(Outcome::NotComparable, measured.unwrap_or_default(), why.to_owned())
    };
    let (btree_size, btree_time) = btree_figures(&figures.stores.all);
    let lzo_time =
        |id: &str, what: &str, measured: Option<Ratio>| of_lzo(takes(what, value(id).as_slice(), measured.as_ref()));
    let lzo_size = |id: &str, what: &str, label: &str| {
        of_lzo(is_as_large(what, value(id).as_slice(), found.length(label, "gzip 3")))
    };
    let judgements = [
        ("gzip-6", judge_gzip_6(&found)),
        ("bzip2-small", judge_bzip2(&found, published_saving(published))),
        ("factor-of-two", judge_factor(value("factor-of-two"), &figures.phases)),
        ("little-memory", little_memory::judge(value("little-memory"), &figures.little_memory)),
        ("btree-size", btree(btree_size)),
        ("btree-time", btree(btree_time)),
        ("btree-small", btree(btree_small(figures))),
        ("level-3", judge_level_3(value("level-3"), figures)),
        ("lzo-7-size", lzo_size("lzo-7-size", "lzo -7", "lzop 7")),
        (
            "lzo-decompress",
            lzo_time(
                "lzo-decompress",
                "Decompressing gzip -3",
                found.cpu("gzip 3", "lzop 7", |timings| &timings.uncompress_cpu),
            ),
        ),
        (
            "lzo-7-compress",
            lzo_time(
                "lzo-7-compress",
                "Compressing by lzo -7",
                found.cpu("lzop 7", "gzip 3", |timings| &timings.compress_cpu),
            ),
        ),
        (
            "lzo-3-compress",
            lzo_time(
                "lzo-3-compress",
                "Compressing by gzip -3",
                found.cpu("gzip 3", "lzop 3", |timings| &timings.compress_cpu),
            ),
        ),
        ("lzo-3-size", lzo_size("lzo-3-size", "lzo -3", "lzop 3")),
        ("lzo-level", judge_lzo_level(&found)),
    ];
    judgements.into_iter().filter_map(|(id, judgement)| claim(published, id, judgement)).collect()
}

/// What was measured on the first corpus.
struct Found<'a> {
    timings: &'a [Timings],
}

impl Found<'_> {
    fn of(&self, label: &str) -> Option<&Timings> {
        self.timings.get(arm(label)?).filter(|timings| !timings.is_empty())
    }

    /// The length of one arm's files as a multiple of another's.
    fn length(&self, one: &str, other: &str) -> Option<f64> {
        self.size(one, other, |timings| timings.stored)
    }

    /// What one arm's files take of the disk as a multiple of what another's do.
    fn on_disk(&self, one: &str, other: &str) -> Option<f64> {
        self.size(one, other, |timings| timings.allocated)
    }

    fn size(&self, one: &str, other: &str, of: fn(&Timings) -> Option<u64>) -> Option<f64> {
        let bytes = |label: &str| self.of(label).and_then(of).map(|bytes| bytes as f64);
        Some(bytes(one)? / bytes(other)?).filter(|ratio| ratio.is_finite())
    }

    /// One arm's times as a multiple of another's.
    fn cpu(&self, one: &str, other: &str, of: fn(&Timings) -> &Vec<f64>) -> Option<Ratio> {
        ratio_of(of(self.of(one)?), of(self.of(other)?))
    }

    /// The elapsed times of compressing in place.
    fn compress(&self, one: &str, other: &str) -> Option<Ratio> {
        self.cpu(one, other, |timings| &timings.compress)
    }
}

fn of_lzo(judgement: Judgement) -> Judgement {
    Judgement { reason: format!("{} {OWN_LZO}", judgement.reason), ..judgement }
}

/// An interval, or nothing is decided.
fn interval(ratio: &Ratio) -> Result<[f64; 2], Judgement> {
    ratio.estimate.interval.ok_or_else(|| {
        let why = "There is no interval: it takes six runs.".to_owned();
        Judgement::new(Outcome::Undecided, estimate(&ratio.estimate), why)
    })
}

fn judge_gzip_6(found: &Found<'_>) -> Judgement {
    let all = (
        found.on_disk("gzip 9", "gzip 6"),
        found.on_disk("gzip 3", "gzip 6"),
        found.compress("gzip 9", "gzip 6"),
        found.compress("gzip 3", "gzip 6"),
    );
    let (Some(size_9), Some(size_3), Some(time_9), Some(time_3)) = all else {
        return Judgement::missing("gzip was not measured.");
    };
    let shown = format!(
        "beside level 6, level 9 takes {} of the disk and takes {} of the time, level 3 {} and {}",
        size_ratio(size_9),
        estimate(&time_9.estimate),
        size_ratio(size_3),
        estimate(&time_3.estimate)
    );
    let ([low_9, high_9], [low_3, high_3]) = match (interval(&time_9), interval(&time_3)) {
        (Ok(nine), Ok(three)) => (nine, three),
        (Err(judgement), _) | (_, Err(judgement)) => return Judgement { measured: shown, ..judgement },
    };
    let (outcome, reason) = if size_9 < 1.0 - LITTLE {
        (Outcome::NotReproduced, format!("Level 9 is smaller by more than {}.", percent(LITTLE)))
    } else if size_3 <= 1.0 + LITTLE {
        (Outcome::NotReproduced, format!("Level 3 is as small, within {}.", percent(LITTLE)))
    } else if high_9 < 1.0 {
        (Outcome::NotReproduced, "Level 9 takes less time.".to_owned())
    } else if low_9 <= 1.0 {
        (Outcome::Undecided, "Whether level 9 takes longer is not clear.".to_owned())
    } else if low_3 >= 0.5 {
        let why = format!(
            "Level 9 gains no more than {} and takes longer; level 3 is larger by more, and saves at most half of the time.",
            percent(LITTLE)
        );
        (Outcome::Reproduced, why)
    } else if high_3 < 0.5 {
        let why = format!(
            "Level 9 gains no more than {} and takes longer; but level 3, larger by {}, saves more than half of the time.",
            percent(LITTLE),
            percent(size_3 - 1.0)
        );
        (Outcome::Changed, why)
    } else {
        (Outcome::Undecided, "Whether level 3 saves more than half of the time is not clear.".to_owned())
    };
    Judgement::new(outcome, shown, reason)
}

/// What bzip2 -9 saved of gzip -6 at most, by sizes that are rounded as the published ones are.
fn published_saving(published: &Published) -> Option<f64> {
    let table = published.table("compressors")?;
    Some(1.0 - (table.value("bzip2 9", "size")? - ROUNDING) / (table.value("gzip 6", "size")? + ROUNDING))
}

fn judge_bzip2(found: &Found<'_>, saving: Option<f64>) -> Judgement {
    let all = (found.on_disk("bzip2 9", "gzip 6"), found.compress("bzip2 9", "gzip 6"), saving);
    let (Some(size), Some(time), Some(saving)) = all else { return Judgement::missing("bzip2 was not measured.") };
    let shown = format!("{} of the size of gzip -6, {} of its time", size_ratio(size), estimate(&time.estimate));
    let [low, high] = match interval(&time) {
        Ok(interval) => interval,
        Err(judgement) => return Judgement { measured: shown, ..judgement },
    };
    if low < SEVERAL && high >= SEVERAL {
        let why = format!("Whether it takes {} times as long is not clear.", ratio(SEVERAL));
        return Judgement::new(Outcome::Undecided, shown, why);
    }
    let is_little = 1.0 - size <= saving;
    let size_words = format!(
        "bzip2 -9 saves {} of what gzip -6 takes of the disk, where at most {} was published, as far as rounded sizes tell",
        percent(1.0 - size),
        percent(saving)
    );
    let (outcome, reason) = match (is_little, low >= SEVERAL) {
        (true, true) => (Outcome::Reproduced, format!("{size_words}, and takes {} times as long or more.", ratio(low))),
        (false, true) => {
            (Outcome::Changed, format!("It takes {} times as long or more; but {size_words}.", ratio(low)))
        }
        (true, false) => {
            (Outcome::Changed, format!("{size_words}; but it does not take {} times as long.", ratio(SEVERAL)))
        }
        (false, false) => {
            (Outcome::NotReproduced, format!("{size_words}, and it does not take {} times as long.", ratio(SEVERAL)))
        }
    };
    Judgement::new(outcome, shown, reason)
}

fn judge_factor(published: Option<f64>, phases: &Phases) -> Judgement {
    let (Some(full), Some(empty), Some(limit)) = (phases.get(true, LENGTH), phases.get(true, 0), published) else {
        return Judgement::missing("The phases were not measured.");
    };
    let (Some(gain), Some(parts)) =
        (ratio_of(&full.total(), &empty.total()), ratio_of(&full.open_and_close(), &full.write))
    else {
        return Judgement::missing("The phases were not measured.");
    };
    let shown = format!(
        "{} times as long as empty files; opening and closing takes {} of the time of writing",
        estimate(&gain.estimate),
        estimate(&parts.estimate)
    );
    let [low, high] = match interval(&gain) {
        Ok(interval) => interval,
        Err(judgement) => return Judgement { measured: shown, ..judgement },
    };
    let is_alike = parts.estimate.value <= AS_LONG && parts.estimate.value >= 1.0 / AS_LONG;
    let (outcome, reason) = if low > limit {
        (Outcome::NotReproduced, format!("Empty files gain more than a factor of {}.", ratio(limit)))
    } else if high > limit {
        (Outcome::Undecided, format!("Whether empty files gain more than a factor of {} is not clear.", ratio(limit)))
    } else if is_alike {
        (
            Outcome::Reproduced,
            format!(
                "Empty files gain less than a factor of {}, and opening and closing takes as long as writing, within a factor of {}.",
                ratio(limit),
                ratio(AS_LONG)
            ),
        )
    } else {
        (
            Outcome::Changed,
            format!(
                "Empty files gain less than a factor of {}, but opening and closing takes {} of the time of writing.",
                ratio(limit),
                ratio(parts.estimate.value)
            ),
        )
    };
    Judgement::new(outcome, shown, reason)
}

fn judge_level_3(published: Option<f64>, figures: &Figures) -> Judgement {
    let (Some(ingest), Some(half)) = (&figures.commits.ingest, published) else {
        return Judgement::missing("Commits were not measured.");
    };
    let mut shown =
        vec![format!("{} of the processor time of commits, without that of writing files", estimate(&ingest.estimate))];
    if let Some(encode) = &figures.commits.encode {
        shown.push(format!("{} of that of compressing alone", estimate(&encode.estimate)));
    }
    let shown = list(&shown);
    let [low, high] = match interval(ingest) {
        Ok(interval) => interval,
        Err(judgement) => return Judgement { measured: shown, ..judgement },
    };
    let (outcome, reason) = if high < half {
        (Outcome::Reproduced, format!("Writing commits takes less than {} of the time.", ratio(half)))
    } else if low >= half && high < 1.0 {
        (Outcome::Changed, format!("Writing commits takes less time, but not less than {} of it.", ratio(half)))
    } else if low > 1.0 {
        (Outcome::NotReproduced, "Writing commits takes longer.".to_owned())
    } else if low >= half {
        let why =
            format!("Writing commits does not take less than {} of the time, and perhaps no less at all.", ratio(half));
        (Outcome::NotReproduced, why)
    } else {
        (Outcome::Undecided, format!("The interval reaches across {}.", ratio(half)))
    };
    Judgement::new(outcome, shown, reason)
}

/// What it takes of time with the objects of a few files, or of all if there are no more.
fn btree_small(figures: &Figures) -> Option<String> {
    let Stores { all, few } = &figures.stores;
    let (files, stores) = match few.is_empty() {
        true => (figures.compressors.first()?.files, all),
        false => (u64::from(FEW), few),
    };
    btree_figures(stores).1.map(|time| format!("{time}, with {}", count(files, "file", "files")))
}

/// What this program's own B-tree takes beside files: of the disk, and of time.
fn btree_figures(stores: &[StoreTimes]) -> (Option<String>, Option<String>) {
    let [files, btree] = stores else { return (None, None) };
    let allocated = |times: &StoreTimes| times.size.map(|size| size.allocated as f64);
    let size = allocated(btree).zip(allocated(files)).map(|(btree, files)| btree / files);
    let time = ratio_of(&btree.make_and_sync(), &files.make_and_sync()).map(|found| estimate(&found.estimate));
    let size = size.filter(|ratio| ratio.is_finite()).map(size_ratio);
    (
        size.map(|size| format!("{size} of the files, by this program's own")),
        time.map(|time| format!("{time}, by this program's own")),
    )
}

/// Processor time decides; what the published table has is elapsed time with the file system in it, and stands beside it.
fn judge_lzo_level(found: &Found<'_>) -> Judgement {
    let cpu = found.cpu("lzop 9", "lzop 3", |timings| &timings.uncompress_cpu);
    let judgement = of_lzo(takes_the_same("Decompressing lzo -9 beside lzo -3, from memory to memory,", cpu.as_ref()));
    match found.cpu("lzop 9", "lzop 3", |timings| &timings.uncompress) {
        Some(elapsed) => {
            let reason = format!(
                "{} With the file system, as in the published table, the ratio is {}.",
                judgement.reason,
                estimate(&elapsed.estimate)
            );
            Judgement { reason, ..judgement }
        }
        None => judgement,
    }
}

#[cfg(test)]
mod tests;
