//! The jobs of stock clients, run: once without a clock to see what they do, then timed. Each run is a process.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use repackbench_analysis::median_duration;
use repackbench_client::{Sink, metered, read_peak};
use repackbench_reader::CacheLookups;
use repackbench_records::ContentDigest;
use repackbench_writer::Progress;
use tempfile::TempDir;

use super::{
    GitRow, Made, Prepared, Step, StepInput, StockClient, StockError, StockJob, changesets, child,
    copies::lengths_of,
    dialogue,
    output::{OutputCounter, OutputDigester, OutputForm, files},
};
use crate::{
    arms::JobRun,
    clock::{Clock, Sample},
    probe::JobUsage,
    session::{Session, Stop},
    workloads::Counts,
};

/// How often a process that does nothing is started to measure what a start costs.
const STARTS: u32 = 5;
/// The count of a start's CPU time in records, which differs between rows.
pub(crate) const START: &str = "process start ns";

/// The client of a row.
pub(crate) struct RowClient {
    pub(crate) client: Box<dyn StockClient>,
    /// CPU time of a process that does nothing.
    pub(crate) start: Duration,
}

/// What a job printed or made.
pub(crate) struct StockOutput {
    pub(crate) counts: Counts,
    pub(crate) digest: ContentDigest,
    /// The most memory in bytes that one of its processes held, if known.
    pub(crate) peak: Option<u64>,
}

/// Runs jobs of stock clients.
#[derive(Clone, Copy)]
pub(crate) struct StockRunner<'a> {
    clock: &'a dyn Clock,
    progress: &'a dyn Progress,
    /// The program that measures peak memory.
    meter: Option<&'a Path>,
}

impl<'a> StockRunner<'a> {
    pub(crate) fn new(clock: &'a dyn Clock, progress: &'a dyn Progress, meter: Option<&'a Path>) -> Self {
        StockRunner { clock, progress, meter }
    }

    /// CPU time of a process that does nothing: the median of a few.
    pub(crate) fn start_of(&self, client: &dyn StockClient) -> Result<Duration, StockError> {
        let session = Session::new(self.clock, self.progress);
        let mut times = Vec::new();
        for _ in 0..STARTS {
            session.go_on()?;
            let started = child::run_timed(&mut client.start()?, self.clock, self.progress, &mut Ignored)?;
            times.push(started.sample.user.saturating_add(started.sample.sys));
        }
        Ok(median_duration(&mut times).unwrap_or_default())
    }

    /// The time to make the files of the features of a row; `None` if none do.
    pub(crate) fn making_of(&self, row: &GitRow) -> Result<Option<Sample>, StockError> {
        if row.client().helps.is_empty() {
            return Ok(None);
        }
        let start = self.clock.read_children().map_err(StockError::Clock)?;
        row.make_features()?;
        Ok(Some(Sample::between(start, self.clock.read_children().map_err(StockError::Clock)?)))
    }

    /// Runs `job` once without a clock.
    pub(crate) fn observe(&self, job: &StockJob, client: &dyn StockClient) -> Result<StockOutput, StockError> {
        let scratch = scratch_of(client)?;
        let mut prepared = client.prepare(job, scratch.path())?;
        let mut digester = OutputDigester::new(prepared.form);
        let mut peak = None;
        for step in &mut prepared.steps {
            step.open_input()?;
            peak = match step.is_timed {
                true => peak.max(self.meter(step, scratch.path(), &mut digester)?),
                false => self.run_between(step).map(|()| peak)?,
            };
        }
        let mut counts = if prepared.form == OutputForm::Nothing { Counts::new() } else { digester.counts() };
        let (more, made) = self.made(&mut prepared, true)?;
        counts.extend(more);
        let digest = match made {
            Some(made) => made,
            None => digester.digest().map_err(|why| prepared.failed(&why))?,
        };
        Ok(StockOutput { counts, digest, peak })
    }

    /// Runs `job` once and times it.
    pub(crate) fn time(&self, job: &StockJob, of_row: &RowClient) -> Result<JobRun, StockError> {
        let client = of_row.client.as_ref();
        let scratch = scratch_of(client)?;
        let mut prepared = client.prepare(job, scratch.path())?;
        let mut counter = OutputCounter::default();
        let mut done = TimedSteps::default();
        let grows = prepared.grows.clone();
        for step in &mut prepared.steps {
            step.open_input()?;
            if !step.is_timed {
                self.run_between(step)?;
                continue;
            }
            let before = grows.as_deref().map(lengths_of).transpose()?;
            self.run_timed(step, &mut counter, &mut done)?;
            if let (Some(folder), Some(before)) = (&grows, before) {
                done.written = done.written.saturating_add(written(&before, &lengths_of(folder)?));
            }
        }
        let mut counts = if prepared.form == OutputForm::Nothing { Counts::new() } else { counter.counts() };
        counts.extend(self.made(&mut prepared, false)?.0);
        let start = u64::try_from(of_row.start.as_nanos()).unwrap_or(u64::MAX);
        let mut extra = Counts::from([(START.to_owned(), start.saturating_mul(done.processes))]);
        if grows.is_some() {
            let sent = prepared.sends.as_deref().map(length).transpose()?;
            extra.extend(job.written(done.written, sent));
        }
        Ok(JobRun {
            counts: vec![counts],
            extra,
            sample: done.sample,
            usage: done.usage.unwrap_or(JobUsage::NONE),
            lookups: CacheLookups::default(),
            requests: if prepared.has_requests { done.requests } else { Vec::new() },
        })
    }

