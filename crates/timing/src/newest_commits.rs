//! How many of the newest commits a workload reads in a given time.

use std::time::Duration;

use crate::workloads::Counts;

/// The number of newest commits of the first trial.
const FIRST_TRIAL: u64 = 4;
/// How many times as many commits as the largest trial a line is drawn to.
const EXTRAPOLATION: u64 = 4;
/// How many times as many commits a trial reads than the one before, at least and at most.
const GROWTH: (u64, u64) = (4, 16);
/// Trials end when they have taken this many times the time that the commits may take.
const MOST_TRIALS: f64 = 4.0;
/// The first commit alone may take longer than there is. Others then cost little, and as many are read as take this part
/// longer,
const LEAST_ADDED: f64 = 0.25;
/// unless that takes this many times as long as there is.
const LONGEST: f64 = 4.0;

/// The newest commits that fit a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NewestCommits {
    /// Their number; `None` if all fit.
    pub(crate) limit: Option<u64>,
    /// How long they take.
    pub(crate) took: Duration,
}

/// Finds out how many of the newest commits of a repository fit a time. Trials are remembered, so that another time
/// costs few more.
#[derive(Debug)]
pub(crate) struct CommitTrials {
    stored: u64,
    /// In order of commits.
    tried: Vec<Trial>,
}

/// One trial.
#[derive(Debug)]
struct Trial {
    commits: u64,
    seconds: f64,
    counts: Counts,
}

impl CommitTrials {
    /// No trial yet, for a repository of `stored` commits.
    pub(crate) fn new(stored: u64) -> Self {
        CommitTrials { stored, tried: Vec::new() }
    }

    /// The newest commits that take about `fits`. `trial` reads that many, or all for `None`, and returns how long that
    /// took and what was counted. Workloads take a time for the first commit, such as for its whole tree, and one for
    /// each further commit: a line through the two largest trials says how many fit, and trials grow until that is not
    /// far from the last one. Each trial is made twice, unless it takes far too long, and the shorter time counts.
    ///
    /// # Errors
    /// The error of `trial`.
    pub(crate) fn newest_that_fit<E>(
        &mut self,
        fits: Duration,
        mut trial: impl FnMut(Option<u64>) -> Result<(Duration, Counts), E>,
    ) -> Result<NewestCommits, E> {
        loop {
            let next = match self.step(fits.as_secs_f64()) {
                Step::Found(found) => return Ok(found),
                Step::Try(commits) => commits,
            };
            let limit = Some(next).filter(|commits| *commits < self.stored);
            let (mut took, counts) = trial(limit)?;
            // The first one reads files and touches memory that later ones find warm, and any may be disturbed. A line
            // through one that took too long would be too steep or too flat by far.
            if took < fits.mul_f64(LONGEST) {
                took = took.min(trial(limit)?.0);
            }
            let trial = Trial { commits: next.min(self.stored), seconds: took.as_secs_f64(), counts };
            let place = self.tried.partition_point(|tried| tried.commits < trial.commits);
            self.tried.insert(place, trial);
        }
    }

    fn step(&self, fits: f64) -> Step {
        let (before, last) = match self.tried.as_slice() {
            [] => return Step::Try(FIRST_TRIAL),
            [only] if only.commits >= self.stored => return Step::all(only.seconds),
            // The second trial is a smaller one if a larger one may take too long.
            [only] if only.seconds * GROWTH.0 as f64 >= fits => return Step::Try(1),
            [only] => return Step::Try(only.commits * GROWTH.0),
            [.., before, last] => (before, last),
        };
        // The other commits are not reachable, if there are any.
        if last.commits >= self.stored && last.seconds <= fits || last.counts == before.counts {
            return Step::all(last.seconds);
        }
        let first = self.tried.first().map_or(0.0, |trial| trial.seconds);
        let fits = fits.max((first * (1.0 + LEAST_ADDED)).min(fits * LONGEST));
        let spent: f64 = self.tried.iter().map(|trial| trial.seconds).sum();
        let line = Line::through(before, last);
        let fitting = line.commits(fits);
        let farthest = last.commits.saturating_mul(EXTRAPOLATION) as f64;
        let is_near = fitting <= farthest;
        if !is_near && spent < fits * MOST_TRIALS && last.commits < self.stored {
            let (least, most) = GROWTH;
            // Saturates: a line that does not rise.
            let next = (fitting / EXTRAPOLATION as f64) as u64;
            let next = next.clamp(last.commits.saturating_mul(least), last.commits.saturating_mul(most));
            return Step::Try(next.min(self.stored));
        }
        let fitting = fitting.min(farthest);
        if fitting >= self.stored as f64 {
            return Step::all(line.seconds(self.stored));
        }
        let limit = two_digits(fitting as u64);
        Step::Found(NewestCommits { limit: Some(limit), took: duration(line.seconds(limit)) })
    }
}

/// What to do next.
enum Step {
    /// A trial of this many commits.
    Try(u64),
    /// Nothing.
    Found(NewestCommits),
}

impl Step {
    fn all(seconds: f64) -> Self {
        Step::Found(NewestCommits { limit: None, took: duration(seconds) })
    }
}

/// Seconds as a function of commits.
struct Line {
    commits: f64,
    seconds: f64,
    /// Seconds for a further commit, above 0.
    slope: f64,
}

impl Line {
    fn through(before: &Trial, last: &Trial) -> Self {
        let slope = (last.seconds - before.seconds) / (last.commits.saturating_sub(before.commits) as f64).max(1.0);
        Line { commits: last.commits as f64, seconds: last.seconds, slope: slope.max(f64::MIN_POSITIVE) }
    }

    fn commits(&self, seconds: f64) -> f64 {
        self.commits + (seconds - self.seconds) / self.slope
    }

