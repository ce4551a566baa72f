//! Limits how much of the page cache this process may fill, with a memory cgroup.
//!
//! Memory for reads and writes is charged to the group that the process is in at that moment. So this process enters a
//! group with a limit, does its work, and goes back. Memory that it held before stays charged to its old group. The new
//! group is made below the old one, so that the limits of the old group still apply.
//!
//! The memory controller belongs to exactly one hierarchy: one of version 1 ([`v1`]), or that of version 2 ([`v2`]).

mod v1;
mod v2;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
};

use crate::system::number_after;

/// The place where this process can make groups.
#[derive(Debug)]
pub struct MemoryGroups(Version);

/// The version of the hierarchy with the memory controller.
#[derive(Debug)]
enum Version {
    One(v1::Groups),
    Two(v2::Groups),
}

/// The reason why no group can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no memory cgroup can be made here: {0}")]
pub struct NoGroup(String);

impl NoGroup {
    /// An error with the reason `why`.
    pub fn because(why: impl Into<String>) -> Self {
        NoGroup(why.into())
    }
}

/// What a group has used, as far as the kernel reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupUsage {
    /// The number of file pages that were read again after they had been evicted.
    pub refaults: Option<u64>,
    /// The largest number of bytes that were charged to the group at the same time.
    pub peak_bytes: Option<u64>,
    /// How many times the limit made the kernel evict something or made the process wait.
    pub limit_hits: Option<u64>,
}

impl MemoryGroups {
    /// Finds the group of this process and checks that groups can be made below it.
    ///
    /// # Errors
    /// Fails if no groups can be made.
    pub fn find() -> Result<Self, NoGroup> {
        let read = |path: &str| fs::read_to_string(path).map_err(|error| NoGroup(format!("{path}: {error}")));
        Self::parse(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?)
    }

    /// Like [`find`](Self::find), with the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`.
    fn parse(mounts: &str, groups: &str) -> Result<Self, NoGroup> {
        let version = match v1::own_group(mounts, groups)? {
            Some(own) => {
                remove_stale_groups(&own);
                Version::One(v1::Groups::below(own)?)
            }
            None => {
                let own = v2::own_group(mounts, groups)?;
                remove_stale_groups(&own);
                Version::Two(v2::Groups::below(own)?)
            }
        };
        let groups = MemoryGroups(version);
        // Making a group now reports missing permissions before any work is done.
        drop(groups.make()?);
        Ok(groups)
    }

    /// Runs `work` in a group in which this process can take at most `limit` more bytes of memory, including page
    /// cache. With `None` there is no limit, but usage is counted in the same way.
    ///
    /// The whole process is in the group meanwhile. If the limit is too low for memory that cannot be reclaimed, the
    /// kernel kills the process.
    ///
    /// # Errors
    /// Fails if the group cannot be made or entered.
    pub fn limited<T>(&self, limit: Option<u64>, work: impl FnOnce() -> T) -> Result<(T, GroupUsage), NoGroup> {
        let inside = self.make()?;
        if let Some(bytes) = limit {
            match &self.0 {
                Version::One(_) => v1::set_limit(&inside.folder, bytes)?,
                Version::Two(_) => v2::set_limit(&inside.folder, bytes)?,
            }
        }
        move_to(&inside.folder)?;
        let result = work();
        let usage = match &self.0 {
            Version::One(_) => v1::usage(&inside.folder),
            Version::Two(_) => v2::usage(&inside.folder),
        };
        drop(inside);
        Ok((result, usage))
    }

    /// Makes a group, which this process does not enter yet.
    fn make(&self) -> Result<Inside<'_>, NoGroup> {
        let (own, home, hint) = match &self.0 {
            Version::One(groups) => (groups.own(), groups.own(), v1::HINT),
            Version::Two(groups) => (groups.own(), groups.home(), v2::HINT),
        };
        let folder = own.join(name("limit"));
        fs::create_dir(&folder).map_err(cannot("make", &folder, hint))?;
        Ok(Inside { folder, home })
    }
}

/// The name of this process's group for `purpose`.
fn name(purpose: &str) -> String {
    format!("repackbench-{}-{purpose}", process::id())
}

/// The id of the process that made the group `name`, if it is a group of repackbench.
fn maker(name: &str) -> Option<u32> {
    let (process, purpose) = name.strip_prefix("repackbench-")?.split_once('-')?;
    matches!(purpose, "limit" | "home").then(|| process.parse().ok())?
}

/// Removes groups below `own` that killed processes left. The kernel keeps groups that a process is in.
fn remove_stale_groups(own: &Path) {
    for entry in fs::read_dir(own).into_iter().flatten().flatten() {
        let maker = entry.file_name().to_str().and_then(maker);
        // This process has made no group yet, so a group with its id is from an earlier process.
        let is_gone = |id: u32| id == process::id() || !Path::new("/proc").join(id.to_string()).exists();
        if maker.is_some_and(is_gone) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// A group that this process may be in. On drop, the process goes back and the group is removed.
struct Inside<'a> {
    folder: PathBuf,
    home: &'a Path,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let _ = move_to(self.home);
        let _ = fs::remove_dir(&self.folder);
    }
}

/// An error about an action on a file of a group, with a hint at what may help.
fn cannot<'a>(action: &'static str, path: &'a Path, hint: &'a str) -> impl FnOnce(io::Error) -> NoGroup + 'a {
    move |error| {
        let separator = if hint.is_empty() { "" } else { "; " };
        NoGroup(format!("cannot {action} {}: {error}{separator}{hint}", path.display()))
    }
}

fn write(group: &Path, name: &str, value: &str) -> Result<(), NoGroup> {
    let path = group.join(name);
    fs::write(&path, value).map_err(cannot("write", &path, ""))
}

fn move_to(group: &Path) -> Result<(), NoGroup> {
    write(group, "cgroup.procs", &process::id().to_string())
}

/// Reads the usage of the group at `folder`. `peak` is the name of the file with the peak; `hits` finds the number of
/// limit hits.
fn usage(folder: &Path, peak: &str, hits: impl FnOnce(&dyn Fn(&str) -> String) -> Option<u64>) -> GroupUsage {
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let stat = read("memory.stat");
    GroupUsage {
        // Kernels before 5.9 count refaults of files and of other memory together.
        refaults: number_after(&stat, "workingset_refault_file ")
            .or_else(|| number_after(&stat, "workingset_refault ")),
        peak_bytes: read(peak).trim().parse().ok(),
        limit_hits: hits(&read),
    }
}

/// The folder of the group `path` of a hierarchy, found through a mount in `mounts`, the text of `mountinfo`
/// (proc_pid_mountinfo(5)). `is_it` recognizes a mount of the hierarchy by the type and the options of its file system.
fn place_of(mounts: &str, path: &str, is_it: impl Fn(&str, &str) -> bool) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut file_system = file_system.split(' ');
        let (kind, options) = (file_system.next()?, file_system.nth(1).unwrap_or_default());
        let mut fields = mount.split(' ').skip(3);
        let (root, place) = (fields.next()?, fields.next()?);
        let below = Path::new(path).strip_prefix(root).ok().filter(|_| is_it(kind, options))?;
        // The kernel writes a space in a path as an octal escape.
        Some(Path::new(&place.replace("\\040", " ")).join(below))
    })
}

#[cfg(test)]
mod tests;
