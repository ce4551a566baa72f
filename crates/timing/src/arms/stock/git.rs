//! Jobs as commands of git.
//!
//! - `web`: what a web page of a forge reads;
//! - `maintenance`: what a server does with pushes.

mod maintenance;
mod web;

use std::{
    cell::OnceCell,
    ffi::{OsStr, OsString},
    fs,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::PermissionsExt,
    },
    path::{Path, PathBuf},
    process::Command,
    rc::Rc,
};

use repackbench_client::{GitClient, Zlib, clients_write};
use repackbench_codec::CodecSpec;
use repackbench_reader::git::GitRepository;
use repackbench_records::{Client, ClientKind};
use repackbench_writer::git::metadata::isolate;

use super::{
    Caches, Git, GitFeature, Made, Prepared, Receiver, Step, StepInput, StockClient, StockError, StockJob,
    StockWorkload,
    copies::{bytes_of, copy_repository},
    made_once, name_hashes, output,
    output::OutputForm,
    revision,
};
use crate::workloads::{WorkloadError, WorkloadSpec};

/// The name of a multi-pack-index, with which those of its other files begin.
const MULTI_PACK_INDEX: &str = "multi-pack-index";

/// The protocols that git may speak: none in isolation, and that of [`url`] for sending and receiving.
const ALLOWED: &str = "GIT_ALLOW_PROTOCOL";

/// How git reads a row.
#[derive(Debug, Clone)]
pub(crate) struct GitReader {
    /// The zlib of the library; `None` without the library.
    pub(crate) zlib: Option<Zlib>,
    /// The features of git that it uses.
    pub(crate) features: Vec<GitFeature>,
}

/// git on one variant, with the library or without.
#[derive(Debug)]
pub(crate) struct GitRow {
    git: Rc<Git>,
    client: Client,
    /// git with the library; `None` without.
    library: Option<GitClient>,
    /// The variant, or for the source a repository on its objects, whose configuration names no program.
    git_dir: PathBuf,
    /// Whether git without the library reads it.
    is_plain: bool,
    /// Whether git writes with the codec of the variant.
    writes: bool,
    is_source: bool,
    features: Vec<GitFeature>,
    /// A folder for files that live as long as the session.
    folder: PathBuf,
    /// A copy with commit-graph and bitmaps.
    forge: OnceCell<PathBuf>,
    /// A repository that lacks the newest commits, and one that has them loose.
    without_newest: OnceCell<PathBuf>,
    with_loose: OnceCell<PathBuf>,
    /// A copy with a commit-graph that has changed-path filters.
    web: OnceCell<PathBuf>,
    /// The variant before the stream of pushes, and after it.
    before_stream: OnceCell<PathBuf>,
    after_stream: OnceCell<PathBuf>,
}

impl GitRow {
    /// git on `repository`, with the library if `reader` has a zlib. It writes with `spec` if there is one. `number` is
    /// the number of the row.
    pub(crate) fn new(
        git: &Rc<Git>,
        repository: &GitRepository,
        spec: Option<&CodecSpec>,
        reader: &GitReader,
        number: usize,
        is_source: bool,
    ) -> Result<Self, StockError> {
        let GitReader { zlib, features } = reader;
        let folder = git.scratch.join(format!("row-{number}"));
        fs::create_dir(&folder).map_err(|error| StockError::files("create", &folder, error))?;
        let git_dir = match is_source {
            // The configuration may be somebody else's.
            true => {
                git.program.check_owner(repository.git_dir())?;
                let isolated = folder.join("source.git");
                isolate(repository, &isolated).map_err(WorkloadError::from)?;
                isolated
            }
            false => repository.git_dir().to_owned(),
        };
        let git_dir = fs::canonicalize(&git_dir).map_err(|error| StockError::files("find", &git_dir, error))?;
        let mut library = match zlib {
            Some(zlib) => {
                Some(GitClient::with_git(Some(git.program.path().to_owned()), *zlib)?.on(repository, &git_dir)?)
            }
            None => None,
        };
        let is_plain = repository.extension_spec().is_none();
        if let Some(codec) = spec.filter(|spec| clients_write(spec)) {
            library = library.map(|library| library.write_with(Some(repository), codec)).transpose()?;
        }
        let library_writes = library.as_ref().is_some_and(GitClient::writes);
        let client = Client {
            kind: ClientKind::Stock,
            program: git.program.name().to_owned(),
            version: git.program.version().to_owned(),
            library: library.is_some(),
            zlib: zlib.unwrap_or_default().name().to_owned(),
            helps: features.iter().map(GitFeature::to_string).collect(),
        };
        Ok(GitRow {
            git: Rc::clone(git),
            client,
            library,
            git_dir,
            is_plain,
            writes: is_plain && spec.is_none() || library_writes,
            is_source,
            features: features.clone(),
            folder,
            forge: OnceCell::new(),
            without_newest: OnceCell::new(),
            with_loose: OnceCell::new(),
            web: OnceCell::new(),
            before_stream: OnceCell::new(),
            after_stream: OnceCell::new(),
        })
    }

