//! Helpers for tests.

pub(crate) use repackbench_records::fixtures::{comparison, estimate, row};

use crate::{Article, Style, articles_text};

/// `articles` as text for a file.
pub(crate) fn plain(articles: &[Article]) -> String {
    articles_text(articles, Style::PLAIN)
}
