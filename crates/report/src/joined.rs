//! Several repositories as one: geometric means of ratios, which count every repository alike, beside totals, which count every byte
//! and every second alike.

use std::collections::BTreeSet;

use repackbench_records::{ComparedTime, Role, VariantComparison, WorkloadComparison};

use crate::{
    grid::{Align, Grid, Style},
    number::time_ratio,
};

/// One variant in one workload, over all repositories that both were measured on.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct JoinedRow {
    /// The workload's name, and the machine's where there are several.
    pub workload: String,
    /// The variant's label.
    pub variant: String,
    /// How many repositories.
    pub repositories: usize,
    /// The geometric mean of the time ratios.
    pub time_mean: f64,
    /// The sum of the medians over all repositories as a multiple of the baselines'.
    pub time_total: f64,
    /// The geometric mean of the size ratios.
    pub size_mean: f64,
    /// All bytes as a multiple of the baselines'.
    pub size_total: f64,
}

/// The sums that a row is made of.
#[derive(Debug, Clone, Default)]
struct Sums {
    workload: String,
    variant: String,
    fingerprints: BTreeSet<String>,
    log_time: f64,
    log_size: f64,
    seconds: f64,
    baseline_seconds: f64,
    bytes: f64,
    baseline_bytes: f64,
}

/// A job that several repositories did.
pub(crate) struct Job<'a> {
    /// The workload's name with what tells the job from others, and the machine's where there are several.
    pub(crate) name: String,
    /// One comparison for each repository.
    pub(crate) comparisons: Vec<&'a WorkloadComparison>,
}

/// The jobs that several repositories did on one machine, beside the same baseline. Workloads are joined by name: what they look for
/// and where they start differs between repositories; whether the cache is cold, how many copies run and which time is compared does
/// not. Floors are nobody's jobs, comparisons that were disturbed say nothing, and a repository that did a job in several ways or in
/// several states is left out of it, as none of them is the one.
pub(crate) fn joined_jobs(comparisons: &[WorkloadComparison]) -> Vec<Job<'_>> {
    let machines: BTreeSet<_> = comparisons.iter().map(|comparison| comparison.host.machine()).collect();
    let is_joined = |of: &&WorkloadComparison| of.is_valid && !of.workload.name.starts_with(crate::bench::FLOOR);
    let mut groups: Vec<(_, Vec<&WorkloadComparison>)> = Vec::new();
    for comparison in comparisons.iter().filter(is_joined) {
        let Some(baseline) = comparison.rows.iter().find(|row| row.variant.role == Role::Baseline) else { continue };
        let workload = &comparison.workload;
        let cache = workload.parameters.get("cache");
        let client = crate::clients::client_of(comparison);
        let caches = workload.parameters.get("caches");
        let what = (&workload.name, cache, client, caches, comparison.jobs, comparison.compared_time);
        let key = (what, baseline.variant.identity(), comparison.host.machine());
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, group)) => group.push(comparison),
            None => groups.push((key, vec![comparison])),
        }
    }
    let mut jobs: Vec<Job<'_>> = Vec::new();
    for ((_, baseline, _), group) in groups {
        let is_once =
            |of: &&WorkloadComparison| group.iter().filter(|other| is_same_repository(of, other)).count() == 1;
        let comparisons: Vec<&WorkloadComparison> = group.iter().copied().filter(is_once).collect();
        let Some(first) = comparisons.first().filter(|_| comparisons.len() > 1) else { continue };
        let mut name = first.workload.name.clone();
        if first.workload.parameters.get("cache").is_some_and(|cache| cache == "cold") {
            name.push_str(", cold");
        }
        if let Some(client) = crate::clients::client_of(first) {
            name.push_str(&format!(", stock {client}"));
        }
        if let Some(caches) = first.workload.parameters.get("caches") {
            name.push_str(&format!(", caches {caches}"));
        }
        if first.jobs > 1 {
            name.push_str(&format!(", {} at once", first.jobs));
        }
        if machines.len() > 1 {
            name.push_str(&format!(" on {}", first.host.description()));
        }
        if jobs.iter().any(|job| job.name == name) {
            let beside = baseline.spec.map_or("as found", |spec| spec.canonical);
            name.push_str(&format!(" ({}, beside {beside})", time_name(first.compared_time)).to_lowercase());
        }
        jobs.push(Job { name, comparisons });
    }
    jobs
}

