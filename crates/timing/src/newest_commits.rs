//! How many of the newest commits a workload reads in a given time.

use std::time::Duration;

use crate::workloads::Counts;

/// The number of newest commits of the first trial, and the factor to the next.
const FIRST_TRIAL: u64 = 16;
const GROWTH: u32 = 4;

/// The newest commits that fit a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NewestCommits {
    /// Their number; `None` if all fit.
    pub(crate) limit: Option<u64>,
    /// How long they take.
    pub(crate) took: Duration,
}

/// Finds the newest commits that take about `fits`, of `stored` in all. `trial` reads that many, or all for `None`, and
/// returns how long that took and what was counted. Each trial reads more commits, until one takes a quarter of `fits`.
///
/// # Errors
/// The error of `trial`.
pub(crate) fn newest_that_fit<E>(
    stored: u64,
    fits: Duration,
    mut trial: impl FnMut(Option<u64>) -> Result<(Duration, Counts), E>,
) -> Result<NewestCommits, E> {
    let (mut commits, mut last) = (FIRST_TRIAL, None);
    while commits < stored {
        let (took, counts) = trial(Some(commits))?;
        if last.as_ref() == Some(&counts) {
            // There is no more to read: the other commits are not reachable.
            return Ok(NewestCommits { limit: None, took });
        }
        if took.saturating_mul(GROWTH) >= fits {
            let fitting = fitting_commits(commits, took, fits);
            let took = took.mul_f64(fitting.min(stored) as f64 / commits as f64);
            return Ok(NewestCommits { limit: Some(fitting).filter(|fitting| *fitting < stored), took });
        }
        last = Some(counts);
        commits = commits.saturating_mul(u64::from(GROWTH));
    }
    Ok(NewestCommits { limit: None, took: trial(None)?.0 })
}

/// How many commits fit into `fits` if `commits` of them take this long, rounded down to two digits.
fn fitting_commits(commits: u64, took: Duration, fits: Duration) -> u64 {
    let fitting = commits as f64 * fits.as_secs_f64() / took.as_secs_f64().max(f64::MIN_POSITIVE);
    // Saturates: a trial that took no time.
    let fitting = (fitting as u64).max(1);
    let unit = 10_u64.saturating_pow(fitting.ilog10().saturating_sub(1));
    fitting / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result where a commit takes a millisecond and `reachable` of them can be read, and the limits that were tried.
    fn found(stored: u64, reachable: u64, fits_ms: u64) -> (NewestCommits, Vec<Option<u64>>) {
        let mut tried = Vec::new();
        let found = newest_that_fit(stored, Duration::from_millis(fits_ms), |limit| {
            tried.push(limit);
            let read = limit.unwrap_or(u64::MAX).min(reachable);
            Ok::<_, ()>((Duration::from_millis(read), Counts::from([("commits".to_owned(), read)])))
        });
        (found.unwrap(), tried)
    }

    #[test]
    fn trials_grow_until_one_says_what_fits() {
        let (newest, tried) = found(10_000, 10_000, 1000);
        assert_eq!(newest, NewestCommits { limit: Some(1000), took: Duration::from_secs(1) });
        assert_eq!(tried, [16, 64, 256].map(Some));
    }

    #[test]
    fn all_commits_have_no_limit() {
        assert_eq!(found(100, 100, 1000).0, NewestCommits { limit: None, took: Duration::from_millis(100) });
        let (newest, tried) = found(1_000_000, 50, 10_000);
        assert_eq!(newest, NewestCommits { limit: None, took: Duration::from_millis(50) });
        assert_eq!(tried, [16, 64, 256].map(Some), "the same was counted twice");
        assert_eq!(found(300, 300, 1000).0.limit, None, "all of them fit by the last trial");
    }

    #[test]
    fn newest_commits_fill_the_time() {
        let ms = Duration::from_millis;
        assert_eq!(fitting_commits(16, ms(10), ms(100)), 160);
        assert_eq!(fitting_commits(1000, ms(73), ms(100)), 1300, "two digits");
        assert_eq!(fitting_commits(16, ms(400), ms(100)), 4);
        assert_eq!(fitting_commits(16, ms(4000), ms(100)), 1, "one always");
        assert!(fitting_commits(16, Duration::ZERO, ms(100)) > 1 << 40, "no time on the clock");
    }
}
