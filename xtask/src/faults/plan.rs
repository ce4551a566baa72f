//! The kinds of faults, and the calls at which they happen.

/// A fault that strace injects.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) name: &'static str,
    /// The system calls that have it, as strace names them.
    pub(super) calls: &'static str,
    /// What happens at the call.
    pub(super) effect: &'static str,
    /// What strace slows down meanwhile.
    pub(super) slow: Option<&'static str>,
}

/// Calls that change a file system. Between two of them, a killed program leaves the same files.
const CHANGES: &str =
    "/^(write|pwrite64|rename.*|link.*|symlink.*|unlink.*|mkdir.*|rmdir|f?chmod.*|utimensat|copy_file_range|sendfile)$";

pub(super) const FAULTS: [Fault; 6] = [
    Fault { name: "kill", calls: CHANGES, effect: "signal=KILL", slow: None },
    // Ctrl-C, after which the program waits for its job for less time than two renames take.
    Fault {
        name: "interrupt",
        calls: "/^(write|pwrite64|fsync|link.*|symlink.*|unlink.*|mkdir.*)$",
        effect: "signal=INT",
        slow: Some("inject=rename,renameat,renameat2:delay_enter=400000"),
    },
    Fault {
        name: "full-disk",
        calls: "/^(write|pwrite64|rename.*|link.*|symlink.*|mkdir.*|copy_file_range)$",
        effect: "error=ENOSPC",
        slow: None,
    },
    Fault {
        name: "failing-writes",
        calls: "/^(write|pwrite64|fsync|fdatasync|rename.*|unlink.*)$",
        effect: "error=EIO",
        slow: None,
    },
    Fault {
        name: "failing-reads",
        calls: "/^(read|pread64|getdents64|readlink.*|openat|mmap)$",
        effect: "error=EIO",
        slow: None,
    },
    Fault {
        name: "read-only",
        calls: "/^(rename.*|link.*|symlink.*|unlink.*|mkdir.*)$",
        effect: "error=EROFS",
        slow: None,
    },
];

impl Fault {
    /// Whether it ends the program at once.
    pub(super) fn is_kill(&self) -> bool {
        self.effect == "signal=KILL"
    }

    /// Whether it asks the program to end.
    pub(super) fn is_interrupt(&self) -> bool {
        self.effect == "signal=INT"
    }
}

/// At most `points` of the calls, spread evenly.
pub(super) fn spread<T>(calls: &[T], points: usize) -> impl Iterator<Item = &T> {
    let points = points.min(calls.len());
    (0..points).filter_map(move |point| calls.get(point * calls.len() / points))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_spread_over_all_calls() {
        let spread = |calls: u64, points| spread(&(1..=calls).collect::<Vec<_>>(), points).copied().collect::<Vec<_>>();
        assert_eq!(spread(10, 5), [1, 3, 5, 7, 9]);
        assert_eq!(spread(3, 200), [1, 2, 3]);
        assert_eq!(spread(0, 5), [0; 0]);
    }
}
