//! A folder in which the examples of a document run one after another, as for a user who reads it from top to bottom.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use super::document::{Example, checkout};
use super::limits::{ONLY_UNDERSTOOD, OnlyUnderstood, limited};
use crate::support::fixture::{self, Fixture};
use crate::support::hg::Version;
use crate::support::program::{self, exit, isolate};
use crate::support::{Scratch, executable, git, hg_extension, preload};

/// The programs that stand in for others.
const STAND_INS: [(&str, &str); 3] = [
    ("cargo", include_str!("programs/cargo.sh")),
    ("gh", include_str!("programs/gh.sh")),
    ("zstd", include_str!("programs/zstd.sh")),
];

/// The sources of git that `git clone` gets instead of those on GitHub. Nothing is built, and t/perf/run is a stand-in.
const GIT_SOURCE: [(&str, &str); 2] =
    [("Makefile", "all:\n"), ("t/perf/run", include_str!("programs/git_perf_run.sh"))];

/// Runs every example in one shell, so that aliases and variables last, and writes down what each did. Examples are
/// numbered from 0.
const RUNNER: &str = r#"
set -o pipefail
shopt -s expand_aliases
for (( number = 0; number < $1; number++ )); do
  source "$CALLS/$number.sh" > "$CALLS/$number.out" 2> "$CALLS/$number.err" < /dev/null
  echo $? > "$CALLS/$number.code"
done
"#;

/// What a document presupposes.
pub(super) struct Scene {
    /// The names of its Git repositories. A single dot is the folder of the examples.
    pub(super) git: &'static [&'static str],
    /// The names of its Mercurial repositories.
    pub(super) hg: &'static [&'static str],
    /// Commands that make files the examples need.
    pub(super) before: &'static str,
}

/// The result of an example.
struct Ending {
    code: i32,
    stdout: String,
    stderr: String,
}

/// Examples that measure cold reads: files in memory are never cold.
const NEEDS_A_DISK: &str = "repackbench experiment flat-vs-gzip-tree ";

/// The folders. Examples run in `work`; the others surround it.
pub(super) struct Stage {
    scratch: Scratch,
    /// The cache of variants and checked out files. File systems on disks may take minutes for them.
    in_memory: Scratch,
    /// The cache of commands that read cold.
    on_disk: Scratch,
}

impl Stage {
    /// A folder with the repositories of the scene.
    #[track_caller]
    pub(super) fn new(scene: &Scene) -> Self {
        // Examples do not quote paths, so none may have a space.
        let stage =
            Stage { scratch: Scratch::in_memory(), in_memory: Scratch::in_memory(), on_disk: Scratch::on_disk() };
        for folder in ["work", "programs", "home", "tmp", "calls", "github/git", "checkout/target/hg-extension"] {
            fs::create_dir_all(stage.scratch.join(folder)).expect("a folder");
        }
        stage.install_programs();
        stage.publish_git_source();
        let modules = stage.scratch.join("modules");
        fixture::modules(&modules, 50);
        git::output(&modules, ["tag", "14.1.0", "main"]);
        let hg = Fixture::hg_copy("default", &stage.scratch).repo();
        // The folder itself comes first, as the others are in it.
        for here in [true, false] {
            for (names, original) in [(scene.git, &modules), (scene.hg, &hg)] {
                for name in names.iter().filter(|name| (**name == ".") == here) {
                    let copy = stage.text(name);
                    let copy = stage.scratch.join("work").join(copy);
                    fs::create_dir_all(&copy).expect("a folder");
                    program::run(Command::new("cp").arg("-a").arg(original.join(".")).arg(copy)).exits(exit::OK);
                }
            }
        }
        stage
    }