    /// git on the variant.
    fn command(&self, caches: Caches) -> Result<Command, StockError> {
        let mut command = self.git.command(caches);
        if let Some(library) = &self.library {
            library.set_up(&mut command);
        }
        command.env("GIT_DIR", &self.git_dir).env_remove("GIT_WORK_TREE");
        for setting in self.features.iter().filter_map(|feature| feature.setting()) {
            command.args(["-c", &setting]);
        }
        Ok(command)
    }

    /// git on another repository, with the library if the row has it.
    pub(in crate::arms) fn command_on(&self, git_dir: &Path, caches: Caches) -> Result<Command, StockError> {
        let mut command = self.command(caches)?;
        command.env("GIT_DIR", git_dir);
        Ok(command)
    }

    /// git on the variant with the caches of the job.
    fn command_for(&self, job: &StockJob) -> Result<Command, StockError> {
        match self.caches_of(job) {
            Caches::Off => self.command(Caches::Off),
            Caches::Forge => self.command_on(self.forge()?, Caches::Forge),
        }
    }

    /// The repository that the transport of a job serves.
    fn served(&self, job: &StockJob) -> Result<PathBuf, StockError> {
        match self.caches_of(job) {
            Caches::Forge => Ok(self.forge()?.to_owned()),
            Caches::Off => Ok(self.git_dir.clone()),
        }
    }

    /// Makes a copy at `place` that commands may write to.
    fn copy(&self, place: &Path) -> Result<(), StockError> {
        copy_repository(&self.git_dir, place)
    }

    /// Gives an ordinary repository the guard of the variant, so that commands write to it as they write to the
    /// variant.
    pub(in crate::arms) fn guard(&self, place: &Path) -> Result<(), StockError> {
        if self.is_plain {
            return Ok(());
        }
        const KEY: &str = "extensions.repackbench";
        let config = |folder: &Path, words: &[&str]| {
            let mut command = self.git.command(Caches::Off);
            output(command.arg("config").arg("--file").arg(folder.join("config")).args(words))
        };
        let guard = config(&self.git_dir, &["--get", KEY])?;
        config(place, &["core.repositoryFormatVersion", "1"])?;
        config(place, &[KEY, String::from_utf8_lossy(&guard).trim_end()]).map(drop)
    }

    /// The caches of the job. Features of the row that are files beside the packs need those of a forge.
    fn caches_of(&self, job: &StockJob) -> Caches {
        if self.features.iter().any(|feature| feature.has_files()) { Caches::Forge } else { job.caches }
    }

    /// The copy with the caches of a forge, or with the features of the row.
    pub(in crate::arms) fn forge(&self) -> Result<&Path, StockError> {
        made_once(&self.forge, self.folder.join("forge"), |place| {
            self.copy(place)?;
            let all = [GitFeature::CommitGraph, GitFeature::Bitmaps];
            for feature in if self.features.is_empty() { &all[..] } else { &self.features } {
                self.make(*feature, place)?;
            }
            Ok(())
        })
    }

    /// Makes the files of the row's features.
    ///
    /// # Errors
    /// git cannot make them.
    pub(crate) fn make_features(&self) -> Result<(), StockError> {
        if self.features.iter().any(|feature| feature.has_files()) { self.forge().map(drop) } else { Ok(()) }
    }

