//! The verdict on each claim, by rules. Ratios of times are taken within runs; sizes are exact.
//!
//! - `gzip-6`: level 9 saves no more than [`LITTLE`] of the size and takes longer, and level 3 is larger by more than that: **reproduced** if
//!   level 3 saves no more than half of the time, **changed** if it saves more. **Not reproduced** where level 9 saves more, or takes no
//!   longer, or level 3 is as small. Sizes are disk space, as published.
//! - `bzip2-small`: bzip2 -9 saves no more of the disk space of gzip -6 than the published, [rounded](ROUNDING) sizes allow, and
//!   takes at least [`SEVERAL`] times as long: **reproduced**; one of the two: **changed**; neither: **not reproduced**.
//! - `factor-of-two`: the time of full files as a multiple of that of empty ones. Wholly at most the published figure is **reproduced** where
//!   opening and closing takes as long as writing, within a factor of two, and **changed** where not; wholly above it is **not
//!   reproduced**.
//! - `little-memory`: by the rule for times, on flat files that are written and read twice, with a limit and without one; wholly slower than
//!   the published instance is **reproduced** as well. Undecided where no limit could be set, or it was never reached.
//! - `level-3`: wholly below the published figure is **reproduced**, wholly between it and 1 **changed**, wholly above the published
//!   figure otherwise **not reproduced**: less than half is refuted, and so is the direction.
//! - Claims on times of lzo: CPU time from memory to memory, by the rule for times. On its sizes, which were published as lengths and not by
//!   `du`: lengths, by the rule for sizes. That levels make no difference: the rule for equal times.
//! - Claims on a B-tree are about Berkeley DB: another engine is **not comparable**.
//! - Claims whose figures have no interval are undecided, as are those that were not measured.

mod little_memory;

use repackbench_analysis::{Judgement, Ratio, claim_outcomes, is_as_large, takes, takes_the_same};
use repackbench_records::{ClaimOutcome, Figure, Outcome, Published, Statement, StatementValue};

use super::{
    Figures, arm,
    arms::{COMPRESS, COMPRESS_CPU, Timings, UNCOMPRESS, UNCOMPRESS_CPU},
    phases::{FEW, LENGTH, Phases, WRITE},
    stores::{StoreTimes, Stores},
};
use crate::interleaved::ratio_of;

/// Sizes that differ by no more are equally good.
const LITTLE: f64 = 0.01;
/// A published size may be off by this many bytes: `du -h` prints whole MB.
const ROUNDING: f64 = 524_288.0;
/// The factor of "several times".
const SEVERAL: f64 = 2.0;
/// Two phases take equally long if neither takes more than this many times as long as the other.
const AS_LONG: f64 = 2.0;

/// The outcome of every claim.
pub(super) fn claims(published: &Published, figures: &Figures) -> Vec<ClaimOutcome> {
    let timings = figures.compressors.first().map(|corpus| corpus.timings.as_slice()).unwrap_or_default();
    let found = Found { timings };
    let value = |id: &str| published.claim(id).and_then(|claim| claim.value);
    let btree = |measured: Option<Statement>| {
        Judgement::new(Outcome::NotComparable, measured.into_iter().collect(), Statement::new("another-engine"))
    };
    let (btree_size, btree_time) = btree_figures(&figures.stores.all);
    let lzo_time = |id: &str, what: Statement, measured: Option<Ratio>| {
        of_lzo(takes(what, value(id).as_slice(), measured.as_ref()))
    };
    let by = |what: &str, codec: &str| Statement::new(what).with("codec", codec);
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
            lzo_time("lzo-decompress", by("decompressing", "gzip -3"), found.times("gzip 3", "lzop 7", UNCOMPRESS_CPU)),
        ),
        (
            "lzo-7-compress",
            lzo_time("lzo-7-compress", by("compressing", "lzo -7"), found.times("lzop 7", "gzip 3", COMPRESS_CPU)),
        ),
        (
            "lzo-3-compress",
            lzo_time("lzo-3-compress", by("compressing", "gzip -3"), found.times("gzip 3", "lzop 3", COMPRESS_CPU)),
        ),
        ("lzo-3-size", lzo_size("lzo-3-size", "lzo -3", "lzop 3")),
        ("lzo-level", judge_lzo_level(&found)),
    ];
    claim_outcomes(published, judgements)
}

/// The figures of the first corpus.
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

    /// The disk space of one arm's files as a multiple of another's.
    fn on_disk(&self, one: &str, other: &str) -> Option<f64> {
        self.size(one, other, |timings| timings.allocated)
    }

    fn size(&self, one: &str, other: &str, of: fn(&Timings) -> Option<u64>) -> Option<f64> {
        let bytes = |label: &str| self.of(label).and_then(of).map(|bytes| bytes as f64);
        Some(bytes(one)? / bytes(other)?).filter(|ratio| ratio.is_finite())
    }

    /// One arm's times as a multiple of another's.
    fn times(&self, one: &str, other: &str, quantity: &str) -> Option<Ratio> {
        ratio_of(self.of(one)?.samples.get(quantity), self.of(other)?.samples.get(quantity))
    }

    /// The elapsed times of compressing in place.
    fn compress(&self, one: &str, other: &str) -> Option<Ratio> {
        self.times(one, other, COMPRESS)
    }
}