    fn install_programs(&self) {
        let programs = self.scratch.join("programs");
        for name in ["repackbench", "git-repackbench"] {
            symlink(env!("CARGO_BIN_EXE_repackbench"), programs.join(name)).expect("a link");
        }
        symlink(Version::V72.program(), programs.join("hg")).expect("a link");
        symlink(hg_extension::folder(), self.extension()).expect("a link");
        for (name, text) in STAND_INS {
            executable::write(&programs.join(name), text);
        }
    }

    fn publish_git_source(&self) {
        let source = self.scratch.join("github/git/git");
        git::output(self.scratch.path(), ["init", "--quiet", source.to_str().expect("a path in UTF-8")]);
        for (name, text) in GIT_SOURCE {
            let file = source.join(name);
            fs::create_dir_all(file.parent().expect("its folder")).expect("a folder");
            executable::write(&file, text);
        }
        git::output(&source, ["add", "."]);
        git::output(&source, ["commit", "--quiet", "--message", "what the examples need"]);
        git::output(&source, ["tag", "v2.47.3"]);
        let gitconfig = format!(
            "[include]\n\tpath = {}\n[url \"file://{}/\"]\n\tinsteadOf = https://github.com/\n",
            fixture::scripts().join("gitconfig").display(),
            self.scratch.join("github").display(),
        );
        fs::write(self.scratch.join("gitconfig"), gitconfig).expect("git's configuration");
    }

    /// The path of the hg extension in the examples.
    fn extension(&self) -> PathBuf {
        self.scratch.join("checkout/target/hg-extension/repackbench")
    }

    /// The text of an example, with folders of this stage in place of others.
    fn text(&self, text: &str) -> String {
        let folder = |name: &str| self.scratch.join(name).display().to_string();
        let text = text.replace("/tmp/", &format!("{}/", folder("tmp")));
        text.replace("/path/to/repackbench", &folder("checkout")).replace("~/", &format!("{}/", folder("home")))
    }

    /// An example as it runs here.
    fn script(&self, command: &str) -> String {
        let script = limited(&self.text(command));
        if !command.starts_with(NEEDS_A_DISK) {
            return script;
        }
        format!("XDG_CACHE_HOME='{}' {script}", self.on_disk.join("cache").display())
    }

    /// Runs the commands of the scene and then every example. Fails the test at the first that ends in another way than
    /// shown.
    #[track_caller]
    pub(super) fn play(&self, scene: &Scene, examples: &[Example]) {
        let before = scene.before.lines().map(str::trim).filter(|line| !line.is_empty());
        let before = before.map(|line| (None, self.text(line)));
        let shown = examples.iter().map(|example| (Some(example), self.script(&example.command)));
        let commands: Vec<(Option<&Example>, String)> = before.chain(shown).collect();
        for (number, (_, command)) in commands.iter().enumerate() {
            fs::write(self.scratch.join("calls").join(format!("{number}.sh")), format!("{command}\n"))
                .expect("a script");
        }
        self.run_all(commands.len());
        for (number, (example, command)) in commands.iter().enumerate() {
            let ending = self.ending(number);
            let wrong = match example {
                Some(example) => ending.wrong(example, &self.text(&example.shown.join("\n"))),
                None => (ending.code != 0).then(|| "it is needed by the examples, and failed".to_owned()),
            };
            if let Some(wrong) = wrong {
                let place = example.map_or("before the examples", |example| &example.place);
                let Ending { code, stdout, stderr } = ending;
                panic!("{place}: {wrong}\n$ {command}\nexit code {code}\nstdout:\n{stdout}\nstderr:\n{stderr}");
            }
        }
    }

