//! `repackbench explain`.

use std::process::ExitCode;

use clap::Args;
use repackbench_codec::CodecSpec;
use repackbench_records::{Record, ResultLine};
use repackbench_report::{articles_text, sections};
use repackbench_timing::{BenchError, bench::BenchPlan, explain::ExplainPlan, workloads::WorkloadSpec};

use crate::{
    failure::{Failure, USAGE},
    options::{SessionArguments, WHAT},
    output::{print, style, table_output::TableArguments},
    repository::print_numbers_without_effect,
};

/// Split the ratio of a codec's time to zlib's into its causes
///
/// Is it zstd, or is it just not zlib? Rows that differ in one thing at a time lead from stock zlib to
/// the codec: the same bytes read by the fastest other library (implementation); the same DEFLATE
/// blocks without the header and Adler-32 of zlib, read by that library (framing); the codec without a
/// checksum (format); the codec (integrity). All are measured in the same random blocks, and their
/// product is compared with the ratio as measured. With ids=number a last step leads from ids to
/// numbers, and the floor of a workload that only reads says how much of that is decoding.
///
/// Examples:
///   repackbench explain . --workload traverse --codec zstd:5
///   repackbench explain repo --workload checkout:sink --codec lz4 --blocks 15
///   repackbench explain repo --workload traverse:count --codec zstd:9,ids=number
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ExplainArguments {
    /// Codec to explain.
    #[arg(long, value_name = "SPEC", help_heading = WHAT)]
    codec: CodecSpec,

    /// Level of zlib to compare with.
    #[arg(long, value_name = "SPEC", default_value = "zlib:6", value_parser = parse_zlib, help_heading = WHAT)]
    baseline: CodecSpec,

    /// Workload to explain; may be repeated.
    #[arg(long = "workload", value_name = "W", required = true, help_heading = WHAT)]
    workloads: Vec<WorkloadSpec>,

    #[command(flatten)]
    pub(crate) session: SessionArguments,

    #[command(flatten)]
    output: TableArguments,
}

/// Parses the baseline, which has to be stock zlib, as the first step leads to another implementation of it.
fn parse_zlib(typed: &str) -> Result<CodecSpec, String> {
    let spec: CodecSpec = typed.parse().map_err(|error: repackbench_codec::SpecError| error.to_string())?;
    match spec.algorithm().name() {
        "zlib" if spec.is_uniform() && !spec.uses_dictionaries() && !spec.uses_numbers() => Ok(spec),
        _ => Err("expected a level of zlib, such as zlib:6".to_owned()),
    }
}

pub(crate) fn run(arguments: &ExplainArguments) -> Result<ExitCode, Failure> {
    let session = &arguments.session;
    let source = session.open()?;
    let explain = ExplainPlan::new(&arguments.codec, &arguments.baseline, &source)
        .map_err(|error| Failure::new(USAGE, error.to_string()))?;
    let pace = &session.measure.pace;
    if pace.is_cold() || pace.jobs > 1 || pace.delta_caches().len() > 1 {
        let why = "explain measures warm runs, one at a time, under one --delta-cache";
        return Err(Failure::new(USAGE, why));
    }
    let floors = explain.floors(&arguments.workloads);
    print_numbers_without_effect(&source, std::slice::from_ref(&arguments.codec), session.effort.quiet());
    let plan = BenchPlan {
        codecs: explain.codecs(),
        decoders: explain.decoders(),
        workloads: arguments.workloads.iter().chain(&floors).cloned().collect(),
        ..session.plan(&source, &arguments.baseline, None)?
    };
    let output = arguments.output.create(session.measure.records.json.as_ref())?;
    let mut file = session.measure.record_file()?;
    let rows = explain.rows(&floors);
    let last_words = {
        let rows = rows.clone();
        move |records: Vec<Record>| {
            let explanations = rows.explain(&records);
            let _ = print(&articles_text(&sections::explanations(&explanations), style()));
        }
    };
    let measured = session.run(&source, &plan, &mut file, last_words)?;
    let explanations = rows.explain(&measured.records);
    for explanation in &explanations {
        file.append(&ResultLine::Explanation(Box::new(explanation.clone())))?;
    }
    output.write(&sections::explanations(&explanations))?;
    match measured.is_interrupted {
        true => Err(session.with_way_on("explain", BenchError::Interrupted.into())),
        false => Ok(ExitCode::SUCCESS),
    }
}
