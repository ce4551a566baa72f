//! Tests a real memory group, if one can be made. It is a test program of its own, since the limit applies to all of
//! its threads.

use std::{fs, path::Path};

use repackbench_pagecache::{GroupUsage, MemoryGroups, evict, page_len, residency};

#[path = "../../../fixtures/on_disk.rs"]
mod on_disk;

const MIB: u64 = 1 << 20;

/// The groups of this process, as the kernel reports them.
fn groups() -> String {
    fs::read_to_string("/proc/self/cgroup").unwrap()
}

/// Reads all of `path`. Returns how many bytes of it are cached afterwards, and what the group used.
fn read_within(groups: &MemoryGroups, limit: Option<u64>, path: &Path) -> (u64, GroupUsage) {
    assert!(evict(path).unwrap().is_cold());
    let mut file = fs::File::open(path).unwrap();
    let read = || std::io::copy(&mut file, &mut std::io::sink()).unwrap();
    let (length, usage) = groups.limited(limit, read).unwrap();
    let found = residency(path).unwrap();
    let page_len = page_len().unwrap();
    assert_eq!(found.pages, length.div_ceil(page_len));
    (found.resident * page_len, usage)
}

fn fails() {
    panic!("of the work");
}

#[test]
fn group_limits_the_cache_or_reports_why_not() {
    let before = groups();
    let found = match MemoryGroups::find() {
        Ok(found) => found,
        Err(error) => {
            let message = error.to_string();
            let why = message.strip_prefix("no memory cgroup can be made here: ").unwrap_or_default();
            assert!(why.contains("cgroup"), "{message}");
            assert_eq!(groups(), before, "the process is where it was");
            return;
        }
    };
    let home = groups();
    // On a disk, because a file system in memory cannot evict pages.
    let folder = on_disk::folder();
    let path = folder.path().join("file");
    fs::write(&path, vec![7; 64 << 20]).unwrap();

    let (cached, usage) = read_within(&found, Some(16 * MIB), &path);
    assert!(cached <= 16 * MIB, "{cached} bytes are cached");
    assert!(usage.peak_bytes.is_none_or(|peak| (8 * MIB..=16 * MIB).contains(&peak)), "{usage:?}");
    assert!(usage.limit_hits.is_none_or(|hits| hits > 0), "{usage:?}");
    assert_eq!(groups(), home, "back home");

    let (cached, usage) = read_within(&found, None, &path);
    // Perhaps not all of it, if the machine or an outer group is short of memory.
    assert!(cached > 16 * MIB, "{cached} bytes are cached without a limit");
    assert!(usage.peak_bytes.is_none_or(|peak| peak > 16 * MIB), "{usage:?}");
    assert!(usage.limit_hits.is_none_or(|hits| hits == 0), "{usage:?}");

    // A panic leaves the group, too.
    let panics = std::panic::AssertUnwindSafe(|| found.limited(Some(64 * MIB), fails));
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!(groups(), home);
    drop(found);
    assert_eq!(groups(), before);
}
