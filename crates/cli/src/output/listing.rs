//! Lists that are no measurements, as a table, Markdown or lines of JSON.

use std::io::Write;

use clap::Args;
use repackbench_report::{Article, Block, Style, Table};
use serde::Serialize;

use super::table_output::{TableArguments, TableOutput};
use crate::{
    failure::{FAILED, Failure},
    options::{Destination, OUTPUT, RecordWriter, create_json, destination},
};

/// The version of the lines of lists.
const SCHEMA_VERSION: u32 = 1;

/// The forms of a list.
#[derive(Debug, Args)]
pub(crate) struct ListingArguments {
    /// Write the list to FILE, one line of JSON each; - prints it instead of the table.
    ///
    /// A FILE that exists is refused without --force.
    #[arg(long, value_name = "FILE", value_parser = destination(), help_heading = OUTPUT)]
    json: Option<Destination>,

    /// Replace the FILE of --json if it exists.
    #[arg(long, requires = "json", help_heading = OUTPUT)]
    force: bool,

    #[command(flatten)]
    tables: TableArguments,
}

/// Where a list goes, created before there is one.
pub(crate) struct Listing {
    json: Option<RecordWriter>,
    pub(crate) tables: TableOutput,
}

impl ListingArguments {
    /// Creates the files that they name.
    pub(crate) fn create(&self) -> Result<Listing, Failure> {
        let tables = self.tables.create(self.json.as_ref())?;
        let json = self.json.as_ref().map(|json| create_json(json, self.force)).transpose()?;
        Ok(Listing { json, tables })
    }
}

/// A line of JSON: the version of its form, what it is, and its fields.
#[derive(Serialize)]
struct Line<'a, T> {
    schema: u32,
    record: &'a str,
    #[serde(flatten)]
    fields: T,
}

impl Listing {
    /// Writes a line of JSON with `fields` about a `record`, if JSON is wanted.
    pub(crate) fn line(&mut self, record: &str, fields: impl Serialize) -> Result<(), Failure> {
        let Some(out) = &mut self.json else { return Ok(()) };
        let mut line = serde_json::to_vec(&Line { schema: SCHEMA_VERSION, record, fields })
            .map_err(|error| Failure::new(FAILED, format!("cannot encode a line of JSON: {error}")))?;
        line.push(b'\n');
        out.write_all(&line)?;
        Ok(out.flush()?)
    }

    /// Writes the list for people, in lines of any length: cells hold paths and names to copy.
    pub(crate) fn write(mut self, articles: &[Article]) -> Result<(), Failure> {
        if let Some(json) = &mut self.json {
            json.flush()?;
        }
        self.tables.write_in(articles, Style::PLAIN)
    }
}

/// A table of words.
pub(crate) fn words(columns: &[&str], rows: &[Vec<String>]) -> Article {
    Article { blocks: vec![Block::Table(Table::of_words(columns, rows))], ..Article::default() }
}
