//! A cgroup of version 2 that limits how much of the page cache a process may fill.
//!
//! What a process reads is charged to the group that it is in at that moment. So this process enters a group with a limit, reads, and
//! goes back to where it was. A group is made below the one that the process is in, which takes the right to write there and the memory
//! controller; a group that hands controllers down must hold no process itself, so that this one may have to move into
//! a group beside the limited one first (cgroups(7), "no internal processes").

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
};

use crate::probe::field;

/// Where this process may make groups.
#[derive(Debug)]
pub(super) struct MemoryGroups {
    /// The group below which they are made.
    own: PathBuf,
    /// Where the process is while it is in none of them.
    home: PathBuf,
    /// Whether the memory controller was switched on for them, and has to be switched off again.
    switched_on: bool,
}

/// Why no group can be made.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory cgroup can be made here: {0}")]
pub(super) struct NoGroup(String);

/// What to do where a session manager keeps the groups.
const HINT: &str =
    "where systemd runs, `systemd-run --user --scope -p Delegate=yes repackbench ...` gives a group of its own";

impl MemoryGroups {
    /// Finds the group of this process and makes sure that groups with a limit can be made below it.
    pub(super) fn find() -> Result<Self, NoGroup> {
        let read = |path: &str| fs::read_to_string(path).map_err(|error| NoGroup(format!("{path}: {error}")));
        let own = own_group(&read("/proc/self/mountinfo")?, &read("/proc/self/cgroup")?)?;
        Self::below(own)
    }

    fn below(own: PathBuf) -> Result<Self, NoGroup> {
        let controllers = list(&own, "cgroup.controllers")?;
        if !controllers.iter().any(|name| name == "memory") {
            let found = if controllers.is_empty() { "none".to_owned() } else { controllers.join(" ") };
            let why = "the memory controller was not handed down, or this system has it in cgroup version 1";
            let path = own.join("cgroup.controllers");
            return Err(NoGroup(format!("{}: expected memory, found {found}: {why}; {HINT}", path.display())));
        }
        let mut groups = MemoryGroups { home: own.clone(), own, switched_on: false };
        if !list(&groups.own, "cgroup.subtree_control")?.iter().any(|name| name == "memory") {
            groups.switch_on()?;
        }
        Ok(groups)
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
                self.home = self.own.join(format!("repackbench-{}-home", process::id()));
                fs::create_dir(&self.home).map_err(cannot("make", &self.home))?;
                move_to(&self.home)?;
                fs::write(&control, "+memory").map_err(cannot("write", &control))?;
            }
            Err(error) => return Err(cannot("write", &control)(error)),
        }
        self.switched_on = true;
        Ok(())
    }

    /// Does `work` while this process may fill no more than `bytes` of memory that it takes meanwhile, page cache included.
    pub(super) fn limited<T>(&self, bytes: u64, work: impl FnOnce() -> T) -> Result<(T, GroupUsage), NoGroup> {
        let folder = self.own.join(format!("repackbench-{}-limit", process::id()));
        fs::create_dir(&folder).map_err(cannot("make", &folder))?;
        let inside = Inside { folder, home: &self.home };
        let limit = inside.folder.join("memory.max");
        fs::write(&limit, bytes.to_string()).map_err(cannot("write", &limit))?;
        let swap = inside.folder.join("memory.swap.max");
        if swap.exists() {
            fs::write(&swap, "0").map_err(cannot("write", &swap))?;
        }
        move_to(&inside.folder)?;
        let result = work();
        let usage = GroupUsage::of(&inside.folder);
        drop(inside);
        Ok((result, usage))
    }
}

impl Drop for MemoryGroups {
    /// As far as it goes: what stays is an empty group.
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

/// A group that this process is in; it goes home, and the group goes, with this value.
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

/// What a group has used, as far as the kernel tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct GroupUsage {
    /// Pages of files that had to be read again after they had been forgotten.
    pub(super) refaults: Option<u64>,
    /// The most bytes that were charged to it at once.
    pub(super) peak_bytes: Option<u64>,
}

impl GroupUsage {
    fn of(folder: &Path) -> Self {
        let read = |name: &str| fs::read_to_string(folder.join(name)).ok();
        let stat = read("memory.stat").unwrap_or_default();
        GroupUsage {
            // Kernels before 5.9 count those of files and other memory together.
            refaults: field(&stat, "workingset_refault_file ").or_else(|| field(&stat, "workingset_refault ")),
            peak_bytes: read("memory.peak").and_then(|text| text.trim().parse().ok()),
        }
    }
}

fn cannot<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> NoGroup + 'a {
    move |error| NoGroup(format!("cannot {action} {}: {error}; {HINT}", path.display()))
}

