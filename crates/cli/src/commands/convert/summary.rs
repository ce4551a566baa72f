//! What a conversion says about sizes: a table, Markdown and records.

use std::path::Path;

use repackbench_reader::{Repository, threads};
use repackbench_records::ResultLine;
use repackbench_report::{Article, sections};
use repackbench_timing::sizes::measure;
use repackbench_writer::Conversion;

use super::ConvertArguments;
use crate::{
    failure::{Failure, USAGE},
    options::create_json,
    output::{
        print_article,
        record_file::{RecordFile, size_line},
        table_output::TableOutput,
    },
    repository::name_of,
};

/// The sizes before and after each conversion of a command, in every form that the user chose.
pub(super) struct Summary {
    json: RecordFile,
    tables: TableOutput,
    articles: Vec<Article>,
    prints: bool,
    has_records: bool,
}

impl Summary {
    /// Creates the files that `arguments` name.
    pub(super) fn create(arguments: &ConvertArguments) -> Result<Self, Failure> {
        let tables = arguments.tables.create(arguments.json.as_ref())?;
        let json = arguments.json.as_ref().map(|json| create_json(json, arguments.force)).transpose()?;
        Ok(Summary {
            prints: tables.prints_tables() && !arguments.effort.quiet(),
            has_records: json.is_some(),
            json: json.map_or(RecordFile::None, RecordFile::New),
            tables,
            articles: Vec::new(),
        })
    }

    /// Fails if the user asked for a form of the summary, which `what` does not have.
    pub(super) fn refuse(arguments: &ConvertArguments, what: &str) -> Result<(), Failure> {
        match arguments.json.is_some() || arguments.tables.is_wanted() {
            true => Err(Failure::new(USAGE, format!("--json and --markdown: {what} has no table of sizes"))),
            false => Ok(()),
        }
    }

    /// Prints and records the sizes of `source`, which the user called `name`, and of its variant at `path`: what they
    /// hold themselves.
    pub(super) fn add(
        &mut self,
        source: &Repository,
        name: &Path,
        mut conversion: Conversion,
        path: &Path,
    ) -> Result<(), Failure> {
        if !self.prints && !self.has_records && !self.tables.has_markdown() {
            return Ok(());
        }
        conversion.notes.extend(repackbench_timing::missing::notes(source)?);
        // The lengths of Mercurial's deltas are known only after decoding, so both are measured at the same time.
        let measure_result = || {
            let converted = match Repository::open(path)? {
                Repository::Git(git) => Repository::Git(Box::new(git.without_alternates())),
                converted => converted,
            };
            measure(&converted, &name_of(path))
        };
        let (after, before) = threads::both(measure_result, || measure(source, &name_of(name)));
        let (before, after) = (before?, after?);
        let Conversion { elapsed, sync, notes, .. } = conversion;
        let article = sections::conversion(&before, &after, elapsed, sync, &notes);
        for size in [before, after] {
            self.json.append(&ResultLine::Size(Box::new(size_line(size))))?;
        }
        if self.prints {
            print_article(article.clone())?;
        }
        self.articles.push(article);
        Ok(())
    }

    /// Writes what is not written yet.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.tables.write_markdown(&self.articles)
    }
}
