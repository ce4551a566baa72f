//! Whether little memory makes large sets much slower.

use repackbench_records::Outcome;

use crate::{
    compressors_by_level::little_memory::{ARMS, LittleMemory, MemoryTimes},
    estimates::Ratio,
    interleaved::ratio_of,
    text::{estimate, list, percent, ratio},
    verdict::{Judgement, SAME, takes},
};

/// What takes longer.
const WORK: &str = "Writing the files out and reading them twice with little memory";

/// The arm of this codec, with little memory or without a limit.
fn arm_of<'a>(found: &'a LittleMemory, spec: &str, limited: bool) -> Option<&'a MemoryTimes> {
    let at = ARMS.iter().position(|(_, known, is_limited)| *known == spec && *is_limited == limited)?;
    found.arms.get(at)
}

/// The times of the arm of this codec with little memory as multiples of those without a limit.
fn slower(found: &LittleMemory, spec: &str, of: fn(&MemoryTimes) -> Vec<f64>) -> Option<Ratio> {
    ratio_of(&of(arm_of(found, spec, true)?), &of(arm_of(found, spec, false)?))
}

/// The rule for times decides on flat files; what is slower than the figure that was published for instance is no less reproduced.
pub(super) fn judge(published: Option<f64>, found: &LittleMemory) -> Judgement {
    if let Some(why) = &found.refused {
        return Judgement::missing(&format!(
            "It takes a limit on what the page cache may hold, and there was none: {why}."
        ));
    }
    let Some(flat) = slower(found, "store", MemoryTimes::total) else {
        return Judgement::missing("Little memory was not measured.");
    };
    let part =
        |words: &str, found: Option<Ratio>| found.map(|found| format!("{} times {words}", estimate(&found.estimate)));
    let shown = [
        part("as long with little memory", Some(flat.clone())),
        part("for reading again alone", slower(found, "store", |times| times.read_again.clone())),
        part("for files compressed by gzip -6", slower(found, "zlib:6", MemoryTimes::total)),
    ];
    let shown = list(&shown.into_iter().flatten().collect::<Vec<_>>());
    let free = arm_of(found, "store", false).map(|times| times.cached.as_slice()).unwrap_or_default();
    if let Some(least) = free.iter().copied().min_by(f64::total_cmp).filter(|cached| *cached < 1.0 - SAME) {
        let why = format!(
            "Memory was little without a limit, too: {} of the files' pages were cached after reading them twice.",
            percent(least)
        );
        return Judgement::new(Outcome::Undecided, shown, why);
    }
    let mut hits = arm_of(found, "store", true).into_iter().flat_map(|times| &times.limit_hits);
    if hits.any(|hits| *hits == 0) {
        let why = "The limit never stood in the way: the set is no large one beside it.".to_owned();
        return Judgement::new(Outcome::Undecided, shown, why);
    }
    let judgement = takes(WORK, published.as_slice(), Some(&flat));
    let set = format!(
        "The group could hold {} of the files' pages.",
        percent(found.limit as f64 / found.set_bytes.max(1) as f64)
    );
    let (outcome, reason) = match (published, flat.estimate.interval) {
        (Some(instance), Some([low, _])) if low >= instance => {
            (Outcome::Reproduced, format!("{WORK} takes {} times as long or more.", ratio(instance)))
        }
        _ => (judgement.outcome, judgement.reason),
    };
    Judgement::new(outcome, shown, format!("{reason} {set}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs that agree within a percent.
    fn times(value: f64) -> Vec<f64> {
        (0..6).map(|run| value * (1.0 + 0.002 * f64::from(run * 5 % 6))).collect()
    }

    fn arm(passes: [f64; 3], hits: u64) -> MemoryTimes {
        let [write, read, read_again] = passes.map(times);
        MemoryTimes { write, read, read_again, limit_hits: vec![hits; 6], ..MemoryTimes::default() }
    }

    /// Flat files take `slower` times as long with little memory.
    fn found(slower: f64, hits: u64) -> LittleMemory {
        let arms = vec![
            arm([0.5, 0.2, 0.3], 0),
            arm([0.5 * slower, 0.2 * slower, 0.3 * slower], hits),
            arm([1.0, 0.5, 0.5], 0),
            arm([1.0, 1.0, 1.0], hits),
        ];
        LittleMemory { files: 5, copies: 1, set_bytes: 400, limit: 100, arms, refused: None }
    }

    fn outcome(slower: f64) -> Outcome {
        judge(Some(10.0), &found(slower, 3)).outcome
    }

    #[test]
    fn ten_times_is_an_instance_and_less_another_figure() {
        assert_eq!(outcome(10.0), Outcome::Reproduced);
        assert_eq!(outcome(40.0), Outcome::Reproduced, "more is no less");
        assert_eq!(outcome(3.0), Outcome::Changed);
        assert_eq!(outcome(1.001), Outcome::NotReproduced);
        assert_eq!(outcome(0.5), Outcome::NotReproduced);
        let judgement = judge(Some(10.0), &found(3.0, 3));
        assert!(judgement.measured.starts_with("3.00 [") && judgement.measured.contains("gzip -6"), "{judgement:?}");
        assert!(judgement.reason.contains("could hold 25 % of the files' pages"), "{judgement:?}");
    }

    #[test]
    fn without_a_limit_that_binds_nothing_is_decided() {
        let judgement = judge(Some(10.0), &found(3.0, 0));
        assert_eq!(judgement.outcome, Outcome::Undecided);
        assert!(judgement.reason.contains("never stood in the way"), "{judgement:?}");
        let mut unknown = found(3.0, 0);
        unknown.arms.iter_mut().for_each(|times| times.limit_hits.clear());
        assert_eq!(judge(Some(10.0), &unknown).outcome, Outcome::Changed, "a kernel that does not tell is believed");
        let mut short = found(3.0, 3);
        short.arms.iter_mut().for_each(|times| times.write.truncate(3));
        assert_eq!(judge(Some(10.0), &short).outcome, Outcome::Undecided, "three runs have no interval");
        assert_eq!(judge(Some(10.0), &LittleMemory::default()).outcome, Outcome::Undecided);
        let refused = LittleMemory { refused: Some("no such controller".to_owned()), ..LittleMemory::default() };
        let judgement = judge(Some(10.0), &refused);
        assert_eq!((judgement.outcome, judgement.measured.as_str()), (Outcome::Undecided, ""));
        assert!(judgement.reason.contains("no such controller"), "{judgement:?}");
    }

    /// As in a container whose own limit is below the set.
    #[test]
    fn where_memory_is_little_without_a_limit_nothing_is_decided() {
        let with_cached = |cached: [f64; 2]| {
            let mut found = found(1.001, 3);
            found.arms.iter_mut().for_each(|times| times.cached = cached.to_vec());
            judge(Some(10.0), &found)
        };
        assert_eq!(with_cached([1.0, 0.97]).outcome, Outcome::NotReproduced);
        let judgement = with_cached([1.0, 0.4]);
        assert_eq!(judgement.outcome, Outcome::Undecided);
        assert!(judgement.reason.contains("without a limit, too: 40 % of the files' pages"), "{judgement:?}");
    }
}
