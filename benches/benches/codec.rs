//! Encoding and decoding with each codec at its default level, of payloads of a real repository by size class.
//!
//! Chunks are written and read as in a pack: with tag byte and checksum, and stored if that is shorter. Contexts and
//! buffers are reused. Rates are payload bytes per second. A slow encoder gets every second, fourth, ... payload of the
//! sample.
//!
//! At the end, decoding by a [`ChunkDecoder`] is compared with the mere library, which gets each frame's exact bytes.

use std::{
    hint::black_box,
    process::ExitCode,
    time::{Duration, Instant},
};

use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput, measurement::WallTime};
use repackbench_benches::{
    BenchError, Comparison, PayloadSample, Result, SizeClass, Subject, is_short_run, run_criterion, spec, table,
};
use repackbench_codec::{ChunkDecoder, ChunkEncoder, CodecSpec, catalogue};
use zstd_safe::{DCtx, DParameter, FrameFormat};

/// The number of payload bytes in the sample of each class: one pass of the slowest decoder takes 10 to 100 ms.
const SAMPLE_BYTES: u64 = 2 << 20;
const SHORT_SAMPLE_BYTES: u64 = 256 << 10;

/// The approximate maximum time of one pass of an encoder.
const PASS: Duration = Duration::from_millis(100);
const SHORT_PASS: Duration = Duration::from_millis(10);

/// The maximum time of reading chunks, as a multiple of the library's time, on the repository's mix of lengths. The
/// container adds the same time to each chunk, which matters for tiny payloads.
const CONTAINER_TARGET: f64 = 1.1;

/// The number of comparisons, and the number of passes per time.
const PAIRS: usize = 15;
const PASSES: usize = 20;

/// The first byte of a chunk with a zstd body and a checksum: see docs/format.md.
const ZSTD_TAG: u8 = 0x02;

fn main() -> ExitCode {
    run_criterion(|criterion| {
        let subject = Subject::open(None)?;
        let limit = if is_short_run() { SHORT_SAMPLE_BYTES } else { SAMPLE_BYTES };
        let mut comparisons = Vec::new();
        for class in SizeClass::ALL.into_iter().chain([SizeClass::EVERY]) {
            let sample = PayloadSample::collect(subject.repository(), class, limit)?;
            if sample.is_empty() {
                eprintln!("{}: no payload of {}", subject.name(), class.name);
                continue;
            }
            if class != SizeClass::EVERY {
                bench_class(criterion, class, &sample)?;
            }
            comparisons.extend(bench_container(criterion, class, &sample)?);
        }
        println!("\n{}", table(&comparisons));
        Ok(())
    })
}

fn bench_class(criterion: &mut Criterion, class: SizeClass, sample: &PayloadSample) -> Result<()> {
    let mut group = criterion.benchmark_group(format!("payloads, {}", class.name));
    // Passes are long for some codecs, so each sample has the same number, and no more than the time allows.
    group.sampling_mode(SamplingMode::Flat);
    for codec in catalogue() {
        let spec = CodecSpec::of(codec.algorithm);
        let sample = affordable(&spec, sample)?;
        group.throughput(Throughput::Bytes(sample.bytes()));
        bench_encode(&mut group, &spec, &sample)?;
        bench_decode(&mut group, &spec, &sample)?;
    }
    group.finish();
    Ok(())
}

