//! `cargo xtask mutate [REPO]`: damages every file of a repository and of its variants at random, and judges by stock
//! git and hg what the program says and writes.
//!
//! A case damages one file: a bit flips, the end is cut off, bytes are inserted, swapped or zeroed. In Git repositories
//! half of the damage comes with corrected checksums. Then `convert --check` has to refuse the repository with one
//! error, or stock git or hg has to read in the result what it reads in the damaged source, and no object but the true
//! ones. A damaged variant is also compared by `verify` with the source: what is read otherwise must be reported as
//! different. A panic, a signal, a process that takes a minute of CPU time or gigabytes, and files that it does not
//! remove are failures, too.
//!
//! - `arguments`: what was typed;
//! - `mutation`, `reseal`: kinds of damage, and checksums that hide it;
//! - `subject`: the repository that is damaged;
//! - `judge`: which answers are right;
//! - `case`: one case from end to end;
//! - `tally`: the table.

mod arguments;
mod case;
mod judge;
mod mutation;
mod reseal;
mod subject;
mod tally;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use self::arguments::Arguments;
use self::case::{Places, Target};
use self::judge::Verdict;
use self::subject::{Subject, Vcs};
use self::tally::Tally;
use crate::files;
use crate::process::{self, Failure, Outcome};
use crate::stock::Stock;
use crate::stock::child::{self, Limits};

/// The fixtures that are damaged if no repository is named: packs with everything that git derives from them, loose
/// objects, SHA-256, a shallow clone, reftables, a partial clone; and Mercurial repositories of several forms.
const FIXTURES: [&str; 9] = [
    "git-derived-files",
    "git-work-tree",
    "git-sha256",
    "git-shallow",
    "git-reftable",
    "git-partial-clone",
    "hg-history",
    "hg-treemanifest",
    "hg-evolution",
];
/// The name of the target that is no variant.
const SOURCE: &str = "source";
/// The default targets.
const GIT_TARGETS: [&str; 4] = [SOURCE, "zstd:3", "zstd:3,checksum=no", "balanced"];
const HG_TARGETS: [&str; 2] = [SOURCE, "zstd:3"];
/// After how many cases of a target a line says so.
const PROGRESS_EVERY: u64 = 1000;
/// How many failed cases of a target are printed.
const MOST_REPORTED: u64 = 50;

/// Runs the chore.
pub(crate) fn run(words: &[OsString]) -> Outcome<()> {
    let arguments = arguments::parse(words)?;
    let program = process::repackbench(arguments.program.as_deref())?;
    let work = WorkFolder::make(arguments.case.is_some())?;
    let repositories = match &arguments.repository {
        Some(repository) => vec![repository.clone()],
        None => fixtures()?,
    };
    let mut wrong = 0;
    for repository in &repositories {
        wrong += run_on(repository, &program, &work.folder, &arguments)?;
    }
    if wrong == 0 { Ok(()) } else { Err(Failure(format!("mutate: {wrong} cases failed"))) }
}

/// Makes the fixtures.
fn fixtures() -> Outcome<Vec<PathBuf>> {
    crate::fixtures::run(&FIXTURES.map(OsString::from))?;
    Ok(FIXTURES.iter().map(|name| crate::fixtures::folder(name).join("repo")).collect())
}

/// A folder for copies, removed on drop. It is in memory if possible: every conversion syncs its output.
struct WorkFolder {
    folder: PathBuf,
    is_kept: bool,
}

impl WorkFolder {
    fn make(is_kept: bool) -> Outcome<Self> {
        let memory = Path::new("/dev/shm");
        let is_chosen = std::env::var_os("TMPDIR").is_some();
        let place = if !is_chosen && memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let folder = place.join(format!("repackbench-mutate-{}", std::process::id()));
        files::remove_folder(&folder)?;
        files::make_folder(&folder)?;
        Ok(WorkFolder { folder, is_kept })
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        if !self.is_kept
            && let Err(Failure(error)) = files::remove_folder(&self.folder)
        {
            eprintln!("note: {error}");
        }
    }
}

