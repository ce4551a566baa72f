//! The tables.

use repackbench_reader::FileRole;
use repackbench_records::{
    Estimate, ExperimentColumn, ExperimentRow, ExperimentTable, FilePages, Published, PublishedTable, Unit,
};
use repackbench_timing::trace::{Device, pages::file_pages};

use super::{
    arms::{Arm, CHECKOUT, Jobs},
    figures::{Line, RoleFigures, tree_places},
    rounds::{LOOKED_FOR, Measured, TwoTimes},
    samples::{Samples, estimate, ratio, shares},
    shares::{Modes, TouchOrder},
    verdicts::ClaimedCosts,
};
use crate::tables::column;

/// A value that was measured once.
fn once(value: f64) -> Option<Estimate> {
    Some(Estimate { value, interval: None, samples: vec![value] })
}

fn exact(value: f64) -> Option<Estimate> {
    Some(Estimate::exact(value))
}

/// What the published lines of a table come to.
pub(super) struct PublishedLines {
    pages: Vec<f64>,
    cycles: Vec<f64>,
}

impl PublishedLines {
    /// Those of `table`; none if there is no such table.
    pub(super) fn of(published: &Published, table: &str) -> Self {
        let rows = published.table(table).map(|table: &PublishedTable| table.rows.as_slice()).unwrap_or_default();
        let line = |row: &repackbench_records::PublishedRow| {
            Some((row.label.parse::<u64>().ok()? as f64, row.values.first().copied().flatten()?))
        };
        let (pages, cycles) = rows.iter().filter_map(line).unzip();
        PublishedLines { pages, cycles }
    }

    pub(super) fn len(&self) -> usize {
        self.pages.len()
    }

    pub(super) fn order(&self) -> TouchOrder {
        // Pages are whole numbers below 2^53.
        TouchOrder::of(&self.pages.iter().map(|page| *page as u64).collect::<Vec<_>>())
    }

    pub(super) fn modes(&self) -> Option<Modes> {
        Modes::at_the_widest_gap(&self.cycles)
    }
}

/// What the published text says that touches cost.
pub(super) fn claimed_costs(published: &Published) -> Option<ClaimedCosts> {
    let table = published.table("costs in words")?;
    let range = |row| Some([table.value(row, "from")?, table.value(row, "to")?]);
    Some(ClaimedCosts { hit: range("hit")?, miss: range("miss")? })
}

/// A trace in the published form, line by line, beside the published lines. `here` are as many lines as there are published ones.
pub(super) fn line_by_line(
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
    let rows = (0..published.len().max(here.len())).map(row).collect();
    ExperimentTable { title: title.to_owned(), columns, rows }
}

