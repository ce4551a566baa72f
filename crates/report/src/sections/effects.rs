//! Differences from the baseline in words: `2.9 % smaller`, `55 % less CPU time`. Only verdicts count as differences.

use repackbench_analysis::{LEAST_NOISE_FLOOR, noise_floor};
use repackbench_records::{ComparedTime, RatioEstimate, VariantComparison, Verdict, WorkloadComparison, WorkloadLabel};

use super::names::workload_name;
use crate::{
    document::{Cell, Tone},
    number::percent,
};

/// The difference between two sizes, if it shows at one decimal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SizeDifference {
    /// Smaller by this percentage.
    Smaller(f64),
    /// Larger by this percentage.
    Larger(f64),
    /// This many times as large.
    Times(f64),
}

impl SizeDifference {
    /// The difference of `bytes` from `other`.
    pub(crate) fn of(bytes: u64, other: u64) -> Option<Self> {
        if other == 0 { None } else { Self::of_ratio(bytes as f64 / other as f64) }
    }

    /// The difference that a ratio of sizes means.
    pub(crate) fn of_ratio(ratio: f64) -> Option<Self> {
        match 100.0 * (ratio - 1.0) {
            percent @ ..=-0.05 => Some(SizeDifference::Smaller(-percent)),
            percent @ 0.05..100.0 => Some(SizeDifference::Larger(percent)),
            100.0.. => Some(SizeDifference::Times(ratio)),
            _ => None,
        }
    }

    /// Smaller is good news.
    pub(crate) fn tone(self) -> Tone {
        if self.is_larger() { Tone::Worse } else { Tone::Better }
    }

    /// Whether it is larger.
    pub(crate) fn is_larger(self) -> bool {
        !matches!(self, SizeDifference::Smaller(_))
    }

    /// `2.3 % smaller`, `3.0 times the size`.
    pub(crate) fn words(self) -> String {
        match self {
            SizeDifference::Smaller(percent) => format!("{percent:.1}\u{a0}% smaller"),
            SizeDifference::Larger(percent) => format!("{percent:.1}\u{a0}% larger"),
            SizeDifference::Times(ratio) => format!("{ratio:.1} times the size"),
        }
    }

    /// The same with the name of the other: `2.3 % smaller than zlib:6`.
    pub(crate) fn words_beside(self, other: &str) -> String {
        let than = if matches!(self, SizeDifference::Times(_)) { "of" } else { "than" };
        format!("{} {than} {other}", self.words())
    }
}

/// A ratio of sizes as a cell; empty for no difference.
pub(crate) fn size_cell(ratio: f64) -> Cell {
    match SizeDifference::of_ratio(ratio) {
        Some(difference) => Cell::toned("", &plain_spaces(&difference.words()), "", difference.tone()),
        None => "same".into(),
    }
}

/// A kind of time that a comparison has ratios of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// CPU time, as the workload defines it.
    Cpu,
    /// Elapsed time.
    Elapsed,
}

impl Clock {
    /// `CPU time`, `elapsed time`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Clock::Cpu => "CPU time",
            Clock::Elapsed => "elapsed time",
        }
    }

    /// `CPU`, `elapsed`: in a table.
    pub(crate) fn short_name(self) -> &'static str {
        match self {
            Clock::Cpu => "CPU",
            Clock::Elapsed => "elapsed",
        }
    }

    /// The clocks of a workload, the compared one first.
    pub(crate) fn of(comparison: &WorkloadComparison) -> &'static [Clock] {
        let has_elapsed = comparison.rows.iter().any(|row| row.elapsed.is_some());
        match comparison.compared_time {
            ComparedTime::Wall => &[Clock::Elapsed],
            _ if has_elapsed => &[Clock::Cpu, Clock::Elapsed],
            _ => &[Clock::Cpu],
        }
    }

    /// The ratio of a row by this clock, with its verdict.
    pub(crate) fn change_of(self, comparison: &WorkloadComparison, row: &VariantComparison) -> Option<TimeChange> {
        let is_compared = (self == Clock::Elapsed) == (comparison.compared_time == ComparedTime::Wall);
        if is_compared {
            return Some(TimeChange { estimate: row.ratio?, verdict: row.verdict, floor: comparison.noise_floor });
        }
        let elapsed = row.elapsed?;
        let floor = comparison.elapsed_noise.and_then(|noise| noise.interval).as_ref().map(noise_floor);
        Some(TimeChange { estimate: elapsed.ratio, verdict: elapsed.verdict, floor })
    }

    /// The median time of a row by this clock.
    pub(crate) fn median_of(self, comparison: &WorkloadComparison, row: &VariantComparison) -> std::time::Duration {
        match (self, comparison.compared_time) {
            (Clock::Cpu, _) | (_, ComparedTime::Wall) => row.compared_median,
            (Clock::Elapsed, _) => row.wall_median,
        }
    }
}

