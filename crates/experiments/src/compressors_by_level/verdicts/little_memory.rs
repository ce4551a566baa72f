//! Whether little memory makes large sets much slower.

use repackbench_analysis::{Judgement, Ratio, SAME, takes};
use repackbench_records::{Figure, Outcome, Statement};

use crate::{
    compressors_by_level::little_memory::{ARMS, CACHED, LIMIT_HITS, LittleMemory, PASSES, READ_AGAIN},
    interleaved::ratio_of,
    samples::Samples,
};

/// The arm of this codec, with little memory or without a limit.
fn arm_of<'a>(found: &'a LittleMemory, spec: &str, limited: bool) -> Option<&'a Samples> {
    let at = ARMS.iter().position(|(_, known, is_limited)| *known == spec && *is_limited == limited)?;
    found.arms.get(at)
}

/// The times of the arm of this codec with little memory as multiples of those without a limit.
fn slower(found: &LittleMemory, spec: &str, quantities: &[&str]) -> Option<Ratio> {
    ratio_of(&arm_of(found, spec, true)?.sum(quantities), &arm_of(found, spec, false)?.sum(quantities))
}

/// Judges flat files by the rule for times. The published figure is an instance: the claim is reproduced as well where they are slower than
/// it.
pub(super) fn judge(published: Option<f64>, found: &LittleMemory) -> Judgement {
    let work = || Statement::new("writing-and-reading-twice");
    if let Some(why) = &found.refused {
        return Judgement::missing(Statement::new("no-limit-on-the-page-cache").with("why", why.clone()));
    }
    let Some(flat) = slower(found, "store", &PASSES) else { return Judgement::not_measured(work()) };
    let times = |id: &str, ratio: &Ratio| Statement::new(id).with("ratio", &ratio.estimate);
    let mut shown = vec![times("times-as-long", &flat)];
    let again = slower(found, "store", &[READ_AGAIN]);
    shown.extend(again.map(|again| times("times-for-reading-again", &again)));
    let gzip = slower(found, "zlib:6", &PASSES);
    shown.extend(gzip.map(|gzip| times("times-for-gzip-6", &gzip)));
    let free = arm_of(found, "store", false).map(|times| times.get(CACHED)).unwrap_or_default();
    if let Some(least) = free.iter().copied().min_by(f64::total_cmp).filter(|cached| *cached < 1.0 - SAME) {
        let why = Statement::new("little-memory-without-a-limit").with("cached", Figure::share(least));
        return Judgement::new(Outcome::Undecided, shown, why);
    }
    let mut hits = arm_of(found, "store", true).into_iter().flat_map(|times| times.get(LIMIT_HITS));
    if hits.any(|hits| *hits == 0.0) {
        return Judgement::new(Outcome::Undecided, shown, Statement::new("limit-never-reached"));
    }
    let mut judgement = takes(work(), published.as_slice(), Some(&flat));
    if let (Some(instance), Some([low, _])) = (published, flat.estimate.interval)
        && low >= instance
    {
        let slower = Statement::new("takes-times-or-more").with("what", work()).with("times", Figure::ratio(instance));
        (judgement.outcome, judgement.reasons) = (Outcome::Reproduced, vec![slower]);
    }
    let part = found.limit as f64 / found.set_bytes.max(1) as f64;
    let held = Statement::new("group-could-hold").with("part", Figure::share(part));
    Judgement { measured: shown, ..judgement }.because([held])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        compressors_by_level::little_memory::{READ, WRITE},
        tests::reason,
    };

    /// Runs that agree within a percent.
    fn times(value: f64) -> Vec<f64> {
        (0..6).map(|run| value * (1.0 + 0.002 * f64::from(run * 5 % 6))).collect()
    }

    fn arm(passes: [f64; 3], hits: f64) -> Samples {
        let [write, read, read_again] = passes.map(times);
        [(WRITE, write), (READ, read), (READ_AGAIN, read_again), (LIMIT_HITS, vec![hits; 6])].into()
    }

    /// Flat files take `slower` times as long with little memory.
    fn found(slower: f64, hits: f64) -> LittleMemory {
        let arms = vec![
            arm([0.5, 0.2, 0.3], 0.0),
            arm([0.5 * slower, 0.2 * slower, 0.3 * slower], hits),
            arm([1.0, 0.5, 0.5], 0.0),
            arm([1.0, 1.0, 1.0], hits),
        ];
        LittleMemory { files: 5, copies: 1, set_bytes: 400, limit: 100, arms, refused: None }
    }

    fn outcome(slower: f64) -> Outcome {
        judge(Some(10.0), &found(slower, 3.0)).outcome
    }

    #[test]
    fn ten_times_is_an_instance() {
        assert_eq!(outcome(10.0), Outcome::Reproduced);
        assert_eq!(outcome(40.0), Outcome::Reproduced, "more is no less");
        assert_eq!(outcome(3.0), Outcome::Changed);
        assert_eq!(outcome(1.001), Outcome::NotReproduced);
        assert_eq!(outcome(0.5), Outcome::NotReproduced);
        let judgement = judge(Some(10.0), &found(3.0, 3.0));
        let shown = reason(&judgement.measured);
        assert!(shown.starts_with("3.00 [") && shown.contains("gzip -6"), "{shown}");
        assert!(reason(&judgement.reasons).contains("could hold 25 % of the files' pages"), "{judgement:?}");
    }

    #[test]
    fn limit_that_never_binds_is_undecided() {
        let judgement = judge(Some(10.0), &found(3.0, 0.0));
        assert_eq!(judgement.outcome, Outcome::Undecided);
        assert!(reason(&judgement.reasons).contains("never reached"), "{judgement:?}");
        let mut unknown = found(3.0, 0.0);
        unknown.arms.iter_mut().for_each(|times| times.set(LIMIT_HITS, Vec::new()));
        assert_eq!(judge(Some(10.0), &unknown).outcome, Outcome::Changed, "a kernel without the counter is trusted");
        let mut short = found(3.0, 3.0);
        short.arms.iter_mut().for_each(|times| times.truncate(3));
        assert_eq!(judge(Some(10.0), &short).outcome, Outcome::Undecided, "three runs have no interval");
        assert_eq!(judge(Some(10.0), &LittleMemory::default()).outcome, Outcome::Undecided);
        let refused = LittleMemory { refused: Some("no such controller".into()), ..LittleMemory::default() };
        let judgement = judge(Some(10.0), &refused);
        assert_eq!((judgement.outcome, judgement.measured.len()), (Outcome::Undecided, 0));
        assert!(reason(&judgement.reasons).contains("no such controller"), "{judgement:?}");
    }

    /// As in a container whose own limit is below the set.
    #[test]
    fn little_memory_without_a_limit_is_undecided() {
        let with_cached = |cached: [f64; 2]| {
            let mut found = found(1.001, 3.0);
            found.arms.iter_mut().for_each(|times| times.set(CACHED, cached.to_vec()));
            judge(Some(10.0), &found)
        };
        assert_eq!(with_cached([1.0, 0.97]).outcome, Outcome::NotReproduced);
        let judgement = with_cached([1.0, 0.4]);
        assert_eq!(judgement.outcome, Outcome::Undecided);
        assert!(reason(&judgement.reasons).contains("even without a limit: 40 % of the files' pages"), "{judgement:?}");
    }
}
