//! Encoding and decoding by each codec, on payloads of a real repository by size class.
//!
//! Chunks are written and read as in a pack: tag byte, checksum, and stored where that is shorter. Contexts and buffers
//! are reused. Rates are payload bytes per second.

use std::{hint::black_box, process::ExitCode};

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use repackbench_benches::{BenchError, PayloadSample, Result, SizeClass, Subject, is_short_run, run_criterion};
use repackbench_codec::{ChunkDecoder, ChunkEncoder, CodecSpec};

const CODECS: [&str; 7] = ["store", "zlib:6", "zlib-rs:6", "libdeflate:6", "zstd:3", "zstd:5", "lz4"];

/// How many payload bytes of each class make a sample: one pass of the slowest codec takes 10 to 100 ms.
const SAMPLE_BYTES: u64 = 2 << 20;
const SHORT_SAMPLE_BYTES: u64 = 256 << 10;

fn main() -> ExitCode {
    run_criterion(|criterion| {
        let subject = Subject::open(None)?;
        let limit = if is_short_run() { SHORT_SAMPLE_BYTES } else { SAMPLE_BYTES };
        for class in SizeClass::ALL {
            let sample = PayloadSample::collect(subject.repository(), class, limit)?;
            if sample.is_empty() {
                eprintln!("{}: no payload of {}", subject.name(), class.name);
                continue;
            }
            bench_class(criterion, class, &sample)?;
        }
        Ok(())
    })
}

fn bench_class(criterion: &mut Criterion, class: SizeClass, sample: &PayloadSample) -> Result<()> {
    let mut group = criterion.benchmark_group(format!("payloads, {}", class.name));
    group.throughput(Throughput::Bytes(sample.bytes()));
    for typed in CODECS {
        let spec: CodecSpec = typed.parse().map_err(|e| BenchError::Setup(format!("{typed}: {e}")))?;
        bench_encode(&mut group, &spec, sample)?;
        bench_decode(&mut group, &spec, sample)?;
    }
    group.finish();
    Ok(())
}

fn bench_encode(group: &mut BenchmarkGroup<'_, WallTime>, spec: &CodecSpec, sample: &PayloadSample) -> Result<()> {
    let mut encoder = ChunkEncoder::new(spec)?;
    let mut stored = Vec::new();
    let mut encode = || {
        for payload in sample.iter() {
            stored.clear();
            encoder.encode(black_box(payload), &mut stored)?;
            black_box(&stored);
        }
        Ok::<_, BenchError>(())
    };
    encode()?;
    group.bench_function(format!("encode {spec}"), |bencher| bencher.iter(&mut encode));
    Ok(())
}

fn bench_decode(group: &mut BenchmarkGroup<'_, WallTime>, spec: &CodecSpec, sample: &PayloadSample) -> Result<()> {
    let mut encoder = ChunkEncoder::new(spec)?;
    let mut stored = Vec::new();
    let mut chunks = Vec::with_capacity(sample.len());
    for payload in sample.iter() {
        let start = stored.len();
        encoder.encode(payload, &mut stored)?;
        chunks.push((start, payload.len()));
    }
    let longest = sample.iter().map(<[u8]>::len).max().unwrap_or(0);
    let mut decoder = ChunkDecoder::for_spec(spec);
    let mut buffer = vec![0; longest];
    let mut decode = || {
        for (start, payload_len) in &chunks {
            // As in a pack, the bytes behind a chunk are those of the next one.
            let (chunk, payload) = (&stored[*start..], &mut buffer[..*payload_len]);
            decoder.decode(black_box(chunk), payload)?;
            black_box(payload);
        }
        Ok::<_, BenchError>(())
    };
    decode()?;
    group.bench_function(format!("decode {spec}"), |bencher| bencher.iter(&mut decode));
    Ok(())
}
