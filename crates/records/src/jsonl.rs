//! Records as JSON lines: one record, one line, no other framing.

use std::io::{self, BufRead, Read, Write};

use serde::{Deserialize, Serialize};

use crate::{
    ChainRecord, DeviceCheck, EXPERIMENT_SCHEMA_VERSION, Experiment, Explanation, FleetRecord, FleetRun, FleetTry,
    MemoryCheck, OLDEST_SCHEMA_VERSION, Record, RepositoryEstimate, Rollout, SCHEMA_VERSION, ServingLoad, SizeRecord,
    TraceRecord,
};

/// The length limit of a line, in bytes. A record has 2 to 4 KB, and the times of many exchanges with a server some
/// MB; a longer line is rejected before it fills the memory.
pub const MAX_LINE_BYTES: u64 = 1 << 24;

/// An error of reading or writing records. Lines are counted from 1.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Writing failed.
    #[error("cannot write a record: {0}")]
    Write(io::Error),
    /// A record cannot be expressed as JSON.
    #[error("cannot encode a record: {0}")]
    Encode(serde_json::Error),
    /// Reading failed.
    #[error("line {line}: cannot read: {source}")]
    Read {
        /// The line that was being read.
        line: u64,
        /// The operating system's error.
        source: io::Error,
    },
    /// A line is too long to be a record.
    #[error("line {line}: expected at most {MAX_LINE_BYTES} bytes, found more")]
    TooLong {
        /// The line.
        line: u64,
    },
    /// A line is not a record.
    #[error("line {line}: expected a record: {source}")]
    Parse {
        /// The line.
        line: u64,
        /// The parse error.
        source: serde_json::Error,
    },
    /// A line has a number that no measurement gives.
    #[error("line {line}: expected ratios between 1e-9 and 1e9, found {found}")]
    Ratio {
        /// The line.
        line: u64,
        /// The number.
        found: f64,
    },
    /// A record has an unknown schema version.
    #[error("line {line}: expected schema version {OLDEST_SCHEMA_VERSION} to {SCHEMA_VERSION}, found {found}")]
    Schema {
        /// The line.
        line: u64,
        /// The version it names.
        found: u32,
    },
    /// The result of an experiment has an unknown version.
    #[error("line {line}: expected an experiment of version 1 to {EXPERIMENT_SCHEMA_VERSION}, found {found}")]
    ExperimentSchema {
        /// The line.
        line: u64,
        /// The version it names.
        found: u32,
    },
}

/// One line of a file of results.
///
/// The line of a run has no field `record`. Every other line has one that names its kind, so that programs that only
/// know runs can skip it.
#[derive(Debug, Clone, PartialEq)]
pub enum ResultLine {
    /// A run.
    Run(Box<Record>),
    /// What a workload reads from a variant.
    Trace(Box<TraceRecord>),
    /// A ratio split into factors.
    Explanation(Box<Explanation>),
    /// Where a repository's bytes go.
    Size(Box<SizeLine>),
    /// The result of a published experiment, run again.
    Experiment(Box<Experiment>),
    /// How long objects of a repository take to read, by the length of their chains.
    Chains(Box<ChainRecord>),
    /// The device model compared with cold reads.
    DeviceCheck(Box<DeviceCheck>),
    /// The modelled page cache compared with the kernel's.
    MemoryCheck(Box<MemoryCheck>),
    /// Sizes and times that were predicted from a sample.
    Estimate(Box<RepositoryEstimate>),
    /// What a server pays while clients move to another codec.
    Rollout(Box<Rollout>),
    /// What several clients at once cost a server.
    ServingLoad(Box<ServingLoad>),
    /// A start of `fleet`.
    FleetRun(Box<FleetRun>),
    /// A try to work on one repository of a fleet.
    FleetTry(Box<FleetTry>),
    /// The end of the work on one repository of a fleet.
    Fleet(Box<FleetRecord>),
}

/// Where a repository's bytes go, as a separate line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeLine {
    /// The schema version; [`SCHEMA_VERSION`] for new lines.
    pub schema: u32,
    /// The version of the program that measured.
    pub program_version: String,
    /// The command that measured, quoted as a shell reads it.
    #[serde(default)]
    pub command: Option<String>,
    /// The repository and its bytes.
    pub size: SizeRecord,
}

