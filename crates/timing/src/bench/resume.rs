//! Continuing a session that was stopped.

use std::collections::{BTreeMap, BTreeSet};

use repackbench_records::{ComparedTime, Record, Role, RunPlace, Variant, WorkloadLabel};

use super::{context::BenchContext, jobs::RowGroup, rows::Row, runs::MAX_ITERATIONS};
use crate::{
    BenchError,
    session::{Schedule, Slot},
};

/// A job of the plan, and the compared time of its runs.
pub(super) type PlannedJob = (WorkloadLabel, ComparedTime);

/// The records of an earlier session that are kept: those of whole blocks.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    records: Vec<Record>,
}

impl Earlier {
    /// The whole blocks of the plan's earlier records that belong to `group`, as `is_its` says.
    ///
    /// # Errors
    /// [`BenchError::Resume`] for a record that this session would not have made.
    pub(super) fn new(
        context: &BenchContext<'_>,
        group: &RowGroup<'_>,
        is_its: impl Fn(&Record) -> bool,
    ) -> Result<Self, BenchError> {
        let jobs: Vec<PlannedJob> = group.jobs.iter().map(|job| (job.label(), job.compared_time())).collect();
        let numbered = (1..).zip(&context.plan.earlier).filter(|(_, record)| is_its(record));
        let numbered: Vec<(u64, &Record)> = numbered.collect();
        let records: Vec<Record> = numbered.iter().map(|(_, record)| (*record).clone()).collect();
        let orders = Orders::new(&records, group.rows.len(), context.plan.seed);
        // Workloads first: with other workloads the plan may start from another revision, which would be a less helpful
        // message.
        for (number, record) in numbered.iter().copied() {
            check_workload(record, &jobs).map_err(|mismatch| mismatch.of_record(number))?;
        }
        for (number, record) in numbered.iter().copied() {
            check(context, record)
                .and_then(|()| check_turn(record, &group.rows, &orders))
                .map_err(|mismatch| mismatch.of_record(number))?;
        }
        let rows_of_jobs = group.rows_of_jobs();
        let turns_of = |label: &WorkloadLabel| {
            let rows = jobs.iter().zip(&rows_of_jobs).find(|((known, _), _)| known == label);
            rows.map_or(0, |(_, rows)| rows + 1)
        };
        Ok(Earlier { records: whole_blocks(&records, turns_of) })
    }

    /// All records, in the order of the file.
    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    /// The records of a workload.
    pub(super) fn of(&self, label: &WorkloadLabel) -> Vec<Record> {
        self.records.iter().filter(|record| record.workload == *label).cloned().collect()
    }
}

/// A record that is not of this session.
struct Mismatch {
    what: &'static str,
    expected: String,
    found: String,
}

impl Mismatch {
    fn check(what: &'static str, expected: impl ToString, found: impl ToString) -> Result<(), Self> {
        let (expected, found) = (expected.to_string(), found.to_string());
        if expected == found { Ok(()) } else { Err(Mismatch { what, expected, found }) }
    }

    fn of_record(self, number: u64) -> BenchError {
        let Mismatch { what, expected, found } = self;
        BenchError::Resume { record: number, what, expected, found }
    }
}

/// Checks that `record` is of one of the jobs of the plan, and that the same time is compared.
fn check_workload(record: &Record, jobs: &[PlannedJob]) -> Result<(), Mismatch> {
    let Some((_, compared)) = jobs.iter().find(|(label, _)| *label == record.workload) else {
        let planned: Vec<String> = jobs.iter().map(|(label, _)| label.to_string()).collect();
        return Mismatch::check("workload", planned.join(" or "), &record.workload);
    };
    let (expected, found) = (compared.name(), record.compared_time.name());
    Mismatch::check("compared time", expected, found)
}

/// Checks that `record` is of the same program, machine, repository and seed.
fn check(context: &BenchContext<'_>, record: &Record) -> Result<(), Mismatch> {
    let (here, there) = (&context.host, &record.host);
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
    Mismatch::check("program version", env!("CARGO_PKG_VERSION"), &record.program_version)?;
    Mismatch::check("seed", context.plan.seed, record.place.seed)?;
    Mismatch::check("repository fingerprint", &context.repository.fingerprint, &record.repository.fingerprint)?;
    Mismatch::check("revision", text(&context.repository.head), text(&record.repository.head))?;
    Mismatch::check("processor", text(&here.cpu_model), text(&there.cpu_model))?;
    Mismatch::check("number of cores", format!("{:?}", here.cores), format!("{:?}", there.cores))?;
    Ok(())
}

/// The order of each block that occurs in records.
struct Orders(BTreeMap<(u32, u32), Slot>);

impl Orders {
    fn new(records: &[Record], variants: usize, seed: u64) -> Self {
        let blocks: BTreeSet<u32> = records.iter().map(|record| record.place.block).collect();
        // The number of a block comes from the file, and the schedule iterates over all blocks before it.
        let limit = blocks.last().map_or(0, |last| last.saturating_add(1)).min(MAX_BLOCKS);
        let turns = Schedule::new(variants, limit, seed);
        let turns = turns.filter(|turn| blocks.contains(&turn.block));
        Orders(turns.map(|turn| ((turn.block, turn.position), turn.slot)).collect())
    }
}

