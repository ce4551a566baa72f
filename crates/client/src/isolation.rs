//! The one isolation in which this program starts git and hg: no configuration of the user, the system or the
//! repository takes effect, and nothing that it names is run.
//!
//! | could be run or read | prevented by |
//! |---|---|
//! | configuration of the user and the system | `GIT_CONFIG_NOSYSTEM`, `GIT_CONFIG_GLOBAL`; `HGRCPATH` |
//! | attributes and exclude files of the user and the system | `GIT_ATTR_NOSYSTEM`, `HOME`, `XDG_CONFIG_HOME` |
//! | a repository's configuration | commands work on copies with an allow-list of it, see the writer's metadata; `HGRCSKIPREPO` |
//! | hooks, the file system monitor, background maintenance | settings that override a repository's |
//! | pagers, editors, credential programs | the variables that name them are removed or made empty |
//! | programs for transport | `GIT_ALLOW_PROTOCOL`: none, and `file` for clones and fetches; `ui.ssh`; `subrepos.allowed` |
//! | objects that a partial clone's remote would send | `GIT_NO_LAZY_FETCH`, and, for git before 2.44, `GIT_ALLOW_PROTOCOL` |

use std::{
    env,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A path below which nothing exists and nothing can be made.
const NOWHERE: &str = "/dev/null";

/// The environment of git in isolation.
const GIT_ENVIRONMENT: [(&str, &str); 15] = [
    ("LC_ALL", "C"),
    ("HOME", NOWHERE),
    ("XDG_CONFIG_HOME", NOWHERE),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", NOWHERE),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
    ("GIT_ASKPASS", "false"),
    ("GIT_SSH", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    // Missing objects of a partial clone are not fetched.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_PROTOCOL_FROM_USER", "0"),
];

/// Settings of git in isolation, which override the configuration of a repository.
const GIT_SETTINGS: [(&str, &str); 7] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", NOWHERE),
    ("credential.helper", ""),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("advice.detachedHead", "false"),
    ("init.defaultBranch", "main"),
];

/// The environment of hg in isolation.
const HG_ENVIRONMENT: [(&str, &str); 10] = [
    ("LC_ALL", "C.UTF-8"),
    ("HOME", NOWHERE),
    ("XDG_CONFIG_HOME", NOWHERE),
    ("XDG_CACHE_HOME", NOWHERE),
    ("HGRCPATH", ""),
    ("HGRCSKIPREPO", "1"),
    ("HGPLAIN", "1"),
    ("HGEDITOR", "false"),
    // An hg that reads revlogs in Rust does not use codecs of extensions. Without Rust, the same code reads all of
    // them.
    ("HGMODULEPOLICY", "allow"),
    ("PYTHONHASHSEED", "0"),
];

/// Settings of hg in isolation.
const HG_SETTINGS: [&str; 8] = [
    "worker.enabled=no",
    "progress.disable=yes",
    "ui.interactive=no",
    "ui.ssh=false",
    "subrepos.allowed=no",
    // hg may do in C and Python what it normally does only in Rust.
    "storage.all-slow-path=allow",
    "storage.revlog.persistent-nodemap.slow-path=allow",
    "storage.dirstate-v2.slow-path=allow",
];

/// Variables that name other programs which git or hg would start.
const HELPERS: [&str; 6] = ["PAGER", "EDITOR", "VISUAL", "SSH_ASKPASS", "PYTHONPATH", "PYTHONSTARTUP"];

/// A command of `program`, a git, in isolation. `settings` are added and override those of a repository.
pub fn git<'s>(program: &Path, settings: impl IntoIterator<Item = (&'s str, &'s str)>) -> Command {
    let mut command = isolated(program, |name| name.starts_with(b"GIT_") || name.starts_with(b"REPACKBENCH_"));
    command.envs(GIT_ENVIRONMENT);
    let mut count = 0_u32;
    for (key, value) in GIT_SETTINGS.into_iter().chain(settings) {
        command.env(format!("GIT_CONFIG_KEY_{count}"), key).env(format!("GIT_CONFIG_VALUE_{count}"), value);
        count += 1;
    }
    command.env("GIT_CONFIG_COUNT", count.to_string());
    command
}

/// The settings of [`git`] and `settings` as a configuration file, because processes that git starts on other
/// repositories do not get settings from the environment.
pub(crate) fn git_configuration<'s>(settings: impl IntoIterator<Item = (&'s str, &'s str)>) -> String {
    GIT_SETTINGS.into_iter().chain(settings).map(|(key, value)| configuration_line(key, value)).collect()
}

fn configuration_line(key: &str, value: &str) -> String {
    let (section, name) = key.split_once('.').unwrap_or((key, ""));
    format!("[{section}]\n\t{name} = {value}\n")
}

/// A command of `program`, an hg, in isolation.
pub fn hg(program: &Path) -> Command {
    // The folder of the user's own Python packages, perhaps including hg. It is found through HOME, which is replaced
    // below.
    let packages = user_packages();
    let mut command = isolated(program, |name| name.starts_with(b"HG"));
    command.envs(HG_ENVIRONMENT);
    if let Some(packages) = packages {
        command.env("PYTHONUSERBASE", packages);
    }
    for setting in HG_SETTINGS {
        command.args(["--config", setting]);
    }
    command
}

/// The folder in which Python looks for the user's packages, by default below `HOME`.
fn user_packages() -> Option<OsString> {
    let named = env::var_os("PYTHONUSERBASE");
    named.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".local").into_os_string()))
}

fn isolated(program: &Path, is_taken_out: impl Fn(&[u8]) -> bool) -> Command {
    let mut command = Command::new(program);
    let taken_out = |name: &OsStr| is_taken_out(name.as_bytes()) || HELPERS.iter().any(|helper| name == *helper);
    env::vars_os().map(|(name, _)| name).filter(|name| taken_out(name)).for_each(|name| {
        command.env_remove(name);
    });
    command.stdin(Stdio::null());
    command
}