    fn seconds(&self, commits: u64) -> f64 {
        (self.seconds + (commits as f64 - self.commits) * self.slope).max(0.0)
    }
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// The number rounded down to two digits, at least 1.
fn two_digits(number: u64) -> u64 {
    let number = number.max(1);
    let unit = 10_u64.saturating_pow(number.ilog10().saturating_sub(1));
    number / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository in which the first commit takes `first` milliseconds and each further one as many as `each`.
    struct Repository {
        stored: u64,
        reachable: u64,
        first: f64,
        each: f64,
    }

    impl Repository {
        const fn new(stored: u64, first: f64, each: f64) -> Self {
            Repository { stored, reachable: stored, first, each }
        }

        /// What fits, and the limits that were tried, each once.
        fn found(&self, fits_ms: u64) -> (NewestCommits, Vec<Option<u64>>) {
            self.found_again(&mut CommitTrials::new(self.stored), fits_ms)
        }

        fn found_again(&self, trials: &mut CommitTrials, fits_ms: u64) -> (NewestCommits, Vec<Option<u64>>) {
            let mut tried = Vec::new();
            let found = trials.newest_that_fit(Duration::from_millis(fits_ms), |limit| {
                tried.push(limit);
                let read = limit.unwrap_or(u64::MAX).min(self.reachable);
                let ms = self.first + self.each * (read - 1) as f64;
                let counts = Counts::from([("commits".to_owned(), read)]);
                Ok::<_, ()>((Duration::from_secs_f64(ms / 1000.0), counts))
            });
            tried.dedup();
            (found.unwrap(), tried)
        }
    }

    fn ms(found: NewestCommits) -> u128 {
        (found.took + Duration::from_micros(1)).as_millis()
    }

    #[test]
    fn trials_grow_until_a_line_says_what_fits() {
        let (newest, tried) = Repository::new(10_000, 1.0, 1.0).found(1000);
        assert_eq!((newest.limit, ms(newest)), (Some(1000), 1000));
        assert_eq!(tried, [4, 16, 250].map(Some));
    }

    #[test]
    fn first_commit_that_takes_long_does_not_hide_that_the_others_are_cheap() {
        let repository = Repository::new(10_000, 26.0, 0.01);
        let (newest, tried) = repository.found(34);
        assert_eq!((newest.limit, ms(newest)), (Some(800), 33), "linear in commits it would be 5");
        assert_eq!(tried, [4, 1, 64, 256].map(Some));
        assert_eq!(repository.found(10).0.limit, Some(650), "too little even for one: a quarter longer than that");
        assert_eq!(repository.found(5).0.limit, Some(1), "far too little");
        assert_eq!(repository.found(0).0.limit, Some(1), "no time at all");
        assert_eq!(repository.found(1000).0.limit, None, "26 + 100 ms");
    }

    #[test]
    fn what_only_the_first_replay_pays_for_does_not_count() {
        let mut costs = vec![0.02];
        let found = CommitTrials::new(10_000).newest_that_fit(Duration::from_millis(138), |limit| {
            let read = limit.unwrap_or(10_000);
            let seconds = 0.02 + 1e-5 * (read - 1) as f64 + costs.pop().unwrap_or_default();
            Ok::<_, ()>((Duration::from_secs_f64(seconds), Counts::from([("commits".to_owned(), read)])))
        });
        assert_eq!(found.unwrap().limit, None, "20 + 100 ms");
    }

    #[test]
    fn long_trials_are_not_repeated() {
        let mut trials = 0;
        let found = CommitTrials::new(10_000).newest_that_fit(Duration::from_millis(10), |limit| {
            trials += 1;
            Ok::<_, ()>((Duration::from_secs(1), Counts::from([("commits".to_owned(), limit.unwrap())])))
        });
        assert_eq!((found.unwrap().limit, trials), (Some(1), 2));
    }

    #[test]
    fn commits_that_take_long_each_are_not_tried_in_large_numbers() {
        let (newest, tried) = Repository::new(10_000, 400.0, 400.0).found(1000);
        assert_eq!((newest.limit, tried), (Some(2), [4, 1].map(Some).to_vec()));
    }

    #[test]
    fn all_commits_have_no_limit() {
        let (newest, _) = Repository::new(100, 1.0, 1.0).found(1000);
        assert_eq!((newest.limit, ms(newest)), (None, 100));
        let few = Repository { reachable: 50, ..Repository::new(1_000_000, 1.0, 1.0) };
        let (newest, tried) = few.found(10_000);
        assert_eq!((newest.limit, ms(newest)), (None, 50));
        assert_eq!(tried, [4, 16, 256, 4096].map(Some), "the same was counted twice");
        assert_eq!(Repository::new(3, 1.0, 1.0).found(1).1, [None], "fewer than the first trial");
    }

    #[test]
    fn line_that_does_not_rise_ends_with_the_trials() {
        let (newest, tried) = Repository::new(u64::MAX / 100, 1000.0, 0.0).found(900);
        assert_eq!(tried.len(), 5);
        assert_eq!(newest.limit, tried.last().unwrap().map(|last| two_digits(last * EXTRAPOLATION)));
    }

    #[test]
    fn another_time_needs_few_trials() {
        let repository = Repository::new(100_000, 1.0, 1.0);
        let mut trials = CommitTrials::new(repository.stored);
        let (few, _) = repository.found_again(&mut trials, 1000);
        let (many, tried) = repository.found_again(&mut trials, 8000);
        assert_eq!((few.limit, many.limit, tried), (Some(1000), Some(8000), [Some(2000)].to_vec()));
    }

    #[test]
    fn limits_have_two_digits() {
        assert_eq!([0, 9, 10, 160, 1369].map(two_digits), [1, 9, 10, 160, 1300]);
    }
}