    /// The length of the files of the row's features.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) fn feature_bytes(&self) -> Result<u64, StockError> {
        match self.forge.get() {
            Some(forge) => {
                Ok(bytes_of(&forge.join("objects"))?.saturating_sub(bytes_of(&self.git_dir.join("objects"))?))
            }
            None => Ok(0),
        }
    }

    fn make(&self, feature: GitFeature, place: &Path) -> Result<(), StockError> {
        let Some(words) = feature.command() else { return Ok(()) };
        let mut command = self.command_on(place, Caches::Forge)?;
        output(command.args(words))?;
        if feature == GitFeature::Bitmaps {
            let pack_folder = place.join("objects").join("pack");
            let bitmap = multi_pack_bitmap(&pack_folder)?.ok_or_else(|| {
                let why = "wrote no bitmap, as some reachable objects are not in packs; repack the repository first";
                StockError::failed(&command, why)
            })?;
            let mut list = self.command_on(place, Caches::Forge)?;
            list.args(["rev-list", "--objects", "--all"]);
            name_hashes::fill(&bitmap, &pack_folder.join(MULTI_PACK_INDEX), &mut list)?;
        }
        Ok(())
    }

    /// The ancestor of the job's revision, as many commits back as the job looks at, by first parents.
    fn commit_before(&self, job: &StockJob) -> Result<String, StockError> {
        let (revision, commits) = (revision(job)?, job.commits.unwrap_or_default());
        let mut command = self.command(Caches::Off)?;
        let name = format!("{revision}~{commits}^{{commit}}");
        let said = output(command.args(["rev-parse", "--verify", &name])).map_err(|_| {
            StockError::refused(format!(
                "{}: {revision} has fewer than {commits} commits before it; use a smaller --commits",
                job.label.name
            ))
        })?;
        Ok(String::from_utf8_lossy(&said).trim_end().to_owned())
    }

    /// A bare repository with all except the newest commits.
    fn without_newest(&self, job: &StockJob) -> Result<&Path, StockError> {
        made_once(&self.without_newest, self.folder.join("old"), |place| {
            let before = self.commit_before(job)?;
            self.init(place)?;
            let mut fetch = self.transport(job, Receiver::Zlib)?;
            fetch.env("GIT_DIR", place).args(["fetch", "-q", "--upload-pack"]).arg(self.upload_pack()?);
            output(fetch.arg(url(&self.served(job)?)).arg(format!("{before}:refs/heads/main"))).map(drop)
        })
    }

    /// A repository with the newest commits loose beside a pack.
    fn with_loose(&self, job: &StockJob) -> Result<&Path, StockError> {
        let old = self.without_newest(job)?;
        made_once(&self.with_loose, self.folder.join("loose"), |place| {
            copy_repository(old, place)?;
            self.guard(place)?;
            let mut fetch = self.command_on(place, self.caches_of(job))?;
            fetch.env_remove("GIT_INDEX_FILE").env(ALLOWED, "file");
            fetch.args(["-c", "fetch.unpackLimit=1000000000", "fetch", "-q", "--upload-pack"]);
            fetch.arg(self.upload_pack()?).arg(url(&self.served(job)?));
            output(fetch.arg(format!("{}:refs/heads/main", revision(job)?))).map(drop)
        })
    }

    /// Makes an empty bare repository with the hash of the measured one.
    fn init(&self, place: &Path) -> Result<(), StockError> {
        // An id of another hash is no id to the receiver.
        let hash = output(self.command(Caches::Off)?.args(["rev-parse", "--show-object-format"]))?;
        let hash = format!("--object-format={}", String::from_utf8_lossy(&hash).trim_end());
        let mut command = self.git.command(Caches::Off);
        output(command.args(["init", "-q", "--bare", &hash]).arg(place)).map(drop)
    }

    /// git as the receiver, not in a repository of this program.
    fn transport(&self, job: &StockJob, receiver: Receiver) -> Result<Command, StockError> {
        let mut command = match receiver {
            Receiver::Zlib => self.git.command(self.caches_of(job)),
            Receiver::Same => self.command(self.caches_of(job))?,
        };
        command.env_remove("GIT_DIR").env_remove("GIT_INDEX_FILE").env(ALLOWED, "file");
        Ok(command)
    }

    /// The program of the sending side, quoted for the shell that git starts: git with the library if the row has it,
    /// whoever receives.
    fn upload_pack(&self) -> Result<OsString, StockError> {
        let place = self.folder.join("upload-pack");
        let in_shell = OsString::from_vec(quoted(place.as_os_str()));
        if place.exists() {
            return Ok(in_shell);
        }
        let environment = self.library.as_ref().map(GitClient::environment).unwrap_or_default();
        let mut script = b"#!/bin/sh\n".to_vec();
        for (name, value) in environment.iter().filter(|(name, _)| *name != "GIT_DIR") {
            match value {
                Some(value) => script.extend([b"export ", name.as_bytes(), b"=", &quoted(value), b"\n"].concat()),
                None => script.extend([b"unset ", name.as_bytes(), b"\n"].concat()),
            }
        }
        script.extend(
            [b"exec ", quoted(self.git.program.path().as_os_str()).as_slice(), b" upload-pack \"$@\"\n"].concat(),
        );
        let made =
            fs::write(&place, script).and_then(|()| fs::set_permissions(&place, PermissionsExt::from_mode(0o755)));
        made.map_err(|error| StockError::files("write", &place, error))?;
        Ok(in_shell)
    }

    /// The command that lists all objects of a repository.
    fn objects_of(&self, git_dir: &Path) -> Result<Made, StockError> {
        let mut command = self.command_on(git_dir, Caches::Off)?;
        command.args(["cat-file", "--batch-check", "--batch-all-objects"]);
        Ok(Made::Objects(Box::new(command)))
    }

    fn replayed(&self, spec: &WorkloadSpec, job: &StockJob, scratch: &Path) -> Result<Prepared, StockError> {
        let mut command = self.command_for(job)?;
        let (mut form, mut input) = (OutputForm::Text, None);
        let log = |command: &mut Command, arguments: &[&str]| {
            command.args(["log", "--no-renames", "--no-textconv"]).args(arguments);
            if let Some(commits) = job.commits {
                command.arg(format!("-n{commits}"));
            }
            command.arg(revision(job)?);
            Ok::<(), StockError>(())
        };
        match spec {
            WorkloadSpec::Checkout => return self.checkout(command, job, scratch),
            WorkloadSpec::Traverse | WorkloadSpec::TraverseCount => {
                // Variants have no other work trees, the HEADs of which would count.
                command.args(["rev-list", "--single-worktree", "--objects", "--all"]);
                if let Some(commits) = job.commits {
                    command.arg(format!("-n{commits}"));
                }
                if *spec == WorkloadSpec::TraverseCount {
                    command.arg("--count");
                } else if job.has_features {
                    // Bitmaps have no names.
                    command.arg("--no-object-names");
                    form = OutputForm::Lines;
                }
                if job.caches == Caches::Forge || self.features.contains(&GitFeature::Bitmaps) {
                    command.arg("--use-bitmap-index");
                    form = OutputForm::Lines;
                }
            }
            WorkloadSpec::RawDiff => log(&mut command, &["--raw", "--no-abbrev", "--format=commit %H"])?,
            WorkloadSpec::PickaxeDiff(needle) if job.commits.is_some() => {
                input = Some(self.pickaxe_in(&mut command, needle, job, scratch)?);
            }
            WorkloadSpec::PickaxeDiff(needle) => log(&mut command, &[&format!("-S{needle}"), "--format=%H"])?,
            WorkloadSpec::PatchDiff => log(&mut command, &["-p", "--full-index", "--format=commit %H"])?,
            WorkloadSpec::Sizes => {
                command.args(["cat-file", "--batch-check", "--batch-all-objects"]);
            }
            WorkloadSpec::CatAll => {
                command.args(["cat-file", "--batch", "--batch-all-objects", "--unordered"]);
                form = OutputForm::Objects;
            }
            other => return Err(StockError::refused(format!("{other}: git has no command for that"))),
        }
        let step = Step::timed(command).reading(input.map_or(StepInput::Empty, StepInput::File));
        Ok(Prepared::of(step, form, Made::Nothing))
    }

    /// `git log -S` on the newest commits. Its own limit counts the commits that it finds, not those that it searches.
    /// So these are listed beforehand in the returned file.
    fn pickaxe_in(
        &self,
        command: &mut Command,
        needle: &str,
        job: &StockJob,
        scratch: &Path,
    ) -> Result<PathBuf, StockError> {
        let mut list = self.command(job.caches)?;
        list.arg("rev-list").arg(format!("-n{}", job.commits.unwrap_or_default()));
        let (commits, file) = (output(list.arg(revision(job)?))?, scratch.join("commits"));
        fs::write(&file, commits).map_err(|error| StockError::files("write", &file, error))?;
        command.args(["log", "--no-renames", "--no-textconv", &format!("-S{needle}"), "--format=%H"]);
        command.args(["--no-walk=unsorted", "--stdin"]);
        Ok(file)
    }

    fn checkout(&self, mut command: Command, job: &StockJob, scratch: &Path) -> Result<Prepared, StockError> {
        let tree = scratch.join("tree");
        fs::create_dir(&tree).map_err(|error| StockError::files("create", &tree, error))?;
        command.env("GIT_WORK_TREE", &tree).env("GIT_INDEX_FILE", scratch.join("index")).current_dir(&tree);
        command.args(["checkout", "-q", "-f", revision(job)?, "--", "."]);
        Ok(Prepared::of(command, OutputForm::Text, Made::Files(tree)))
    }
}

