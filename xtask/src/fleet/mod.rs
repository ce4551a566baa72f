//! `cargo xtask fleet [N] [REPO...]`: many repositories, two shards, kills at random moments.
//!
//! Makes N varied repositories from the histories of the named ones, runs `repackbench fleet` on them in two shards,
//! kills each of them again and again with SIGKILL and resumes it, and then checks that every repository has exactly
//! one final record. It is too slow for the tests, which do the same with 50 small repositories.
//!
//! - `arguments`: what was typed;
//! - `make`: the repositories;
//! - `run`: the shards, killed and resumed;
//! - `check`: what the files of records have to hold.

mod arguments;
mod check;
mod make;
mod run;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::arguments::Arguments;
use crate::draw::Draw;
use crate::files;
use crate::process::{self, Failure, Outcome, cargo};

/// How many lines of the summary are printed.
const SUMMARY_LINES: usize = 24;

pub(crate) fn run(words: &[OsString]) -> Outcome<()> {
    let arguments = Arguments::parse(words)?;
    let program = match &arguments.program {
        Some(program) => program.clone(),
        None => {
            process::run(cargo().args(["build", "--release", "--locked", "--package", "repackbench-cli"]))?;
            crate::target_dir().join("release").join("repackbench")
        }
    };
    let folder = crate::target_dir().join("fleet");
    let _lock = files::lock(&folder)?;
    let (forge, records) = (folder.join("forge"), folder.join("records"));
    for used in [&forge, &records] {
        files::remove_folder(used)?;
        files::make_folder(used)?;
    }
    let mut draw = Draw::new(arguments.seed);
    let names = make::repositories(&forge, &arguments.sources, arguments.count, &mut draw)?;
    eprintln!("{} repositories in {}: {}", names.len(), forge.display(), make::counts(&names));
    let manifest = folder.join("manifest.jsonl");
    write_manifest(&manifest, &forge, &names)?;
    let told = run::shards(
        &run::Plan { program: &program, manifest: &manifest, records: &records, arguments: &arguments },
        &mut draw,
    )?;
    let shards: Vec<PathBuf> = run::SHARDS.map(|number| run::shard_file(&records, number)).collect();
    let found = check::check(&shards, &names)?;
    println!(
        "{} repositories, one final record each: {} estimated, {} without commits, {} failed for good, {} given up; {} of \
         them were tried again",
        names.len(),
        found.done,
        found.empty,
        found.failed,
        found.given_up,
        found.retried
    );
    println!(
        "{} kills in {:.0} s elapsed; {:.2} CPU seconds for each repository, without the work that was killed",
        told.kills,
        told.elapsed.as_secs_f64(),
        told.cpu_seconds / names.len().max(1) as f64
    );
    summarize(&program, &folder, &shards)
}

fn write_manifest(manifest: &Path, forge: &Path, names: &[String]) -> Outcome<()> {
    let line = |name: &String| serde_json::json!({"name": name, "path": forge.join(name)}).to_string() + "\n";
    let lines: String = names.iter().map(line).collect();
    fs::write(manifest, lines).map_err(|error| files::failed(manifest, &error))
}

/// Prints the beginning of the summary, and writes all of it beside the records.
fn summarize(program: &Path, folder: &Path, shards: &[PathBuf]) -> Outcome<()> {
    let mut command = Command::new(program);
    command.args(["fleet", "summarize"]).args(shards);
    let summary = process::output(&mut command)?;
    let file = folder.join("summary.txt");
    fs::write(&file, &summary).map_err(|error| files::failed(&file, &error))?;
    summary.lines().take(SUMMARY_LINES).for_each(|line| println!("{line}"));
    eprintln!("the whole summary is in {}", file.display());
    Ok(())
}

/// The failure of a chore that found something wrong.
fn wrong(what: impl std::fmt::Display) -> Failure {
    Failure(format!("fleet: {what}"))
}
