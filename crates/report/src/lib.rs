//! Results for people: text for a terminal or a pipe, Markdown, CSV, charts as SVG, and an HTML page with all of them.
//!
//! [`sections`] turns findings into a document: articles with tables and notes. `render` turns a document into text,
//! Markdown or a page, and findings into CSV or JSON. Everything is a function from values to a string: nothing
//! measures, reads files or prints. Names of repositories are escaped: they carry no terminal control and no markup.
//! [`Style`] describes a terminal; without it, text is the same for a pipe and a file.
//!
//! **Units.** Sizes are in MB (10^6 bytes), with three significant digits and at most three decimals; exact bytes
//! are in the records. Times carry their unit, which is the same for all variants of a workload. A ratio below 1 means
//! less time or fewer bytes than the baseline or the first repository.

#![forbid(unsafe_code)]

mod chart;
mod document;
#[cfg(test)]
mod fixtures;
mod number;
mod render;
pub mod sections;

pub use chart::{CHART_STYLE, Figure, figures, svg_files};
pub use document::{
    Align, Article, Block, Cell, Column, ColumnSplit, Row, RowGroup, Section, SectionKind, Table, Tone,
};
#[cfg(feature = "parquet")]
pub use render::parquet::fleet_parquet;
pub use render::{
    csv::csv,
    html::html_report,
    json::json,
    markdown::{
        articles_markdown, markdown,
        results_page::{RESULTS_MADE, results_file},
    },
    text::{Style, articles_text, table_text, text},
};
