//! The share of a workload's CPU time that decoding takes where it happens: what a replay saves that has every payload
//! remembered.

use repackbench_analysis::median;
use repackbench_codec::DecodeMemo;

use crate::{BenchError, clock::Sample};

/// The largest and the smallest number of pairs of replays.
const MOST_PAIRS: usize = 9;
pub(crate) const FEWEST_PAIRS: usize = 3;

/// A standard error of the share that a few replays cannot undercut.
const LEAST_ERROR: f64 = 0.005;

/// The limit of payload bytes that are remembered.
const MOST_REMEMBERED: usize = 2 << 30;

/// A share with its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DecodeShare {
    /// CPU time of a replay, in seconds.
    pub(crate) seconds: f64,
    /// The share of it that is saved where nothing is decoded.
    pub(crate) share: f64,
    /// Its standard error.
    pub(crate) error: f64,
    /// The same for elapsed time.
    pub(crate) elapsed: f64,
    pub(crate) elapsed_error: f64,
    /// Whether there was more to remember than the limit allows. Then the share is too low.
    pub(crate) is_cut: bool,
}

/// The seconds of a replay.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Took {
    pub(crate) cpu: f64,
    pub(crate) elapsed: f64,
}

impl Took {
    /// The times of `sample`.
    pub(crate) fn of(sample: &Sample) -> Self {
        Took { cpu: sample.user.saturating_add(sample.sys).as_secs_f64(), elapsed: sample.wall.as_secs_f64() }
    }
}

/// A replay with all payloads decoded, and one with all of them remembered.
struct Pair {
    decoded: Took,
    remembered: Took,
}

/// Replays a workload with a memo, or without, and returns the times and the memo.
type Replay<'a> = dyn FnMut(Option<Box<DecodeMemo>>) -> Result<(Took, Box<DecodeMemo>), BenchError> + 'a;

/// Measures the share in what `replay` replays. There are enough pairs when the error is small, or `is_over` says that the
/// time is up.
///
/// # Errors
/// The first of `replay` or `is_over`.
pub(crate) fn measure(
    replay: &mut Replay<'_>,
    is_over: &dyn Fn() -> Result<bool, BenchError>,
) -> Result<DecodeShare, BenchError> {
    let (_, mut memo) = replay(Some(Box::new(DecodeMemo::recording(MOST_REMEMBERED))))?;
    let is_cut = memo.left_out() > 0;
    let mut pairs = Vec::new();
    loop {
        let (decoded, _) = replay(None)?;
        memo.give_back();
        let (remembered, kept) = replay(Some(memo))?;
        memo = kept;
        pairs.push(Pair { decoded, remembered });
        let (share, error) = share_of(&pairs, |took| took.cpu);
        let is_enough = pairs.len() >= FEWEST_PAIRS && (error <= LEAST_ERROR || is_over()?);
        if is_enough || pairs.len() >= MOST_PAIRS {
            let mut seconds: Vec<f64> = pairs.iter().map(|pair| pair.decoded.cpu).collect();
            let seconds = median(&mut seconds).unwrap_or_default();
            let (elapsed, elapsed_error) = share_of(&pairs, |took| took.elapsed);
            let (error, elapsed_error) = (error.max(LEAST_ERROR), elapsed_error.max(LEAST_ERROR));
            return Ok(DecodeShare { seconds, share, error, elapsed, elapsed_error, is_cut });
        }
    }
}

/// The share of a time that is saved where nothing is decoded, and its standard error.
fn share_of(pairs: &[Pair], time: fn(&Took) -> f64) -> (f64, f64) {
    let of_pair =
        |pair: &Pair| (1.0 - time(&pair.remembered) / time(&pair.decoded).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let mut shares: Vec<f64> = pairs.iter().map(of_pair).collect();
    let share = median(&mut shares).unwrap_or_default();
    let squares: f64 = shares.iter().map(|of| (of - share).powi(2)).sum();
    let count = shares.len().max(2) as f64;
    (share, (squares / (count - 1.0) / count).sqrt())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Measures replays of which each takes the next of `seconds` where it decodes, and half a second otherwise.
    fn measured(seconds: &[f64], is_over: bool) -> (DecodeShare, usize) {
        let replays = Cell::new(0);
        let mut replay = |memo: Option<Box<DecodeMemo>>| {
            let number = replays.replace(replays.get() + 1);
            let took = if memo.is_some() { 0.5 } else { seconds[number / 2 % seconds.len()] };
            Ok((Took { cpu: took, elapsed: 2.0 * took }, memo.unwrap_or_default()))
        };
        (measure(&mut replay, &|| Ok(is_over)).unwrap(), replays.get())
    }

    #[test]
    fn pairs_go_on_until_they_agree_or_the_time_is_up() {
        let (agreed, replays) = measured(&[2.0], false);
        assert_eq!((agreed.share, agreed.seconds, agreed.error), (0.75, 2.0, LEAST_ERROR));
        assert_eq!((agreed.elapsed, agreed.elapsed_error), (0.75, LEAST_ERROR));
        assert_eq!(replays, 1 + 2 * FEWEST_PAIRS);
        let (spread, replays) = measured(&[1.0, 2.0, 4.0], false);
        assert!(spread.error > 0.01 && replays == 1 + 2 * MOST_PAIRS, "{spread:?}");
        assert_eq!(measured(&[1.0, 2.0, 4.0], true).1, 1 + 2 * FEWEST_PAIRS);
    }
}