impl StockClient for GitRow {
    fn client(&self) -> &Client {
        &self.client
    }

    fn is_for(&self, job: &StockJob) -> bool {
        let writes = matches!(
            job.workload,
            StockWorkload::Repack | StockWorkload::RepackIncremental | StockWorkload::Maintain(_)
        );
        // They make files of that kind themselves, the same for all rows.
        let has_own_caches = job.workload.is_drawn();
        if has_own_caches && self.features.iter().any(|feature| feature.has_files()) {
            return false;
        }
        // The settings of the sender do not apply to the receiver.
        let sends = matches!(job.workload, StockWorkload::Clone(_) | StockWorkload::Fetch(_));
        if sends && matches!(self.features.as_slice(), [GitFeature::DeltaCache(_)]) {
            return false;
        }
        let copies =
            writes || has_own_caches || job.caches == Caches::Forge || matches!(job.workload, StockWorkload::Fetch(_));
        // The source may have alternates, which a copy would not find.
        !(copies && self.is_source) && (!writes || self.writes)
    }

    fn scratch(&self) -> &Path {
        &self.folder
    }

    fn start(&self) -> Result<Command, StockError> {
        let mut command = self.command(Caches::Off)?;
        command.arg("--version");
        Ok(command)
    }

    fn prepare(&self, job: &StockJob, scratch: &Path) -> Result<Prepared, StockError> {
        let form = OutputForm::Text;
        let place = scratch.join("git");
        match &job.workload {
            StockWorkload::Replayed(spec) => self.replayed(spec, job, scratch),
            StockWorkload::Web(read) => self.web(*read, job, scratch),
            StockWorkload::Maintain(what) => self.maintenance(job, *what, &place),
            StockWorkload::Fsck => {
                let mut command = self.command_for(job)?;
                command.args(["fsck", "--full", "--no-dangling", "--no-progress"]);
                Ok(Prepared::of(command, OutputForm::Lines, Made::Nothing))
            }
            StockWorkload::Repack => {
                self.copy(&place)?;
                let mut command = self.command_on(&place, Caches::Off)?;
                command.args(["repack", "-adF", "-q"]);
                Ok(Prepared::of(command, form, self.objects_of(&place)?))
            }
            StockWorkload::RepackIncremental => {
                copy_repository(self.with_loose(job)?, &place)?;
                let mut command = self.command_on(&place, Caches::Off)?;
                command.args(["repack", "-d", "-q"]);
                Ok(Prepared::of(command, form, self.objects_of(&place)?))
            }
            StockWorkload::Clone(receiver) => {
                let mut command = self.transport(job, *receiver)?;
                command.args(["clone", "-q", "--bare", "--no-local", "--upload-pack"]).arg(self.upload_pack()?);
                command.arg(url(&self.served(job)?)).arg(&place);
                Ok(Prepared::of(command, form, self.objects_of(&place)?))
            }
            StockWorkload::Hg(_) => Err(StockError::refused(format!("{}: git has no command for that", job.workload))),
            StockWorkload::Fetch(receiver) => {
                copy_repository(self.without_newest(job)?, &place)?;
                let mut command = self.transport(job, *receiver)?;
                command.env("GIT_DIR", &place).args(["fetch", "-q", "--upload-pack"]).arg(self.upload_pack()?);
                command.arg(url(&self.served(job)?)).arg(format!("{}:refs/heads/main", revision(job)?));
                Ok(Prepared::of(command, form, self.objects_of(&place)?))
            }
        }
    }
}

/// The bitmap of the multi-pack-index in `pack_folder`, if it has one.
fn multi_pack_bitmap(pack_folder: &Path) -> Result<Option<PathBuf>, StockError> {
    let failed = |error| StockError::files("read", pack_folder, error);
    for entry in fs::read_dir(pack_folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let bytes = name.as_bytes();
        if bytes.starts_with(MULTI_PACK_INDEX.as_bytes()) && bytes.ends_with(b".bitmap") {
            return Ok(Some(pack_folder.join(name)));
        }
    }
    Ok(None)
}

/// The place as a URL, so that git takes no short cut.
fn url(place: &Path) -> OsString {
    let mut url = b"file://".to_vec();
    for byte in place.as_os_str().as_bytes() {
        match byte {
            b'%' => url.extend(b"%25"),
            byte => url.push(*byte),
        }
    }
    OsString::from_vec(url)
}

/// The text quoted for a shell.
fn quoted(text: &OsStr) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for byte in text.as_bytes() {
        match byte {
            b'\'' => quoted.extend(b"'\\''"),
            byte => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    quoted
}
