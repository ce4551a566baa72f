//! `repackbench train`.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use repackbench_codec::{CodecSpec, MIN_DICTIONARY_LEN};
use repackbench_reader::{ChunkKind, ObjectKind, Repository};
use repackbench_writer::dictionaries::{
    TrainingOutcome, WantedDictionary, check_output, train_for,
    training::{DictionaryPurpose, NotTrained, TrainedDictionary},
    write_dictionary,
};

use crate::{
    failure::{FAILED, Failure},
    options::{ByteSize, Effort, KindArguments, MemoryArguments, OUTPUT, WHAT, all_kinds, located},
    output::print,
    progress::{Bar, stop::set_target},
    repository::{open, print_notes},
};

/// Train one dictionary on the payloads of repositories
///
/// The result has the format of `zstd --train`, for `zstd -D FILE`. Payloads are sampled evenly, at
/// most 100 times the size of the dictionary and 16 MiB. A quarter of the sample is held out of
/// training, to test the dictionary. The same repositories in the same order always give the same
/// dictionary.
///
/// Examples:
///   repackbench train . -o commits.dict --kind commit
///   repackbench train repo1 repo2 repo3 -o all.dict --size 64k --level 19
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct TrainArguments {
    /// Repositories, as found or variants.
    #[arg(required = true, value_parser = located())]
    pub(crate) repositories: Vec<PathBuf>,

    /// File to write.
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) output: PathBuf,

    /// Replace an existing FILE.
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) force: bool,

    /// Maximum length of the dictionary, 512 bytes to 16M: bytes, or with K or M.
    #[arg(long, help_heading = WHAT, value_name = "BYTES", default_value = "112k", value_parser = parse_dictionary_size)]
    pub(crate) size: usize,

    #[command(flatten)]
    kinds: KindArguments,

    /// Level of zstd to train for; `repackbench codecs` lists the levels.
    #[arg(long, help_heading = WHAT, value_name = "N", default_value = "3", value_parser = parse_zstd_level, allow_negative_numbers = true)]
    pub(crate) level: CodecSpec,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    #[command(flatten)]
    effort: Effort,
}

/// No sample is larger than this, so a dictionary need not be.
const MAX_DICTIONARY_LEN: usize = 16 << 20;

fn parse_dictionary_size(typed: &str) -> Result<usize, String> {
    let ByteSize(bytes) = typed.parse()?;
    let size = usize::try_from(bytes).ok().filter(|size| (MIN_DICTIONARY_LEN..=MAX_DICTIONARY_LEN).contains(size));
    size.ok_or_else(|| format!("expected {MIN_DICTIONARY_LEN} to {MAX_DICTIONARY_LEN} bytes"))
}

fn parse_zstd_level(typed: &str) -> Result<CodecSpec, String> {
    format!("zstd:{typed}").parse().map_err(|error: repackbench_codec::SpecError| error.to_string())
}

pub(crate) fn run(arguments: &TrainArguments) -> Result<ExitCode, Failure> {
    arguments.memory.ceiling(arguments.effort.threads()).set();
    check_output(&arguments.output, arguments.force)?;
    let repositories: Vec<Repository> =
        arguments.repositories.iter().map(|path| open(path)).collect::<Result<_, _>>()?;
    repositories.iter().for_each(|repository| print_notes(repository, arguments.effort.quiet()));
    let wanted = WantedDictionary {
        kinds: chunk_kinds(&arguments.kinds.kinds),
        capacity: arguments.size,
        purpose: DictionaryPurpose::Zstd(arguments.level.clone()),
        // It may be for other repositories, whose savings are unknown here.
        must_pay: false,
    };
    let bar = Bar::new(arguments.effort.quiet());
    set_target(&arguments.output, true);
    let repositories: Vec<&Repository> = repositories.iter().collect();
    let outcomes = train_for(&repositories, &[wanted], arguments.effort.control(&bar))?;
    for outcome in outcomes {
        let trained = outcome.result.as_ref().map_err(failed)?;
        write_dictionary(&arguments.output, trained.dictionary.bytes(), arguments.force)?;
        if !arguments.effort.quiet() {
            print(&summary(arguments, &outcome, trained))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Whole objects and deltas of each of `kinds`, or of every kind if there are none.
fn chunk_kinds(kinds: &[ObjectKind]) -> Vec<ChunkKind> {
    let objects = all_kinds().filter(|object| kinds.is_empty() || kinds.contains(object));
    objects.flat_map(|object| [false, true].map(|is_delta| ChunkKind { object, is_delta })).collect()
}

fn failed(reason: &NotTrained) -> Failure {
    let failure = Failure::new(FAILED, format!("no dictionary was trained: {reason}"));
    match reason {
        NotTrained::TooFewSamples { .. } => failure.with_hint("name more repositories, or omit --kind"),
        _ => failure,
    }
}

fn summary(arguments: &TrainArguments, outcome: &TrainingOutcome, trained: &TrainedDictionary) -> String {
    let held_out = trained.tested;
    format!(
        "{}: {} bytes, for {}\n\
         sampled   {} of {} payloads, {} bytes; {:.1} s\n\
         held out  {} payloads, {} bytes: {} bytes stored without the dictionary, {} with it ({:.3})\n",
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
