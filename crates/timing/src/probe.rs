//! What the operating system reports about a run: page faults, read calls, memory, and disturbances.
//!
//! Everything is read from `/proc` outside of the timed part. Values that it does not report stay unknown, which is no
//! error.

use std::{
    fs,
    io::Read,
    time::{Duration, Instant},
};

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::{TimeVal, TimeValLike},
};
use repackbench_pagecache::number_after;
use repackbench_records::{Disturbance, RunUsage};

/// The resources that a job used, in the calling thread or in several threads together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct JobUsage {
    pub(crate) minor_faults: Option<u64>,
    pub(crate) major_faults: Option<u64>,
    pub(crate) read_calls: Option<u64>,
}

impl JobUsage {
    /// The sum; unknown if either is.
    pub(crate) fn plus(self, other: JobUsage) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
        JobUsage {
            minor_faults: sum(self.minor_faults, other.minor_faults),
            major_faults: sum(self.major_faults, other.major_faults),
            read_calls: sum(self.read_calls, other.read_calls),
        }
    }

    /// Nothing, to start a sum from.
    pub(crate) const NONE: JobUsage = JobUsage { minor_faults: Some(0), major_faults: Some(0), read_calls: Some(0) };

    /// The mean of `count` jobs whose sum this is, for a record; without memory.
    pub(crate) fn mean_of(self, count: u64) -> RunUsage {
        let mean = |sum: Option<u64>| sum?.checked_add(count / 2)?.checked_div(count);
        RunUsage {
            minor_faults: mean(self.minor_faults),
            major_faults: mean(self.major_faults),
            read_calls: mean(self.read_calls),
            ..RunUsage::default()
        }
    }
}

/// The page faults of the calling thread until now.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    minor: Option<u64>,
    major: Option<u64>,
}

impl Faults {
    pub(crate) fn now() -> Self {
        Faults::of(UsageWho::RUSAGE_THREAD)
    }

    /// The page faults of all child processes that were waited for.
    pub(crate) fn of_children() -> Self {
        Faults::of(UsageWho::RUSAGE_CHILDREN)
    }

    fn of(who: UsageWho) -> Self {
        let usage = getrusage(who).ok();
        let count = |count: Option<i64>| count.and_then(|count| u64::try_from(count).ok());
        Faults {
            minor: count(usage.map(|usage| usage.minor_page_faults())),
            major: count(usage.map(|usage| usage.major_page_faults())),
        }
    }

    /// The page faults since `self`.
    pub(crate) fn until(self, end: Faults) -> JobUsage {
        let since = |start: Option<u64>, end: Option<u64>| Some(end?.saturating_sub(start?));
        JobUsage {
            minor_faults: since(self.minor, end.minor),
            major_faults: since(self.major, end.major),
            read_calls: Some(0),
        }
    }
}

/// The read calls of the process until now, without the one that reads this number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadCalls(Option<u64>);

impl ReadCalls {
    /// Takes one read call, which the kernel counts after it has reported the number.
    pub(crate) fn now() -> Self {
        let mut text = [0; 1024];
        let read = fs::File::open("/proc/self/io").and_then(|mut file| file.read(&mut text));
        let text = read.ok().and_then(|len| std::str::from_utf8(text.get(..len)?).ok());
        ReadCalls(text.and_then(|text| number_after(text, "syscr:")))
    }

    /// The read calls between the two readings, without that of the first reading itself.
    pub(crate) fn until(self, end: ReadCalls) -> Option<u64> {
        end.0?.checked_sub(self.0?)?.checked_sub(1)
    }
}

/// The memory of the process around a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    start: Option<u64>,
    is_peak_known: bool,
}

impl Memory {
    /// Before a run. Resets the peak; if that is refused, the peak of the run stays unknown.
    pub(crate) fn start() -> Self {
        // 5 sets the peak to the resident size of now (proc_pid_clear_refs(5)), without visiting pages.
        let is_peak_known = fs::write("/proc/self/clear_refs", "5").is_ok();
        Memory { start: status("VmRSS:"), is_peak_known }
    }

    /// After the run.
    pub(crate) fn end(self, usage: &mut RunUsage) {
        usage.start_resident_bytes = self.start;
        usage.peak_resident_bytes = status("VmHWM:").filter(|_| self.is_peak_known);
    }
}

/// A size in `/proc/self/status`, in bytes.
fn status(name: &str) -> Option<u64> {
    number_after(&fs::read_to_string("/proc/self/status").ok()?, name)?.checked_mul(1024)
}

