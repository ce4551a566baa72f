//! Reading time: elapsed, and the CPU time of the thread that measures.
//!
//! The clock is a trait so that everything built on it can be tested with times that a test made up.

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

use crate::session::Stop;

/// What a clock shows at one moment. Only differences between two readings of the same clock mean anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// Elapsed time since some fixed moment.
    pub wall: Duration,
    /// CPU time that the calling thread has spent in user mode.
    pub user: Duration,
    /// CPU time that the calling thread has spent in the kernel.
    pub sys: Duration,
}

/// Something that tells the time. Read it twice on one thread and subtract; see [`Sample::between`].
pub trait Clock {
    /// The time now.
    ///
    /// # Errors
    /// What the operating system answers when it does not tell.
    fn read(&self) -> io::Result<ClockReading>;

    /// The elapsed time that [`Self::read`] has, alone: cheap enough to be read around one access to memory.
    ///
    /// # Errors
    /// What the operating system answers when it does not tell.
    fn read_wall(&self) -> io::Result<Duration> {
        self.read().map(|reading| reading.wall)
    }

    /// The CPU time of the calling thread in both modes together, alone: cheap enough to be read around each file that is
    /// written. It is the sum of those that [`Self::read`] has, without their grain.
    ///
    /// # Errors
    /// What the operating system answers when it does not tell.
    fn read_cpu(&self) -> io::Result<Duration>;

    /// Elapsed time as [`Self::read`] has it, and the CPU time of all child processes that were waited for, with all that they waited
    /// for themselves.
    ///
    /// # Errors
    /// What the operating system answers when it does not tell.
    fn read_children(&self) -> io::Result<ClockReading>;
}

/// The operating system's clocks: the monotonic one and `getrusage` for the calling thread.
///
/// Linux brings a running thread's account up to date only at the timer tick (1 to 10 ms), unless its CPU clock is
/// read; so that is read first, and user plus system time is good to a microsecond instead of a tick. How the sum is
/// split between the two stays an estimate from samples taken at ticks on most kernels: for runs that are not many
/// ticks long, only the sum is trustworthy.
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
        // For its side effect on the account that `getrusage` shows; see the type's documentation.
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

    /// A process's account is brought up to date when it ends, so no tick shows here.
    fn read_children(&self) -> io::Result<ClockReading> {
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
        Ok(ClockReading {
            wall: self.started.elapsed(),
            user: duration(usage.user_time()),
            sys: duration(usage.system_time()),
        })
    }
}

/// A `timeval` of CPU time, which is never negative: a negative one would count as zero.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Elapsed time.
    pub wall: Duration,
    /// CPU time of the measuring thread in user mode.
    pub user: Duration,
    /// CPU time of the measuring thread in the kernel.
    pub sys: Duration,
    /// The part of both in which files were written; `None` where nobody looked.
    pub writing: Option<Duration>,
}

impl Sample {
    /// The time between two readings of one clock; zero where the later one shows less.
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

    /// The mean of samples that this one is the sum of.
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

/// Runs `work` on this thread and says how long it took. Time of other threads that `work` starts is seen only in
/// `wall`.
///
/// # Errors
/// When `clock` cannot be read.
pub fn measure<C, T>(clock: &C, work: impl FnOnce() -> T) -> io::Result<(T, Sample)>
where
    C: Clock + ?Sized,
{
    let start = clock.read()?;
    let result = work();
    let end = clock.read()?;
    Ok((result, Sample::between(start, end)))
}

/// Runs `work` and returns its result with the elapsed time alone.
///
/// # Errors
/// What `work` returns, and when `clock` cannot be read.
pub(crate) fn elapsed<T, E: From<Stop>>(
    clock: &dyn Clock,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<(T, Duration), E> {
    let start = clock.read_wall().map_err(Stop::Clock)?;
    let result = work()?;
    let end = clock.read_wall().map_err(Stop::Clock)?;
    Ok((result, end.saturating_sub(start)))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Moves on by 5 ms of wall, 3 ms of user and 1 ms of system time at each reading.
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
    fn a_sample_is_the_difference_of_two_readings() {
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
    fn a_clock_that_runs_backwards_gives_zero() {
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

    /// Shorter than a tick: an account kept at ticks shows nothing for most of these runs, and 4 ms for some.
    #[test]
    fn the_system_clock_sees_runs_of_a_millisecond() {
        let clock = SystemClock::new();
        for _ in 0..50 {
            let ((), sample) = measure(&clock, || spin(Duration::from_millis(1))).unwrap();
            assert!(!cpu(sample).is_zero(), "{sample:?}");
            assert!(cpu(sample) <= sample.wall + Duration::from_micros(500), "{sample:?}");
        }
    }

    /// What is read around files is taken from the sum, so both have to go alike.
    #[test]
    fn both_cpu_times_of_the_system_clock_are_one() {
        let clock = SystemClock::new();
        for _ in 0..20 {
            let outside = clock.read_cpu().unwrap();
            let ((), sample) = measure(&clock, || spin(Duration::from_millis(1))).unwrap();
            let around = clock.read_cpu().unwrap() - outside;
            assert!(cpu(sample) <= around + Duration::from_micros(2), "{sample:?} {around:?}");
        }
    }

    #[test]
    fn the_system_clock_counts_this_thread_s_work_but_not_another_s() {
        // By its processor time: on a busy machine nobody knows how long that takes.
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