fn of_lzo(judgement: Judgement) -> Judgement {
    judgement.because([Statement::new("own-lzo")])
}

/// The interval of `ratio`; without one the claim is undecided.
fn interval(ratio: &Ratio, shown: &[Statement]) -> Result<[f64; 2], Judgement> {
    let undecided = || Judgement::new(Outcome::Undecided, shown.to_vec(), Statement::new("interval-takes-six-runs"));
    ratio.estimate.interval.ok_or_else(undecided)
}

fn judge_gzip_6(found: &Found<'_>) -> Judgement {
    let all = (
        found.on_disk("gzip 9", "gzip 6"),
        found.on_disk("gzip 3", "gzip 6"),
        found.compress("gzip 9", "gzip 6"),
        found.compress("gzip 3", "gzip 6"),
    );
    let (Some(size_9), Some(size_3), Some(time_9), Some(time_3)) = all else {
        return Judgement::not_measured("gzip");
    };
    let level = |level: u32, size: f64, time: &Ratio| {
        let beside = Statement::new("beside-level-6").with("level", Figure::count(level));
        beside.with("size", Figure::ratio(size)).with("time", &time.estimate)
    };
    let shown = vec![level(9, size_9, &time_9), level(3, size_3, &time_3)];
    let ([low_9, high_9], [low_3, high_3]) = match (interval(&time_9, &shown), interval(&time_3, &shown)) {
        (Ok(nine), Ok(three)) => (nine, three),
        (Err(judgement), _) | (_, Err(judgement)) => return judgement,
    };
    let within = |id: &str| Statement::new(id).with("little", Figure::share(LITTLE));
    let (outcome, reason) = if size_9 < 1.0 - LITTLE {
        (Outcome::NotReproduced, within("level-9-smaller"))
    } else if size_3 <= 1.0 + LITTLE {
        (Outcome::NotReproduced, within("level-3-as-small"))
    } else if high_9 < 1.0 {
        (Outcome::NotReproduced, Statement::new("level-9-faster"))
    } else if low_9 <= 1.0 {
        (Outcome::Undecided, Statement::new("level-9-perhaps-slower"))
    } else if low_3 >= 0.5 {
        (Outcome::Reproduced, within("level-6-best"))
    } else if high_3 < 0.5 {
        (Outcome::Changed, within("level-3-saves-time").with("larger", Figure::share(size_3 - 1.0)))
    } else {
        (Outcome::Undecided, Statement::new("level-3-perhaps-saves-time"))
    };
    Judgement::new(outcome, shown, reason)
}

/// The most that bzip2 -9 may have saved of gzip -6, as the published sizes are rounded.
fn published_saving(published: &Published) -> Option<f64> {
    let table = published.table("compressors")?;
    Some(1.0 - (table.value("bzip2 9", "size")? - ROUNDING) / (table.value("gzip 6", "size")? + ROUNDING))
}

fn judge_bzip2(found: &Found<'_>, saving: Option<f64>) -> Judgement {
    let all = (found.on_disk("bzip2 9", "gzip 6"), found.compress("bzip2 9", "gzip 6"), saving);
    let (Some(size), Some(time), Some(saving)) = all else { return Judgement::not_measured("bzip2") };
    let shown = Statement::new("beside-gzip-6").with("size", Figure::ratio(size)).with("time", &time.estimate);
    let shown = vec![shown];
    let [low, high] = match interval(&time, &shown) {
        Ok(interval) => interval,
        Err(judgement) => return judgement,
    };
    if low < SEVERAL && high >= SEVERAL {
        let why = Statement::new("perhaps-several-times").with("times", Figure::ratio(SEVERAL));
        return Judgement::new(Outcome::Undecided, shown, why);
    }
    let (is_little, is_slow) = (1.0 - size <= saving, low >= SEVERAL);
    let outcome = match (is_little, is_slow) {
        (true, true) => Outcome::Reproduced,
        (false, false) => Outcome::NotReproduced,
        _ => Outcome::Changed,
    };
    let of_size = Statement::new("bzip2-saves").with("saves", Figure::share(1.0 - size));
    let of_size = of_size.with("published", Figure::share(saving));
    let of_time = match is_slow {
        true => Statement::new("takes-several-times").with("times", Figure::ratio(low)),
        false => Statement::new("takes-not-several-times").with("times", Figure::ratio(SEVERAL)),
    };
    Judgement::new(outcome, shown, of_size).because([of_time])
}

