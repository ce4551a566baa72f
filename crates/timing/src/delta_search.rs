//! How long a search for deltas is predicted to take, and when nobody has to ask for one.

use std::time::Duration;

use repackbench_analysis::predicted_search_seconds;
use repackbench_records::ChunkSizes;

/// Which part of a session's time a search may take that nobody asked for.
const SHARE: u32 = 3;

/// The predicted elapsed time of `git repack -adF` on these chunks, with `--window` if there is one, and `threads`
/// threads.
pub fn predicted_time(chunks: &ChunkSizes, window: Option<u32>, threads: usize) -> Duration {
    Duration::from_secs_f64(predicted_search_seconds(chunks, window) / threads.max(1) as f64)
}

/// The time of a session in which a search that is predicted to take `predicted` fits even if it takes twice as long,
/// if the replays of the state as found end in time.
pub(crate) fn comfortable_time(predicted: Duration) -> Duration {
    predicted.saturating_mul(2 * SHARE)
}

/// Whether a search that takes `predicted` fits a session of `time`.
pub(crate) fn fits(predicted: Duration, time: Duration) -> bool {
    predicted <= time / SHARE
}
