//! The forms of tables that no page and no chart shows.

use clap::Args;
use repackbench_report::{Article, Style, articles_markdown, articles_text};

use super::{atomic_file::OutputFile, print, result_output::is_stdout_free, style};
use crate::{
    failure::Failure,
    options::{Destination, OUTPUT, destination},
};

/// The forms of tables that no page and no chart shows.
#[derive(Debug, Args)]
pub(crate) struct TableArguments {
    /// Write Markdown to FILE; - prints it.
    ///
    /// With -, the tables are left out.
    #[arg(long, value_name = "FILE", value_parser = destination(), help_heading = OUTPUT)]
    markdown: Option<Destination>,
}

/// Where tables go, created before there are any.
pub(crate) struct TableOutput {
    markdown: Option<OutputFile>,
    prints_tables: bool,
}

impl TableArguments {
    /// Whether a form is wanted that is not what the terminal shows.
    pub(crate) fn is_wanted(&self) -> bool {
        self.markdown.is_some()
    }

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
    /// Whether tables are printed, because no form took stdout.
    pub(crate) fn prints_tables(&self) -> bool {
        self.prints_tables
    }

    /// Whether Markdown is wanted.
    pub(crate) fn has_markdown(&self) -> bool {
        self.markdown.is_some()
    }

    /// Writes `articles`, and prints them unless a form took stdout.
    pub(crate) fn write(self, articles: &[Article]) -> Result<(), Failure> {
        self.write_in(articles, style())
    }

    /// As [`TableOutput::write`], printed in `style`.
    pub(crate) fn write_in(self, articles: &[Article], style: Style) -> Result<(), Failure> {
        let prints_tables = self.prints_tables;
        self.write_markdown(articles)?;
        if prints_tables { print(&articles_text(articles, style)) } else { Ok(()) }
    }

    /// Writes `articles`, which were printed before, as Markdown if that is wanted.
    pub(crate) fn write_markdown(self, articles: &[Article]) -> Result<(), Failure> {
        self.markdown.map_or(Ok(()), |file| file.write(&articles_markdown(articles)))
    }
}
