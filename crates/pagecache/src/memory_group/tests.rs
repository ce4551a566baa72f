use super::*;

const HYBRID: &str = "\
    32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
    35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:3 - cgroup cgroup rw,memory\n\
    41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";

const UNIFIED: &str = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw,nsdelegate\n";

#[test]
fn own_group_is_found_below_its_mount() {
    let find = |mounts, groups| v2::own_group(mounts, groups).map_err(|error| error.to_string());
    assert_eq!(find(UNIFIED, "0::/user.slice/a.scope\n"), Ok("/sys/fs/cgroup/user.slice/a.scope".into()));
    assert_eq!(find(HYBRID, "4:cpu:/x\n0::/\n"), Ok("/sys/fs/cgroup/unified/".into()));
    let part = "30 23 0:26 /docker/1 /mnt/my\\040group rw - cgroup2 cgroup rw\n";
    assert_eq!(find(part, "0::/docker/1/inner\n"), Ok("/mnt/my group/inner".into()));
    assert!(find(part, "0::/elsewhere\n").is_err_and(|error| error.contains("shows the group /elsewhere")));
    assert!(find(HYBRID, "4:cpu:/x\n").is_err_and(|error| error.contains("no group that has the memory controller")));
}

#[test]
fn version_1_is_used_if_its_hierarchy_has_the_controller() {
    let find = |mounts, groups| v1::own_group(mounts, groups).map_err(|error| error.to_string());
    assert_eq!(find(HYBRID, "9:cpu:/x\n4:memory:/a:b\n0::/\n"), Ok(Some("/sys/fs/cgroup/memory/a:b".into())));
    assert_eq!(find(UNIFIED, "1:name=memory:/x\n0::/user.slice\n"), Ok(None), "a name is no controller");
    let both = "35 31 0:32 /docker/1 /cg rw - cgroup cgroup rw,cpu,memory\n";
    assert_eq!(find(both, "4:cpu,memory:/docker/1\n"), Ok(Some("/cg/".into())));
    let error = find(UNIFIED, "4:memory:/x\n0::/\n").unwrap_err();
    assert!(error.contains("version 1 is mounted that shows the memory group /x"), "{error}");
}

/// A folder with the control files of a group of version 2.
fn group(controllers: &str, handed_down: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cgroup.controllers"), controllers).unwrap();
    fs::write(folder.path().join("cgroup.subtree_control"), handed_down).unwrap();
    fs::write(folder.path().join("cgroup.procs"), format!("{}\n", process::id())).unwrap();
    folder
}

/// The groups below `folder`, which stands for the root of a mount of the given version.
fn below(folder: &Path, version: u32) -> Result<MemoryGroups, NoGroup> {
    let (kind, groups) = if version == 1 { ("cgroup", "4:memory:/\n0::/\n") } else { ("cgroup2", "0::/\n") };
    // As the kernel writes it, because a space would end the field.
    let place = folder.display().to_string().replace(' ', "\\040");
    MemoryGroups::parse(&format!("35 31 0:32 / {place} rw - {kind} group rw,memory\n"), groups)
}

#[test]
fn missing_controller_is_reported_with_a_hint() {
    for (controllers, found) in [("hugetlb\n", "expected memory, found hugetlb"), ("", "found none")] {
        let folder = group(controllers, "");
        let error = below(folder.path(), 2).unwrap_err().to_string();
        assert!(error.starts_with("no memory cgroup can be made here: "), "{error}");
        assert!(
            error.contains(found) && error.contains("not handed down") && error.contains("Delegate=yes"),
            "{error}"
        );
    }
    let nowhere = below(Path::new("/nonexistent/group"), 2).unwrap_err().to_string();
    assert!(nowhere.contains("cannot read /nonexistent/group/cgroup.controllers"), "{nowhere}");
    let nowhere = below(Path::new("/nonexistent/group"), 1).unwrap_err().to_string();
    assert!(nowhere.contains("cannot make /nonexistent/group/repackbench-"), "{nowhere}");
    assert!(nowhere.contains("are root's"), "{nowhere}");
}

#[test]
fn groups_that_would_escape_limits_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("memory.use_hierarchy"), "0\n").unwrap();
    let error = below(folder.path(), 1).unwrap_err().to_string();
    assert!(error.contains("memory.use_hierarchy: expected 1, found 0"), "{error}");
    fs::write(folder.path().join("memory.use_hierarchy"), "1\n").unwrap();
    below(folder.path(), 1).unwrap();
}

