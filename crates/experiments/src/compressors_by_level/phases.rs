//! The times of opening, writing and closing files: many and few files, of 10,000 bytes and of none.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use repackbench_records::{Figure, Statement};
use repackbench_timing::clock::Clock;

use crate::{
    Context, ExperimentError,
    budget::now,
    interleaved::{Runs, interleaved},
    samples::Samples,
};

/// The name of this part in messages.
pub(super) const WHAT: &str = "opening, writing and closing files";

/// The published numbers of files.
pub(super) const MANY: u32 = 35_000;
pub(super) const FEW: u32 = 1_000;

/// The published length of a file.
pub(super) const LENGTH: usize = 10_000;

/// The phases of a file.
pub(super) const OPEN: &str = "open";
pub(super) const WRITE: &str = "write";
pub(super) const CLOSE: &str = "close";

/// The files of an arm and their times. The number of files is [`MANY`], or fewer where the budget is short, or [`FEW`].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PhaseTimes {
    pub(super) files: u32,
    pub(super) length: usize,
    /// Seconds of [`OPEN`], [`WRITE`] and [`CLOSE`].
    pub(super) samples: Samples,
}

impl PhaseTimes {
    fn new(files: u32, length: usize) -> Self {
        PhaseTimes { files, length, samples: Samples::default() }
    }

    /// The sum of all three.
    pub(super) fn total(&self) -> Vec<f64> {
        self.samples.sum(&[OPEN, CLOSE, WRITE])
    }

    /// The sum of opening and closing.
    pub(super) fn open_and_close(&self) -> Vec<f64> {
        self.samples.sum(&[OPEN, CLOSE])
    }
}

/// The measured arms: many full files, many empty, few full, few empty.
#[derive(Debug, Default)]
pub(super) struct Phases(pub(super) Vec<PhaseTimes>);

impl Phases {
    /// The larger or the smaller number of files, of this length.
    pub(super) fn get(&self, many: bool, length: usize) -> Option<&PhaseTimes> {
        self.0.iter().find(|times| (times.files > FEW) == many && times.length == length)
    }
}

/// Times the phases in new folders below `folder`, with `many` files and with [`FEW`].
pub(super) fn time_phases(
    context: &Context<'_>,
    folder: &Path,
    many: u32,
    wanted: u32,
    share: Option<Duration>,
) -> Result<(Phases, Runs), ExperimentError> {
    let what = WHAT;
    let content = vec![b'x'; LENGTH];
    let began = now(context.clock)?;
    write_files(context.clock, &folder.join("phases"), &mut PhaseTimes::new(FEW, LENGTH), &content)?;
    let few = now(context.clock)?.saturating_sub(began);
    let many = fitting(few, wanted, share).min(many);
    let arms = [(many, LENGTH), (many, 0), (FEW, LENGTH), (FEW, 0)];
    let mut phases: Vec<PhaseTimes> = arms.iter().map(|(files, length)| PhaseTimes::new(*files, *length)).collect();
    let mut runs = interleaved(context, what, arms.len(), wanted, share, &mut |_, arm| {
        let Some(times) = phases.get_mut(arm) else { return Ok(()) };
        write_files(context.clock, &folder.join("phases"), times, &content)
    })?;
    phases.iter_mut().for_each(|times| times.samples.truncate(runs.done));
    if many < MANY && runs.left_out.is_empty() {
        let fewer = Statement::new("fewer-files").with("what", what);
        let fewer = fewer.with("files", Figure::count(many)).with("wanted", Figure::count(MANY));
        let share = share.unwrap_or_default().as_secs_f64();
        runs.left_out.push(fewer.with("share", Figure::seconds(share)).into());
    }
    Ok((Phases(phases), runs))
}

/// The number of files that fits into `share` if [`FEW`] of them take `few`; always more than [`FEW`], for a comparison.
fn fitting(few: Duration, wanted: u32, share: Option<Duration>) -> u32 {
    let Some(share) = share else { return MANY };
    // Each run writes full and empty ones, and the few ones as well.
    let runs = f64::from(wanted) * 2.0;
    let files = share.as_secs_f64() / few.as_secs_f64().max(1e-9) / runs * f64::from(FEW);
    // The cast saturates.
    (files as u32).clamp(FEW * 2, MANY)
}

/// Writes the files of `times` into the new folder `folder`, which is removed again, and adds the times. Removing is not timed.
fn write_files(
    clock: &(dyn Clock + Sync),
    folder: &Path,
    times: &mut PhaseTimes,
    content: &[u8],
) -> Result<(), ExperimentError> {
    fs::create_dir_all(folder).map_err(|error| ExperimentError::io("make", folder, error))?;
    let names: Vec<PathBuf> = (0..times.files).map(|number| folder.join(format!("file{number}"))).collect();
    let content = content.get(..times.length).unwrap_or(content);
    let (mut open, mut write, mut close) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for name in &names {
        let failed = |error| ExperimentError::io("write", name, error);
        let start = now(clock)?;
        let mut file = File::create_new(name).map_err(failed)?;
        let opened = now(clock)?;
        file.write_all(content).map_err(failed)?;
        let written = now(clock)?;
        drop(file);
        let closed = now(clock)?;
        open += opened.saturating_sub(start);
        write += written.saturating_sub(opened);
        close += closed.saturating_sub(written);
    }
    times.samples.push(OPEN, open.as_secs_f64());
    times.samples.push(WRITE, write.as_secs_f64());
    times.samples.push(CLOSE, close.as_secs_f64());
    fs::remove_dir_all(folder).map_err(|error| ExperimentError::io("remove", folder, error))
}

#[cfg(test)]
mod tests {
    use repackbench_timing::clock::SystemClock;

    use super::*;

    #[test]
    fn a_short_budget_means_fewer_files() {
        let few = Duration::from_millis(100);
        assert_eq!(fitting(few, 6, None), MANY);
        assert_eq!(fitting(few, 6, Some(Duration::from_secs(600))), MANY);
        assert_eq!(fitting(few, 5, Some(Duration::from_secs(10))), 10_000);
        assert_eq!(fitting(few, 6, Some(Duration::ZERO)), FEW * 2);
        assert_eq!(fitting(Duration::ZERO, 6, Some(Duration::from_secs(1))), MANY);
    }

    #[test]
    fn files_are_written_and_removed_again() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("phases");
        let mut times = PhaseTimes::new(20, 100);
        for _ in 0..2 {
            write_files(&SystemClock::new(), &target, &mut times, &[1; 300]).unwrap();
            assert!(!target.exists());
        }
        assert_eq!([OPEN, WRITE, CLOSE].map(|phase| times.samples.get(phase).len()), [2; 3]);
        assert!(times.total().iter().zip(times.open_and_close()).all(|(all, part)| *all >= part && part > 0.0));
    }
}