/// A line of any kind but a run, as it is read: its kind, then its fields.
#[derive(Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
enum TaggedLine {
    Trace(Box<TraceRecord>),
    Explanation(Box<Explanation>),
    Size(Box<SizeLine>),
    Experiment(Box<Experiment>),
    Chains(Box<ChainRecord>),
    DeviceCheck(Box<DeviceCheck>),
    MemoryCheck(Box<MemoryCheck>),
    Estimate(Box<RepositoryEstimate>),
    Rollout(Box<Rollout>),
    ServingLoad(Box<ServingLoad>),
    FleetRun(Box<FleetRun>),
    FleetTry(Box<FleetTry>),
    Fleet(Box<FleetRecord>),
}

/// A line that is no run, as it is written: what it is, then its fields.
#[derive(Serialize)]
struct Tagged<'a, T> {
    record: &'a str,
    #[serde(flatten)]
    fields: T,
}

/// The result of an experiment, with the schema version that every line has.
#[derive(Serialize)]
struct ExperimentLine<'a> {
    schema: u32,
    #[serde(flatten)]
    experiment: &'a Experiment,
}

/// Writes `record` to `out` as one line, in a single write, so that an interrupted program leaves whole lines unless
/// the writer splits them.
///
/// # Errors
/// [`RecordError::Write`] if `out` fails, [`RecordError::Encode`] if the record has no JSON form.
pub fn write_record(out: impl Write, record: &Record) -> Result<(), RecordError> {
    write_line(out, record)
}

/// Writes a line of any kind; see [`write_record`].
///
/// # Errors
/// As [`write_record`].
pub fn write_result(out: impl Write, line: &ResultLine) -> Result<(), RecordError> {
    match line {
        ResultLine::Run(record) => write_line(out, record),
        ResultLine::Trace(trace) => write_tagged(out, "trace", trace),
        ResultLine::Explanation(explanation) => write_tagged(out, "explanation", explanation),
        ResultLine::Size(size) => write_tagged(out, "size", size),
        ResultLine::Experiment(experiment) => {
            write_tagged(out, "experiment", ExperimentLine { schema: SCHEMA_VERSION, experiment })
        }
        ResultLine::Chains(chains) => write_tagged(out, "chains", chains),
        ResultLine::DeviceCheck(check) => write_tagged(out, "device-check", check),
        ResultLine::MemoryCheck(check) => write_tagged(out, "memory-check", check),
        ResultLine::Estimate(estimate) => write_tagged(out, "estimate", estimate),
        ResultLine::Rollout(rollout) => write_tagged(out, "rollout", rollout),
        ResultLine::ServingLoad(load) => write_tagged(out, "serving-load", load),
        ResultLine::FleetRun(run) => write_tagged(out, "fleet-run", run),
        ResultLine::FleetTry(event) => write_tagged(out, "fleet-try", event),
        ResultLine::Fleet(end) => write_tagged(out, "fleet", end),
    }
}

fn write_tagged(out: impl Write, record: &str, fields: impl Serialize) -> Result<(), RecordError> {
    write_line(out, &Tagged { record, fields })
}

fn write_line(mut out: impl Write, line: &impl Serialize) -> Result<(), RecordError> {
    let mut line = serde_json::to_vec(line).map_err(RecordError::Encode)?;
    line.push(b'\n');
    out.write_all(&line).map_err(RecordError::Write)
}

/// Reads the runs of `input` one by one. Blank lines, lines of other kinds and unknown fields are skipped; an unknown
/// schema version is an error.
///
/// Iteration ends after the first error, because lines after a damaged one cannot be trusted.
pub fn read_records<R: BufRead>(input: R) -> impl Iterator<Item = Result<Record, RecordError>> {
    read_results(input).filter_map(|line| match line {
        Ok(ResultLine::Run(record)) => Some(Ok(*record)),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    })
}