/// The state of the machine at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine {
    at: Instant,
    steal_ns: Option<u64>,
    cpu_ns: Option<u64>,
    io_ns: Option<u64>,
    memory_ns: Option<u64>,
}

impl Machine {
    pub(crate) fn now() -> Self {
        let read = |path: &str| fs::read_to_string(path).ok();
        let pressure = |name: &str| read(&format!("/proc/pressure/{name}")).and_then(|text| pressure_ns(&text));
        Machine {
            at: Instant::now(),
            steal_ns: read("/proc/stat").and_then(|text| steal_ns(&text)),
            cpu_ns: pressure("cpu"),
            io_ns: pressure("io"),
            memory_ns: pressure("memory"),
        }
    }

    /// The disturbances between the two moments.
    pub(crate) fn until(self, end: Machine) -> Disturbance {
        let since = |start: Option<u64>, end: Option<u64>| Some(end?.saturating_sub(start?));
        Disturbance {
            elapsed_ns: u64::try_from(end.at.duration_since(self.at).as_nanos()).ok(),
            steal_ns: since(self.steal_ns, end.steal_ns),
            cpu_pressure_ns: since(self.cpu_ns, end.cpu_ns),
            io_pressure_ns: since(self.io_ns, end.io_ns),
            memory_pressure_ns: since(self.memory_ns, end.memory_ns),
        }
    }
}

/// The time that processors worked until now: for everybody, and for this program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessorUse {
    /// For everybody, and that of processors that idled, in ticks.
    all: Option<ProcessorTicks>,
    /// For this process and its children that were waited for.
    own: Option<Duration>,
}

impl ProcessorUse {
    pub(crate) fn now() -> Self {
        let all = fs::read_to_string("/proc/stat").ok().and_then(|text| ProcessorTicks::parse(&text));
        ProcessorUse { all, own: cpu_time(UsageWho::RUSAGE_SELF).zip(cpu_time(UsageWho::RUSAGE_CHILDREN)).map(sum) }
    }

    /// The share of all processors' time between the two moments that other programs and a hypervisor took.
    pub(crate) fn share_of_others(self, end: ProcessorUse) -> Option<f64> {
        let (before, after) = (self.all?, end.all?);
        let ticks = |part: fn(&ProcessorTicks) -> u64| part(&after).saturating_sub(part(&before)) as f64;
        let (busy, idle) = (ticks(|all| all.busy), ticks(|all| all.idle));
        let own = end.own?.saturating_sub(self.own?).as_secs_f64() * TICKS_PER_SECOND as f64;
        let all = busy + idle;
        (all > 0.0).then(|| ((busy - own) / all).clamp(0.0, 1.0))
    }
}

/// The CPU time of `who`, in user and system mode.
fn cpu_time(who: UsageWho) -> Option<Duration> {
    let usage = getrusage(who).ok()?;
    Some(duration(usage.user_time()) + duration(usage.system_time()))
}

fn duration(time: TimeVal) -> Duration {
    Duration::from_micros(u64::try_from(time.num_microseconds()).unwrap_or(0))
}

fn sum((one, other): (Duration, Duration)) -> Duration {
    one + other
}

/// The unit of `/proc/stat` on every current architecture (proc_stat(5)).
const TICKS_PER_SECOND: u64 = 100;

/// What all processors did since the machine started, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcessorTicks {
    busy: u64,
    idle: u64,
}

impl ProcessorTicks {
    /// Parses the text of `/proc/stat`: user, nice, system, idle, waiting for I/O, interrupts of both kinds, stolen. The
    /// time of guests, which follows, is in the first two (proc_stat(5)).
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Result<Vec<u64>, _> = line.split_whitespace().take(8).map(str::parse).collect();
        let ticks: [u64; 8] = ticks.ok()?.try_into().ok()?;
        let [user, nice, system, idle, waiting, hard, soft, stolen] = ticks;
        let busy = [user, nice, system, hard, soft, stolen].into_iter().fold(0, u64::saturating_add);
        Some(ProcessorTicks { busy, idle: idle.saturating_add(waiting) })
    }
}

/// The steal time of all processors in the text of `/proc/stat`: the eighth number of the first line, in hundredths of
/// a second on every current architecture (proc_stat(5)).
fn steal_ns(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    line.split_whitespace().nth(7)?.parse::<u64>().ok()?.checked_mul(10_000_000)
}

