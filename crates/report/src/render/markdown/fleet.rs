//! A fleet in GitHub's flavour of Markdown: the answer first.

use repackbench_records::FleetSummary;

use super::articles::articles_markdown;
use crate::sections;

/// The tables of a fleet.
pub(crate) fn section(summary: &FleetSummary) -> String {
    let mut articles = sections::fleet(summary);
    // Text ends with the answer.
    articles.rotate_right(1);
    articles_markdown(&articles)
}
