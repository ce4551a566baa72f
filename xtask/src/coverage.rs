//! `cargo xtask coverage REPO...`: how often the intervals of `estimate` hold the true size.
//!
//! Each repository is estimated with `--exact` once, and then with many seeds, each of which draws another sample. Only
//! sizes are compared. The estimates run side by side, as many as there are processors, with one thread each.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::Value;

use crate::process::{self, Failure, Outcome};
use crate::trial_arguments::TrialArguments;

const USAGE: &str = "\
usage: cargo xtask coverage REPO... [--seeds N] [--codec SPEC]... [--time TIME] [--program FILE]
  REPO           a Git or Mercurial repository, which is only read
  --seeds N      how many samples are drawn of each repository (default: 250)
  --codec SPEC   what sizes are predicted for (default: zlib:6, zstd:3, zstd:9, zstd:19 and lz4)
  --time TIME    the limit of an estimate (default: 30s)
  --program FILE the repackbench to run (default: built from this checkout, with checks for overflow)";

const CODECS: [&str; 5] = ["zlib:6", "zstd:3", "zstd:9", "zstd:19", "lz4"];

struct Arguments {
    trial: TrialArguments,
    seeds: u64,
    time: String,
}

impl Arguments {
    fn parse(words: &[OsString]) -> Outcome<Self> {
        let (mut seeds, mut time) = (250, "30s".to_owned());
        let trial = TrialArguments::parse(words, USAGE, &CODECS, |option, value| {
            match option {
                "--seeds" => seeds = value.parse().unwrap_or(0),
                "--time" => value.clone_into(&mut time),
                _ => return false,
            }
            seeds > 0
        })?;
        Ok(Arguments { trial, seeds, time })
    }
}

/// Runs the chore. Prints a line for each repository and codec, and one for all.
pub(crate) fn run(words: &[OsString]) -> Outcome<()> {
    let arguments = Arguments::parse(words)?;
    let program = process::repackbench(arguments.trial.program.as_deref())?;
    println!("{HEAD}");
    let mut all = Tally::default();
    for repository in &arguments.trial.repositories {
        let job = Job { program: &program, repository, arguments: &arguments };
        let truth = sizes(&job.estimate(&["--exact", "--time", "1h"])?)?;
        let estimates = job.estimate_with_seeds()?;
        for (spec, Size { bytes, .. }) in &truth {
            let mut tally = Tally::default();
            for estimate in &estimates {
                let predicted = estimate.iter().find(|(other, _)| other == spec).map(|(_, size)| *size);
                let predicted = predicted.ok_or_else(|| Failure(format!("{spec}: no size was predicted")))?;
                tally.add(*bytes, predicted);
            }
            println!("{}  {spec:12} {}", tally.line(), repository.display());
            all.errors.append(&mut tally.errors);
            all.held += tally.held;
        }
    }
    println!("{}  all", all.line());
    Ok(())
}

const HEAD: &str = "intervals   held  median error  largest error  codec        repository";

/// A predicted size, or the true one.
#[derive(Debug, Clone, Copy)]
struct Size {
    bytes: f64,
    /// The lowest and the highest of its interval. `None` if every chunk was encoded.
    interval: Option<(f64, f64)>,
}

/// What the estimates of one size came to.
#[derive(Debug, Default)]
struct Tally {
    held: usize,
    /// The errors, as parts of the true size.
    errors: Vec<f64>,
}

impl Tally {
    fn add(&mut self, truth: f64, predicted: Size) {
        let holds = match predicted.interval {
            Some((low, high)) => (low..=high).contains(&truth),
            None => predicted.bytes == truth,
        };
        self.held += usize::from(holds);
        self.errors.push((predicted.bytes / truth - 1.0).abs());
    }

    fn line(&mut self) -> String {
        self.errors.sort_by(f64::total_cmp);
        let percent = |at: usize| self.errors.get(at).copied().unwrap_or_default() * 100.0;
        let (count, last) = (self.errors.len(), self.errors.len().saturating_sub(1));
        let share = self.held as f64 / count.max(1) as f64 * 100.0;
        format!("{count:9} {share:4.1} % {:11.3} % {:12.3} %", percent(count / 2), percent(last))
    }
}

struct Job<'a> {
    program: &'a Path,
    repository: &'a Path,
    arguments: &'a Arguments,
}

