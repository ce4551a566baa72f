//! `repackbench explain`.

use std::process::ExitCode;

use repackbench_records::ResultLine;
use repackbench_report::explain_table;
use repackbench_timing::{
    bench::{BenchError, BenchPlan, bench},
    clock::SystemClock,
    explain::ExplainPlan,
};
use repackbench_writer::cache::Cache;

use super::{
    name_of, open,
    plan::{PlanParts, plan_with},
    print, print_notes,
    report::style,
};
use crate::{
    explain_arguments::ExplainArguments,
    failure::{Failure, USAGE},
    progress::Bar,
    record_file::{self, RecordFile},
};

pub(crate) fn run(arguments: &ExplainArguments) -> Result<ExitCode, Failure> {
    arguments.memory.ceiling(arguments.effort.threads()).set();
    let source = open(&arguments.repository)?;
    print_notes(&source, arguments.effort.quiet);
    let explain = ExplainPlan::new(&arguments.codec, &arguments.baseline, &source)
        .map_err(|error| Failure::new(USAGE, error.to_string()))?;
    if arguments.pace.is_cold() || arguments.pace.jobs > 1 || arguments.pace.delta_caches().len() > 1 {
        let why = "explain measures warm runs, one at a time, under one --delta-cache";
        return Err(Failure::new(USAGE, why));
    }
    let earlier = match &arguments.pace.resume {
        Some(path) => record_file::read(path)?,
        None => Vec::new(),
    };
    let parts = PlanParts {
        pace: &arguments.pace,
        range: &arguments.range,
        effort: &arguments.effort,
        seed: arguments.seed,
        baseline: &arguments.baseline,
        workloads: arguments.workloads.clone(),
    };
    let plan = plan_with(parts, &source, earlier);
    let plan = BenchPlan { codecs: explain.codecs(), decoders: explain.decoders(), ..plan };
    let mut file = RecordFile::of(arguments.json.as_deref(), arguments.pace.resume.as_deref())?;
    let cache = Cache::open(None)?;
    let bar = Bar::new(arguments.effort.quiet);
    let name = name_of(&arguments.repository);
    let measured = bench(&source, &name, &plan, &cache, &SystemClock::new(), &bar, &mut file)?;
    let explanations = explain.rows().explain(&measured.records);
    for explanation in &explanations {
        file.append(&ResultLine::Explanation(Box::new(explanation.clone())))?;
    }
    print(&explain_table(&explanations, style()))?;
    if measured.is_interrupted { Err(BenchError::Interrupted.into()) } else { Ok(ExitCode::SUCCESS) }
}
