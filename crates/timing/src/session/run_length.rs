//! How long a run is: a short job is repeated in it, so that the grain of the clock does not show.

use std::time::Duration;

use repackbench_analysis::{is_guess, shortest_exact_run};
use repackbench_records::ComparedTime;

use super::{Session, Stop};
use crate::clock::Sample;

/// A run of a job with little user time ends after this long: the job has hardly any.
const LONG_ENOUGH_FOR_TICKS: Duration = Duration::from_secs(10);

/// Runs are made no shorter than this to fit a time limit: opening files and reading the clock would show.
const SHORTEST_TO_FIT: Duration = Duration::from_millis(10);

/// A run that has lasted this many times the shortest run ends though the baseline repeats the job more often.
const EARLY_END: u32 = 4;

/// How long a run has to be, and how often it repeats a job for that.
#[derive(Debug, Clone, Copy)]
pub struct RunLength {
    shortest: Duration,
    most_jobs: u32,
    /// The time whose exactness decides when a run ends; `None` for runs that repeat the job exactly as often as
    /// planned.
    compared: Option<ComparedTime>,
    /// Whether the user has chosen the shortest run.
    is_chosen: bool,
}

impl RunLength {
    /// Runs of at least `shortest`, in which a job is repeated at most `most_jobs` times.
    pub const fn at_least(shortest: Duration, most_jobs: u32) -> Self {
        RunLength { shortest, most_jobs, compared: None, is_chosen: false }
    }

    /// Runs that are long enough for the `compared` time to be exact, or as long as the user has `chosen`.
    pub fn exact(compared: ComparedTime, chosen: Option<Duration>, most_jobs: u32) -> Self {
        let shortest = chosen.unwrap_or_else(|| shortest_exact_run(compared));
        RunLength { shortest, most_jobs, compared: Some(compared), is_chosen: chosen.is_some() }
    }

    /// Runs that repeat a job no longer than `limit`, so that a session fits its time. A length that the user has chosen
    /// stays, and so does that of user time, which would be a guess.
    pub fn at_most(self, limit: Option<Duration>) -> Self {
        match (limit, self.compared) {
            (_, Some(ComparedTime::User | ComparedTime::UserOfCommand)) | (None, _) => self,
            _ if self.is_chosen => self,
            (Some(limit), _) => RunLength { shortest: self.shortest.min(limit.max(SHORTEST_TO_FIT)), ..self },
        }
    }

    /// The length of a run from which the job is not repeated.
    pub fn shortest(&self) -> Duration {
        self.shortest
    }

    /// How many jobs make up a run if one job takes `one`: at least one. A job that takes no time on the clock is
    /// repeated as often as allowed.
    pub fn jobs(&self, one: Duration) -> u32 {
        let wanted = self.shortest.as_nanos().div_ceil(one.as_nanos().max(1));
        u32::try_from(wanted).unwrap_or(self.most_jobs).clamp(1, self.most_jobs)
    }

    /// Does `job` the `planned` number of times, or until the run is long enough before, or as
    /// often again while it needs more jobs. Returns the sum of the times and the number of
    /// jobs.
    ///
    /// # Errors
    /// What `job` returns, and [`Stop::Interrupted`], which is checked before each job.
    pub fn run<E: From<Stop>>(
        &self,
        session: &Session<'_>,
        mut planned: u32,
        mut job: impl FnMut() -> Result<Sample, E>,
    ) -> Result<(Sample, u32), E> {
        let (mut sum, mut done) = (Sample::ZERO, 0);
        while done < planned {
            session.go_on()?;
            sum += job()?;
            done += 1;
            if self.is_long_enough(sum) {
                break;
            }
            // As many again, not one more: otherwise chance could end a run after each job.
            if done == planned && self.needs_more_jobs(sum) {
                planned = planned.saturating_mul(2).min(self.most_jobs);
            }
        }
        Ok((sum, done))
    }

    /// Whether a run whose jobs took this long ends before all planned jobs are done. That is for jobs that take many
    /// times as long as the baseline's, such as a clone that is compressed again. The threshold is far above the
    /// shortest run, so that chance does not decide how many jobs a row does that is as fast as the baseline.
    fn is_long_enough(&self, sum: Sample) -> bool {
        self.compared.is_some() && sum.wall >= self.shortest.saturating_mul(EARLY_END) && !self.needs_more_jobs(sum)
    }

    /// Whether a run whose planned jobs took this long is still too short for its time to be exact, but may become long
    /// enough. Never if the user has chosen the length.
    fn needs_more_jobs(&self, sum: Sample) -> bool {
        let is_guessed = |compared| is_guess(sum.wall, sum.user, compared);
        !self.is_chosen && self.compared.is_some_and(is_guessed) && sum.wall < LONG_ENOUGH_FOR_TICKS
    }
}

