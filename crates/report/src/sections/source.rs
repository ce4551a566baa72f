//! Names of repositories, clients and machines.

use repackbench_analysis::ResultSource;

use crate::document::plain_text;

/// The repository, the stock client if any, and the machine if there are several. Raw.
pub(crate) fn name(of: &ResultSource<'_>) -> String {
    format!("{}{}", of.repository.name, suffix(of))
}

/// The part after the repository in [`name`].
pub(crate) fn suffix(of: &ResultSource<'_>) -> String {
    let client = of.client.map(|client| format!(", by stock {client}")).unwrap_or_default();
    let host = of.host.map(|host| format!(" on {}", host.description())).unwrap_or_default();
    format!("{client}{host}")
}

/// The name with the measured revision. Plain.
pub(crate) fn heading(of: &ResultSource<'_>) -> String {
    let name = plain_text(&of.repository.name);
    let revision = match &of.repository.head {
        Some(id) => format!(" (revision {})", plain_text(&short_id(id))),
        None => String::new(),
    };
    format!("{name}{revision}{}", plain_text(&suffix(of)))
}

/// Enough digits of a commit id to distinguish the commits of the largest repositories.
pub(crate) fn short_id(id: &str) -> String {
    id.chars().take(12).collect()
}