    /// Runs a command that is no part of the job.
    fn run_between(&self, step: &mut Step) -> Result<(), StockError> {
        child::run_timed(&mut step.command, self.clock, self.progress, &mut Ignored).map(drop)
    }

    /// Runs a command of the job, and adds what it took to `done`.
    fn run_timed(&self, step: &mut Step, sink: &mut dyn Sink, done: &mut TimedSteps) -> Result<(), StockError> {
        let finished = match &step.input {
            StepInput::Dialogue(file) => {
                let (finished, elapsed) = dialogue::run(&mut step.command, file, self.clock, self.progress, sink)?;
                done.requests.extend(elapsed);
                finished
            }
            StepInput::Empty | StepInput::File(_) => {
                let finished = child::run_timed(&mut step.command, self.clock, self.progress, sink)?;
                done.requests.push(finished.sample.wall);
                finished
            }
        };
        done.processes += 1;
        done.sample += finished.sample;
        done.usage = Some(done.usage.map_or(finished.usage, |usage| usage.plus(finished.usage)));
        Ok(())
    }

    /// Runs the command once without a clock, and returns the most memory that one of its processes held, if known.
    fn meter(&self, step: &mut Step, scratch: &Path, sink: &mut dyn Sink) -> Result<Option<u64>, StockError> {
        let Some(meter) = self.meter else {
            child::run_timed(&mut step.command, self.clock, self.progress, sink)?;
            return Ok(None);
        };
        let peak = scratch.join("peak-memory");
        let input = step.input_file().map(PathBuf::as_path);
        let mut metered = metered(meter, &step.command, input, &peak)
            .map_err(|error| StockError::files("read", input.unwrap_or(Path::new("")), error))?;
        child::run_timed(&mut metered, self.clock, self.progress, sink).map_err(|error| match error {
            StockError::Failed { why, .. } => StockError::failed(&step.command, &why),
            error => error,
        })?;
        Ok(read_peak(&peak))
    }

    /// What a command made besides its output, counted; hashed as well if `is_hashed`.
    fn made(&self, prepared: &mut Prepared, is_hashed: bool) -> Result<(Counts, Option<ContentDigest>), StockError> {
        match &mut prepared.made {
            Made::Nothing => Ok((Counts::new(), None)),
            Made::Files(folder) => files(folder, is_hashed),
            Made::Objects(list) => {
                let (lines, digest) = self.list(list)?;
                Ok((Counts::from([("objects".to_owned(), lines)]), is_hashed.then_some(digest)))
            }
            Made::Changesets { root, list } => {
                let changesets = changesets(root)
                    .map_err(|error| StockError::failed(list, &format!("the repository that was made: {error}")))?;
                let digest = if is_hashed { Some(self.list(list)?.1) } else { None };
                Ok((Counts::from([("objects".to_owned(), changesets)]), digest))
            }
        }
    }

    /// How many lines a command prints, and their digest.
    fn list(&self, command: &mut Command) -> Result<(u64, ContentDigest), StockError> {
        let mut digester = OutputDigester::new(OutputForm::Text);
        child::run_timed(command, self.clock, self.progress, &mut digester)?;
        let lines = digester.counts().get("output lines").copied().unwrap_or_default();
        let digest = digester.digest().map_err(|why| StockError::failed(command, &why))?;
        Ok((lines, digest))
    }
}

impl From<Stop> for StockError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Interrupted => StockError::Interrupted,
            Stop::Clock(error) => StockError::Clock(error),
        }
    }
}

/// What the timed commands of a job took.
#[derive(Default)]
struct TimedSteps {
    processes: u64,
    sample: Sample,
    usage: Option<JobUsage>,
    /// The elapsed time of each request.
    requests: Vec<Duration>,
    /// The bytes of new files, and those appended to others.
    written: u64,
}

/// The bytes of new files, and those that were appended to others. Both sides are lengths by the number of a file.
fn written(before: &BTreeMap<u64, u64>, after: &BTreeMap<u64, u64>) -> u64 {
    let grown = after.iter().map(|(file, len)| len.saturating_sub(before.get(file).copied().unwrap_or(0)));
    grown.fold(0, u64::saturating_add)
}

fn length(file: &Path) -> Result<u64, StockError> {
    fs::metadata(file).map(|found| found.len()).map_err(|error| StockError::files("measure", file, error))
}

/// A folder for one run.
fn scratch_of(client: &dyn StockClient) -> Result<TempDir, StockError> {
    let place = client.scratch();
    tempfile::tempdir_in(place).map_err(|error| StockError::files("create a folder in", place, error))
}

/// Ignores the output.
struct Ignored;

impl Sink for Ignored {
    fn take(&mut self, _bytes: &[u8]) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_bytes_are_those_of_new_and_of_grown_files() {
        let before = BTreeMap::from([(1, 100), (2, 50), (3, 7)]);
        let after = BTreeMap::from([(1, 130), (2, 50), (4, 9)]);
        assert_eq!(written(&before, &after), 39);
        assert_eq!(written(&after, &after), 0);
    }
}
