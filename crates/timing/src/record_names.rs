//! The names of variants and layouts in records.

use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;
use repackbench_records::{ChosenLayout, DeltaOrigin, Readers, Role, SpecText, Variant, Vcs};
use repackbench_writer::{Layout, StoreKind};

/// The version-control system of a repository, for records.
pub fn vcs_of(source: &Repository) -> Vcs {
    match source {
        Repository::Git(_) => Vcs::Git,
        Repository::Hg(_) => Vcs::Mercurial,
    }
}

/// Whether `source` is a partial clone of a Git repository.
pub(crate) fn is_partial_clone(source: &Repository) -> bool {
    matches!(source, Repository::Git(git) if git.is_partial_clone())
}

/// Whether some objects of `source` are in other repositories.
pub(crate) fn borrows_objects(source: &Repository) -> bool {
    matches!(source, Repository::Git(git) if git.object_dirs().len() > 1)
}

/// Who reads a variant of `source` under `spec` in a store of this kind.
pub fn readers_of(source: &Repository, spec: &CodecSpec, store: StoreKind) -> Readers {
    let (is_stock, has_means) = match source {
        Repository::Git(_) => (spec.is_read_by_git(), true),
        // The extension reads no dictionaries.
        Repository::Hg(_) => (spec.is_read_by_hg(), !spec.uses_dictionaries()),
    };
    match store {
        StoreKind::Btree => Readers::Repackbench,
        _ if spec.uses_bases() || spec.uses_numbers() || !has_means => Readers::Repackbench,
        _ if is_stock => Readers::Stock,
        _ => Readers::Exec,
    }
}

/// What `source` writes, in the form of records; `None` for zlib.
pub(crate) fn codec_of(source: &Repository) -> Option<String> {
    match source {
        Repository::Git(_) => source.recorded_spec().filter(|spec| !spec.is_read_by_git()).map(|spec| spec.canonical()),
        Repository::Hg(hg) => hg.requirements().compression().map(str::to_owned),
    }
}

/// `layout` in the form of records; `None` for the layout of the source.
fn chosen_layout(layout: Layout) -> Option<ChosenLayout> {
    (!layout.is_default()).then(|| ChosenLayout {
        store: layout.store.name().to_owned(),
        order: layout.order.name().to_owned(),
        reference_deltas: layout.reference_deltas,
    })
}

/// The variant of `source` under `spec` and `layout`, in row 0.
pub(crate) fn variant_of(
    source: &Repository,
    spec: &CodecSpec,
    layout: Layout,
    role: Role,
    deltas: DeltaOrigin,
) -> Variant {
    Variant {
        role,
        spec: Some(SpecText { typed: spec.to_string(), canonical: spec.canonical() }),
        // In Mercurial the node guards every text, whatever its codec.
        checksum: matches!(source, Repository::Hg(_)) || spec.checksum(),
        deltas,
        layout: chosen_layout(layout),
        readers: Some(readers_of(source, spec, layout.store)),
        ..variant_as_found()
    }
}

/// The source as found, in row 0.
pub(crate) fn variant_as_found() -> Variant {
    Variant {
        role: Role::AsFound,
        row: 0,
        spec: None,
        self_test_name: None,
        checksum: true,
        deltas: DeltaOrigin::Kept,
        delta_window: None,
        decoder: None,
        delta_cache: None,
        client: None,
        layout: None,
        readers: None,
    }
}