/// The time in which some task waited, in the text of a file of `/proc/pressure`: microseconds after `total=`.
fn pressure_ns(pressure: &str) -> Option<u64> {
    let line = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = line.split_whitespace().find_map(|field| field.strip_prefix("total="))?;
    total.parse::<u64>().ok()?.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use repackbench_pagecache::MappedFile;

    use super::*;

    #[test]
    fn numbers_are_parsed_from_proc() {
        let stat = "cpu  4317646 160305 645354 2289671 34066 0 11343 10971 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(steal_ns(stat), Some(109_710_000_000));
        assert_eq!(steal_ns("cpu  1 2 3 4\n"), None, "a kernel before steal time");
        let pressure = "some avg10=12.14 avg60=51.71 avg300=40.05 total=1380\nfull avg10=0.00 total=5\n";
        assert_eq!(pressure_ns(pressure), Some(1_380_000));
        assert_eq!(pressure_ns(""), None);
    }

    #[test]
    fn sums_with_unknown_parts_are_unknown() {
        let some = JobUsage { minor_faults: Some(3), major_faults: None, read_calls: Some(4) };
        let sum = JobUsage::NONE.plus(some).plus(JobUsage { major_faults: Some(1), ..some });
        assert_eq!(sum, JobUsage { minor_faults: Some(6), major_faults: None, read_calls: Some(8) });
        let mean = sum.mean_of(4);
        assert_eq!((mean.minor_faults, mean.major_faults, mean.read_calls), (Some(2), None, Some(2)));
    }

    /// A new mapping has no page yet, whatever other tests of this process do; only faults of the calling thread count.
    #[test]
    #[cfg(target_os = "linux")]
    fn touching_a_page_counts_as_a_fault() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "content").unwrap();
        let mapped = MappedFile::open(&path).unwrap();
        let faults = Faults::now();
        mapped.touch(0).unwrap();
        let used = faults.until(Faults::now());
        assert!(used.minor_faults.unwrap() + used.major_faults.unwrap() > 0, "{used:?}");
    }

    /// The amount depends on the other tests of this process, which also reset the peak.
    #[test]
    #[cfg(target_os = "linux")]
    fn memory_of_the_process_is_known() {
        let memory = Memory::start();
        let mut usage = RunUsage::default();
        memory.end(&mut usage);
        assert!(usage.start_resident_bytes > Some(0), "{usage:?}");
        assert_eq!(usage.peak_resident_bytes.is_some(), memory.is_peak_known, "{usage:?}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn kernel_reports_disturbances() {
        let start = Machine::now();
        let disturbance = start.until(Machine::now());
        assert!(disturbance.elapsed_ns.is_some());
        assert!(disturbance.steal_ns.is_some(), "every kernel tells of steal time: {disturbance:?}");
    }

    #[test]
    fn others_are_all_that_is_busy_and_not_this_program() {
        let stat = "cpu  100 20 30 800 40 0 10 5 7 7\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        let before = ProcessorTicks::parse(stat).unwrap();
        assert_eq!(before, ProcessorTicks { busy: 165, idle: 840 });
        assert_eq!(ProcessorTicks::parse("cpu  1 2 3 4\n"), None);
        let moment = |busy: u64, idle: u64, own: u64| ProcessorUse {
            all: Some(ProcessorTicks { busy: before.busy + busy, idle: before.idle + idle }),
            own: Some(Duration::from_secs(3 + own)),
        };
        let share = |end: ProcessorUse| moment(0, 0, 0).share_of_others(end);
        assert_eq!(share(moment(150, 50, 1)), Some(0.25), "half a second of two");
        assert_eq!(share(moment(100, 100, 1)), Some(0.0), "nobody else");
        assert_eq!(share(moment(90, 110, 1)), Some(0.0), "ticks are coarser than this program's time");
        assert_eq!(share(moment(0, 0, 0)), None, "too short");
        assert_eq!(share(ProcessorUse { all: None, own: None }), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn kernel_reports_use_of_processors() {
        let now = ProcessorUse::now();
        assert!(now.all.is_some_and(|all| all.busy > 0) && now.own.is_some(), "{now:?}");
    }

    #[test]
    fn disturbance_is_the_difference_of_two_moments() {
        let at = Instant::now();
        let moment = |ms: u64, sum: u64| Machine {
            at: at + Duration::from_millis(ms),
            steal_ns: Some(sum),
            cpu_ns: None,
            io_ns: Some(2 * sum),
            memory_ns: Some(3 * sum),
        };
        let found = moment(0, 10).until(moment(7, 15));
        assert_eq!((found.elapsed_ns, found.steal_ns, found.cpu_pressure_ns), (Some(7_000_000), Some(5), None));
        assert_eq!((found.io_pressure_ns, found.memory_pressure_ns), (Some(10), Some(15)));
    }
}
