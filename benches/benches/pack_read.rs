//! Reading packs: opening one, building its delta forest, reading objects in random order, and verifying all of them.

use std::{hint::black_box, process::ExitCode};

use criterion::{Criterion, Throughput};
use gix_hash::ObjectId;
use rand::{SeedableRng, rngs::SmallRng, seq::IndexedRandom};
use repackbench_benches::{BenchError, Result, Subject, cores, run_criterion};
use repackbench_codec::ZlibReader;
use repackbench_reader::git::{
    GitRepository, ObjectStore,
    pack::{DeltaForest, EntryTable, PackFile},
    repository::PackFiles,
    verify::verify_objects,
};

/// The number of objects that one pass reads, and the seed that picks the same ones in every run.
const READS: usize = 2000;
const SEED: u64 = 1;

fn main() -> ExitCode {
    run_criterion(|criterion| {
        let subject = Subject::open(None)?;
        let repository = subject.repository();
        let Some(files) = largest_pack(repository) else {
            return Err(BenchError::Setup(format!("{}: has no objects", subject.name())));
        };
        bench_open(criterion, repository, files)?;
        bench_reads(criterion, repository, files)?;
        bench_verify(criterion, repository)
    })
}

fn largest_pack(repository: &GitRepository) -> Option<&PackFiles> {
    let length = |files: &&PackFiles| std::fs::metadata(&files.pack).map_or(0, |metadata| metadata.len());
    repository.packs().iter().max_by_key(length)
}

fn bench_open(criterion: &mut Criterion, repository: &GitRepository, files: &PackFiles) -> Result<()> {
    let open = || PackFile::open(files, repository.object_hash());
    let pack = open()?;
    let table = EntryTable::new(&pack)?;
    DeltaForest::new(&pack, &table)?;
    let mut group = criterion.benchmark_group("largest pack");
    group.bench_function("open", |bencher| bencher.iter(open));
    group.throughput(Throughput::Elements(table.len() as u64));
    group.bench_function("entry table", |bencher| bencher.iter(|| EntryTable::new(black_box(&pack))));
    group.bench_function("delta forest", |bencher| bencher.iter(|| DeltaForest::new(black_box(&pack), &table)));
    group.finish();
    Ok(())
}

fn bench_reads(criterion: &mut Criterion, repository: &GitRepository, files: &PackFiles) -> Result<()> {
    let pack = PackFile::open(files, repository.object_hash())?;
    let ids = random_ids(&pack);
    let mut store = ObjectStore::open(repository, ZlibReader::Stock)?;
    let mut content = Vec::new();
    let mut read = || {
        // Each pass starts with empty caches, as a workload does.
        store.clear_caches();
        for id in &ids {
            black_box(store.read(id, &mut content)?);
        }
        Ok::<_, BenchError>(())
    };
    read()?;
    let mut group = criterion.benchmark_group("random objects");
    group.throughput(Throughput::Elements(ids.len() as u64));
    group.bench_function("read", |bencher| bencher.iter(&mut read));
    group.finish();
    Ok(())
}

/// The ids of [`READS`] objects in `pack`, or of all if there are fewer, in random order.
fn random_ids(pack: &PackFile) -> Vec<ObjectId> {
    let all: Vec<ObjectId> = pack.index().iter().map(|entry| entry.oid).collect();
    all.choose_multiple(&mut SmallRng::seed_from_u64(SEED), READS).copied().collect()
}

fn bench_verify(criterion: &mut Criterion, repository: &GitRepository) -> Result<()> {
    let objects = verify_objects(repository, 1)?.ids.len();
    let mut group = criterion.benchmark_group("every object");
    // One pass reads the whole repository.
    group.sample_size(10);
    group.throughput(Throughput::Elements(objects as u64));
    for threads in if cores() > 1 { vec![1, cores()] } else { vec![1] } {
        let name = format!("verify, threads: {threads}");
        group.bench_function(name, |bencher| bencher.iter(|| verify_objects(repository, threads)));
    }
    group.finish();
    Ok(())
}
