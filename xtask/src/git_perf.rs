//! `cargo xtask git-perf`: runs git's own performance scripts on variants. See `docs/git-perf.md`.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::files::{entries, failed, make_folder, read_text, remove_folder};
use crate::git_source::scripts_folder;
use crate::process::{self, Failure, Outcome, cargo, output};

const USAGE: &str = "\
usage: cargo xtask git-perf --git-source DIR --variant REPO [--variant REPO]... [--repeat N] [SCRIPT...]
  DIR is a checkout of git's sources in which git was built; SCRIPT is the name of a file in its t/perf";

/// The default scripts: traversal, pickaxe, and reading a pack from end to end.
const SCRIPTS: [&str; 3] = ["p0001-rev-list.sh", "p4209-pickaxe.sh", "p5302-pack-index.sh"];

/// The default number of runs of each command. git's scripts keep the shortest time.
const REPEAT: &str = "3";

/// The folder in which git's scripts keep their results, with a folder for each section.
const RESULTS: &str = "test-results";

/// The configuration key of the guard.
const GUARD: &str = "extensions.repackbench";

struct Arguments {
    /// `t/perf` in git's sources.
    perf: PathBuf,
    variants: Vec<PathBuf>,
    repeat: OsString,
    scripts: Vec<String>,
}

/// Runs the chore; prints a table on stdout.
pub(crate) fn run(words: &[OsString]) -> Outcome<()> {
    let arguments = parse(words)?;
    process::run(cargo().args(["build", "--release", "--locked"]))?;
    let git = installed_git()?;
    let scratch = crate::target_dir().join("git-perf");
    let names: Vec<String> = arguments.variants.iter().map(|variant| name_of(variant)).collect();
    for (variant, name) in arguments.variants.iter().zip(&names) {
        let copy = scratch.join(name);
        let ran = copy_unguarded(variant, &copy).and_then(|()| measure(&arguments, name, &copy, &git));
        remove_folder(&scratch)?;
        ran?;
    }
    let (table, failures) = table(&arguments, &names)?;
    print!("{table}");
    if failures > 0 {
        let results = arguments.perf.join(RESULTS);
        return Err(Failure(format!(
            "{failures} commands failed: see the output of git's scripts above, and {}",
            results.display()
        )));
    }
    Ok(())
}

fn parse(words: &[OsString]) -> Outcome<Arguments> {
    let usage = || Failure(USAGE.to_owned());
    let (mut source, mut variants, mut scripts) = (None, Vec::new(), Vec::new());
    let mut repeat = OsString::from(REPEAT);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut path = || words.next().map(PathBuf::from).ok_or_else(usage);
        match word.to_str() {
            Some("--git-source") => source = Some(path()?),
            Some("--variant") => variants.push(path()?),
            Some("--repeat") => repeat = path()?.into(),
            Some(name) if !name.starts_with('-') => scripts.push(name.to_owned()),
            _ => return Err(usage()),
        }
    }
    if scripts.is_empty() {
        scripts = SCRIPTS.map(str::to_owned).to_vec();
    }
    let source = source.ok_or_else(usage)?;
    if variants.is_empty() {
        return Err(usage());
    }
    let perf = scripts_folder(&source, "t/perf", "scripts")?;
    let absolute = |path: &PathBuf| fs::canonicalize(path).map_err(|error| failed(path, &error));
    let variants = variants.iter().map(absolute).collect::<Outcome<_>>()?;
    Ok(Arguments { perf, variants, repeat, scripts })
}

/// The folder of the git on the PATH.
fn installed_git() -> Outcome<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).find(|folder| folder.join("git").is_file());
    found.ok_or_else(|| Failure("git: not found on PATH".into()))
}

