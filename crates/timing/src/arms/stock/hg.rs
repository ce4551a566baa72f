//! Jobs as commands of hg.
//!
//! - `drawn`: what a session draws from history;
//! - `jobs`: the jobs that git does not have by these names;
//! - `revset`: one changeset of a revset.

mod drawn;
mod jobs;
mod revset;

use std::{
    cell::OnceCell,
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::Command,
    rc::Rc,
};

use repackbench_client::{ClientError, HgProgram, check_hg, settings_to_read};
use repackbench_reader::{
    ObjectKind, ReaderError,
    hg::{HgRepository, revlog::Revlog},
};
use repackbench_records::{Client, ClientKind, Vcs};
use repackbench_writer::copy_as_owner;

pub(crate) use self::drawn::{ChangedFile, DrawFromHg, HgNeeds};
pub use self::revset::last_of_revset;
use super::{
    Caches, Made, Prepared, Receiver, StockClient, StockError, StockJob, StockWorkload, copies::copy_repository,
    made_once, output, output::OutputForm, revision,
};
use crate::workloads::WorkloadSpec;

/// The requirements of current layouts, each with the setting that makes hg create a repository without it.
pub const LATER_LAYOUTS: [(&str, &str); 2] =
    [("generaldelta", "format.usegeneraldelta=no"), ("sparserevlog", "format.sparse-revlog=no")];

/// The hg of a session.
#[derive(Debug)]
pub(crate) struct Hg {
    program: HgProgram,
    /// A folder for files that live as long as the session.
    scratch: PathBuf,
}

impl Hg {
    /// Finds the hg that `program` names; `scratch` is an empty folder that outlives it.
    pub(crate) fn new(program: &OsStr, extension: Option<&Path>, scratch: &Path) -> Result<Self, StockError> {
        Ok(Hg { program: HgProgram::new(program, extension)?, scratch: scratch.to_owned() })
    }

    pub(crate) fn name(&self) -> &str {
        self.program.name()
    }

    pub(crate) fn has_extension(&self) -> bool {
        self.program.extension().is_some()
    }

    /// A command in isolation, without a repository. Files that it keeps outside of repositories, such as large files,
    /// go to the session's folder.
    fn command(&self) -> Command {
        let mut command = self.program.command();
        command.env("HOME", &self.scratch).env_remove("XDG_CACHE_HOME").current_dir(&self.scratch);
        command
    }
}

/// hg on one variant, with the extension or without.
#[derive(Debug)]
pub(crate) struct HgRow {
    hg: Rc<Hg>,
    client: Client,
    /// The repository: the parent of `.hg`.
    root: PathBuf,
    /// The codec of new revlogs.
    codec: Option<String>,
    /// The settings that let hg read the repository, and give one that it makes the same layout.
    layout: Vec<&'static str>,
    /// A folder for files that live as long as the session.
    folder: PathBuf,
    /// A copy without hg's caches, and one with them.
    bare: OnceCell<PathBuf>,
    forge: OnceCell<PathBuf>,
    /// A repository that lacks the newest changesets.
    without_newest: OnceCell<PathBuf>,
}

impl HgRow {
    /// hg on `repository`, whose codec is `codec` if it is known. `number` is the number of the row.
    pub(crate) fn new(
        hg: &Rc<Hg>,
        repository: &HgRepository,
        codec: Option<&str>,
        has_extension: bool,
        number: usize,
    ) -> Result<Self, StockError> {
        let extension = hg.program.extension().filter(|_| has_extension);
        check_hg(repository, extension)?;
        let mut layout = layout_settings(|later| repository.requirements().contains(later));
        layout.extend(settings_to_read(repository));
        let root = repository.hg_dir().parent().unwrap_or(repository.hg_dir());
        let root = fs::canonicalize(root).map_err(|error| StockError::files("find", root, error))?;
        let folder = hg.scratch.join(format!("row-{number}"));
        fs::create_dir(&folder).map_err(|error| StockError::files("create", &folder, error))?;
        let client = Client {
            kind: ClientKind::Stock,
            program: hg.program.name().to_owned(),
            version: hg.program.banner().to_owned(),
            library: extension.is_some(),
            zlib: String::new(),
            helps: Vec::new(),
        };
        Ok(HgRow {
            hg: Rc::clone(hg),
            client,
            root,
            codec: codec.map(str::to_owned),
            layout,
            folder,
            bare: OnceCell::new(),
            forge: OnceCell::new(),
            without_newest: OnceCell::new(),
        })
    }

