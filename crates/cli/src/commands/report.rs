//! `repackbench report`, and the forms of a result that other commands share with it.

use std::{
    collections::HashSet,
    fs,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use repackbench_analysis::{compare_records, equal_budgets, unify_spellings};
use repackbench_records::{Record, ResultLine};
use repackbench_report::{
    Results, Style, bench_table, budget_table, clients_table, csv, experiment_table, explain_table, html_report,
    joined, joined_table, markdown, size_table, summary, svg_files, trace_table,
};
use serde_json::json;

use super::{print, whole_file::WholeFile};
use crate::{
    failure::{FAILED, Failure, print_note},
    options::OutputArguments,
    record_file,
};

/// Show the results of one or several sessions: as tables, Markdown, CSV, JSON, HTML with charts, or SVG.
///
/// RESULTS are the files that `--json` of bench, trace, explain, size and experiment wrote; several are joined,
/// whatever they hold: further workloads, other repositories, other machines. Over several
/// repositories, geometric means of the ratios stand beside totals.
///
/// Examples:
///   repackbench report git.jsonl
///   repackbench report git.jsonl traces.jsonl --html git.html --svg pictures
///   repackbench report linux.jsonl git.jsonl hg.jsonl --markdown
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ReportArguments {
    /// Files of results; `-` for stdin.
    #[arg(required = true, value_name = "RESULTS")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    /// Print what the tables are made of as one JSON document, in place of tables.
    #[arg(long, conflicts_with_all = ["markdown", "csv"])]
    pub(crate) json: bool,

    /// Show no notes.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

pub(crate) fn run(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let mut outputs = Outputs::prepare(&arguments.output)?;
    let mut lines = Vec::new();
    for path in &arguments.files {
        let of_file = record_file::read_lines(path)?;
        if of_file.is_empty() {
            return Err(Failure::new(FAILED, format!("{}: expected results, found none", path.display())));
        }
        lines.extend(of_file);
    }
    let found = lines.len();
    let results = results(lines);
    if !arguments.quiet {
        let twice = found.saturating_sub(
            results.runs.len()
                + results.traces.len()
                + results.explanations.len()
                + results.sizes.len()
                + results.experiments.len(),
        );
        if twice > 0 {
            print_note(format!("{twice} lines were given twice, and count once"));
        }
    }
    outputs.write(&results)?;
    if arguments.json {
        print(&document(&results)?)?;
    } else {
        outputs.print(&results, &tables(&results, style()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What lines of results come to. A line that is there twice counts once: a file may be given twice, or hold a copy of another.
fn results(lines: Vec<ResultLine>) -> Results {
    let mut results = Results::default();
    let mut runs = HashSet::new();
    for line in lines {
        match line {
            ResultLine::Run(run) if runs.insert(place_of(&run)) => results.runs.push(*run),
            ResultLine::Trace(trace) if !results.traces.contains(&trace) => results.traces.push(*trace),
            ResultLine::Explanation(explanation) if !results.explanations.contains(&explanation) => {
                results.explanations.push(*explanation);
            }
            ResultLine::Size(size) if !results.sizes.contains(&size) => results.sizes.push(*size),
            ResultLine::Experiment(experiment) if !results.experiments.contains(&experiment) => {
                results.experiments.push(*experiment);
            }
            _ => {}
        }
    }
    // They are written as they are taken, the baseline first; tables show them in the order of their rows.
    for traces in results.traces.chunk_by_mut(|a, b| a.repository == b.repository && a.workload == b.workload) {
        traces.sort_by_key(|trace| trace.variant.row);
    }
    of_runs(results)
}

/// `results` with what follows from its runs.
pub(super) fn of_runs(mut results: Results) -> Results {
    unify_spellings(&mut results.runs);
    // What an explanation measured are its steps: variants that nobody would use beside those that are compared.
    // Runs of unknown sessions belong to none.
    let is_step = |run: &&Record| {
        let session = run.place.session;
        session > 0 && results.explanations.iter().any(|explanation| explanation.session == session)
    };
    let compared: Vec<Record> = results.runs.iter().filter(|run| !is_step(run)).cloned().collect();
    results.comparisons = compare_records(&compared);
    results.budgets = equal_budgets(&results.comparisons);
    results
}

/// What no two runs have in common.
fn place_of(run: &Record) -> (u64, u64, u32, u32, String, String) {
    let place = &run.place;
    (
        place.session,
        run.started_unix_ms,
        place.block,
        place.position,
        run.workload.to_string(),
        run.repository.fingerprint.clone(),
    )
}

/// All that there is, as tables: first what one would gain and lose.
pub(super) fn tables(results: &Results, style: Style) -> String {
    let sizes: Vec<_> = results.sizes.iter().map(|line| line.size.clone()).collect();
    let parts = [
        experiment_table(&results.experiments, style),
        summary(&results.comparisons, style),
        clients_table(&results.comparisons, style),
        joined_table(&joined(&results.comparisons), style),
        bench_table(&results.comparisons, style),
        budget_table(&results.budgets, style).trim_start().to_owned(),
        explain_table(&results.explanations, style),
        if results.traces.is_empty() { String::new() } else { trace_table(&results.traces, style) },
        if sizes.is_empty() { String::new() } else { size_table(&sizes, style) },
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn document(results: &Results) -> Result<String, Failure> {
    let document = json!({
        "comparisons": results.comparisons,
        "joined": joined(&results.comparisons),
        "budgets": results.budgets,
        "explanations": results.explanations,
        "traces": results.traces,
        "sizes": results.sizes,
        "experiments": results.experiments,
    });
    let text = serde_json::to_string_pretty(&document).map_err(|error| Failure::new(FAILED, error.to_string()))?;
    Ok(text + "\n")
}

/// What stdout can show: its width and colours if it is a terminal, plain text if not.
pub(super) fn style() -> Style {
    if !io::stdout().is_terminal() {
        return Style::PLAIN;
    }
    let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let is_coloured = !anstyle_query::no_color() && anstyle_query::term_supports_ansi_color();
    Style { width, is_coloured }
}

/// Where a result goes, made before there is one: an hour of measuring should not end in a misspelt folder.
pub(super) struct Outputs<'a> {
    arguments: &'a OutputArguments,
    html: Option<WholeFile>,
}

impl<'a> Outputs<'a> {
    /// Makes the files and folders that `arguments` name.
    pub(super) fn prepare(arguments: &'a OutputArguments) -> Result<Self, Failure> {
        let cannot =
            |path: &Path, error: io::Error| Failure::new(FAILED, format!("{}: cannot create: {error}", path.display()));
        let html = arguments.html.as_deref().map(WholeFile::prepare).transpose()?;
        if let Some(folder) = &arguments.svg {
            fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
        }
        Ok(Outputs { arguments, html })
    }

    /// Writes the files.
    pub(super) fn write(&mut self, results: &Results) -> Result<(), Failure> {
        let cannot =
            |path: &Path, error: io::Error| Failure::new(FAILED, format!("{}: cannot write: {error}", path.display()));
        if let Some(file) = self.html.take() {
            file.write(html_report(results))?;
        }
        if let Some(folder) = &self.arguments.svg {
            for (name, svg) in svg_files(results) {
                let path = folder.join(format!("{name}.svg"));
                fs::write(&path, svg).map_err(|error| cannot(&path, error))?;
            }
        }
        Ok(())
    }

    /// Prints the form that was asked for: `tables` if none was.
    pub(super) fn print(&self, results: &Results, tables: &str) -> Result<(), Failure> {
        if self.arguments.markdown {
            print(&markdown(results))
        } else if self.arguments.csv {
            print(&csv(results).map_err(|error| Failure::new(FAILED, error.to_string()))?)
        } else {
            print(tables)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_of_an_unknown_session_takes_no_runs_away() {
        let run = |session: u64| {
            json!({
                "schema": 1, "program_version": "0", "started_unix_ms": 0, "host": {},
                "repository": {"name": "sample", "fingerprint": "f", "head": null},
                "variant": {"role": "baseline", "row": 0, "spec": {"typed": "zlib:6", "canonical": "zlib:6"}, "checksum": true},
                "decoder": "", "workload": {"name": "traverse", "parameters": {}}, "compared_time": "cpu",
                "place": {"block": 0, "position": 0, "seed": 1, "session": session},
                "sample": {"wall_ns": 2, "user_ns": 1, "sys_ns": 0}, "iterations": 1, "counts": {},
                "digest": {"algorithm": "none", "hex": ""}, "size": repackbench_records::SizeRecord::default()
            })
        };
        let explanation = |session: u64| {
            json!({
                "schema": 1, "session": session, "repository": {"name": "sample", "fingerprint": "f", "head": null},
                "workload": {"name": "traverse", "parameters": {}}, "compared_time": "cpu", "codec": "zstd:5",
                "baseline": "zlib:6", "measured": {"ratio": 1.0, "interval": null, "pairs": 1}, "factors": [], "product": 1.0,
                "noise": null
            })
        };
        for (session, compared) in [(0, 1), (7, 0)] {
            let results = of_runs(Results {
                runs: vec![serde_json::from_value(run(session)).unwrap()],
                explanations: vec![serde_json::from_value(explanation(session)).unwrap()],
                ..Results::default()
            });
            assert_eq!(results.comparisons.len(), compared, "session {session}");
        }
    }
}
