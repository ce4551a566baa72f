//! hg as a server for many commands.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use self::protocol::{Answer, CommandServer, Pool};
use super::super::program::{Outcome, exit};
use super::{Revision, Revlog, Version};

#[path = "../../../../../../fixtures/hg_server.rs"]
mod protocol;

/// Runs one command of hg, which may fail, on an idle or a new server.
#[track_caller]
pub(crate) fn ask(version: Version, arguments: impl IntoIterator<Item = OsString>) -> Outcome {
    static POOL: Pool<Version> = Pool::new();
    outcome(POOL.run(version, || super::command_anywhere(version), arguments))
}

fn outcome(Answer { code, stdout, stderr }: Answer) -> Outcome {
    Outcome { code: Some(code), stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() }
}

/// A running hg. It runs in the root of its repository, so that file names are relative to that.
pub(crate) enum HgServer {
    /// Its own process.
    Own(CommandServer),
    /// Any idle server, with options that name the repository.
    Shared(Version, Vec<OsString>),
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
        if super::loads_extensions(repo, options) {
            let mut command = super::command(version, repo);
            command.args(options).current_dir(repo);
            return Self::of(command);
        }
        let place = [OsStr::new("--cwd"), repo.as_os_str(), OsStr::new("-R"), repo.as_os_str()];
        let all = place.into_iter().chain(options.iter().map(OsStr::new));
        HgServer::Shared(version, all.map(OsStr::to_owned).collect())
    }

    /// Starts `command` as a server.
    #[track_caller]
    pub(crate) fn of(command: Command) -> Self {
        HgServer::Own(CommandServer::start(command))
    }

    /// Runs one command, which may fail.
    #[track_caller]
    pub(crate) fn run<I: AsRef<OsStr>>(&mut self, arguments: impl IntoIterator<Item = I>) -> Outcome {
        match self {
            HgServer::Own(server) => outcome(server.run(arguments)),
            HgServer::Shared(version, place) => {
                let arguments = arguments.into_iter().map(|argument| argument.as_ref().to_owned());
                ask(*version, place.iter().cloned().chain(arguments))
            }
        }
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
}
