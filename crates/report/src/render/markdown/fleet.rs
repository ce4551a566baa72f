//! A fleet in GitHub's flavour of Markdown: the answer first.

use repackbench_analysis::Results;

use super::articles::articles_markdown;
use crate::sections::fleet_systems;

/// The tables of the fleet in `results`; `None` without one.
pub(crate) fn section(results: &Results) -> Option<String> {
    let mut articles = fleet_systems::articles(results);
    if articles.is_empty() {
        return None;
    }
    // Text ends with the answer.
    articles.rotate_right(1);
    Some(articles_markdown(&articles))
}
