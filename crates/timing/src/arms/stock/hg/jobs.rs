//! The jobs that only hg has: what a server does with a push, what a developer does all day, and the stream clone.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::{
    super::{
        Caches, HgJob, OutputForm, Prepared, Step, StockError, StockJob, copies::copy_repository, output, revision,
    },
    HgRow,
    drawn::{ChangedFile, pattern, place_in},
    remove,
};

/// What makes the id of a commit the same in every row.
const COMMIT: [&str; 8] =
    ["commit", "-q", "--message", "A change by repackbench", "--user", "repackbench", "--date", "1600000000 0"];

impl HgRow {
    /// One of hg's own jobs in the folder `scratch`.
    pub(super) fn own_job(&self, what: HgJob, job: &StockJob, scratch: &Path) -> Result<Prepared, StockError> {
        let place = scratch.join("repository");
        match what {
            HgJob::Unbundle => self.unbundle(job, &place),
            HgJob::Commit => self.commit(job, &place),
            HgJob::Annotate => self.annotate(job),
            HgJob::StreamClone => self.stream_clone(job, scratch, &place),
        }
    }

    /// Takes the newest changesets in, as a server does with a push.
    fn unbundle(&self, job: &StockJob, place: &Path) -> Result<Prepared, StockError> {
        let missing = || StockError::refused(format!("{}: no bundle was made", job.label.name));
        let bundle = job.drawn.bundle.as_ref().ok_or_else(missing)?;
        copy_hg(self.without_newest(job)?, place)?;
        let mut command = self.command_on(place);
        command.args(["unbundle", "-q"]).arg(bundle);
        let prepared = Prepared::of(command, OutputForm::Text, self.changesets_of(place));
        Ok(Prepared { grows: Some(store(place)), ..prepared })
    }

    /// Commits the drawn change on the job's revision.
    fn commit(&self, job: &StockJob, place: &Path) -> Result<Prepared, StockError> {
        copy_hg(self.copy_for(job)?, place)?;
        // As after an update, without the files that are not changed. Those are named, so hg looks for no others.
        output(self.command_on(place).args(["debugrebuilddirstate", "-q", "-r", revision(job)?]))?;
        if job.caches == Caches::Off {
            remove(&place.join(".hg").join("cache"))?;
            remove(&place.join(".hg").join("wcache"))?;
        }
        let mut command = self.command_on(place);
        command.args(COMMIT);
        for file in &job.drawn.changes {
            write(file, place)?;
            command.arg(pattern(&file.path));
        }
        let prepared = Prepared::of(command, OutputForm::Text, self.changesets_of(place));
        Ok(Prepared { grows: Some(store(place)), ..prepared })
    }

    /// Who wrote each line of the drawn files, each a process.
    fn annotate(&self, job: &StockJob) -> Result<Prepared, StockError> {
        let from = self.copy_for(job)?;
        let steps = job.requests().iter().map(|request| {
            let mut command = self.command_on(from);
            command.args(["annotate", "--changeset", "--line-number", "-r", &request.commit]);
            command.arg(pattern(&request.path));
            Step::timed(command)
        });
        Ok(Prepared::requests(steps.collect(), OutputForm::Text))
    }

    /// Writes the stream of a clone as a server sends it, and takes it in as a client does.
    fn stream_clone(&self, job: &StockJob, scratch: &Path, place: &Path) -> Result<Prepared, StockError> {
        let stream = scratch.join("stream");
        output(self.command().args(["init", "-q"]).arg(place))?;
        let mut send = self.command_on(self.copy_for(job)?);
        send.args(["debugcreatestreamclonebundle", "-q"]).arg(&stream);
        let mut receive = self.command_on(place);
        receive.args(["debugapplystreamclonebundle", "-q"]).arg(&stream);
        Ok(Prepared {
            steps: vec![Step::timed(send), Step::timed(receive)],
            // Lengths, which depend on the codec.
            form: OutputForm::Nothing,
            made: self.changesets_of(place),
            has_requests: false,
            grows: Some(store(place)),
            sends: Some(stream),
        })
    }
}

impl HgJob {
    /// Whether it compresses what it writes.
    pub(super) fn encodes(self) -> bool {
        matches!(self, HgJob::Unbundle | HgJob::Commit)
    }
}

fn store(root: &Path) -> PathBuf {
    root.join(".hg").join("store")
}

/// Copies the `.hg` of the repository `from` into the new work tree `to`.
fn copy_hg(from: &Path, to: &Path) -> Result<(), StockError> {
    fs::create_dir(to).map_err(|error| StockError::files("create", to, error))?;
    copy_repository(&from.join(".hg"), &to.join(".hg"))
}

fn write(file: &ChangedFile, root: &Path) -> Result<(), StockError> {
    let refused = || StockError::refused(format!("{}: not a path in a work tree", String::from_utf8_lossy(&file.path)));
    let place = place_in(root, &file.path).ok_or_else(refused)?;
    let folder = place.parent().unwrap_or(root);
    let mode = if file.is_executable { 0o755 } else { 0o644 };
    let written = fs::create_dir_all(folder)
        .and_then(|()| fs::write(&place, &file.content))
        .and_then(|()| fs::set_permissions(&place, Permissions::from_mode(mode)));
    written.map_err(|error| StockError::files("write", &place, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_written_with_its_mode() {
        let tree = tempfile::tempdir().unwrap();
        let file =
            |path: &str, is_executable| ChangedFile { path: path.into(), content: b"x\n".to_vec(), is_executable };
        for (path, is_executable, mode) in [("a/b", false, 0o644), ("run", true, 0o755)] {
            write(&file(path, is_executable), tree.path()).unwrap();
            let found = fs::metadata(tree.path().join(path)).unwrap();
            assert_eq!((found.permissions().mode() & 0o777, found.len()), (mode, 2), "{path}");
        }
        let outside = write(&file("../c", false), tree.path()).unwrap_err().to_string();
        assert!(outside.contains("../c: not a path in a work tree"), "{outside}");
    }
}
