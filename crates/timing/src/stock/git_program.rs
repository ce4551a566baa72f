//! The git of a session, and the surroundings that it has: the same for every row, and nothing of the user's.

use std::{
    env,
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use repackbench_client::{Preload, find_program};

use super::{Caches, StockError, output};

/// Environment that does not depend on the job.
const ENVIRONMENT: [(&str, &str); 11] = [
    ("LC_ALL", "C"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    // A partial clone's missing objects are not fetched meanwhile.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "file"),
    ("GIT_AUTHOR_DATE", "2005-04-07T22:13:13Z"),
    ("GIT_COMMITTER_DATE", "2005-04-07T22:13:13Z"),
    ("XDG_CONFIG_HOME", "/dev/null"),
];

/// Settings that do not depend on the job.
const SETTINGS: [(&str, &str); 14] = [
    ("core.fsmonitor", "false"),
    // Those of the source as found would run, and variants have none.
    ("core.hooksPath", "/dev/null"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("pack.threads", "1"),
    ("index.threads", "1"),
    ("checkout.workers", "1"),
    ("grep.threads", "1"),
    ("repack.writeBitmaps", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("advice.detachedHead", "false"),
    ("safe.directory", "*"),
    ("init.defaultBranch", "main"),
    ("uploadpack.allowAnySHA1InWant", "true"),
];

/// What does a part of the work beforehand.
const CACHE_SETTINGS: [&str; 3] = ["core.commitGraph", "core.multiPackIndex", "pack.useBitmaps"];

/// The git of a session.
#[derive(Debug)]
pub(crate) struct Git {
    pub(super) program: PathBuf,
    /// Its name and what it says of its version.
    pub(super) name: String,
    pub(super) version: String,
    /// A folder for what lives as long as the session.
    pub(super) scratch: PathBuf,
}

impl Git {
    /// Finds the git that `program` names; `scratch` is an empty folder that outlives it.
    pub(crate) fn new(program: &OsStr, scratch: &Path) -> Result<Self, StockError> {
        let program = find_program(program)?;
        // Rows find it again; whoever has none should know before variants are made.
        Preload::find()?;
        let name = program.file_name().unwrap_or(OsStr::new("git")).to_string_lossy().into_owned();
        let git = Git { program, name, version: String::new(), scratch: scratch.to_owned() };
        for caches in [Caches::Off, Caches::Forge] {
            let lines: String = settings(caches).map(|(key, value)| config_line(key, value)).collect();
            let path = git.config(caches);
            fs::write(&path, lines).map_err(|error| StockError::files("write", &path, error))?;
        }
        let mut command = git.command(Caches::Off);
        let said = output(command.arg("--version"))?;
        let version = String::from_utf8_lossy(&said).trim_end().to_owned();
        match version.starts_with("git version ") {
            true => Ok(Git { version, ..git }),
            false => Err(StockError::failed(&command, &format!("expected \"git version ...\", found {version:?}"))),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn config(&self, caches: Caches) -> PathBuf {
        self.scratch.join(if caches == Caches::Off { "config" } else { "config-forge" })
    }

    /// A command in pinned surroundings, without a repository.
    pub(super) fn command(&self, caches: Caches) -> Command {
        let mut command = Command::new(&self.program);
        let of_user =
            |name: &OsStr| name.as_bytes().starts_with(b"GIT_") || name.as_bytes().starts_with(b"REPACKBENCH_");
        env::vars_os().map(|(name, _)| name).filter(|name| of_user(name)).for_each(|name| {
            command.env_remove(name);
        });
        command.envs(ENVIRONMENT).env("HOME", &self.scratch).current_dir(&self.scratch);
        // For what git starts in other repositories: they lose what follows.
        command.env("GIT_CONFIG_GLOBAL", self.config(caches));
        // A repository's own configuration would win over that.
        let mut count = 0_u32;
        for (key, value) in settings(caches) {
            command.env(format!("GIT_CONFIG_KEY_{count}"), key).env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        command.env("GIT_CONFIG_COUNT", count.to_string());
        // The index of a work tree knows attributes that no variant has.
        command.env("GIT_INDEX_FILE", self.scratch.join("no-index"));
        command.stdin(Stdio::null());
        command
    }
}

fn settings(caches: Caches) -> impl Iterator<Item = (&'static str, &'static str)> {
    let state = if caches == Caches::Forge { "true" } else { "false" };
    SETTINGS.into_iter().chain(CACHE_SETTINGS.map(|key| (key, state)))
}

fn config_line(key: &str, value: &str) -> String {
    let (section, name) = key.split_once('.').unwrap_or((key, ""));
    format!("[{section}]\n\t{name} = {value}\n")
}
