//! The length of runs from which their compared time is exact.

use std::time::Duration;

use repackbench_records::{ComparedTime, Record};

/// The minimum user time of a run if only user time is compared: twenty ticks of a kernel with 100 ticks per second.
const LEAST_USER: Duration = Duration::from_millis(200);

/// The shortest run whose compared time is exact. The resolution of user time is coarser than that of user plus system
/// time.
pub fn shortest_exact_run(compared: ComparedTime) -> Duration {
    match compared {
        ComparedTime::Cpu | ComparedTime::CpuWithoutWriting | ComparedTime::Wall => Duration::from_millis(100),
        ComparedTime::User | ComparedTime::UserOfCommand => Duration::from_secs(1),
    }
}

/// Whether the compared time of a run of this length is a guess: user time that the kernel derived from too few ticks.
pub fn is_guess(wall: Duration, user: Duration, compared: ComparedTime) -> bool {
    let is_exact = wall >= shortest_exact_run(compared) && user >= LEAST_USER;
    compared == ComparedTime::UserOfCommand && !is_exact
}

/// [`is_guess`] for a recorded run. Runs that compare [`ComparedTime::User`] are exempt: their verdicts were made
/// without this check.
pub(crate) fn is_recorded_guess(run: &Record) -> bool {
    // Rounding to whole nanoseconds has cost the mean of a job less than one.
    let sum = |mean_ns: u64| Duration::from_nanos(mean_ns.saturating_add(1)).saturating_mul(run.iterations);
    is_guess(sum(run.sample.wall_ns), sum(run.sample.user_ns), run.compared_time)
}

#[cfg(test)]
mod tests {
    use repackbench_records::{Role, SampleRecord, fixtures::record};

    use super::*;

    #[test]
    fn recorded_runs_are_guesses_below_twenty_ticks() {
        let run = |compared_time, iterations, wall_ns, user_ns| {
            let mut record = record("checkout", Role::Baseline, 1, 0, 0);
            record.sample = SampleRecord { wall_ns, user_ns, sys_ns: 0, writing_ns: None };
            (record.compared_time, record.iterations) = (compared_time, iterations);
            is_recorded_guess(&record)
        };
        let of_command = ComparedTime::UserOfCommand;
        assert!(
            !run(of_command, 7, 1_000_000_000 / 7, 200_000_000 / 7),
            "a second and a fifth, but for what division lost"
        );
        assert!(run(of_command, 6, 1_000_000_000 / 7, 200_000_000 / 7));
        assert!(run(of_command, 1000, 1_000_000_000, 0));
        assert!(!run(ComparedTime::User, 1, 1000, 0), "older records keep their verdicts");
        assert!(!run(ComparedTime::CpuWithoutWriting, 1, 1000, 1000));
    }
}