    #[track_caller]
    fn run_all(&self, commands: usize) {
        let mut bash = Command::new("bash");
        isolate(&mut bash);
        git::pin(&mut bash);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HG")) {
            bash.env_remove(name);
        }
        let path = std::env::var_os("PATH").expect("a PATH");
        let folders = [self.scratch.join("programs")].into_iter().chain(std::env::split_paths(&path));
        bash.env("PATH", std::env::join_paths(folders).expect("folders")).env("HOME", self.scratch.join("home"));
        bash.env("XDG_CACHE_HOME", self.in_memory.path().join("cache")).env("TMPDIR", self.in_memory.path());
        bash.env("GIT_CONFIG_GLOBAL", self.scratch.join("gitconfig"));
        bash.env("HGRCPATH", "").env("HGUSER", "A U Thor <author@example.com>").env("LC_ALL", "C.UTF-8");
        bash.env("REPACKBENCH_PRELOAD", preload::stand_in()).env("CALLS", self.scratch.join("calls"));
        bash.env("CHECKOUT", checkout()).env("HG_EXTENSION", self.extension());
        bash.args(["--norc", "--noprofile", "-c", RUNNER, "bash", &commands.to_string()]);
        program::run(bash.current_dir(self.scratch.join("work"))).exits(exit::OK);
    }

    #[track_caller]
    fn ending(&self, number: usize) -> Ending {
        let read = |kind: &str| {
            let bytes =
                fs::read(self.scratch.join("calls").join(format!("{number}.{kind}"))).expect("what an example did");
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let code = read("code").trim().parse().expect("an exit code");
        Ending { code, stdout: read("out"), stderr: read("err") }
    }
}

impl Ending {
    /// The difference from what the document shows, if there is one.
    fn wrong(&self, example: &Example, shown: &str) -> Option<String> {
        if let Some(OnlyUnderstood { because, .. }) = ONLY_UNDERSTOOD.iter().find(|only| only.is(&example.command)) {
            let understood = self.code != 0 && self.code != exit::USAGE && self.stderr.contains(because);
            return (!understood).then(|| format!("it should fail since {because}"));
        }
        let refused = ["fatal: ", "error: ", "abort: "].iter().any(|word| shown.starts_with(word));
        if refused != (self.code != 0) {
            return Some(if refused { "it should fail".to_owned() } else { "it failed".to_owned() });
        }
        let printed = begins_like(&self.stdout, shown) || begins_like(&self.stderr, shown);
        (!printed).then(|| format!("the document shows\n{}", example.shown.join("\n")))
    }
}

/// Whether the text begins with these lines, apart from figures. Three dots at the end of a line stand for its rest.
fn begins_like(text: &str, shown: &str) -> bool {
    let filled = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
    };
    let (lines, shown) = (filled(text), filled(shown));
    lines.len() >= shown.len()
        && shown.iter().zip(&lines).all(|(shown, line)| match shown.strip_suffix("...") {
            Some(beginning) => form(line).starts_with(&form(beginning)),
            None => form(line) == form(shown),
        })
}

/// The words of a line without those that depend on the repository or the machine: numbers, ids and verdicts.
fn form(line: &str) -> Vec<&str> {
    let measured = |word: &&str| {
        let bare = word.trim_matches(|letter: char| "()[],%?-".contains(letter));
        let is_id = bare.len() >= 12 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_number = bare.bytes().all(|byte| byte.is_ascii_digit() || b".,".contains(&byte));
        is_id || is_number || ["faster", "slower", "same"].contains(&bare)
    };
    line.split_whitespace().filter(|word| !measured(word)).collect()
}

#[test]
fn compares_output_except_figures() {
    let shown = "repo (revision 5c61e168698a), 216 MB\n\nzlib:6  1.000  1.00 baseline\nlz4  1.232  0.67 faster";
    let printed = "repo (revision 07c1fedd926c), 0.2 MB\nzlib:6  1.0  1.0 baseline\nlz4   0.98 ?\nCPU is user time.";
    assert!(begins_like(printed, shown));
    assert!(begins_like("fatal: no such thing, or so", "fatal: no such ..."));
    for other in ["", "repo", &printed.replace("lz4", "zstd"), &printed.replace("baseline", "")] {
        assert!(!begins_like(other, shown), "{other}");
    }
}
