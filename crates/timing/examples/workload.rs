//! A workload of one's own, replayed on a repository: every object's kind and size.
//! `cargo run -p repackbench-timing --example workload -- REPO`.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use repackbench_codec::Decoders;
use repackbench_reader::{History, Repository};
use repackbench_records::WorkloadLabel;
use repackbench_timing::workloads::{Counter, Observer, Workload, WorkloadError};

/// Reads what `git cat-file --batch-check --batch-all-objects` prints.
struct AllSizes;

impl Workload for AllSizes {
    fn label(&self) -> WorkloadLabel {
        WorkloadLabel { name: "all-sizes".to_owned(), parameters: BTreeMap::new() }
    }

    fn run(&mut self, history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        // What an observer sees is hashed and compared between variants.
        history.sizes(&mut |kind, id, size| observer.sized(kind, id, size))?;
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let repository = Repository::open(&path)?;
    let mut history = repository.history(Decoders::default())?;
    let mut counter = Counter::default();
    let start = Instant::now();
    AllSizes.run(history.as_mut(), &mut counter)?;
    println!("{} ms: {:?}", start.elapsed().as_millis(), counter.counts());
    Ok(())
}
