//! The share of a workload's CPU time that decoding takes where it happens: what a replay saves that has every payload
//! remembered, or a sample of them, beside one that looks for them and decodes. In the same rounds, what a replay takes
//! that has the chunks of another codec in their places.

use std::time::Duration;

use repackbench_analysis::median;
use repackbench_codec::{DecodeMemo, StandIns};

use crate::{BenchError, clock::Sample};

/// The largest and the smallest number of rounds of replays.
const MOST_ROUNDS: usize = 20;
const FEWEST_ROUNDS: usize = 3;

/// A standard error of the share that a few replays cannot undercut.
pub(crate) const LEAST_ERROR: f64 = 0.005;

/// The standard error of a workload's ratio between codecs that is small enough.
const ENOUGH: f64 = 0.01;

/// The seconds after which a replay has replaced what the processor's caches held before it. A shorter one is repeated,
/// as `bench` does: codecs would wait for their tables in turn.
const LONG_ENOUGH: f64 = 0.02;

/// The most repetitions of a replay.
const MOST_REPEATS: u32 = 20;

/// The limit of payload bytes that are remembered. Of more, a sample says what decoding takes.
const MOST_REMEMBERED: usize = 96 << 20;

/// The least part of the decoded bytes that says something about the others.
const LEAST_PART: f64 = 1.0 / 64.0;

/// How much the cost of a byte differs between chunks, as a share: a guess, of which a sample of some hundred chunks
/// leaves a few percent.
const SPREAD_OF_COSTS: f64 = 0.5;

/// The standard error of a share in a longer replay, as a share of itself: see [`DecodeShare::in_longer`].
const CARRYING_ERROR: f64 = 0.04;

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
}

/// The seconds of a replay, or of a command.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Took {
    pub(crate) cpu: f64,
    pub(crate) elapsed: f64,
}

impl DecodeShare {
    /// The share in a longer replay of `seconds`, whose decoding takes `times` as long by the sample, where this one
    /// took `own_seconds` at about the same time. What decoding takes in place is a multiple of that, which hardly
    /// depends on the number of commits.
    pub(crate) fn in_longer(&self, (own_seconds, seconds): (f64, f64), times: f64) -> DecodeShare {
        let factor = times * own_seconds / seconds.max(f64::MIN_POSITIVE);
        if !factor.is_finite() {
            return DecodeShare { seconds, error: 1.0, elapsed_error: 1.0, ..*self };
        }
        let carried = |share: f64, error: f64| {
            let share = (share * factor).min(1.0);
            (share, (error * factor).hypot(share * CARRYING_ERROR).min(1.0))
        };
        let ((share, error), (elapsed, elapsed_error)) =
            (carried(self.share, self.error), carried(self.elapsed, self.elapsed_error));
        DecodeShare { seconds, share, error, elapsed, elapsed_error }
    }

    /// Whether it says anything.
    pub(crate) fn is_known(&self) -> bool {
        self.seconds > 0.0 && self.error < 1.0
    }
}

impl Took {
    /// The times of `sample`.
    pub(crate) fn of(sample: &Sample) -> Self {
        Took { cpu: sample.user.saturating_add(sample.sys).as_secs_f64(), elapsed: sample.wall.as_secs_f64() }
    }
}

/// A replay with all payloads decoded, one that looks for all of them or for a sample before it decodes them, one that
/// has those remembered, and one under each codec, which looks as well.
#[derive(Debug, Clone, Default)]
struct Round {
    decoded: Took,
    looked_for: Took,
    remembered: Took,
    codecs: Vec<Option<Took>>,
}

/// Replays a workload with a memo, or without, and returns the times and the memo.
type Replay<'a> = dyn FnMut(Option<Box<DecodeMemo>>) -> Result<(Took, Box<DecodeMemo>), BenchError> + 'a;

/// The chunks of a codec for some or all of those that a replay decodes.
#[derive(Debug)]
pub(crate) struct CodecStandIns {
    pub(crate) stand_ins: StandIns,
    /// The part of the decoded bytes for which there are chunks, of what is remembered.
    pub(crate) part: f64,
}

