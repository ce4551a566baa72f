//! The `main` of the criterion benches.

use std::{process::ExitCode, time::Duration};

use criterion::Criterion;

use crate::{Result, is_short_run};

/// Runs `benches` with criterion's command line, and prints the error if they fail.
pub fn run_criterion(benches: impl FnOnce(&mut Criterion) -> Result<()>) -> ExitCode {
    let mut criterion = configuration().configure_from_args();
    match benches(&mut criterion) {
        Ok(()) => {
            criterion.final_summary();
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("repackbench-benches: {error}");
            ExitCode::FAILURE
        }
    }
}

/// One iteration covers many chunks and takes milliseconds, so a few samples suffice.
fn configuration() -> Criterion {
    let (samples, warm_up, measurement) = if is_short_run() { (10, 50, 200) } else { (20, 500, 2000) };
    Criterion::default()
        .sample_size(samples)
        .warm_up_time(Duration::from_millis(warm_up))
        .measurement_time(Duration::from_millis(measurement))
}
