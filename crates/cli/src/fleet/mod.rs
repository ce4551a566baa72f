//! Many repositories, each in its own process, with one file of results.
//!
//! - `manifest`: which repositories;
//! - `shard`: which of them belong to a shard or a sample;
//! - `work`: what is done with one repository;
//! - `worker`: the beginning of the process that does it;
//! - `shard_file`: the file of results, and what it already holds.

pub(crate) mod manifest;
pub(crate) mod shard;
pub(crate) mod shard_file;
pub(crate) mod work;
pub(crate) mod worker;

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use repackbench_reader::threads;
use repackbench_records::{FleetEnd, FleetRecord, FleetTryEvent, ResultLine, SCHEMA_VERSION};
use repackbench_writer::{Progress, SessionStatus};

use self::{
    manifest::FleetMember,
    shard_file::ShardFile,
    work::{Stopped, Work},
};
use crate::{failure::Failure, output::cannot_write, progress::Bar};

/// The repositories to work on, and where results go.
pub(crate) struct Fleet<'a> {
    pub(crate) work: Work,
    /// The repositories that have no final result, without suspects.
    pub(crate) members: &'a [FleetMember],
    /// Repositories that may have killed an earlier run. They are tried last and one at a time, so that they neither
    /// keep others from being done nor let others count as killed.
    pub(crate) suspects: &'a [FleetMember],
    /// The number of repositories at once.
    pub(crate) jobs: usize,
    /// The number of all repositories of the shard.
    pub(crate) all: usize,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) done: usize,
    /// Those of them that were to be measured, and could not.
    pub(crate) unchecked: usize,
    /// Those without commits.
    pub(crate) empty: usize,
    pub(crate) failed: usize,
    pub(crate) try_again: usize,
}

impl Counts {
    pub(crate) fn add(&mut self, end: &FleetEnd) {
        match end {
            FleetEnd::Done { unchecked } => {
                self.done += 1;
                self.unchecked += usize::from(unchecked.is_some());
            }
            FleetEnd::Empty => self.empty += 1,
            FleetEnd::Failed { .. } => self.failed += 1,
            FleetEnd::TryAgain { .. } => self.try_again += 1,
        }
    }

    fn sum(self) -> usize {
        self.done + self.empty + self.failed + self.try_again
    }
}

/// What all jobs share.
struct Shared<'a> {
    fleet: &'a Fleet<'a>,
    bar: &'a Bar,
    began: Instant,
    state: Mutex<State>,
}

struct State {
    file: ShardFile,
    /// The ends of earlier runs and of this one.
    counts: Counts,
    /// The number of repositories that this run has finished.
    finished: usize,
    failure: Option<std::io::Error>,
}

impl Fleet<'_> {
    /// Works on every repository. `counts` has those with a final result from earlier runs.
    pub(crate) fn run(&self, file: ShardFile, counts: Counts, bar: &Bar) -> Result<Counts, Failure> {
        let state = Mutex::new(State { file, counts, finished: 0, failure: None });
        let shared = Shared { fleet: self, bar, began: Instant::now(), state };
        shared.show("");
        for (members, jobs) in [(self.members, self.jobs), (self.suspects, 1)] {
            let next = AtomicUsize::new(0);
            threads::share(jobs.min(members.len()).max(1), || shared.work(members, &next));
        }
        bar.finish();
        let State { counts, failure, .. } = shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        match failure {
            Some(error) => Err(cannot_write(&self.work.json, &error)),
            None if bar.is_cancelled() => Err(Stopped.into()),
            None => Ok(counts),
        }
    }
}

impl Shared<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works on one of `members` after another, beginning at `next`, until none is left.
    fn work(&self, members: &[FleetMember], next: &AtomicUsize) {
        while let Some(member) = members.get(next.fetch_add(1, Ordering::Relaxed)) {
            if self.bar.is_cancelled() || !self.begin(member) {
                return;
            }
            let began = Instant::now();
            let Ok((mut lines, end)) = self.fleet.work.on(member, self.bar) else {
                // If this cannot be written, the try counts.
                let _ = self.state().file.append_try(&member.name, FleetTryEvent::Stopped);
                return;
            };
            lines.push(end_line(member, began.elapsed(), end.clone()));
            let mut state = self.state();
            if let Err(error) = state.file.append(&lines) {
                // There may be room for a short line.
                let _ = state.file.append_try(&member.name, FleetTryEvent::Stopped);
                state.failure = Some(error);
                return;
            }
            state.counts.add(&end);
            state.finished += 1;
            drop(state);
            if let Some(why) = end.why_not() {
                self.bar.note(&named(&member.name, why));
            }
            self.show(&member.name);
        }
    }

    /// Writes that the work on `member` begins. Returns whether it may.
    fn begin(&self, member: &FleetMember) -> bool {
        let mut state = self.state();
        if state.failure.is_none() {
            state.failure = state.file.append_try(&member.name, FleetTryEvent::Begun).err();
        }
        state.failure.is_none()
    }

    /// Shows how many repositories are done, and the time left at the mean pace of this run.
    fn show(&self, last: &str) {
        let (counts, finished) = {
            let state = self.state();
            (state.counts, state.finished)
        };
        let failures = match counts.failed + counts.try_again {
            0 => String::new(),
            1 => ", 1 failure".to_owned(),
            failures => format!(", {failures} failures"),
        };
        let detail = format!("{} of {} repositories{failures} {last}", counts.sum(), self.fleet.all);
        let to_do = self.fleet.members.len() + self.fleet.suspects.len();
        let left = time_left(self.began.elapsed(), finished, to_do);
        self.bar.session(SessionStatus { place: "fleet", detail: detail.trim_end(), left });
    }
}

/// `message` about the repository of this name, which many messages begin with.
pub(crate) fn named(name: &str, message: &str) -> String {
    let is_named = message.strip_prefix(name).is_some_and(|rest| rest.starts_with(':'));
    if is_named { message.to_owned() } else { format!("{name}: {message}") }
}

/// The line of how the work on `member` ended.
pub(crate) fn end_line(member: &FleetMember, elapsed: Duration, end: FleetEnd) -> ResultLine {
    ResultLine::Fleet(Box::new(FleetRecord {
        schema: SCHEMA_VERSION,
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        name: member.name.clone(),
        path: member.path.display().to_string(),
        seconds: elapsed.as_secs_f64(),
        end,
    }))
}

/// The time for the rest of `all` repositories, if `finished` of them took `elapsed`.
fn time_left(elapsed: Duration, finished: usize, all: usize) -> Option<Duration> {
    let left = all.saturating_sub(finished) as f64;
    (finished > 0).then(|| elapsed.mul_f64(left / finished as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_repository_once() {
        assert_eq!(named("a.git", "a.git: no HEAD"), "a.git: no HEAD");
        assert_eq!(named("a", "a.git: no HEAD"), "a: a.git: no HEAD");
        assert_eq!(named("a", "disk full"), "a: disk full");
    }

    #[test]
    fn time_left_follows_the_mean_pace() {
        let seconds = Duration::from_secs;
        assert_eq!(time_left(seconds(10), 0, 50), None);
        assert_eq!(time_left(seconds(10), 5, 50), Some(seconds(90)));
        assert_eq!(time_left(seconds(10), 50, 50), Some(Duration::ZERO));
    }
}
