//! zlib's share of the CPU time of hg's commands, from two sides: the time of only the codec for the same chunks, and
//! the time that hg saves if everything is stored uncompressed.
//!
//! The first is a lower bound. The second also includes the cost of calling the codec, and lacks the cost of reading
//! more bytes, so it is an upper bound except for those bytes.

use repackbench_analysis::{ArmReader, Judgement, WorkloadKey, extra};
use repackbench_records::{Estimate, ExperimentRow, ExperimentTable, Figure, Outcome, Statement, Unit};

use super::findings::{
    CLONE, COMMANDS, ENCODE, FLOOR_SEND, FLOOR_SEND_NEWEST, FLOOR_UPDATE, FLOOR_WRITE_NEWEST, LayoutFindings, PULL,
    UPDATE, ZLIB, arm, deciding,
};
use crate::{
    measuring::MOSTLY_START,
    tables::{column, unpublished},
};

/// About half of the time is between these.
const ABOUT_HALF: [f64; 2] = [0.35, 0.65];
/// The part of a command that reading more bytes may take where nothing is compressed, and writing them in a clone: the
/// saved part may be this much smaller than zlib's.
const BYTES: f64 = 0.1;

/// zlib's part of the CPU time of one of hg's commands.
#[derive(Debug, Clone)]
pub(super) struct ZlibShare {
    name: &'static str,
    /// The part that the codec alone takes, a lower bound.
    pub(super) alone: Option<f64>,
    /// The part that hg saves without compression.
    saved: Option<Estimate>,
    /// The part that the start of hg takes.
    start: Option<f64>,
}

/// A part of the time, compared with [`ABOUT_HALF`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodecShare {
    Less,
    AboutHalf,
    More,
    Unknown,
}

impl ZlibShare {
    /// `None` if nothing is known of zlib's part.
    pub(super) fn of(layout: &LayoutFindings<'_>, (job, name): (WorkloadKey, &'static str)) -> Option<Self> {
        let (alone, saved) = (alone(layout, job), layout.saved_by_store(job));
        let share = ZlibShare { name, alone, saved, start: layout.start_share(job) };
        (share.alone.is_some() || share.saved.is_some()).then_some(share)
    }

    fn saved_interval(&self) -> Option<[f64; 2]> {
        self.saved.as_ref()?.interval
    }

    fn is_mostly_start(&self) -> bool {
        self.start.is_some_and(|start| start > MOSTLY_START)
    }

    fn part(&self) -> CodecShare {
        let [least, most] = ABOUT_HALF;
        match (self.saved_interval(), self.alone) {
            (_, Some(alone)) if alone > most => CodecShare::More,
            (Some([low, _]), _) if low > most => CodecShare::More,
            (Some([low, high]), _) if low >= least && high <= most => CodecShare::AboutHalf,
            (Some([_, high]), Some(alone)) if high < least - BYTES && alone < least => CodecShare::Less,
            _ => CodecShare::Unknown,
        }
    }

    /// A statement about a share of the command.
    fn says(&self, id: &str, share: f64) -> Statement {
        Statement::new(id).with("command", self.name).with("share", Figure::share(share))
    }

    /// The lower bound of a part that has no upper bound.
    fn bound(&self) -> Option<Statement> {
        let [least, _] = ABOUT_HALF;
        let alone = self.alone.filter(|alone| self.part() == CodecShare::Unknown && *alone >= least)?;
        Some(self.says("zlib-takes-at-least", alone))
    }

    /// `update as found: saved 44 % [43 %, 46 %] and alone at least 31 %`.
    fn measured(&self, layout: &LayoutFindings<'_>) -> Statement {
        let figure = |id: &str, share: Figure| Statement::new(id).with("share", share);
        let saved = self.saved.as_ref().map(|saved| figure("saved-part", Figure::estimated(saved, Unit::Share)));
        let alone = self.alone.map(|alone| figure("alone-at-least", Figure::share(alone)));
        let figures: Vec<Statement> = saved.into_iter().chain(alone).collect();
        layout.says("zlib-share-of-command").with("command", self.name).with("figures", figures)
    }
}

/// The part of a command of plain hg under zlib that the codec alone takes.
fn alone(layout: &LayoutFindings<'_>, job: WorkloadKey) -> Option<f64> {
    let floor = |job| layout.cpu_median(job, ArmReader::Replay, ZLIB);
    let sum = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
    let codec = match job {
        UPDATE => floor(FLOOR_UPDATE),
        CLONE => sum(floor(FLOOR_SEND), compressing_all(layout)),
        PULL => sum(floor(FLOOR_SEND_NEWEST), floor(FLOOR_WRITE_NEWEST)),
        _ => None,
    };
    Some(codec? / layout.cpu_median(job, ArmReader::Client, ZLIB)?)
}

