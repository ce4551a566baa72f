//! Clocks: elapsed time, and CPU time of the measuring thread or of child processes.
//!
//! The clock is a trait, so that everything built on it can be tested with invented times.

use std::{
    io,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use nix::{
    sys::{
        resource::{UsageWho, getrusage},
        time::TimeVal,
    },
    time::{ClockId, clock_gettime},
};
use repackbench_records::SampleRecord;

/// A reading of a clock. Only differences between two readings of the same clock mean anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// Elapsed time since some fixed moment.
    pub wall: Duration,
    /// CPU time that the calling thread has spent in user mode.
    pub user: Duration,
    /// CPU time that the calling thread has spent in the kernel.
    pub sys: Duration,
}

/// A clock. Read it twice on one thread and subtract; see [`Sample::between`].
pub trait Clock {
    /// The time now.
    ///
    /// # Errors
    /// The error of the operating system.
    fn read(&self) -> io::Result<ClockReading>;

    /// Only the elapsed time of [`Self::read`]: cheap enough to be read around one memory access.
    ///
    /// # Errors
    /// The error of the operating system.
    fn read_wall(&self) -> io::Result<Duration> {
        self.read().map(|reading| reading.wall)
    }

    /// Only the CPU time of the calling thread, user and system together: cheap enough to be read around each file that
    /// is written. It is the sum of both times of [`Self::read`], without their grain.
    ///
    /// # Errors
    /// The error of the operating system.
    fn read_cpu(&self) -> io::Result<Duration>;

    /// The elapsed time of [`Self::read`], and the CPU time of all child processes that were waited for, including the
    /// children that they waited for.
    ///
    /// # Errors
    /// The error of the operating system.
    fn read_children(&self) -> io::Result<ClockReading>;
}

/// The operating system's clocks: the monotonic one and `getrusage` for the calling thread.
///
/// Linux updates a running thread's times only at the timer tick (1 to 10 ms), unless its CPU clock is read. So that is
/// read first, and user plus system time is exact to a microsecond instead of a tick. Most kernels split the sum into
/// user and system time by an estimate from samples taken at ticks: for runs shorter than many ticks, only the sum is
/// reliable.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// A clock whose elapsed time starts now.
    pub fn new() -> Self {
        SystemClock { started: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    fn read(&self) -> io::Result<ClockReading> {
        // For its side effect on the times of `getrusage`; see the type's documentation.
        self.read_cpu()?;
        let usage = getrusage(UsageWho::RUSAGE_THREAD)?;
        Ok(ClockReading {
            wall: self.started.elapsed(),
            user: duration(usage.user_time()),
            sys: duration(usage.system_time()),
        })
    }

    fn read_wall(&self) -> io::Result<Duration> {
        Ok(self.started.elapsed())
    }

    fn read_cpu(&self) -> io::Result<Duration> {
        Ok(Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?))
    }

    /// The times of a process are updated when it ends, so they have no grain.
    fn read_children(&self) -> io::Result<ClockReading> {
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
        Ok(ClockReading {
            wall: self.started.elapsed(),
            user: duration(usage.user_time()),
            sys: duration(usage.system_time()),
        })
    }
}

/// A `timeval` of CPU time, which is never negative; a negative one counts as zero.
fn duration(time: TimeVal) -> Duration {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    let microseconds = u64::try_from(time.tv_usec()).unwrap_or(0);
    Duration::from_secs(seconds).saturating_add(Duration::from_micros(microseconds))
}

/// Milliseconds since 1970-01-01 UTC, by the system's clock: when a session or a run began, for its record.
pub(crate) fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// The time that one run took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sample {
    /// Elapsed time.
    pub wall: Duration,
    /// CPU time of the measuring thread in user mode.
    pub user: Duration,
    /// CPU time of the measuring thread in the kernel.
    pub sys: Duration,
    /// The part of the CPU time in which files were written; `None` if not measured.
    pub writing: Option<Duration>,
}

impl Sample {
    /// The time between two readings of one clock; zero if the clock ran backwards.
    pub fn between(start: ClockReading, end: ClockReading) -> Self {
        Sample {
            wall: end.wall.saturating_sub(start.wall),
            user: end.user.saturating_sub(start.user),
            sys: end.sys.saturating_sub(start.sys),
            writing: None,
        }
    }

    /// No time at all.
    pub const ZERO: Sample = Sample { wall: Duration::ZERO, user: Duration::ZERO, sys: Duration::ZERO, writing: None };

    /// The mean of `count` samples whose sum this is.
    pub fn mean_of(self, count: u32) -> Self {
        let count = count.max(1);
        let writing = self.writing.map(|writing| writing / count);
        Sample { wall: self.wall / count, user: self.user / count, sys: self.sys / count, writing }
    }
}

impl std::ops::AddAssign for Sample {
    fn add_assign(&mut self, other: Sample) {
        self.wall = self.wall.saturating_add(other.wall);
        self.user = self.user.saturating_add(other.user);
        self.sys = self.sys.saturating_add(other.sys);
        self.writing = match (self.writing, other.writing) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
    }
}

