//! Repositories by size and by kind of content.
//!
//! The kind follows from the stored bytes of their objects. No content is looked at: whether files are text shows in
//! how far whole ones shrink.

use repackbench_records::{ChunkForm, ChunkSizes, ClassCodec, FleetClass, ObjectKind, RepositoryClass, SpecText};

use super::{Member, geometric_mean, state::Sums};

/// Files that keep more of their bytes than this were compressed before.
const COMPRESSED: f64 = 0.8;

/// Each class that has a repository.
pub(super) fn classes(members: &[Member<'_>], codecs: &[SpecText]) -> Vec<FleetClass> {
    let in_class = |class: RepositoryClass| {
        let is_in = |member: &&Member<'_>| {
            size_class(member.estimate.as_found.total_bytes) == class || kind(member) == Some(class)
        };
        members.iter().filter(is_in).copied().collect::<Vec<_>>()
    };
    let classes = RepositoryClass::ALL.into_iter().map(|class| (class, in_class(class)));
    classes
        .filter(|(_, members)| !members.is_empty())
        .map(|(class, members)| FleetClass {
            class,
            repositories: members.len(),
            bytes: members.iter().map(|member| member.state.total_bytes).fold(0, u64::saturating_add),
            codecs: codecs.iter().filter_map(|codec| class_codec(&members, codec)).collect(),
        })
        .collect()
}

fn class_codec(members: &[Member<'_>], codec: &SpecText) -> Option<ClassCodec> {
    let (mut sizes, mut times) = (Sums::default(), Vec::new());
    for member in members {
        let Some(at) = member.place_of(&codec.canonical) else { continue };
        let Some((bytes, ratio)) = member.size(at) else { continue };
        sizes.add(bytes, member.state.total_bytes as f64, ratio);
        times.extend(member.cpu(at));
    }
    Some(ClassCodec {
        codec: codec.typed.clone(),
        size_total: sizes.total(),
        size_mean: sizes.mean()?,
        cpu_mean: geometric_mean(times.into_iter()),
    })
}

/// The class of a repository with this many bytes as found.
pub(super) fn size_class(bytes: u64) -> RepositoryClass {
    match bytes {
        0..1_000_000 => RepositoryClass::Below1Mb,
        1_000_000..10_000_000 => RepositoryClass::Below10Mb,
        10_000_000..100_000_000 => RepositoryClass::Below100Mb,
        100_000_000..1_000_000_000 => RepositoryClass::Below1Gb,
        1_000_000_000.. => RepositoryClass::From1Gb,
    }
}

/// The share of their bytes that whole files keep; `None` for older records, and without such files.
pub(super) fn kept_by_whole_files(member: &Member<'_>) -> Option<f64> {
    let mut whole = ChunkSizes::default();
    let objects = member.estimate.as_found.objects.as_ref()?.iter();
    let is_file = |kind| matches!(kind, ObjectKind::Blob | ObjectKind::Filelog);
    let files = objects.filter(|(kind, form, _)| is_file(*kind) && *form == ChunkForm::Whole);
    files.for_each(|(_, _, sizes)| whole.merge(sizes));
    (whole.payload_bytes > 0).then(|| whole.stored_bytes as f64 / whole.payload_bytes as f64)
}

/// What most of the bytes as found hold. `None` for older records, and for a repository without objects.
pub(super) fn kind(member: &Member<'_>) -> Option<RepositoryClass> {
    let objects = member.estimate.as_found.objects.as_ref()?;
    let (mut files, mut all) = (ChunkSizes::default(), ChunkSizes::default());
    for (kind, _, sizes) in objects.iter() {
        all.merge(sizes);
        if matches!(kind, ObjectKind::Blob | ObjectKind::Filelog) {
            files.merge(sizes);
        }
    }
    if all.stored_bytes == 0 {
        return None;
    }
    let shrinks = || kept_by_whole_files(member).is_some_and(|kept| kept < COMPRESSED);
    Some(match files.stored_bytes > all.stored_bytes / 2 {
        false => RepositoryClass::Histories,
        true if shrinks() => RepositoryClass::CompressibleFiles,
        true => RepositoryClass::CompressedFiles,
    })
}
