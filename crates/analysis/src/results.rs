//! All records of some files, and the findings derived from them.

use std::collections::BTreeSet;

use repackbench_records::{
    ChainRecord, DeviceCheck, EqualBudget, Experiment, Explanation, FleetSummary, FleetSystem, MemoryCheck, Record,
    RepositoryEstimate, ResultLine, Rollout, ServingLoad, SizeLine, TraceRecord, WorkloadComparison, WorkloadLabel,
};

use crate::{compare_records, equal_budgets, unify_spellings};

/// The records of some files, and the findings that are derived from them. Any part may be empty.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The runs, in the order in which they were read.
    pub runs: Vec<Record>,
    /// Derived from the runs: each workload on each repository.
    pub comparisons: Vec<WorkloadComparison>,
    /// Derived from the comparisons: variants at equal size or time.
    pub budgets: Vec<EqualBudget>,
    /// What workloads read from variants.
    pub traces: Vec<TraceRecord>,
    /// Ratios split into factors.
    pub explanations: Vec<Explanation>,
    /// Where repositories' bytes go, from the command `size`.
    pub sizes: Vec<SizeLine>,
    /// Published experiments that were run again.
    pub experiments: Vec<Experiment>,
    /// How long objects take to read, by the length of their chains.
    pub chains: Vec<ChainRecord>,
    /// The device model compared with cold reads.
    pub device_checks: Vec<DeviceCheck>,
    /// The modelled page cache compared with the kernel's.
    pub memory_checks: Vec<MemoryCheck>,
    /// Sizes and times that were predicted from samples.
    pub estimates: Vec<RepositoryEstimate>,
    /// What a server pays while clients move to another codec.
    pub rollouts: Vec<Rollout>,
    /// What several clients at once cost a server.
    pub serving_loads: Vec<ServingLoad>,
    /// What the estimates of a fleet say together; only `fleet summarize` has it.
    pub fleet: Option<FleetSummary>,
    /// The same of each version-control system, if the fleet has several.
    pub fleet_systems: Vec<FleetSystem>,
}

impl Results {
    /// The results in `lines`, and the number of duplicate lines that were left out: a file may be named twice, or copy
    /// another.
    pub fn from_lines(lines: Vec<ResultLine>) -> (Self, usize) {
        let mut results = Results::default();
        let mut runs = BTreeSet::new();
        let mut duplicates = 0;
        for line in lines {
            let is_new = match line {
                ResultLine::Run(run) => runs.insert(RunIdentity::of(&run)) && push(&mut results.runs, *run),
                ResultLine::Trace(trace) => push_new(&mut results.traces, *trace),
                ResultLine::Explanation(explanation) => push_new(&mut results.explanations, *explanation),
                ResultLine::Size(size) => push_new(&mut results.sizes, *size),
                ResultLine::Experiment(experiment) => push_new(&mut results.experiments, *experiment),
                ResultLine::Chains(chains) => push_new(&mut results.chains, *chains),
                ResultLine::DeviceCheck(check) => push_new(&mut results.device_checks, *check),
                ResultLine::MemoryCheck(check) => push_new(&mut results.memory_checks, *check),
                ResultLine::Estimate(estimate) => push_new(&mut results.estimates, *estimate),
                ResultLine::Rollout(rollout) => push_new(&mut results.rollouts, *rollout),
                ResultLine::ServingLoad(load) => push_new(&mut results.serving_loads, *load),
                // How the work on a repository began and ended is for `fleet` alone.
                ResultLine::FleetRun(_) | ResultLine::FleetTry(_) | ResultLine::Fleet(_) => true,
            };
            duplicates += usize::from(!is_new);
        }
        // Traces are recorded with the baseline first; tables show them in the order of their rows.
        for traces in results.traces.chunk_by_mut(|a, b| a.repository == b.repository && a.workload == b.workload) {
            traces.sort_by_key(|trace| trace.variant.row);
        }
        results.derive();
        (results, duplicates)
    }

    /// The results of only these runs.
    pub fn from_runs(runs: Vec<Record>) -> Self {
        let mut results = Results { runs, ..Results::default() };
        results.derive();
        results
    }

    /// Computes the findings derived from the runs.
    fn derive(&mut self) {
        unify_spellings(&mut self.runs);
        // The runs of an explanation are its steps, not variants to compare. Runs of unknown sessions belong to none.
        let is_step = |run: &&Record| {
            let session = run.place.session;
            session > 0 && self.explanations.iter().any(|explanation| explanation.session == session)
        };
        let compared: Vec<Record> = self.runs.iter().filter(|run| !is_step(run)).cloned().collect();
        self.comparisons = compare_records(&compared);
        self.budgets = equal_budgets(&self.comparisons);
    }
}

/// Appends `new` and returns true, for the end of a condition.
fn push<T>(all: &mut Vec<T>, new: T) -> bool {
    all.push(new);
    true
}

/// Appends `new` unless `all` contains it, and returns whether it did.
fn push_new<T: PartialEq>(all: &mut Vec<T>, new: T) -> bool {
    !all.contains(&new) && push(all, new)
}

/// What distinguishes a run from all others.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RunIdentity {
    session: u64,
    started_unix_ms: u64,
    block: u32,
    position: u32,
    workload: WorkloadLabel,
    fingerprint: String,
}

impl RunIdentity {
    fn of(run: &Record) -> Self {
        RunIdentity {
            session: run.place.session,
            started_unix_ms: run.started_unix_ms,
            block: run.place.block,
            position: run.place.position,
            workload: run.workload.clone(),
            fingerprint: run.repository.fingerprint.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use repackbench_records::{RatioEstimate, Role, SCHEMA_VERSION, fixtures::record};

    use super::*;

    #[test]
    fn explained_runs_are_not_compared_unless_session_unknown() {
        for (session, compared) in [(0, 1), (7, 0)] {
            let mut run = record("traverse", Role::Baseline, 0, 0, 1);
            run.place.session = session;
            let explanation = Explanation {
                schema: SCHEMA_VERSION,
                session,
                repository: run.repository.clone(),
                workload: run.workload.clone(),
                compared_time: run.compared_time,
                codec: "zstd:5".to_owned(),
                baseline: "zlib:6".to_owned(),
                measured: RatioEstimate { ratio: 1.0, interval: None, pairs: 1 },
                factors: Vec::new(),
                product: 1.0,
                noise: None,
                numbers: None,
            };
            let lines = vec![ResultLine::Run(Box::new(run)), ResultLine::Explanation(Box::new(explanation))];
            let (results, duplicates) = Results::from_lines(lines.clone());
            assert_eq!((results.comparisons.len(), duplicates), (compared, 0), "session {session}");
            assert_eq!(Results::from_lines([lines.clone(), lines].concat()).1, 2);
        }
    }
}