/// A name for the variant that is valid as a section of git's configuration and as a folder of its scripts.
fn name_of(variant: &Path) -> String {
    let name = variant.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.replace(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-' && letter != '.', "-")
}

/// Copies a repository without its guard.
///
/// git's scripts query the repository's folders before they make a copy of their own with hard links, and then write
/// and repack.
fn copy_unguarded(variant: &Path, copy: &Path) -> Outcome<()> {
    let git_dir = output(Command::new("git").arg("-C").arg(variant).args(["rev-parse", "--resolve-git-dir", "."]));
    // For a work tree, the `.git` folder in it.
    let git_dir = if git_dir.is_ok() { variant.to_owned() } else { variant.join(".git") };
    let parent = copy.parent().unwrap_or(copy);
    make_folder(parent)?;
    process::run(Command::new("cp").arg("-R").arg(&git_dir).arg(copy))?;
    let config = copy.join("config");
    let guarded = ["config", "--file"];
    if process::succeeds(Command::new("git").args(guarded).arg(&config).args(["--get", GUARD])) {
        process::run(Command::new("git").args(guarded).arg(&config).args(["--unset-all", GUARD]))?;
    }
    Ok(())
}

/// Runs the scripts on the copy, as a section of git's own results.
fn measure(arguments: &Arguments, name: &str, copy: &Path, git: &Path) -> Outcome<()> {
    let earlier = arguments.perf.join(RESULTS).join(name);
    remove_folder(&earlier)?;
    let sections = copy.with_file_name("sections");
    fs::write(&sections, format!("[perf \"{name}\"]\n\tuseScalar = false\n"))
        .map_err(|error| failed(&sections, &error))?;
    let mut perf = Command::new(crate::target_dir().join("release").join("repackbench"));
    perf.current_dir(&arguments.perf).args(["exec", "--"]);
    perf.args(["./run", "--config"]).arg(&sections).args(["--subsection", name]).arg(git).arg("--");
    perf.args(&arguments.scripts);
    perf.env("GIT_PERF_REPO", copy).env("GIT_PERF_LARGE_REPO", copy).env("GIT_PERF_REPEAT_COUNT", &arguments.repeat);
    // Standard output is for the table.
    perf.stdout(Stdio::from(io::stderr()));
    process::run(&mut perf)
}

/// The table of results: the title of each command, and its shortest run on each variant. Also the number of runs that
/// failed.
fn table(arguments: &Arguments, names: &[String]) -> Outcome<(String, usize)> {
    let first = names.first().map_or("", String::as_str);
    let results = arguments.perf.join(RESULTS);
    let mut table = format!("elapsed (user + system) seconds, ratio of user + system to {first}\n");
    let mut failures = 0;
    for script in &arguments.scripts {
        let script = script.trim_end_matches(".sh");
        let _ = writeln!(table, "\n{script}");
        // The file has the numbers of the timed steps.
        for number in read_text(&results.join(first).join(format!("{script}.subtests")))?.lines() {
            let title = read_text(&results.join(first).join(format!("{script}.{number}.descr")))?;
            let _ = writeln!(table, "  {}", title.trim_end());
            let mut base = None;
            for name in names {
                let kept = kept(&results.join(name), &format!("{script}.{number}.result"))?;
                failures += usize::from(kept.is_none());
                let _ = writeln!(table, "    {name:24} {}", row(kept, &mut base));
            }
        }
    }
    Ok((table, failures))
}

/// A variant's times or bytes, and their ratio to the first variant's.
fn row(kept: Option<Kept>, base: &mut Option<f64>) -> String {
    let mut ratio = |value: f64| {
        let base = *base.get_or_insert(value);
        // GNU time counts in hundredths of a second, so the time of a short command may be zero.
        if base > 0.0 { format!("{:.2}", value / base) } else { "-".to_owned() }
    };
    match kept {
        Some(Kept::Times([elapsed, user, system])) => {
            format!("{elapsed:8.2} ({user:.2} + {system:.2})  {}", ratio(user + system))
        }
        Some(Kept::Bytes(bytes)) => format!("{bytes:8} bytes  {}", ratio(bytes)),
        None => "failed".to_owned(),
    }
}

/// What a script keeps of one of its steps.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kept {
    /// Elapsed, user and system time, in seconds.
    Times([f64; 3]),
    /// The length of an output (`test_size`).
    Bytes(f64),
}

/// What the section's file with this ending has. The first part of the file's name says which git ran.
fn kept(section: &Path, ending: &str) -> Outcome<Option<Kept>> {
    for path in entries(section)? {
        if !path.to_string_lossy().ends_with(&format!(".{ending}")) {
            continue;
        }
        let text = read_text(&path)?;
        let numbers: Vec<f64> = text.split_whitespace().filter_map(seconds).collect();
        return match *numbers.as_slice() {
            [elapsed, user, system] => Ok(Some(Kept::Times([elapsed, user, system]))),
            [bytes] => Ok(Some(Kept::Bytes(bytes))),
            _ => Err(Failure(format!("{}: expected three times or a size, found {text:?}", path.display()))),
        };
    }
    Ok(None)
}

/// Parses `1:02:03.45`, `2:03.45` or `3.45`, the formats of GNU time, into seconds.
fn seconds(time: &str) -> Option<f64> {
    time.split(':').try_fold(0.0, |sum, part| part.parse::<f64>().ok().map(|number| sum * 60.0 + number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in
            [("git.p.4.result", "1:00.50 0.25 0.25\n"), ("git.p.5.result", "4808\n"), ("git.p.6.result", "x")]
        {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let of = |ending: &str| kept(folder.path(), ending);
        assert_eq!(of("p.4.result").unwrap(), Some(Kept::Times([60.5, 0.25, 0.25])));
        assert_eq!(of("p.5.result").unwrap(), Some(Kept::Bytes(4808.0)));
        assert_eq!(of("p.7.result").unwrap(), None);
        assert!(of("p.6.result").is_err());
        let mut base = None;
        assert_eq!(row(Some(Kept::Bytes(200.0)), &mut base), "     200 bytes  1.00");
        assert_eq!(row(Some(Kept::Bytes(150.0)), &mut base), "     150 bytes  0.75");
        assert_eq!(row(Some(Kept::Times([1.0, 0.0, 0.0])), &mut None), "    1.00 (0.00 + 0.00)  -");
        assert_eq!(row(None, &mut base), "failed");
    }
}
