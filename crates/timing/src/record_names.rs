//! How records call what is measured.

use repackbench_reader::Repository;
use repackbench_records::{ChosenLayout, Vcs};
use repackbench_writer::Layout;

/// The system of a repository as records have it.
pub fn vcs_of(source: &Repository) -> Vcs {
    match source {
        Repository::Git(_) => Vcs::Git,
        Repository::Hg(_) => Vcs::Mercurial,
    }
}

/// `layout` as records have it; `None` for that of the source.
pub fn chosen_layout(layout: Layout) -> Option<ChosenLayout> {
    (!layout.is_default()).then(|| ChosenLayout {
        store: layout.store.name().to_owned(),
        order: layout.order.name().to_owned(),
        reference_deltas: layout.reference_deltas,
    })
}