#[cfg(test)]
mod tests {
    use repackbench_writer::NoProgress;

    use super::*;
    use crate::session::tests::SetClock;

    fn took(wall_ms: u64, user_ms: u64) -> Sample {
        let milliseconds = Duration::from_millis;
        Sample { wall: milliseconds(wall_ms), user: milliseconds(user_ms), ..Sample::ZERO }
    }

    #[test]
    fn short_jobs_are_repeated() {
        let ms = Duration::from_millis;
        let length = RunLength::at_least(ms(100), 1000);
        assert_eq!(length.jobs(ms(30)), 4);
        assert_eq!(length.jobs(ms(300)), 1);
        assert_eq!(length.jobs(Duration::from_nanos(1)), 1000);
        assert_eq!(length.jobs(Duration::ZERO), 1000);
    }

    #[test]
    fn runs_get_shorter_to_fit_the_time() {
        let ms = Duration::from_millis;
        let within = |compared, chosen, limit| RunLength::exact(compared, chosen, 1000).at_most(limit).shortest();
        assert_eq!(within(ComparedTime::Cpu, None, None), ms(100));
        assert_eq!(within(ComparedTime::Cpu, None, Some(ms(40))), ms(40));
        assert_eq!(within(ComparedTime::Cpu, None, Some(ms(400))), ms(100));
        assert_eq!(within(ComparedTime::Wall, None, Some(ms(1))), ms(10), "the clock and opened files would show");
        assert_eq!(within(ComparedTime::Cpu, Some(ms(70)), Some(ms(40))), ms(70), "as the user says");
        assert_eq!(within(ComparedTime::UserOfCommand, None, Some(ms(40))), ms(1000), "less would be a guess");
    }

    #[test]
    fn only_jobs_much_slower_than_the_baselines_end_a_run_early() {
        for compared in [ComparedTime::Cpu, ComparedTime::CpuWithoutWriting, ComparedTime::Wall] {
            // The baseline's jobs take 100 ms together, and one of them at most as much again.
            let of = |wall_ms, chosen| RunLength::exact(compared, chosen, 1000).is_long_enough(took(wall_ms, 0));
            assert!(!of(399, None) && of(400, None), "{compared:?}");
            let chosen = Some(Duration::from_millis(5));
            assert!(!of(19, chosen) && of(20, chosen), "{compared:?}");
            let faster = RunLength::exact(compared, None, 1000).needs_more_jobs(took(1, 0));
            assert!(!faster, "faster rows do as many jobs as the baseline");
        }
        let of_command = RunLength::exact(ComparedTime::UserOfCommand, None, 1000);
        assert!(!of_command.is_long_enough(took(3999, 3000)) && of_command.is_long_enough(took(4000, 3000)));
        assert!(
            !of_command.is_long_enough(took(9999, 199)) && of_command.is_long_enough(took(10_000, 0)),
            "a command that spends all its time in the kernel ends"
        );
        assert!(!RunLength::at_least(Duration::from_millis(1), 9).is_long_enough(took(9999, 9999)));
    }

    #[test]
    fn user_time_of_commands_takes_a_second_and_twenty_ticks() {
        let with = |chosen, wall_ms, user_ms| {
            RunLength::exact(ComparedTime::UserOfCommand, chosen, 1000).needs_more_jobs(took(wall_ms, user_ms))
        };
        let needs_more = |wall_ms, user_ms| with(None, wall_ms, user_ms);
        assert!(needs_more(999, 900) && needs_more(1000, 199) && needs_more(9999, 0));
        assert!(!needs_more(1000, 200) && !needs_more(10_000, 0));
        assert!(!with(Some(Duration::from_millis(1)), 5, 0), "the user wants no longer runs");
    }

    #[test]
    fn a_run_repeats_the_job_until_it_is_exact() {
        let clock = SetClock::at(0);
        let session = Session::new(&clock, &NoProgress);
        let run = |length: RunLength, planned, one| {
            length.run::<Stop>(&session, planned, || Ok(one)).map(|(sum, jobs)| (sum.wall.as_millis(), jobs)).unwrap()
        };
        let planned_only = RunLength::at_least(Duration::from_secs(9), 10);
        assert_eq!(run(planned_only, 3, took(5, 0)), (15, 3));
        let cpu = RunLength::exact(ComparedTime::Cpu, None, 10);
        assert_eq!(run(cpu, 3, took(5, 0)), (15, 3));
        assert_eq!(run(cpu, 3, took(250, 0)), (500, 2), "long enough");
        let user = RunLength::exact(ComparedTime::UserOfCommand, None, 100);
        assert_eq!(run(user, 2, took(100, 50)), (1600, 16), "doubled until a second and twenty ticks are over");
        assert_eq!(run(RunLength::exact(ComparedTime::UserOfCommand, None, 5), 2, took(100, 50)), (500, 5));
    }
}
