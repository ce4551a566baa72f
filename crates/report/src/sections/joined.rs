//! Several repositories as one.

use std::collections::BTreeSet;

use repackbench_analysis::{JoinedJob, JoinedVariant, joined_jobs};
use repackbench_records::{ComparedTime, WorkloadComparison};

use super::effects::compared_time;
use crate::{
    document::{Article, Block, Column, Table},
    number::{three_decimals, time_ratio},
};

/// The meaning of the columns.
const NOTE: &str = "\
Means are geometric over repositories, which count equally. Totals are over all times and bytes, so large repositories count more.";

/// The jobs that were measured on several repositories, joined; `None` if there are none.
pub fn joined(comparisons: &[WorkloadComparison]) -> Option<Article> {
    let jobs = joined_jobs(comparisons);
    let compared: Vec<&WorkloadComparison> = jobs.iter().flat_map(|job| job.comparisons.iter().copied()).collect();
    let time = compared_time(&compared);
    let mut table = Table::new([
        Column::words("workload"),
        Column::words("variant"),
        Column::numbers("repositories"),
        Column::numbers(format!("{time}, mean")),
        Column::numbers(format!("{time}, total")),
        Column::numbers("size, mean"),
        Column::numbers("size, total"),
    ])
    .captioned("All repositories together, as multiples of the baseline");
    for (job, name) in jobs.iter().zip(job_names(&jobs, comparisons)) {
        table.group(Some(name.clone()));
        for (number, row) in job.variants().iter().enumerate() {
            let name = if number > 0 { "" } else { &name };
            table.variant_row(&*row.variant, cells(name, row));
        }
    }
    (!table.is_empty()).then(|| Article {
        heading: "All repositories together, as multiples of the baseline: less is better".to_owned(),
        ..Article::of([Block::Table(table), Block::Details(vec![NOTE.to_owned()])])
    })
}

fn cells(name: &str, row: &JoinedVariant) -> [String; 7] {
    [
        name.to_owned(),
        row.variant.clone(),
        row.repositories.to_string(),
        time_ratio(row.time_mean),
        time_ratio(row.time_total),
        three_decimals(row.size_mean),
        three_decimals(row.size_total),
    ]
}

/// A unique name for each job: the workload, and what distinguishes it from other jobs of the same workload.
pub(crate) fn job_names(jobs: &[JoinedJob<'_>], comparisons: &[WorkloadComparison]) -> Vec<String> {
    let machines: BTreeSet<_> = comparisons.iter().map(|comparison| comparison.host.machine()).collect();
    let mut names: Vec<String> = Vec::new();
    for job in jobs {
        let mut name = job_name(job, machines.len() > 1);
        if names.contains(&name) {
            let time = job.comparisons.first().map_or("", |first| time_name(first.compared_time));
            let baseline = job.baseline.spec.unwrap_or("as found");
            name.push_str(&format!(" ({time}, beside {baseline})").to_lowercase());
        }
        names.push(name);
    }
    names
}

fn job_name(job: &JoinedJob<'_>, with_machine: bool) -> String {
    let Some(first) = job.comparisons.first() else { return String::new() };
    let workload = &first.workload;
    let mut name = workload.name.clone();
    if workload.is_cold() {
        name.push_str(", cold");
    }
    if let Some(client) = workload.client() {
        name.push_str(&format!(", stock {client}"));
    }
    if let Some(caches) = workload.caches() {
        name.push_str(&format!(", caches {caches}"));
    }
    if first.jobs > 1 {
        name.push_str(&format!(", {} at once", first.jobs));
    }
    if with_machine {
        name.push_str(&format!(" on {}", first.host.description()));
    }
    name
}

/// The name of a time in the name of a job.
fn time_name(time: ComparedTime) -> &'static str {
    match time {
        ComparedTime::User => "user time",
        ComparedTime::Wall => "wall time",
        time => time.name(),
    }
}

#[cfg(test)]
mod tests {
    use repackbench_records::Role;

    use super::*;
    use crate::fixtures::{comparison, estimate, plain, row};

    #[test]
    fn each_variant_has_means_and_totals() {
        let of = |name: &str, time: u64, ratio: f64, bytes: u64, baseline_bytes: u64| {
            let rows = vec![
                row(Role::Baseline, "zlib:6", 100, None, baseline_bytes),
                row(Role::Candidate, "lz4", time, Some(estimate(ratio, ratio, ratio)), bytes),
            ];
            let mut comparison = comparison("traverse", rows, None);
            (comparison.repository.name, comparison.repository.fingerprint) = (name.into(), name.into());
            comparison
        };
        let both = [of("a", 25, 0.25, 200, 100), of("b", 100, 1.0, 50_000, 100_000)];
        assert!(joined(&both[..1]).is_none());
        let text = plain(&[joined(&both).unwrap()]);
        let line = text.lines().find(|line| line.starts_with("traverse")).unwrap();
        assert_eq!(
            line.split_whitespace().collect::<Vec<_>>(),
            ["traverse", "lz4", "2", "0.50", "0.62", "1.000", "0.501"]
        );
    }
}
