//! What a web page of a forge reads, as commands of git.

use std::{
    ffi::OsString,
    fs,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

use super::{
    super::{
        Caches, OutputForm, Prepared, Step, StepInput, StockError, StockJob, WebRead, drawn::path_argument, made_once,
        output, revision,
    },
    GitRow,
};

/// How many commits a page of a file's history lists.
const LISTED: &str = "30";

impl GitRow {
    /// The copy with a commit-graph that has changed-path filters, and no other cache.
    fn web_copy(&self) -> Result<&Path, StockError> {
        made_once(&self.web, self.folder.join("web"), |place| {
            self.copy(place)?;
            let mut command = self.command_on(place, Caches::Forge)?;
            output(command.args(["commit-graph", "write", "--reachable", "--changed-paths", "--no-progress"])).map(drop)
        })
    }

    /// The drawn requests of a page, each a process, or all of them one process.
    pub(super) fn web(&self, read: WebRead, job: &StockJob, scratch: &Path) -> Result<Prepared, StockError> {
        let place = self.web_copy()?;
        let requests = job.requests();
        if read == WebRead::FileBatch {
            let mut command = self.command_on(place, Caches::Forge)?;
            command.args(["cat-file", "--batch"]);
            // Before the requests: the start of the process is no part of an answer.
            let names = requests.iter().map(|request| request.name());
            let mut lines: Vec<Vec<u8>> = vec![revision(job)?.as_bytes().to_vec()];
            lines.extend(names);
            let step = Step::timed(command).reading(StepInput::Dialogue(write_lines(scratch, &lines)?));
            return Ok(Prepared::requests(vec![step], OutputForm::Objects));
        }
        let step = |request: &super::super::drawn::Request| {
            let mut command = self.command_on(place, Caches::Forge)?;
            let commit = request.commit.as_str();
            match read {
                WebRead::File | WebRead::FileBatch => {
                    command.args(["cat-file", "blob"]).arg(OsString::from_vec(request.name()))
                }
                WebRead::Blame => {
                    command.args(["blame", "--porcelain", commit, "--"]).arg(path_argument(&request.path))
                }
                WebRead::Log => command
                    .args(["--literal-pathspecs", "log", "-n", LISTED, commit, "--"])
                    .arg(path_argument(&request.path)),
                WebRead::Archive => command.args(["archive", "--format=tar", commit]),
            };
            Ok(Step::timed(command))
        };
        let steps = requests.iter().map(step).collect::<Result<_, StockError>>()?;
        Ok(Prepared::requests(steps, OutputForm::Text))
    }
}

fn write_lines(scratch: &Path, lines: &[Vec<u8>]) -> Result<PathBuf, StockError> {
    let file = scratch.join("requests");
    let mut text = lines.join(&b'\n');
    text.push(b'\n');
    fs::write(&file, text).map_err(|error| StockError::files("write", &file, error))?;
    Ok(file)
}
