//! How long a run has to be for the time that is compared to be known.

use std::time::Duration;

use repackbench_analysis::{is_guess, shortest_exact_run};
use repackbench_records::ComparedTime;

use crate::clock::Sample;

/// A run that has lasted so long goes on for no other reason than that too little user time was seen: there is hardly any.
const LONG_ENOUGH_FOR_TICKS: Duration = Duration::from_secs(10);

/// A run of a job that takes less than this is made up of several, so that the clock's grain does not show: as long as the user has
/// `chosen`, or as the compared time takes. User time alone has a coarser grain than user and system time together: see
/// [`SystemClock`](crate::clock::SystemClock).
pub(crate) fn shortest_run(compared: ComparedTime, chosen: Option<Duration>) -> Duration {
    chosen.unwrap_or_else(|| shortest_exact_run(compared))
}

/// Whether a run whose jobs took so long together is at its end before all that the baseline does are done: what takes many times as
/// long as the baseline, such as a clone that is compressed anew, is long enough after fewer. Far above
/// [`shortest_run`], so that chance does not decide how many jobs a row like the baseline does.
pub(crate) fn is_long_enough(together: Sample, compared: ComparedTime, chosen: Option<Duration>) -> bool {
    let shortest = shortest_run(compared, chosen);
    together.wall >= shortest.saturating_mul(4) && !needs_more_jobs(together, compared, chosen)
}

/// Whether a run that has done all that the baseline does is still too short for its time to be known, and may become long enough. It
/// stays too short where the user has chosen so.
pub(crate) fn needs_more_jobs(together: Sample, compared: ComparedTime, chosen: Option<Duration>) -> bool {
    chosen.is_none() && is_guess(together.wall, together.user, compared) && together.wall < LONG_ENOUGH_FOR_TICKS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn took(wall_ms: u64, user_ms: u64) -> Sample {
        let milliseconds = Duration::from_millis;
        Sample { wall: milliseconds(wall_ms), user: milliseconds(user_ms), ..Sample::ZERO }
    }

    #[test]
    fn a_run_ends_early_only_where_its_jobs_take_many_times_the_baselines() {
        for compared in [ComparedTime::Cpu, ComparedTime::CpuWithoutWriting, ComparedTime::Wall] {
            // The baseline's jobs take 100 ms together, and one of them at most as much again.
            let of = |wall_ms, chosen| is_long_enough(took(wall_ms, 0), compared, chosen);
            assert!(!of(399, None) && of(400, None), "{compared:?}");
            let chosen = Some(Duration::from_millis(5));
            assert!(!of(19, chosen) && of(20, chosen), "{compared:?}");
            assert!(!needs_more_jobs(took(1, 0), compared, None), "faster rows do as many jobs as the baseline");
        }
        let of_command = |wall_ms, user_ms| is_long_enough(took(wall_ms, user_ms), ComparedTime::UserOfCommand, None);
        assert!(!of_command(3999, 3000) && of_command(4000, 3000));
        assert!(
            !of_command(9999, 199) && of_command(10_000, 0),
            "a command that works in the kernel alone comes to an end"
        );
    }

    #[test]
    fn user_time_of_commands_takes_a_second_and_twenty_ticks() {
        let with =
            |chosen, wall_ms, user_ms| needs_more_jobs(took(wall_ms, user_ms), ComparedTime::UserOfCommand, chosen);
        let needs_more = |wall_ms, user_ms| with(None, wall_ms, user_ms);
        assert!(needs_more(999, 900) && needs_more(1000, 199) && needs_more(9999, 0));
        assert!(!needs_more(1000, 200) && !needs_more(10_000, 0));
        assert!(!with(Some(Duration::from_millis(1)), 5, 0), "the user wants no longer runs");
    }
}
