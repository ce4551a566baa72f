//! The table of a benchmark: each workload, each variant, time and size against the baseline.

mod codec_share;
mod fairness;
mod modelled;
pub(crate) mod verdict;

use std::time::Duration;

use repackbench_records::{
    ComparedTime, ModelledDevice, RatioEstimate, RepositoryState, Role, VariantComparison, WorkloadComparison,
};

use crate::{
    grid::{Align, Grid, Style, plain_text},
    number::{TimeScale, megabytes, ratio_cell, size_ratio},
};

/// The counter of [`VariantComparison::counts`] that counts objects a workload needed and the repository lacks.
const MISSING: &str = "missing";

/// The comparisons as one table for each repository, with notes under it. Comparisons of a repository stand together
/// in the order in which they were given; rows of a workload keep their order too.
pub fn bench_table(comparisons: &[WorkloadComparison], style: Style) -> String {
    let repositories = by_repository(comparisons).into_iter();
    let tables = repositories.map(|(repository, comparisons)| repository_table(repository, &comparisons, style));
    tables.collect::<Vec<_>>().join("\n")
}

/// Each repository with its comparisons, in the order in which they were given.
pub(crate) fn by_repository(comparisons: &[WorkloadComparison]) -> Vec<(&RepositoryState, Vec<&WorkloadComparison>)> {
    let mut repositories: Vec<(&RepositoryState, Vec<&WorkloadComparison>)> = Vec::new();
    for comparison in comparisons {
        match repositories.iter_mut().find(|(repository, _)| **repository == comparison.repository) {
            Some((_, comparisons)) => comparisons.push(comparison),
            None => repositories.push((&comparison.repository, vec![comparison])),
        }
    }
    repositories
}

fn repository_table(repository: &RepositoryState, comparisons: &[&WorkloadComparison], style: Style) -> String {
    let mut text = format!("{}\n\n{}\n", heading(repository), repository_grid(comparisons).render_in(style));
    notes(comparisons).iter().for_each(|note| text.push_str(&style.paragraph(note)));
    text
}

/// The table of one repository. An empty row stands between workloads.
pub(crate) fn repository_grid(comparisons: &[&WorkloadComparison]) -> Grid {
    let columns = Columns::of(comparisons);
    let headers = columns.headers();
    let headers: Vec<(&str, Align)> = headers.iter().map(|(name, align)| (name.as_str(), *align)).collect();
    let mut grid = Grid::new(&headers);
    for (number, comparison) in comparisons.iter().enumerate() {
        if number > 0 {
            grid.row(columns.cells(|_| String::new()));
        }
        workload_rows(&mut grid, &columns, comparison);
    }
    grid
}

/// What a column shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Workload,
    Variant,
    Compared,
    Wall,
    Throughput,
    Ratio,
    Verdict,
    Size,
    SizeRatio,
    /// The modelled time on one of [`Columns::devices`].
    Modelled(usize),
}

/// The columns of a table.
struct Columns {
    columns: Vec<Column>,
    devices: Vec<ModelledDevice>,
    /// Whether CPU time is compared everywhere.
    is_cpu: bool,
}

impl Columns {
    /// How many runs there are in a second is shown where several run at once.
    fn of(comparisons: &[&WorkloadComparison]) -> Self {
        use Column::{Compared, Ratio, Size, SizeRatio, Throughput, Variant, Verdict, Wall, Workload};
        let mut columns = vec![Workload, Variant, Compared, Wall];
        columns.extend(comparisons.iter().any(|comparison| comparison.jobs > 1).then_some(Throughput));
        columns.extend([Ratio, Verdict, Size, SizeRatio]);
        let devices = modelled::devices(comparisons);
        columns.extend((0..devices.len()).map(Column::Modelled));
        let is_cpu = comparisons.iter().all(|comparison| comparison.compared_time != ComparedTime::Wall);
        Columns { columns, devices, is_cpu }
    }

