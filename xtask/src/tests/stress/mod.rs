//! `cargo xtask test --stress`: runs all tests in environments that differ in factors that no test may depend on.
//!
//! There are eight runs, in which every two factors occur in all four combinations; see [`settings`]. A failed test is
//! run again with all tests of its module in five random orders. This needs root, since it mounts a disk and runs tests
//! as another user.

mod machine;
mod places;
mod settings;

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use self::machine::{BusyLoops, SlowDisk};
use self::places::Place;
use self::settings::{Factor, Setting};
use super::Variables;
use super::arguments::Arguments;
use super::build::{TestBinary, variable_of_features};
use super::permissions;
use super::run::{Surroundings, run_binary};
use super::staged::Staged;
use super::with_path;
use crate::environment::PYTHON;
use crate::files::failed;
use crate::mercurial;
use crate::needs::Machine;
use crate::process::{self, Failure, Outcome};

/// The folders for temporary files, in memory and on a disk.
const IN_MEMORY: &str = "/dev/shm/repackbench-stress";
const ON_DISK: &str = "/var/tmp/repackbench-stress";

/// The file that holds the slow disk.
const IMAGE: &str = "/dev/shm/repackbench-stress.image";

/// The number of random orders in which a failed test is run again.
const REPEATS: u64 = 5;

/// The longest time that a test program may take, in the format of `timeout`.
const TIME_LIMIT: &str = "2h";

/// A test that failed in a run.
struct FailedTest {
    name: String,
    /// How often it failed again.
    again: u64,
}

/// The result of a run.
struct RunResult {
    setting: Setting,
    tests: usize,
    failed: Vec<FailedTest>,
    elapsed: Duration,
}

/// Runs the chore.
pub(super) fn run(arguments: &Arguments) -> Outcome<()> {
    let variables = install()?;
    let mut places: [Option<Place>; 2] = [None, None];
    let mut results = Vec::new();
    for setting in chosen(&arguments.runs) {
        eprintln!("\nrun {}: {setting}", setting.number);
        let is_long = setting.has(Factor::LongPath);
        let place = match &mut places[usize::from(is_long)] {
            Some(place) => place,
            missing => {
                let made = if is_long { Place::long(&variables) } else { Place::short(&variables) };
                missing.insert(made?)
            }
        };
        let result = Run::start(setting, place, &variables)?.all(&arguments.names)?;
        eprint!("{}", row(&result));
        results.push(result);
    }
    for place in places.iter().flatten() {
        eprintln!("note: {} is kept, so that the next stress run compiles less", place.folder.display());
    }
    println!("run  tests  failed  elapsed  environment");
    results.iter().for_each(|result| print!("{}", row(result)));
    let failed: usize = results.iter().map(|result| result.failed.len()).sum();
    if failed == 0 { Ok(()) } else { Err(Failure(format!("{failed} tests failed"))) }
}

/// The runs with these numbers, in this order; all runs if there are no numbers.
fn chosen(numbers: &[usize]) -> Vec<Setting> {
    match numbers {
        [] => Setting::all().collect(),
        numbers => numbers.iter().filter_map(|wanted| Setting::all().find(|run| run.number == *wanted)).collect(),
    }
}

/// Installs what the tests need in folders that every user can read.
fn install() -> Outcome<Variables> {
    let machine = Machine::with_path(machine::public_path());
    machine.install_missing()?;
    let python = machine.find(PYTHON).unwrap_or_else(|| PYTHON.into());
    let hg = mercurial::install_in(Path::new("/var/tmp/repackbench-stress-hg"), &python)?;
    let variables = with_path(hg, Path::new("/var/tmp/repackbench-stress-git"), &machine)?;
    process::run(std::process::Command::new("sh").args(["-ec", LANGUAGE]))?;
    Ok(variables)
}

/// Makes the Turkish locale, in which the capital of `i` is another letter.
const LANGUAGE: &str = "
    locale -a | grep -q '^tr_TR.utf8$' && exit
    command -v localedef > /dev/null && test -e /usr/share/i18n/locales/tr_TR ||
        DEBIAN_FRONTEND=noninteractive apt-get install -q -y locales
    localedef --inputfile=tr_TR --charmap=UTF-8 tr_TR.UTF-8
";

fn row(result: &RunResult) -> String {
    let RunResult { setting, tests, failed, elapsed } = result;
    let mut text =
        format!("{:3}  {tests:5}  {:6}  {:5} s  {setting}\n", setting.number, failed.len(), elapsed.as_secs());
    for FailedTest { name, again } in failed {
        text.push_str(&format!("     failed: {name}; failed again in {again} of {REPEATS} random orders\n"));
    }
    text
}

