//! `cargo xtask slopes`: how time and memory grow with the size of a repository. See `docs/large.md`.

mod arguments;
mod child;
mod fit;
mod jobs;
mod page;
mod plot;

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::files::{entries, failed, make_folder, read_text, remove_folder};
use crate::process::{self, Failure, Outcome, cargo, output};
use arguments::Arguments;
use child::Usage;
use jobs::Job;

/// A job with less CPU time than this is run again, since the time of a short one varies more.
const SHORT: f64 = 20.0;

/// The size of a repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Size {
    /// The repository's name: the last part of its path.
    name: String,
    /// Bytes of all packs, without indexes.
    bytes: u64,
    /// Objects in packs.
    objects: u64,
}

/// One measurement, a line of the file that `--resume` reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Measurement {
    repository: Size,
    job: String,
    usage: Usage,
}

/// Runs the chore; writes `docs/large.md` and its picture.
pub(crate) fn run(words: &[OsString]) -> Outcome<()> {
    let arguments = arguments::parse(words)?;
    let file = arguments.out.join("measurements.jsonl");
    let jobs = jobs::all(&arguments.commits);
    if arguments.page {
        let measurements = read_measurements(&file)?;
        return page::write(&sizes_of(&measurements), &jobs, &measurements);
    }
    let program = program(&arguments)?;
    make_folder(&arguments.out)?;
    let mut series = Vec::new();
    for path in repositories(&arguments)? {
        series.push((size_of(&path)?, path));
    }
    series.sort_by_key(|(size, _)| size.bytes);
    if !arguments.resume {
        fs::write(&file, "").map_err(|error| failed(&file, &error))?;
    }
    let mut measurements = read_measurements(&file)?;
    for (size, path) in &series {
        let mut rest = jobs.clone();
        rest.retain(|job| arguments.jobs.is_empty() || arguments.jobs.iter().any(|text| job.name.contains(text)));
        let is_left_out = |old: &Measurement| old.repository == *size || old.usage.cpu() >= arguments.most;
        rest.retain(|job| !measurements.iter().any(|old| old.job == job.name && is_left_out(old)));
        measure_all(&arguments, &program, size, path, &rest, |measurement| {
            append(&file, &measurement)?;
            measurements.push(measurement);
            Ok(())
        })?;
    }
    let sizes: Vec<Size> = series.into_iter().map(|(size, _)| size).collect();
    page::write(&sizes, &jobs, &measurements)
}

/// The repositories that were measured, smallest first.
fn sizes_of(measurements: &[Measurement]) -> Vec<Size> {
    let mut sizes: Vec<Size> = measurements.iter().map(|measurement| measurement.repository.clone()).collect();
    sizes.sort_by(|a, b| (a.bytes, &a.name).cmp(&(b.bytes, &b.name)));
    sizes.dedup();
    sizes
}

/// The program to measure: the one that was named, or that of this checkout.
fn program(arguments: &Arguments) -> Outcome<PathBuf> {
    if let Some(program) = &arguments.program {
        return std::path::absolute(program).map_err(|error| failed(program, &error));
    }
    process::run(cargo().args(["build", "--profile", "bench", "--locked", "--package", "repackbench-cli"]))?;
    Ok(crate::target_dir().join("release").join("repackbench"))
}

/// The repositories that were named, or a series made of the sources. A series that is there is used again.
fn repositories(arguments: &Arguments) -> Outcome<Vec<PathBuf>> {
    if !arguments.repositories.is_empty() {
        return Ok(arguments.repositories.clone());
    }
    let series = arguments.out.join("series");
    // The script removes this folder when it is done.
    let unfinished = series.join("exports");
    if !series.exists() || unfinished.exists() {
        remove_folder(&series)?;
        let script = crate::workspace_root().join("fixtures").join("large.sh");
        let mut command = Command::new("bash");
        process::run(command.arg(script).arg(&series).arg(&arguments.sizes).args(&arguments.sources))?;
    }
    entries(&series)
}

