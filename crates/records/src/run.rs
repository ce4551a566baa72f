//! What a run used, what disturbed it, and under which conditions it read.
//!
//! What the system does not tell is `None`: a zero would claim that it was measured.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run used besides time. Faults and calls are, like the times, the mean of the jobs that made the run up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunUsage {
    /// Page faults of the measuring threads that needed no reading from a disk (`getrusage`).
    pub minor_faults: Option<u64>,
    /// Page faults of the measuring threads that did.
    pub major_faults: Option<u64>,
    /// Read calls of the process (`/proc/self/io`). Reads through a mapped file are faults, not calls.
    pub read_calls: Option<u64>,
    /// Memory of the process when the run began, in bytes: pages of mapped files count, those of other variants too.
    pub start_resident_bytes: Option<u64>,
    /// The most that it was during the run. The difference is what the run took anew: memory that the allocator kept from earlier
    /// runs is in both. Of a command of the user's own git or hg it is the most that any one of its processes held in the untimed
    /// run before the timed ones, and so the same in all records of its row in a session.
    pub peak_resident_bytes: Option<u64>,
}

/// What the machine did during a run besides running it, from `/proc/stat` and `/proc/pressure`. The figures are of the whole
/// machine; pressure counts time in which at least one task of any process had to wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Disturbance {
    /// How long the run took with all that is not timed in it, in nanoseconds: what the other figures are a share of.
    pub elapsed_ns: Option<u64>,
    /// Time that a hypervisor gave to others while a processor of this machine wanted to run, in nanoseconds, all processors
    /// together. Counted in ticks of 10 ms.
    pub steal_ns: Option<u64>,
    /// Time in which some task waited for a processor, in nanoseconds.
    pub cpu_pressure_ns: Option<u64>,
    /// Time in which some task waited for a disk, in nanoseconds.
    pub io_pressure_ns: Option<u64>,
    /// Time in which some task waited for memory, in nanoseconds.
    pub memory_pressure_ns: Option<u64>,
}

/// How the cache of delta bases did in one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeltaCacheUse {
    /// The most decoded bytes that it holds; `None` for no limit.
    pub limit_bytes: Option<u64>,
    /// How often an object or a base was looked for and found.
    pub hits: u64,
    /// How often it was not found.
    pub misses: u64,
}

impl DeltaCacheUse {
    /// The share of look-ups that found what they looked for; `None` if there were none.
    pub fn hit_rate(&self) -> Option<f64> {
        let lookups = self.hits.checked_add(self.misses).filter(|lookups| *lookups > 0)?;
        Some(self.hits as f64 / lookups as f64)
    }
}

/// A limit of the cache of delta bases that was chosen for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ChosenDeltaCache {
    /// The most decoded bytes that it holds; `None` for no limit.
    pub limit_bytes: Option<u64>,
}

impl fmt::Display for ChosenDeltaCache {
    /// As it is typed: `16M`, `unlimited`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(bytes) = self.limit_bytes else { return f.write_str("unlimited") };
        for (unit, shift) in [("G", 30), ("M", 20), ("K", 10)] {
            if bytes > 0 && bytes.trailing_zeros() >= shift {
                return write!(f, "{}{unit}", bytes >> shift);
            }
        }
        write!(f, "{bytes}")
    }
}

/// What reading checked, and what could have saved it work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Checks {
    /// Whether a checksum of each compressed chunk was checked. Chunks of a revlog have none but zlib's own.
    pub chunk_checksums: bool,
    /// Whether the hash that names an object was computed again from its content: in Mercurial, as hg does; not in Git, whose
    /// own commands do not either.
    pub object_hashes: bool,
    /// Whether a commit-graph was used.
    pub commit_graph: bool,
    /// Whether pack bitmaps were used.
    pub bitmaps: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_shown_as_they_are_typed() {
        for (limit_bytes, text) in [
            (Some(0), "0"),
            (Some(1000), "1000"),
            (Some(16 << 20), "16M"),
            (Some(3 << 9), "1536"),
            (Some(1 << 30), "1G"),
            (None, "unlimited"),
        ] {
            assert_eq!(ChosenDeltaCache { limit_bytes }.to_string(), text);
        }
    }

    #[test]
    fn a_cache_that_nobody_asked_has_no_hit_rate() {
        let mut cache = DeltaCacheUse { limit_bytes: None, hits: 0, misses: 0 };
        assert_eq!(cache.hit_rate(), None);
        cache.hits = 3;
        cache.misses = 1;
        assert_eq!(cache.hit_rate(), Some(0.75));
    }
}
