//! How long an estimate takes if the user does not say.

use std::time::Duration;

use crate::delta_search;

/// The time for repositories of at most [`SMALL`] bytes. In longer sessions intervals of times become narrower, but
/// predictions hardly more exact (`docs/method.md`).
const SHORT: Duration = Duration::from_secs(20);

/// The least time where the deltas are searched for anew, which makes a second state to predict for: each needs its own
/// dictionaries, its own sample, and its own replays.
const SHORT_OF_TWO: Duration = Duration::from_secs(40);

/// The time for repositories of [`LARGE`] bytes or more, and the most in any case.
pub(super) const LONGEST_DEFAULT: Duration = Duration::from_secs(60);

const SMALL: f64 = 500e6;
const LARGE: f64 = 5e9;

/// The time for a repository whose chunks have `stored_bytes`, with a new search for deltas that is predicted to take
/// `search`, if one is wanted. There is room for the search where that needs no more than [`LONGEST_DEFAULT`].
pub(super) fn default_time(stored_bytes: u64, search: Option<Duration>) -> Duration {
    let part = ((stored_bytes as f64 - SMALL) / (LARGE - SMALL)).clamp(0.0, 1.0);
    let alone = SHORT + (LONGEST_DEFAULT - SHORT).mul_f64(part);
    let with_search =
        search.filter(|search| delta_search::fits(*search, LONGEST_DEFAULT)).map(delta_search::comfortable_time);
    with_search.map_or(alone, |time| time.clamp(alone.max(SHORT_OF_TWO), LONGEST_DEFAULT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_grows_with_the_repository() {
        let seconds = |bytes| default_time(bytes, None).as_secs_f64();
        assert_eq!((seconds(0), seconds(500_000_000), seconds(5_000_000_000)), (20.0, 20.0, 60.0));
        assert_eq!((seconds(2_750_000_000), seconds(u64::MAX)), (40.0, 60.0));
    }

    #[test]
    fn search_has_room_if_it_fits_a_minute() {
        let seconds = |search| default_time(1_000_000, Some(Duration::from_secs(search))).as_secs_f64();
        assert_eq!([1, 5, 10, 15, 20, 21].map(seconds), [40.0, 40.0, 60.0, 60.0, 60.0, 20.0]);
        for search in 1..=20 {
            let search = Duration::from_secs(search);
            assert!(delta_search::fits(search, default_time(1_000_000, Some(search))), "{search:?}");
        }
    }
}