/// Plays the kernel in a group: returns the files that were written to it, then writes `files` there.
fn play(limited: &Path, files: &[(&str, &str)]) -> Vec<(String, String)> {
    let written = fs::read_dir(limited).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap())
    });
    let mut written: Vec<_> = written.collect();
    written.sort();
    files.iter().for_each(|(name, text)| fs::write(limited.join(name), text).unwrap());
    written
}

#[test]
fn process_enters_a_limited_group_and_returns() {
    let stat = ("memory.stat", "anon 5\nworkingset_refault_anon 7\nworkingset_refault_file 41\npgmajfault 3\n");
    for (version, limit, files) in [
        (2, "memory.max", [stat, ("memory.peak", "12000\n"), ("memory.events", "low 0\nhigh 0\nmax 17\noom 0\n")]),
        (1, "memory.limit_in_bytes", [stat, ("memory.max_usage_in_bytes", "12000\n"), ("memory.failcnt", "17\n")]),
    ] {
        let folder = group("cpu memory\n", "memory\n");
        let own = folder.path();
        let groups = below(own, version).unwrap();
        assert_eq!(fs::read_dir(own).unwrap().count(), 3, "the group that was tried is gone");
        let limited = own.join(format!("repackbench-{}-limit", process::id()));
        fs::write(own.join("cgroup.procs"), "").unwrap();
        let (written, usage) = groups.limited(Some(12_345), || play(&limited, &files)).unwrap();
        let me = process::id().to_string();
        assert_eq!(written, [("cgroup.procs".to_owned(), me.clone()), (limit.to_owned(), "12345".to_owned())]);
        let expected = GroupUsage { refaults: Some(41), peak_bytes: Some(12_000), limit_hits: Some(17) };
        assert_eq!(usage, expected, "version {version}");
        assert_eq!(fs::read_to_string(own.join("cgroup.procs")).unwrap(), me, "back home");
    }
}

#[test]
fn groups_of_killed_processes_are_removed() {
    // Above the largest process id of Linux (PID_MAX_LIMIT).
    let gone = 1_u32 << 30;
    for version in [1, 2] {
        let folder = group("memory\n", "memory\n");
        // The group of process 1, which is alive, and names that are not of our groups.
        let stay =
            ["repackbench-1-limit".to_owned(), format!("repackbench-{gone}-other"), format!("other-{gone}-limit")];
        let go = [(gone, "limit"), (gone, "home"), (process::id(), "limit"), (process::id(), "home")];
        let go = go.map(|(id, purpose)| format!("repackbench-{id}-{purpose}"));
        // The kernel does not remove a group with a process. Here, such a group is a folder that is not empty.
        let used = format!("repackbench-{}-limit", gone + 1);
        for name in stay.iter().chain(&go).chain([&used]) {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join(&used).join("cgroup.procs"), "1\n").unwrap();
        below(folder.path(), version).unwrap();
        let left: Vec<&String> = go.iter().filter(|name| folder.path().join(name).exists()).collect();
        assert!(left.is_empty(), "{left:?}");
        assert!(stay.iter().chain([&used]).all(|name| folder.path().join(name).is_dir()));
    }
}

#[test]
fn group_without_limit_only_counts() {
    let folder = group("memory\n", "memory\n");
    for version in [1, 2] {
        let groups = below(folder.path(), version).unwrap();
        let limited = folder.path().join(format!("repackbench-{}-limit", process::id()));
        let (written, _) = groups.limited(None, || play(&limited, &[])).unwrap();
        assert_eq!(written, [("cgroup.procs".to_owned(), process::id().to_string())]);
        // The kernel removes a group together with its files. Here the files must be removed first.
        fs::remove_dir_all(limited).unwrap();
    }
}

#[test]
fn controller_is_switched_on_only_while_needed() {
    let folder = group("cpu memory\n", "");
    let control = folder.path().join("cgroup.subtree_control");
    let groups = below(folder.path(), 2).unwrap();
    assert_eq!(fs::read_to_string(&control).unwrap(), "+memory");
    drop(groups);
    assert_eq!(fs::read_to_string(&control).unwrap(), "-memory");
    fs::write(&control, "memory\n").unwrap();
    drop(below(folder.path(), 2).unwrap());
    assert_eq!(fs::read_to_string(&control).unwrap(), "memory\n", "what was handed down already is left alone");
}

#[test]
fn usage_is_unknown_if_the_kernel_does_not_report_it() {
    let folder = tempfile::tempdir().unwrap();
    for of in [v1::usage, v2::usage] {
        assert_eq!(of(folder.path()), GroupUsage::default());
    }
    fs::write(folder.path().join("memory.stat"), "workingset_refault 9\n").unwrap();
    assert_eq!(v1::usage(folder.path()).refaults, Some(9));
}
