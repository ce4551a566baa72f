//! How long a session measures.

use std::{
    num::NonZero,
    path::PathBuf,
    str::FromStr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use clap::{Args, ValueEnum};
use repackbench_timing::bench::{Blocks, MAX_BLOCKS};

use super::ByteSize;

/// How long a session measures if the user does not say.
const DEFAULT_TIME: Duration = Duration::from_secs(60);

/// How long to measure.
#[derive(Debug, Args)]
pub(crate) struct PaceArguments {
    /// Run each variant exactly N times in each workload.
    ///
    /// The precision that is reached does not matter then. Fewer than 6 give no interval.
    #[arg(long, help_heading = super::HOW_LONG, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_BLOCKS)))]
    #[arg(conflicts_with_all = ["min_blocks", "max_blocks", "precision"])]
    blocks: Option<u32>,

    /// Run each variant at least N times [default: 6, or as many as verdicts on all rows need].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_BLOCKS)))]
    #[arg(help_heading = super::EXPERT)]
    min_blocks: Option<u32>,

    /// Run each variant at most N times.
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_BLOCKS)))]
    #[arg(help_heading = super::EXPERT)]
    max_blocks: u32,

    /// Stop when no interval of a workload extends further than this from its middle.
    #[arg(long, value_name = "PERCENT", default_value = "1%", help_heading = super::EXPERT)]
    precision: Percent,

    /// Time to measure [default: 60s; no limit with --blocks].
    ///
    /// Such as 90s, 10m or 1h; making variants does not count. Workloads take turns. Those that read commits read the
    /// newest that fit, unless --commits says how many, and what is precise gets no more blocks. The first block of
    /// each workload always runs.
    #[arg(long, value_name = "DURATION", conflicts_with = "precise", help_heading = super::HOW_LONG)]
    time: Option<Span>,

    /// Measure all of history until every workload is precise.
    ///
    /// Or until it has --max-blocks, however long that takes.
    #[arg(long, help_heading = super::HOW_LONG)]
    precise: bool,

    #[command(flatten)]
    pub(crate) min_run_time: MinRunTimeArgument,

    /// Continue the session that wrote the records in FILE.
    ///
    /// The last one, if FILE has several. No other argument is needed. The rest of the records is written to FILE. An
    /// incomplete last block is run again. Arguments that are not given are those of the command line in the records,
    /// but for programs, which have to be named again, and output files.
    #[arg(long, value_name = "FILE", conflicts_with = "json", help_heading = super::HOW_LONG)]
    pub(crate) resume: Option<PathBuf>,

    /// Limit of the delta-base cache in decoded bytes, such as 0, 16M or unlimited. Each further limit, after a
    /// comma, adds a row for each variant.
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "96M", help_heading = super::EXPERT)]
    delta_cache: Vec<CacheLimit>,

    /// Run N copies of the workload at once, each in its own thread, and compare the time that all of them take.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    #[arg(help_heading = super::EXPERT)]
    pub(crate) jobs: u32,

    /// State of the page cache at the start of a run: warm, all files in memory; cold, none. A cold run reads one of
    /// four copies of its variant, which is evicted from the page cache, and is refused if a page of it remains.
    /// Opening the repository is part of a cold run, and elapsed time is compared. The copies are in the cache of
    /// variants, and are removed at the end. What a hypervisor or the device itself may still hold is unknown.
    #[arg(long, value_name = "STATE", default_value = "warm", conflicts_with = "jobs", help_heading = super::EXPERT)]
    cache: PageCacheState,
}

/// The state of the page cache at the start of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PageCacheState {
    Warm,
    Cold,
}

impl PaceArguments {
    /// Whether runs start with a cold page cache.
    pub(crate) fn is_cold(&self) -> bool {
        self.cache == PageCacheState::Cold
    }

    /// The number of blocks.
    pub(crate) fn blocks(&self) -> Blocks {
        let until = Blocks::UntilPrecise { min: self.min_blocks, max: self.max_blocks, precision: self.precision.0 };
        self.blocks.map_or(until, Blocks::Exactly)
    }

    /// How long to measure; `None` for no limit.
    pub(crate) fn time(&self) -> Option<Duration> {
        let default = (!self.precise && self.blocks.is_none()).then_some(DEFAULT_TIME);
        self.time.map_or(default, |Span(time)| Some(time))
    }

    /// Every limit once.
    pub(crate) fn delta_caches(&self) -> Vec<Option<u64>> {
        let mut limits = Vec::new();
        for CacheLimit(limit) in &self.delta_cache {
            if !limits.contains(limit) {
                limits.push(*limit);
            }
        }
        limits
    }
}

/// The length of a run.
#[derive(Debug, Args)]
pub(crate) struct MinRunTimeArgument {
    /// Repeat a job within one run until it has taken this long, such as 20ms or 2s; shorter runs measure the clock
    /// more than the job [default: what the compared time needs, 100ms or more].
    #[arg(long, value_name = "DURATION", help_heading = super::EXPERT)]
    min_run_time: Option<Span>,
}