/// Makes the chunks of each codec for what a memo remembers; `None` for a codec that is not replayed. Also gets the
/// elapsed time that each codec takes in the fewest rounds.
type MakeStandIns<'a> = dyn FnMut(&DecodeMemo, Duration) -> Result<Vec<Option<CodecStandIns>>, BenchError> + 'a;

/// The rounds of replays of one workload.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    rounds: Vec<Round>,
    /// The part of the decoded bytes that is remembered.
    remembered: f64,
    /// The standard error of the cost of all chunks where it is known of a sample, as a share of itself.
    sampling_error: f64,
    /// See [`CodecStandIns::part`], for each codec.
    parts: Vec<f64>,
}

/// A mean with its standard error and the number of rounds that it is from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RoundMean {
    pub(crate) value: f64,
    pub(crate) error: f64,
    pub(crate) rounds: usize,
}

/// Measures the share in what `replay` replays, and the times under the codecs that `stand_ins` makes chunks for. There
/// are enough rounds when the errors are small, or `is_over` says that the time is up.
///
/// # Errors
/// The first of `replay`, `stand_ins` or `is_over`.
pub(crate) fn measure(
    replay: &mut Replay<'_>,
    stand_ins: &mut MakeStandIns<'_>,
    is_over: &dyn Fn() -> Result<bool, BenchError>,
) -> Result<Rounds, BenchError> {
    let (_, memo) = replay(Some(Box::new(DecodeMemo::recording(MOST_REMEMBERED))))?;
    let remembered = memo.part();
    let sampling_error = SPREAD_OF_COSTS * ((1.0 - remembered).max(0.0) / memo.effective_chunks().max(1.0)).sqrt();
    // Recording takes longer.
    let (once, _) = replay(None)?;
    let each = with_repetitions(Duration::try_from_secs_f64(once.elapsed).unwrap_or(Duration::MAX));
    let is_known = remembered >= LEAST_PART;
    let made = if is_known { stand_ins(&memo, each.saturating_mul(FEWEST_ROUNDS as u32))? } else { Vec::new() };
    let parts = made.iter().map(|codec| codec.as_ref().map_or(0.0, |codec| remembered * codec.part)).collect();
    let mut codecs: Vec<Option<StandIns>> = made.into_iter().map(|codec| codec.map(|codec| codec.stand_ins)).collect();
    let mut measured = Rounds { rounds: Vec::new(), remembered, sampling_error, parts };
    let mut replays = Replays { replay, memo, repeats: repeats(once.cpu) };
    loop {
        let count = measured.rounds.len();
        let mut round = Round {
            decoded: replays.decoded()?,
            looked_for: replays.looked_for()?,
            remembered: replays.remembered(&mut None)?,
            codecs: vec![None; codecs.len()],
        };
        // Each round begins with another codec.
        let (early, late) = (0..codecs.len()).partition::<Vec<_>, _>(|at| *at < count % codecs.len().max(1));
        for at in late.into_iter().chain(early) {
            let (Some(codec), Some(took)) = (codecs.get_mut(at), round.codecs.get_mut(at)) else { continue };
            if codec.is_some() {
                *took = Some(replays.remembered(codec)?);
            }
        }
        measured.rounds.push(round);
        let count = count + 1;
        if count >= MOST_ROUNDS || count >= FEWEST_ROUNDS && (measured.is_precise() || is_over()?) {
            return Ok(measured);
        }
    }
}

/// The number of repetitions of a replay that takes `seconds`: see [`LONG_ENOUGH`].
fn repeats(seconds: f64) -> u32 {
    // Saturates: a replay that took no time.
    let repeats = (LONG_ENOUGH / seconds.max(f64::MIN_POSITIVE)).round() as u32;
    repeats.clamp(1, MOST_REPEATS)
}

/// The shortest time of a replay that is not repeated.
pub(crate) fn least_useful() -> Duration {
    Duration::from_secs_f64(LONG_ENOUGH)
}

/// What a replay that takes `once` takes with its repetitions.
pub(crate) fn with_repetitions(once: Duration) -> Duration {
    let repeats = repeats(once.as_secs_f64());
    once.saturating_mul(if repeats > 1 { repeats + 1 } else { 1 })
}

