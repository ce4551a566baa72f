//! Two shards at once, each killed again and again, and resumed.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::arguments::Arguments;
use super::wrong;
use crate::draw::Draw;
use crate::files;
use crate::process::Outcome;

/// The numbers of the shards.
pub(super) const SHARDS: RangeInclusive<u32> = 1..=2;
/// How long a shard runs before it is killed, at least and at most.
const BEFORE_KILL: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// How often a shard that ended is started again for what may succeed in another try.
const LAST_TRIES: u32 = 2;
const POLL: Duration = Duration::from_millis(50);
/// Units of CPU time in `/proc` (proc_pid_stat(5)); 100 on Linux everywhere.
const TICKS_PER_SECOND: f64 = 100.0;

pub(super) struct Plan<'a> {
    pub(super) program: &'a Path,
    pub(super) manifest: &'a Path,
    pub(super) records: &'a Path,
    pub(super) arguments: &'a Arguments,
}

/// What happened.
pub(super) struct Told {
    pub(super) kills: u32,
    pub(super) elapsed: Duration,
    /// CPU time of all processes that ended by themselves, in seconds; 0 if the system does not say.
    pub(super) cpu_seconds: f64,
}

/// A shard at work.
struct Shard {
    number: u32,
    child: Option<Child>,
    kill_at: Option<Instant>,
    kills: u32,
    ended: u32,
}

pub(super) fn shard_file(records: &Path, number: u32) -> PathBuf {
    records.join(format!("shard-{number}.jsonl"))
}

/// Runs all shards to their ends.
pub(super) fn shards(plan: &Plan<'_>, draw: &mut Draw) -> Outcome<Told> {
    let (began, cpu_before) = (Instant::now(), children_cpu());
    let mut shards: Vec<Shard> =
        SHARDS.map(|number| Shard { number, child: None, kill_at: None, kills: 0, ended: 0 }).collect();
    let worked = loop {
        let mut is_over = true;
        let stepped = shards.iter_mut().try_for_each(|shard| {
            is_over &= shard.step(plan, draw)?;
            Ok(())
        });
        if stepped.is_err() || is_over {
            break stepped;
        }
        thread::sleep(POLL);
    };
    for child in shards.iter_mut().filter_map(|shard| shard.child.as_mut()) {
        // Only after an error.
        let _ = child.kill().and_then(|()| child.wait());
    }
    worked?;
    let kills = shards.iter().map(|shard| shard.kills).sum();
    let cpu_seconds = children_cpu().zip(cpu_before).map_or(0.0, |(after, before)| after - before);
    Ok(Told { kills, elapsed: began.elapsed(), cpu_seconds })
}

impl Shard {
    /// Starts, kills or waits. Returns whether the shard is done.
    fn step(&mut self, plan: &Plan<'_>, draw: &mut Draw) -> Outcome<bool> {
        let Some(child) = &mut self.child else {
            if self.ended > LAST_TRIES {
                return Ok(true);
            }
            self.start(plan, draw)?;
            return Ok(false);
        };
        let failed = |error| files::failed(plan.program, &error);
        if let Some(status) = child.try_wait().map_err(failed)? {
            self.child = None;
            self.ended += 1;
            return match status.success() {
                true => Ok(false),
                false => Err(wrong(format!("shard {}: {status}", self.number))),
            };
        }
        if self.kill_at.is_some_and(|at| Instant::now() >= at) {
            child.kill().and_then(|()| child.wait()).map_err(failed)?;
            self.child = None;
            self.kills += 1;
        }
        Ok(false)
    }

    fn start(&mut self, plan: &Plan<'_>, draw: &mut Draw) -> Outcome<()> {
        let arguments = plan.arguments;
        let mut command = Command::new(plan.program);
        command.arg("fleet").arg(plan.manifest).args(["--resume", "--quiet", "--time", &arguments.time]);
        if arguments.as_found {
            command.arg("--as-found");
        }
        command.arg("--shard").arg(format!("{}/{}", self.number, SHARDS.end()));
        command.arg("--json").arg(shard_file(plan.records, self.number)).stdin(Stdio::null());
        let child = command.spawn().map_err(|error| files::failed(plan.program, &error))?;
        self.child = Some(child);
        let (least, most) = BEFORE_KILL;
        let span = usize::try_from((most - least).as_millis()).unwrap_or(usize::MAX);
        let after = least + Duration::from_millis(draw.below(span) as u64);
        self.kill_at = (self.kills < arguments.kills).then(|| Instant::now() + after);
        Ok(())
    }
}

/// CPU time in seconds of all children that were waited for, and of theirs.
fn children_cpu() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    children_ticks(&stat).map(|ticks| ticks as f64 / TICKS_PER_SECOND)
}

/// `cutime` and `cstime` in the text of `/proc/PID/stat`, whose second field may have spaces.
fn children_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(13);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    user.checked_add(system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_children_is_found_after_the_name() {
        let stat = "1 (a) b) S 1 2 3 4 5 6 7 8 9 10 111 222 33 44 20 0";
        assert_eq!(children_ticks(stat), Some(77));
        assert_eq!(children_ticks("1 (a) S 1"), None);
    }
}
