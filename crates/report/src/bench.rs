//! The table of a benchmark: each workload, each variant, time and size against the baseline.

mod codec_share;
mod fairness;
mod verdict;

use std::{collections::BTreeSet, time::Duration};

use repackbench_records::{
    ComparedTime, Host, RatioEstimate, RepositoryState, Role, VariantComparison, WorkloadComparison,
};

use crate::{
    grid::{Align, Grid, plain_text},
    number::{TimeScale, megabytes, ratio_cell, size_ratio},
};

/// The counter of [`VariantComparison::counts`] that counts objects a workload needed and the repository lacks.
const MISSING: &str = "missing";

/// The comparisons as one table for each repository, with notes under it. Comparisons of a repository stand together
/// in the order in which they were given; rows of a workload keep their order too.
pub fn bench_table(comparisons: &[WorkloadComparison]) -> String {
    let places = places(comparisons.iter().map(|comparison| (&comparison.repository, &comparison.host)));
    let machines: BTreeSet<_> = places.iter().map(|(_, host)| host.machine()).collect();
    let tables: Vec<String> = places
        .into_iter()
        .map(|(repository, host)| {
            let is_here = |comparison: &&WorkloadComparison| {
                comparison.repository == *repository && comparison.host.machine() == host.machine()
            };
            let of_repository = comparisons.iter().filter(is_here);
            let host = (machines.len() > 1).then_some(host);
            repository_table(repository, host, &of_repository.collect::<Vec<_>>())
        })
        .collect();
    tables.join("\n")
}

/// Each repository on each machine, once, in the order in which they come.
pub(crate) fn places<'a>(
    all: impl Iterator<Item = (&'a RepositoryState, &'a Host)>,
) -> Vec<(&'a RepositoryState, &'a Host)> {
    let mut places: Vec<(&RepositoryState, &Host)> = Vec::new();
    for (repository, host) in all {
        let is_it =
            |(other, machine): &(&RepositoryState, &Host)| *other == repository && machine.machine() == host.machine();
        if !places.iter().any(is_it) {
            places.push((repository, host));
        }
    }
    places
}

fn repository_table(repository: &RepositoryState, host: Option<&Host>, comparisons: &[&WorkloadComparison]) -> String {
    let columns = Columns::of(comparisons);
    let mut grid = Grid::new(&columns.headers());
    for (number, comparison) in comparisons.iter().enumerate() {
        if number > 0 {
            grid.row(columns.cells(|_| String::new()));
        }
        workload_rows(&mut grid, &columns, comparison);
    }
    let mut text = heading(repository, host);
    text.push_str(&grid.render());
    text.push('\n');
    for note in notes(comparisons) {
        text.push_str(&note);
        text.push('\n');
    }
    text
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
}

/// The columns of a table.
struct Columns {
    columns: Vec<Column>,
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
        let is_cpu = comparisons.iter().all(|comparison| comparison.compared_time != ComparedTime::Wall);
        Columns { columns, is_cpu }
    }

    fn headers(&self) -> Vec<(&'static str, Align)> {
        let header = |column: &Column| match column {
            Column::Workload => ("workload", Align::Words),
            Column::Variant => ("variant", Align::Words),
            Column::Compared => (if self.is_cpu { "CPU" } else { "time" }, Align::Numbers),
            Column::Wall => ("wall", Align::Numbers),
            Column::Throughput => ("runs/s", Align::Numbers),
            Column::Ratio => (if self.is_cpu { "CPU ratio" } else { "time ratio" }, Align::Words),
            Column::Verdict => ("verdict", Align::Words),
            Column::Size => ("size MB", Align::Numbers),
            Column::SizeRatio => ("size ratio", Align::Numbers),
        };
        self.columns.iter().map(header).collect()
    }

    fn cells(&self, cell: impl Fn(Column) -> String) -> Vec<String> {
        self.columns.iter().map(|column| cell(*column)).collect()
    }
}

/// The machine is named where there are several.
fn heading(repository: &RepositoryState, host: Option<&Host>) -> String {
    let name = plain_text(&repository.name);
    let revision = match &repository.head {
        // Twelve digits tell apart the commits of the largest repositories there are.
        Some(id) => format!(" (revision {})", plain_text(&id.chars().take(12).collect::<String>())),
        None => String::new(),
    };
    let host = host.map(|host| format!("\non {}", plain_text(&host.description()))).unwrap_or_default();
    format!("{name}{revision}{host}\n\n")
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
fn variant_name(row: &VariantComparison) -> String {
    let label = row.variant.label();
    if row.variant.checksum || label.contains("checksum=no") {
        return label.into_owned();
    }
    format!("{label} [checksum=no]")
}

/// What a reader must know beside the numbers.
fn notes(comparisons: &[&WorkloadComparison]) -> Vec<String> {
    let mut notes = vec![
        compared_time_note(comparisons),
        "Times are medians. Ratios are to the geometric mean of the baseline's runs A and A' in the same block: median \
         [95 % interval]."
            .to_owned(),
    ];
    notes.extend(verdict::notes(comparisons));
    notes.extend(fairness::notes(comparisons));
    notes.extend(codec_share::notes(comparisons));
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
        "cache=cold: each run reads one of several copies, opening included, of which mincore found no page in memory just\n\
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
mod tests;
