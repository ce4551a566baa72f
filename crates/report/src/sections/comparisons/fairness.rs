//! The conditions of reading: what was checked, cached and switched off.

use std::collections::{BTreeMap, BTreeSet};

use repackbench_records::{Checks, ChosenDeltaCache, Variant, VariantComparison, WorkloadComparison};

use crate::{document::plain_text, number::share, sections::names::workload_name};

/// One line for all rows; none if the records are too old to know.
pub(super) fn notes(comparisons: &[&WorkloadComparison]) -> Option<String> {
    let rows = || comparisons.iter().flat_map(|comparison| &comparison.rows);
    let mut parts = Vec::new();
    let known: Vec<(&VariantComparison, Checks)> = rows().filter_map(|row| Some((row, row.checks?))).collect();
    if !known.is_empty() {
        parts.push(format!("chunk checksums {}", checked(&known, |checks| checks.chunk_checksums)));
        parts.push(format!("object hashes {}", checked(&known, |checks| checks.object_hashes)));
    }
    parts.extend(caches(comparisons));
    if !known.is_empty() {
        let state = |is_on: fn(&Checks) -> bool| on_or_off(comparisons, is_on);
        let (graph, bitmaps) = (state(|checks| checks.commit_graph), state(|checks| checks.bitmaps));
        parts.push(match graph == bitmaps {
            true => format!("commit-graph and bitmaps {graph}"),
            false => format!("commit-graph {graph}, bitmaps {bitmaps}"),
        });
    }
    (!parts.is_empty()).then(|| format!("Fairness: {}.", parts.join("; ")))
}

/// `on`, `off`, or the workloads in which it is on.
fn on_or_off(comparisons: &[&WorkloadComparison], is_on: fn(&Checks) -> bool) -> String {
    let mut rows =
        |of: &&&WorkloadComparison| of.rows.iter().any(|row| row.checks.is_some_and(|checks| is_on(&checks)));
    let on: Vec<&&WorkloadComparison> = comparisons.iter().filter(&mut rows).collect();
    match on.len() {
        0 => "off".to_owned(),
        count if count == comparisons.len() => "on".to_owned(),
        _ => {
            let names: Vec<String> = on.iter().map(|of| plain_text(&workload_name(&of.workload))).collect();
            format!("off, but on in {}", names.join(", "))
        }
    }
}

/// `checked`, `not checked`, or the rows that are not checked.
fn checked(known: &[(&VariantComparison, Checks)], is_checked: fn(&Checks) -> bool) -> String {
    // The limit of a cache does not matter here.
    let label = |row: &VariantComparison| plain_text(&Variant { delta_cache: None, ..row.variant.clone() }.label());
    let unchecked: BTreeSet<String> =
        known.iter().filter(|(_, checks)| !is_checked(checks)).map(|(row, _)| label(row)).collect();
    let all: BTreeSet<String> = known.iter().map(|(row, _)| label(row)).collect();
    match unchecked.len() {
        0 => "checked".to_owned(),
        count if count == all.len() => "not checked".to_owned(),
        _ => format!("checked, but not in {}", unchecked.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

/// The limit of the cache of delta bases and its hit rates, which do not depend on the codec.
fn caches(comparisons: &[&WorkloadComparison]) -> Vec<String> {
    let mut by_limit: BTreeMap<(bool, Option<u64>), Vec<String>> = BTreeMap::new();
    for comparison in comparisons {
        let mut seen = BTreeSet::new();
        for cache in comparison.rows.iter().filter_map(|row| row.delta_cache) {
            // "Unlimited" comes last.
            let limit = (cache.limit_bytes.is_none(), cache.limit_bytes);
            if seen.insert(limit)
                && let Some(rate) = cache.hit_rate()
            {
                let name = plain_text(&comparison.workload.name);
                by_limit.entry(limit).or_default().push(format!("{name} {}", share(rate)));
            }
        }
    }
    let line = |((_, limit_bytes), rates): ((bool, Option<u64>), Vec<String>)| {
        format!("delta-base cache {}, hits: {}", ChosenDeltaCache { limit_bytes }, rates.join(", "))
    };
    by_limit.into_iter().map(line).collect()
}
