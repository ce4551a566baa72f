//! The table of a benchmark: time and size of each variant in each workload, compared with the baseline.

mod codec_share;
mod fairness;
mod modelled;
mod newest;
mod requests;
pub(crate) mod verdict;

use std::time::Duration;

use repackbench_analysis::{ResultSource, blocks_for_verdicts, by_source};
use repackbench_records::{ComparedTime, ModelledDevice, RatioEstimate, Role, VariantComparison, WorkloadComparison};

use super::{
    names::{variant_name, workload_name},
    published, source,
};
use crate::{
    document::{Article, Block, Cell, Column, Table, plain_text},
    number::{TimeScale, counted, megabytes, or_dash, rate, ratio_cell, size_ratio},
};

/// The key in [`VariantComparison::counts`] for objects that a workload needed and the repository lacks.
const MISSING: &str = "missing";

/// For each repository, machine and client, a table of every variant in every workload, with notes. Comparisons and
/// rows keep their order.
pub fn comparisons(comparisons: &[WorkloadComparison]) -> Vec<Article> {
    by_source(comparisons).iter().map(|(of, comparisons)| article(of, comparisons)).collect()
}

fn article(of: &ResultSource<'_>, comparisons: &[&WorkloadComparison]) -> Article {
    let title = source::name(of);
    let of_workload = |comparison: &&WorkloadComparison| {
        table_of(&[comparison], &Columns::narrow(comparison)).captioned(workload_name(&comparison.workload))
    };
    let mut table = table_of(comparisons, &Columns::of(comparisons));
    table.caption = format!("Every variant of {title} in every workload");
    table.narrow = comparisons.iter().map(of_workload).collect();
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(requests::blocks(comparisons));
    blocks.extend([Block::Notes(warnings(comparisons)), Block::Details(notes(comparisons))]);
    Article {
        repository: Some(of.repository.name.clone()),
        workload: None,
        title,
        heading: source::heading(of),
        blocks,
        ..Article::default()
    }
}

fn table_of(comparisons: &[&WorkloadComparison], columns: &Columns) -> Table {
    let mut table = Table::new(columns.headers()).spaced();
    for comparison in comparisons {
        table.group(Some(comparison.workload.to_string()));
        workload_rows(&mut table, columns, comparison);
    }
    table
}

/// The content of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnKind {
    Workload,
    Variant,
    Compared,
    Wall,
    Throughput,
    Ratio,
    Verdict,
    /// The verdict without its figures.
    VerdictWord,
    Size,
    SizeRatio,
    /// The modelled time on one of [`Columns::devices`].
    Modelled(usize),
}

/// The columns of a table.
struct Columns {
    columns: Vec<ColumnKind>,
    devices: Vec<ModelledDevice>,
    /// The compared time: `CPU`, `elapsed`, or `time` if it is not the same in all workloads.
    compared: &'static str,
}

impl Columns {
    /// All columns. The number of runs per second is shown if several run at once.
    fn of(comparisons: &[&WorkloadComparison]) -> Self {
        use ColumnKind::{Compared, Ratio, Size, SizeRatio, Throughput, Variant, Verdict, Wall, Workload};
        let mut columns = vec![Workload, Variant, Compared];
        columns.extend(comparisons.iter().any(|of| of.compared_time != ComparedTime::Wall).then_some(Wall));
        columns.extend(comparisons.iter().any(|comparison| comparison.jobs > 1).then_some(Throughput));
        columns.extend([Ratio, Verdict, Size, SizeRatio]);
        let devices = modelled::devices(comparisons);
        columns.extend((0..devices.len()).map(ColumnKind::Modelled));
        let elapsed = comparisons.iter().filter(|of| of.compared_time == ComparedTime::Wall).count();
        let compared = match elapsed {
            0 => "CPU",
            elapsed if elapsed == comparisons.len() => "elapsed",
            _ => "time",
        };
        Columns { columns, devices, compared }
    }

    /// The columns of a table of one workload on a narrow screen.
    fn narrow(comparison: &WorkloadComparison) -> Self {
        use ColumnKind::{Compared, Ratio, Variant, VerdictWord, Wall};
        let all = Columns::of(&[comparison]);
        let mut columns = vec![Variant, Compared];
        columns.extend(all.columns.contains(&Wall).then_some(Wall));
        columns.extend([Ratio, VerdictWord]);
        Columns { columns, ..all }
    }

    fn headers(&self) -> Vec<Column> {
        let header = |kind: &ColumnKind| match kind {
            ColumnKind::Workload => Column::words("workload"),
            ColumnKind::Variant => Column::words("variant"),
            ColumnKind::Compared => Column::numbers(self.compared),
            ColumnKind::Wall => Column::numbers("elapsed"),
            ColumnKind::Throughput => Column::numbers("runs/s"),
            ColumnKind::Ratio => Column::words(format!("{} ratio", self.compared)),
            ColumnKind::Verdict | ColumnKind::VerdictWord => Column::words("verdict"),
            ColumnKind::Size => Column::numbers("size MB"),
            ColumnKind::SizeRatio => Column::numbers("size ratio"),
            ColumnKind::Modelled(number) => {
                Column::words(self.devices.get(*number).map(modelled::header).unwrap_or_default())
            }
        };
        self.columns.iter().map(header).collect()
    }