fn judge_factor(published: Option<f64>, phases: &Phases) -> Judgement {
    let missing = || Judgement::missing(Statement::new("phases-not-measured"));
    let (Some(full), Some(empty), Some(limit)) = (phases.get(true, LENGTH), phases.get(true, 0), published) else {
        return missing();
    };
    let (Some(gain), Some(parts)) =
        (ratio_of(&full.total(), &empty.total()), ratio_of(&full.open_and_close(), full.samples.get(WRITE)))
    else {
        return missing();
    };
    let shown = vec![
        Statement::new("to-empty-files").with("ratio", &gain.estimate),
        Statement::new("open-and-close-to-write").with("ratio", &parts.estimate),
    ];
    let [low, high] = match interval(&gain, &shown) {
        Ok(interval) => interval,
        Err(judgement) => return judgement,
    };
    let is_alike = parts.estimate.value <= AS_LONG && parts.estimate.value >= 1.0 / AS_LONG;
    let limited = |id: &str| Statement::new(id).with("limit", Figure::ratio(limit));
    let (outcome, reason) = if low > limit {
        (Outcome::NotReproduced, limited("empty-files-gain-more"))
    } else if high > limit {
        (Outcome::Undecided, limited("empty-files-perhaps-gain-more"))
    } else if is_alike {
        (Outcome::Reproduced, limited("opening-takes-as-long").with("factor", Figure::ratio(AS_LONG)))
    } else {
        (Outcome::Changed, limited("opening-takes-another-time").with("ratio", Figure::ratio(parts.estimate.value)))
    };
    Judgement::new(outcome, shown, reason)
}

fn judge_level_3(published: Option<f64>, figures: &Figures) -> Judgement {
    let (Some(ingest), Some(half)) = (&figures.commits.ingest, published) else {
        return Judgement::missing(Statement::new("commits-not-measured"));
    };
    let encode = figures.commits.encode.as_ref();
    let mut shown = vec![Statement::new("of-commits").with("ratio", &ingest.estimate)];
    shown.extend(encode.map(|encode| Statement::new("of-compressing-only").with("ratio", &encode.estimate)));
    let [low, high] = match interval(ingest, &shown) {
        Ok(interval) => interval,
        Err(judgement) => return judgement,
    };
    let (outcome, id) = if high < half {
        (Outcome::Reproduced, "commits-take-less-than-half")
    } else if low >= half && high < 1.0 {
        (Outcome::Changed, "commits-take-less")
    } else if low > 1.0 {
        return Judgement::new(Outcome::NotReproduced, shown, Statement::new("commits-take-longer"));
    } else if low >= half {
        (Outcome::NotReproduced, "commits-take-half-or-more")
    } else {
        (Outcome::Undecided, "commits-perhaps-take-half")
    };
    Judgement::new(outcome, shown, Statement::new(id).with("half", Figure::ratio(half)))
}

/// The time of this program's own B-tree with the objects of a few files, or of all if there are no more.
fn btree_small(figures: &Figures) -> Option<Statement> {
    let Stores { all, few } = &figures.stores;
    let (files, stores) = match few.is_empty() {
        true => (figures.compressors.first()?.files, all),
        false => (u64::from(FEW), few),
    };
    let ratio = btree_time(stores)?.estimate;
    Some(Statement::new("own-b-tree-with-files").with("ratio", &ratio).with("files", Figure::count(files)))
}

/// The size and the time of this program's own B-tree as multiples of those of files.
fn btree_figures(stores: &[StoreTimes]) -> (Option<Statement>, Option<Statement>) {
    let of = |id: &str, ratio: StatementValue| Statement::new(id).with("ratio", ratio);
    let size = btree_size(stores).map(|ratio| of("own-b-tree-size", Figure::ratio(ratio).into()));
    (size, btree_time(stores).map(|ratio| of("own-b-tree-time", (&ratio.estimate).into())))
}

fn btree_size(stores: &[StoreTimes]) -> Option<f64> {
    let [files, btree] = stores else { return None };
    let allocated = |times: &StoreTimes| times.size.map(|size| size.allocated as f64);
    Some(allocated(btree)? / allocated(files)?).filter(|ratio| ratio.is_finite())
}

fn btree_time(stores: &[StoreTimes]) -> Option<Ratio> {
    let [files, btree] = stores else { return None };
    ratio_of(&btree.make_and_sync(), &files.make_and_sync())
}

/// CPU time decides; the published elapsed time, which includes the file system, stands beside it.
fn judge_lzo_level(found: &Found<'_>) -> Judgement {
    let cpu = found.times("lzop 9", "lzop 3", UNCOMPRESS_CPU);
    let elapsed = found.times("lzop 9", "lzop 3", UNCOMPRESS);
    let elapsed = elapsed.map(|elapsed| Statement::new("with-the-file-system").with("ratio", &elapsed.estimate));
    of_lzo(takes_the_same(Statement::new("decompressing-lzo-9"), cpu.as_ref())).because(elapsed)
}

#[cfg(test)]
mod tests;