/// The largest number of blocks of a session.
pub const MAX_BLOCKS: u32 = 1_000_000;

/// Checks that `record` is of the variant whose turn it was.
fn check_turn(record: &Record, rows: &[Row], orders: &Orders) -> Result<(), Mismatch> {
    let RunPlace { block, position, .. } = record.place;
    let slot = orders.0.get(&(block, position));
    let expected = slot.and_then(|slot| Some((slot, &rows.get(slot.variant())?.variant)));
    let name = |slot: &Slot, variant: &Variant| {
        let again = if *slot == Slot::BaselineAgain { ", second run" } else { "" };
        format!("{} in row {}{again}", identity(variant), variant.row)
    };
    let found_slot = match record.variant.role {
        Role::BaselineAgain => Slot::BaselineAgain,
        _ => Slot::Variant(0),
    };
    let found = name(&found_slot, &record.variant);
    let expected = expected.map_or_else(|| "no run".to_owned(), |(slot, variant)| name(slot, variant));
    Mismatch::check("variant at its turn", expected, found)?;
    let Some(row) = slot.and_then(|slot| rows.get(slot.variant())) else { return Ok(()) };
    let limit = |limit: Option<u64>| limit.map_or_else(|| "none".to_owned(), |bytes| format!("{bytes} bytes"));
    let recorded = record.delta_cache.map(|used| used.limit_bytes);
    // git's own cache reports nothing.
    let expected = if row.stock.is_some() { String::new() } else { limit(row.delta_cache) };
    Mismatch::check("limit of the delta cache", expected, recorded.map_or_else(String::new, limit))?;
    let version = |variant: &Variant| variant.client.as_ref().map_or(String::new(), |client| client.version.clone());
    Mismatch::check("version of the client", version(&row.variant), version(&record.variant))?;
    Mismatch::check("decoder", &row.decoder, &record.decoder)?;
    Mismatch::check("size of the variant", row.size.total_bytes, record.size.total_bytes)?;
    let iterations = record.iterations.clamp(1, MAX_ITERATIONS);
    Mismatch::check("number of jobs in a run", iterations, record.iterations)
}

/// The name of a variant, independent of how its spec was typed.
fn identity(variant: &Variant) -> String {
    let mut plain = variant.clone();
    if let Some(spec) = &mut plain.spec {
        spec.typed.clone_from(&spec.canonical);
    }
    plain.label().into_owned()
}

/// The records of complete blocks, each turn once; `turns_of` is the number of turns of a workload.
fn whole_blocks(records: &[Record], turns_of: impl Fn(&WorkloadLabel) -> usize) -> Vec<Record> {
    let mut seen: BTreeMap<(&WorkloadLabel, u32), BTreeSet<u32>> = BTreeMap::new();
    let mut kept: Vec<&Record> = Vec::new();
    for record in records {
        let block = seen.entry((&record.workload, record.place.block)).or_default();
        if block.insert(record.place.position) {
            kept.push(record);
        }
    }
    let is_whole = |record: &&&Record| {
        seen.get(&(&record.workload, record.place.block)).is_some_and(|seen| seen.len() == turns_of(&record.workload))
    };
    kept.iter().filter(is_whole).map(|record| (*record).clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use repackbench_records::fixtures::record as test_record;

    #[test]
    fn sessions_do_not_resume_with_another_clock() {
        let of = |compared_time| Record { compared_time, ..test_record("checkout", Role::Baseline, 0, 0, 100) };
        let found = |planned, recorded| {
            let jobs = [(of(planned).workload, planned)];
            check_workload(&of(recorded), &jobs).map_err(|mismatch| mismatch.of_record(4).to_string())
        };
        use ComparedTime::{CpuWithoutWriting, User, UserOfCommand};
        for planned in [CpuWithoutWriting, UserOfCommand] {
            assert_eq!(found(planned, planned), Ok(()));
            let error = found(planned, User).unwrap_err();
            assert!(error.contains("compared time") && error.contains("user CPU time"), "{error}");
        }
        let other = [(test_record("traverse", Role::Baseline, 0, 0, 100).workload, ComparedTime::Cpu)];
        let mismatch = check_workload(&of(CpuWithoutWriting), &other).expect_err("no job of the plan");
        assert_eq!((mismatch.what, &*mismatch.found), ("workload", "checkout"));
    }

    #[test]
    fn only_complete_blocks_are_kept_each_run_once() {
        let mut records = Vec::new();
        for block in 0..3 {
            for position in 0..3 {
                let mut record = test_record("traverse", Role::Candidate, position, block, 100);
                record.place.position = position;
                records.push(record);
            }
        }
        let last = records.pop();
        assert_eq!(whole_blocks(&records, |_| 3), records[..6], "the last block lacks a run");
        records.extend(last);
        records.push(records[0].clone());
        assert_eq!(whole_blocks(&records, |_| 3), records[..9], "the first run is there twice");
        assert!(whole_blocks(&records, |_| 4).is_empty());
    }
}