    fn cells(&self, cell: impl Fn(ColumnKind) -> Cell) -> Vec<Cell> {
        self.columns.iter().map(|column| cell(*column)).collect()
    }
}

fn workload_rows(table: &mut Table, columns: &Columns, comparison: &WorkloadComparison) {
    let medians = comparison.rows.iter().flat_map(|row| [row.compared_median, row.wall_median]);
    let smallest = medians.filter(|time| !time.is_zero()).min().unwrap_or(Duration::ZERO);
    let scale = TimeScale::for_smallest(smallest);
    let baseline_size = comparison.baseline().map(|row| row.size.total_bytes);
    for (number, row) in comparison.rows.iter().enumerate() {
        let cells = columns.cells(|kind| match kind {
            // Only the first row names the workload.
            ColumnKind::Workload if number > 0 => Cell::default(),
            ColumnKind::Workload => workload_name(&comparison.workload).into(),
            ColumnKind::Variant => variant_name(&row.variant).into(),
            ColumnKind::Compared => scale.show(row.compared_median).into(),
            ColumnKind::Wall => scale.show(row.wall_median).into(),
            ColumnKind::Throughput => throughput(comparison.jobs, row.wall_median).into(),
            ColumnKind::Ratio => ratio_of(row).into(),
            ColumnKind::Verdict => verdict::cell(comparison, row),
            ColumnKind::VerdictWord => verdict::short_cell(comparison, row),
            ColumnKind::Size => megabytes(row.size.total_bytes).into(),
            ColumnKind::SizeRatio => or_dash(baseline_size, |of| size_ratio(row.size.total_bytes, of)).into(),
            ColumnKind::Modelled(number) => {
                let device = columns.devices.get(number);
                device.map(|device| modelled::cell(comparison, row, device)).unwrap_or_default().into()
            }
        });
        table.variant_row(row.variant.label(), cells);
    }
    if let Some(noise) = &comparison.noise {
        table.row(columns.cells(|kind| match kind {
            ColumnKind::Variant => "noise (A / A')".into(),
            ColumnKind::Ratio => ratio_cell(noise).into(),
            ColumnKind::Verdict | ColumnKind::VerdictWord => verdict::noise_words(comparison).into(),
            _ => Cell::default(),
        }));
    }
}

/// The number of copies of a job per second, three significant digits.
fn throughput(jobs: u32, wall: Duration) -> String {
    if wall.is_zero() {
        return "-".to_owned();
    }
    rate(f64::from(jobs) / wall.as_secs_f64())
}

fn ratio_of(row: &VariantComparison) -> String {
    match (&row.ratio, row.variant.role) {
        (Some(ratio), _) => ratio_cell(ratio),
        (None, Role::Baseline | Role::BaselineAgain) => "baseline".to_owned(),
        (None, Role::AsFound | Role::Candidate) => "-".to_owned(),
    }
}

/// What a reader has to know before using the figures. May be empty.
fn warnings(comparisons: &[&WorkloadComparison]) -> Vec<String> {
    let mut warnings = verdict::warnings(comparisons);
    warnings.extend(newest::note(comparisons));
    warnings.extend(comparisons.iter().filter_map(|comparison| missing_note(comparison)));
    if comparisons.iter().flat_map(|comparison| &comparison.rows).any(|row| !row.variant.checksum) {
        warnings.push(
            "checksum=no: reading checks nothing, so the baseline does more work. For experiments only.".to_owned(),
        );
    }
    warnings
}

/// The method and its conditions, below a table.
fn notes(comparisons: &[&WorkloadComparison]) -> Vec<String> {
    let mut notes = vec![
        compared_time_note(comparisons),
        "Times are medians. Ratios are to the geometric mean of the baseline's runs A and A' in the same block: median \
         [95 % interval]."
            .to_owned(),
    ];
    notes.extend(apart_note(comparisons));
    notes.extend(clocks_note(comparisons));
    notes.extend(verdict::notes(comparisons));
    notes.extend(fairness::notes(comparisons));
    notes.extend(codec_share::notes(comparisons));
    notes.extend(modelled::notes(comparisons));
    notes.extend(requests::notes(comparisons));
    notes.extend(cold_note(comparisons));
    notes.extend(published_notes(comparisons));
    notes.extend(interval_note(comparisons));
    notes.extend(no_ratio_note(comparisons));
    notes
}

/// Published times of the same commands.
fn published_notes(comparisons: &[&WorkloadComparison]) -> Vec<String> {
    let by_commands = comparisons.iter().filter(|comparison| comparison.workload.client().is_some());
    let names: Vec<&str> = by_commands.map(|comparison| comparison.workload.name.as_str()).collect();
    published::notes(&names)
}

