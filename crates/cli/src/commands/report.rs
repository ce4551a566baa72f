//! `repackbench report`, and the forms of a result that other commands share with it.

use std::{
    fs,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use repackbench_analysis::Results;
use repackbench_report::{Style, csv, html_report, json, markdown, sections, svg_files, text};

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
    let (results, duplicates) = Results::from_lines(lines);
    if duplicates > 0 && !arguments.quiet {
        print_note(format!("{duplicates} lines were given twice, and count once"));
    }
    outputs.write(&results)?;
    if arguments.json {
        print(&json(&results).map_err(|error| Failure::new(FAILED, error.to_string()))?)?;
    } else {
        outputs.print(&results, &text(&sections::document(&results), style()))?;
    }
    Ok(ExitCode::SUCCESS)
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