    /// hg with the row's codec and layout, without a repository.
    fn command(&self) -> Command {
        let mut command = self.hg.command();
        for setting in &self.layout {
            command.args(["--config", setting]);
        }
        match (self.hg.program.extension(), &self.codec) {
            (Some(extension), codec) if self.client.library => {
                HgProgram::extend(&mut command, extension, codec.as_deref());
            }
            (_, Some(codec)) => {
                let (name, level) = codec.split_once(':').unwrap_or((codec, ""));
                let engine = if name == "store" { "none" } else { name };
                command.args(["--config", &format!("format.revlog-compression={engine}")]);
                if !level.is_empty() {
                    command.args(["--config", &format!("storage.revlog.{engine}.level={level}")]);
                }
            }
            _ => {}
        }
        command
    }

    fn command_on(&self, root: &Path) -> Command {
        let mut command = self.command();
        command.arg("-R").arg(root);
        command
    }

    /// The copy that a job reads. hg would write its caches into the variant.
    fn copy_for(&self, job: &StockJob) -> Result<&Path, StockError> {
        if job.caches == Caches::Forge {
            return made_once(&self.forge, self.folder.join("forge"), |place| {
                self.copy(place)?;
                output(self.command_on(place).arg("debugupdatecaches")).map(drop)
            });
        }
        let place = made_once(&self.bare, self.folder.join("bare"), |place| self.copy(place))?;
        // The caches of the previous run.
        remove(&place.join(".hg").join("cache"))?;
        Ok(place)
    }

    /// Makes a copy at `place` of what is stored: without configuration, caches and files of the work tree.
    fn copy(&self, place: &Path) -> Result<(), StockError> {
        copy_store(&HgRepository::open(&self.root).map_err(ClientError::from)?, place)
    }

    /// Makes a work tree at `tree`, without files, that shares the store of the repository `root`, as `hg share` does.
    fn share(&self, root: &Path, tree: &Path) -> Result<(), StockError> {
        let (from, to) = (root.join(".hg"), tree.join(".hg"));
        let failed = |error| StockError::files("create", &to, error);
        fs::create_dir_all(&to).map_err(failed)?;
        let path = from.join("requires");
        let mut requirements = fs::read(&path).map_err(|error| StockError::files("read", &path, error))?;
        requirements.extend(b"shared\n");
        fs::write(to.join("requires"), requirements).map_err(failed)?;
        fs::write(to.join("sharedpath"), from.as_os_str().as_bytes()).map_err(failed)
    }

    /// A copy that lacks the newest changesets.
    fn without_newest(&self, job: &StockJob) -> Result<&Path, StockError> {
        let from = self.copy_for(job)?;
        made_once(&self.without_newest, self.folder.join("old"), |place| {
            let oldest = before_newest(self.command_on(from), revision(job)?, job.commits.unwrap_or_default())?;
            let mut command = self.command();
            command.args(["clone", "-q", "--pull", "-U", "-r", &oldest]).arg(from).arg(place);
            output(&mut command).map(drop)
        })
    }

    fn log(&self, job: &StockJob, arguments: &[&str]) -> Result<Prepared, StockError> {
        let mut command = self.command_on(self.copy_for(job)?);
        command.arg("log").args(arguments).args(["-r", &format!("reverse(::{})", revision(job)?)]);
        if let Some(commits) = job.commits {
            command.args(["-l", &commits.to_string()]);
        }
        Ok(Prepared::of(command, OutputForm::Text, Made::Nothing))
    }

    /// The changesets of a repository that a command made, with the command that lists them.
    fn changesets_of(&self, root: &Path) -> Made {
        let mut command = self.command_on(root);
        command.args(["log", "-r", "all()", "-T", "{node} {manifest} {files}\n"]);
        Made::Changesets { root: root.to_owned(), list: Box::new(command) }
    }
}

impl StockClient for HgRow {
    fn client(&self) -> &Client {
        &self.client
    }

    fn scratch(&self) -> &Path {
        &self.folder
    }

    fn is_for(&self, job: &StockJob) -> bool {
        // Without a codec it could not write.
        let writes = match job.workload {
            StockWorkload::Repack | StockWorkload::Clone(_) | StockWorkload::Fetch(_) => true,
            StockWorkload::Hg(own) => own.encodes(),
            _ => false,
        };
        !(writes && self.codec.is_none()) && job.workload.is_of(Vcs::Mercurial)
    }

    fn start(&self) -> Result<Command, StockError> {
        let mut command = self.command();
        command.args(["version", "-q"]);
        Ok(command)
    }

