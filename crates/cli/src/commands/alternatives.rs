//! `repackbench alternatives`.

use std::process::ExitCode;

use repackbench_reader::Repository;
use repackbench_timing::{
    bench::{BenchPlan, bench},
    clock::SystemClock,
};
use repackbench_writer::cache::Cache;

use super::{
    bench::show,
    name_of, open,
    plan::{PlanParts, plan_with},
    print_notes,
    report::Outputs,
};
use crate::{
    alternatives_arguments::AlternativesArguments,
    failure::{Failure, USAGE},
    progress::Bar,
    record_file::{self, RecordFile},
};

pub(crate) fn run(arguments: &AlternativesArguments) -> Result<ExitCode, Failure> {
    arguments.memory.ceiling(arguments.effort.threads()).set();
    let source = open(&arguments.repository)?;
    print_notes(&source, arguments.effort.quiet);
    if let Repository::Hg(_) = source {
        let message = format!(
            "{}: alternatives is about git; bench --client stock --rechosen runs hg",
            name_of(&arguments.repository)
        );
        return Err(Failure::new(USAGE, message));
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
        workloads: Vec::new(),
    };
    let plan = plan_with(parts, &source, earlier);
    let rechooser = match arguments.without_repack {
        true => None,
        false => Some(arguments.programs.rechooser(&source)?),
    };
    let plan = BenchPlan { codecs: arguments.codecs()?, rechooser, stock: Some(arguments.stock()?), ..plan };
    let mut outputs = Outputs::prepare(&arguments.output)?;
    let mut file = RecordFile::of(arguments.json.as_deref(), arguments.pace.resume.as_deref())?;
    let cache = Cache::open(None)?;
    let bar = Bar::new(arguments.effort.quiet);
    let name = name_of(&arguments.repository);
    let measured = bench(&source, &name, &plan, &cache, &SystemClock::new(), &bar, &mut file)?;
    show(measured, &mut outputs)
}
