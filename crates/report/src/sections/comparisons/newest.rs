//! Workloads that read only the newest commits.

use repackbench_records::WorkloadComparison;

use crate::document::plain_text;

/// Says how many of the stored commits each workload reads, where it was limited to the newest ones. The others with a
/// number of commits, such as fetches, are about new commits by their nature.
pub(super) fn note(comparisons: &[&WorkloadComparison]) -> Option<String> {
    let reads_history = |name: &str| {
        let name = name.strip_prefix("floor:").unwrap_or(name);
        name == "traverse" || name.starts_with("diff:")
    };
    let mut parts: Vec<String> = Vec::new();
    for comparison in comparisons.iter().filter(|comparison| reads_history(&comparison.workload.name)) {
        let stored = comparison.rows.first().map(|row| row.size.objects.commits()).filter(|stored| *stored > 0);
        let (Some(commits), Some(stored)) = (comparison.workload.newest_commits(), stored) else { continue };
        let part = format!("{} the newest {} of {stored}", plain_text(&comparison.workload.name), commits.min(stored));
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    (!parts.is_empty()).then(|| format!("Not all of history was read. Commits: {}.", parts.join(", ")))
}
