//! The names of what results were measured on.

use repackbench_analysis::ResultSource;

use crate::document::plain_text;

/// The repository's name, the stock client if there is one, and the machine where there are several. Raw.
pub(crate) fn name(of: &ResultSource<'_>) -> String {
    format!("{}{}", of.repository.name, suffix(of))
}

/// What follows the repository's name in [`name`].
pub(crate) fn suffix(of: &ResultSource<'_>) -> String {
    let client = of.client.map(|client| format!(", by stock {client}")).unwrap_or_default();
    let host = of.host.map(|host| format!(" on {}", host.description())).unwrap_or_default();
    format!("{client}{host}")
}

/// The name with the revision that was measured. Plain.
pub(crate) fn heading(of: &ResultSource<'_>) -> String {
    let name = plain_text(&of.repository.name);
    let revision = match &of.repository.head {
        Some(id) => format!(" (revision {})", plain_text(&short_id(id))),
        None => String::new(),
    };
    format!("{name}{revision}{}", plain_text(&suffix(of)))
}

/// As many digits of a commit's id as tell apart the commits of the largest repositories.
pub(crate) fn short_id(id: &str) -> String {
    id.chars().take(12).collect()
}
