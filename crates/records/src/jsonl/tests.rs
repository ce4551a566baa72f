//! Tests of the module above.

use std::collections::BTreeMap;

use super::*;
use crate::{
    AccessMap, ChainReads, Checks, ChosenDecoder, ChunkForm, ClaimOutcome, ColdCopyReads, ComparedTime, ContentDigest,
    ConversionCost, DeltaCacheUse, DeltaOrigin, DeviceCalibration, DeviceRecord, Disturbance, Estimate,
    ExperimentColumn, ExperimentRow, ExperimentTable, Figure, Host, JudgedClaim, ModelledCold, ModelledDevice,
    ObjectKind, Outcome, RatioEstimate, RepositoryState, Role, RunPlace, RunUsage, SampleRecord, SizeRecord, SpecText,
    Statement, Storage, StoredStatement, TracedReads, Unit, Variant, Vcs, WorkloadLabel,
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
            self_test_name: None,
            checksum: true,
            deltas: DeltaOrigin::Kept,
            delta_window: None,
            decoder: None,
            delta_cache: None,
            client: None,
            layout: None,
            readers: None,
        },
        decoder: "zlib 1.3.1".into(),
        workload: WorkloadLabel {
            name: "diff:pickaxe".into(),
            parameters: BTreeMap::from([("needle".into(), "a \"quoted\"\nline".into())]),
        },
        compared_time: ComparedTime::Cpu,
        place: RunPlace { block, position: 3, seed: u64::MAX, session: 5, copy: None },
        sample: SampleRecord { wall_ns: 10, user_ns: 8, sys_ns: 1, writing_ns: None },
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
        conversion: Some(ConversionCost { cpu_ns: 17, wall_ns: 9, ..ConversionCost::default() }),
        decode_share: None,
        own_git: None,
        requests: None,
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
        differences: vec![Statement::new("one").into()],
        tables: vec![ExperimentTable {
            title: Statement::new("times").into(),
            columns: vec![ExperimentColumn { name: "elapsed".into(), unit: Unit::Seconds }],
            rows: vec![ExperimentRow { label: "zlib".into(), published: vec![None], measured: vec![Some(estimate)] }],
        }],
        listings: vec![],
        claims: vec![ClaimOutcome::Judged(JudgedClaim {
            id: "rev-list".into(),
            outcome: Outcome::NotReproduced,
            measured: vec![Statement::new("ratio").with("ratio", Figure::ratio(0.5))],
            reasons: vec![Statement::new("takes-longer")],
        })],
        notes: vec![],
    }
}

#[test]
fn floats_survive_round_trip() {
    for number in 1..10_000 {
        let figure = f64::from(number).ln().exp() / 10.0;
        let text = serde_json::to_string(&figure).unwrap();
        assert_eq!(serde_json::from_str::<f64>(&text).unwrap(), figure, "{text}");
    }
}

#[test]
fn later_experiment_version_is_rejected() {
    let mut out = Vec::new();
    write_result(&mut out, &ResultLine::Experiment(Box::new(experiment()))).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.starts_with("{\"record\":\"experiment\",\"schema\":3,\"experiment_schema\":2,"), "{text}");
    let later = text.replace("\"experiment_schema\":2", "\"experiment_schema\":9");
    let error = read_results(later.as_bytes()).next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "line 1: expected an experiment of version 1 to 2, found 9");
}

fn written(records: &[Record]) -> Vec<u8> {
    let mut out = Vec::new();
    for record in records {
        write_record(&mut out, record).unwrap();
    }
    out
}

#[test]
fn records_survive_round_trip_one_per_line() {
    let records = [record(0), record(1)];
    let bytes = written(&records);
    assert_eq!(bytes.iter().filter(|&&byte| byte == b'\n').count(), 2);
    let read: Vec<Record> = read_records(bytes.as_slice()).collect::<Result<_, _>>().unwrap();
    assert_eq!(read, records);
}

