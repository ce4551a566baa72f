//! Interleaved runs outside of benchmarks: every arm once in each run, in a random order, as long as there is time.

use std::time::Duration;

use repackbench_analysis::{LEAST_NOISE_FLOOR, Ratio, ratio_estimate};
use repackbench_records::{Estimate, Figure, Statement, StoredStatement};
use repackbench_timing::session::{Arms, End, Schedule, Session, Stop, TimeLimit, Turn};
use repackbench_writer::ProgressUnit;

use crate::{Context, ExperimentError};

/// The number of runs that were made, and the reasons for missing ones.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Runs {
    /// The number of complete runs.
    pub(crate) done: u32,
    /// Why there are fewer than wanted.
    pub(crate) left_out: Vec<StoredStatement>,
    /// Whether the user stopped them.
    pub(crate) is_interrupted: bool,
}

impl Runs {
    /// No runs, for the reason `why`.
    pub(crate) fn left_out(why: Statement) -> Self {
        Runs { done: 0, left_out: vec![why.into()], is_interrupted: false }
    }
}

/// Calls `one` with the number of the run and the arm, for every arm in each of `wanted` runs. A run starts only if it ends within `share`
/// from now when it takes as long as the run before; the first one always starts. A run in which `one` returns
/// [`ExperimentError::Interrupted`] is incomplete and the last.
///
/// # Errors
/// Errors of `one` and of the clock.
pub(crate) fn interleaved(
    context: &Context<'_>,
    what: &str,
    arms: usize,
    wanted: u32,
    share: Option<Duration>,
    one: &mut dyn FnMut(u32, usize) -> Result<(), ExperimentError>,
) -> Result<Runs, ExperimentError> {
    let session = Session::new(context.clock, context.progress);
    let limit = share.map(|share| Ok::<_, Stop>(TimeLimit::BlocksEnd(session.now()?.saturating_add(share))));
    let schedule = Schedule::once_each(arms, wanted, context.options.seed);
    context.progress.start(what, schedule.turns(), ProgressUnit::Items);
    let mut interleaved = Interleaved { one, done: 0 };
    let ended = session.run(schedule, limit.transpose()?, &mut interleaved);
    context.progress.finish();
    let done = interleaved.done;
    let fewer = |id: &str| {
        let runs = Statement::new(id).with("what", what).with("runs", Figure::count(done));
        runs.with("wanted", Figure::count(wanted))
    };
    let stopped = match ended {
        Err(error) if error.is_interruption() => {
            let left_out = vec![fewer("user-stopped-after").into()];
            return Ok(Runs { done, left_out, is_interrupted: true });
        }
        ended => ended?,
    };
    let left_out = match stopped {
        End::Complete => Vec::new(),
        End::OutOfTime { last_block, .. } => {
            let seconds = |time: Duration| Figure::seconds(time.as_secs_f64());
            let fewer = fewer("fewer-runs-of-all-arms").with("one", seconds(last_block));
            vec![fewer.with("share", seconds(share.unwrap_or_default())).into()]
        }
    };
    Ok(Runs { done, left_out, is_interrupted: false })
}

/// The arms of [`interleaved`], and the number of complete runs.
struct Interleaved<'a> {
    one: &'a mut dyn FnMut(u32, usize) -> Result<(), ExperimentError>,
    done: u32,
}

impl Arms for Interleaved<'_> {
    type Error = ExperimentError;

    fn run(&mut self, turn: Turn) -> Result<(), ExperimentError> {
        (self.one)(turn.block, turn.slot.variant())
    }

    fn is_enough(&mut self, blocks: u32) -> Result<bool, ExperimentError> {
        self.done = blocks;
        Ok(false)
    }
}

/// The outcome of a part that follows others. Its error becomes a statement, so that the figures of earlier parts are not lost.
pub(crate) fn part(context: &Context<'_>, what: &str, result: Result<Runs, ExperimentError>) -> Runs {
    let error = match result {
        Ok(runs) => return runs,
        Err(error) => error,
    };
    // A program that the terminal stopped at the same time fails with a message of its own.
    let is_interrupted = error.is_interruption() || context.progress.is_cancelled();
    context.progress.finish();
    let left_out = if is_interrupted {
        Statement::new("user-stopped-part").with("what", what)
    } else {
        Statement::new("part-failed").with("what", what).with("error", error.to_string())
    };
    Runs { done: 0, left_out: vec![left_out.into()], is_interrupted }
}

/// The values of one arm as multiples of those of another, in each run that has both.
pub(crate) fn ratio_of(one: &[f64], other: &[f64]) -> Option<Ratio> {
    let logs = one.iter().zip(other).map(|(one, other)| (one / other).ln());
    let mut logs: Vec<f64> = logs.filter(|log| log.is_finite()).collect();
    let samples = logs.iter().map(|log| log.exp()).collect();
    let found = ratio_estimate(&mut logs)?;
    let interval = found.interval.map(|interval| [interval.low, interval.high]);
    Some(Ratio { estimate: Estimate { value: found.ratio, interval, samples }, floor: LEAST_NOISE_FLOOR })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Setting, words};

    #[test]
    fn errors_of_later_parts_become_statements() {
        let outcome = Setting::new(&[], 1).run(|context| {
            let stopped = part(context, "copying", Err(repackbench_writer::WriterError::Interrupted.into()));
            assert!(stopped.is_interrupted);
            assert_eq!(words(&stopped.left_out), ["copying: stopped by the user."]);
            let full = ExperimentError::io("write", "/a", std::io::ErrorKind::StorageFull.into());
            let failed = part(context, "copying", Err(full));
            assert!(!failed.is_interrupted && failed.done == 0);
            let why = words(&failed.left_out).concat();
            assert!(why.starts_with("copying: left out because it failed: /a: cannot write:"), "{why}");
            let runs = Runs { done: 3, left_out: Vec::new(), is_interrupted: false };
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