/// Replays of one workload.
struct Replays<'a, 'b> {
    replay: &'a mut Replay<'b>,
    memo: Box<DecodeMemo>,
    repeats: u32,
}

impl Replays<'_, '_> {
    fn decoded(&mut self) -> Result<Took, BenchError> {
        let replay = &mut self.replay;
        repeated(self.repeats, &mut || Ok(replay(None)?.0))
    }

    fn looked_for(&mut self) -> Result<Took, BenchError> {
        self.memo.set_only_looks(true);
        let took = self.remembered(&mut None);
        self.memo.set_only_looks(false);
        took
    }

    /// With all payloads remembered, or with the chunks of a codec in their places.
    fn remembered(&mut self, stand_ins: &mut Option<StandIns>) -> Result<Took, BenchError> {
        self.memo.set_stand_ins(stand_ins.take());
        let (replay, memo) = (&mut self.replay, &mut self.memo);
        let took = repeated(self.repeats, &mut || {
            let mut given = std::mem::take(memo);
            given.give_back();
            let (took, kept) = replay(Some(given))?;
            *memo = kept;
            Ok(took)
        });
        *stand_ins = self.memo.set_stand_ins(None);
        took
    }
}

/// The time of a replay that took `seconds` once, measured as in rounds.
pub(crate) fn as_in_rounds(
    seconds: f64,
    replay: &mut dyn FnMut() -> Result<Took, BenchError>,
) -> Result<Took, BenchError> {
    repeated(repeats(seconds), replay)
}

/// The mean of several replays, before which one warms the processor's caches; of the only one otherwise.
fn repeated(repeats: u32, replay: &mut dyn FnMut() -> Result<Took, BenchError>) -> Result<Took, BenchError> {
    if repeats > 1 {
        replay()?;
    }
    let mut sum = Took::default();
    for _ in 0..repeats {
        let took = replay()?;
        sum = Took { cpu: sum.cpu + took.cpu, elapsed: sum.elapsed + took.elapsed };
    }
    Ok(Took { cpu: sum.cpu / f64::from(repeats), elapsed: sum.elapsed / f64::from(repeats) })
}

impl Rounds {
    fn is_precise(&self) -> bool {
        let codecs = self.rounds.first().map_or(0, |round| round.codecs.len());
        let share = self.saved(|took| took.cpu);
        share.error <= LEAST_ERROR
            && (0..codecs)
                .all(|codec| self.cost(codec, 0, |took| took.cpu).is_none_or(|cost| share.value * cost.error <= ENOUGH))
    }

    /// The share of decoding.
    pub(crate) fn share(&self) -> DecodeShare {
        let (cpu, elapsed) = (self.saved(|took| took.cpu), self.saved(|took| took.elapsed));
        DecodeShare {
            seconds: self.median(|round| round.decoded.cpu),
            share: cpu.value,
            error: self.error_of(&cpu),
            elapsed: elapsed.value,
            elapsed_error: self.error_of(&elapsed),
        }
    }

    /// The error of rounds, with that of the sample. Any share is possible if next to nothing is remembered.
    fn error_of(&self, share: &RoundMean) -> f64 {
        let error = share.error.max(LEAST_ERROR).hypot(share.value * self.sampling_error);
        if self.remembered < LEAST_PART { 1.0 } else { error }
    }

    /// The share of a time that is saved where nothing is decoded.
    fn saved(&self, time: fn(&Took) -> f64) -> RoundMean {
        let share = self.mean(|round| Some(self.decoding(round, time) / time(&round.decoded).max(f64::MIN_POSITIVE)));
        // The values of rounds are not clamped: their spread is the error.
        share.map_or(RoundMean { value: 0.0, error: 0.0, rounds: 0 }, |share| RoundMean {
            value: share.value.clamp(0.0, 1.0),
            ..share
        })
    }