/// The size of the repository's packs, as git counts it.
fn size_of(path: &Path) -> Outcome<Size> {
    let git = |words: &[&str]| output(Command::new("git").arg("-C").arg(path).args(words));
    let folder = git(&["rev-parse", "--git-path", "objects/pack"])?;
    let folder = path.join(folder.trim_end());
    let mut bytes = 0;
    for pack in entries(&folder)? {
        if pack.extension().is_some_and(|extension| extension == "pack") {
            bytes += fs::metadata(&pack).map_err(|error| failed(&pack, &error))?.len();
        }
    }
    let counts = git(&["count-objects", "-v"])?;
    let objects = counts.lines().find_map(|line| line.strip_prefix("in-pack: ")?.parse::<u64>().ok());
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    match objects {
        Some(objects) if objects > 0 => Ok(Size { name, bytes, objects }),
        _ => Err(Failure(format!("{}: no objects in packs", path.display()))),
    }
}

/// Runs the jobs on one repository, and gives every measurement to `keep` as soon as it is there.
fn measure_all(
    arguments: &Arguments,
    program: &Path,
    size: &Size,
    path: &Path,
    jobs: &[Job],
    mut keep: impl FnMut(Measurement) -> Outcome<()>,
) -> Outcome<()> {
    let variant = arguments.out.join("variant");
    for job in jobs {
        if job.reads_variant() && !variant.exists() {
            process::run(&mut jobs::make_variant(program, path, &variant))?;
        }
        let usage = least(arguments.runs, || child::measure(&mut job.command(program, path, &variant)))?;
        keep(Measurement { repository: size.clone(), job: job.name.clone(), usage })?;
    }
    remove_folder(&variant)
}

/// The run with the least CPU time, of one run if that is long and of `runs` otherwise, with the largest memory of all.
fn least(runs: usize, mut run: impl FnMut() -> Outcome<Usage>) -> Outcome<Usage> {
    let mut best = run()?;
    for _ in 1..runs {
        if best.cpu() >= SHORT {
            break;
        }
        let next = run()?;
        let fastest = if next.cpu() < best.cpu() { next } else { best };
        best = Usage {
            anonymous: best.anonymous.max(next.anonymous),
            mapped: best.mapped.max(next.mapped),
            peak: best.peak.max(next.peak),
            ..fastest
        };
    }
    Ok(best)
}

fn append(file: &Path, measurement: &Measurement) -> Outcome<()> {
    let line = serde_json::to_string(measurement).map_err(|error| failed(file, &error))?;
    let opened = OpenOptions::new().create(true).append(true).open(file);
    opened.and_then(|mut opened| writeln!(opened, "{line}")).map_err(|error| failed(file, &error))
}

fn read_measurements(file: &Path) -> Outcome<Vec<Measurement>> {
    let text = if file.exists() { read_text(file)? } else { String::new() };
    text.lines().map(|line| serde_json::from_str(line).map_err(|error| failed(file, &error))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(user: f64, anonymous: u64) -> Usage {
        Usage { user, system: 0.0, children: 0.0, elapsed: user, anonymous, mapped: 1, peak: 1 }
    }

    #[test]
    fn short_jobs_run_again_and_long_ones_do_not() {
        let mut left = vec![usage(2.0, 5), usage(1.0, 7), usage(3.0, 9)];
        let best = least(3, || Ok(left.pop().unwrap())).unwrap();
        assert_eq!((best.user, best.anonymous), (1.0, 9));
        let mut left = vec![usage(2.0, 5), usage(40.0, 7)];
        assert_eq!(least(2, || Ok(left.pop().unwrap())).unwrap().user, 40.0);
        assert_eq!(left.len(), 1);
    }

    #[test]
    fn measurements_say_what_was_measured() {
        let measured = |name: &str, bytes: u64| Measurement {
            repository: Size { name: name.into(), bytes, objects: 2 },
            job: "verify".into(),
            usage: usage(1.0, 1),
        };
        let sizes = sizes_of(&[measured("b", 2), measured("a", 1), measured("b", 2), measured("a", 1)]);
        let names: Vec<&str> = sizes.iter().map(|size| size.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn measurements_are_kept_line_by_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("measurements.jsonl");
        assert!(read_measurements(&file).unwrap().is_empty());
        let repository = Size { name: "a".into(), bytes: 1, objects: 2 };
        let measurement = Measurement { repository, job: "verify".into(), usage: usage(1.5, 3) };
        append(&file, &measurement).unwrap();
        append(&file, &measurement).unwrap();
        assert_eq!(read_measurements(&file).unwrap(), [measurement.clone(), measurement]);
    }
}