/// A ratio of times with its verdict.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeChange {
    /// The ratio.
    pub(crate) estimate: RatioEstimate,
    /// The verdict, if there is one.
    pub(crate) verdict: Option<Verdict>,
    /// The noise floor, as a part of 1.
    floor: Option<f64>,
}

impl TimeChange {
    /// Whether it is decided and a difference.
    pub(crate) fn is_difference(self) -> bool {
        matches!(self.verdict, Some(Verdict::Faster | Verdict::Slower))
    }

    /// Whether the runs decide nothing.
    pub(crate) fn is_open(self) -> bool {
        matches!(self.verdict, None | Some(Verdict::Inconclusive))
    }

    /// [`change_words`] of the ratio.
    pub(crate) fn words(self) -> String {
        change_words(self.estimate.ratio)
    }

    /// The noise floor in percent, if it is so wide that "same" has to name it.
    fn wide_floor(self) -> Option<String> {
        let floor = self.floor.filter(|floor| *floor >= 2.0 * LEAST_NOISE_FLOOR)?;
        Some(percent(floor, 0))
    }

    /// The words as a cell, with a question mark if the runs do not decide.
    pub(crate) fn cell(self) -> Cell {
        match self.verdict {
            Some(Verdict::Same) => match self.wide_floor() {
                Some(floor) => format!("same ±{floor}").into(),
                None => "same".into(),
            },
            Some(Verdict::Faster) => Cell::toned("", &self.words(), "", Tone::Better),
            Some(Verdict::Slower) => Cell::toned("", &self.words(), "", Tone::Worse),
            Some(Verdict::Inconclusive) | None => format!("{} ?", self.words()).into(),
        }
    }

    /// `55 % less CPU time`, `3.4 times the CPU time`, `the same CPU time`.
    fn phrase(self, time: &str) -> String {
        match self.verdict {
            Some(Verdict::Same) => match self.wide_floor() {
                Some(floor) => format!("the same {time} within {floor}"),
                None => format!("the same {time}"),
            },
            _ if self.estimate.ratio >= 2.0 => format!("{} the {time}", self.words()),
            _ => format!("{} {time}", self.words()),
        }
    }
}

/// The compared time of some workloads: `CPU time`, `elapsed time`, or both words.
pub(crate) fn compared_time(comparisons: &[&WorkloadComparison]) -> &'static str {
    let clocks = || comparisons.iter().filter_map(|comparison| Clock::of(comparison).first());
    match (clocks().any(|clock| *clock == Clock::Cpu), clocks().any(|clock| *clock == Clock::Elapsed)) {
        (true, true) => "CPU or elapsed time",
        (false, true) => Clock::Elapsed.name(),
        _ => Clock::Cpu.name(),
    }
}

/// A ratio of times in words: `55 % less`, `12 % more`, `3.4 times`.
pub(crate) fn change_words(ratio: f64) -> String {
    let percent = 100.0 * (ratio - 1.0);
    match ratio {
        2.0.. => format!("{ratio:.1} times"),
        _ if percent.abs() < 0.5 => "0 %".to_owned(),
        1.0.. => format!("{percent:.0} % more"),
        _ => format!("{:.0} % less", -percent),
    }
}

/// The decided difference of a row in words: `checkout takes 55 % less CPU time and the same elapsed time`. `None` if
/// neither kind of time is a difference.
pub(crate) fn time_effect(comparison: &WorkloadComparison, row: &VariantComparison) -> Option<String> {
    let changes: Vec<(Clock, TimeChange)> =
        Clock::of(comparison).iter().filter_map(|clock| Some((*clock, clock.change_of(comparison, row)?))).collect();
    if !changes.iter().any(|(_, change)| change.is_difference()) {
        return None;
    }
    let (open, decided): (Vec<_>, Vec<_>) = changes.into_iter().partition(|(_, change)| change.is_open());
    let phrase = match decided.as_slice() {
        [(_, cpu), (_, elapsed)] if cpu.phrase("") == elapsed.phrase("") => cpu.phrase("CPU and elapsed time"),
        decided => {
            let phrases = decided.iter().map(|(clock, change)| change.phrase(clock.name()));
            phrases.collect::<Vec<_>>().join(if is_mixed(decided) { " but " } else { " and " })
        }
    };
    let open: String = open.iter().map(|(clock, _)| format!(" ({}: not decided)", clock.name())).collect();
    Some(format!("{} takes {phrase}{open}", job_name(&comparison.workload)))
}