    fn headers(&self) -> Vec<(String, Align)> {
        let header = |column: &Column| {
            let (name, align) = match column {
                Column::Workload => ("workload", Align::Words),
                Column::Variant => ("variant", Align::Words),
                Column::Compared => (if self.is_cpu { "CPU" } else { "time" }, Align::Numbers),
                Column::Wall => ("wall", Align::Numbers),
                Column::Throughput => ("runs/s", Align::Numbers),
                Column::Ratio => (if self.is_cpu { "CPU ratio" } else { "time ratio" }, Align::Words),
                Column::Verdict => ("verdict", Align::Words),
                Column::Size => ("size MB", Align::Numbers),
                Column::SizeRatio => ("size ratio", Align::Numbers),
                Column::Modelled(number) => {
                    return (self.devices.get(*number).map(modelled::header).unwrap_or_default(), Align::Words);
                }
            };
            (name.to_owned(), align)
        };
        self.columns.iter().map(header).collect()
    }

    fn cells(&self, cell: impl Fn(Column) -> String) -> Vec<String> {
        self.columns.iter().map(|column| cell(*column)).collect()
    }
}

/// A repository's name and the revision that was measured.
pub(crate) fn heading(repository: &RepositoryState) -> String {
    let name = plain_text(&repository.name);
    match &repository.head {
        // Twelve digits tell apart the commits of the largest repositories there are.
        Some(id) => format!("{name} (revision {})", plain_text(&id.chars().take(12).collect::<String>())),
        None => name,
    }
}

fn workload_rows(grid: &mut Grid, columns: &Columns, comparison: &WorkloadComparison) {
    let medians = comparison.rows.iter().flat_map(|row| [row.compared_median, row.wall_median]);
    let smallest = medians.filter(|time| !time.is_zero()).min().unwrap_or(Duration::ZERO);
    let scale = TimeScale::for_smallest(smallest);
    let baseline_size = comparison.rows.iter().find(|row| row.variant.role == Role::Baseline).map(|row| &row.size);
    for (number, row) in comparison.rows.iter().enumerate() {
        grid.row(columns.cells(|column| match column {
            // The name stands on a workload's first row only.
            Column::Workload if number > 0 => String::new(),
            Column::Workload => comparison.workload.to_string(),
            Column::Variant => variant_name(row),
            Column::Compared => scale.show(row.compared_median),
            Column::Wall => scale.show(row.wall_median),
            Column::Throughput => throughput(comparison.jobs, row.wall_median),
            Column::Ratio => ratio_of(row),
            Column::Verdict => verdict::cell(comparison, row),
            Column::Size => megabytes(row.size.total_bytes),
            Column::SizeRatio => {
                baseline_size.map_or_else(|| "-".to_owned(), |of| size_ratio(row.size.total_bytes, of.total_bytes))
            }
            Column::Modelled(number) => {
                columns.devices.get(number).map_or_else(String::new, |device| modelled::cell(comparison, row, device))
            }
        }));
    }
    if let Some(noise) = &comparison.noise {
        grid.row(columns.cells(|column| match column {
            Column::Variant => "noise (A / A')".to_owned(),
            Column::Ratio => ratio_cell(noise),
            Column::Verdict => verdict::noise_cell(comparison),
            _ => String::new(),
        }));
    }
}

/// How many copies of a job are done in a second; three significant digits.
fn throughput(jobs: u32, wall: Duration) -> String {
    if wall.is_zero() {
        return "-".to_owned();
    }
    let runs = f64::from(jobs) / wall.as_secs_f64();
    match runs {
        99.95.. => format!("{runs:.0}"),
        9.995.. => format!("{runs:.1}"),
        _ => format!("{runs:.2}"),
    }
}

fn ratio_of(row: &VariantComparison) -> String {
    match (&row.ratio, row.variant.role) {
        (Some(ratio), _) => ratio_cell(ratio),
        (None, Role::Baseline | Role::BaselineAgain) => "baseline".to_owned(),
        (None, Role::AsFound | Role::Candidate) => "-".to_owned(),
    }
}

/// The variant's label; one that does less checking than the baseline says so, whatever its spec's spelling.
pub(crate) fn variant_name(row: &VariantComparison) -> String {
    let label = row.variant.label();
    if row.variant.checksum || label.contains("checksum=no") {
        return label.into_owned();
    }
    format!("{label} [checksum=no]")
}