/// The time of compressing all payloads; the replay compresses only a part of a large store.
fn compressing_all(layout: &LayoutFindings<'_>) -> Option<f64> {
    let arm = arm(ArmReader::Replay, ZLIB)?;
    let count = |name| extra(layout.records, ENCODE, &arm, name).map(|count| count as f64);
    let part = count("payload bytes encoded")? / count("payload bytes in all")?;
    (part > 0.0).then_some(layout.cpu_median(ENCODE, ArmReader::Replay, ZLIB)? / part)
}

/// Judges that zlib takes about half of the CPU time.
pub(super) fn half_the_cpu(layouts: &[LayoutFindings<'_>]) -> Judgement {
    let best_known = |command| {
        let share = |layout: &LayoutFindings<'_>| ZlibShare::of(layout, command);
        let saved = |layout: &LayoutFindings<'_>| share(layout).filter(|share| share.saved_interval().is_some());
        let both_bounds = |layout: &LayoutFindings<'_>| saved(layout).filter(|share| share.alone.is_some());
        deciding(layouts, both_bounds).or_else(|| deciding(layouts, saved)).or_else(|| deciding(layouts, share))
    };
    let shares: Vec<_> = COMMANDS.into_iter().filter_map(best_known).collect();
    if shares.is_empty() {
        let replayed = layouts.iter().find_map(LayoutFindings::replayed_share);
        return Judgement::missing(Statement::new("commands-of-hg-not-compared"))
            .because(replayed.map(|share| Statement::new("zlib-in-replay").with("share", Figure::share(share))));
    }
    let measured = shares.iter().map(|(layout, share)| share.measured(layout)).collect();
    let (mostly_start, shares): (Vec<_>, Vec<_>) = shares.into_iter().partition(|(_, share)| share.is_mostly_start());
    let starts = mostly_start.iter().filter_map(|(_, share)| Some(share.says("start-of-hg-takes", share.start?)));
    let (outcome, reason) = verdict(&shares.iter().map(|(_, share)| share.part()).collect::<Vec<_>>());
    let bounds = shares.iter().filter_map(|(_, share)| share.bound());
    Judgement::new(outcome, measured, reason).because(bounds.chain(starts))
}

/// The verdict on those commands that say something about codecs.
fn verdict(parts: &[CodecShare]) -> (Outcome, Statement) {
    let are_most = |wanted: &[CodecShare]| 2 * parts.iter().filter(|part| wanted.contains(part)).count() > parts.len();
    let [least, most] = ABOUT_HALF.map(Figure::share);
    let from_least = |id: &str| Statement::new(id).with("least", least);
    if parts.is_empty() {
        (Outcome::Undecided, Statement::new("repository-too-small"))
    } else if are_most(&[CodecShare::AboutHalf]) {
        (Outcome::Reproduced, from_least("zlib-takes-about-half").with("most", most))
    } else if are_most(&[CodecShare::AboutHalf, CodecShare::More]) {
        (Outcome::Changed, from_least("zlib-takes-half-or-more").with("most", most))
    } else if are_most(&[CodecShare::Less]) {
        (Outcome::NotReproduced, from_least("zlib-takes-less").with("bytes", Figure::share(BYTES)))
    } else {
        let unknown = from_least("zlib-share-unknown").with("most", most);
        (Outcome::Undecided, unknown.with("bytes", Figure::share(BYTES)))
    }
}

/// zlib's share of each command.
pub(super) fn table(layout: &LayoutFindings<'_>) -> ExperimentTable {
    let published = layout.published.claim("half-the-cpu").and_then(|claim| claim.value);
    let of_hg = COMMANDS.into_iter().filter_map(|command| ZlibShare::of(layout, command));
    let of_hg = of_hg.map(|share| ExperimentRow {
        label: share.name.to_owned(),
        published: vec![published, None, None],
        measured: vec![share.saved, share.alone.map(Estimate::exact), share.start.map(Estimate::exact)],
    });
    let replayed = layout.replayed_share();
    let replayed =
        replayed.map(|share| unpublished("update, replayed", vec![None, Some(Estimate::exact(share)), None]));
    ExperimentTable {
        title: layout.says("share-of-zlib").with("codec", ZLIB).into(),
        columns: vec![
            column("saved without compression", Unit::Share),
            column("the codec alone, at least", Unit::Share),
            column("the start of hg", Unit::Share),
        ],
        rows: of_hg.chain(replayed).collect(),
    }
}

#[cfg(test)]
mod tests {
    use repackbench_records::Record;

    use super::*;
    use crate::{
        tests::{blocks, by_client, reason, run},
        zlib_vs_lz4_revlog::{
            LayoutKind::{AsFound, Of2012},
            claims::tests::judged,
        },
    };

    /// An update by hg under zlib. The codec alone takes `part` of it.
    fn with_floor(part: f64) -> Vec<Record> {
        let mut records = by_client("checkout", &[]);
        records.extend(blocks("floor:checkout", "zlib:6", "lz4", 0.3));
        for record in records.iter_mut().filter(|record| record.workload.name == "floor:checkout") {
            record.sample.user_ns = (record.sample.user_ns as f64 * part * 10.0) as u64;
        }
        records
    }

    /// `records`, and plain hg in a repository without compression, which takes `part` of its time under zlib in each
    /// block.
    fn with_store(mut records: Vec<Record>, workload: &str, part: impl Fn(u32) -> f64) -> Vec<Record> {
        for block in 0..7 {
            let milliseconds = f64::from(1000 + block) * part(block);
            records.push(run(workload, "candidate", "store", Some(false), block, milliseconds as u64));
        }
        records
    }

    #[test]
    fn lower_bound_decides_only_above_half() {
        let judge = |part| judged(&[(AsFound, &with_floor(part), &[])], "half-the-cpu");
        assert_eq!(
            [0.5, 0.8, 0.3].map(|part| judge(part).outcome),
            [Outcome::Undecided, Outcome::Changed, Outcome::Undecided]
        );
        let half = reason(&judge(0.5).reasons);
        assert!(half.ends_with(" At least 51 % of update is zlib's, and nothing shows how much more."), "{half}");
        assert_eq!(reason(&judge(0.1).measured), "update as found: alone at least 10 %");
        let mut records = with_floor(0.1);
        for record in &mut records {
            record.extra.insert("process start ns".to_owned(), 400_000_000);
        }
        let small = judged(&[(AsFound, &records, &[])], "half-the-cpu");
        assert_eq!(small.outcome, Outcome::Undecided);
        let why = reason(&small.reasons);
        assert!(why.ends_with("The start of hg takes 40 % of update."), "{why}");
    }

    #[test]
    fn time_saved_without_compression_decides_either_way() {
        let judge = |alone: f64, part: f64| {
            let records = with_store(with_floor(alone), "checkout", |_| part);
            judged(&[(AsFound, &records, &[])], "half-the-cpu")
        };
        for (alone, part, outcome) in [
            (0.1, 0.5, Outcome::Reproduced),
            (0.1, 0.3, Outcome::Changed),
            (0.1, 0.8, Outcome::NotReproduced),
            // Reading more bytes may take what is missing to 35 %.
            (0.25, 0.7, Outcome::Undecided),
            // The codec alone takes more than hg saves without it, although that reads more: one of them is off.
            (0.4, 0.8, Outcome::Undecided),
            (0.7, 0.5, Outcome::Changed),
        ] {
            let found = judge(alone, part);
            assert_eq!(found.outcome, outcome, "{alone} {part}: {:?}", found.reasons);
        }
        let shown = reason(&judge(0.1, 0.5).measured);
        assert!(shown.starts_with("update as found: saved 50 % [50 %, 50 %] and alone at least 10 %"), "{shown}");
        // From 0.30 to 0.42 saved.
        let wide = with_store(with_floor(0.1), "checkout", |block| 0.58 + 0.02 * f64::from(block));
        assert_eq!(judged(&[(AsFound, &wide, &[])], "half-the-cpu").outcome, Outcome::Undecided);
    }

    #[test]
    fn layout_of_2012_decides_if_it_has_both_bounds() {
        let today = with_store(with_floor(0.1), "checkout", |_| 0.9);
        let old = with_store(with_floor(0.1), "checkout", |_| 0.5);
        let outcome = judged(&[(AsFound, &today, &[]), (Of2012, &old, &[])], "half-the-cpu");
        assert_eq!(outcome.outcome, Outcome::Reproduced, "{:?}", outcome.reasons);
        let outcome = judged(&[(AsFound, &today, &[]), (Of2012, &with_floor(0.5), &[])], "half-the-cpu");
        assert_eq!(outcome.outcome, Outcome::NotReproduced, "a lower bound alone comes second: {:?}", outcome.measured);
        // The layout of 2012 has no lower bound, so what it saves says less than both bounds of today's.
        let (today, saved) = (with_store(with_floor(0.1), "checkout", |_| 0.5), by_client("checkout", &[]));
        let old = with_store(saved, "checkout", |_| 0.9);
        let outcome = judged(&[(AsFound, &today, &[]), (Of2012, &old, &[])], "half-the-cpu");
        assert_eq!(outcome.outcome, Outcome::Reproduced, "{:?}", outcome.measured);
        let alone = judged(&[(Of2012, &old, &[])], "half-the-cpu");
        assert_eq!(alone.outcome, Outcome::Undecided, "{:?}", alone.measured);
        // One of two commands is not most of them.
        let mut two = with_store(by_client("checkout", &[]), "checkout", |_| 0.5);
        two.extend(with_store(by_client("clone:same", &[]), "clone:same", |_| 0.9));
        assert_eq!(judged(&[(AsFound, &two, &[])], "half-the-cpu").outcome, Outcome::Undecided);
    }
}
