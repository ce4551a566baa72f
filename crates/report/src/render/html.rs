//! The report as one HTML file that needs nothing else.
//!
//! [`crate::chart`] draws the charts as SVG inside the page, instead of a library in the reader's browser. So the page
//! is a tenth as large as such a library, looks the same without JavaScript and on paper, has text that can be selected
//! and searched, and runs no third-party code. The script `templates/report.js` only adds filters, the values of a
//! mark, and charts and tables as files.
//!
//! Everything from records is escaped: every expression of the templates goes through [`escape::PageText`], except for
//! charts, style and script, which are marked `safe`. As a second defence, a content security policy allows only this
//! script, and no requests.

pub(crate) mod escape;
mod experiments;
mod parts;
mod table;
#[cfg(test)]
mod tests;

use askama::Template;
use parts::{PageBlock, PageSection, figure_sections};
use repackbench_analysis::Results;
use sha2::{Digest, Sha256};
use table::PageTable;

use crate::{
    chart::{CHART_STYLE, figures},
    document::{SectionKind, Tone},
    sections::{answer, document, fleet, names, origin},
};

const STYLE: &str = include_str!("../../templates/report.css");
const SCRIPT: &str = include_str!("../../templates/report.js");

/// What a page without an answer says.
const NOTHING_COMPARED: &str = "Nothing is compared with a baseline here.";
/// The same of a page of estimates.
const PREDICTED: &str = "Predicted from samples and replays; no variant was written.";

/// The page.
#[derive(Template)]
#[template(path = "report.html")]
struct Page {
    title: String,
    /// The hash of the script, for the content security policy.
    script_source: String,
    style: &'static str,
    chart_style: &'static str,
    script: &'static str,
    answers: Vec<answer::Answer>,
    experiments: Vec<experiments::PageExperiment>,
    joined: Option<PageSection>,
    sections: Vec<PageSection>,
    /// What takes the place of an answer if nothing was compared.
    no_answer: String,
    origin: origin::Origin,
    measurement_sessions: PageTable,
}

/// The page for some results: one HTML document, complete in itself.
pub fn html_report(results: &Results) -> String {
    let sections = document(results);
    // The others have places of their own.
    let is_table = |kind| !matches!(kind, SectionKind::Summary | SectionKind::Experiments | SectionKind::Joined);
    let tables = sections.iter().filter(|section| is_table(section.kind));
    let origin = origin::origin(results);
    let mut page_sections: Vec<PageSection> =
        figure_sections(figures(results)).into_iter().chain(tables.map(PageSection::of)).collect();
    // Without an overview, the rest is what a reader came for.
    if page_sections.iter().all(|section| section.is_folded) {
        page_sections.iter_mut().for_each(|section| section.is_folded = false);
    }
    let page = Page {
        title: names::title(results),
        script_source: format!("'sha256-{}'", base64(&Sha256::digest(SCRIPT))),
        style: STYLE,
        chart_style: CHART_STYLE,
        script: SCRIPT,
        answers: answer::answers(results),
        experiments: experiments::experiments(results),
        joined: sections.iter().find(|section| section.kind == SectionKind::Joined).map(PageSection::of),
        sections: page_sections,
        no_answer: match &results.fleet {
            Some(fleet) => fleet::counts(fleet),
            None if results.estimates.is_empty() => NOTHING_COMPARED.to_owned(),
            None => PREDICTED.to_owned(),
        },
        measurement_sessions: PageTable::from(&origin.sessions),
        origin,
    };
    page.render().expect("writing to a string cannot fail")
}

impl Tone {
    /// The class of the style sheet.
    fn class(self) -> &'static str {
        match self {
            Tone::Better => "better",
            Tone::Worse => "worse",
            Tone::Even => "even",
        }
    }
}

/// Base64 with padding (RFC 4648, section 4), as policies spell hashes.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let joined =
            group.iter().fold(0, |joined: usize, byte| joined << 8 | usize::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let digit = DIGITS[joined >> (18 - 6 * place) & 0x3f];
            text.push(if place > group.len() { '=' } else { char::from(digit) });
        }
    }
    text
}