    fn prepare(&self, job: &StockJob, scratch: &Path) -> Result<Prepared, StockError> {
        let form = OutputForm::Text;
        let place = scratch.join("repository");
        match &job.workload {
            StockWorkload::Replayed(WorkloadSpec::Checkout) => {
                self.share(self.copy_for(job)?, &place)?;
                let mut command = self.command_on(&place);
                command.args(["update", "-q", "-r", revision(job)?]);
                Ok(Prepared::of(command, form, Made::Files(place)))
            }
            StockWorkload::Replayed(WorkloadSpec::RawDiff) => {
                let template =
                    "commit {node}\n{file_mods % 'M {file}\n'}{file_adds % 'A {file}\n'}{file_dels % 'D {file}\n'}";
                self.log(job, &["-T", template])
            }
            StockWorkload::Replayed(WorkloadSpec::PatchDiff) => {
                self.log(job, &["-p", "--git", "-T", "commit {node}\n"])
            }
            StockWorkload::Fsck => {
                let mut command = self.command_on(self.copy_for(job)?);
                command.arg("verify");
                Ok(Prepared::of(command, OutputForm::Lines, Made::Nothing))
            }
            StockWorkload::Repack => {
                self.copy(&place)?;
                let mut command = self.command_on(&place);
                command.args(["debugupgraderepo", "-q", "--run", "--no-backup", "--optimize", "re-delta-all"]);
                Ok(Prepared::of(command, OutputForm::Nothing, self.changesets_of(&place)))
            }
            StockWorkload::Clone(Receiver::Same) => {
                let mut command = self.command();
                command.args(["clone", "-q", "--pull", "-U"]).arg(self.copy_for(job)?).arg(&place);
                Ok(Prepared::of(command, form, self.changesets_of(&place)))
            }
            StockWorkload::Fetch(Receiver::Same) => {
                fs::create_dir(&place).map_err(|error| StockError::files("create", &place, error))?;
                copy_repository(&self.without_newest(job)?.join(".hg"), &place.join(".hg"))?;
                let mut command = self.command_on(&place);
                command.args(["pull", "-q", "-r", revision(job)?]).arg(self.copy_for(job)?);
                Ok(Prepared::of(command, form, self.changesets_of(&place)))
            }
            StockWorkload::Hg(own) => self.own_job(*own, job, scratch),
            other => Err(StockError::refused(format!("{other}: hg has no command for that"))),
        }
    }
}

/// Copies what is stored in `repository` to `place`: without configuration, caches and files of the work tree.
fn copy_store(repository: &HgRepository, place: &Path) -> Result<(), StockError> {
    let hg = place.join(".hg");
    for (from, _) in repository.files().map_err(ClientError::from)? {
        let to = hg.join(from.strip_prefix(repository.hg_dir()).unwrap_or(&from));
        let folder = to.parent().unwrap_or(&hg);
        let made = fs::create_dir_all(folder).and_then(|()| copy_as_owner(&from, &to));
        made.map_err(|error| StockError::files("copy to", &to, error))?;
    }
    Ok(())
}

/// The changeset before the newest `commits` of the ancestors of `head`. `command` is hg on the repository.
fn before_newest(mut command: Command, head: &str, commits: u64) -> Result<String, StockError> {
    let revisions = format!("first(reverse(first(reverse(::{head}), {})), 1)", commits.saturating_add(1));
    let oldest = output(command.args(["log", "-T", "{node}", "-r", &revisions]))?;
    Ok(String::from_utf8_lossy(&oldest).into_owned())
}

/// The number of changesets of the repository at `root`, including hidden ones. Read by this program, since starting hg
/// takes as long as a small job.
pub(crate) fn changesets(root: &Path) -> Result<u64, ReaderError> {
    let repository = HgRepository::open(root)?;
    match repository.revlogs().iter().find(|files| files.kind == ObjectKind::Changelog) {
        Some(files) => Ok(Revlog::open(files)?.len() as u64),
        None => Ok(0),
    }
}

/// The settings that make hg create a repository without the current layouts that the source lacks.
fn layout_settings(has: impl Fn(&str) -> bool) -> Vec<&'static str> {
    LATER_LAYOUTS.iter().filter(|(later, _)| !has(later)).map(|(_, setting)| *setting).collect()
}

/// Removes a file or folder if it exists.
fn remove(path: &Path) -> Result<(), StockError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    removed.map_err(|error| StockError::files("remove", path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_made_by_hg_have_the_layout_of_the_source() {
        assert_eq!(layout_settings(|_| true), [""; 0]);
        assert_eq!(layout_settings(|later| later == "generaldelta"), ["format.sparse-revlog=no"]);
        assert_eq!(layout_settings(|_| false), ["format.usegeneraldelta=no", "format.sparse-revlog=no"]);
    }
}
