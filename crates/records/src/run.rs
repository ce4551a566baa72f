//! The resources that a run used, what disturbed it, and the conditions of reading.
//!
//! Values that the system does not report are `None`: a zero would claim a measurement.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The resources that a run used. Faults and calls are, like times, means over the iterations of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunUsage {
    /// Page faults of the measuring threads without disk reads (`getrusage`).
    pub minor_faults: Option<u64>,
    /// Page faults of the measuring threads with disk reads.
    pub major_faults: Option<u64>,
    /// Read calls of the process (`/proc/self/io`). Reads through a mapped file are faults, not calls.
    pub read_calls: Option<u64>,
    /// Resident memory of the process at the start of the run, in bytes, including mapped files, even those of other
    /// variants.
    pub start_resident_bytes: Option<u64>,
    /// The peak during the run. The difference is the memory that the run added: memory that the allocator kept from
    /// earlier runs is in both. For a command of the user's own git or hg it is the peak of any one of its processes in
    /// the untimed run before the timed ones, and so the same in all records of its row in a session.
    pub peak_resident_bytes: Option<u64>,
}

/// What else the machine did during a run, from `/proc/stat` and `/proc/pressure`. Values are for the whole machine;
/// pressure counts time in which at least one task of any process had to wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Disturbance {
    /// The elapsed time of the run including its untimed parts, in nanoseconds. The other values are shares of it.
    pub elapsed_ns: Option<u64>,
    /// Time that a hypervisor gave to other machines while a processor of this one was ready to run, in nanoseconds,
    /// summed over processors. Counted in ticks of 10 ms.
    pub steal_ns: Option<u64>,
    /// Time in which some task waited for a processor, in nanoseconds.
    pub cpu_pressure_ns: Option<u64>,
    /// Time in which some task waited for a disk, in nanoseconds.
    pub io_pressure_ns: Option<u64>,
    /// Time in which some task waited for memory, in nanoseconds.
    pub memory_pressure_ns: Option<u64>,
}

/// Hits and misses of the cache of delta bases in one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeltaCacheUse {
    /// The limit of decoded bytes; `None` for no limit.
    pub limit_bytes: Option<u64>,
    /// Look-ups of an object or a base that succeeded.
    pub hits: u64,
    /// Look-ups that failed.
    pub misses: u64,
}

impl DeltaCacheUse {
    /// The share of successful look-ups; `None` without look-ups.
    pub fn hit_rate(&self) -> Option<f64> {
        let lookups = self.hits.checked_add(self.misses).filter(|lookups| *lookups > 0)?;
        Some(self.hits as f64 / lookups as f64)
    }
}

/// The limit of the cache of delta bases that the user chose for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ChosenDeltaCache {
    /// The limit of decoded bytes; `None` for no limit.
    pub limit_bytes: Option<u64>,
}

impl fmt::Display for ChosenDeltaCache {
    /// As typed: `16M`, `unlimited`.
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

/// What reading checked, and which features could save work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Checks {
    /// Whether the checksum of each compressed chunk was checked. Chunks of a revlog only have zlib's own checksum.
    pub chunk_checksums: bool,
    /// Whether the hash of an object was recomputed from its content: true for Mercurial, as hg does it; false for Git,
    /// whose commands do not do it either.
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
    fn limits_are_displayed_as_typed() {
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
    fn cache_without_lookups_has_no_hit_rate() {
        let mut cache = DeltaCacheUse { limit_bytes: None, hits: 0, misses: 0 };
        assert_eq!(cache.hit_rate(), None);
        cache.hits = 3;
        cache.misses = 1;
        assert_eq!(cache.hit_rate(), Some(0.75));
    }
}
