//! `repackbench schema`.

use std::process::ExitCode;

use repackbench_records::record_schema;

use crate::{failure::Failure, output::print};

pub(crate) fn run() -> Result<ExitCode, Failure> {
    print(&format!("{:#}\n", record_schema()))?;
    Ok(ExitCode::SUCCESS)
}
