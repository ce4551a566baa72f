//! Records as JSON lines: one record, one line, no other framing.

use std::io::{self, BufRead, Read, Write};

use serde::Deserialize;

use crate::{OLDEST_SCHEMA_VERSION, Record, SCHEMA_VERSION};

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
    /// A record was written by a program whose schema this one does not know.
    #[error("line {line}: expected schema version {OLDEST_SCHEMA_VERSION} to {SCHEMA_VERSION}, found {found}")]
    Schema {
        /// The line.
        line: u64,
        /// The version it names.
        found: u32,
    },
}

/// Writes `record` to `out` as one line. The line is handed over in one piece, so that an interrupted program leaves
/// whole lines where the writer does not split them.
///
/// # Errors
/// [`RecordError::Write`] when `out` refuses, [`RecordError::Encode`] when the record has no JSON form.
pub fn write_record(mut out: impl Write, record: &Record) -> Result<(), RecordError> {
    let mut line = serde_json::to_vec(record).map_err(RecordError::Encode)?;
    line.push(b'\n');
    out.write_all(&line).map_err(RecordError::Write)
}

/// Reads the records of `input` one by one; blank lines are skipped. Fields that this program does not know are
/// ignored, a schema version that it does not know is an error.
///
/// Iteration ends after the first error: what follows a damaged line cannot be trusted to be whole.
pub fn read_records<R: BufRead>(input: R) -> impl Iterator<Item = Result<Record, RecordError>> {
    RecordLines { input, buffer: Vec::new(), line: 0, finished: false }
}

struct RecordLines<R> {
    input: R,
    buffer: Vec<u8>,
    line: u64,
    finished: bool,
}

/// The part of a record that says how to read the rest.
#[derive(Deserialize)]
struct SchemaOnly {
    schema: u32,
}

impl<R: BufRead> RecordLines<R> {
    fn next_record(&mut self) -> Result<Option<Record>, RecordError> {
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

    fn parse(&self) -> Result<Record, RecordError> {
        let parse_error = |source| RecordError::Parse { line: self.line, source };
        let SchemaOnly { schema } = serde_json::from_slice(&self.buffer).map_err(parse_error)?;
        if !(OLDEST_SCHEMA_VERSION..=SCHEMA_VERSION).contains(&schema) {
            return Err(RecordError::Schema { line: self.line, found: schema });
        }
        serde_json::from_slice(&self.buffer).map_err(parse_error)
    }
}

impl<R: BufRead> Iterator for RecordLines<R> {
    type Item = Result<Record, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let next = self.next_record().transpose();
        self.finished = !matches!(next, Some(Ok(_)));
        next
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        Checks, ChosenDecoder, ChunkForm, ComparedTime, ContentDigest, DeltaCacheUse, DeltaOrigin, Disturbance, Host,
        ModelledCold, ModelledDevice, ObjectKind, RepositoryState, Role, RunPlace, RunUsage, SampleRecord, SizeRecord,
        SpecText, Storage, TracedReads, Variant, Vcs, WorkloadLabel,
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
            reads: None,
        }
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