impl Job<'_> {
    /// The record of one estimate. Only the cheapest replay runs.
    fn estimate(&self, options: &[&str]) -> Outcome<Value> {
        let mut command = Command::new(self.program);
        command.args(["estimate", "--as-found", "--workload", "checkout:sink", "--quiet", "--json", "-"]);
        command.args(self.arguments.trial.codecs.iter().flat_map(|codec| ["--codec", codec]));
        let text = process::output(command.args(options).arg("--").arg(self.repository))?;
        let record = text.lines().find(|line| line.starts_with('{')).unwrap_or_default();
        serde_json::from_str(record).map_err(|error| Failure(format!("{}: {error}", self.repository.display())))
    }

    /// The sizes of one estimate for each seed.
    fn estimate_with_seeds(&self) -> Outcome<Vec<Vec<(String, Size)>>> {
        let (next, results) = (AtomicU64::new(1), Mutex::new(Vec::new()));
        let worker = || -> Outcome<()> {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed > self.arguments.seeds {
                    return Ok(());
                }
                let options = ["--threads", "1", "--time", &self.arguments.time, "--seed", &seed.to_string()];
                let found = sizes(&self.estimate(&options)?)?;
                results.lock().map_err(|_| Failure("another estimate failed".to_owned()))?.push(found);
            }
        };
        thread::scope(|scope| {
            let count = thread::available_parallelism().map_or(1, usize::from);
            let workers: Vec<_> = (0..count).map(|_| scope.spawn(worker)).collect();
            let stopped = || Failure("an estimate stopped".to_owned());
            workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| stopped())?)
        })?;
        results.into_inner().map_err(|_| Failure("another estimate failed".to_owned()))
    }
}

/// The sizes in the record of an estimate, by spec.
fn sizes(record: &Value) -> Outcome<Vec<(String, Size)>> {
    let specs = record["as_found"]["specs"].as_array().filter(|specs| !specs.is_empty());
    let specs = specs.ok_or_else(|| Failure("expected the record of an estimate with sizes".to_owned()))?;
    let size = |spec: &Value| {
        let total = &spec["total_bytes"];
        let interval = &total["interval"];
        let interval = interval["low"].as_f64().zip(interval["high"].as_f64());
        Some((spec["spec"]["canonical"].as_str()?.to_owned(), Size { bytes: total["value"].as_f64()?, interval }))
    };
    specs.iter().map(|spec| size(spec).ok_or_else(|| Failure(format!("expected a size: {spec}")))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn intervals_that_hold_the_truth_are_counted() {
        let mut tally = Tally::default();
        for (bytes, interval) in
            [(101.0, Some((99.0, 103.0))), (104.0, Some((102.0, 106.0))), (100.0, None), (99.0, None)]
        {
            tally.add(100.0, Size { bytes, interval });
        }
        assert_eq!(tally.held, 2);
        assert_eq!(tally.line(), "        4 50.0 %       1.000 %        4.000 %");
        assert!(HEAD.starts_with("intervals   held  median error  largest error"));
    }

    #[test]
    fn sizes_are_read_by_spec() {
        let spec =
            json!({"spec": {"canonical": "lz4"}, "total_bytes": {"value": 7.0, "interval": {"low": 6, "high": 8}}});
        let found = sizes(&json!({"as_found": {"specs": [spec]}})).ok().unwrap_or_default();
        let [(name, size)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((name.as_str(), size.bytes, size.interval), ("lz4", 7.0, Some((6.0, 8.0))));
        assert!(sizes(&json!({"as_found": {"specs": []}})).is_err() && sizes(&json!({})).is_err());
    }

    #[test]
    fn words_are_parsed() {
        let parse = |words: &[&str]| Arguments::parse(&words.iter().map(OsString::from).collect::<Vec<_>>());
        let found = parse(&["a", "--seeds", "3", "--codec", "lz4", "b"]).expect("arguments");
        assert_eq!((found.trial.repositories.len(), found.seeds, found.trial.codecs.len()), (2, 3, 1));
        assert!(
            [&["--seeds", "0", "a"][..], &[], &["a", "--what"], &["a", "--codec"]]
                .into_iter()
                .all(|w| parse(w).is_err())
        );
    }
}
