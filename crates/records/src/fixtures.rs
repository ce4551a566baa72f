//! A made-up record for tests of what is computed from records.

use std::collections::BTreeMap;

use crate::{
    ComparedTime, ContentDigest, DeltaOrigin, Disturbance, Host, Record, RepositoryState, Role, RunPlace, RunUsage,
    SCHEMA_VERSION, SampleRecord, SizeRecord, SpecText, Variant, WorkloadLabel,
};

/// A run of `workload` on the variant of this role and row, with `user_ns` nanoseconds of user time and twice as many elapsed.
pub fn record(workload: &str, role: Role, row: u32, block: u32, user_ns: u64) -> Record {
    let spec = SpecText { typed: format!("codec-{row}"), canonical: format!("codec-{row}") };
    Record {
        schema: SCHEMA_VERSION,
        program_version: "0.1.0".into(),
        started_unix_ms: 0,
        host: Host::default(),
        repository: RepositoryState { name: "sample".into(), ..RepositoryState::default() },
        variant: Variant {
            role,
            row,
            spec: (role != Role::AsFound).then_some(spec),
            checksum: true,
            deltas: DeltaOrigin::Kept,
            decoder: None,
            delta_cache: None,
            client: None,
            layout: None,
        },
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
        command: None,
        reads: None,
    }
}
