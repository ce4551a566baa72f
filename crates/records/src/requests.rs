//! The requests of a run that answers many, one after the other.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The requests of one run: files, blames or logs that a web page shows, or pushes that a repository receives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestTimes {
    /// The elapsed time of each, in nanoseconds, in the order of [`Self::drawn`]. They follow each other once more for each
    /// further time that the job was done in the run.
    pub elapsed_ns: Vec<u64>,
    /// The requests: `REV:PATH`, a revision, or the range `OLD..NEW` of a push. The same in all runs of a session, so only
    /// the baseline's first run of the first block has them. Omitted from JSON if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn: Vec<String>,
}

/// The elapsed time of the requests of all runs of one variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPercentiles {
    /// How many were timed.
    pub count: usize,
    /// Half of them took at most this long.
    pub median: Duration,
    /// 90 % of them took at most this long.
    pub p90: Duration,
    /// 99 % of them took at most this long.
    pub p99: Duration,
}

/// What a job wrote into the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenBytes {
    /// The lengths of all files that it made, also of those that it removed later, and what it appended to others.
    pub run: u64,
    /// The same for each day of the pushes; `None` if the job does not follow a stream of pushes, or if all of them have
    /// the same date.
    pub day: Option<u64>,
    /// The bytes of the packs that were pushed; `None` if the job does not follow a stream of pushes.
    pub pushed: Option<u64>,
    /// The bytes that the other side sent; `None` if the job has no other side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
}

impl WrittenBytes {
    /// The name in [`extra`](crate::Record::extra) of [`Self::run`].
    pub const RUN: &str = "bytes written";
    /// The name of [`Self::day`].
    pub const DAY: &str = "bytes written a day";
    /// The name of [`Self::pushed`].
    pub const PUSHED: &str = "bytes pushed";
    /// The name of [`Self::sent`].
    pub const SENT: &str = "bytes sent";
}
