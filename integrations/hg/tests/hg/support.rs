//! Builds the extension, makes repositories, and runs Mercurial on them.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

use self::hg_server::{Answer, Pool};

#[path = "../../../../fixtures/built.rs"]
mod built;
#[path = "../../../../fixtures/hg_server.rs"]
mod hg_server;

/// The file name of the native module.
pub(crate) const NATIVE_MODULE: &str = "_native.abi3.so";

/// A Mercurial that the tests run, with or without the extension.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hg {
    program: PathBuf,
    extension: Option<PathBuf>,
    configuration: Vec<String>,
    is_alone: bool,
}

impl Hg {
    /// The newest supported Mercurial.
    pub(crate) fn newest() -> Self {
        Hg::named_by("REPACKBENCH_HG")
    }

    /// The oldest supported Mercurial.
    pub(crate) fn oldest() -> Self {
        Hg::named_by("REPACKBENCH_HG_63")
    }

    /// Both of them, with the extension.
    pub(crate) fn extended() -> [Self; 2] {
        [Hg::newest().with_extension(), Hg::oldest().with_extension()]
    }

    fn named_by(variable: &str) -> Self {
        let program = std::env::var_os(variable)
            .unwrap_or_else(|| panic!("{variable} names no Mercurial: run the tests with `cargo xtask test`"));
        Hg { program: program.into(), extension: None, configuration: Vec::new(), is_alone: false }
    }

    /// The same Mercurial in a new process for each command: for tests of what happens when it starts or ends.
    pub(crate) fn alone(self) -> Self {
        Hg { is_alone: true, ..self }
    }

    /// The same Mercurial with the extension, which is not configured.
    pub(crate) fn with_extension(self) -> Self {
        Hg { extension: Some(extension().to_path_buf()), ..self }
    }

    /// The same Mercurial with the extension from another folder.
    pub(crate) fn with_extension_in(self, folder: &Path) -> Self {
        Hg { extension: Some(folder.to_path_buf()), ..self }
    }

    /// The same Mercurial without the extension.
    pub(crate) fn stock(&self) -> Self {
        Hg { extension: None, configuration: Vec::new(), ..self.clone() }
    }

    /// The same Mercurial with a setting `section.name=value`.
    pub(crate) fn set(&self, setting: &str) -> Self {
        let mut changed = self.clone();
        changed.configuration.push(setting.to_owned());
        changed
    }

    /// The same Mercurial with a codec.
    pub(crate) fn codec(&self, spec: &str) -> Self {
        self.set(&format!("repackbench.codec={spec}"))
    }

