//! Reading every object from each store: packs, one file per object, and a B-tree, all with the same codec.
//!
//! In addition to criterion's figures, it prints the ratio to packs: the median of rounds in which each store is read
//! once.

use std::{
    hint::black_box,
    process::ExitCode,
    time::{Duration, Instant},
};

use criterion::{Criterion, Throughput};
use repackbench_benches::{BenchError, Result, Subject, cores, repetitions, run_criterion, spec};
use repackbench_codec::ZlibReader;
use repackbench_reader::{
    Repository,
    git::{GitRepository, ObjectStore},
};
use repackbench_writer::{ConvertJob, JobControl, Layout, StoreKind, convert};

/// Without `loose=6`, loose objects would have another level.
const SPEC: &str = "zlib:6,loose=6";

fn main() -> ExitCode {
    run_criterion(|criterion| {
        let subject = Subject::open(None)?;
        let mut stores =
            StoreKind::ALL.map(|kind| OpenStore::make(&subject, kind)).into_iter().collect::<Result<Vec<_>>>()?;
        bench_every_object(criterion, &mut stores)?;
        print_ratios(&mut stores)
    })
}

/// A variant in one store.
struct OpenStore {
    kind: StoreKind,
    objects: ObjectStore,
    content: Vec<u8>,
}

impl OpenStore {
    fn make(subject: &Subject, kind: StoreKind) -> Result<Self> {
        let target = subject.scratch().join(kind.name());
        let source = Repository::open(subject.path())?;
        let layout = Layout { store: kind, ..Layout::default() };
        convert(&source, &spec(SPEC)?, layout, &ConvertJob::new(&target, JobControl::quiet(cores())))?;
        let objects = ObjectStore::open(&GitRepository::open(&target)?, ZlibReader::Stock)?;
        Ok(OpenStore { kind, objects, content: Vec::new() })
    }

    /// Reads every object once, with empty caches, and returns their number.
    fn read(&mut self) -> Result<usize> {
        self.objects.clear_caches();
        let places = self.objects.every_object_in_file_order()?;
        for place in &places {
            black_box(self.objects.read_place(place, &mut self.content)?);
        }
        Ok(places.len())
    }
}

fn bench_every_object(criterion: &mut Criterion, stores: &mut [OpenStore]) -> Result<()> {
    let mut group = criterion.benchmark_group("every object, by store");
    // One pass reads the whole repository.
    group.sample_size(10);
    for store in stores {
        let objects = store.read()?;
        group.throughput(Throughput::Elements(objects as u64));
        group.bench_function(store.kind.name(), |bencher| bencher.iter(|| store.read()));
    }
    group.finish();
    Ok(())
}

fn print_ratios(stores: &mut [OpenStore]) -> Result<()> {
    let rounds = repetitions()?;
    let mut times: Vec<Vec<Duration>> = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let timed = stores.iter_mut().map(|store| {
            let start = Instant::now();
            store.read().map(|_| start.elapsed())
        });
        times.push(timed.collect::<Result<_>>()?);
    }
    for (at, store) in stores.iter().enumerate() {
        let ratio = |round: &Vec<Duration>| Some(round.get(at)?.as_secs_f64() / round.first()?.as_secs_f64());
        let mut ratios: Vec<f64> = times.iter().filter_map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let Some(median) = ratios.get(ratios.len() / 2) else {
            return Err(BenchError::Setup("no round was measured".to_owned()));
        };
        println!("{}: {median:.2} times the time of {}", store.kind, StoreKind::ALL[0]);
    }
    Ok(())
}
