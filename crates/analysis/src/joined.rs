//! Several repositories as one: geometric means of ratios, which weigh every repository equally, and totals, which
//! weigh every byte and second equally.

use std::collections::BTreeSet;

use repackbench_records::{ComparedTime, Machine, Role, VariantComparison, VariantIdentity, WorkloadComparison};

/// A job that was measured on several repositories on one machine with the same baseline.
#[derive(Debug, Clone)]
pub struct JoinedJob<'a> {
    /// One comparison for each repository; at least two.
    pub comparisons: Vec<&'a WorkloadComparison>,
    /// The baseline of all of them.
    pub baseline: VariantIdentity<'a>,
}

/// One variant in one job, over all repositories that have a ratio of it.
#[derive(Debug, Clone, PartialEq)]
pub struct JoinedVariant {
    /// The variant's label.
    pub variant: String,
    /// The number of repositories.
    pub repositories: usize,
    /// The geometric mean of the time ratios.
    pub time_mean: f64,
    /// The sum of the medians over all repositories as a multiple of the baselines'.
    pub time_total: f64,
    /// The geometric mean of the size ratios.
    pub size_mean: f64,
    /// The sum of all bytes as a multiple of the baselines'.
    pub size_total: f64,
}

/// The jobs that were measured on several repositories. Workloads are joined by name: parameters such as a search
/// string may differ between repositories, but a cold cache, the number of copies and the compared time may not. Floors
/// and disturbed comparisons are left out. So is a repository that was measured in several ways or states, as none of
/// them represents it.
pub fn joined_jobs(comparisons: &[WorkloadComparison]) -> Vec<JoinedJob<'_>> {
    let is_joined = |of: &&WorkloadComparison| of.is_valid && of.workload.floor_of().is_none();
    let mut groups: Vec<(JobKey<'_>, Vec<&WorkloadComparison>)> = Vec::new();
    for comparison in comparisons.iter().filter(is_joined) {
        let Some(key) = JobKey::of(comparison) else { continue };
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, group)) => group.push(comparison),
            None => groups.push((key, vec![comparison])),
        }
    }
    let mut jobs = Vec::new();
    for (key, group) in groups {
        let is_once =
            |of: &&WorkloadComparison| group.iter().filter(|other| is_same_repository(of, other)).count() == 1;
        let comparisons: Vec<&WorkloadComparison> = group.iter().copied().filter(is_once).collect();
        if comparisons.len() > 1 {
            jobs.push(JoinedJob { comparisons, baseline: key.baseline });
        }
    }
    jobs
}

/// What must be equal for two comparisons to be of one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct JobKey<'a> {
    workload: &'a str,
    is_cold: bool,
    client: Option<&'a str>,
    caches: Option<&'a str>,
    jobs: u32,
    compared_time: ComparedTime,
    baseline: VariantIdentity<'a>,
    machine: Machine<'a>,
}

impl<'a> JobKey<'a> {
    fn of(comparison: &'a WorkloadComparison) -> Option<Self> {
        let workload = &comparison.workload;
        Some(JobKey {
            workload: &workload.name,
            is_cold: workload.is_cold(),
            client: workload.client(),
            caches: workload.caches(),
            jobs: comparison.jobs,
            compared_time: comparison.compared_time,
            baseline: comparison.baseline()?.variant.identity(),
            machine: comparison.host.machine(),
        })
    }
}

/// Whether both are of one repository, possibly in two states.
fn is_same_repository(one: &WorkloadComparison, other: &WorkloadComparison) -> bool {
    let (one, other) = (&one.repository, &other.repository);
    one.fingerprint == other.fingerprint || (&one.name, one.vcs) == (&other.name, other.vcs)
}

impl JoinedJob<'_> {
    /// Each variant that has a ratio on several repositories, over those that have one.
    pub fn variants(&self) -> Vec<JoinedVariant> {
        let mut all: Vec<Sums> = Vec::new();
        for comparison in &self.comparisons {
            let Some(baseline) = comparison.baseline() else { continue };
            for row in comparison.rows.iter().filter(|row| row.variant.role != Role::Baseline) {
                let variant = row.variant.label();
                let at = all.iter().position(|sums| sums.variant == variant).unwrap_or_else(|| {
                    all.push(Sums { variant: variant.into_owned(), ..Sums::default() });
                    all.len() - 1
                });
                if let Some(sums) = all.get_mut(at) {
                    sums.add(&comparison.repository.fingerprint, row, baseline);
                }
            }
        }
        all.into_iter().filter(|sums| sums.fingerprints.len() > 1).map(Sums::finish).collect()
    }
}

/// The sums over repositories for one variant.
#[derive(Debug, Clone, Default)]
struct Sums {
    variant: String,
    fingerprints: BTreeSet<String>,
    log_time: f64,
    log_size: f64,
    seconds: f64,
    baseline_seconds: f64,
    bytes: f64,
    baseline_bytes: f64,
}

impl Sums {
    /// Adds a repository, once.
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

    fn finish(self) -> JoinedVariant {
        let repositories = self.fingerprints.len() as f64;
        JoinedVariant {
            time_mean: (self.log_time / repositories).exp(),
            time_total: self.seconds / self.baseline_seconds,
            size_mean: (self.log_size / repositories).exp(),
            size_total: self.bytes / self.baseline_bytes,
            variant: self.variant,
            repositories: self.fingerprints.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use repackbench_records::fixtures::{comparison, estimate, row};

    use super::*;

    fn joined(comparisons: &[WorkloadComparison]) -> Vec<JoinedVariant> {
        joined_jobs(comparisons).iter().flat_map(JoinedJob::variants).collect()
    }

    #[test]
    fn means_weigh_repositories_and_totals_weigh_bytes() {
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
        assert_eq!((&*only.variant, only.repositories), ("lz4", 2));
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value} {expected}");
        near(only.time_mean, 0.5);
        near(only.time_total, 125.0 / 200.0);
        near(only.size_mean, 1.0);
        near(only.size_total, 50_200.0 / 100_100.0);
        assert_eq!(joined(&both[..1]), []);
    }

    #[test]
    fn only_same_job_with_same_baseline_is_joined() {
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
    fn variant_without_ratio_is_left_out_of_repository() {
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