/// What a reader must know beside the numbers.
pub(crate) fn notes(comparisons: &[&WorkloadComparison]) -> Vec<String> {
    let mut notes = vec![
        compared_time_note(comparisons),
        "Times are medians. Ratios are to the geometric mean of the baseline's runs A and A' in the same block: median \
         [95 % interval]."
            .to_owned(),
    ];
    notes.extend(verdict::notes(comparisons));
    notes.extend(fairness::notes(comparisons));
    notes.extend(codec_share::notes(comparisons));
    notes.extend(modelled::notes(comparisons));
    notes.extend(cold_note(comparisons));
    notes.extend(interval_note(comparisons));
    notes.extend(no_ratio_note(comparisons));
    for comparison in comparisons {
        notes.extend(missing_note(comparison));
    }
    if comparisons.iter().flat_map(|comparison| &comparison.rows).any(|row| !row.variant.checksum) {
        notes.push(
            "checksum=no: nothing checks what is read, so the baseline does more work; an experiment.".to_owned(),
        );
    }
    notes
}

/// What "CPU" or "time" means in this table.
fn compared_time_note(comparisons: &[&WorkloadComparison]) -> String {
    let (elapsed, cpu): (Vec<&WorkloadComparison>, Vec<&WorkloadComparison>) =
        comparisons.iter().copied().partition(|comparison| comparison.compared_time == ComparedTime::Wall);
    if elapsed.is_empty() {
        return cpu_note(&cpu);
    }
    if cpu.is_empty() {
        return "The time compared is elapsed time.".to_owned();
    }
    let names: Vec<String> = elapsed.iter().map(|comparison| plain_text(&comparison.workload.to_string())).collect();
    format!("The time compared is elapsed time for {}, else CPU time. {}", names.join(", "), cpu_note(&cpu))
}

/// What "CPU" means.
fn cpu_note(comparisons: &[&WorkloadComparison]) -> String {
    let (writing, reading): (Vec<&WorkloadComparison>, Vec<&WorkloadComparison>) =
        comparisons.iter().copied().partition(|comparison| comparison.compared_time == ComparedTime::User);
    if writing.is_empty() {
        return "CPU is user plus system time.".to_owned();
    }
    let reason = "(files are written: system time varies)";
    if reading.is_empty() {
        return format!("CPU is user time only {reason}.");
    }
    let names: Vec<String> = writing.iter().map(|comparison| plain_text(&comparison.workload.to_string())).collect();
    format!("CPU is user plus system time; user time only for {} {reason}.", names.join(", "))
}

/// What "cold" means.
fn cold_note(comparisons: &[&WorkloadComparison]) -> Option<String> {
    let is_cold =
        |comparison: &&WorkloadComparison| comparison.workload.parameters.get("cache").is_some_and(|it| it == "cold");
    comparisons.iter().any(is_cold).then(|| {
        "cache=cold: each run reads one of several copies, opening included, of which mincore found no page in memory just \
         before; what a hypervisor or the device itself still holds cannot be seen."
            .to_owned()
    })
}

fn interval_note(comparisons: &[&WorkloadComparison]) -> Option<String> {
    let estimates = comparisons.iter().flat_map(|comparison| {
        let ratios = comparison.rows.iter().filter_map(|row| row.ratio.as_ref());
        ratios.chain(comparison.noise.as_ref())
    });
    let without_interval: Vec<&RatioEstimate> = estimates.filter(|estimate| estimate.interval.is_none()).collect();
    let fewest = without_interval.iter().map(|estimate| estimate.pairs).min()?;
    let blocks = if fewest == 1 { "block" } else { "blocks" };
    Some(format!("A ratio without interval rests on too few blocks ({fewest} {blocks}; 6 are needed for 95 %)."))
}

fn no_ratio_note(comparisons: &[&WorkloadComparison]) -> Option<String> {
    let mut rows = comparisons.iter().flat_map(|comparison| &comparison.rows);
    rows.any(|row| row.ratio.is_none() && row.variant.role != Role::Baseline).then(|| {
        "A dash for a ratio: no block holds the variant and both of the baseline's runs, each long enough for the clock."
            .to_owned()
    })
}