/// Reads the lines of all kinds of `input` one by one; see [`read_records`].
pub fn read_results<R: BufRead>(input: R) -> impl Iterator<Item = Result<ResultLine, RecordError>> {
    read_numbered_results(input).map(|line| line.map(|(_, line)| line))
}

/// As [`read_results`], each line with its number, counted from 1.
pub fn read_numbered_results<R: BufRead>(input: R) -> impl Iterator<Item = Result<(u64, ResultLine), RecordError>> {
    ResultLines { input, buffer: Vec::new(), line: 0, finished: false }
}

struct ResultLines<R> {
    input: R,
    buffer: Vec<u8>,
    line: u64,
    finished: bool,
}

/// The fields that decide how to read the rest of a line.
#[derive(Deserialize)]
struct Heading {
    schema: u32,
    #[serde(default)]
    record: Option<String>,
}

impl<R: BufRead> ResultLines<R> {
    fn next_line(&mut self) -> Result<Option<ResultLine>, RecordError> {
        loop {
            self.line += 1;
            self.buffer.clear();
            let mut limited = self.input.by_ref().take(MAX_LINE_BYTES + 1);
            let length = limited
                .read_until(b'\n', &mut self.buffer)
                .map_err(|source| RecordError::Read { line: self.line, source })?;
            if length == 0 {
                return Ok(None);
            }
            if self.buffer.len() as u64 > MAX_LINE_BYTES {
                return Err(RecordError::TooLong { line: self.line });
            }
            if !self.buffer.trim_ascii().is_empty() {
                return self.parse().map(Some);
            }
        }
    }

    fn parse(&self) -> Result<ResultLine, RecordError> {
        let parse_error = |source| RecordError::Parse { line: self.line, source };
        let Heading { schema, record } = serde_json::from_slice(&self.buffer).map_err(parse_error)?;
        if !(OLDEST_SCHEMA_VERSION..=SCHEMA_VERSION).contains(&schema) {
            return Err(RecordError::Schema { line: self.line, found: schema });
        }
        if record.is_none() {
            let mut run: Box<Record> = serde_json::from_slice(&self.buffer).map_err(parse_error)?;
            run.variant.separate_self_test_name();
            return Ok(ResultLine::Run(run));
        }
        Ok(match serde_json::from_slice(&self.buffer).map_err(parse_error)? {
            TaggedLine::Trace(trace) => ResultLine::Trace(trace),
            TaggedLine::Explanation(explanation) => {
                let strange = explanation.ratios().find(|ratio| !(1e-9..=1e9).contains(ratio));
                if let Some(found) = strange {
                    return Err(RecordError::Ratio { line: self.line, found });
                }
                ResultLine::Explanation(explanation)
            }
            TaggedLine::Size(size) => ResultLine::Size(size),
            TaggedLine::Chains(chains) => ResultLine::Chains(chains),
            TaggedLine::DeviceCheck(check) => ResultLine::DeviceCheck(check),
            TaggedLine::MemoryCheck(check) => ResultLine::MemoryCheck(check),
            TaggedLine::Estimate(estimate) => ResultLine::Estimate(estimate),
            TaggedLine::Rollout(rollout) => ResultLine::Rollout(rollout),
            TaggedLine::ServingLoad(load) => ResultLine::ServingLoad(load),
            TaggedLine::FleetRun(run) => ResultLine::FleetRun(run),
            TaggedLine::FleetTry(event) => ResultLine::FleetTry(event),
            TaggedLine::Fleet(end) => ResultLine::Fleet(end),
            TaggedLine::Experiment(experiment) => {
                let found = experiment.experiment_schema;
                if !(1..=EXPERIMENT_SCHEMA_VERSION).contains(&found) {
                    return Err(RecordError::ExperimentSchema { line: self.line, found });
                }
                ResultLine::Experiment(experiment)
            }
        })
    }
}

impl<R: BufRead> Iterator for ResultLines<R> {
    type Item = Result<(u64, ResultLine), RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let next = self.next_line().transpose();
        self.finished = !matches!(next, Some(Ok(_)));
        next.map(|line| line.map(|line| (self.line, line)))
    }
}

#[cfg(test)]
mod tests;
