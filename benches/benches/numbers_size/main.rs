//! Asks how much smaller packs are if trees, commits and tags name objects of their own pack by number: `cargo bench
//! --package repackbench-benches --bench numbers_size -- [REPOSITORY] [--rechosen] [--increments]`.
//!
//! Every commit, tree and tag is written with numbers in the place of ids, and deltas are made anew between the
//! numbered forms, against the same bases. Every chunk is expanded again and compared with the object, and that with
//! its id. Nothing is estimated: heads of entries and dictionaries are counted. Chunks keep the checksum that they have
//! under each codec, here of the numbered payload: Adler-32 under `zlib`, four bytes of XXH64 under the others.
//!
//! `--rechosen` lets git search for deltas anew, in a copy. `--increments` measures instead what is left in packs of
//! the newest commits, whose objects name many of other packs.
//!
//! - `reference`: the forms of references, of which the program has one;
//! - `pack`: packs with their chains of deltas;
//! - `rewrite`: all of a pack in all forms, checked;
//! - `chunks`: payloads and their stored bytes;
//! - `sizes`, `times`: what is measured of them;
//! - `git`: packs that git makes;
//! - `increments`: packs of the newest commits;
//! - `tables`: Markdown.

mod chunks;
mod git;
mod increments;
mod pack;
mod reference;
mod rewrite;
mod sizes;
mod tables;
mod times;

use std::{env, process::ExitCode};

use repackbench_benches::{Result, Subject, exit_code, path_argument};
use repackbench_reader::git::GitRepository;

use self::{
    pack::NumberedPack,
    rewrite::{found_payloads, rewritten_payloads},
    sizes::{Sizes, all_arms},
    times::Times,
};

fn main() -> ExitCode {
    exit_code("numbers_size", run())
}

fn run() -> Result<()> {
    let is_given = |option: &str| env::args_os().any(|argument| argument == option);
    let path = path_argument();
    let subject = Subject::open(path)?;
    if is_given("--increments") {
        return increments::print(&subject);
    }
    if !is_given("--rechosen") {
        println!("{}, as found\n", subject.name());
        return print(subject.repository());
    }
    println!("{}, rechosen\n", subject.name());
    let rechosen = subject.scratch().join("rechosen");
    git::repack(&subject, &rechosen)?;
    print(&GitRepository::open(&rechosen)?)
}

/// Measures the packs of `repository` and prints the tables.
fn print(repository: &GitRepository) -> Result<()> {
    let packs = NumberedPack::open_all(repository)?;
    let mut payloads = found_payloads(repository, &packs)?;
    let (rewritten, escapes) = rewritten_payloads(repository, &packs, &all_arms(), true)?;
    payloads.extend(rewritten);
    let sizes = Sizes::measure(&payloads)?;
    tables::print_sizes(&packs, &sizes, escapes);
    tables::print_arms(&sizes);
    drop(payloads);
    let times = Times::measure(repository, &packs, &sizes)?;
    tables::print_times(&times, sizes.encoding_time());
    Ok(())
}
