//! The one isolation in which git and hg are started on repositories whose owner is not asked: nothing of the user's, the system's or the
//! repository's configuration takes effect, and nothing that those could name is run.
//!
//! | could be run or read | kept away by |
//! |---|---|
//! | configuration of the user and the system | `GIT_CONFIG_NOSYSTEM`, `GIT_CONFIG_GLOBAL`; `HGRCPATH` |
//! | attributes and exclude files of the user and the system | `GIT_ATTR_NOSYSTEM`, `HOME`, `XDG_CONFIG_HOME` |
//! | a repository's configuration | commands work on copies with an allow-list of it, see the writer's metadata; `HGRCSKIPREPO` |
//! | hooks, the file system monitor, background maintenance | settings that win over a repository's |
//! | pagers, editors, credential programs | the variables that name them are taken out or set to nothing |
//! | programs for transport | `GIT_ALLOW_PROTOCOL`: none, and `file` for what clones and fetches; `ui.ssh`; `subrepos.allowed` |
//! | objects that a partial clone's remote would send | `GIT_NO_LAZY_FETCH`, and, for git before 2.44, `GIT_ALLOW_PROTOCOL` |

use std::{
    env,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A place that holds nothing, and that nobody can put anything into.
const NOWHERE: &str = "/dev/null";

/// What a git in isolation finds in its environment.
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
    // A partial clone's missing objects are not fetched meanwhile.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_PROTOCOL_FROM_USER", "0"),
];

/// What a git in isolation is told, whatever the configuration of a repository says.
const GIT_SETTINGS: [(&str, &str); 7] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", NOWHERE),
    ("credential.helper", ""),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("advice.detachedHead", "false"),
    ("init.defaultBranch", "main"),
];

/// What an hg in isolation finds in its environment.
const HG_ENVIRONMENT: [(&str, &str); 10] = [
    ("LC_ALL", "C.UTF-8"),
    ("HOME", NOWHERE),
    ("XDG_CONFIG_HOME", NOWHERE),
    ("XDG_CACHE_HOME", NOWHERE),
    ("HGRCPATH", ""),
    ("HGRCSKIPREPO", "1"),
    ("HGPLAIN", "1"),
    ("HGEDITOR", "false"),
    // An hg that reads revlogs in Rust knows no codecs of extensions; all are read by the same code.
    ("HGMODULEPOLICY", "allow"),
    ("PYTHONHASHSEED", "0"),
];

/// What an hg in isolation is told.
const HG_SETTINGS: [&str; 8] = [
    "worker.enabled=no",
    "progress.disable=yes",
    "ui.interactive=no",
    "ui.ssh=false",
    "subrepos.allowed=no",
    // What hg would rather do in Rust, it may do in C and Python.
    "storage.all-slow-path=allow",
    "storage.revlog.persistent-nodemap.slow-path=allow",
    "storage.dirstate-v2.slow-path=allow",
];

/// Variables of other programs that git or hg would start.
const HELPERS: [&str; 6] = ["PAGER", "EDITOR", "VISUAL", "SSH_ASKPASS", "PYTHONPATH", "PYTHONSTARTUP"];

/// `program`, a git, in isolation, told `settings` besides, which win over whatever a repository says.
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

/// What [`git`] is told, besides `settings`, as a configuration file: processes that git starts on other repositories lose the rest.
pub(crate) fn git_configuration<'s>(settings: impl IntoIterator<Item = (&'s str, &'s str)>) -> String {
    GIT_SETTINGS.into_iter().chain(settings).map(|(key, value)| configuration_line(key, value)).collect()
}

fn configuration_line(key: &str, value: &str) -> String {
    let (section, name) = key.split_once('.').unwrap_or((key, ""));
    format!("[{section}]\n\t{name} = {value}\n")
}

/// `program`, an hg, in isolation.
pub fn hg(program: &Path) -> Command {
    // Read before it is taken away: where the user's own Python packages lie, hg among them perhaps.
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

/// Where Python looks for packages of the user's: it would look below `HOME`.
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