#[test]
fn json_names_are_stable() {
    let json: serde_json::Value = serde_json::from_slice(&written(&[record(7)])).unwrap();
    assert_eq!(json["schema"], 3);
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
fn chosen_decoder_is_optional() {
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
fn traced_reads_are_optional() {
    let device = ModelledDevice { name: "hdd".into(), latency_ns: 8, bytes_per_second: 9, readahead_bytes: 131_072 };
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
fn blank_lines_and_missing_last_newline_are_accepted() {
    let mut bytes = b"\n  \n".to_vec();
    bytes.extend(written(&[record(0)]));
    bytes.pop();
    assert_eq!(read_records(bytes.as_slice()).map(Result::unwrap).count(), 1);
}

#[test]
fn lines_of_other_kinds_are_skipped_when_reading_runs() {
    let run = record(1);
    let map = AccessMap { role: "pack".into(), cells: vec![(0, 3, 9).into()], ..AccessMap::default() };
    let size = SizeLine { schema: SCHEMA_VERSION, program_version: "1".into(), command: None, size: run.size.clone() };
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
        numbers: None,
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
fn damaged_line_ends_reading_with_its_number() {
    let mut bytes = written(&[record(0)]);
    bytes.extend_from_slice(b"{\"schema\":1,\n");
    bytes.extend(written(&[record(1)]));
    let mut read = read_records(bytes.as_slice());
    assert!(read.next().unwrap().is_ok());
    assert!(matches!(read.next(), Some(Err(RecordError::Parse { line: 2, .. }))));
    assert!(read.next().is_none());
}

#[test]
fn later_schema_version_is_rejected() {
    let input = b"{\"schema\":4,\"anything\":[]}\n";
    let error = read_records(input.as_slice()).next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "line 1: expected schema version 1 to 3, found 4");
}

/// A line as the release with version 1 wrote it, with default sizes.
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

/// As version 2 wrote a workload that writes files.
#[test]
fn records_of_version_2_keep_comparing_user_time() {
    let older = Record { schema: 2, compared_time: ComparedTime::User, ..record(0) };
    let bytes = written(std::slice::from_ref(&older));
    let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(json["compared_time"], "user");
    assert!(json["sample"].get("writing_ns").is_none(), "{json}");
    let read = read_records(bytes.as_slice()).next().unwrap().unwrap();
    assert_eq!(read.compared_time.nanoseconds(&read.sample), 8);
    assert_eq!(read, older);
}

#[test]
fn time_of_writing_files_survives_round_trip() {
    let sample = SampleRecord { writing_ns: Some(5), ..record(0).sample };
    for (compared_time, name) in
        [(ComparedTime::CpuWithoutWriting, "cpu-without-writing"), (ComparedTime::UserOfCommand, "user-of-command")]
    {
        let writing = Record { compared_time, sample, ..record(0) };
        let bytes = written(std::slice::from_ref(&writing));
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!((&json["compared_time"], &json["sample"]["writing_ns"]), (&name.into(), &5.into()));
        assert_eq!((&json["sample"]["user_ns"], &json["sample"]["sys_ns"]), (&8.into(), &1.into()));
        assert_eq!(read_records(bytes.as_slice()).next().unwrap().unwrap(), writing);
    }
}

#[test]
fn endless_line_is_rejected_early() {
    let endless = io::BufReader::new(io::repeat(b'x'));
    let mut read = read_records(endless);
    assert!(matches!(read.next(), Some(Err(RecordError::TooLong { line: 1 }))));
    assert!(read.next().is_none());
}

#[test]
fn experiments_of_version_1_keep_their_text() {
    let mut line = serde_json::to_value(experiment()).unwrap();
    line["record"] = "experiment".into();
    line["schema"] = 2.into();
    line["experiment_schema"] = 1.into();
    line["differences"] = serde_json::json!(["another repository"]);
    line["tables"][0]["title"] = "times".into();
    line["claims"] = serde_json::json!([
        {"claim": "it is", "published": "", "measured": "0.5", "outcome": "not-reproduced", "reason": "it is not"}
    ]);
    let Some(Ok(ResultLine::Experiment(read))) = read_results(line.to_string().as_bytes()).next() else {
        panic!("not an experiment")
    };
    assert_eq!(read.differences, [StoredStatement::Text("another repository".into())]);
    assert!(
        matches!(&read.claims[..], [ClaimOutcome::Text(claim)] if claim.reason == "it is not"),
        "{:?}",
        read.claims
    );
    let mut again = serde_json::to_value(&read).unwrap();
    again["record"] = "experiment".into();
    again["schema"] = 2.into();
    assert_eq!(again, line);
}

#[test]
fn old_self_test_names_get_their_field() {
    let mut old = record(1);
    old.variant.spec = Some(SpecText { typed: "zlib #3".into(), canonical: "zlib:6".into() });
    let label = old.variant.label().into_owned();
    let mut line = Vec::new();
    write_record(&mut line, &old).unwrap();
    assert!(!String::from_utf8_lossy(&line).contains("self_test_name"), "left out of records without one");
    let read: Vec<Record> = read_records(&line[..]).map(Result::unwrap).collect();
    let [new] = read.as_slice() else { panic!("{read:?}") };
    assert_eq!(new.variant.self_test_name.as_deref(), Some("3"));
    assert_eq!(new.variant.spec.as_ref().map(|spec| spec.typed.as_str()), Some("zlib"));
    assert_eq!(new.variant.label(), label);
    let mut line = Vec::new();
    write_record(&mut line, new).unwrap();
    assert_eq!(read_records(&line[..]).map(Result::unwrap).collect::<Vec<_>>(), read);
}

#[test]
fn measured_times_of_chains_and_checks_round_trip() {
    let ms = std::time::Duration::from_millis;
    let device =
        DeviceRecord { name: "this disk".into(), latency: ms(4), bytes_per_second: 2.5e8, readahead_bytes: 4096 };
    let lines = [
        ResultLine::Chains(Box::new(ChainRecord {
            schema: SCHEMA_VERSION,
            program_version: "0.1.0".into(),
            session: 1_700_000_000_000,
            repository: "repo".into(),
            number: 1,
            least: 50,
            most: None,
            objects: 3,
            stored_bytes: 99,
            reads: vec![ChainReads { object: "ab".into(), deltas: 51, iterations: 2, cpu_ns: vec![9, 8, 7] }],
            command: Some("repackbench chains repo".into()),
        })),
        ResultLine::DeviceCheck(Box::new(DeviceCheck {
            schema: SCHEMA_VERSION,
            program_version: "0.1.0".into(),
            workload: "traverse".into(),
            store_bytes: 5,
            calibration: DeviceCalibration { single_reads: 4, single_time: ms(16), long_bytes: 5, long_time: ms(2) },
            device,
            readahead_bytes: None,
            modelled_readahead_bytes: 131_072,
            modelled_pages: ms(5),
            modelled_workload: ms(6),
            copies: vec![ColdCopyReads { pages: ms(1), workload_cold: ms(2), workload_warm: ms(3) }],
            command: None,
        })),
        ResultLine::MemoryCheck(Box::new(MemoryCheck {
            schema: SCHEMA_VERSION,
            program_version: "0.1.0".into(),
            workload: "traverse".into(),
            store_bytes: 5,
            touched_bytes: 4,
            rows: Vec::new(),
            command: None,
        })),
    ];
    let mut text = Vec::new();
    lines.iter().for_each(|line| write_result(&mut text, line).unwrap());
    let kinds = ["chains", "device-check", "memory-check"];
    for (line, kind) in String::from_utf8_lossy(&text).lines().zip(kinds) {
        assert!(line.starts_with(&format!("{{\"record\":\"{kind}\",")), "{line}");
    }
    assert_eq!(read_results(&text[..]).map(Result::unwrap).collect::<Vec<_>>(), lines);
}
