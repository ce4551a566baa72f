//! The steps of a job: commands that run one after the other, each a process.

use std::{fs::File, path::PathBuf, process::Command};

use super::{Made, StockError, output::OutputForm};

/// A job that is ready to be run.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) steps: Vec<Step>,
    /// The form of what all timed steps print.
    pub(crate) form: OutputForm,
    pub(crate) made: Made,
    /// Whether each step is a request, whose elapsed time is kept.
    pub(crate) has_requests: bool,
    /// The folder whose new files, and what is appended to others, count as written.
    pub(crate) grows: Option<PathBuf>,
    /// The file that one side sends to the other.
    pub(crate) sends: Option<PathBuf>,
}

/// One command of a job.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) command: Command,
    pub(crate) input: StepInput,
    /// Whether it is part of the job, and not only between its parts.
    pub(crate) is_timed: bool,
}

/// What a command reads from stdin.
#[derive(Debug)]
pub(crate) enum StepInput {
    /// Nothing.
    Empty,
    /// A file.
    File(PathBuf),
    /// The lines of a file, each after the answer to the one before, as `git cat-file --batch` answers.
    Dialogue(PathBuf),
}

impl Prepared {
    /// A job of one command.
    pub(crate) fn of(step: impl Into<Step>, form: OutputForm, made: Made) -> Self {
        Prepared { steps: vec![step.into()], form, made, has_requests: false, grows: None, sends: None }
    }

    /// A job of requests that only read.
    pub(crate) fn requests(steps: Vec<Step>, form: OutputForm) -> Self {
        Prepared { steps, form, made: Made::Nothing, has_requests: true, grows: None, sends: None }
    }

    /// The error of the whole job, which names its last command.
    pub(crate) fn failed(&self, why: &str) -> StockError {
        match self.steps.last() {
            Some(step) => StockError::failed(&step.command, why),
            None => StockError::refused(why),
        }
    }
}

impl Step {
    pub(crate) fn timed(command: Command) -> Self {
        Step { command, input: StepInput::Empty, is_timed: true }
    }

    pub(crate) fn reading(self, input: StepInput) -> Self {
        Step { input, ..self }
    }

    pub(crate) fn untimed(self) -> Self {
        Step { is_timed: false, ..self }
    }

    /// The file that it reads, if there is one.
    pub(crate) fn input_file(&self) -> Option<&PathBuf> {
        match &self.input {
            StepInput::Empty => None,
            StepInput::File(file) | StepInput::Dialogue(file) => Some(file),
        }
    }

    /// Opens the file that the command reads.
    pub(crate) fn open_input(&mut self) -> Result<(), StockError> {
        if let Some(file) = self.input_file() {
            let opened = File::open(file).map_err(|error| StockError::files("read", file, error))?;
            self.command.stdin(opened);
        }
        Ok(())
    }
}

impl From<Command> for Step {
    fn from(command: Command) -> Self {
        Step::timed(command)
    }
}
