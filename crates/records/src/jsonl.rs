//! Records as JSON lines: one record, one line, no other framing.

use std::io::{self, BufRead, Read, Write};

use serde::{Deserialize, Serialize};

use crate::{
    EXPERIMENT_SCHEMA_VERSION, Experiment, Explanation, OLDEST_SCHEMA_VERSION, Record, SCHEMA_VERSION, SizeRecord,
    TraceRecord,
};

/// The longest line that is read, in bytes. A real record has 2 to 4 KB; a longer line is no record, and is refused
/// before it fills the memory.
pub const MAX_LINE_BYTES: u64 = 1 << 20;

/// Why records could not be read or written. Lines are counted from 1.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The operating system refused to write.
    #[error("cannot write a record: {0}")]
    Write(io::Error),
    /// A record cannot be expressed as JSON.
    #[error("cannot encode a record: {0}")]
    Encode(serde_json::Error),
    /// The operating system refused to read.
    #[error("line {line}: cannot read: {source}")]
    Read {
        /// The line that was being read.
        line: u64,
        /// The operating system's answer.
        source: io::Error,
    },
    /// A line is too long to be a record.
    #[error("line {line}: expected at most {MAX_LINE_BYTES} bytes, found more")]
    TooLong {
        /// The line.
        line: u64,
    },
    /// A line holds something else than a record.
    #[error("line {line}: expected a record: {source}")]
    Parse {
        /// The line.
        line: u64,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// A line holds a number that no measurement gives.
    #[error("line {line}: expected ratios between 1e-9 and 1e9, found {found}")]
    Ratio {
        /// The line.
        line: u64,
        /// The number.
        found: f64,
    },
    /// A record was written by a program whose schema this one does not know.
    #[error("line {line}: expected schema version {OLDEST_SCHEMA_VERSION} to {SCHEMA_VERSION}, found {found}")]
    Schema {
        /// The line.
        line: u64,
        /// The version it names.
        found: u32,
    },
    /// An experiment's result was written by a program whose form of it this one does not know.
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
/// A run's line has no field `record`; every other has one that says what it is, so that programs which know runs alone can pass
/// by.
#[derive(Debug, Clone, PartialEq)]
pub enum ResultLine {
    /// A run.
    Run(Box<Record>),
    /// What a workload read of a variant.
    Trace(Box<TraceRecord>),
    /// A ratio split into factors.
    Explanation(Box<Explanation>),
    /// Where a repository's bytes go.
    Size(Box<SizeLine>),
    /// What a published experiment found here.
    Experiment(Box<Experiment>),
}

/// Where a repository's bytes go, as a line of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeLine {
    /// The version of this form, [`SCHEMA_VERSION`] when this program wrote it.
    pub schema: u32,
    /// The version of the program that measured.
    pub program_version: String,
    /// The command that measured, quoted as a shell reads it.
    #[serde(default)]
    pub command: Option<String>,
    /// The repository and its bytes.
    pub size: SizeRecord,
}

/// A line that is no run: what it is, then its fields.
#[derive(Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
enum TaggedLine<T, E, S, X> {
    Trace(T),
    Explanation(E),
    Size(S),
    Experiment(ExperimentLine<X>),
}

/// An experiment's result, and the version that every line has.
#[derive(Serialize, Deserialize)]
struct ExperimentLine<X> {
    schema: u32,
    #[serde(flatten)]
    experiment: X,
}

/// Writes `record` to `out` as one line. The line is handed over in one piece, so that an interrupted program leaves
/// whole lines where the writer does not split them.
///
/// # Errors
/// [`RecordError::Write`] when `out` refuses, [`RecordError::Encode`] when the record has no JSON form.
pub fn write_record(out: impl Write, record: &Record) -> Result<(), RecordError> {
    write_line(out, record)
}

/// Writes a line of any kind; see [`write_record`].
///
/// # Errors
/// As [`write_record`].
pub fn write_result(out: impl Write, line: &ResultLine) -> Result<(), RecordError> {
    type Tagged<'a> = TaggedLine<&'a TraceRecord, &'a Explanation, &'a SizeLine, &'a Experiment>;
    match line {
        ResultLine::Run(record) => write_line(out, record),
        ResultLine::Trace(trace) => write_line(out, &Tagged::Trace(trace)),
        ResultLine::Explanation(explanation) => write_line(out, &Tagged::Explanation(explanation)),
        ResultLine::Size(size) => write_line(out, &Tagged::Size(size)),
        ResultLine::Experiment(experiment) => {
            write_line(out, &Tagged::Experiment(ExperimentLine { schema: SCHEMA_VERSION, experiment }))
        }
    }
}

