//! How records call the layouts of variants.

use repackbench_records::ChosenLayout;
use repackbench_writer::Layout;

/// `layout` as records have it; `None` for that of the source.
pub fn chosen_layout(layout: Layout) -> Option<ChosenLayout> {
    (!layout.is_default()).then(|| ChosenLayout {
        store: layout.store.name().to_owned(),
        order: layout.order.name().to_owned(),
        reference_deltas: layout.reference_deltas,
    })
}
