//! The workloads that replay history, on a variant that stock git could read and on one with zstd.

use std::process::ExitCode;

use criterion::{BenchmarkGroup, Criterion, measurement::WallTime};
use repackbench_benches::{BenchError, Result, Subject, run_criterion};
use repackbench_codec::{CodecSpec, Decoders};
use repackbench_reader::{
    History,
    git::{GitHistory, ObjectStore},
};
use repackbench_timing::workloads::{Counter, HistoryRange, WorkloadSpec};

const CODECS: [&str; 2] = ["zlib:6", "zstd:5"];
const WORKLOADS: [&str; 3] = ["traverse", "diff:raw", "diff:pickaxe=foo"];
const REVISION: &str = "HEAD";

fn main() -> ExitCode {
    run_criterion(|criterion| {
        let subject = Subject::open(None)?;
        let histories = CODECS.map(|typed| open_variant(&subject, typed));
        let mut histories = histories.into_iter().collect::<Result<Vec<_>>>()?;
        for typed in WORKLOADS {
            let workload: WorkloadSpec = typed.parse().map_err(|e| BenchError::Setup(format!("{typed}: {e}")))?;
            bench_workload(criterion, &workload, &mut histories)?;
        }
        Ok(())
    })
}

/// The history of a new variant with the spec `typed`.
fn open_variant(subject: &Subject, typed: &str) -> Result<GitHistory> {
    let spec: CodecSpec = typed.parse().map_err(|e| BenchError::Setup(format!("{typed}: {e}")))?;
    let variant = subject.make_variant(&spec)?;
    let store = ObjectStore::open(&variant, Decoders::for_spec(&spec))?;
    Ok(GitHistory::new(&variant, store)?)
}

fn bench_workload(criterion: &mut Criterion, workload: &WorkloadSpec, histories: &mut [GitHistory]) -> Result<()> {
    let mut group = criterion.benchmark_group(workload.to_string());
    // One pass replays the whole history.
    group.sample_size(10);
    for (codec, history) in CODECS.into_iter().zip(histories) {
        bench_replay(&mut group, codec, workload, history)?;
    }
    group.finish();
    Ok(())
}

fn bench_replay(
    group: &mut BenchmarkGroup<'_, WallTime>,
    codec: &str,
    workload: &WorkloadSpec,
    history: &mut GitHistory,
) -> Result<()> {
    let mut workload = workload.build(&HistoryRange { revision: REVISION.into(), commits: None, seed: 0 }, None);
    let mut replay = || {
        let mut counter = Counter::default();
        history.clear_caches();
        workload.run(history, &mut counter)?;
        Ok::<_, BenchError>(counter)
    };
    replay()?;
    group.bench_function(codec, |bencher| bencher.iter(&mut replay));
    Ok(())
}