    /// What decoding costs under a codec as a multiple of what it costs under `baseline`, another; `None` if one of
    /// them was not replayed, or if the cost is lost in the noise of a round.
    pub(crate) fn cost(&self, codec: usize, baseline: usize, time: fn(&Took) -> f64) -> Option<RoundMean> {
        self.mean(|round| {
            let cost = |codec| Some(self.whole(round, codec, time)? - time(&round.remembered));
            ratio_of_costs(cost(codec)?, cost(baseline)?)
        })
    }

    /// What decoding costs under a codec as a multiple of what it costs as found; `None` as for [`cost`](Self::cost).
    pub(crate) fn cost_to_found(&self, codec: usize, time: fn(&Took) -> f64) -> Option<RoundMean> {
        self.mean(|round| {
            let cost = self.whole(round, codec, time)? - time(&round.remembered);
            ratio_of_costs(cost, self.decoding(round, time))
        })
    }

    /// The time of decoding as found. Remembering a part of the chunks saves that part of it. What both replays take to
    /// look for chunks is no part of it.
    fn decoding(&self, round: &Round, time: fn(&Took) -> f64) -> f64 {
        (time(&round.looked_for) - time(&round.remembered)) / self.remembered.max(f64::MIN_POSITIVE)
    }

    /// The time of a replay with all chunks under a codec. Stand-ins for a part of the chunks add that part of the
    /// cost.
    fn whole(&self, round: &Round, codec: usize, time: fn(&Took) -> f64) -> Option<f64> {
        let took = time(round.codecs.get(codec)?.as_ref()?);
        let rest = time(&round.remembered);
        Some(rest + (took - rest) / self.part(codec).max(f64::MIN_POSITIVE)).filter(|time| *time > 0.0)
    }

    /// The part of the decoded bytes that a codec was replayed with.
    pub(crate) fn part(&self, codec: usize) -> f64 {
        self.parts.get(codec).copied().unwrap_or_default()
    }

    fn median(&self, value: impl Fn(&Round) -> f64) -> f64 {
        let mut values: Vec<f64> = self.rounds.iter().map(value).collect();
        median(&mut values).unwrap_or_default()
    }

    /// The median of a value of every round, and the standard error of the mean around it.
    fn mean(&self, value: impl Fn(&Round) -> Option<f64>) -> Option<RoundMean> {
        let mut values: Vec<f64> = self.rounds.iter().map(value).collect::<Option<_>>()?;
        let middle = median(&mut values)?;
        let squares: f64 = values.iter().map(|of| (of - middle).powi(2)).sum();
        let count = values.len().max(2) as f64;
        Some(RoundMean { value: middle, error: (squares / (count - 1.0) / count).sqrt(), rounds: values.len() })
    }
}

