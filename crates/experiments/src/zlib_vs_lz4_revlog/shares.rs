//! zlib's share of the processor time of hg's commands, from two sides: what the codec alone takes for the same chunks, and what hg saves
//! that stores everything uncompressed.
//!
//! The first is a lower bound. The second holds besides what calling the codec costs, and lacks what reading more bytes costs, so that it
//! is an upper bound but for those bytes.

use repackbench_records::{Estimate, ExperimentRow, ExperimentTable, Outcome, Unit};

use super::{
    claims::deciding,
    tables::{
        CLONE, COMMANDS, ENCODE, FLOOR_SEND, FLOOR_SEND_NEWEST, FLOOR_UPDATE, FLOOR_WRITE_NEWEST, LayoutFindings, PULL,
        UPDATE, ZLIB, arm,
    },
};
use crate::{
    estimates::{JobName, Who, extra},
    tables::column,
    text::percent,
    verdict::Judgement,
};

/// About half of the time is between these.
const ABOUT_HALF: [f64; 2] = [0.35, 0.65];
/// So much of a command may reading more bytes take, and writing them in a clone, where nothing is compressed: what is saved may be so much
/// less than zlib's part.
const BYTES: f64 = 0.1;
/// A command of which the start of hg is a larger part tells nothing of codecs.
const MOSTLY_START: f64 = 0.25;

/// zlib's part of the CPU time of one of hg's commands.
#[derive(Debug, Clone)]
pub(super) struct ZlibShare {
    name: &'static str,
    /// What the codec alone takes of it, at least.
    pub(super) alone: Option<f64>,
    /// What hg saves of it that stores everything uncompressed.
    saved: Option<Estimate>,
    /// What the start of hg takes of it.
    start: Option<f64>,
}

/// What is known of a part of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Less,
    AboutHalf,
    More,
    Unknown,
}

impl ZlibShare {
    /// `None` where nothing is known of zlib's part.
    pub(super) fn of(layout: &LayoutFindings<'_>, (job, name): (JobName, &'static str)) -> Option<Self> {
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

    fn part(&self) -> Part {
        let [least, most] = ABOUT_HALF;
        match (self.saved_interval(), self.alone) {
            (_, Some(alone)) if alone > most => Part::More,
            (Some([low, _]), _) if low > most => Part::More,
            (Some([low, high]), _) if low >= least && high <= most => Part::AboutHalf,
            (Some([_, high]), Some(alone)) if high < least - BYTES && alone < least => Part::Less,
            _ => Part::Unknown,
        }
    }

    /// The lower bound of a part that nothing bounds from above, in a sentence.
    fn bound(&self) -> Option<String> {
        let [least, _] = ABOUT_HALF;
        let alone = self.alone.filter(|alone| self.part() == Part::Unknown && *alone >= least)?;
        Some(format!(" zlib takes {} of {} at least, and nothing tells how much more.", percent(alone), self.name))
    }

    /// `update as found: saved 44 % [43 %, 46 %], alone at least 31 %`.
    fn shown(&self, layout: &str) -> String {
        let interval = |[low, high]: [f64; 2]| format!(" [{}, {}]", percent(low), percent(high));
        let saved = self
            .saved
            .as_ref()
            .map(|saved| format!("saved {}{}", percent(saved.value), saved.interval.map(interval).unwrap_or_default()));
        let alone = self.alone.map(|alone| format!("alone at least {}", percent(alone)));
        let figures: Vec<String> = saved.into_iter().chain(alone).collect();
        format!("{} {layout}: {}", self.name, figures.join(", "))
    }
}

/// What the codec alone takes of a command of plain hg under zlib.
fn alone(layout: &LayoutFindings<'_>, job: JobName) -> Option<f64> {
    let floor = |job| layout.cpu_median(job, Who::Replay, ZLIB);
    let sum = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
    let codec = match job {
        UPDATE => floor(FLOOR_UPDATE),
        CLONE => sum(floor(FLOOR_SEND), compressing_all(layout)),
        PULL => sum(floor(FLOOR_SEND_NEWEST), floor(FLOOR_WRITE_NEWEST)),
        _ => None,
    };
    Some(codec? / layout.cpu_median(job, Who::Plain, ZLIB)?)
}

/// How long compressing all payloads takes, of which the replay compresses only a part where the store is large.
fn compressing_all(layout: &LayoutFindings<'_>) -> Option<f64> {
    let arm = arm(Who::Replay, ZLIB)?;
    let count = |name| extra(layout.records, ENCODE, &arm, name).map(|count| count as f64);
    let part = count("payload bytes encoded")? / count("payload bytes in all")?;
    (part > 0.0).then_some(layout.cpu_median(ENCODE, Who::Replay, ZLIB)? / part)
}

