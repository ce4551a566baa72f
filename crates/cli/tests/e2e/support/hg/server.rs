//! An hg process that runs many commands, as starting hg takes a fifth of a second.
//!
//! The protocol is described in Mercurial's wiki under CommandServer. Both sides send frames. Those of the server begin
//! with a channel (`o` output, `e` errors, `r` the result) and a length in four bytes, big-endian.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::super::program::{Outcome, exit};
use super::{Revision, Revlog, Version};

/// Idle servers without a repository.
static IDLE: Mutex<Vec<(Version, HgServer)>> = Mutex::new(Vec::new());

/// Runs one command of hg, which may fail, on an idle or a new server.
#[track_caller]
pub(crate) fn ask(version: Version, arguments: impl IntoIterator<Item = OsString>) -> Outcome {
    let idle = || IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let found = {
        let mut idle = idle();
        idle.iter().position(|(of, _)| *of == version).map(|place| idle.swap_remove(place).1)
    };
    let mut server = found.unwrap_or_else(|| {
        let mut command = super::command_anywhere(version);
        command.current_dir("/");
        HgServer::of(command)
    });
    let outcome = server.run(arguments);
    idle().push((version, server));
    outcome
}

/// A running hg. It runs in the root of its repository, so that file names are relative to that.
pub(crate) struct HgServer {
    process: Child,
    requests: Option<ChildStdin>,
    answers: ChildStdout,
}

impl HgServer {
    /// Starts the newest hg. It reads censored content as empty; otherwise it would write no revision that has any.
    #[track_caller]
    pub(crate) fn newest(repo: &Path) -> Self {
        Self::start_with(Version::V72, repo, &["--config", "censor.policy=ignore"])
    }

    /// Starts stock hg in `repo`.
    #[track_caller]
    pub(crate) fn start(version: Version, repo: &Path) -> Self {
        Self::start_with(version, repo, &[])
    }

    /// Starts stock hg in `repo` with these options.
    #[track_caller]
    pub(crate) fn start_with(version: Version, repo: &Path, options: &[&str]) -> Self {
        let mut command = super::command(version, repo);
        command.args(options).current_dir(repo);
        Self::of(command)
    }

    /// Starts `command` as a server.
    #[track_caller]
    pub(crate) fn of(mut command: Command) -> Self {
        command.args(["serve", "--cmdserver", "pipe"]);
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("hg");
        let (requests, answers) = (process.stdin.take(), process.stdout.take().expect("hg's answers"));
        let mut server = HgServer { process, requests, answers };
        let (channel, hello) = server.frame();
        assert!(channel == b'o' && hello.starts_with(b"capabilities: "), "{}", String::from_utf8_lossy(&hello));
        server
    }

    /// Runs one command, which may fail.
    #[track_caller]
    pub(crate) fn run<I: AsRef<OsStr>>(&mut self, arguments: impl IntoIterator<Item = I>) -> Outcome {
        let arguments: Vec<OsString> = arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
        let joined = arguments.iter().map(|argument| argument.as_bytes()).collect::<Vec<_>>().join(&0);
        let length = u32::try_from(joined.len()).expect("a short command").to_be_bytes();
        let request = [b"runcommand\n".as_slice(), &length, &joined].concat();
        self.send(&request);
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        loop {
            match self.frame() {
                (b'o', text) => stdout.extend(text),
                (b'e', text) => stderr.extend(text),
                (b'r', code) => {
                    let code = i32::from_be_bytes(code.try_into().expect("a result of four bytes"));
                    return Outcome { code: Some(code), stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() };
                }
                // It asks for input and gets none.
                _ => self.send(&[0; 4]),
            }
        }
    }

    #[track_caller]
    fn send(&mut self, request: &[u8]) {
        let requests = self.requests.as_mut().expect("a running hg");
        requests.write_all(request).and_then(|()| requests.flush()).expect("a running hg");
    }

    /// Runs one command and returns its standard output; fails the test when hg fails.
    #[track_caller]
    pub(crate) fn output<I: AsRef<OsStr>>(&mut self, arguments: impl IntoIterator<Item = I>) -> Vec<u8> {
        self.run(arguments).exits(exit::OK).stdout
    }

    /// The output of a command as lines of text.
    #[track_caller]
    pub(crate) fn lines(&mut self, arguments: &[&str]) -> Vec<String> {
        String::from_utf8_lossy(&self.output(arguments)).lines().map(str::to_owned).collect()
    }

    /// The result of `hg verify`, as [`super::verify`] returns it.
    #[track_caller]
    pub(crate) fn verify(&mut self) -> (Option<i32>, Vec<String>) {
        let outcome = self.run(["verify"]);
        let mut lines: Vec<String> = outcome.text().lines().chain(outcome.stderr.lines()).map(str::to_owned).collect();
        lines.sort();
        (outcome.code, lines)
    }

    /// Every changeset, as [`super::changesets`] returns them.
    #[track_caller]
    pub(crate) fn changesets(&mut self) -> String {
        let arguments = ["log", "--hidden", "-r", "all()", "-T", super::CHANGESET];
        String::from_utf8_lossy(&self.output(arguments)).into_owned()
    }

    /// Writes a revision's files into `folder`, as [`super::archive`] does.
    #[track_caller]
    pub(crate) fn archive(&mut self, revision: &str, folder: &Path) {
        let options = ["--hidden", "--config", "ui.archivemeta=no", "archive", "--type", "files", "-r", revision];
        self.output(options.into_iter().map(OsStr::new).chain([folder.as_os_str()]));
    }

    /// The index of a revlog, empty for one without revisions.
    #[track_caller]
    pub(crate) fn index(&mut self, revlog: &Revlog) -> Vec<Revision> {
        let options = ["debugindex", "--debug"].map(OsString::from);
        let outcome = self.run(options.into_iter().chain(revlog.arguments()));
        if outcome.stderr.contains("cannot give path to non-revlog") {
            return Vec::new();
        }
        let listing = outcome.exits(exit::OK).stdout;
        super::parse_index(&String::from_utf8_lossy(&listing))
    }

    /// The full text of a revision as the revlog holds it, metadata included.
    #[track_caller]
    pub(crate) fn data(&mut self, revlog: &Revlog, revision: usize) -> Outcome {
        let arguments = [OsString::from("debugdata")].into_iter().chain(revlog.arguments());
        self.run(arguments.chain([revision.to_string().into()]))
    }

    /// Reads one frame: the channel and its content.
    #[track_caller]
    fn frame(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 5];
        self.answers.read_exact(&mut head).expect("an answer of hg");
        let [channel, length @ ..] = head;
        // An upper-case channel asks for input, and the length is that of the input.
        if channel.is_ascii_uppercase() {
            return (channel, Vec::new());
        }
        let mut content = vec![0; u32::from_be_bytes(length) as usize];
        self.answers.read_exact(&mut content).expect("the rest of an answer of hg");
        (channel, content)
    }
}

impl Drop for HgServer {
    fn drop(&mut self) {
        // hg ends at the end of its input.
        self.requests.take();
        let _ = self.process.wait();
    }
}
