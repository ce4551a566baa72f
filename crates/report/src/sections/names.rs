//! The names of variants, repositories and documents.

use repackbench_analysis::Results;
use repackbench_records::{SpecParts, Variant, WorkloadLabel};

/// The variant's label, with a mark if it is read without a checksum and the spec does not say so.
pub(crate) fn variant_name(variant: &Variant) -> String {
    let label = variant.label();
    let is_said = variant.spec.as_ref().is_some_and(|spec| SpecParts::of(&spec.typed).is_unchecked());
    if variant.checksum || is_said { label.into_owned() } else { format!("{label} [checksum=no]") }
}

/// The workload without parameters that have their default value: the newest revision, and the string that is searched.
pub(crate) fn workload_name(workload: &WorkloadLabel) -> String {
    let is_default = |name: &str, value: &str| {
        matches!((name, value), ("rev", "HEAD" | "tip") | ("string", WorkloadLabel::DEFAULT_NEEDLE))
    };
    let mut shown = workload.clone();
    shown.parameters.retain(|name, value| !is_default(name, value));
    shown.to_string()
}

/// The last meaningful part of a path.
pub(crate) fn short_name(name: &str) -> &str {
    let name = name.trim_end_matches('/');
    let parts = |parts: usize| name.rsplitn(parts + 1, '/').take(parts).map(str::len).sum::<usize>() + parts - 1;
    // A bare repository is often called `repo` or `.git`; then the folder name is kept too.
    let last = name.rsplit('/').next().unwrap_or(name);
    let kept = if matches!(last, "repo" | "repo.git" | ".git" | ".hg") { parts(2) } else { parts(1) };
    name.get(name.len().saturating_sub(kept)..).filter(|kept| !kept.is_empty()).unwrap_or(name)
}

/// The title of a document of `results`.
pub(crate) fn title(results: &Results) -> String {
    let of_runs = results.comparisons.iter().map(|comparison| comparison.repository.name.as_str());
    let of_traces = results.traces.iter().map(|trace| trace.repository.name.as_str());
    let of_explanations = results.explanations.iter().map(|explanation| explanation.repository.name.as_str());
    let of_estimates = results.estimates.iter().map(|estimate| estimate.repository.name.as_str());
    let of_sizes = results.sizes.iter().map(|line| line.size.label.as_str());
    if let Some(summary) = &results.fleet {
        return super::fleet::title(summary);
    }
    if let Some(title) = title_of_experiments(results) {
        return title;
    }
    let mut names: Vec<&str> = Vec::new();
    for name in of_runs.chain(of_traces).chain(of_explanations).chain(of_estimates).chain(of_sizes) {
        let name = short_name(name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.as_slice() {
        [] => "repackbench".to_owned(),
        [one] => format!("{one} under other codecs"),
        [first, second] => format!("{first} and {second} under other codecs"),
        more => format!("{} repositories under other codecs", more.len()),
    }
}

/// The title of a document that only has experiments.
fn title_of_experiments(results: &Results) -> Option<String> {
    let is_alone = results.comparisons.is_empty() && results.traces.is_empty() && results.explanations.is_empty();
    match results.experiments.as_slice() {
        _ if !(is_alone && results.sizes.is_empty()) => None,
        [] => None,
        [one] => Some(super::experiments::title(one)),
        more => Some(format!("{} published experiments, run again", more.len())),
    }
}
