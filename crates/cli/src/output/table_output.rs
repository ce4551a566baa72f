//! The forms of tables that no page and no chart shows.

use clap::Args;
use repackbench_report::{Article, articles_markdown, articles_text};

use super::{atomic_file::OutputFile, print, result_output::is_stdout_free, style};
use crate::{
    failure::Failure,
    options::{Destination, OUTPUT, destination},
};

/// The forms of tables that no page and no chart shows.
#[derive(Debug, Args)]
pub(crate) struct TableArguments {
    /// Write Markdown to FILE; - prints it instead of the tables.
    #[arg(long, value_name = "FILE", value_parser = destination(), help_heading = OUTPUT)]
    markdown: Option<Destination>,
}

/// Where tables go, created before there are any.
pub(crate) struct TableOutput {
    markdown: Option<OutputFile>,
    prints_tables: bool,
}

impl TableArguments {
    /// Creates the file that they name. `json` is where the command writes JSON, if it does.
    pub(crate) fn create(&self, json: Option<&Destination>) -> Result<TableOutput, Failure> {
        let markdown = self.markdown.as_ref();
        Ok(TableOutput {
            prints_tables: is_stdout_free(&[("--markdown", markdown), ("--json", json)])?,
            markdown: markdown.map(|form| OutputFile::create("--markdown", form)).transpose()?,
        })
    }
}

impl TableOutput {
    /// Writes `articles`, and prints them unless a form took stdout.
    pub(crate) fn write(self, articles: &[Article]) -> Result<(), Failure> {
        self.markdown.map_or(Ok(()), |file| file.write(&articles_markdown(articles)))?;
        if self.prints_tables { print(&articles_text(articles, style())) } else { Ok(()) }
    }
}