impl MinRunTimeArgument {
    /// The length that the user gave.
    pub(crate) fn duration(&self) -> Option<Duration> {
        self.min_run_time.map(|Span(time)| time)
    }
}

/// The seed of a random order.
#[derive(Debug, Args)]
pub(crate) struct SeedArgument {
    /// Seed of the random order [default: a new one each time].
    #[arg(long, value_name = "N", help_heading = super::EXPERT)]
    seed: Option<u64>,
}

impl SeedArgument {
    /// The seed that the user gave, or else `earlier`, or else a new one.
    pub(crate) fn given_or(&self, earlier: Option<u64>) -> u64 {
        let new = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
        self.seed.or(earlier).unwrap_or_else(new)
    }
}

/// A share of 1, typed in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Percent(pub(crate) f64);

impl FromStr for Percent {
    type Err = &'static str;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        let number: f64 =
            typed.strip_suffix('%').unwrap_or(typed).parse().map_err(|_| "expected a number such as 1%")?;
        if number > 0.0 && number <= 100.0 {
            Ok(Percent(number / 100.0))
        } else {
            Err("expected more than 0 and at most 100%")
        }
    }
}

/// A duration, typed with a unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span(pub(crate) Duration);

impl FromStr for Span {
    type Err = &'static str;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected a whole number of ms, s, m or h, such as 20ms, 90s, 10m or 1h";
        let split = typed.find(|character: char| !character.is_ascii_digit()).ok_or(EXPECTED)?;
        let (number, unit) = typed.split_at(split);
        let milliseconds = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60 * 1000,
            "h" => 3600 * 1000,
            _ => return Err(EXPECTED),
        };
        let number: NonZero<u64> = number.parse().map_err(|_| EXPECTED)?;
        number.get().checked_mul(milliseconds).map(|time| Span(Duration::from_millis(time))).ok_or(EXPECTED)
    }
}

/// The time that an experiment may take; `None` for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeLimit(pub(crate) Option<Duration>);

impl FromStr for TimeLimit {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        if typed == "none" {
            return Ok(TimeLimit(None));
        }
        typed.parse().map(|Span(time)| TimeLimit(Some(time))).map_err(|error| format!("{error}, or none"))
    }
}

/// The limit of the delta-base cache in decoded bytes; `None` for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CacheLimit(Option<u64>);

impl FromStr for CacheLimit {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        if typed == "unlimited" {
            return Ok(CacheLimit(None));
        }
        let bad = |error| format!("{error}, or unlimited");
        typed.parse().map(|ByteSize(bytes)| CacheLimit(Some(bytes))).map_err(bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_end_after_a_minute_unless_told_otherwise() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            measure: super::super::MeasureArguments,
        }
        let parsed = |words: &str| <Line as clap::Parser>::try_parse_from(format!("bench {words}").split_whitespace());
        let time = |words: &str| parsed(words).map(|line| line.measure.pace.time().map(|time| time.as_secs())).ok();
        assert_eq!(
            (time(""), time("--precision 2%"), time("--max-blocks 9")),
            (Some(Some(60)), Some(Some(60)), Some(Some(60)))
        );
        assert_eq!((time("--time 10m"), time("--blocks 9 --time 90s")), (Some(Some(600)), Some(Some(90))));
        assert_eq!((time("--precise"), time("--blocks 9")), (Some(None), Some(None)));
        assert_eq!(time("--precise --time 10m"), None);
    }

    #[test]
    fn durations_need_a_unit() {
        let seconds = |seconds| Ok(Span(Duration::from_secs(seconds)));
        assert_eq!(("90s".parse(), "10m".parse(), "2h".parse()), (seconds(90), seconds(600), seconds(7200)));
        assert_eq!("20ms".parse(), Ok(Span(Duration::from_millis(20))));
        for typed in
            ["", "s", "10", "0s", "0ms", "-1s", "1.5h", "1d", "1µ", "99999999999999999999h", "9999999999999999h"]
        {
            assert!(typed.parse::<Span>().is_err(), "{typed}");
        }
    }

    #[test]
    fn precision_is_in_percent() {
        assert_eq!(("1%".parse(), "0.5".parse()), (Ok(Percent(0.01)), Ok(Percent(0.005))));
        for typed in ["", "%", "0", "-1%", "101%", "nan", "inf"] {
            assert!(typed.parse::<Percent>().is_err(), "{typed}");
        }
    }

    #[test]
    fn cache_limit_is_a_size_or_unlimited() {
        assert_eq!("16M".parse(), Ok(CacheLimit(Some(16 << 20))));
        assert_eq!(("0".parse(), "unlimited".parse()), (Ok(CacheLimit(Some(0))), Ok(CacheLimit(None))));
        assert!("much".parse::<CacheLimit>().is_err_and(|error| error.ends_with("or unlimited")));
    }
}