/// The ratio of two costs; `None` if there is no cost to compare with.
fn ratio_of_costs(cost: f64, baseline: f64) -> Option<f64> {
    Some(cost.max(0.0) / baseline).filter(|ratio| baseline > 0.0 && ratio.is_finite())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use repackbench_codec::{ChunkDecoder, ChunkEncoder, StandInChunks, ZlibReader};

    use super::*;

    /// Measures replays of which each takes the next of `seconds` where it decodes, and half a second otherwise.
    fn measured(seconds: &[f64], is_over: bool) -> (DecodeShare, usize) {
        let replays = Cell::new(0_usize);
        let mut replay = |memo: Option<Box<DecodeMemo>>| {
            // The recording and a plain replay come first. Then three replays are a round, of which the last remembers.
            let number = replays.replace(replays.get() + 1).saturating_sub(2);
            let took = if number % 3 == 2 { 0.5 } else { seconds[number / 3 % seconds.len()] };
            Ok((Took { cpu: took, elapsed: 2.0 * took }, memo.unwrap_or_default()))
        };
        let rounds = measure(&mut replay, &mut |_, _| Ok(Vec::new()), &|| Ok(is_over)).unwrap();
        (rounds.share(), replays.get())
    }

    #[test]
    fn short_replays_are_repeated() {
        let took = |cpu| Took { cpu, elapsed: cpu };
        assert_eq!([0.0, 0.001, 0.009, 0.02, 5.0].map(repeats), [20, 20, 2, 1, 1]);
        let taken = [1, 9, 20, 50].map(|once| with_repetitions(Duration::from_millis(once)));
        assert_eq!(taken, [21, 27, 20, 50].map(Duration::from_millis));
        let mut left = vec![3.0, 2.0, 4.0];
        let mut replay = || Ok(took(left.remove(0)));
        assert_eq!(repeated(2, &mut replay).unwrap(), took(3.0), "the first one warms up");
    }

    #[test]
    fn rounds_go_on_until_they_agree_or_the_time_is_up() {
        let (agreed, replays) = measured(&[2.0], false);
        assert_eq!((agreed.share, agreed.seconds, agreed.error), (0.75, 2.0, LEAST_ERROR));
        assert_eq!((agreed.elapsed, agreed.elapsed_error), (0.75, LEAST_ERROR));
        assert_eq!(replays, 2 + 3 * FEWEST_ROUNDS);
        let (spread, replays) = measured(&[1.0, 2.0, 4.0], false);
        assert!(spread.error > 0.01 && replays == 2 + 3 * MOST_ROUNDS, "{spread:?}");
        assert_eq!(measured(&[1.0, 2.0, 4.0], true).1, 2 + 3 * FEWEST_ROUNDS);
    }

    /// Costs of a baseline, a codec that is not replayed, and one that takes half of the baseline's decoding, where
    /// stand-ins are for `part` of the chunks.
    fn costs(part: f64) -> Vec<Option<f64>> {
        let replays = Cell::new(0);
        let mut replay = |memo: Option<Box<DecodeMemo>>| {
            // The recording and a plain replay come first. Then five replays are a round, which begins with the
            // baseline in the first round alone. To look takes a tenth of a second.
            let codecs = if replays.get() < 7 { [part, part / 2.0] } else { [part / 2.0, part] };
            let number = replays.replace(replays.get() + 1);
            let round = [1.0, 1.1, 0.1, 0.1 + codecs[0], 0.1 + codecs[1]];
            let decoding = if number < 2 { 0.0 } else { round[(number - 2) % 5] };
            Ok((Took { cpu: 1.0 + decoding, elapsed: 3.0 }, memo.unwrap_or_default()))
        };
        let no_chunks = || StandIns::of_packs(ChunkDecoder::new(ZlibReader::Stock), StandInChunks::default());
        let made = || Some(CodecStandIns { stand_ins: no_chunks(), part });
        let mut made = |_: &DecodeMemo, _| Ok(vec![made(), None, made()]);
        let rounds = measure(&mut replay, &mut made, &|| Ok(true)).unwrap();
        assert_eq!(rounds.cost_to_found(0, |took| took.cpu).map(|cost| cost.value), Some(1.0));
        // The second that decoding takes, of two: to look is no part of it.
        assert!((rounds.share().share - 0.5).abs() < 1e-9);
        let to_half = rounds.cost(0, 2, |took| took.cpu).map(|cost| cost.value);
        assert_eq!(to_half, Some(2.0), "any of them may be the baseline");
        (0..4).map(|codec| rounds.cost(codec, 0, |took| took.cpu).map(|cost| cost.value)).collect()
    }

    /// What a reader remembers of payloads of these lengths, of which one that is longer than half of `limit` is too
    /// long.
    fn memo_of(lengths: &[usize], limit: usize) -> Box<DecodeMemo> {
        let mut decoder = ChunkDecoder::new(ZlibReader::Stock);
        decoder.set_memo(Some(Box::new(DecodeMemo::recording(limit))));
        let mut encoder = ChunkEncoder::new(&"zlib:6".parse().unwrap()).unwrap();
        for (number, length) in lengths.iter().enumerate() {
            let mut payload = vec![b' '; *length];
            payload.splice(..4, (number as u32).to_be_bytes());
            let mut stored = Vec::new();
            encoder.encode(&payload, &mut stored).unwrap();
            decoder.decode(&stored, &mut payload).unwrap();
        }
        decoder.set_memo(None).unwrap()
    }

    /// Measures replays that take 2 s and decode for half of it, under two codecs that take as long, with a memo of
    /// `short` payloads of 4 bytes that does not remember one of `long` bytes.
    fn of_sample(short: usize, long: usize) -> (DecodeShare, Option<f64>) {
        let mut recorded = Some(memo_of(&[&vec![4; short][..], &[long]].concat(), 8 * short));
        let part = recorded.as_ref().unwrap().part();
        let replays = Cell::new(0);
        let mut replay = |memo: Option<Box<DecodeMemo>>| {
            if let Some(recorded) = recorded.take() {
                return Ok((Took { cpu: 2.0, elapsed: 2.0 }, recorded));
            }
            let Some(memo) = memo else { return Ok((Took { cpu: 2.0, elapsed: 3.0 }, Box::default())) };
            // After the replay that looks there is one that remembers, then one for each codec.
            let number = replays.replace((replays.get() + 1) % 4);
            assert_eq!(memo.only_looks(), number == 0);
            Ok((Took { cpu: if number == 1 { 2.0 - part } else { 2.0 }, elapsed: 3.0 }, memo))
        };
        let no_chunks = || StandIns::of_packs(ChunkDecoder::new(ZlibReader::Stock), StandInChunks::default());
        let made = || Some(CodecStandIns { stand_ins: no_chunks(), part: 1.0 });
        let rounds = measure(&mut replay, &mut |_, _| Ok(vec![made(), made()]), &|| Ok(true)).unwrap();
        (rounds.share(), rounds.cost_to_found(0, |took| took.cpu).map(|cost| cost.value))
    }

    #[test]
    fn sample_stands_for_all_chunks() {
        let (share, baseline) = of_sample(100, 1200);
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
        near(share.share, 0.5);
        near(share.error, LEAST_ERROR.hypot(0.5 * SPREAD_OF_COSTS * (0.75_f64 / 100.0).sqrt()));
        near(baseline.unwrap(), 1.0);
        assert!(share.is_known());
    }

    #[test]
    fn longer_replay_has_the_share_that_the_sample_gives_it() {
        let few = DecodeShare { seconds: 2.0, share: 0.6, error: 0.01, elapsed: 0.5, elapsed_error: 0.02 };
        // Decoding takes 1.2 s of the 2 s, and three times as long in 9 s.
        let many = few.in_longer((2.0, 9.0), 3.0);
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
        near(many.share, 0.4);
        near(many.error, (0.01_f64 * 2.0 / 3.0).hypot(0.4 * CARRYING_ERROR));
        near(many.elapsed, 0.5 * 2.0 / 3.0);
        assert_eq!((many.seconds, many.is_known()), (9.0, true));
        near(few.in_longer((1.0, 4.5), 3.0).share, 0.4);
        assert_eq!(few.in_longer((2.0, 2.0), 9.0).share, 1.0, "no share is larger");
        for times in [f64::NAN, f64::INFINITY] {
            assert!(!few.in_longer((2.0, 9.0), times).is_known(), "{times}");
        }
    }

    #[test]
    fn share_is_unknown_where_next_to_nothing_is_remembered() {
        let mut given = Some(memo_of(&[4, 1200], 8));
        let mut replay = |memo: Option<Box<DecodeMemo>>| {
            let memo = given.take().or(memo).unwrap_or_default();
            Ok((Took { cpu: 2.0, elapsed: 2.0 }, memo))
        };
        let mut no_codecs = |_: &DecodeMemo, _| panic!("there is nothing to encode");
        let share = measure(&mut replay, &mut no_codecs, &|| Ok(true)).unwrap().share();
        assert!(!share.is_known(), "{share:?}");
    }

    #[test]
    fn codecs_are_compared_with_the_first_by_what_all_chunks_would_take() {
        assert_eq!(costs(1.0), [Some(1.0), None, Some(0.5), None]);
        assert_eq!(costs(0.5), [Some(1.0), None, Some(0.5), None]);
        assert_eq!([ratio_of_costs(1.0, 2.0), ratio_of_costs(-1.0, 2.0)], [Some(0.5), Some(0.0)]);
        assert_eq!([ratio_of_costs(1.0, 0.0), ratio_of_costs(1.0, -2.0), ratio_of_costs(1.0, 1e-320)], [None; 3]);
    }
}