/// The words of a control file.
fn list(group: &Path, name: &str) -> Result<Vec<String>, NoGroup> {
    let path = group.join(name);
    let text = fs::read_to_string(&path).map_err(cannot("read", &path))?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

fn move_to(group: &Path) -> Result<(), NoGroup> {
    let path = group.join("cgroup.procs");
    fs::write(&path, process::id().to_string()).map_err(cannot("write", &path))
}

/// The folder of the group that this process is in, by the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`.
fn own_group(mounts: &str, groups: &str) -> Result<PathBuf, NoGroup> {
    let Some(path) = groups.lines().find_map(|line| line.strip_prefix("0::")) else {
        return Err(NoGroup("/proc/self/cgroup names no group of version 2".to_owned()));
    };
    let mount = mounts.lines().filter_map(unified_mount).find_map(|(root, mount)| {
        let below = Path::new(path).strip_prefix(root).ok()?;
        Some(Path::new(&mount).join(below))
    });
    mount.ok_or_else(|| NoGroup(format!("no file system of cgroup version 2 is mounted that shows the group {path}")))
}

/// Root and place of a mount of cgroup version 2, from its line in `mountinfo` (proc_pid_mountinfo(5)).
fn unified_mount(line: &str) -> Option<(&str, String)> {
    let (mount, file_system) = line.split_once(" - ")?;
    let mut fields = mount.split(' ').skip(3);
    let (root, place) = (fields.next()?, fields.next()?);
    // The kernel writes a blank in a name as an octal escape.
    (file_system.split(' ').next()? == "cgroup2").then(|| (root, place.replace("\\040", " ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
        32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:3 - cgroup cgroup rw,memory\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_own_group_is_found_below_its_mount() {
        let find = |mounts, groups| own_group(mounts, groups).map_err(|error| error.to_string());
        let unified = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw,nsdelegate\n";
        assert_eq!(find(unified, "0::/user.slice/a.scope\n"), Ok("/sys/fs/cgroup/user.slice/a.scope".into()));
        assert_eq!(find(HYBRID, "4:memory:/x\n0::/\n"), Ok("/sys/fs/cgroup/unified/".into()));
        let part = "30 23 0:26 /docker/1 /mnt/my\\040group rw - cgroup2 cgroup rw\n";
        assert_eq!(find(part, "0::/docker/1/inner\n"), Ok("/mnt/my group/inner".into()));
        assert!(find(part, "0::/elsewhere\n").is_err_and(|error| error.contains("shows the group /elsewhere")));
        assert!(find(HYBRID, "4:memory:/x\n").is_err_and(|error| error.contains("no group of version 2")));
    }

    /// A folder with the control files of a group.
    fn group(controllers: &str, handed_down: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cgroup.controllers"), controllers).unwrap();
        fs::write(folder.path().join("cgroup.subtree_control"), handed_down).unwrap();
        fs::write(folder.path().join("cgroup.procs"), format!("{}\n", process::id())).unwrap();
        folder
    }

    #[test]
    fn without_the_controller_the_message_says_what_is_there_and_what_helps() {
        for (controllers, found) in [("hugetlb\n", "expected memory, found hugetlb"), ("", "found none")] {
            let folder = group(controllers, "");
            let error = MemoryGroups::below(folder.path().to_owned()).unwrap_err().to_string();
            assert!(error.starts_with("no memory cgroup can be made here: "), "{error}");
            assert!(error.contains(found) && error.contains("version 1") && error.contains("Delegate=yes"), "{error}");
        }
        let nowhere = MemoryGroups::below("/nonexistent/group".into()).unwrap_err().to_string();
        assert!(nowhere.contains("cannot read /nonexistent/group/cgroup.controllers"), "{nowhere}");
    }

    #[test]
    fn the_process_goes_into_a_limited_group_and_back() {
        let folder = group("cpu memory\n", "");
        let own = folder.path();
        let groups = MemoryGroups::below(own.to_owned()).unwrap();
        assert_eq!(fs::read_to_string(own.join("cgroup.subtree_control")).unwrap(), "+memory");
        let limited = own.join(format!("repackbench-{}-limit", process::id()));
        let read = |name: &str| fs::read_to_string(limited.join(name)).unwrap();
        fs::write(own.join("cgroup.procs"), "").unwrap();
        let (answer, usage) = groups
            .limited(12_345, || {
                let inside = (read("memory.max"), read("cgroup.procs"));
                assert_eq!(inside, ("12345".into(), process::id().to_string()));
                let stat = "anon 5\nworkingset_refault_anon 7\nworkingset_refault_file 41\npgmajfault 3\n";
                fs::write(limited.join("memory.stat"), stat).unwrap();
                fs::write(limited.join("memory.peak"), "12000\n").unwrap();
                42
            })
            .unwrap();
        assert_eq!(answer, 42);
        assert_eq!(usage, GroupUsage { refaults: Some(41), peak_bytes: Some(12_000) });
        assert_eq!(fs::read_to_string(own.join("cgroup.procs")).unwrap(), process::id().to_string(), "back home");
        drop(groups);
        assert_eq!(fs::read_to_string(own.join("cgroup.subtree_control")).unwrap(), "-memory");
    }

    #[test]
    fn a_controller_that_is_handed_down_already_is_left_alone() {
        let folder = group("cpu memory\n", "memory\n");
        drop(MemoryGroups::below(folder.path().to_owned()).unwrap());
        assert_eq!(fs::read_to_string(folder.path().join("cgroup.subtree_control")).unwrap(), "memory\n");
    }

    #[test]
    fn usage_that_the_kernel_does_not_tell_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(GroupUsage::of(folder.path()), GroupUsage::default());
        fs::write(folder.path().join("memory.stat"), "workingset_refault 9\n").unwrap();
        assert_eq!(GroupUsage::of(folder.path()).refaults, Some(9));
    }
}
