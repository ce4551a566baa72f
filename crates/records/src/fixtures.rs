//! Made-up records and comparisons for tests.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    Checks, ComparedTime, ContentDigest, DeltaCacheUse, DeltaOrigin, DeltaState, Disturbance, DisturbanceShares, Host,
    Predicted, RatioEstimate, RatioInterval, Readers, Rechosen, Record, RepositoryEstimate, RepositoryState, Role,
    RunPlace, RunUsage, SCHEMA_VERSION, SampleRecord, SizeRecord, SpecPrediction, SpecText, Variant, VariantComparison,
    Verdict, WorkloadComparison, WorkloadLabel, WorkloadPrediction,
};

/// A codec of a made-up estimate: its spec, who reads it, and its bytes and CPU time as multiples.
pub type EstimatedCodec<'a> = (&'a str, Readers, f64, f64);

/// The estimate of a repository with this many bytes as found, under these codecs. `content` is its fingerprint.
pub fn repository_estimate(name: &str, content: &str, bytes: u64, codecs: &[EstimatedCodec<'_>]) -> RepositoryEstimate {
    RepositoryEstimate {
        schema: SCHEMA_VERSION,
        program_version: "0.1.0".into(),
        command: None,
        host: None,
        repository: RepositoryState { name: name.into(), fingerprint: content.into(), ..RepositoryState::default() },
        seed: 1,
        seconds: 1.0,
        other_load: None,
        missing_objects: 0,
        training_percent: None,
        pack_checksums: Vec::new(),
        as_found: delta_state(bytes, codecs),
        rechosen: Rechosen::Left { why: "it was not asked for".into() },
    }
}

/// One state of the deltas: half of a traversal, of a second for a million bytes, is decoding.
pub fn delta_state(bytes: u64, codecs: &[EstimatedCodec<'_>]) -> DeltaState {
    let spec = |(name, readers, size, _): &EstimatedCodec<'_>| SpecPrediction {
        spec: SpecText { typed: (*name).into(), canonical: (*name).into() },
        total_bytes: Predicted::exact(bytes as f64 * size),
        dictionary_bytes: 0,
        training_seconds: 0.0,
        sampled_chunks: 1,
        encode_bytes_per_second: 100.0,
        decode_bytes_per_second: 1.0,
        encode_memory_bytes: None,
        decode_memory_bytes: None,
        readers: *readers,
    };
    let workload = WorkloadPrediction {
        workload: WorkloadLabel { name: "traverse".into(), parameters: BTreeMap::new() },
        commits: None,
        is_cut: false,
        seconds: bytes as f64 / 1e6,
        decode_share: Predicted::exact(0.5),
        own_share: None,
        own_graph_ratio: None,
        own_graph_elapsed_ratio: None,
        decodes: 1,
        elapsed_ratios: Vec::new(),
        ratios_to_own: Vec::new(),
        elapsed_ratios_to_own: Vec::new(),
        ratios: codecs.iter().map(|(.., cpu)| Predicted::exact(*cpu)).collect(),
    };
    DeltaState {
        total_bytes: bytes,
        chunk_bytes: bytes,
        payload_bytes: 2 * bytes,
        chunks: 1,
        commits: 1,
        sampled_chunks: 1,
        objects: None,
        specs: codecs.iter().map(spec).collect(),
        workloads: vec![workload],
    }
}

/// A variant under `spec`; a variant as found has no spec.
pub fn variant(role: Role, row: u32, spec: &str) -> Variant {
    let spec = SpecText { typed: spec.into(), canonical: spec.into() };
    Variant {
        role,
        row,
        spec: (role != Role::AsFound).then_some(spec),
        self_test_name: None,
        checksum: true,
        deltas: DeltaOrigin::Kept,
        delta_window: None,
        decoder: None,
        delta_cache: None,
        client: None,
        layout: None,
        readers: None,
    }
}

/// A run of `workload` on the variant of this role and row, with `user_ns` nanoseconds of user time and twice as many
/// elapsed.
pub fn record(workload: &str, role: Role, row: u32, block: u32, user_ns: u64) -> Record {
    Record {
        schema: SCHEMA_VERSION,
        program_version: "0.1.0".into(),
        started_unix_ms: 0,
        host: Host::default(),
        repository: RepositoryState { name: "sample".into(), ..RepositoryState::default() },
        variant: variant(role, row, &format!("codec-{row}")),
        decoder: String::new(),
        workload: WorkloadLabel { name: workload.into(), parameters: BTreeMap::new() },
        compared_time: ComparedTime::Cpu,
        place: RunPlace { block, position: 0, seed: 1, session: 0, copy: None },
        sample: SampleRecord { wall_ns: 2 * user_ns, user_ns, sys_ns: 0, writing_ns: None },
        usage: RunUsage::default(),
        disturbance: Disturbance::default(),
        delta_cache: None,
        checks: None,
        jobs: 1,
        iterations: 1,
        counts: BTreeMap::from([("objects".into(), 3)]),
        extra: BTreeMap::new(),
        digest: ContentDigest { algorithm: "none".into(), hex: String::new() },
        size: SizeRecord { total_bytes: u64::from(row), ..SizeRecord::default() },
        conversion: None,
        decode_share: None,
        own_git: None,
        command: None,
        reads: None,
        requests: None,
    }
}

/// A ratio with an interval, of ten pairs.
pub fn estimate(ratio: f64, low: f64, high: f64) -> RatioEstimate {
    RatioEstimate { ratio, interval: Some(RatioInterval { low, high, coverage: 0.978 }), pairs: 10 }
}

/// A row of ten runs; its verdict follows from its ratio.
pub fn row(role: Role, spec: &str, millis: u64, ratio: Option<RatioEstimate>, bytes: u64) -> VariantComparison {
    VariantComparison {
        variant: variant(role, 0, spec),
        runs: 10,
        compared_median: Duration::from_millis(millis),
        wall_median: Duration::from_millis(millis + 17),
        ratio,
        adjusted_p: ratio.map(|_| 0.01),
        elapsed: None,
        to_reference: None,
        verdict: ratio.and_then(|ratio| ratio.interval).map(|interval| match (interval.low, interval.high) {
            (_, ..0.99) => Verdict::Faster,
            (1.01.., _) => Verdict::Slower,
            (0.99.., ..=1.01) => Verdict::Same,
            _ => Verdict::Inconclusive,
        }),
        delta_cache: Some(DeltaCacheUse { limit_bytes: Some(96 << 20), hits: 71, misses: 29 }),
        checks: Some(Checks { chunk_checksums: true, object_hashes: false, commit_graph: false, bitmaps: false }),
        peak_resident_median: None,
        counts: BTreeMap::from([("objects".into(), 3), ("missing".into(), 0)]),
        size: SizeRecord { total_bytes: bytes, ..SizeRecord::default() },
        reads: None,
        conversion: None,
        decode_share: None,
        own_git: None,
        requests: None,
        written: None,
    }
}

/// A comparison of a repository called `sample`, valid if it has any noise.
pub fn comparison(workload: &str, rows: Vec<VariantComparison>, noise: Option<RatioEstimate>) -> WorkloadComparison {
    WorkloadComparison {
        repository: RepositoryState {
            name: "sample".into(),
            fingerprint: "f".into(),
            head: Some("0123456789abcdef0123".into()),
            ..RepositoryState::default()
        },
        host: Host::default(),
        workload: WorkloadLabel { name: workload.into(), parameters: BTreeMap::new() },
        compared_time: ComparedTime::Cpu,
        rows,
        noise,
        elapsed_noise: None,
        noise_floor: noise.map(|_| 0.01),
        is_valid: true,
        has_guesses: false,
        cells: 3,
        blocks_for_verdicts: 7,
        jobs: 1,
        disturbance: DisturbanceShares::default(),
    }
}
