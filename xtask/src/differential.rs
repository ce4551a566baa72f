//! `cargo xtask differential REPO...`: compares whole repositories, object by object, by what stock git or hg reads.
//!
//! Each repository is converted, compared with its variant by `verify`, and converted back. Stock git or hg has to read
//! the same objects with the same content, refs, phases and so on in the result as in the source.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::files::{make_folder, remove_folder};
use crate::mercurial;
use crate::process::{self, Failure, Outcome};
use crate::stock::child::Limits;
use crate::stock::{Reading, Stock};
use crate::trial_arguments::TrialArguments;

const USAGE: &str = "\
usage: cargo xtask differential REPO... [--codec SPEC]... [--program FILE]
  REPO           a Git or Mercurial repository, which is only read
  --codec SPEC   what it is converted to (default: zstd:3 and balanced)
  --program FILE the repackbench to run (default: built from this checkout, with checks for overflow)";

/// Another codec, and one with dictionaries, bases and a codec for each kind.
const CODECS: [&str; 2] = ["zstd:3", "balanced"];

/// Runs the chore. Prints a line for each repository and codec.
pub(crate) fn run(words: &[OsString]) -> Outcome<()> {
    let arguments = TrialArguments::parse(words, USAGE, &CODECS, |_, _| false)?;
    let program = process::repackbench(arguments.program.as_deref())?;
    let folder = crate::target_dir().join("differential").join(std::process::id().to_string());
    println!("   objects       refs, nodes  seconds  codec        repository");
    let mut differing = 0;
    for repository in &arguments.repositories {
        remove_folder(&folder)?;
        make_folder(&folder)?;
        let trial = match Trial::new(repository, &program, &folder) {
            Ok(trial) => trial,
            Err(Failure(why)) => {
                println!("    not read: {why}");
                differing += 1;
                continue;
            }
        };
        for codec in &arguments.codecs {
            let started = Instant::now();
            let outcome = trial.run(codec);
            let Reading { objects, rest } = &trial.truth;
            let (objects, rest, seconds) = (objects.len(), rest.len(), started.elapsed().as_secs());
            println!("{objects:10} {rest:17} {seconds:8}  {codec:11}  {}", repository.display());
            if let Err(Failure(why)) = outcome {
                println!("    differs: {why}");
                differing += 1;
            }
        }
    }
    remove_folder(&folder)?;
    match differing {
        0 => Ok(()),
        _ => Err(Failure(format!("{differing} repositories or conversions failed"))),
    }
}

/// A repository to convert.
struct Trial<'a> {
    source: PathBuf,
    stock: Stock,
    /// What stock git or hg reads in the source.
    truth: Reading,
    program: &'a Path,
    folder: &'a Path,
}

impl<'a> Trial<'a> {
    fn new(repository: &Path, program: &'a Path, folder: &'a Path) -> Outcome<Self> {
        let (source, stock) = if repository.join(".hg").is_dir() {
            // hg writes caches.
            let copy = folder.join("source");
            process::output(Command::new("cp").args(["-a", "--"]).arg(repository).arg(&copy))?;
            (copy, Stock::hg(mercurial::newest()?, folder, Limits::NONE)?)
        } else {
            let mut find = Command::new("git");
            find.arg("-C").arg(repository).args(["rev-parse", "--absolute-git-dir"]);
            (process::output(&mut find)?.trim_end().into(), Stock::git(Limits::NONE))
        };
        let truth = stock.read(&source)?.map_err(|said| Failure(format!("{}: {said}", repository.display())))?;
        Ok(Trial { source, stock, truth, program, folder })
    }

    /// Fails if anything is read otherwise after a conversion there and back.
    fn run(&self, codec: &str) -> Outcome<()> {
        let [variant, back] = ["variant", "back"].map(|name| self.folder.join(name));
        self.convert(&self.source, codec, &variant)?;
        self.repackbench(&["verify", "--quiet"], &[&self.source, &variant])?;
        self.convert(&variant, "zlib:1", &back)?;
        let read = self.stock.read(&back)?.map_err(Failure)?;
        if read != self.truth {
            return Err(Failure(self.truth.first_difference(&read)));
        }
        remove_folder(&variant)?;
        remove_folder(&back)
    }

    fn convert(&self, from: &Path, codec: &str, to: &Path) -> Outcome<()> {
        let arguments = ["convert", "--check", "--quiet", "--allow-missing", "--force", "--codec", codec, "-o"];
        self.repackbench(&arguments, &[to, from])
    }

    fn repackbench(&self, arguments: &[&str], paths: &[&Path]) -> Outcome<()> {
        process::output(Command::new(self.program).args(arguments).args(paths)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[OsString]) -> Outcome<TrialArguments> {
        TrialArguments::parse(words, USAGE, &CODECS, |_, _| false)
    }

    #[test]
    fn repositories_and_codecs_can_be_mixed() {
        let words = ["one", "--codec", "lz4", "two"].map(OsString::from);
        let TrialArguments { repositories, codecs, program } = parse(&words).unwrap();
        assert_eq!((repositories.len(), codecs, program), (2, vec!["lz4".to_owned()], None));
        assert_eq!(parse(&["one".into()]).unwrap().codecs, CODECS);
        for wrong in [&[][..], &["--codec"], &["one", "--codec"], &["one", "--other"]] {
            let words: Vec<OsString> = wrong.iter().map(OsString::from).collect();
            assert!(parse(&words).is_err_and(|Failure(message)| message == USAGE), "{wrong:?}");
        }
    }
}
