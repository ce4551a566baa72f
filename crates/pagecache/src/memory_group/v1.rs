//! Groups of version 1 (Documentation/admin-guide/cgroup-v1/memory.rst of Linux).
//!
//! The memory controller has a hierarchy of its own, and a group with groups below it may contain processes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{GroupUsage, NoGroup, place_of, write};

/// The hint about who may make groups.
pub(super) const HINT: &str =
    "in cgroup version 1 groups are root's, or made by whom the folder of the group above was given to";

/// The group that the process is in, and below which groups are made.
#[derive(Debug)]
pub(super) struct Groups(PathBuf);

impl Groups {
    pub(super) fn below(own: PathBuf) -> Result<Self, NoGroup> {
        // Since Linux 5.11 the file is gone or always contains 1: groups always count in those above them.
        let hierarchy = own.join("memory.use_hierarchy");
        if fs::read_to_string(&hierarchy).is_ok_and(|text| text.trim() == "0") {
            let why = "a group below would not count in this one, whose limits would no longer hold";
            return Err(NoGroup(format!("{}: expected 1, found 0: {why}", hierarchy.display())));
        }
        Ok(Groups(own))
    }

    pub(super) fn own(&self) -> &Path {
        &self.0
    }
}

/// Limits the group at `folder`, which is still empty.
pub(super) fn set_limit(folder: &Path, bytes: u64) -> Result<(), NoGroup> {
    write(folder, "memory.limit_in_bytes", &bytes.to_string())?;
    // 0 prevents swapping in the group. A limit on memory and swap together would do that, too, but the kernel would
    // check it first and does not count how often it is hit.
    let swappiness = "memory.swappiness";
    if folder.join(swappiness).exists() { write(folder, swappiness, "0") } else { Ok(()) }
}

pub(super) fn usage(folder: &Path) -> GroupUsage {
    super::usage(folder, "memory.max_usage_in_bytes", |read| read("memory.failcnt").trim().parse().ok())
}

/// The folder of this process's group, from the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`. `None` if no
/// hierarchy of version 1 has the memory controller.
pub(super) fn own_group(mounts: &str, groups: &str) -> Result<Option<PathBuf>, NoGroup> {
    let has_memory = |list: &str| list.split(',').any(|name| name == "memory");
    let memory_group = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        has_memory(controllers).then(|| path.to_owned())
    };
    let Some(path) = groups.lines().find_map(memory_group) else { return Ok(None) };
    let place = place_of(mounts, &path, |kind, options| kind == "cgroup" && has_memory(options));
    let missing =
        || NoGroup(format!("no file system of cgroup version 1 is mounted that shows the memory group {path}"));
    place.map(Some).ok_or_else(missing)
}