/// A run, with the changes to the machine that are undone after it.
struct Run<'a> {
    setting: Setting,
    place: &'a Place,
    variables: Variables,
    surroundings: Surroundings,
    log: File,
    _staged: Staged,
    _load: Option<BusyLoops>,
    _disk: Option<SlowDisk>,
}

impl<'a> Run<'a> {
    /// Prepares the machine for the run.
    fn start(setting: Setting, place: &'a Place, variables: &Variables) -> Outcome<Self> {
        let fixtures = place.fixtures();
        places::empty(&fixtures)?;
        let disk = setting.has(Factor::SlowDisk).then(|| SlowDisk::mount(Path::new(IMAGE), &fixtures)).transpose()?;
        let temporary = match (setting.has(Factor::OnDisk), &disk) {
            (false, _) => PathBuf::from(IN_MEMORY),
            (true, Some(_)) if setting.has_all() => fixtures.join("temporary"),
            (true, _) => PathBuf::from(ON_DISK),
        };
        places::empty(&temporary)?;
        if setting.has(Factor::OrdinaryUser) {
            machine::give_away(&fixtures)?;
            machine::give_away(&temporary)?;
        }
        let mut variables = variables.clone();
        let staged = Staged::new(&place.built.programs, Path::new("/var/tmp"))?;
        variables.push(staged.variable());
        variables.push(variable_of_features());
        let log = crate::target_dir().join(format!("stress-{}.log", setting.number));
        let log = File::create(&log).map_err(|error| failed(&log, &error))?;
        let load = setting.has(Factor::Load).then(BusyLoops::start).transpose()?;
        let path = variables.iter().find_map(|(name, path)| (*name == "PATH").then_some(path));
        let surroundings = surroundings(setting, &temporary, path.cloned().unwrap_or_default());
        Ok(Run { setting, place, variables, surroundings, log, _staged: staged, _load: load, _disk: disk })
    }

    /// Runs the tests whose names contain one of `names`, or all.
    fn all(mut self, names: &[String]) -> Outcome<RunResult> {
        let started = Instant::now();
        let (mut tests, mut failed) = (0, Vec::new());
        for binary in &self.place.built.binaries {
            let ran = run_binary(binary, names, &self.surroundings, &self.variables, &mut self.log)?;
            tests += ran.tests.iter().filter(|test| !test.is_ignored).count();
            for name in ran.failed() {
                let again = self.again(binary, &name)?;
                failed.push(FailedTest { name: binary.full_name(&name), again });
            }
        }
        Ok(RunResult { setting: self.setting, tests, failed, elapsed: started.elapsed() })
    }

    /// Runs the module of a failed test in random orders. Returns how often the test failed again.
    fn again(&mut self, binary: &TestBinary, test: &str) -> Outcome<u64> {
        let module = test.rsplit_once("::").map_or(test, |(module, _)| module);
        let mut failed = 0;
        for seed in 1..=REPEATS {
            let surroundings = Surroundings { seed: Some(seed), ..self.surroundings.clone() };
            let ran = run_binary(binary, &[module.to_owned()], &surroundings, &self.variables, &mut self.log)?;
            failed += u64::from(ran.failed().contains(test));
        }
        Ok(failed)
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        for folder in [IN_MEMORY, ON_DISK] {
            // Not every run makes both folders.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

fn surroundings(setting: Setting, temporary: &Path, path: OsString) -> Surroundings {
    let path = if setting.has(Factor::OldGit) { machine::with_oldest_git_first(&path) } else { path };
    let mut variables: Vec<(OsString, Option<OsString>)> =
        vec![("TMPDIR".into(), Some(temporary.into())), ("PATH".into(), Some(path))];
    if setting.has(Factor::NoHome) {
        variables.push(("HOME".into(), None));
    }
    if setting.has(Factor::Elsewhere) {
        let values = [("TZ", "Asia/Kathmandu"), ("LANG", "tr_TR.UTF-8"), ("LC_ALL", "tr_TR.UTF-8")];
        variables.extend(values.map(|(name, value)| (name.into(), Some(value.into()))));
    }
    let mut starter: Vec<OsString> = ["timeout", "--kill-after=10s", TIME_LIMIT].map(OsString::from).into();
    if setting.has(Factor::OrdinaryUser) {
        starter.extend(machine::as_ordinary_user());
    } else {
        starter.extend(permissions::starter_that_respects_them());
    }
    if setting.has(Factor::Umask) {
        starter.extend(["sh", "-c", "umask 077; exec \"$0\" \"$@\""].map(OsString::from));
    }
    Surroundings {
        threads: Some(if setting.has(Factor::EightThreads) { 8 } else { 1 }),
        seed: setting.has(Factor::RandomOrder).then_some(setting.number as u64),
        starter,
        variables,
    }
}