/// [`workload_name`] without the stock client, which the heading of an answer names.
pub(crate) fn job_name(workload: &WorkloadLabel) -> String {
    let mut job = workload.clone();
    job.parameters.remove(WorkloadLabel::CLIENT);
    workload_name(&job)
}

/// Whether one kind of time is less and the other is more.
fn is_mixed(changes: &[(Clock, TimeChange)]) -> bool {
    let has = |verdict| changes.iter().any(|(_, change)| change.verdict == Some(verdict));
    has(Verdict::Faster) && has(Verdict::Slower)
}

/// The verdict on a row by its first clock that shows a difference.
pub(crate) fn direction(comparison: &WorkloadComparison, row: &VariantComparison) -> Option<Verdict> {
    let changes = Clock::of(comparison).iter().filter_map(|clock| clock.change_of(comparison, row));
    changes.filter(|change| change.is_difference()).find_map(|change| change.verdict)
}

/// The text with ordinary spaces, for lines that are broken elsewhere.
pub(crate) fn plain_spaces(text: &str) -> String {
    text.replace('\u{a0}', " ")
}

#[cfg(test)]
mod tests {
    use repackbench_records::{ElapsedComparison, Role};

    use super::*;
    use crate::fixtures::{comparison, estimate, row};

    fn effect(cpu: f64, elapsed: Option<(f64, Verdict)>) -> Option<String> {
        let mut row = row(Role::Candidate, "zstd:5", 700, Some(estimate(cpu, cpu - 0.005, cpu + 0.005)), 84);
        row.elapsed = elapsed.map(|(ratio, verdict)| ElapsedComparison {
            ratio: estimate(ratio, ratio - 0.005, ratio + 0.005),
            adjusted_p: Some(0.01),
            verdict: Some(verdict),
        });
        let mut comparison = comparison("checkout", vec![row.clone()], None);
        comparison.workload.parameters.insert("rev".into(), "HEAD".into());
        time_effect(&comparison, &row)
    }

    #[test]
    fn effects_name_cpu_and_elapsed_time() {
        let expected = [
            (0.37, Some((0.97, Verdict::Faster)), "63 % less CPU time and 3 % less elapsed time"),
            (0.37, Some((1.0, Verdict::Same)), "63 % less CPU time and the same elapsed time"),
            (0.37, Some((0.99, Verdict::Inconclusive)), "63 % less CPU time (elapsed time: not decided)"),
            (0.37, Some((1.2, Verdict::Slower)), "63 % less CPU time but 20 % more elapsed time"),
            (0.70, Some((0.70, Verdict::Faster)), "30 % less CPU and elapsed time"),
            (1.00, Some((0.95, Verdict::Faster)), "the same CPU time and 5 % less elapsed time"),
            (3.44, Some((2.96, Verdict::Slower)), "3.4 times the CPU time and 3.0 times the elapsed time"),
            (0.37, None, "63 % less CPU time"),
        ];
        for (cpu, elapsed, words) in expected {
            assert_eq!(effect(cpu, elapsed).unwrap(), format!("checkout takes {words}"));
        }
        assert_eq!(effect(1.0, Some((1.0, Verdict::Same))), None);
        let same = |floor| TimeChange { estimate: estimate(1.0, 0.99, 1.01), verdict: Some(Verdict::Same), floor };
        assert_eq!(same(Some(0.01)).cell().text, "same");
        assert_eq!(same(Some(0.06)).cell().text, "same ±6 %");
        assert_eq!(same(Some(0.06)).phrase("elapsed time"), "the same elapsed time within 6 %");
        assert_eq!(effect(1.0, Some((0.9, Verdict::Inconclusive))), None, "not decided");
    }

    #[test]
    fn sizes_differ_from_one_decimal_on() {
        let words = |bytes| SizeDifference::of(bytes, 10_000).map(|of| plain_spaces(&of.words()));
        assert_eq!(words(10_004), None);
        assert_eq!(words(10_030).as_deref(), Some("0.3 % larger"));
        assert_eq!(words(9_710).as_deref(), Some("2.9 % smaller"));
        assert_eq!(words(25_000).as_deref(), Some("2.5 times the size"));
        assert_eq!(SizeDifference::of(1, 0), None);
    }
}
