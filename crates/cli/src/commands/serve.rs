//! `repackbench serve`.

use std::{fs::File, io::BufWriter, process::ExitCode};

use repackbench_records::write_rollout;
use repackbench_report::rollout_table;
use repackbench_timing::{
    clock::SystemClock,
    rollout::{RolloutPlan, rollout},
};
use repackbench_writer::cache::Cache;

use super::{name_of, open, print, print_notes};
use crate::{
    failure::{FAILED, Failure},
    progress::Bar,
    serve_arguments::ServeArguments,
};

pub(crate) fn run(arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    arguments.memory.ceiling(arguments.effort.threads()).set();
    let source = open(&arguments.repository)?;
    print_notes(&source, arguments.effort.quiet);
    let plan = RolloutPlan {
        codec: arguments.codec()?,
        range: arguments.range.range(source.default_revision()),
        runs: arguments.runs,
        seed: arguments.seed,
        threads: arguments.effort.threads(),
    };
    // The file is made first: what was measured should not be lost to a misspelt folder.
    let json = match &arguments.json {
        Some(path) => {
            let failed = |error| Failure::new(FAILED, format!("{}: cannot create: {error}", path.display()));
            Some((path, BufWriter::new(File::create(path).map_err(failed)?)))
        }
        None => None,
    };
    let bar = Bar::new(arguments.effort.quiet);
    let name = name_of(&arguments.repository);
    let measured = rollout(&source, &name, &plan, &Cache::open(None)?, &SystemClock::new(), &bar)?;
    if let Some((path, file)) = json {
        let failed = |error: std::io::Error| Failure::new(FAILED, format!("{}: cannot write: {error}", path.display()));
        write_rollout(file, &measured).map_err(failed)?;
    }
    print(&rollout_table(&measured, arguments.rollout))?;
    Ok(ExitCode::SUCCESS)
}