/// A time in the name of a job.
fn time_name(time: ComparedTime) -> &'static str {
    match time {
        ComparedTime::User => "user time",
        ComparedTime::Wall => "wall time",
        time => time.name(),
    }
}

/// Whether both are of one repository, maybe in two states.
fn is_same_repository(one: &WorkloadComparison, other: &WorkloadComparison) -> bool {
    let (one, other) = (&one.repository, &other.repository);
    one.fingerprint == other.fingerprint || (&one.name, one.vcs) == (&other.name, other.vcs)
}

/// The comparisons of several repositories as one; nothing where there are fewer than two. A variant that has no ratio on a
/// repository is left out there. Machines are not joined.
pub fn joined(comparisons: &[WorkloadComparison]) -> Vec<JoinedRow> {
    let mut rows: Vec<Sums> = Vec::new();
    for job in joined_jobs(comparisons) {
        for comparison in &job.comparisons {
            let Some(baseline) = comparison.rows.iter().find(|row| row.variant.role == Role::Baseline) else {
                continue;
            };
            for row in comparison.rows.iter().filter(|row| row.variant.role != Role::Baseline) {
                let variant = row.variant.label();
                let is_it = |sums: &Sums| sums.workload == job.name && sums.variant == variant;
                let at = rows.iter().position(is_it).unwrap_or_else(|| {
                    rows.push(Sums { workload: job.name.clone(), variant: variant.into_owned(), ..Sums::default() });
                    rows.len() - 1
                });
                if let Some(sums) = rows.get_mut(at) {
                    sums.add(&comparison.repository.fingerprint, row, baseline);
                }
            }
        }
    }
    rows.into_iter().filter(|sums| sums.fingerprints.len() > 1).map(Sums::finish).collect()
}

impl Sums {
    /// Counts a repository in, once.
    fn add(&mut self, fingerprint: &str, row: &VariantComparison, baseline: &VariantComparison) {
        let Some(ratio) = &row.ratio else { return };
        let (bytes, baseline_bytes) = (row.size.total_bytes as f64, baseline.size.total_bytes as f64);
        if bytes == 0.0 || baseline_bytes == 0.0 {
            return;
        }
        if !self.fingerprints.insert(fingerprint.to_owned()) {
            return;
        }
        self.log_time += ratio.ratio.ln();
        self.log_size += (bytes / baseline_bytes).ln();
        self.seconds += row.compared_median.as_secs_f64();
        self.baseline_seconds += baseline.compared_median.as_secs_f64();
        self.bytes += bytes;
        self.baseline_bytes += baseline_bytes;
    }

    fn finish(self) -> JoinedRow {
        let repositories = self.fingerprints.len() as f64;
        JoinedRow {
            time_mean: (self.log_time / repositories).exp(),
            time_total: self.seconds / self.baseline_seconds,
            size_mean: (self.log_size / repositories).exp(),
            size_total: self.bytes / self.baseline_bytes,
            workload: self.workload,
            variant: self.variant,
            repositories: self.fingerprints.len(),
        }
    }
}

/// What the columns are.
pub(crate) const NOTE: &str = "Means are geometric, over repositories: each counts alike. Totals are of all repositories' times and \
                               bytes: large ones count more.";

/// The table of joined rows; empty where there are none.
pub fn joined_table(rows: &[JoinedRow], style: Style) -> String {
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "All repositories together, as multiples of the baseline: less is better\n\n{}\n{}",
        joined_grid(rows).render_in(style),
        style.paragraph(NOTE)
    )
}