    /// A command that uses only the settings of this value, with English messages and UTC dates.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HG")) {
            command.env_remove(name);
        }
        command
            .env_remove("PYTHONPATH")
            .env("HGRCPATH", "")
            .env("HGPLAIN", "1")
            .env("HGUSER", "tester")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC");
        for setting in self.settings() {
            command.arg("--config").arg(setting);
        }
        command
    }

    /// The program's path, and the text of a configuration file with the settings.
    pub(crate) fn program_and_configuration(&self) -> (&Path, String) {
        let settings = self.settings();
        let parts = settings.iter().filter_map(|setting| setting.split_once('='));
        let entries =
            parts.filter_map(|(name, value)| name.split_once('.').map(|(section, name)| (section, name, value)));
        let text = entries.map(|(section, name, value)| format!("[{section}]\n{name} = {value}\n")).collect();
        (&self.program, text)
    }

    fn settings(&self) -> Vec<String> {
        let extension = self.extension.iter().map(|folder| format!("extensions.repackbench={}", folder.display()));
        extension.chain(self.configuration.iter().cloned()).collect()
    }

    /// Runs hg in a folder. It may fail.
    #[track_caller]
    pub(crate) fn try_run<I: AsRef<OsStr>>(&self, folder: &Path, arguments: impl IntoIterator<Item = I>) -> Outcome {
        static POOL: Pool<Hg> = Pool::new();
        // The counts of a summary are those of a process.
        let counts = self.configuration.iter().any(|setting| setting.starts_with("repackbench.summary="));
        if self.is_alone || counts {
            return Outcome::of(self.command().current_dir(folder).args(arguments));
        }
        let arguments: Vec<OsString> = arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
        let all = [OsString::from("--cwd"), folder.into()].into_iter().chain(arguments);
        let Answer { code, stdout, stderr } = POOL.run(self.clone(), || self.command(), all);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Outcome { status: Some(code), out: text(stdout), err: text(stderr) }
    }

    /// Runs hg in a folder. Fails the test unless hg exits with 0 and prints no traceback.
    #[track_caller]
    pub(crate) fn run<I: AsRef<OsStr>>(&self, folder: &Path, arguments: impl IntoIterator<Item = I>) -> Outcome {
        let outcome = self.try_run(folder, arguments);
        assert!(outcome.status == Some(0) && !outcome.err.contains("Traceback"), "{self:?}: {outcome:#?}");
        outcome
    }

    /// Makes a repository with a history whose chunks are worth compressing.
    #[track_caller]
    pub(crate) fn new_repository(&self, folder: &Path) {
        fs::create_dir_all(folder).expect("a folder for the repository");
        self.run(folder, ["init"]);
        for round in 0..3 {
            self.commit_round(folder, round);
        }
    }

    /// Adds a commit that changes a long text, a short one, and a file that does not compress.
    #[track_caller]
    pub(crate) fn commit_round(&self, folder: &Path, round: u64) {
        fs::write(folder.join("text"), text(round)).expect("a work tree file");
        fs::write(folder.join("short"), format!("{round}\n")).expect("a work tree file");
        fs::write(folder.join("noise"), noise(round)).expect("a work tree file");
        self.run(folder, ["commit", "--addremove", "-q", "-m", &format!("round {round}"), "-d", &format!("{round} 0")]);
    }

    /// Everything in the repository that a user can see, as one text.
    #[track_caller]
    pub(crate) fn history(&self, folder: &Path) -> String {
        self.run(folder, ["log", "-p", "--git", "--debug"]).out
    }

    /// Fails the test unless `hg verify` succeeds.
    #[track_caller]
    pub(crate) fn verify(&self, folder: &Path) {
        self.run(folder, ["verify", "-q"]);
    }

    /// The requirements of the repository that name a compression engine.
    pub(crate) fn engine_requirements(folder: &Path) -> Vec<String> {
        let files = [".hg/requires", ".hg/store/requires"].map(|name| fs::read_to_string(folder.join(name)));
        let lines = files.iter().flatten().flat_map(|text| text.lines());
        lines.filter(|line| line.contains("compression")).map(str::to_owned).collect()
    }

    /// The kinds of chunks in a file's revlog. hg names them by their first byte: `0x78 (x)`, `0x28`, ...
    #[track_caller]
    pub(crate) fn chunk_kinds(&self, folder: &Path, file: &str) -> Vec<String> {
        let shown = self.run(folder, ["debugrevlog", file]).out;
        let lines = shown.lines().map(str::trim).filter(|line| line.starts_with("0x") || line.starts_with("empty"));
        let mut kinds: Vec<String> =
            lines.filter_map(|line| line.split_once(':')).map(|(kind, _)| kind.trim().to_owned()).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }
}

/// The exit status and the output of a command.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Outcome {
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Outcome { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Fails the test unless the command failed, and printed a message with each of `parts` and no traceback.
    #[track_caller]
    pub(crate) fn fails_saying(&self, parts: &[&str]) {
        assert_ne!(self.status, Some(0), "{self:#?}");
        self.says(parts);
    }

    /// Fails the test unless standard error contains each of `parts` and no traceback.
    #[track_caller]
    pub(crate) fn says(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.err.contains(part), "expected {part:?} in {self:#?}");
        }
        assert!(!self.err.contains("Traceback"), "{self:#?}");
    }
}

/// A path as one word of a shell command.
pub(crate) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

/// A few hundred lines of words. Each round changes some of them.
pub(crate) fn text(round: u64) -> String {
    let words = ["chunk", "payload", "delta", "snapshot", "manifest", "filelog", "changelog", "base"];
    let mut random = Random(7);
    let mut lines: Vec<String> =
        (0..300).map(|_| (0..8).map(|_| words[random.below(words.len())]).collect::<Vec<_>>().join(" ")).collect();
    for change in 0..=round {
        let mut random = Random(change + 100);
        for _ in 0..20 {
            let line = random.below(lines.len());
            lines[line] = format!("round {change} was here, and its words stayed: {}", lines[line].to_uppercase());
        }
    }
    lines.join("\n") + "\n"
}

/// Bytes that no codec can compress.
fn noise(round: u64) -> Vec<u8> {
    let mut random = Random(round + 1000);
    (0..2000).map(|_| random.below(256) as u8).collect()
}

/// A small deterministic generator of numbers (64-bit LCG with Knuth's MMIX constants).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// A folder that is removed after the test.
pub(crate) fn scratch() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// The folder of the extension, built from this checkout once for all tests.
pub(crate) fn extension() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("repackbench");
        fs::create_dir_all(&folder).expect("the extension's folder");
        replace(&built::library("repackbench_hg"), &folder.join(NATIVE_MODULE));
        replace(&python_half(), &folder.join("__init__.py"));
        folder
    })
}

/// Copies a file and renames the copy, so that an hg of another test run keeps the library that it has mapped.
fn replace(from: &Path, to: &Path) {
    let unfinished = to.with_extension(format!("new{}", std::process::id()));
    fs::copy(from, &unfinished).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    fs::rename(&unfinished, to).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
}

/// The extension's Python file in the checkout.
pub(crate) fn python_half() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("repackbench").join("__init__.py")
}