/// Explains why a workload appears more than once.
fn apart_note(comparisons: &[&WorkloadComparison]) -> Option<String> {
    let is_again = |(number, comparison): (usize, &&WorkloadComparison)| {
        comparisons.iter().take(number).any(|other| {
            other.workload == comparison.workload
                && other.jobs == comparison.jobs
                && other.compared_time == comparison.compared_time
        })
    };
    comparisons.iter().enumerate().any(is_again).then(|| {
        "A workload appears more than once: its sessions had different baselines or decoders, or read different content, and are \
         not compared with each other."
            .to_owned()
    })
}

/// The meaning of "CPU" or "time" in this table.
fn compared_time_note(comparisons: &[&WorkloadComparison]) -> String {
    let (elapsed, cpu): (Vec<&WorkloadComparison>, Vec<&WorkloadComparison>) =
        comparisons.iter().copied().partition(|comparison| comparison.compared_time == ComparedTime::Wall);
    if elapsed.is_empty() {
        return cpu_note(&cpu);
    }
    if cpu.is_empty() {
        return "The compared time is elapsed time.".to_owned();
    }
    let names: Vec<String> =
        elapsed.iter().map(|comparison| plain_text(&workload_name(&comparison.workload))).collect();
    format!("The compared time is elapsed time for {}, otherwise CPU time. {}", names.join(", "), cpu_note(&cpu))
}

/// The meaning of "CPU".
fn cpu_note(comparisons: &[&WorkloadComparison]) -> String {
    let names = |times: &[ComparedTime]| {
        let of_times = comparisons.iter().filter(|comparison| times.contains(&comparison.compared_time));
        of_times.map(|comparison| plain_text(&workload_name(&comparison.workload))).collect::<Vec<String>>()
    };
    let without_writing = names(&[ComparedTime::CpuWithoutWriting]);
    let user = names(&[ComparedTime::User, ComparedTime::UserOfCommand]);
    let reason = "the system time of writing files varies";
    if user.is_empty() && without_writing.is_empty() {
        return "CPU is user plus system time.".to_owned();
    }
    if user.len() == comparisons.len() {
        return format!("CPU is user time only: {reason}.");
    }
    if without_writing.len() == comparisons.len() {
        return "CPU is user plus system time without the time of writing files, which varies.".to_owned();
    }
    let of_writing = match without_writing.is_empty() {
        true => String::new(),
        false => format!("; for {} without the time of writing files", without_writing.join(", ")),
    };
    let of_user = match user.is_empty() {
        true => String::new(),
        false => format!("; for {} user time only", user.join(", ")),
    };
    format!("CPU is user plus system time{of_writing}{of_user} ({reason}).")
}

/// Names the times of a workload that writes files if both an older version and this one measured it.
fn clocks_note(comparisons: &[&WorkloadComparison]) -> Option<String> {
    let is_new = |of: &WorkloadComparison| {
        matches!(of.compared_time, ComparedTime::CpuWithoutWriting | ComparedTime::UserOfCommand)
    };
    let older = comparisons.iter().find(|of| {
        let is_same = |other: &&&WorkloadComparison| other.workload == of.workload && other.jobs == of.jobs;
        !is_new(of) && comparisons.iter().filter(is_same).any(|other| is_new(other))
    })?;
    let again = comparisons.iter().filter(|of| of.workload == older.workload && of.jobs == older.jobs);
    let mut times: Vec<&str> = again.map(|of| of.compared_time.name()).collect();
    times.dedup();
    Some(format!(
        "{} was measured by {}, in this order: these are different clocks, which are not compared with each other.",
        plain_text(&workload_name(&older.workload)),
        times.join(" and by ")
    ))
}

/// The meaning of "cold".
fn cold_note(comparisons: &[&WorkloadComparison]) -> Option<String> {
    let is_cold = |comparison: &&WorkloadComparison| comparison.workload.is_cold();
    comparisons.iter().any(is_cold).then(|| {
        "cache=cold: each run opens and reads one of several copies; mincore found none of its pages in memory just before. \
         Caches of a hypervisor or of the device cannot be seen."
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
    let (blocks, needed) = (counted(fewest as u64, "block", "blocks"), blocks_for_verdicts(1));
    Some(format!("A ratio without an interval comes from too few blocks ({blocks}; {needed} are needed for 95 %)."))
}

fn no_ratio_note(comparisons: &[&WorkloadComparison]) -> Option<String> {
    let mut rows = comparisons.iter().flat_map(|comparison| &comparison.rows);
    rows.any(|row| row.ratio.is_none() && row.variant.role != Role::Baseline).then(|| {
        "A dash for a ratio: no block has the variant and both runs of the baseline, all long enough for the clock."
            .to_owned()
    })
}

fn missing_note(comparison: &WorkloadComparison) -> Option<String> {
    let counts = comparison.rows.iter().filter_map(|row| row.counts.get(MISSING));
    let missing = counts.max().copied().filter(|&count| count > 0)?;
    let objects = if missing == 1 { "object was" } else { "objects were" };
    Some(format!("{}: {missing} missing {objects} skipped.", plain_text(&workload_name(&comparison.workload))))
}

#[cfg(test)]
pub(crate) mod tests;
