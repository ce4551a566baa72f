//! `cargo xtask faults`: converts repositories, in place and into a new folder, under all stores, while strace kills the
//! program, interrupts it, or makes its system calls fail.
//!
//! A first run under strace counts the calls of each kind. Every other run starts from a fresh copy, and has one fault at
//! one of those calls, spread evenly over the run. After each fault stock git or hg checks the repository, and a run
//! without a fault has to finish: `git fsck --full --strict` or `hg verify` passes again, everything is as before, and
//! nothing is left over. A new folder is absent or has every object. The program itself knows nothing of all this.

mod arguments;
mod judge;
mod plan;
mod traced;

use std::ffi::OsString;
use std::path::Path;

use crate::files::{make_folder, remove_folder};
use crate::process::{self, Failure, Outcome};
use arguments::Arguments;
use judge::{Repository, copy};
use plan::{FAULTS, Fault};
use traced::{Conversion, End, Way, calls, run_with};

/// Runs the chore. Prints a line for each kind of fault.
pub(crate) fn run(words: &[OsString]) -> Outcome<()> {
    let arguments = Arguments::parse(words)?;
    let program = process::repackbench(arguments.program.as_deref())?;
    let folder = crate::target_dir().join("faults").join(std::process::id().to_string());
    make_folder(&folder)?;
    for path in &arguments.repositories {
        let repository = Repository::find(path)?;
        for way in arguments.ways().into_iter().filter(|way| way.is_for(&repository)) {
            for fault in FAULTS.iter().filter(|fault| arguments.is_chosen(fault.name)) {
                let points = if fault.is_kill() { arguments.kills } else { arguments.errors };
                let trial = Trial { program: &program, repository: &repository, folder: &folder, way, fault };
                println!("{}: {}, {}: {}", path.display(), way.name(), fault.name, trial.run(points)?);
            }
        }
    }
    remove_folder(&folder)
}

/// One kind of fault on one repository.
struct Trial<'a> {
    program: &'a Path,
    repository: &'a Repository,
    folder: &'a Path,
    way: Way,
    fault: &'a Fault,
}

/// How the runs with a fault ended.
#[derive(Debug, Default)]
struct Tally {
    calls: u64,
    faults: u64,
    killed: u64,
    failed: u64,
    finished: u64,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tally { calls, faults, killed, failed, finished } = self;
        write!(f, "{faults} faults among {calls} calls: {killed} runs killed, {failed} failed, {finished} finished; ")?;
        write!(f, "all repositories sound, all reruns finished")
    }
}

impl Trial<'_> {
    fn run(&self, points: usize) -> Outcome<Tally> {
        let place = self.folder.join("place");
        let (work, variant) = (place.join("work"), place.join("variant"));
        let Trial { program, repository, way, .. } = *self;
        let conversion = Conversion { program, repository, way, work: &work, variant: &variant };
        self.fresh(&work)?;
        let before = self.repository.facts(&work)?;
        let calls = calls(conversion, self.fault, &self.folder.join("trace"))?;
        let mut tally = Tally { calls: calls.len() as u64, ..Tally::default() };
        for call in plan::spread(&calls, points) {
            self.fresh(&work)?;
            let at = format!("{} at {} {}", self.fault.name, call.name, call.number);
            let failed = |Failure(why): Failure| Failure(format!("{at}, in {}: {why}", work.display()));
            match run_with(conversion, self.fault, call).map_err(failed)? {
                End::Killed => tally.killed += 1,
                End::Failed => tally.failed += 1,
                End::Finished => tally.finished += 1,
            }
            tally.faults += 1;
            self.check(&work, &before).and_then(|()| conversion.check_variant(false)).map_err(failed)?;
            conversion.finish().map_err(failed)?;
            self.check(&work, &before).and_then(|()| conversion.check_variant(true)).map_err(failed)?;
            self.repository.check_tidy(&work).map_err(failed)?;
            self.repository.check_tidy_around(&work, &variant).map_err(failed)?;
        }
        Ok(tally)
    }

    /// Makes `work` a copy of the repository as it was, and the only thing in its folder.
    fn fresh(&self, work: &Path) -> Outcome<()> {
        let place = work.parent().unwrap_or(work);
        remove_folder(place)?;
        make_folder(place)?;
        copy(self.repository.path(), work)
    }

    fn check(&self, work: &Path, before: &str) -> Outcome<()> {
        let after = self.repository.facts(work)?;
        if after == before { Ok(()) } else { Err(Failure(format!("it was\n{before}\nand is\n{after}"))) }
    }
}