/// A row of [`first_touches`]: its label, its figures, and the published lines with the share of hits that was published in words.
type TouchRow<'a> = (&'a str, RoleFigures, Option<(&'a PublishedLines, Option<f64>)>);

/// What first touches come to, of packs and of their indexes.
pub(super) fn first_touches(rows: &[TouchRow<'_>], hertz: Option<f64>) -> ExperimentTable {
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
    let row = |(label, figures, published): &TouchRow<'_>| {
        let cycles = |samples: &Samples| {
            let hertz = hertz?;
            estimate(&samples.iter().map(|(round, seconds)| (*round, (seconds * hertz).round())).collect::<Vec<_>>())
        };
        let measured = vec![
            exact(figures.order.touched as f64),
            figures.order.forward().and_then(exact),
            figures.order.to_the_next().and_then(exact),
            figures.order.density().and_then(exact),
            shares(&figures.hits),
            shares(&figures.mapped_along),
            shares(&figures.misses),
            shares(&figures.misses_after_a_jump),
            estimate(&figures.threshold),
            estimate(&figures.hit),
            estimate(&figures.miss),
            cycles(&figures.hit),
            cycles(&figures.miss),
            shares(&figures.resident),
        ];
        let order = published.map(|(lines, _)| lines.order());
        let modes = published.and_then(|(lines, _)| lines.modes());
        let hits = published.and_then(|(_, hits)| hits);
        let mut published = vec![None; columns.len()];
        let known = [
            (1, order.and_then(TouchOrder::forward)),
            (2, order.and_then(TouchOrder::to_the_next)),
            (4, hits),
            (11, modes.map(|modes| modes.hit)),
            (12, modes.map(|modes| modes.miss)),
        ];
        for (at, value) in known {
            if let Some(slot) = published.get_mut(at) {
                *slot = value;
            }
        }
        ExperimentRow { label: (*label).to_owned(), published, measured }
    };
    let rows = rows.iter().map(row).collect();
    ExperimentTable { title: "First touches of pages in a cold checkout".to_owned(), columns, rows }
}

/// Futile opens beside the checkout, after all caches were dropped and from memory.
pub(super) fn opens(measured: &Measured, arms: &[Arm], loose: Option<usize>) -> ExperimentTable {
    let machine = &measured.machine;
    let columns = vec![
        column("opens", Unit::Count),
        column("first time", Unit::Seconds),
        column("again", Unit::Seconds),
        column("first time, as a multiple of the pack's", Unit::Ratio),
    ];
    let nothing = TwoTimes::default();
    let pack = machine.checkout.get(&0).unwrap_or(&nothing);
    let row = |label: String, count: Option<f64>, times: &TwoTimes| ExperimentRow {
        label,
        published: vec![None; 4],
        measured: vec![
            count.and_then(exact),
            estimate(&times.first),
            estimate(&times.again),
            if std::ptr::eq(times, pack) { None } else { ratio(&times.first, &pack.first) },
        ],
    };
    let mut rows = Vec::new();
    for (label, arm) in [("checkout from the pack", Some(0)), ("checkout from loose objects", loose)] {
        let Some(number) = arm else { continue };
        let times = machine.checkout.get(&number).unwrap_or(&nothing);
        let files = arms.get(number).map(|arm| arm.loose_files(CHECKOUT)).filter(|files| *files > 0);
        rows.push(row(label.to_owned(), files.map(|files| files as f64), times));
    }
    rows.push(row("its trees alone, from the pack".to_owned(), None, &machine.trees));
    for (number, names) in LOOKED_FOR.iter().enumerate() {
        if let Some(opens) = machine.opens.get(&number) {
            let label = format!("futile opens of {} in every folder", names.join(" and "));
            rows.push(row(label, Some(opens.count as f64), &opens.times));
        }
    }
    let title = match machine.is_cold {
        Some(true) => "Futile opens beside the checkout, all caches dropped",
        _ => "Futile opens beside the checkout, folders and inodes in memory",
    };
    ExperimentTable { title: title.to_owned(), columns, rows }
}

/// How long each job takes cold in each order.
pub(super) fn cold(jobs: &Jobs, arms: &[Arm], measured: &Measured) -> ExperimentTable {
    let columns: Vec<ExperimentColumn> = (0..jobs.len()).map(|job| column(jobs.name(job), Unit::Seconds)).collect();
    let row = |(number, arm): (usize, &Arm)| ExperimentRow {
        label: arm.label.clone(),
        published: vec![None; columns.len()],
        measured: (0..jobs.len())
            .map(|job| measured.cold.get(&(number, job)).and_then(|samples| estimate(samples)))
            .collect(),
    };
    let rows = arms.iter().enumerate().map(row).collect();
    ExperimentTable { title: "Cold, in each order".to_owned(), columns, rows }
}

/// What one job reads in each order, and how long it takes cold. The first arm is what the others are held against.
pub(super) fn orders(
    job: usize,
    jobs: &Jobs,
    arms: &[Arm],
    measured: &Measured,
    devices: &[Device],
) -> ExperimentTable {
    let mut columns = vec![
        column("pages", Unit::Count),
        column("stretches", Unit::Count),
        column("pages between them", Unit::Count),
        column("go back", Unit::Share),
    ];
    columns.extend(devices.iter().map(|device| column(&format!("modelled, {}", device.name), Unit::Seconds)));
    columns.push(column("cold", Unit::Seconds));
    columns.push(column("of the source order's", Unit::Ratio));
    let nothing = Samples::new();
    let first = measured.cold.get(&(0, job)).unwrap_or(&nothing);
    let rows = arms.iter().enumerate().filter_map(|(number, arm)| {
        let trace = &arm.reads.get(job)?.trace;
        let pages = store_pages(&file_pages(trace));
        let samples = measured.cold.get(&(number, job)).unwrap_or(&nothing);
        let mut measured = vec![
            exact(pages.touched as f64),
            exact(pages.runs as f64),
            pages.median_gap.and_then(|gap| exact(gap as f64)),
            store_order(std::slice::from_ref(&pages)).and_then(TouchOrder::backward).and_then(exact),
        ];
        measured.extend(devices.iter().map(|device| exact(device.replay(trace, usize::MAX).time.as_secs_f64())));
        measured.push(estimate(samples));
        measured.push(if number == 0 { None } else { ratio(samples, first) });
        Some(ExperimentRow { label: arm.label.clone(), published: vec![None; measured.len()], measured })
    });
    let rows = rows.collect();
    ExperimentTable { title: format!("Orders: {}", jobs.name(job)), columns, rows }
}

/// What is touched of the files that hold objects: packs, or loose objects where there are no packs.
fn store_pages(files: &[FilePages]) -> FilePages {
    let of = |role: FileRole| {
        files.iter().find(|pages| pages.role == repackbench_timing::trace::pages::role_name(role)).cloned()
    };
    of(FileRole::Pack).or_else(|| of(FileRole::LooseObject)).unwrap_or_default()
}

/// In what order they are touched for the first time. How many pages lie between the first and the last is not known from `files`.
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

/// Where the trees lie that the checkout reads.
pub(super) fn trees(arms: &[Arm]) -> ExperimentTable {
    let columns = vec![
        column("trees", Unit::Count),
        column("deltas", Unit::Count),
        column("stored bytes", Unit::Bytes),
        column("pages", Unit::Count),
        column("stretches", Unit::Count),
    ];
    let row = |arm: &Arm| {
        let places = tree_places(&arm.reads.get(CHECKOUT)?.trace);
        let counts = [places.trees, places.deltas, places.bytes, places.pages, places.runs];
        (places.trees > 0).then(|| ExperimentRow {
            label: arm.label.clone(),
            published: vec![None; columns.len()],
            measured: counts.into_iter().map(|count| exact(count as f64)).collect(),
        })
    };
    let rows = arms.iter().filter_map(row).collect();
    ExperimentTable { title: "Orders: the trees that the checkout reads, bases included".to_owned(), columns, rows }
}

/// How large the packs are in each order.
pub(super) fn sizes(arms: &[Arm]) -> ExperimentTable {
    let columns = vec![
        column("packs", Unit::Bytes),
        column("of the source order's", Unit::Ratio),
        column("headers of entries", Unit::Bytes),
        column("deltas that name bases by id", Unit::Count),
    ];
    let source = arms.first().map_or(0, |arm| arm.packs.bytes);
    let row = |arm: &Arm| ExperimentRow {
        label: arm.label.clone(),
        published: vec![None; columns.len()],
        measured: vec![
            exact(arm.packs.bytes as f64),
            if source > 0 { exact(arm.packs.bytes as f64 / source as f64) } else { None },
            exact(arm.packs.headers as f64),
            exact(arm.packs.reference_deltas as f64),
        ],
    };
    let rows = arms.iter().filter(|arm| arm.packs.bytes > 0).map(row).collect();
    ExperimentTable { title: "Orders: size".to_owned(), columns, rows }
}

#[cfg(test)]
mod tests {
    use repackbench_records::published_experiment;

    use super::*;

    fn published() -> &'static Published {
        published_experiment(super::super::NAME).unwrap()
    }

    #[test]
    fn the_published_lines_are_what_the_text_says_of_them() {
        let pack = PublishedLines::of(published(), "pack");
        assert_eq!((pack.len(), pack.order().back), (22, 0), "totally ordered");
        let modes = pack.modes().unwrap();
        assert_eq!((modes.hits, modes.misses), (16, 6));
        assert_eq!(claimed_costs(published()), Some(ClaimedCosts { hit: [300.0, 500.0], miss: [1e7, 1e8] }));
        let index = PublishedLines::of(published(), "index");
        assert_eq!(index.order().steps(), 20);
        assert!(index.order().back >= 5, "at random");
        assert_eq!(PublishedLines::of(published(), "no such table").len(), 0);
    }

    #[test]
    fn lines_stand_beside_lines_even_where_one_side_has_fewer() {
        let index = PublishedLines::of(published(), "index");
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