fn missing_note(comparison: &WorkloadComparison) -> Option<String> {
    let counts = comparison.rows.iter().filter_map(|row| row.counts.get(MISSING));
    let missing = counts.max().copied().filter(|&count| count > 0)?;
    let objects = if missing == 1 { "object was" } else { "objects were" };
    Some(format!("{}: {missing} missing {objects} skipped.", plain_text(&comparison.workload.to_string())))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use repackbench_records::{
        Checks, ChosenDeltaCache, DeltaCacheUse, DeltaOrigin, DisturbanceShares, RatioInterval, SizeRecord, SpecText,
        Variant, Verdict, WorkloadLabel,
    };

    use super::*;

    fn bench_table(comparisons: &[WorkloadComparison]) -> String {
        super::bench_table(comparisons, Style::PLAIN)
    }

    pub(crate) fn estimate(ratio: f64, low: f64, high: f64) -> RatioEstimate {
        RatioEstimate { ratio, interval: Some(RatioInterval { low, high, coverage: 0.978 }), pairs: 10 }
    }

    pub(crate) fn row(
        role: Role,
        spec: &str,
        millis: u64,
        ratio: Option<RatioEstimate>,
        bytes: u64,
    ) -> VariantComparison {
        let spec = SpecText { typed: spec.into(), canonical: spec.into() };
        VariantComparison {
            variant: Variant {
                role,
                row: 0,
                spec: (role != Role::AsFound).then_some(spec),
                checksum: true,
                deltas: DeltaOrigin::Kept,
                decoder: None,
                delta_cache: None,
            },
            runs: 10,
            compared_median: Duration::from_millis(millis),
            wall_median: Duration::from_millis(millis + 17),
            ratio,
            adjusted_p: ratio.map(|_| 0.01),
            verdict: ratio.and_then(|ratio| ratio.interval).map(|interval| match (interval.low, interval.high) {
                (_, ..0.99) => Verdict::Faster,
                (1.01.., _) => Verdict::Slower,
                (0.99.., ..=1.01) => Verdict::Same,
                _ => Verdict::Inconclusive,
            }),
            delta_cache: Some(DeltaCacheUse { limit_bytes: Some(96 << 20), hits: 71, misses: 29 }),
            checks: Some(Checks { chunk_checksums: true, object_hashes: false, commit_graph: false, bitmaps: false }),
            peak_resident_median: None,
            counts: BTreeMap::from([("objects".into(), 3), ("missing".into(), 0)]),
            size: SizeRecord { total_bytes: bytes, ..SizeRecord::default() },
            reads: None,
        }
    }

    pub(crate) fn comparison(
        workload: &str,
        rows: Vec<VariantComparison>,
        noise: Option<RatioEstimate>,
    ) -> WorkloadComparison {
        WorkloadComparison {
            repository: RepositoryState {
                name: "sample".into(),
                fingerprint: "f".into(),
                head: Some("0123456789abcdef0123".into()),
                ..RepositoryState::default()
            },
            workload: WorkloadLabel { name: workload.into(), parameters: BTreeMap::new() },
            compared_time: ComparedTime::Cpu,
            rows,
            noise,
            noise_floor: noise.map(|_| 0.01),
            is_valid: true,
            cells: 3,
            blocks_for_verdicts: 7,
            jobs: 1,
            disturbance: DisturbanceShares::default(),
        }
    }

    #[test]
    fn the_table_shows_every_variant_of_every_workload_beside_the_baseline() {
        let traverse = comparison(
            "traverse",
            vec![
                row(Role::AsFound, "", 1190, Some(estimate(1.004, 0.99, 1.02)), 110_400_000),
                row(Role::Baseline, "zlib:6", 1182, None, 110_500_000),
                row(Role::Candidate, "zstd:5", 851, Some(estimate(0.72, 0.702, 0.741)), 92_900_000),
            ],
            Some(estimate(1.001, 0.993, 1.008)),
        );
        let diff = comparison(
            "diff:raw",
            vec![
                row(Role::Baseline, "zlib:6", 85, None, 110_500_000),
                row(Role::Candidate, "zstd:5", 70, Some(estimate(0.82, 0.8, 0.85)), 92_900_000),
            ],
            None,
        );
        let expected = "\
sample (revision 0123456789ab)

workload  variant             CPU      wall  CPU ratio          verdict                      size MB  size ratio
------------------------------------------------------------------------------------------------------------------
traverse  as found        1190 ms   1207 ms  1.00 [0.99, 1.02]  inconclusive (-1.0..+2.0 %)      110       0.999
          zlib:6          1182 ms   1199 ms  baseline                                            111       1.000
          zstd:5           851 ms    868 ms  0.72 [0.70, 0.74]  faster                          92.9       0.841
          noise (A / A')                     1.00 [0.99, 1.01]  floor ±1.0 %

diff:raw  zlib:6          85.0 ms  102.0 ms  baseline                                            111       1.000
          zstd:5          70.0 ms   87.0 ms  0.82 [0.80, 0.85]  faster                          92.9       0.841

CPU is user plus system time.
Times are medians. Ratios are to the geometric mean of the baseline's runs A and A' in the same block: median [95 % interval].
Verdicts: a difference lies beyond the noise floor (the interval of A / A', 1 % at least); error rate 5 % over all 3 ratios (Holm).
Fairness: chunk checksums checked; object hashes not checked; delta-base cache 96M, hits: traverse 71 %, diff:raw 71 %; commit-graph and bitmaps off.
";
        let text = bench_table(&[traverse, diff]);
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn what_limits_a_comparison_is_said_under_the_table() {
        let mut unchecked = row(Role::Candidate, "lz4", 10, None, 5);
        unchecked.variant.checksum = false;
        unchecked.ratio = Some(RatioEstimate { ratio: 0.5, interval: None, pairs: 3 });
        unchecked.counts.insert(MISSING.into(), 25);
        let text = bench_table(&[comparison("checkout", vec![unchecked], None)]);
        assert!(text.contains("lz4 [checksum=no]"), "{text}");
        assert!(text.contains("\nchecksum=no: nothing checks"), "{text}");
        assert!(text.contains("checkout: 25 missing objects were skipped."), "{text}");
        assert!(text.contains("(3 blocks; 6 are needed for 95 %)"), "{text}");
        assert!(!text.contains("A dash for a ratio"), "{text}");
    }

    #[test]
    fn a_ratio_that_cannot_be_had_is_a_dash_and_explained() {
        let text = bench_table(&[comparison("checkout", vec![row(Role::Candidate, "lz4", 10, None, 5)], None)]);
        let candidate = text.lines().find(|line| line.starts_with("checkout")).unwrap();
        assert_eq!(candidate.split_whitespace().nth(6), Some("-"), "{text}");
        assert!(text.contains("\nA dash for a ratio"), "{text}");
    }

    #[test]
    fn a_floor_beside_its_workload_says_what_share_is_the_codec_s() {
        let rows = |baseline, candidate| {
            vec![
                row(Role::Baseline, "zlib:6", baseline, None, 5),
                row(Role::Candidate, "lz4", candidate, Some(estimate(0.5, 0.4, 0.6)), 5),
            ]
        };
        let whole = comparison("traverse", rows(200, 100), None);
        let floor = comparison("floor:traverse", rows(90, 7), None);
        let text = bench_table(&[whole, floor.clone()]);
        assert!(text.contains("Codec's share of traverse, at least: zlib:6 45 %, lz4 7.0 %."), "{text}");
        let other = comparison("diff:raw", rows(200, 100), None);
        assert!(!bench_table(&[other, floor]).contains("Codec's share"));
    }

    #[test]
    fn cold_runs_are_explained() {
        let rows = vec![row(Role::Candidate, "lz4", 10, Some(estimate(0.5, 0.4, 0.6)), 5)];
        let mut cold = comparison("traverse", rows, Some(estimate(1.0, 0.99, 1.01)));
        assert!(!bench_table(&[cold.clone()]).contains("mincore"));
        cold.workload.parameters.insert("cache".into(), "cold".into());
        assert!(bench_table(&[cold]).contains("mincore"));
    }

    #[test]
    fn a_complete_comparison_has_the_notes_that_explain_its_columns_and_no_others() {
        let rows = vec![row(Role::Candidate, "lz4", 10, Some(estimate(0.5, 0.4, 0.6)), 5)];
        let text = bench_table(&[comparison("checkout", rows, Some(estimate(1.0, 0.99, 1.01)))]);
        let (_, notes) = text.rsplit_once("\n\n").unwrap();
        assert_eq!(notes.lines().count(), 4, "{text}");
    }

    #[test]
    fn several_copies_at_once_show_how_many_there_are_in_a_second() {
        let rows = vec![
            row(Role::Baseline, "zlib:6", 983, None, 5),
            row(Role::Candidate, "lz4", 483, Some(estimate(0.5, 0.4, 0.6)), 5),
        ];
        let mut copies = comparison("traverse", rows, None);
        (copies.jobs, copies.compared_time) = (4, ComparedTime::Wall);
        let text = bench_table(&[copies.clone()]);
        assert!(text.contains("  runs/s  time ratio"), "{text}");
        assert!(text.contains("  4.00  baseline") && text.contains("  8.00  0.50 [0.40, 0.60]"), "{text}");
        assert!(text.contains("\nThe time compared is elapsed time.\n"), "{text}");
        let alone = comparison("checkout", vec![row(Role::Baseline, "zlib:6", 1, None, 1)], None);
        let both = bench_table(&[copies, alone]);
        assert!(both.contains("elapsed time for traverse, else CPU time. CPU is user plus system time."), "{both}");
    }

    #[test]
    fn the_notes_say_which_time_is_compared() {
        let of = |workload: &str, compared_time| {
            let rows = vec![row(Role::Baseline, "zlib:6", 1, None, 1)];
            WorkloadComparison { compared_time, ..comparison(workload, rows, None) }
        };
        let (checkout, traverse) = (of("checkout", ComparedTime::User), of("traverse", ComparedTime::Cpu));
        let both = bench_table(&[checkout.clone(), traverse]);
        assert!(both.contains("\nCPU is user plus system time; user time only for checkout (files"), "{both}");
        let alone = bench_table(&[checkout]);
        assert!(alone.contains("\nCPU is user time only (files"), "{alone}");
    }

    #[test]
    fn a_session_without_verdicts_says_why() {
        let rows = || {
            vec![
                row(Role::Baseline, "zlib:6", 9, None, 5),
                row(Role::Candidate, "lz4", 9, Some(estimate(0.5, 0.4, 0.6)), 5),
            ]
        };
        let mut noisy = comparison("traverse", rows(), Some(estimate(1.1, 1.05, 1.2)));
        (noisy.is_valid, noisy.noise_floor) = (false, Some(0.2));
        noisy.rows[1].verdict = None;
        noisy.disturbance = DisturbanceShares { steal: Some(0.031), cpu_pressure: Some(0.25), ..noisy.disturbance };
        let text = bench_table(&[noisy]);
        assert!(text.contains("none: too noisy") && text.contains("1.10 [1.05, 1.20]  invalid"), "{text}");
        assert!(text.contains("\ntraverse: the same files read twice differ"), "{text}");
        assert!(text.contains("took processors away for 3.1 %, some task waited for a processor for 25 %."), "{text}");
        assert!(!text.contains("Verdicts:"), "{text}");

        let mut short = comparison("traverse", rows(), Some(estimate(1.0, 0.99, 1.01)));
        (short.cells, short.blocks_for_verdicts) = (30, 11);
        let text = bench_table(&[short]);
        assert!(text.contains("none can be called faster or slower before 11 blocks; there are 10."), "{text}");
    }

    #[test]
    fn rows_that_were_read_under_other_conditions_are_named() {
        let mut unchecked = row(Role::Candidate, "lz4", 9, None, 5);
        unchecked.checks = unchecked.checks.map(|checks| Checks { chunk_checksums: false, ..checks });
        unchecked.delta_cache = Some(DeltaCacheUse { limit_bytes: None, hits: 9, misses: 1 });
        let mut again = unchecked.clone();
        again.variant.delta_cache = Some(ChosenDeltaCache { limit_bytes: None });
        let rows = vec![row(Role::Baseline, "zlib:6", 9, None, 5), unchecked, again];
        let text = bench_table(&[comparison("traverse", rows, None)]);
        assert!(text.contains("chunk checksums checked, but not in lz4;"), "{text}");
        assert!(
            text.contains("cache 96M, hits: traverse 71 %; delta-base cache unlimited, hits: traverse 90 %;"),
            "{text}"
        );
        let mut old = row(Role::Baseline, "zlib:6", 9, None, 5);
        (old.checks, old.delta_cache) = (None, None);
        assert!(!bench_table(&[comparison("traverse", vec![old], None)]).contains("Fairness"));
    }

    #[test]
    fn repositories_have_tables_of_their_own() {
        let first = comparison("traverse", vec![row(Role::Baseline, "zlib:6", 1, None, 1)], None);
        let mut second = first.clone();
        second.repository.name = "other\u{1b}".into();
        second.repository.head = None;
        let third = WorkloadComparison {
            workload: WorkloadLabel { name: "checkout".into(), ..first.workload.clone() },
            ..first.clone()
        };
        let text = bench_table(&[first, second, third]);
        assert_eq!(text.matches("sample (revision 0123456789ab)").count(), 1, "{text}");
        assert!(text.contains("other\\u{1b}\n\n"), "{text}");
        assert!(text.find("checkout").unwrap() < text.find("other").unwrap(), "{text}");
        assert_eq!(bench_table(&[]), "");
    }
}
