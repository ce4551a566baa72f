//! Results for people: text for a terminal or a pipe, Markdown, CSV, charts as SVG, and one HTML page of all of them.
//!
//! [`sections`] makes a document of findings: articles with tables and notes. The functions of `render` make text, Markdown or a page of a
//! document, and CSV or JSON of the findings themselves. Everything is a function from values to a string: nothing measures, reads files
//! or prints. Names of repositories come out as text: they carry no terminal control and no markup. [`Style`] says what a terminal can
//! show; without it, text is the same for a pipe and a file.
//!
//! **Units.** Sizes are in MB (10^6 bytes), with three significant digits and at most three decimals; exact bytes
//! are in the records. Times carry their unit, which is the same for all variants of a workload. A ratio below 1 means
//! less time or fewer bytes than the baseline, or than the first repository.

#![forbid(unsafe_code)]

mod chart;
mod document;
#[cfg(test)]
mod fixtures;
pub mod number;
mod render;
pub mod sections;

pub use chart::{CHART_STYLE, Figure, figures, svg_files};
pub use document::{
    Align, Article, Block, Cell, Column, ColumnSplit, Row, RowGroup, Section, SectionKind, Table, Tone,
};
pub use render::{
    csv::csv,
    html::html_report,
    json::json,
    markdown::markdown,
    text::{Style, articles_text, table_text, text},
};