fn write_line(mut out: impl Write, line: &impl Serialize) -> Result<(), RecordError> {
    let mut line = serde_json::to_vec(line).map_err(RecordError::Encode)?;
    line.push(b'\n');
    out.write_all(&line).map_err(RecordError::Write)
}

/// Reads the runs of `input` one by one; blank lines and lines of other kinds are skipped. Fields that this program does not know
/// are ignored, a schema version that it does not know is an error.
///
/// Iteration ends after the first error: what follows a damaged line cannot be trusted to be whole.
pub fn read_records<R: BufRead>(input: R) -> impl Iterator<Item = Result<Record, RecordError>> {
    read_results(input).filter_map(|line| match line {
        Ok(ResultLine::Run(record)) => Some(Ok(*record)),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    })
}

/// Reads the lines of `input` one by one, of whatever kind they are; see [`read_records`].
pub fn read_results<R: BufRead>(input: R) -> impl Iterator<Item = Result<ResultLine, RecordError>> {
    ResultLines { input, buffer: Vec::new(), line: 0, finished: false }
}

struct ResultLines<R> {
    input: R,
    buffer: Vec<u8>,
    line: u64,
    finished: bool,
}

/// The part of a line that says how to read the rest.
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
        type Tagged = TaggedLine<Box<TraceRecord>, Box<Explanation>, Box<SizeLine>, Box<Experiment>>;
        let parse_error = |source| RecordError::Parse { line: self.line, source };
        let Heading { schema, record } = serde_json::from_slice(&self.buffer).map_err(parse_error)?;
        if !(OLDEST_SCHEMA_VERSION..=SCHEMA_VERSION).contains(&schema) {
            return Err(RecordError::Schema { line: self.line, found: schema });
        }
        if record.is_none() {
            return serde_json::from_slice(&self.buffer).map(ResultLine::Run).map_err(parse_error);
        }
        Ok(match serde_json::from_slice(&self.buffer).map_err(parse_error)? {
            Tagged::Trace(trace) => ResultLine::Trace(trace),
            Tagged::Explanation(explanation) => {
                let strange = explanation.ratios().find(|ratio| !(1e-9..=1e9).contains(ratio));
                if let Some(found) = strange {
                    return Err(RecordError::Ratio { line: self.line, found });
                }
                ResultLine::Explanation(explanation)
            }
            Tagged::Size(size) => ResultLine::Size(size),
            Tagged::Experiment(ExperimentLine { experiment, .. }) => {
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
    type Item = Result<ResultLine, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let next = self.next_line().transpose();
        self.finished = !matches!(next, Some(Ok(_)));
        next
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        AccessMap, Checks, ChosenDecoder, ChunkForm, ClaimOutcome, ComparedTime, ContentDigest, ConversionCost,
        DeltaCacheUse, DeltaOrigin, Disturbance, Estimate, ExperimentColumn, ExperimentRow, ExperimentTable, Host,
        ModelledCold, ModelledDevice, ObjectKind, Outcome, RatioEstimate, RepositoryState, Role, RunPlace, RunUsage,
        SampleRecord, SizeRecord, SpecText, Storage, TracedReads, Unit, Variant, Vcs, WorkloadLabel,
    };

    fn record(block: u32) -> Record {
        let mut size = SizeRecord { label: "zstd:5".into(), total_bytes: 123, ..SizeRecord::default() };
        size.objects.get_mut(ObjectKind::Blob, ChunkForm::Delta).add(100, 200);
        Record {
            schema: SCHEMA_VERSION,
            program_version: "0.1.0".into(),
            started_unix_ms: 1_700_000_000_000,
            host: Host {
                cores: Some(2),
                kernel: Some("Linux 6".into()),
                memory_bytes: Some(1 << 33),
                source_storage: Some(Storage { file_system: Some("ext4".into()), ..Storage::default() }),
                libraries: BTreeMap::from([("libzstd".into(), "1.5.7".into())]),
                ..Host::default()
            },
            repository: RepositoryState {
                name: "sample".into(),
                fingerprint: "ab".into(),
                head: Some("cd".into()),
                vcs: Some(Vcs::Git),
                objects: Some(3),
                ..RepositoryState::default()
            },
            variant: Variant {
                role: Role::BaselineAgain,
                row: 1,
                spec: Some(SpecText { typed: "zlib".into(), canonical: "zlib:6".into() }),
                checksum: true,
                deltas: DeltaOrigin::Kept,
                decoder: None,
                delta_cache: None,
                client: None,
                layout: None,
            },
            decoder: "zlib 1.3.1".into(),
            workload: WorkloadLabel {
                name: "diff:pickaxe".into(),
                parameters: BTreeMap::from([("needle".into(), "a \"quoted\"\nline".into())]),
            },
            compared_time: ComparedTime::Cpu,
            place: RunPlace { block, position: 3, seed: u64::MAX, session: 5, copy: None },
            sample: SampleRecord { wall_ns: 10, user_ns: 8, sys_ns: 1 },
            usage: RunUsage { minor_faults: Some(12), ..RunUsage::default() },
            disturbance: Disturbance { steal_ns: Some(0), ..Disturbance::default() },
            delta_cache: Some(DeltaCacheUse { limit_bytes: Some(96 << 20), hits: 4, misses: 2 }),
            checks: Some(Checks { chunk_checksums: true, object_hashes: false, commit_graph: false, bitmaps: false }),
            jobs: 1,
            iterations: 3,
            counts: BTreeMap::from([("objects".into(), u64::MAX), ("missing".into(), 0)]),
            extra: BTreeMap::from([("wire bytes".into(), 7)]),
            digest: ContentDigest { algorithm: "sha256".into(), hex: "00ff".into() },
            size,
            conversion: Some(ConversionCost { cpu_ns: 17, wall_ns: 9 }),
            command: Some("repackbench bench 'a b'".into()),
            reads: None,
        }
    }

    fn experiment() -> Experiment {
        let estimate = Estimate { value: 0.5, interval: Some([0.25, 1.0]), samples: vec![0.5, 0.25, 1.0] };
        Experiment {
            experiment_schema: EXPERIMENT_SCHEMA_VERSION,
            name: "zlib-vs-zstd-pack".into(),
            command: None,
            began_unix_ms: 5,
            host: record(0).host,
            repository: record(0).repository,
            differences: vec!["one".into()],
            tables: vec![ExperimentTable {
                title: "times".into(),
                columns: vec![ExperimentColumn { name: "elapsed".into(), unit: Unit::Seconds }],
                rows: vec![ExperimentRow {
                    label: "zlib".into(),
                    published: vec![None],
                    measured: vec![Some(estimate)],
                }],
            }],
            listings: vec![],
            claims: vec![ClaimOutcome {
                claim: "it is".into(),
                published: String::new(),
                measured: "0.5".into(),
                outcome: Outcome::NotReproduced,
                reason: "it is not".into(),
            }],
            notes: vec![],
        }
    }

    #[test]
    fn a_figure_is_read_as_it_was_written() {
        for number in 1..10_000 {
            let figure = f64::from(number).ln().exp() / 10.0;
            let text = serde_json::to_string(&figure).unwrap();
            assert_eq!(serde_json::from_str::<f64>(&text).unwrap(), figure, "{text}");
        }
    }

    #[test]
    fn an_experiment_of_a_later_form_is_refused_by_its_number() {
        let mut out = Vec::new();
        write_result(&mut out, &ResultLine::Experiment(Box::new(experiment()))).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("{\"record\":\"experiment\",\"schema\":2,\"experiment_schema\":1,"), "{text}");
        let later = text.replace("\"experiment_schema\":1", "\"experiment_schema\":9");
        let error = read_results(later.as_bytes()).next().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "line 1: expected an experiment of version 1 to 1, found 9");
    }

    fn written(records: &[Record]) -> Vec<u8> {
        let mut out = Vec::new();
        for record in records {
            write_record(&mut out, record).unwrap();
        }
        out
    }

    #[test]
    fn records_survive_a_round_trip_one_per_line() {
        let records = [record(0), record(1)];
        let bytes = written(&records);
        assert_eq!(bytes.iter().filter(|&&byte| byte == b'\n').count(), 2);
        let read: Vec<Record> = read_records(bytes.as_slice()).collect::<Result<_, _>>().unwrap();
        assert_eq!(read, records);
    }

    #[test]
    fn the_json_names_that_other_tools_rely_on_are_fixed() {
        let json: serde_json::Value = serde_json::from_slice(&written(&[record(7)])).unwrap();
        assert_eq!(json["schema"], 2);
        assert_eq!(json["variant"]["role"], "baseline-again");
        assert_eq!(json["variant"]["spec"]["canonical"], "zlib:6");
        assert_eq!(json["place"]["block"], 7);
        assert_eq!(json["compared_time"], "cpu");
        assert_eq!(json["sample"]["wall_ns"], 10);
        assert_eq!(json["sample"]["user_ns"], 8);
        assert_eq!(json["sample"]["sys_ns"], 1);
        assert_eq!(json["size"]["objects"]["blob"]["delta"]["stored_bytes"], 100);
        assert_eq!(json["size"]["objects"]["blob"]["delta"]["payload_bytes"], 200);
    }

    #[test]
    fn a_chosen_decoder_is_written_and_records_without_one_are_read() {
        let mut chosen = record(0);
        let decoder = ChosenDecoder { format: "zlib".into(), implementation: "libdeflate".into() };
        chosen.variant.decoder = Some(decoder);
        let bytes = written(std::slice::from_ref(&chosen));
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(json["variant"]["decoder"]["format"], "zlib");
        assert_eq!(json["variant"]["decoder"]["implementation"], "libdeflate");
        assert_eq!(read_records(bytes.as_slice()).next().unwrap().unwrap(), chosen);
        let without: serde_json::Value = serde_json::from_slice(&written(&[record(0)])).unwrap();
        assert!(without["variant"].get("decoder").is_none(), "older readers know no such field");
    }

    #[test]
    fn traced_reads_are_written_and_records_without_them_are_read() {
        let device =
            ModelledDevice { name: "hdd".into(), latency_ns: 8, bytes_per_second: 9, readahead_bytes: 131_072 };
        let modelled = vec![ModelledCold { device, reads: 4, seeks: 3, bytes: 40_960, time_ns: 5 }];
        let traced = Record { reads: Some(TracedReads { touched_bytes: 8192, modelled }), ..record(0) };
        let bytes = written(std::slice::from_ref(&traced));
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(json["reads"]["touched_bytes"], 8192);
        assert_eq!(json["reads"]["modelled"][0]["device"]["name"], "hdd");
        assert_eq!(json["reads"]["modelled"][0]["time_ns"], 5);
        assert_eq!(read_records(bytes.as_slice()).next().unwrap().unwrap(), traced);
        let without: serde_json::Value = serde_json::from_slice(&written(&[record(0)])).unwrap();
        assert!(without.get("reads").is_none(), "older readers know no such field");
        assert_eq!(read_records(written(&[record(0)]).as_slice()).next().unwrap().unwrap().reads, None);
    }

    #[test]
    fn blank_lines_are_skipped_and_a_last_line_needs_no_newline() {
        let mut bytes = b"\n  \n".to_vec();
        bytes.extend(written(&[record(0)]));
        bytes.pop();
        assert_eq!(read_records(bytes.as_slice()).map(Result::unwrap).count(), 1);
    }

    #[test]
    fn lines_of_other_kinds_are_told_apart_and_passed_by_where_runs_are_wanted() {
        let run = record(1);
        let map = AccessMap { role: "pack".into(), cells: vec![(0, 3, 9)], ..AccessMap::default() };
        let size =
            SizeLine { schema: SCHEMA_VERSION, program_version: "1".into(), command: None, size: run.size.clone() };
        let trace = TraceRecord {
            schema: SCHEMA_VERSION,
            program_version: "1".into(),
            repository: run.repository.clone(),
            variant: run.variant.clone(),
            workload: run.workload.clone(),
            page_len: 4096,
            files: vec![],
            parts: vec![],
            devices: vec![],
            memory: vec![],
            maps: vec![map],
            command: Some("repackbench trace r".into()),
        };
        let estimate = RatioEstimate { ratio: 0.5, interval: None, pairs: 3 };
        let explanation = Explanation {
            schema: SCHEMA_VERSION,
            session: 5,
            repository: run.repository.clone(),
            workload: run.workload.clone(),
            compared_time: ComparedTime::Cpu,
            codec: "lz4".into(),
            baseline: "zlib:6".into(),
            measured: estimate,
            factors: vec![],
            product: 0.5,
            noise: None,
        };
        let lines = [
            ResultLine::Size(Box::new(size)),
            ResultLine::Run(Box::new(run.clone())),
            ResultLine::Trace(Box::new(trace)),
            ResultLine::Explanation(Box::new(explanation)),
            ResultLine::Experiment(Box::new(experiment())),
        ];
        let mut out = Vec::new();
        lines.iter().for_each(|line| write_result(&mut out, line).unwrap());
        assert_eq!(read_results(&out[..]).collect::<Result<Vec<_>, _>>().unwrap(), lines);
        assert_eq!(read_records(&out[..]).collect::<Result<Vec<_>, _>>().unwrap(), [run]);
        let text = String::from_utf8(out).unwrap();
        for nonsense in ["0.0", "-1.0", "5e-324", "1e300"] {
            let changed = text.replace("\"product\":0.5", &format!("\"product\":{nonsense}"));
            let last = read_results(changed.as_bytes()).last();
            assert!(matches!(last, Some(Err(RecordError::Ratio { line: 4, .. }))), "{last:?}");
        }
        let unknown = format!("{{\"schema\":{SCHEMA_VERSION},\"record\":\"dream\"}}\n");
        assert!(matches!(read_results(unknown.as_bytes()).next(), Some(Err(RecordError::Parse { line: 1, .. }))));
    }

    #[test]
    fn a_damaged_line_is_named_and_ends_the_reading() {
        let mut bytes = written(&[record(0)]);
        bytes.extend_from_slice(b"{\"schema\":1,\n");
        bytes.extend(written(&[record(1)]));
        let mut read = read_records(bytes.as_slice());
        assert!(read.next().unwrap().is_ok());
        assert!(matches!(read.next(), Some(Err(RecordError::Parse { line: 2, .. }))));
        assert!(read.next().is_none());
    }

    #[test]
    fn a_schema_of_the_future_is_refused_by_its_number() {
        let input = b"{\"schema\":3,\"anything\":[]}\n";
        let error = read_records(input.as_slice()).next().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "line 1: expected schema version 1 to 2, found 3");
    }

    /// A line that the release with version 1 wrote, but for the sizes, which are the defaults.
    #[test]
    fn records_of_version_1_are_read() {
        let size = serde_json::to_string(&SizeRecord::default()).unwrap();
        let line = format!(
            r#"{{"schema":1,"program_version":"0.1.0","started_unix_ms":5,"host":{{"cpu_model":null,"cores":2,"kernel":null,
            "memory_bytes":null}},"repository":{{"name":"r","fingerprint":"ab","head":null}},"variant":{{"role":"as-found",
            "row":0,"spec":null,"checksum":true,"deltas":"kept"}},"decoder":"zlib","workload":{{"name":"traverse",
            "parameters":{{}}}},"compared_time":"cpu","place":{{"block":0,"position":1,"seed":7}},"sample":{{"wall_ns":3,
            "user_ns":2,"sys_ns":1}},"iterations":1,"counts":{{}},"digest":{{"algorithm":"sha256","hex":"00"}},"size":{size}}}"#
        );
        let line = line.replace('\n', "");
        let record = read_records(line.as_bytes()).next().unwrap().unwrap();
        assert_eq!((record.schema, record.jobs, record.host.cores), (1, 1, Some(2)));
        assert_eq!((record.delta_cache, record.checks, record.place.copy), (None, None, None));
        assert_eq!((record.usage, record.disturbance), (RunUsage::default(), Disturbance::default()));
        assert_eq!(record.repository.vcs, None);
    }

    #[test]
    fn an_endless_line_is_refused_before_it_is_held() {
        let endless = io::BufReader::new(io::repeat(b'x'));
        let mut read = read_records(endless);
        assert!(matches!(read.next(), Some(Err(RecordError::TooLong { line: 1 }))));
        assert!(read.next().is_none());
    }
}
