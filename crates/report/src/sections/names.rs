//! The names of variants and repositories.

use repackbench_records::{SpecParts, Variant};

/// The variant's label; a variant that is read without a checksum says so, whatever its spec's spelling.
pub(crate) fn variant_name(variant: &Variant) -> String {
    let label = variant.label();
    let is_said = variant.spec.as_ref().is_some_and(|spec| SpecParts::of(&spec.typed).is_unchecked());
    if variant.checksum || is_said { label.into_owned() } else { format!("{label} [checksum=no]") }
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
