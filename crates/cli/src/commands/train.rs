//! `repackbench train`.

use std::process::ExitCode;

use repackbench_reader::{ChunkKind, ObjectKind, Repository};
use repackbench_writer::dictionaries::{
    Outcome, Wanted, check_output, train_for,
    training::{NotTrained, Purpose, Trained},
    write_dictionary,
};

use super::{open, print, print_notes};
use crate::{
    failure::{FAILED, Failure},
    payload_arguments::TrainArguments,
    progress::Bar,
};

pub(crate) fn run(arguments: &TrainArguments) -> Result<ExitCode, Failure> {
    arguments.memory.ceiling(arguments.effort.threads()).set();
    check_output(&arguments.output, arguments.force)?;
    let repositories: Vec<Repository> =
        arguments.repositories.iter().map(|path| open(path)).collect::<Result<_, _>>()?;
    repositories.iter().for_each(|repository| print_notes(repository, arguments.effort.quiet));
    let wanted = Wanted {
        kinds: chunk_kinds(&arguments.kinds),
        capacity: arguments.size,
        purpose: Purpose::Zstd(arguments.level.clone()),
        // It is for other repositories too, and they are not counted here.
        must_pay: false,
    };
    let bar = Bar::new(arguments.effort.quiet);
    let repositories: Vec<&Repository> = repositories.iter().collect();
    let outcomes = train_for(&repositories, &[wanted], arguments.effort.threads(), &bar)?;
    for outcome in outcomes {
        let trained = outcome.result.as_ref().map_err(failed)?;
        write_dictionary(&arguments.output, trained.dictionary.bytes(), arguments.force)?;
        if !arguments.effort.quiet {
            print(&summary(arguments, &outcome, trained))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whole and delta of each of `kinds`, or of all if there are none.
fn chunk_kinds(kinds: &[ObjectKind]) -> Vec<ChunkKind> {
    let all = || ObjectKind::GIT.into_iter().chain(ObjectKind::HG);
    let objects = all().filter(|object| kinds.is_empty() || kinds.contains(object));
    objects.flat_map(|object| [false, true].map(|is_delta| ChunkKind { object, is_delta })).collect()
}

fn failed(reason: &NotTrained) -> Failure {
    let failure = Failure::new(FAILED, format!("no dictionary was trained: {reason}"));
    match reason {
        NotTrained::TooFewSamples { .. } => failure.with_hint("name more repositories, or leave --kind out"),
        _ => failure,
    }
}

fn summary(arguments: &TrainArguments, outcome: &Outcome, trained: &Trained) -> String {
    let held_out = trained.held_out;
    format!(
        "{}: {} bytes, for {}\nsampled   {} of {} payloads, {} bytes; {:.1} s\nheld out  {} payloads, {} bytes: {} bytes stored without the dictionary, {} with it ({:.3})\n",
        arguments.output.display(),
        trained.dictionary.bytes().len(),
        arguments.level,
        outcome.samples,
        outcome.payloads,
        outcome.sample_bytes,
        outcome.elapsed.as_secs_f64(),
        held_out.payloads,
        held_out.payload_bytes,
        held_out.without,
        held_out.with,
        held_out.with as f64 / held_out.without.max(1) as f64,
    )
}