/// Runs the cases of all targets of a repository. Returns how many failed.
fn run_on(repository: &Path, program: &Path, work: &Path, arguments: &Arguments) -> Outcome<u64> {
    let (vcs, from) = subject::find(repository)?;
    let folder = work.join("undamaged");
    files::remove_folder(&folder)?;
    files::make_folder(&folder)?;
    let original = subject::copy(vcs, &from, &folder.join("original"))?;
    let stock = match vcs {
        Vcs::Git => Stock::git(Limits::SMALL),
        Vcs::Hg => Stock::hg(crate::mercurial::newest()?, &folder, Limits::SMALL)?,
    };
    let typed: Vec<&str> = arguments.targets.iter().map(String::as_str).collect();
    let targets = match vcs {
        _ if !typed.is_empty() => &typed[..],
        Vcs::Git => &GIT_TARGETS,
        Vcs::Hg => &HG_TARGETS,
    };
    let mut wrong = 0;
    for (number, name) in targets.iter().enumerate() {
        let folder = folder.join(number.to_string());
        files::make_folder(&folder)?;
        let target = target(name, vcs, &original, program, &stock, &folder, arguments.seed)?;
        wrong += run_target(&target, repository.as_os_str(), work, arguments)?;
    }
    Ok(wrong)
}

/// Makes what the cases of a target need, in `folder`.
fn target(
    name: &str,
    vcs: Vcs,
    original: &Path,
    program: &Path,
    stock: &Stock,
    folder: &Path,
    seed: u64,
) -> Outcome<Target> {
    let is_source = name == SOURCE;
    let mut repository = original.to_owned();
    if !is_source {
        repository = folder.join("variant");
        let mut convert = case::repackbench(program, "convert", folder);
        let ended =
            child::end_of(convert.args(["--codec", name]).arg(original).arg("-o").arg(&repository), Limits::SMALL)?;
        if !ended.is_accepted() {
            return Err(Failure(format!("mutate: {}", ended.stderr.trim_end())));
        }
    }
    let (converted, truth) = case::undamaged(program, stock, [original, &repository], folder)?;
    Ok(Target {
        name: name.to_owned(),
        is_source,
        subject: Subject::open(vcs, &repository)?,
        original: original.to_owned(),
        program: program.to_owned(),
        stock: stock.clone(),
        converted,
        truth,
        seed,
    })
}

/// Runs the cases of a target, several at once, and prints the table. Returns how many failed.
fn run_target(target: &Target, repository: &OsStr, work: &Path, arguments: &Arguments) -> Outcome<u64> {
    let start = Instant::now();
    let (next, tally) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    let is_over = || arguments.time.is_some_and(|time| start.elapsed() >= time);
    let add = |damage: &case::Damage, verdict: &Verdict| {
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.add(&damage.file, damage.kind, verdict);
        tally.total()
    };
    let one = |number: u64, places: &Places| -> Outcome<()> {
        let (damage, verdict) = target.run(number, places, arguments.case.is_some())?;
        let total = add(&damage, &verdict);
        if total.all() % PROGRESS_EVERY == 0 {
            eprintln!("{}: {} cases, {} wrong", target.name, total.all(), total.wrong);
        }
        if let Verdict::Wrong(why) = &verdict
            && total.wrong <= MOST_REPORTED
        {
            case::report(target, repository, number, &damage, why);
        }
        if arguments.case.is_some() {
            println!("{damage}: {verdict:?}; the damaged repository is {}", places.subject.display());
        }
        Ok(())
    };
    let worker = |place: usize| -> Outcome<()> {
        let places = Places::make(&work.join(format!("{}-{place}", target.name)), &target.subject)?;
        if let Some(number) = arguments.case {
            return one(number, &places);
        }
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= arguments.cases || is_over() {
                return files::remove_folder(places.subject.parent().unwrap_or(&places.subject));
            }
            one(number, &places)?;
        }
    };
    let worker = &worker;
    let jobs = if arguments.case.is_some() { 1 } else { arguments.jobs };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|place| scope.spawn(move || worker(place))).collect();
        let ended = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Err(Failure("a panic".into()))));
        ended.collect::<Outcome<Vec<()>>>()
    })?;
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    let total = tally.total();
    println!(
        "{}, {}: {} cases in {:.0} s: {} refused, {} harmless, {} changed as stock or verify says, {} wrong",
        repository.to_string_lossy(),
        target.name,
        total.all(),
        start.elapsed().as_secs_f64(),
        total.refused,
        total.harmless,
        total.changed,
        total.wrong
    );
    println!("refused/harmless/changed, and wrong with !\n{tally}");
    Ok(total.wrong)
}
