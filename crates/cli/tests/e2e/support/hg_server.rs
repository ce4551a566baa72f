//! An hg that answers many questions: starting one takes a fifth of a second.
//!
//! Source: `hg help -e` has nothing on it; the protocol is described in Mercurial's wiki under CommandServer. What either side says
//! comes in frames: the server's begin with a channel (`o` output, `e` errors, `r` the result) and a length in four bytes, big-endian.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::hg::{self, Revision, Revlog, Version};
use super::program::{Outcome, exit};

/// Servers in no repository that nobody asks just now.
static IDLE: Mutex<Vec<(Version, HgServer)>> = Mutex::new(Vec::new());

/// Runs one command of hg, whatever comes of it, in a server that was started for it or for another before.
#[track_caller]
pub(crate) fn ask(version: Version, arguments: impl IntoIterator<Item = OsString>) -> Outcome {
    let idle = || IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let found = {
        let mut idle = idle();
        idle.iter().position(|(of, _)| *of == version).map(|place| idle.swap_remove(place).1)
    };
    let mut server = found.unwrap_or_else(|| {
        let mut command = hg::command_anywhere(version);
        command.current_dir("/");
        HgServer::of(command)
    });
    let outcome = server.run(arguments);
    idle().push((version, server));
    outcome
}

/// A running hg. It is started in the root of its repository, so that names of files are relative to that.
pub(crate) struct HgServer {
    process: Child,
    requests: Option<ChildStdin>,
    answers: ChildStdout,
}

impl HgServer {
    /// Starts the newest hg, which takes censored content for empty: else it writes no revision that has any.
    #[track_caller]
    pub(crate) fn newest(repo: &Path) -> Self {
        Self::start_with(Version::V72, repo, &["--config", "censor.policy=ignore"])
    }

    /// Starts stock hg in `repo`.
    #[track_caller]
    pub(crate) fn start(version: Version, repo: &Path) -> Self {
        Self::start_with(version, repo, &[])
    }

    /// The same with options of hg's.
    #[track_caller]
    pub(crate) fn start_with(version: Version, repo: &Path, options: &[&str]) -> Self {
        let mut command = hg::command(version, repo);
        command.args(options).current_dir(repo);
        Self::of(command)
    }

    /// The server that `command` starts, which lacks the words that make one of it.
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

    /// Runs one command, whatever comes of it.
    #[track_caller]
    pub(crate) fn run<I: AsRef<OsStr>>(&mut self, arguments: impl IntoIterator<Item = I>) -> Outcome {
        let arguments: Vec<OsString> = arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
        let joined = arguments.iter().map(|argument| argument.as_bytes()).collect::<Vec<_>>().join(&0);
        let length = u32::try_from(joined.len()).expect("a short command").to_be_bytes();
        let request = [b"runcommand\n".as_slice(), &length, &joined].concat();
        self.tell(&request);
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        loop {
            match self.frame() {
                (b'o', text) => stdout.extend(text),
                (b'e', text) => stderr.extend(text),
                (b'r', code) => {
                    let code = i32::from_be_bytes(code.try_into().expect("a result of four bytes"));
                    return Outcome { code: Some(code), stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() };
                }
                // It asks for input, and gets none.
                _ => self.tell(&[0; 4]),
            }
        }
    }

    #[track_caller]
    fn tell(&mut self, request: &[u8]) {
        let requests = self.requests.as_mut().expect("a running hg");
        requests.write_all(request).and_then(|()| requests.flush()).expect("a running hg");
    }

    /// Runs one command and gives its standard output; fails the test when hg fails.
    #[track_caller]
    pub(crate) fn output<I: AsRef<OsStr>>(&mut self, arguments: impl IntoIterator<Item = I>) -> Vec<u8> {
        self.run(arguments).exits(exit::OK).stdout
    }

    /// As `output`, as lines of text.
    #[track_caller]
    pub(crate) fn lines(&mut self, arguments: &[&str]) -> Vec<String> {
        String::from_utf8_lossy(&self.output(arguments)).lines().map(str::to_owned).collect()
    }

    /// What `hg verify` says, as [`hg::verify`] gives it.
    #[track_caller]
    pub(crate) fn verify(&mut self) -> (Option<i32>, Vec<String>) {
        let outcome = self.run(["verify"]);
        let mut lines: Vec<String> = outcome.text().lines().chain(outcome.stderr.lines()).map(str::to_owned).collect();
        lines.sort();
        (outcome.code, lines)
    }

    /// Every changeset, as [`hg::changesets`] gives them.
    #[track_caller]
    pub(crate) fn changesets(&mut self) -> String {
        let arguments = ["log", "--hidden", "-r", "all()", "-T", hg::CHANGESET];
        String::from_utf8_lossy(&self.output(arguments)).into_owned()
    }

    /// Writes a revision's files into `folder`, as [`hg::archive`] does.
    #[track_caller]
    pub(crate) fn archive(&mut self, revision: &str, folder: &Path) {
        let options = ["--hidden", "--config", "ui.archivemeta=no", "archive", "--type", "files", "-r", revision];
        self.output(options.into_iter().map(OsStr::new).chain([folder.as_os_str()]));
    }

    /// A revlog's index; nothing of one without revisions.
    #[track_caller]
    pub(crate) fn index(&mut self, revlog: &Revlog) -> Vec<Revision> {
        let options = ["debugindex", "--debug"].map(OsString::from);
        let outcome = self.run(options.into_iter().chain(revlog.arguments()));
        if outcome.stderr.contains("cannot give path to non-revlog") {
            return Vec::new();
        }
        let listing = outcome.exits(exit::OK).stdout;
        hg::parse_index(&String::from_utf8_lossy(&listing))
    }

    /// A revision's full text as the revlog holds it, metadata included.
    #[track_caller]
    pub(crate) fn data(&mut self, revlog: &Revlog, revision: usize) -> Outcome {
        let arguments = [OsString::from("debugdata")].into_iter().chain(revlog.arguments());
        self.run(arguments.chain([revision.to_string().into()]))
    }

    /// One frame of hg's: the channel, and what it says there.
    #[track_caller]
    fn frame(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 5];
        self.answers.read_exact(&mut head).expect("an answer of hg");
        let [channel, length @ ..] = head;
        // For an upper-case channel, which asks for input, the length is of what is asked for.
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
        // At the end of its input hg ends.
        self.requests.take();
        let _ = self.process.wait();
    }
}
