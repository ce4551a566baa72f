//! Runs that are no benchmark's: every arm once in each run, in an order drawn anew, as long as there is time.

use std::time::Duration;

use rand::{SeedableRng, rngs::SmallRng, seq::SliceRandom};
use repackbench_analysis::{LEAST_FLOOR, ratio_estimate};
use repackbench_records::Estimate;
use repackbench_writer::ProgressUnit;

use crate::{Context, ExperimentError, budget::now, estimates::Ratio, text};

/// How far runs went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Runs {
    /// How many are whole.
    pub(crate) done: u32,
    /// Why there are not as many as were wanted, in a sentence.
    pub(crate) left_out: Option<String>,
    /// Whether the user stopped them.
    pub(crate) is_interrupted: bool,
}

/// Calls `one` with the number of the run and the arm, for every arm in each of `wanted` runs. No run is begun that would, by the one
/// before it, end later than `share` of time from now; the first one is begun whatever it takes. What `one` returns
/// [`ExperimentError::Interrupted`] from is no whole run, and ends them.
///
/// # Errors
/// What `one` returns, and what the clock does.
pub(crate) fn interleaved(
    context: &Context<'_>,
    what: &str,
    arms: usize,
    wanted: u32,
    share: Option<Duration>,
    one: &mut dyn FnMut(u32, usize) -> Result<(), ExperimentError>,
) -> Result<Runs, ExperimentError> {
    let start = now(context.clock)?;
    let mut runs = Runs { done: 0, left_out: None, is_interrupted: false };
    context.progress.start(what, u64::from(wanted) * arms as u64, ProgressUnit::Items);
    let mut order: Vec<usize> = (0..arms).collect();
    while runs.done < wanted {
        let began = now(context.clock)?;
        // A generator for each run, so that the order of one does not depend on how many came before.
        order.sort_unstable();
        order.shuffle(&mut SmallRng::seed_from_u64(context.options.seed ^ u64::from(runs.done) << 32));
        for arm in &order {
            let result = match context.progress.is_cancelled() {
                true => Err(ExperimentError::Interrupted),
                false => one(runs.done, *arm),
            };
            match result {
                Err(error) if error.is_interruption() => {
                    runs.is_interrupted = true;
                    runs.left_out = Some(format!("{what}: stopped by the user after {} of {wanted} runs.", runs.done));
                    context.progress.finish();
                    return Ok(runs);
                }
                result => result?,
            }
            context.progress.advance(1);
        }
        runs.done += 1;
        let (ended, last) = (now(context.clock)?.saturating_sub(start), now(context.clock)?.saturating_sub(began));
        if let Some(share) = share.filter(|share| ended.saturating_add(last) > *share && runs.done < wanted) {
            runs.left_out = Some(format!(
                "{what}: {} instead of {wanted} runs, as one of all arms takes {} and the share of the budget was {}.",
                runs.done,
                text::time(last),
                text::time(share)
            ));
            break;
        }
    }
    context.progress.finish();
    Ok(runs)
}

/// What became of a part that comes after others: whatever it stopped with is a sentence, so that the figures before it are not lost.
pub(crate) fn part(context: &Context<'_>, what: &str, result: Result<Runs, ExperimentError>) -> Runs {
    let error = match result {
        Ok(runs) => return runs,
        Err(error) => error,
    };
    // A program that the terminal stopped as well fails in its own words.
    let is_interrupted = error.is_interruption() || context.progress.is_cancelled();
    context.progress.finish();
    let why =
        if is_interrupted { "stopped by the user.".to_owned() } else { format!("left out, as it failed: {error}.") };
    Runs { done: 0, left_out: Some(format!("{what}: {why}")), is_interrupted }
}

/// One value as a multiple of another in each run that has both.
pub(crate) fn ratio_of(one: &[f64], other: &[f64]) -> Option<Ratio> {
    let logs = one.iter().zip(other).map(|(one, other)| (one / other).ln());
    let mut logs: Vec<f64> = logs.filter(|log| log.is_finite()).collect();
    let samples = logs.iter().map(|log| log.exp()).collect();
    let found = ratio_estimate(&mut logs)?;
    let interval = found.interval.map(|interval| [interval.low, interval.high]);
    Some(Ratio { estimate: Estimate { value: found.ratio, interval, samples }, floor: LEAST_FLOOR })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Setting;

    #[test]
    fn what_a_later_part_stops_with_is_a_sentence() {
        let outcome = Setting::new(&[], 1).run(|context| {
            let stopped = part(context, "copying", Err(repackbench_writer::WriterError::Interrupted.into()));
            assert!(stopped.is_interrupted);
            assert_eq!(stopped.left_out.as_deref(), Some("copying: stopped by the user."));
            let full = ExperimentError::io("write", "/a", std::io::ErrorKind::StorageFull.into());
            let failed = part(context, "copying", Err(full));
            assert!(!failed.is_interrupted && failed.done == 0);
            let why = failed.left_out.unwrap();
            assert!(why.starts_with("copying: left out, as it failed: /a: cannot write:"), "{why}");
            let runs = Runs { done: 3, left_out: None, is_interrupted: false };
            assert_eq!(part(context, "copying", Ok(runs.clone())), runs);
            Err(ExperimentError::Interrupted)
        });
        assert!(outcome.is_err_and(|error| error.is_interruption()));
    }

    #[test]
    fn ratios_are_taken_within_runs() {
        let flat = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0];
        let half: Vec<f64> = flat.iter().map(|time| time / 2.0).collect();
        let found = ratio_of(&half, &flat).unwrap();
        assert!((found.estimate.value - 0.5).abs() < 1e-12);
        assert!(found.estimate.interval.is_some_and(|[low, high]| (low - high).abs() < 1e-12));
        assert_eq!(found.estimate.samples.len(), 6);
        assert_eq!(ratio_of(&half[..5], &flat).unwrap().estimate.interval, None, "five runs have no interval");
        assert_eq!(ratio_of(&[], &flat), None);
        assert_eq!(ratio_of(&[0.0], &[1.0]), None, "no time is no measurement");
    }
}