/// As many of the sample's payloads as `spec` encodes in about the time of a pass, evenly spaced: one in 1, 2, 4, ...,
/// so that small differences in time do not change the sample.
fn affordable(spec: &CodecSpec, sample: &PayloadSample) -> Result<PayloadSample> {
    let mut encoder = ChunkEncoder::new(spec)?;
    let mut stored = Vec::new();
    let pass = if is_short_run() { SHORT_PASS } else { PASS };
    let (start, mut encoded) = (Instant::now(), 0);
    for payload in sample.iter() {
        if start.elapsed() >= pass {
            let stride = sample.bytes().div_ceil(encoded).next_power_of_two();
            return Ok(sample.thinned(usize::try_from(stride).unwrap_or(usize::MAX)));
        }
        stored.clear();
        encoder.encode(payload, &mut stored)?;
        encoded += payload.len().max(1) as u64;
    }
    Ok(sample.thinned(1))
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

/// Consecutive chunks, as in a pack.
struct Chunks {
    stored: Vec<u8>,
    /// The start and the end of each chunk, and the length of its payload.
    places: Vec<(usize, usize, usize)>,
    longest: usize,
}

impl Chunks {
    fn encode(spec: &CodecSpec, sample: &PayloadSample) -> Result<Self> {
        let mut encoder = ChunkEncoder::new(spec)?;
        let mut chunks = Chunks { stored: Vec::new(), places: Vec::with_capacity(sample.len()), longest: 0 };
        for payload in sample.iter() {
            let start = chunks.stored.len();
            encoder.encode(payload, &mut chunks.stored)?;
            chunks.places.push((start, chunks.stored.len(), payload.len()));
            chunks.longest = chunks.longest.max(payload.len());
        }
        Ok(chunks)
    }

    fn decode(&self, decoder: &mut ChunkDecoder, buffer: &mut [u8]) -> Result<()> {
        for (start, _, payload_len) in &self.places {
            // As in a pack, the next chunk follows.
            let (chunk, payload) = (&self.stored[*start..], &mut buffer[..*payload_len]);
            decoder.decode(black_box(chunk), payload)?;
            black_box(payload);
        }
        Ok(())
    }
}

fn bench_decode(group: &mut BenchmarkGroup<'_, WallTime>, spec: &CodecSpec, sample: &PayloadSample) -> Result<()> {
    let chunks = Chunks::encode(spec, sample)?;
    let mut decoder = ChunkDecoder::for_spec(spec);
    let mut buffer = vec![0; chunks.longest];
    let mut decode = || chunks.decode(&mut decoder, &mut buffer);
    decode()?;
    group.bench_function(format!("decode {spec}"), |bencher| bencher.iter(&mut decode));
    Ok(())
}

/// Compares decoding zstd frames through the container with decoding them by the mere library. Returns `None` if no
/// payload shrinks.
fn bench_container(criterion: &mut Criterion, class: SizeClass, sample: &PayloadSample) -> Result<Option<Comparison>> {
    let spec = spec("zstd:3")?;
    let mut chunks = Chunks::encode(&spec, sample)?;
    let Chunks { stored, places, .. } = &mut chunks;
    places.retain(|(start, ..)| stored[*start] == ZSTD_TAG);
    if chunks.places.is_empty() {
        return Ok(None);
    }
    let mut decoder = ChunkDecoder::for_spec(&spec);
    let mut buffer = vec![0; chunks.longest];
    let mut ours = || chunks.decode(&mut decoder, &mut buffer);
    let mut library = bare_decoder()?;
    let mut other_buffer = vec![0; chunks.longest];
    let mut alone = || decode_alone(&mut library, &chunks, &mut other_buffer);
    ours()?;
    alone()?;

    let mut group = criterion.benchmark_group(format!("frames of {spec}, {}", class.name));
    group.throughput(Throughput::Bytes(chunks.places.iter().map(|(.., payload_len)| *payload_len as u64).sum()));
    group.bench_function("decode as chunks", |bencher| bencher.iter(&mut ours));
    group.bench_function("decode by libzstd alone", |bencher| bencher.iter(&mut alone));
    group.finish();

    let mut pairs = Vec::with_capacity(PAIRS);
    for _ in 0..PAIRS {
        pairs.push((time_passes(&mut ours)?, time_passes(&mut alone)?));
    }
    let name = format!("decode {spec}, {}", class.name);
    let against = "libzstd alone".to_owned();
    let target = (class == SizeClass::EVERY).then_some(CONTAINER_TARGET);
    Ok(Some(Comparison { name, against, time: "wall", pairs, target }))
}

fn time_passes(pass: &mut dyn FnMut() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    for _ in 0..PASSES {
        pass()?;
    }
    Ok(start.elapsed())
}

fn bare_decoder() -> Result<DCtx<'static>> {
    let mut library = DCtx::create();
    library.set_parameter(DParameter::Format(FrameFormat::Magicless)).map_err(library_failed)?;
    Ok(library)
}

fn decode_alone(library: &mut DCtx<'_>, chunks: &Chunks, buffer: &mut [u8]) -> Result<()> {
    for (start, end, payload_len) in &chunks.places {
        let (frame, payload) = (&chunks.stored[*start + 1..*end], &mut buffer[..*payload_len]);
        library.decompress(&mut *payload, black_box(frame)).map_err(library_failed)?;
        black_box(payload);
    }
    Ok(())
}

fn library_failed(code: zstd_safe::ErrorCode) -> BenchError {
    BenchError::Setup(format!("libzstd: {}", zstd_safe::get_error_name(code)))
}
