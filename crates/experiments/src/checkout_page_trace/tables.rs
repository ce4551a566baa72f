//! The tables.

use std::path::Path;

use repackbench_analysis::estimate_of_copies;
use repackbench_reader::FileRole;
use repackbench_records::{Estimate, ExperimentColumn, ExperimentRow, ExperimentTable, FilePages, Statement, Unit};
use repackbench_timing::trace::{
    Device,
    pages::{file_pages, role_name},
};

use super::{
    arms::{CHECKOUT, VariantArm},
    figures::{self, Line, RoleFigures, TreePlaces, median_only},
    findings::Findings,
    published::PublishedLines,
    rounds::{LOOKED_FOR, MachineStep, TwoTimes},
    touches::{Modes, TouchOrder},
};
use crate::tables::{column, unpublished};

/// A value that was measured once.
fn once(value: f64) -> Option<Estimate> {
    Some(Estimate { value, interval: None, samples: vec![value] })
}

fn exact(value: f64) -> Option<Estimate> {
    Some(Estimate::exact(value))
}

fn table(title: &str, columns: Vec<ExperimentColumn>, rows: Vec<ExperimentRow>) -> ExperimentTable {
    ExperimentTable { title: Statement::new(title).into(), columns, rows }
}

/// The tables whose rows are compared with published figures or with the first row.
pub(super) fn tables(found: &Findings<'_>) -> Vec<ExperimentTable> {
    let mut tables = Vec::new();
    if !found.measured.touches.is_empty() {
        tables.push(first_touches(found));
    }
    if found.measured.machine.is_cold.is_some() {
        tables.push(lookups(found));
    }
    if found.measured.has_cold_runs() {
        tables.push(cold(found));
    }
    tables
}

/// The tables that are read line by line.
pub(super) fn listings(found: &Findings<'_>) -> Vec<ExperimentTable> {
    let orders = (0..found.jobs.len()).map(|job| orders(found, job));
    excerpts(found).into_iter().chain(orders).chain([trees(found.arms), sizes(found.arms)]).collect()
}

/// The first lines of the first round beside the published ones, and the last ones of the index.
fn excerpts(found: &Findings<'_>) -> Vec<ExperimentTable> {
    let Some(round) = found.measured.tree_touches.first() else { return Vec::new() };
    let device = Device::hdd();
    let excerpt = |title: &str, name: &str, role: FileRole, is_end: bool| {
        let published = found.lines(name);
        let all = figures::lines(role, found.trees, round, &device);
        let length = published.len().min(all.len());
        let here = if is_end { all.get(all.len() - length..) } else { all.get(..length) };
        line_by_line(title, &published, here.unwrap_or_default(), found.hertz(), &device)
    };
    vec![
        excerpt("pack-line-by-line", "pack", FileRole::Pack, false),
        excerpt("index-line-by-line", "index", FileRole::PackIndex, false),
        excerpt("index-at-the-end", "index at the end", FileRole::PackIndex, true),
    ]
}

/// A trace in the published form, line by line, beside the published lines. `here` has as many lines at most.
fn line_by_line(
    title: &str,
    published: &PublishedLines,
    here: &[Line],
    hertz: Option<f64>,
    device: &Device,
) -> ExperimentTable {
    let columns = vec![
        column("page", Unit::Identifier),
        column("cycles", Unit::Count),
        column("time", Unit::Seconds),
        column(&format!("modelled, {}", device.name), Unit::Seconds),
    ];
    let row = |number: usize| {
        let line = here.get(number);
        let measured = vec![
            line.and_then(|line| exact(line.page as f64)),
            line.zip(hertz).and_then(|(line, hertz)| once((line.seconds * hertz).round())),
            line.and_then(|line| once(line.seconds)),
            line.and_then(|line| exact(line.modelled)),
        ];
        let (page, cycles) = (published.pages.get(number).copied(), published.cycles.get(number).copied());
        ExperimentRow { label: format!("{}", number + 1), published: vec![page, cycles, None, None], measured }
    };
    table(title, columns, (0..published.len().max(here.len())).map(row).collect())
}

