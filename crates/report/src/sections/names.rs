//! The names of variants and repositories.

use repackbench_records::Variant;

/// The variant's label; a variant that is read without a checksum says so, whatever its spec's spelling.
pub(crate) fn variant_name(variant: &Variant) -> String {
    let label = variant.label();
    if variant.checksum || label.contains("checksum=no") {
        return label.into_owned();
    }
    format!("{label}{UNCHECKED}")
}

/// What [`variant_name`] adds to a label.
const UNCHECKED: &str = " [checksum=no]";

/// The label in a name that [`variant_name`] made.
pub(crate) fn label_of_name(name: &str) -> &str {
    name.strip_suffix(UNCHECKED).unwrap_or(name)
}

/// The last part of a path that tells something.
pub(crate) fn short_name(name: &str) -> &str {
    let name = name.trim_end_matches('/');
    let parts = |parts: usize| name.rsplitn(parts + 1, '/').take(parts).map(str::len).sum::<usize>() + parts - 1;
    // A bare repository is often called `repo` or `.git`, and its folder tells more.
    let last = name.rsplit('/').next().unwrap_or(name);
    let kept = if matches!(last, "repo" | "repo.git" | ".git" | ".hg") { parts(2) } else { parts(1) };
    name.get(name.len().saturating_sub(kept)..).filter(|kept| !kept.is_empty()).unwrap_or(name)
}
