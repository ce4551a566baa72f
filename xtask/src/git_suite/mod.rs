//! `cargo xtask git-suite`: runs git's own tests with the stand-in for zlib preloaded into every git. See
//! `docs/git-suite.md`.

mod explained;
mod loose;
mod script;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::{Display, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::files::{entries, make_folder, remove_folder};
use crate::git_source::scripts_folder;
use crate::process::{Failure, Outcome};
use crate::tests::build::{Built, Targets, build};
use explained::Explained;
use loose::LooseObjects;
use script::{ScriptRun, Verdict};

const USAGE: &str = "\
usage: cargo xtask git-suite --git-source DIR [--zlib ZLIB]... [--writing SPEC]... [SCRIPT...]
  DIR is a checkout of git's sources in which git was built; SCRIPT is the beginning of the name of a file in its t.
  By default, the scripts about packs, objects, fetches, clones and gc run with every zlib, and writing zstd:5";

/// Prefixes of the names of scripts about packs, objects, fetches, clones, bitmaps and gc.
const SCRIPTS: [&str; 12] =
    ["t0410", "t1006", "t1007", "t1050", "t1060", "t1450", "t53", "t55", "t56", "t65", "t77", "t9300"];

const ZLIBS: [&str; 5] = ["host", "stock", "zlib-rs", "zlib-ng", "libdeflate"];
const WRITING: &str = "zstd:5";

/// The longest time that a script may take, in seconds.
const LONGEST: &str = "1800";

/// How git runs.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mode {
    /// Without the stand-in. The other modes are compared with this one.
    Plain,
    /// With the stand-in, which uses this zlib.
    Reading(String),
    /// With the stand-in; every repository that git makes is a variant under this codec spec.
    Writing(String),
}

impl Mode {
    fn name(&self) -> String {
        match self {
            Mode::Plain => "plain git".to_owned(),
            Mode::Reading(zlib) => format!("reading, {zlib}"),
            Mode::Writing(spec) => format!("writing {spec}"),
        }
    }

