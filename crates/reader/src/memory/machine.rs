//! The memory that this process can use: that of the machine, or less if a memory group (cgroup) limits it.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Usable memory in bytes; `None` if the system does not report it.
pub(super) fn memory() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total_of(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups, Path::new("/sys/fs/cgroup"));
    let limits = limits.iter().filter_map(|path| limit_of(&fs::read_to_string(path).ok()?));
    machine.into_iter().chain(limits).min()
}

/// The total in the text of `/proc/meminfo`, which counts in units of 1024 bytes.
fn total_of(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The limit in a limit file. Without a limit, version 2 writes `max`, and version 1 a number larger than any machine's
/// memory.
fn limit_of(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// The limit files of the memory groups in the text of `/proc/self/cgroup`, and of all their parent groups.
///
/// In a container, the path may be the group's path on the host, which does not exist inside. Then the limit of the
/// root counts.
fn limit_files(groups: &str, mounted: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (root, name) = match controllers {
            "" => (mounted.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                (mounted.join("memory"), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let own = root.join(path.trim_start_matches('/'));
        let above = own.ancestors().take_while(|folder| folder.starts_with(&root));
        files.extend(above.map(|folder| folder.join(name)));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_files_include_parent_groups() {
        let mounted = Path::new("/m");
        let files = |text| limit_files(text, mounted);
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(files("0::/a/b\n"), paths(&["/m/a/b/memory.max", "/m/a/memory.max", "/m/memory.max"]));
        assert_eq!(files("0::/\n"), paths(&["/m/memory.max"]));
        assert_eq!(
            files("5:cpu,cpuacct:/x\n4:memory:/x\n"),
            paths(&["/m/memory/x/memory.limit_in_bytes", "/m/memory/memory.limit_in_bytes"])
        );
        assert_eq!(files("nonsense"), paths(&[]));
    }

    #[test]
    fn parses_totals_and_limits() {
        assert_eq!(total_of("MemTotal:       16 kB\nMemFree: 3 kB\n"), Some(16 * 1024));
        assert_eq!(total_of("MemFree: 3 kB\n"), None);
        assert_eq!(limit_of("1048576\n"), Some(1 << 20));
        assert_eq!(limit_of("max\n"), None);
    }
}
