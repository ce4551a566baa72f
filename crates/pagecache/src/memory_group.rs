//! A memory cgroup that limits how much of the page cache a process may fill.
//!
//! What a process reads or writes is charged to the group that it is in at that moment. So this process enters a group with a limit, does
//! its work, and goes back to where it was; what it held before stays charged to where it came from. A group is made below the one that
//! the process is in, so that limits that hold for that go on holding.
//!
//! The memory controller is in one hierarchy alone: one of version 1 ([`v1`]), or that of version 2 ([`v2`]).

mod v1;
mod v2;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
};

use crate::system::number_behind;

/// Where this process may make groups.
#[derive(Debug)]
pub struct MemoryGroups(Version);

/// Who has the memory controller.
#[derive(Debug)]
enum Version {
    One(v1::Groups),
    Two(v2::Groups),
}

/// Why no group can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no memory cgroup can be made here: {0}")]
pub struct NoGroup(String);

impl NoGroup {
    /// For the reason that `why` tells.
    pub fn because(why: impl Into<String>) -> Self {
        NoGroup(why.into())
    }
}

/// What a group has used, as far as the kernel tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupUsage {
    /// Pages of files that had to be read again after they had been forgotten.
    pub refaults: Option<u64>,
    /// The most bytes that were charged to it at once.
    pub peak_bytes: Option<u64>,
    /// How many times something had to be forgotten, or the process had to wait, because of the limit.
    pub limit_hits: Option<u64>,
}

impl MemoryGroups {
    /// Finds the group of this process and makes sure that groups with a limit can be made below it.
    ///
    /// # Errors
    /// They cannot.
    pub fn find() -> Result<Self, NoGroup> {
        let read = |path: &str| fs::read_to_string(path).map_err(|error| NoGroup(format!("{path}: {error}")));
        Self::by(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?)
    }

    /// The same by the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`.
    fn by(mounts: &str, groups: &str) -> Result<Self, NoGroup> {
        let version = match v1::own_group(mounts, groups)? {
            Some(own) => {
                remove_left_behind(&own);
                Version::One(v1::Groups::below(own)?)
            }
            None => {
                let own = v2::own_group(mounts, groups)?;
                remove_left_behind(&own);
                Version::Two(v2::Groups::below(own)?)
            }
        };
        let groups = MemoryGroups(version);
        // Who may not is told so before there is any work.
        drop(groups.make()?);
        Ok(groups)
    }

    /// Does `work` while this process may fill no more than `limit` bytes of memory that it takes meanwhile, page cache included; as much
    /// as it wants, and counted alike, with `None`.
    ///
    /// All of the process is in the group meanwhile. If the limit leaves no room for what cannot be forgotten, the kernel ends it.
    ///
    /// # Errors
    /// The group cannot be made or entered.
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

    /// A new group, which this process is not in yet.
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

/// The process that made the group called `name`, if that is one of repackbench's.
fn maker(name: &str) -> Option<u32> {
    let (process, purpose) = name.strip_prefix("repackbench-")?.split_once('-')?;
    matches!(purpose, "limit" | "home").then(|| process.parse().ok())?
}

/// Removes groups below `own` whose processes were killed before they could. The kernel keeps those that a process is in.
fn remove_left_behind(own: &Path) {
    for entry in fs::read_dir(own).into_iter().flatten().flatten() {
        let maker = entry.file_name().to_str().and_then(maker);
        // This process has made none yet: what bears its number is an earlier one's.
        let is_gone = |id: u32| id == process::id() || !Path::new("/proc").join(id.to_string()).exists();
        if maker.is_some_and(is_gone) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// A group that this process may be in; it goes home, and the group goes, with this value.
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

/// What did not work on which file of a group, and `hint`, what may help.
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

/// What its control files say of the group at `folder`: `peak` holds one number, `hits` finds another.
fn usage(folder: &Path, peak: &str, hits: impl FnOnce(&dyn Fn(&str) -> String) -> Option<u64>) -> GroupUsage {
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let stat = read("memory.stat");
    GroupUsage {
        // Kernels before 5.9 count those of files and other memory together.
        refaults: number_behind(&stat, "workingset_refault_file ")
            .or_else(|| number_behind(&stat, "workingset_refault ")),
        peak_bytes: read(peak).trim().parse().ok(),
        limit_hits: hits(&read),
    }
}

/// Where the group `path` of a hierarchy is seen, by a mount of it in `mounts`, the text of `mountinfo` (proc_pid_mountinfo(5)); `is_it`
/// tells such a mount by the type of its file system and that one's own options.
fn place_of(mounts: &str, path: &str, is_it: impl Fn(&str, &str) -> bool) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut of_file_system = file_system.split(' ');
        let (kind, options) = (of_file_system.next()?, of_file_system.nth(1).unwrap_or_default());
        let mut fields = mount.split(' ').skip(3);
        let (root, place) = (fields.next()?, fields.next()?);
        let below = Path::new(path).strip_prefix(root).ok().filter(|_| is_it(kind, options))?;
        // The kernel writes a blank in a name as an octal escape.
        Some(Path::new(&place.replace("\\040", " ")).join(below))
    })
}

#[cfg(test)]
mod tests;