    /// The words to put before a command, and its additional environment variables.
    fn starter(&self, program: &Path) -> (Vec<OsString>, Vec<(&'static str, String)>) {
        let exec = |option: &str, value: &str| {
            let words = [program.as_os_str(), "exec".as_ref(), option.as_ref(), value.as_ref(), OsStr::new("--")];
            words.map(OsStr::to_owned).to_vec()
        };
        match self {
            Mode::Plain => (Vec::new(), Vec::new()),
            Mode::Reading(zlib) => (exec("--zlib", zlib), Vec::new()),
            Mode::Writing(spec) => (exec("--codec", spec), vec![("REPACKBENCH_NEW", spec.clone())]),
        }
    }
}

struct Arguments {
    /// The folder `t` of git's sources.
    folder: PathBuf,
    modes: Vec<Mode>,
    scripts: Vec<String>,
}

/// Runs the chore; prints a table on stdout.
pub(crate) fn run(words: &[OsString]) -> Outcome<()> {
    let arguments = parse(words)?;
    let built = build(&Targets::Named { lib: false, tests: vec!["e2e".into()] }, &Vec::new())?;
    let explained = Explained::known()?;
    let plain = run_all(&arguments, &Mode::Plain, &built)?;
    let mut report = Report::new(&plain);
    for mode in &arguments.modes {
        let runs = run_all(&arguments, mode, &built)?;
        report.add(mode, &plain, &runs, &explained);
    }
    print!("{}", report.text);
    match report.unexplained {
        0 => Ok(()),
        count => Err(Failure(format!("{count} tests differ from plain git without an explanation"))),
    }
}

fn parse(words: &[OsString]) -> Outcome<Arguments> {
    let usage = || Failure(USAGE.to_owned());
    let (mut source, mut modes, mut prefixes) = (None, Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(usage);
        let text = |value: &OsString| value.to_str().map(str::to_owned).ok_or_else(usage);
        match word.to_str() {
            Some("--git-source") => source = Some(PathBuf::from(value()?)),
            Some("--zlib") => modes.push(Mode::Reading(text(value()?)?)),
            Some("--writing") => modes.push(Mode::Writing(text(value()?)?)),
            Some(name) if !name.starts_with('-') => prefixes.push(name.to_owned()),
            _ => return Err(usage()),
        }
    }
    if modes.is_empty() {
        modes.extend(ZLIBS.map(|zlib| Mode::Reading(zlib.to_owned())));
        modes.push(Mode::Writing(WRITING.to_owned()));
    }
    if prefixes.is_empty() {
        prefixes = SCRIPTS.map(str::to_owned).to_vec();
    }
    let source = source.ok_or_else(usage)?;
    let folder = scripts_folder(&source, "t", "tests")?;
    let scripts = scripts(&folder, &prefixes)?;
    Ok(Arguments { folder, modes, scripts })
}

/// The scripts in `folder` whose names have one of the prefixes.
fn scripts(folder: &Path, prefixes: &[String]) -> Outcome<Vec<String>> {
    let mut scripts = Vec::new();
    for path in entries(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_script = path.extension().is_some_and(|extension| extension == "sh");
        if is_script && prefixes.iter().any(|prefix| name.starts_with(prefix.as_str())) {
            scripts.push(name.into_owned());
        }
    }
    if scripts.is_empty() {
        return Err(Failure(format!("{}: no script name begins with {}", folder.display(), prefixes.join(" or "))));
    }
    Ok(scripts)
}

/// The results of each script.
type Runs = BTreeMap<String, ScriptRun>;

/// Runs all scripts, with one thread for each processor.
fn run_all(arguments: &Arguments, mode: &Mode, built: &Built) -> Outcome<Runs> {
    let scratch = crate::target_dir().join("git-suite");
    make_folder(&scratch)?;
    let next = AtomicUsize::new(0);
    let runs = Mutex::new(Ok(Runs::new()));
    let work = || {
        while let Some(name) = arguments.scripts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let run = run_script(&arguments.folder, name, mode, built, &scratch);
            let Ok(mut runs) = runs.lock() else { return };
            match (&mut *runs, run) {
                (Ok(all), Ok(run)) => {
                    eprintln!("{}: {name}: {} tests, {} failed", mode.name(), run.count(), run.failed());
                    all.insert(name.clone(), run);
                }
                (Ok(_), Err(failure)) => *runs = Err(failure),
                (Err(_), _) => return,
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    remove_folder(&scratch)?;
    runs.into_inner().map_err(|_| Failure("a thread panicked".into()))?
}

fn run_script(folder: &Path, name: &str, mode: &Mode, built: &Built, scratch: &Path) -> Outcome<ScriptRun> {
    let output = scratch.join(name);
    make_folder(&output)?;
    let (mut words, variables) = mode.starter(&built.programs.join("repackbench"));
    words.extend(["timeout", LONGEST, "sh", name].map(OsString::from));
    let mut words = words.into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).current_dir(folder).envs(variables).env("TEST_OUTPUT_DIRECTORY", &output);
    // git's tests include programs that read objects.
    command.env("REPACKBENCH_READER", "1");
    // Keeps the repositories, whose objects are counted.
    command.arg("--debug");
    // Git's check of the memory allocator would replace what LD_PRELOAD names.
    command.env("TEST_NO_MALLOC_CHECK", "1");
    let mut run = script::run(&mut command)?;
    run.loose = LooseObjects::below(&output)?;
    remove_folder(&output)?;
    Ok(run)
}

/// A table of all modes. The tests that differ from plain git follow each row.
struct Report {
    text: String,
    unexplained: usize,
}

impl Report {
    fn new(plain: &Runs) -> Self {
        let mut report = Report { text: String::new(), unexplained: 0 };
        let heads = ["scripts", "tests", "explained", "unexplained", "loose objects", "not zlib"];
        report.line("", heads);
        report.row(&Mode::Plain, plain, 0, 0);
        report
    }

    fn row(&mut self, mode: &Mode, runs: &Runs, explained: usize, unexplained: usize) {
        let tests: usize = runs.values().map(ScriptRun::count).sum();
        let all: usize = runs.values().map(|run| run.loose.all).sum();
        let not_zlib: usize = runs.values().map(|run| run.loose.not_zlib).sum();
        self.line(&mode.name(), [runs.len(), tests, explained, unexplained, all, not_zlib]);
    }

    fn line<T: Display>(&mut self, name: &str, cells: [T; 6]) {
        let _ = write!(self.text, "{name:24}");
        for cell in cells {
            let _ = write!(self.text, "{cell:>15}");
        }
        self.text.push('\n');
    }

    /// Adds the row of a mode, and the tests that differ from plain git without an explanation.
    fn add(&mut self, mode: &Mode, plain: &Runs, runs: &Runs, explained: &Explained) {
        let (mut known, mut unknown) = (0, String::new());
        let mut count = 0;
        for (script, run) in runs {
            let under_plain = plain.get(script);
            for (test, verdict) in run.differing(under_plain) {
                if matches!(mode, Mode::Writing(_)) && explained.has(script, test) {
                    known += 1;
                    continue;
                }
                count += 1;
                let was = under_plain.and_then(|run| run.verdict(test)).map_or("not run", Verdict::name);
                let is = verdict.map_or("not run", Verdict::name);
                let _ = writeln!(unknown, "    {script}: {test}: {was} under plain git, {is} here");
            }
        }
        self.row(mode, runs, known, count);
        self.text.push_str(&unknown);
        self.unexplained += count;
    }
}