/// Judges that zlib takes about half of the processor time.
pub(super) fn half_the_cpu(layouts: &[LayoutFindings<'_>]) -> Judgement {
    let told = |command| {
        let share = |layout: &LayoutFindings<'_>| ZlibShare::of(layout, command);
        let saved = |layout: &LayoutFindings<'_>| share(layout).filter(|share| share.saved_interval().is_some());
        let both_bounds = |layout: &LayoutFindings<'_>| saved(layout).filter(|share| share.alone.is_some());
        deciding(layouts, both_bounds).or_else(|| deciding(layouts, saved)).or_else(|| deciding(layouts, share))
    };
    let shares: Vec<_> = COMMANDS.into_iter().filter_map(told).map(|(layout, share)| (layout.name, share)).collect();
    if shares.is_empty() {
        let mut judgement =
            Judgement::missing("hg's own commands were not measured beside the codec alone, or without any.");
        if let Some(share) = layouts.iter().find_map(LayoutFindings::replayed_share) {
            judgement.reason.push_str(&format!(" In the replay of update zlib takes {} at least.", percent(share)));
        }
        return judgement;
    }
    let shown: Vec<String> = shares.iter().map(|(layout, share)| share.shown(layout)).collect();
    let (mostly_start, shares): (Vec<_>, Vec<_>) = shares.into_iter().partition(|(_, share)| share.is_mostly_start());
    let starts = mostly_start.iter().filter_map(|(_, share)| {
        Some(format!(" The start of hg alone takes {} of {}.", percent(share.start?), share.name))
    });
    let (outcome, reason) = verdict(&shares.iter().map(|(_, share)| share.part()).collect::<Vec<_>>());
    let bounds = shares.iter().filter_map(|(_, share)| share.bound());
    Judgement::new(outcome, shown.join("; "), reason + &bounds.chain(starts).collect::<String>())
}

/// The verdict on those commands that tell something.
fn verdict(parts: &[Part]) -> (Outcome, String) {
    let [least, most] = ABOUT_HALF.map(percent);
    let are_most = |wanted: &[Part]| 2 * parts.iter().filter(|part| wanted.contains(part)).count() > parts.len();
    if parts.is_empty() {
        (Outcome::Undecided, "The repository is too small to tell.".to_owned())
    } else if are_most(&[Part::AboutHalf]) {
        (Outcome::Reproduced, format!("In most of these commands zlib takes {least} to {most} of the processor time."))
    } else if are_most(&[Part::AboutHalf, Part::More]) {
        (
            Outcome::Changed,
            format!("In most of these commands zlib takes {least} or more, and in many more than {most}."),
        )
    } else if are_most(&[Part::Less]) {
        let reason = format!(
            "In most of these commands hg without any compression saves less than {least} of the processor time by more than the {} that reading more bytes may take, and the codec alone takes less, too.",
            percent(BYTES)
        );
        (Outcome::NotReproduced, reason)
    } else {
        let reason = format!(
            "A lower bound of {most} or less alone, an interval across {least} or {most}, or one below {least} without a lower bound or by no more than {}, does not tell how much zlib takes.",
            percent(BYTES)
        );
        (Outcome::Undecided, reason)
    }
}

/// What zlib takes of each command.
pub(super) fn table(layout: &LayoutFindings<'_>) -> ExperimentTable {
    let published = layout.published.claim("half-the-cpu").and_then(|claim| claim.value);
    let of_hg = COMMANDS.into_iter().filter_map(|command| ZlibShare::of(layout, command));
    let of_hg = of_hg.map(|share| ExperimentRow {
        label: share.name.to_owned(),
        published: vec![published, None, None],
        measured: vec![share.saved, share.alone.map(Estimate::exact), share.start.map(Estimate::exact)],
    });
    let replayed = layout.replayed_share().map(|share| ExperimentRow {
        label: "update, replayed".to_owned(),
        published: vec![None; 3],
        measured: vec![None, Some(Estimate::exact(share)), None],
    });
    ExperimentTable {
        title: format!("zlib's share of CPU time, {}", layout.name),
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
        estimates::tests::{blocks, by_client, run},
        zlib_vs_lz4_revlog::{AS_FOUND, OLD, claims::tests::judged},
    };

    /// An update by hg under zlib, of which the codec alone takes `part`.
    fn with_floor(part: f64) -> Vec<Record> {
        let mut records = by_client("checkout", &[]);
        records.extend(blocks("floor:checkout", "zlib:6", "lz4", 0.3));
        for record in records.iter_mut().filter(|record| record.workload.name == "floor:checkout") {
            record.sample.user_ns = (record.sample.user_ns as f64 * part * 10.0) as u64;
        }
        records
    }

    /// What plain hg takes in a repository without compression, as a part of its time under zlib in each block.
    fn with_store(mut records: Vec<Record>, workload: &str, part: impl Fn(u32) -> f64) -> Vec<Record> {
        for block in 0..7 {
            let milliseconds = f64::from(1000 + block) * part(block);
            records.push(run(workload, "candidate", "store", Some(false), block, milliseconds as u64));
        }
        records
    }

    #[test]
    fn a_lower_bound_tells_no_more_than_it_bounds() {
        let judge = |part| judged(&[(AS_FOUND, &with_floor(part), &[])], "half-the-cpu");
        assert_eq!(
            [0.5, 0.8, 0.3].map(|part| judge(part).outcome),
            [Outcome::Undecided, Outcome::Changed, Outcome::Undecided]
        );
        let half = judge(0.5).reason;
        assert!(half.ends_with(" zlib takes 51 % of update at least, and nothing tells how much more."), "{half}");
        assert_eq!(judge(0.1).measured, "update as found: alone at least 10 %");
        let mut records = with_floor(0.1);
        for record in &mut records {
            record.extra.insert("process start ns".to_owned(), 400_000_000);
        }
        let small = judged(&[(AS_FOUND, &records, &[])], "half-the-cpu");
        assert_eq!(small.outcome, Outcome::Undecided);
        assert!(small.reason.ends_with("The start of hg alone takes 40 % of update."), "{}", small.reason);
    }

    #[test]
    fn what_hg_saves_without_compression_decides_either_way() {
        let judge = |alone: f64, part: f64| {
            let records = with_store(with_floor(alone), "checkout", |_| part);
            judged(&[(AS_FOUND, &records, &[])], "half-the-cpu")
        };
        for (alone, part, outcome) in [
            (0.1, 0.5, Outcome::Reproduced),
            (0.1, 0.3, Outcome::Changed),
            (0.1, 0.8, Outcome::NotReproduced),
            // What more bytes take may be what lacks to 35 %.
            (0.25, 0.7, Outcome::Undecided),
            // The codec alone takes more than hg saves without it, which reads more: one of them is off.
            (0.4, 0.8, Outcome::Undecided),
            (0.7, 0.5, Outcome::Changed),
        ] {
            let found = judge(alone, part);
            assert_eq!(found.outcome, outcome, "{alone} {part}: {}", found.reason);
        }
        let shown = judge(0.1, 0.5).measured;
        assert!(shown.starts_with("update as found: saved 50 % [50 %, 50 %], alone at least 10 %"), "{shown}");
        // From 0.30 to 0.42 saved.
        let wide = with_store(with_floor(0.1), "checkout", |block| 0.58 + 0.02 * f64::from(block));
        assert_eq!(judged(&[(AS_FOUND, &wide, &[])], "half-the-cpu").outcome, Outcome::Undecided);
    }

    #[test]
    fn each_command_is_judged_in_the_layout_of_2012_where_that_tells_both() {
        let today = with_store(with_floor(0.1), "checkout", |_| 0.9);
        let old = with_store(with_floor(0.1), "checkout", |_| 0.5);
        let outcome = judged(&[(AS_FOUND, &today, &[]), (OLD, &old, &[])], "half-the-cpu");
        assert_eq!(outcome.outcome, Outcome::Reproduced, "{}", outcome.reason);
        let outcome = judged(&[(AS_FOUND, &today, &[]), (OLD, &with_floor(0.5), &[])], "half-the-cpu");
        assert_eq!(outcome.outcome, Outcome::NotReproduced, "a lower bound alone stands back: {}", outcome.measured);
        // A clone of 2012 has no lower bound, and what it saves says less than both of today's.
        let (today, saved) = (with_store(with_floor(0.1), "checkout", |_| 0.5), by_client("checkout", &[]));
        let old = with_store(saved, "checkout", |_| 0.9);
        let outcome = judged(&[(AS_FOUND, &today, &[]), (OLD, &old, &[])], "half-the-cpu");
        assert_eq!(outcome.outcome, Outcome::Reproduced, "{}", outcome.measured);
        let alone = judged(&[(OLD, &old, &[])], "half-the-cpu");
        assert_eq!(alone.outcome, Outcome::Undecided, "{}", alone.measured);
        // An update alone is no most of two.
        let mut two = with_store(by_client("checkout", &[]), "checkout", |_| 0.5);
        two.extend(with_store(by_client("clone:same", &[]), "clone:same", |_| 0.9));
        assert_eq!(judged(&[(AS_FOUND, &two, &[])], "half-the-cpu").outcome, Outcome::Undecided);
    }
}