impl From<Sample> for SampleRecord {
    fn from(sample: Sample) -> Self {
        SampleRecord::from_durations(sample.wall, sample.user, sample.sys).with_writing(sample.writing)
    }
}

/// Runs `work` on this thread and measures it. The time of other threads that `work` starts shows only in `wall`.
///
/// # Errors
/// `clock` cannot be read.
pub fn measure<C, T>(clock: &C, work: impl FnOnce() -> T) -> io::Result<(T, Sample)>
where
    C: Clock + ?Sized,
{
    let start = clock.read()?;
    let result = work();
    let end = clock.read()?;
    Ok((result, Sample::between(start, end)))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Each reading is 5 ms of wall, 3 ms of user and 1 ms of system time later.
    #[derive(Default)]
    struct SteppingClock {
        readings: Cell<u32>,
    }

    impl Clock for SteppingClock {
        fn read(&self) -> io::Result<ClockReading> {
            self.readings.set(self.readings.get() + 1);
            let after = |step: u64| Duration::from_millis(step) * self.readings.get();
            Ok(ClockReading { wall: after(5), user: after(3), sys: after(1) })
        }

        fn read_cpu(&self) -> io::Result<Duration> {
            self.read().map(|reading| reading.user + reading.sys)
        }

        fn read_children(&self) -> io::Result<ClockReading> {
            Err(io::Error::other("no test of this module has children"))
        }
    }

    #[test]
    fn sample_is_the_difference_of_two_readings() {
        let (result, sample) = measure(&SteppingClock::default(), || "done").unwrap();
        assert_eq!(result, "done");
        let milliseconds = Duration::from_millis;
        let expected = Sample { wall: milliseconds(5), user: milliseconds(3), sys: milliseconds(1), writing: None };
        assert_eq!(sample, expected);
    }

    #[test]
    fn samples_add_up_with_the_time_of_writing() {
        let milliseconds = Duration::from_millis;
        let of = |writing| Sample { user: milliseconds(40), sys: milliseconds(20), writing, ..Sample::ZERO };
        let mut sum = Sample::ZERO;
        sum += of(Some(milliseconds(9)));
        sum += of(Some(milliseconds(3)));
        assert_eq!(sum.mean_of(2), of(Some(milliseconds(6))));
        let record = SampleRecord::from(sum);
        assert_eq!((record.user_ns, record.sys_ns, record.writing_ns), (80_000_000, 40_000_000, Some(12_000_000)));
        assert_eq!(SampleRecord::from(of(None)).writing_ns, None);
    }

    #[test]
    fn clock_that_runs_backwards_gives_zero() {
        let at = |millis| {
            let time = Duration::from_millis(millis);
            ClockReading { wall: time, user: time, sys: time }
        };
        assert_eq!(Sample::between(at(9), at(4)).wall, Duration::ZERO);
    }

    fn spin(time: Duration) {
        let start = Instant::now();
        let mut value = 1_u64;
        while start.elapsed() < time {
            value = std::hint::black_box(value.wrapping_mul(31));
        }
    }

    fn cpu(sample: Sample) -> Duration {
        sample.user + sample.sys
    }

    /// Runs shorter than a tick: times kept at ticks would be zero for most of these runs, and 4 ms for some.
    #[test]
    fn system_clock_measures_runs_of_a_millisecond() {
        let clock = SystemClock::new();
        for _ in 0..50 {
            let ((), sample) = measure(&clock, || spin(Duration::from_millis(1))).unwrap();
            assert!(!cpu(sample).is_zero(), "{sample:?}");
            assert!(cpu(sample) <= sample.wall + Duration::from_micros(500), "{sample:?}");
        }
    }

    /// The time of writing files is subtracted from the sum, so both clocks have to agree.
    #[test]
    fn both_cpu_clocks_of_the_system_agree() {
        let clock = SystemClock::new();
        for _ in 0..20 {
            let outside = clock.read_cpu().unwrap();
            let ((), sample) = measure(&clock, || spin(Duration::from_millis(1))).unwrap();
            let around = clock.read_cpu().unwrap() - outside;
            assert!(cpu(sample) <= around + Duration::from_micros(2), "{sample:?} {around:?}");
        }
    }

    #[test]
    fn system_clock_counts_only_the_calling_thread() {
        // Spins for CPU time: on a busy machine the elapsed time is unknown.
        let work = || {
            let clock = SystemClock::new();
            let start = clock.read_cpu().unwrap();
            while clock.read_cpu().unwrap() - start < Duration::from_millis(40) {}
        };
        let clock = SystemClock::new();
        let ((), own) = measure(&clock, work).unwrap();
        let ((), others) = measure(&clock, || std::thread::spawn(work).join().unwrap()).unwrap();
        assert!(cpu(own) >= Duration::from_millis(39) && own.wall >= Duration::from_millis(39), "{own:?}");
        assert!(cpu(others) < cpu(own) / 2, "{others:?} {own:?}");
    }
}
