//! `repackbench bench`.

use std::process::ExitCode;

use repackbench_analysis::self_test;
use repackbench_reader::Repository;
use repackbench_records::Record;
use repackbench_report::{Results, self_test_table};
use repackbench_timing::{
    bench::{BenchError, BenchPlan, Measured, bench},
    clock::SystemClock,
    record_names::vcs_of,
};
use repackbench_writer::cache::Cache;

use super::{
    name_of, open,
    plan::{PlanParts, plan_with},
    print, print_idle_orders, print_notes,
    report::{Outputs, of_runs, style, tables},
};
use crate::{
    args::BenchArguments,
    failure::{FAILED, Failure, print_note},
    progress::Bar,
    record_file::{self, RecordFile},
};

pub(crate) fn run(arguments: &BenchArguments) -> Result<ExitCode, Failure> {
    arguments.memory.ceiling(arguments.effort.threads()).for_histories(arguments.pace.jobs as usize).set();
    let source = open(&arguments.repository)?;
    print_notes(&source, arguments.effort.quiet);
    let earlier = match &arguments.pace.resume {
        Some(path) => record_file::read(path)?,
        None => Vec::new(),
    };
    let plan = plan(arguments, &source, earlier)?;
    print_idle_orders(&source, &plan.layouts, arguments.effort.quiet);
    let mut outputs = Outputs::prepare(&arguments.output)?;
    let without_cache_rows: Vec<String> = plan.without_cache_rows().map(ToString::to_string).collect();
    if !without_cache_rows.is_empty() && !arguments.effort.quiet {
        let names = without_cache_rows.join(", ");
        print_note(format!("{names}: never read through the cache of delta bases, so one row of each variant"));
    }
    let mut file = RecordFile::of(arguments.json.as_deref(), arguments.pace.resume.as_deref())?;
    let cache = Cache::open(None)?;
    let bar = Bar::new(arguments.effort.quiet);
    let name = name_of(&arguments.repository);
    let measured = bench(&source, &name, &plan, &cache, &SystemClock::new(), &bar, &mut file)?;
    match plan.is_self_test {
        true => {
            print(&self_test_table(&self_test(&measured.records)))?;
            end_of(measured.is_interrupted, &measured.failures)
        }
        false => show(measured, &mut outputs),
    }
}

/// Shows what was measured, in the forms that the user wants, and ends as it ended.
pub(super) fn show(measured: Measured, outputs: &mut Outputs) -> Result<ExitCode, Failure> {
    let Measured { records, is_interrupted, failures } = measured;
    // Where nothing could be done there is no table.
    if !records.is_empty() || failures.is_empty() {
        let results = of_runs(Results { runs: records, ..Results::default() });
        outputs.write(&results)?;
        outputs.print(&results, &tables(&results, style()))?;
    }
    end_of(is_interrupted, &failures)
}

/// How a benchmark ends.
fn end_of(is_interrupted: bool, failures: &[String]) -> Result<ExitCode, Failure> {
    match failures {
        _ if is_interrupted => Err(BenchError::Interrupted.into()),
        [] => Ok(ExitCode::SUCCESS),
        [others @ .., last] => {
            others.iter().for_each(print_note);
            Err(Failure::new(FAILED, last))
        }
    }
}

fn plan(arguments: &BenchArguments, source: &Repository, earlier: Vec<Record>) -> Result<BenchPlan, Failure> {
    let rechooser = match arguments.rechosen {
        true => Some(arguments.programs.rechooser(source)?),
        false => None,
    };
    let (workloads, stock) = arguments.client.plans(&arguments.workloads, vcs_of(source), &arguments.programs)?;
    let plan = plan_with(
        PlanParts {
            pace: &arguments.pace,
            range: &arguments.range,
            effort: &arguments.effort,
            seed: arguments.seed,
            baseline: &arguments.baseline,
            workloads,
        },
        source,
        earlier,
    );
    Ok(BenchPlan {
        rechooser,
        stock,
        codecs: arguments.codecs()?,
        layouts: arguments.layouts.layouts(),
        decoders: arguments.decoders(),
        devices: arguments.devices(),
        is_self_test: arguments.self_test,
        ..plan
    })
}
