//! Groups of version 2 (Documentation/admin-guide/cgroup-v2.rst of Linux).
//!
//! There is one hierarchy. A group that hands controllers down must not contain a process (cgroups(7), "no internal
//! processes"), so this process may first have to move into a group beside the limited one.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
};

use super::{GroupUsage, NoGroup, cannot, move_to, name, place_of, write};
use crate::system::number_after;

/// The place where groups are made.
#[derive(Debug)]
pub(super) struct Groups {
    /// The group below which groups are made.
    own: PathBuf,
    /// The group of the process while it is in none of them.
    home: PathBuf,
    /// Whether the memory controller was switched on for them and has to be switched off again.
    switched_on: bool,
}

/// The hint for machines on which systemd manages the groups.
pub(super) const HINT: &str =
    "where systemd runs, `systemd-run --user --scope -p Delegate=yes repackbench ...` gives a group of its own";

impl Groups {
    pub(super) fn below(own: PathBuf) -> Result<Self, NoGroup> {
        let controllers = list(&own, "cgroup.controllers")?;
        if !controllers.iter().any(|name| name == "memory") {
            let found = if controllers.is_empty() { "none".to_owned() } else { controllers.join(" ") };
            let path = own.join("cgroup.controllers");
            let why = "the memory controller was not handed down";
            return Err(NoGroup(format!("{}: expected memory, found {found}: {why}; {HINT}", path.display())));
        }
        let mut groups = Groups { home: own.clone(), own, switched_on: false };
        if !list(&groups.own, "cgroup.subtree_control")?.iter().any(|name| name == "memory") {
            groups.switch_on()?;
        }
        Ok(groups)
    }

    pub(super) fn own(&self) -> &Path {
        &self.own
    }

    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    fn switch_on(&mut self) -> Result<(), NoGroup> {
        let control = self.own.join("cgroup.subtree_control");
        match fs::write(&control, "+memory") {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                let inside = list(&self.own, "cgroup.procs")?;
                if inside.iter().any(|process| *process != process::id().to_string()) {
                    let why = format!("{}: there are other processes in this group; {HINT}", self.own.display());
                    return Err(NoGroup(why));
                }
                self.home = self.own.join(name("home"));
                fs::create_dir(&self.home).map_err(cannot("make", &self.home, HINT))?;
                move_to(&self.home)?;
                fs::write(&control, "+memory").map_err(cannot("write", &control, HINT))?;
            }
            Err(error) => return Err(cannot("write", &control, HINT)(error)),
        }
        self.switched_on = true;
        Ok(())
    }
}

impl Drop for Groups {
    /// Ignores errors: at worst, an empty group stays.
    fn drop(&mut self) {
        if self.switched_on {
            let _ = fs::write(self.own.join("cgroup.subtree_control"), "-memory");
        }
        if self.home != self.own {
            let _ = move_to(&self.own);
            let _ = fs::remove_dir(&self.home);
        }
    }
}

/// Limits the group at `folder`, which is still empty.
pub(super) fn set_limit(folder: &Path, bytes: u64) -> Result<(), NoGroup> {
    write(folder, "memory.max", &bytes.to_string())?;
    let swap = "memory.swap.max";
    if folder.join(swap).exists() { write(folder, swap, "0") } else { Ok(()) }
}

pub(super) fn usage(folder: &Path) -> GroupUsage {
    super::usage(folder, "memory.peak", |read| number_after(&read("memory.events"), "max "))
}

/// The words of a control file.
fn list(group: &Path, name: &str) -> Result<Vec<String>, NoGroup> {
    let path = group.join(name);
    let text = fs::read_to_string(&path).map_err(cannot("read", &path, HINT))?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// The folder of this process's group, from the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`.
pub(super) fn own_group(mounts: &str, groups: &str) -> Result<PathBuf, NoGroup> {
    let Some(path) = groups.lines().find_map(|line| line.strip_prefix("0::")) else {
        return Err(NoGroup("/proc/self/cgroup names no group that has the memory controller".to_owned()));
    };
    place_of(mounts, path, |kind, _| kind == "cgroup2")
        .ok_or_else(|| NoGroup(format!("no file system of cgroup version 2 is mounted that shows the group {path}")))
}
