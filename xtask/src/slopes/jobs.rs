//! The jobs whose cost is measured: the commands that read a whole repository, and the workloads of `bench`.

use std::path::Path;
use std::process::Command;

/// The workloads that `bench` runs by default.
const WORKLOADS: [&str; 5] = ["checkout:sink", "traverse", "diff:raw", "diff:pickaxe=malloc", "diff:patch"];

/// The command line of `convert`.
const CONVERT: &str = "convert --quiet --force --codec zstd:3 REPO --output VARIANT";

/// The name of the only job that reads a variant.
const VERIFY: &str = "verify";

/// What decides the cost of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// The size of the repository.
    Size,
    /// The default of `--time`.
    Time,
    /// A number of commits, which may be large or small.
    Commits,
}

/// One job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Job {
    /// What the table calls it.
    pub(super) name: String,
    pub(super) bound: Bound,
    /// The arguments; `REPO` and `VARIANT` stand for the repository and its variant.
    arguments: Vec<String>,
}

impl Job {
    fn new(name: &str, bound: Bound, line: &str) -> Self {
        Job { name: name.to_owned(), bound, arguments: line.split(' ').map(str::to_owned).collect() }
    }

    /// Whether it needs the variant that `convert` wrote.
    pub(super) fn reads_variant(&self) -> bool {
        self.name == VERIFY
    }

    /// The command for one repository.
    pub(super) fn command(&self, program: &Path, repository: &Path, variant: &Path) -> Command {
        let mut command = Command::new(program);
        for argument in &self.arguments {
            match argument.as_str() {
                "REPO" => command.arg(repository),
                "VARIANT" => command.arg(variant),
                word => command.arg(word),
            };
        }
        command
    }
}

/// The command that makes the variant.
pub(super) fn make_variant(program: &Path, repository: &Path, variant: &Path) -> Command {
    Job::new("convert", Bound::Size, CONVERT).command(program, repository, variant)
}

/// All jobs, in the order in which they run: `convert` makes the variant that `verify` reads.
pub(super) fn all(commits: &str) -> Vec<Job> {
    let mut jobs = vec![
        Job::new("convert to zstd:3", Bound::Size, CONVERT),
        Job::new(VERIFY, Bound::Size, "verify --quiet REPO VARIANT"),
        Job::new("size", Bound::Size, "size --quiet REPO"),
        Job::new("estimate", Bound::Time, "estimate --quiet --codec zstd:3 REPO"),
        Job::new("estimate, deltas as found", Bound::Time, "estimate --quiet --as-found --codec zstd:3 REPO"),
    ];
    for workload in WORKLOADS {
        jobs.push(Job::new(workload, Bound::Size, &format!("replay --workload {workload} REPO")));
    }
    for workload in WORKLOADS.iter().filter(|workload| !workload.starts_with("checkout")) {
        let line = format!("replay --workload {workload} --commits {commits} REPO");
        jobs.push(Job::new(&format!("{workload}, newest {commits} commits"), Bound::Commits, &line));
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::shown;

    #[test]
    fn commands_name_repository_and_variant() {
        let jobs = all("50");
        let line = |index: usize| shown(&jobs[index].command(Path::new("p"), Path::new("r"), Path::new("v")));
        assert_eq!(line(1), "p verify --quiet r v");
        assert_eq!(line(jobs.len() - 1), "p replay --workload diff:patch --commits 50 r");
    }
}
