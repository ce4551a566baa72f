//! The cost of the stand-in for zlib. It reads the streams of a real repository as git does: by the system's zlib, by
//! that zlib through the stand-in, and our chunks through the stand-in.
//!
//! At the end the stand-in is compared with zlib in pairs. Much of a stream's time is that of zlib itself, which
//! allocates for each.

#[allow(dead_code, reason = "only one bench uses the version")]
#[path = "shared/zlib.rs"]
mod zlib;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use criterion::Throughput;
use repackbench_benches::{
    Comparison, PayloadSample, Result, SizeClass, Subject, build_stand_in, is_short_run, run_criterion, table,
};

use self::zlib::Chunks;

/// The number of payload bytes in a sample.
const SAMPLE_BYTES: u64 = 2 << 20;
const SHORT_SAMPLE_BYTES: u64 = 256 << 10;

/// The maximum time of zlib streams through the stand-in, as a multiple of zlib's own, on the repository's mix of
/// lengths.
const TARGET: f64 = 1.1;

/// The codecs whose chunks are read through the stand-in, in addition to zlib streams.
const CODECS: [&str; 3] = ["zstd:5", "lz4", "store"];

/// The number of comparisons, and the number of passes per time.
const PAIRS: usize = 15;
const PASSES: usize = 20;

fn main() -> ExitCode {
    run_criterion(|criterion| {
        let (system, stand_in) = (zlib::system()?, zlib::stand_in(&build_stand_in()?)?);
        let subject = Subject::open(None)?;
        let limit = if is_short_run() { SHORT_SAMPLE_BYTES } else { SAMPLE_BYTES };
        let mut comparisons = Vec::new();
        for class in SizeClass::ALL.into_iter().chain([SizeClass::EVERY]) {
            let sample = PayloadSample::collect(subject.repository(), class, limit)?;
            if sample.is_empty() {
                eprintln!("{}: no payload of {}", subject.name(), class.name);
                continue;
            }
            let mut streams = Chunks::encode("zlib:6", &sample)?;
            let mut group = criterion.benchmark_group(format!("as git reads, {}", class.name));
            group.throughput(Throughput::Bytes(sample.bytes()));
            group.bench_function("zlib:6 by zlib", |bencher| bencher.iter(|| streams.read(&system)));
            group.bench_function("zlib:6 through the library", |bencher| bencher.iter(|| streams.read(&stand_in)));
            let target = (class == SizeClass::EVERY).then_some(TARGET);
            comparisons.push(compare("zlib:6", class, target, |by_zlib| {
                streams.read(if by_zlib { &system } else { &stand_in })
            })?);
            for codec in CODECS {
                let mut chunks = Chunks::encode(codec, &sample)?;
                group.bench_function(format!("{codec} through the library"), |bencher| {
                    bencher.iter(|| chunks.read(&stand_in));
                });
                comparisons.push(compare(codec, class, None, |by_zlib| {
                    if by_zlib { streams.read(&system) } else { chunks.read(&stand_in) }
                })?);
            }
            group.finish();
        }
        println!("\n{}", table(&comparisons));
        Ok(())
    })
}

/// Times `pass` in pairs: through the stand-in, and by zlib.
fn compare(
    codec: &str,
    class: SizeClass,
    target: Option<f64>,
    mut pass: impl FnMut(bool) -> Result<()>,
) -> Result<Comparison> {
    let mut time_passes = |by_zlib| -> Result<Duration> {
        let start = Instant::now();
        for _ in 0..PASSES {
            pass(by_zlib)?;
        }
        Ok(start.elapsed())
    };
    let pairs = (0..PAIRS).map(|_| Ok((time_passes(false)?, time_passes(true)?))).collect::<Result<_>>()?;
    let name = format!("{codec} through the library, {}", class.name);
    Ok(Comparison { name, against: "zlib:6 by zlib".to_owned(), time: "wall", pairs, target })
}