/// First touches of packs and of their indexes.
fn first_touches(found: &Findings<'_>) -> ExperimentTable {
    let columns = vec![
        column("first touches", Unit::Count),
        column("go forward", Unit::Share),
        column("to the very next page", Unit::Share),
        column("touched of spanned", Unit::Share),
        column("hits", Unit::Share),
        column("without a page fault", Unit::Share),
        column("misses", Unit::Count),
        column("misses after a jump", Unit::Share),
        column("threshold", Unit::Seconds),
        column("a hit", Unit::Seconds),
        column("a miss", Unit::Seconds),
        column("a hit, cycles", Unit::Count),
        column("a miss, cycles", Unit::Count),
        column("cached at the end", Unit::Share),
    ];
    let cycles = |seconds: &[f64]| {
        let hertz = found.hertz()?;
        estimate_of_copies(seconds.iter().map(|seconds| (seconds * hertz).round()).collect())
    };
    let row = |label: &str, figures: RoleFigures| {
        let measured = vec![
            exact(figures.order.touched as f64),
            figures.order.forward().and_then(exact),
            figures.order.to_the_next().and_then(exact),
            figures.order.density().and_then(exact),
            median_only(&figures.hits),
            median_only(&figures.without_fault),
            median_only(&figures.misses),
            median_only(&figures.misses_after_a_jump),
            estimate(&figures.threshold),
            estimate(&figures.hit),
            estimate(&figures.miss),
            cycles(&figures.hit),
            cycles(&figures.miss),
            median_only(&figures.resident),
        ];
        unpublished(label, measured)
    };
    let published = |row: ExperimentRow, lines: PublishedLines, hits: Option<f64>| {
        let (order, modes): (TouchOrder, Option<Modes>) = (lines.order(), lines.modes());
        let figures = |name: &str| match name {
            "go forward" => order.forward(),
            "to the very next page" => order.to_the_next(),
            "hits" => hits,
            "a hit, cycles" => modes.map(|modes| modes.hit),
            "a miss, cycles" => modes.map(|modes| modes.miss),
            _ => None,
        };
        ExperimentRow { published: columns.iter().map(|column| figures(&column.name)).collect(), ..row }
    };
    let of_trees = |label, role, lines, hits| published(row(label, found.of_trees(role)), found.lines(lines), hits);
    let rows = vec![
        of_trees("pack, trees alone", FileRole::Pack, "pack", found.published_hits()),
        of_trees("index, trees alone", FileRole::PackIndex, "index", None),
        row("pack", found.of_checkout(FileRole::Pack)),
        row("index", found.of_checkout(FileRole::PackIndex)),
    ];
    table("first-touches-of-pages", columns, rows)
}

fn estimate(samples: &[f64]) -> Option<Estimate> {
    estimate_of_copies(samples.to_vec())
}

/// Failed lookups beside the checkout, after all caches were dropped and from memory.
fn lookups(found: &Findings<'_>) -> ExperimentTable {
    let machine = &found.measured.machine;
    let columns = vec![
        column("lookups", Unit::Count),
        column("first time", Unit::Seconds),
        column("again", Unit::Seconds),
        column("first time, as a multiple of the pack's", Unit::Ratio),
    ];
    let nothing = TwoTimes::default();
    let pack = MachineStep::Checkout(0);
    let row = |label: String, count: Option<u64>, step: MachineStep| {
        let times = machine.times.get(&step).unwrap_or(&nothing);
        let ratio = if step == pack { None } else { machine.ratio(step, pack) };
        let count = count.and_then(|count| exact(count as f64));
        unpublished(label, vec![count, estimate(&times.first), estimate(&times.again), ratio])
    };
    let mut rows = vec![row("checkout from the pack".to_owned(), None, pack)];
    if let Some(loose) = found.loose {
        let files = found.arms.get(loose).map(|arm| arm.loose_files(CHECKOUT)).filter(|files| *files > 0);
        rows.push(row("checkout from loose objects".to_owned(), files, MachineStep::Checkout(loose)));
    }
    rows.push(row("its trees alone, from the pack".to_owned(), None, MachineStep::Trees));
    for (list, names) in LOOKED_FOR.iter().enumerate() {
        let step = MachineStep::Lookups(list);
        if machine.times.contains_key(&step) {
            let label = format!("failed lookups of {} in every folder", names.join(" and "));
            let missing = found.folders.missing(Path::new(""), names).len() as u64;
            rows.push(row(label, Some(missing), step));
        }
    }
    let title = match machine.is_cold {
        Some(true) => "lookups-with-all-caches-dropped",
        _ => "lookups-with-inodes-in-memory",
    };
    table(title, columns, rows)
}

/// The cold time of each job in each order.
fn cold(found: &Findings<'_>) -> ExperimentTable {
    let jobs = || 0..found.jobs.len();
    let columns = jobs().map(|job| column(found.jobs.name(job), Unit::Seconds)).collect();
    let row = |(number, arm): (usize, &VariantArm)| {
        unpublished(arm.label.as_str(), jobs().map(|job| estimate(found.measured.cold(number, job))).collect())
    };
    table("cold-in-each-order", columns, found.arms.iter().enumerate().map(row).collect())
}