/// The rows as a table.
pub(crate) fn joined_grid(rows: &[JoinedRow]) -> Grid {
    let mut grid = Grid::new(&[
        ("workload", Align::Words),
        ("variant", Align::Words),
        ("repositories", Align::Numbers),
        ("time, mean", Align::Numbers),
        ("time, total", Align::Numbers),
        ("size, mean", Align::Numbers),
        ("size, total", Align::Numbers),
    ]);
    let mut last = "";
    for row in rows {
        let workload = if row.workload == last { "" } else { &row.workload };
        last = &row.workload;
        let sizes = [row.size_mean, row.size_total].map(|ratio| format!("{ratio:.3}"));
        let [size_mean, size_total] = sizes;
        let (time_mean, time_total) = (time_ratio(row.time_mean), time_ratio(row.time_total));
        grid.row([
            workload,
            &row.variant,
            &row.repositories.to_string(),
            &time_mean,
            &time_total,
            &size_mean,
            &size_total,
        ]);
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tests::{comparison, estimate, row};

    #[test]
    fn means_count_repositories_and_totals_count_bytes() {
        let of = |name: &str, time: u64, ratio: f64, bytes: u64, baseline_bytes: u64| {
            let rows = vec![
                row(Role::Baseline, "zlib:6", 100, None, baseline_bytes),
                row(Role::Candidate, "lz4", time, Some(estimate(ratio, ratio, ratio)), bytes),
            ];
            let mut comparison = comparison("traverse", rows, None);
            comparison.repository.name = name.into();
            comparison.repository.fingerprint = name.into();
            comparison
        };
        let both = [of("a", 25, 0.25, 200, 100), of("b", 100, 1.0, 50_000, 100_000)];
        let rows = joined(&both);
        let [only] = rows.as_slice() else { panic!("{rows:?}") };
        assert_eq!((&*only.workload, &*only.variant, only.repositories), ("traverse", "lz4", 2));
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value} {expected}");
        near(only.time_mean, 0.5);
        near(only.time_total, 125.0 / 200.0);
        near(only.size_mean, 1.0);
        near(only.size_total, 50_200.0 / 100_100.0);
        assert_eq!(joined(&both[..1]), []);
        assert_eq!(joined_table(&[], Style::PLAIN), "");
        let text = joined_table(&rows, Style::PLAIN);
        let line = text.lines().find(|line| line.starts_with("traverse")).unwrap();
        assert_eq!(
            line.split_whitespace().collect::<Vec<_>>(),
            ["traverse", "lz4", "2", "0.50", "0.62", "1.000", "0.501"]
        );
    }

    #[test]
    fn only_the_same_job_beside_the_same_baseline_is_joined() {
        let of = |name: &str| {
            let rows = vec![
                row(Role::Baseline, "zlib:6", 9, None, 5),
                row(Role::Candidate, "lz4", 9, Some(estimate(0.5, 0.4, 0.6)), 5),
            ];
            let mut comparison = comparison("traverse", rows, None);
            (comparison.repository.name, comparison.repository.fingerprint) = (name.into(), name.into());
            comparison
        };
        let changed = |change: fn(&mut WorkloadComparison)| {
            let mut other = of("b");
            change(&mut other);
            joined(&[of("a"), other]).len()
        };
        assert_eq!(changed(|_| ()), 1);
        assert_eq!(changed(|other| other.jobs = 4), 0);
        assert_eq!(changed(|other| other.compared_time = ComparedTime::Wall), 0);
        assert_eq!(changed(|other| other.is_valid = false), 0);
        let mut by_other_clocks = [of("a"), of("b")];
        by_other_clocks[0].compared_time = ComparedTime::User;
        for time in [ComparedTime::CpuWithoutWriting, ComparedTime::UserOfCommand] {
            by_other_clocks[1].compared_time = time;
            assert_eq!(joined(&by_other_clocks), [], "{time:?} is not the user time of older records");
        }
        assert_eq!(changed(|other| other.rows[0].variant.spec.as_mut().unwrap().canonical = "zlib:9".into()), 0);
        assert_eq!(changed(|other| other.repository.name = "a".into()), 0, "two states of one repository");
        let mut floors = [of("a"), of("b")];
        floors.iter_mut().for_each(|floor| floor.workload.name = "floor:traverse".into());
        assert_eq!(joined(&floors), []);
        let mut twice = of("b");
        twice.workload.parameters.insert("needle".into(), "x".into());
        assert_eq!(joined(&[of("a"), of("b"), twice.clone()]), [], "which of the two?");
        assert_eq!(joined(&[of("a"), of("b"), twice, of("c")])[0].repositories, 2);
    }

    #[test]
    fn a_variant_without_a_ratio_somewhere_is_left_out_there() {
        let rows = |ratio| vec![row(Role::Baseline, "zlib:6", 9, None, 5), row(Role::Candidate, "lz4", 9, ratio, 5)];
        let of = |name: &str, ratio| {
            let mut comparison = comparison("traverse", rows(ratio), None);
            (comparison.repository.name, comparison.repository.fingerprint) = (name.into(), name.into());
            comparison
        };
        let estimate = Some(estimate(0.5, 0.4, 0.6));
        assert_eq!(joined(&[of("a", estimate), of("b", None)]), []);
        assert_eq!(joined(&[of("a", estimate), of("a", estimate)]), [], "one repository is not several");
        assert_eq!(joined(&[of("a", estimate), of("b", estimate), of("c", estimate)])[0].repositories, 3);
    }
}
