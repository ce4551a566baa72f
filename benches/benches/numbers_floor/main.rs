//! Asks what numbers in the place of ids could save at most, before anybody builds them: `cargo bench --package
//! repackbench-benches --bench numbers_floor [-- REPOSITORY]`.
//!
//! A tree names its entries by their ids, which no codec shrinks, and which every reader looks up. If entries named
//! objects by their places in the pack's index, as in pack version 4, both would go. This program does the rest of a
//! traversal on trees and commits that are in memory already, with a bit for each number, and sets it beside the
//! traversal of variants: no format with numbers can be faster. It also writes and walks a file beside the packs that holds
//! the same numbers, which needs no other pack. Then it counts the bytes of ids that the pack stores.
//!
//! - `numbered`: trees and commits in memory, with numbers and with ids;
//! - `walk`: the traversal of those;
//! - `sidecar`: the file beside the packs, and the traversal of it;
//! - `hash_bytes`: the bytes of ids in whole trees, deltas of trees, and commits.

mod hash_bytes;
mod numbered;
mod sidecar;
mod walk;

use std::{hint::black_box, path::Path, process::ExitCode, time::Duration};

use repackbench_benches::{BenchError, Result, Subject, exit_code, median_time, path_argument, repetitions, spec};
use repackbench_codec::Decoders;
use repackbench_reader::{
    History,
    git::{GitHistory, ObjectStore},
};
use repackbench_timing::clock::{SystemClock, measure};

use self::{
    hash_bytes::HashBytes,
    numbered::NumberedHistory,
    sidecar::Sidecar,
    walk::{Arm, Seen},
};

/// The codecs of the traversals that decode. Times are multiples of the first one's.
const CODECS: [&str; 2] = ["zlib:6", "store"];

fn main() -> ExitCode {
    exit_code("numbers_floor", run())
}

fn run() -> Result<()> {
    let path = path_argument();
    let subject = Subject::open(path)?;
    println!("repository   {}", subject.name());
    let mut variants = Vec::new();
    for codec in CODECS {
        let spec = spec(codec)?;
        let variant = subject.make_variant(&spec)?;
        let store = ObjectStore::open(&variant, Decoders::for_spec(&spec))?;
        variants.push((codec, GitHistory::new(&variant, store)?));
    }
    let numbered = NumberedHistory::load(subject.repository(), &subject)?;
    println!(
        "objects      {} in packs; reachable: {} commits, {} trees, {} entries of trees ({} not in the delta base)",
        numbered.objects(),
        numbered.commits(),
        numbered.trees(),
        numbered.all.len(),
        numbered.new.len(),
    );
    let (sidecar, writing) = measure(&SystemClock::new(), || Sidecar::new(&numbered))?;
    sidecar.check(&numbered)?;
    print_times(&mut variants, &numbered, &sidecar)?;
    let packs = packs_bytes(subject.path());
    let lengths = sidecar.lengths();
    let [commits, table, records] = lengths.map(|length| length as f64 / 1e6);
    println!(
        "\nsidecar      {:.2} MB, {:.1} % of the packs ({commits:.2} commits, {table:.2} table of trees, {records:.2} trees), \
         written in {:.2} s of CPU time from trees in memory",
        commits + table + records,
        lengths.iter().sum::<usize>() as f64 / packs as f64 * 100.0,
        (writing.user + writing.sys).as_secs_f64(),
    );
    HashBytes::count(subject.path())?.print(packs);
    Ok(())
}

/// Measures the traversals in turn, and prints the medians of their CPU times.
fn print_times(variants: &mut [(&str, GitHistory)], numbered: &NumberedHistory, sidecar: &Sidecar) -> Result<()> {
    let mut names: Vec<String> = variants.iter().map(|(codec, _)| format!("traverse, {codec}")).collect();
    names.extend(Arm::ALL.iter().map(|arm| arm.name().to_owned()));
    names.extend(["sidecar", "sidecar, ids looked up by number"].map(str::to_owned));
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); names.len()];
    let mut seen = Seen::new(numbered.objects());
    for round in 0..=repetitions()? {
        let mut took = Vec::new();
        let mut visited = Vec::new();
        for (_, history) in &mut *variants {
            let mut count = 0u64;
            history.clear_caches();
            let (result, sample) = measure(&SystemClock::new(), || history.traverse(&mut |_, _| count += 1))?;
            result?;
            took.push(sample.user + sample.sys);
            visited.push(count);
        }
        for arm in Arm::ALL {
            let (count, sample) = measure(&SystemClock::new(), || numbered.walk(arm, &mut seen))?;
            took.push(sample.user + sample.sys);
            visited.push(count);
        }
        let (count, sample) = measure(&SystemClock::new(), || sidecar.walk(&mut seen, &mut |_| ()))?;
        took.push(sample.user + sample.sys);
        visited.push(count);
        let mut first_bytes = 0u64;
        let mut look_up = |number| first_bytes += numbered.id(number).map_or(0, |id| u64::from(id.first_byte()));
        let (count, sample) = measure(&SystemClock::new(), || sidecar.walk(&mut seen, &mut look_up))?;
        black_box(first_bytes);
        took.push(sample.user + sample.sys);
        visited.push(count);
        if let Some(other) = visited.iter().find(|count| **count != visited[0]) {
            return Err(BenchError::Setup(format!("a walk visits {other} objects, and the traversal {}", visited[0])));
        }
        // The first round warms up.
        if round > 0 {
            times.iter_mut().zip(took).for_each(|(times, took)| times.push(took));
        }
    }
    let medians: Vec<f64> = times.into_iter().map(|times| median_time(times).as_secs_f64()).collect();
    println!("\n{:<52} {:>9}  {:>6}", "CPU time", "s", "ratio");
    for (name, seconds) in names.iter().zip(&medians) {
        println!("{name:<52} {seconds:>9.4}  {:>6.3}", seconds / medians[0]);
    }
    Ok(())
}

/// The length of all packs of the repository at `path`, in bytes.
fn packs_bytes(path: &Path) -> u64 {
    let git_dir = if path.join("objects").is_dir() { path.to_owned() } else { path.join(".git") };
    let files = std::fs::read_dir(git_dir.join("objects/pack")).into_iter().flatten().flatten();
    let packs = files.filter(|file| file.path().extension().is_some_and(|extension| extension == "pack"));
    packs.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}