/// What one job reads in each order, and its cold time, compared with the first arm.
fn orders(found: &Findings<'_>, job: usize) -> ExperimentTable {
    let devices = Device::defaults();
    let mut columns = vec![
        column("pages", Unit::Count),
        column("stretches", Unit::Count),
        column("pages between them", Unit::Count),
        column("go back", Unit::Share),
    ];
    columns.extend(devices.iter().map(|device| column(&format!("modelled, {}", device.name), Unit::Seconds)));
    columns.push(column("cold", Unit::Seconds));
    columns.push(column("of the source order's", Unit::Ratio));
    let rows = found.arms.iter().enumerate().filter_map(|(number, arm)| {
        let trace = &arm.reads.get(job)?.trace;
        let pages = store_pages(&file_pages(trace));
        let mut measured = vec![
            exact(pages.touched as f64),
            exact(pages.runs as f64),
            pages.median_gap.and_then(|gap| exact(gap as f64)),
            store_order(std::slice::from_ref(&pages)).and_then(TouchOrder::backward).and_then(exact),
        ];
        measured.extend(devices.iter().map(|device| exact(device.replay(trace, usize::MAX).time.as_secs_f64())));
        measured.push(estimate(found.measured.cold(number, job)));
        measured.push(if number == 0 { None } else { found.measured.cold_ratio(number, job) });
        Some(unpublished(arm.label.as_str(), measured))
    });
    let title = Statement::new("orders-of-job").with("job", found.jobs.name(job)).into();
    ExperimentTable { title, rows: rows.collect(), columns }
}

/// The touched pages of the files that hold objects: packs, or loose objects if there are no packs.
fn store_pages(files: &[FilePages]) -> FilePages {
    let of = |role: FileRole| files.iter().find(|pages| pages.role == role_name(role)).cloned();
    of(FileRole::Pack).or_else(|| of(FileRole::LooseObject)).unwrap_or_default()
}

/// The order of first touches of the same files. The number of pages from the first to the last is not known from
/// `files`.
pub(super) fn store_order(files: &[FilePages]) -> Option<TouchOrder> {
    let pages = store_pages(files);
    let touches = pages.first_touches;
    (pages.touched > 0).then_some(TouchOrder {
        touched: pages.touched,
        spanned: 0,
        next: touches.next,
        ahead: touches.ahead,
        back: touches.back,
    })
}

/// The places of the trees that the checkout reads.
fn trees(arms: &[VariantArm]) -> ExperimentTable {
    let columns = vec![
        column("trees", Unit::Count),
        column("deltas", Unit::Count),
        column("stored bytes", Unit::Bytes),
        column("pages", Unit::Count),
        column("stretches", Unit::Count),
    ];
    let row = |arm: &VariantArm| {
        let places = TreePlaces::of(&arm.reads.get(CHECKOUT)?.trace);
        let counts = [places.trees, places.deltas, places.bytes, places.pages, places.runs];
        let measured = counts.map(|count| exact(count as f64)).to_vec();
        (places.trees > 0).then(|| unpublished(arm.label.as_str(), measured))
    };
    table("orders-trees", columns, arms.iter().filter_map(row).collect())
}

/// The sizes of the packs in each order.
fn sizes(arms: &[VariantArm]) -> ExperimentTable {
    let columns = vec![
        column("packs", Unit::Bytes),
        column("of the source order's", Unit::Ratio),
        column("headers of entries", Unit::Bytes),
        column("deltas that name bases by id", Unit::Count),
    ];
    let source = arms.first().map_or(0, |arm| arm.packs.bytes);
    let row = |arm: &VariantArm| {
        let measured = vec![
            exact(arm.packs.bytes as f64),
            if source > 0 { exact(arm.packs.bytes as f64 / source as f64) } else { None },
            exact(arm.packs.headers as f64),
            exact(arm.packs.reference_deltas as f64),
        ];
        unpublished(arm.label.as_str(), measured)
    };
    table("orders-size", columns, arms.iter().filter(|arm| arm.packs.bytes > 0).map(row).collect())
}

#[cfg(test)]
mod tests {
    use repackbench_records::published_experiment;

    use super::*;
    use crate::checkout_page_trace::NAME;

    #[test]
    fn lines_are_paired_if_one_side_has_fewer() {
        let index = PublishedLines::of(published_experiment(NAME).unwrap(), "index");
        let here = [Line { page: 7, seconds: 1e-3, modelled: 8e-3 }];
        let table = line_by_line("index", &index, &here, Some(2e9), &Device::hdd());
        assert_eq!(table.rows.len(), 21);
        let [first, .., last] = table.rows.as_slice() else { panic!() };
        assert_eq!(first.published, [Some(0.0), Some(28_367_707.0), None, None]);
        let values: Vec<f64> = first.measured.iter().map(|value| value.as_ref().unwrap().value).collect();
        assert_eq!(values, [7.0, 2e6, 1e-3, 8e-3]);
        assert!(last.measured.iter().all(Option::is_none));
        let without_clock = line_by_line("index", &index, &here, None, &Device::hdd());
        assert_eq!(without_clock.rows[0].measured[1], None);
    }
}
