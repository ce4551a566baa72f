//! Where and when workloads read: maps of pages, one for each variant, on one scale.

use std::collections::BTreeMap;

use repackbench_analysis::{Results, is_same_state};
use repackbench_records::{AccessMap, FilePages, MapCell, TraceRecord};

use super::{
    ChartKind, Figure, common,
    rows::{LegendEntry, Sign, draw_legend},
    scale::{Scale, tick_text},
    svg::{Anchor, Drawing, Width, fit, text_width},
};
use crate::{
    document::{Column, Table},
    number::{megabytes, or_dash, share, thousands},
    sections::names::workload_name,
};

/// The number of classes of touch counts.
const CLASSES: u32 = 5;
const CLASS_NAMES: [&str; CLASSES as usize] = ["i1", "i2", "i3", "i4", "i5"];
/// Maps with longer sides are rejected.
const MOST_CELLS: u32 = 4096;

/// One figure for each workload on each repository that was traced.
pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let is_alone = common::is_alone(results);
    let mut groups: Vec<Vec<&TraceRecord>> = Vec::new();
    for trace in &results.traces {
        let is_of_group = |group: &&mut Vec<&TraceRecord>| {
            group.first().is_some_and(|first| {
                is_same_state(&first.repository, &trace.repository) && first.workload == trace.workload
            })
        };
        match groups.iter_mut().find(is_of_group) {
            // A second trace of a variant is the same.
            Some(group) if group.iter().any(|other| other.variant.label() == trace.variant.label()) => {}
            Some(group) => group.push(trace),
            None => groups.push(vec![trace]),
        }
    }
    groups.iter().filter_map(|group| figure(group, is_alone)).collect()
}

/// The maps of one role, a variant each.
struct RoleMaps<'a> {
    role: &'a str,
    maps: Vec<VariantMap<'a>>,
}

/// Where one variant's files of a role are read.
struct VariantMap<'a> {
    /// The variant's label.
    label: String,
    map: &'a AccessMap,
    /// The touched pages of the files, if the trace has them.
    files: Option<&'a FilePages>,
    /// The length of the files.
    bytes: u64,
}

impl<'a> VariantMap<'a> {
    fn of(trace: &'a TraceRecord, map: &'a AccessMap) -> Self {
        VariantMap {
            label: trace.variant.label().into_owned(),
            map,
            files: trace.files.iter().find(|files| files.role == map.role),
            bytes: map.pages.saturating_mul(trace.page_len),
        }
    }

    /// The number of touches of these files.
    fn touches(&self) -> u64 {
        self.map.cells.iter().map(|cell| cell.touches).fold(0, u64::saturating_add)
    }
}

fn figure(group: &[&TraceRecord], is_alone: bool) -> Option<Figure> {
    let first = group.first()?;
    let mut roles: Vec<RoleMaps<'_>> = Vec::new();
    for trace in group {
        for map in trace.maps.iter().filter(|map| is_drawable(map)) {
            let entry = VariantMap::of(trace, map);
            match roles.iter_mut().find(|of| of.role == map.role) {
                Some(of) => of.maps.push(entry),
                None => roles.push(RoleMaps { role: &map.role, maps: vec![entry] }),
            }
        }
    }
    if roles.is_empty() {
        return None;
    }
    let workload = first.workload.to_string();
    let figure = Figure {
        id: common::id(ChartKind::Accesses, &first.repository, is_alone, &first.workload.name),
        section: ChartKind::Accesses,
        title: format!("Pages read by {}, {}", workload_name(&first.workload), common::name(&first.repository)),
        description: description(&roles),
        notes: vec![
            "Pages are touched in the order from left to right. From top to bottom are their places in the files, one file after another. All maps of a kind of file have the same scale: the map of a smaller file is lower, and that of fewer touches narrower.".to_owned(),
            "Darker pages (lighter ones on a dark page) were touched more often; each step is the same factor. Consecutive touches of one page count once.".to_owned(),
            "The maps are computed for empty caches, not measured: they are the same on every machine.".to_owned(),
        ],
        workload: Some(workload),
        repository: Some(first.repository.name.clone()),
        table: table(&roles),
        ..Figure::default()
    };
    Some(figure.drawn(|width| draw(&roles, width)))
}

fn is_drawable(map: &AccessMap) -> bool {
    let side = 1..=MOST_CELLS;
    map.pages > 0 && map.touches > 0 && side.contains(&map.columns) && side.contains(&map.rows)
}

fn draw(roles: &[RoleMaps<'_>], width: Width) -> (Drawing, f64) {
    let mut drawing = Drawing::default();
    let sign = |class: &&'static str| LegendEntry { class, sign: Sign::Swatch("fill"), text: String::new() };
    let mut signs: Vec<LegendEntry> = CLASS_NAMES.iter().map(sign).collect();
    if let Some(last) = signs.last_mut() {
        last.text = "few to many touches".to_owned();
    }
    let mut top = 8.0 + draw_legend(&mut drawing, &signs, width, 8.0);
    let maps = || roles.iter().flat_map(|of| &of.maps);
    // The widest name or size beside a map.
    let label = maps().map(|of| text_width(&of.label, 12.0)).fold(60.0, f64::max).min(200.0);
    let left = if width == Width::Wide { 12.0 + label + 14.0 } else { 14.0 };
    let touches = maps().map(|of| of.map.touches as f64);
    let x = Scale::linear(touches, [left, width.px() - 16.0]);
    // Limits the size of the page.
    let most_bytes = if width == Width::Wide { 120_000 } else { 60_000 } / maps().count().max(1);
    for of in roles {
        top = draw_role(&mut drawing, of, &x, width, top, most_bytes);
    }
    let [start, end] = x.ends();
    for tick in x.ticks(|tick| text_width(&tick_text(tick), 11.0) + 14.0) {
        drawing.line([x.at(tick), top - 6.0, x.at(tick), top - 2.0], "axis");
        drawing.text([x.at(tick), top + 10.0], Anchor::Middle, "muted small", &tick_text(tick));
    }
    drawing.line([start, top - 6.0, end, top - 6.0], "axis");
    let title = "touches of pages, in their order";
    drawing.text([f64::midpoint(start, end), top + 28.0], Anchor::Middle, "muted", title);
    (drawing, top + 38.0)
}

/// The height of the longest file's map: smaller if there are many maps.
fn map_height(of: &RoleMaps<'_>) -> f64 {
    let is_index = of.maps.iter().any(|of| of.map.is_of_index());
    (900.0 / of.maps.len() as f64).clamp(36.0, if is_index { 70.0 } else { 130.0 })
}

fn draw_role(drawing: &mut Drawing, of: &RoleMaps<'_>, x: &Scale, width: Width, top: f64, most_bytes: usize) -> f64 {
    let mut top = top;
    drawing.text([12.0, top + 16.0], Anchor::Start, "strong", &fit(of.role, 13.0, width.px() - 24.0));
    top += 28.0;
    let longest = of.maps.iter().map(|of| of.bytes as f64).fold(0.0, f64::max);
    for variant in &of.maps {
        let VariantMap { label, map, bytes, .. } = variant;
        let height = (map_height(of) * *bytes as f64 / longest).max(2.0);
        let [left, _] = x.ends();
        let size = format!("{} MB", megabytes(*bytes));
        let mut row = height;
        if width == Width::Wide {
            drawing.text([left - 12.0, top + 11.0], Anchor::End, "", &fit(label, 12.0, left - 26.0));
            drawing.text([left - 12.0, top + 26.0], Anchor::End, "muted small", &size);
            row = row.max(30.0);
        } else {
            let text = fit(label, 12.0, width.px() - 120.0);
            drawing.text([14.0, top + 11.0], Anchor::Start, "", &text);
            drawing.text([width.px() - 16.0, top + 11.0], Anchor::End, "muted small", &size);
            top += 17.0;
        }
        let area = [left, top, x.at(map.touches as f64) - left, height];
        drawing.mark(label, &tip(variant), "", |drawing| draw_map(drawing, map, area, most_bytes));
        top += row + 10.0;
    }
    top + 10.0
}

fn draw_map(drawing: &mut Drawing, map: &AccessMap, [x, y, width, height]: [f64; 4], most_bytes: usize) {
    drawing.rect([x, y, width, height], "frame");
    let ([columns, rows], paths) = paths(map, most_bytes);
    let cell = [width / f64::from(columns), height / f64::from(rows)];
    for (class, d) in paths {
        drawing.cells(&d, class, [x, y], cell);
    }
}

/// The class of `count`, from 0 on. Classes span equal factors up to `most`.
fn class_of(count: u64, most: u64) -> u32 {
    let part = (count.max(1) as f64).ln() / (most.max(2) as f64).ln();
    // A part of 1 at most; the cast saturates.
    ((part * f64::from(CLASSES)) as u32).min(CLASSES - 1)
}

/// The touched cells of each class as one path, together at most about `most_bytes`: adjacent cells of a class are one
/// line. If that is too long, the longer side is halved by joining cells, repeatedly. Also returns the resulting
/// columns and rows.
fn paths(map: &AccessMap, most_bytes: usize) -> ([u32; 2], Vec<(&'static str, String)>) {
    let mut cells: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for MapCell { column, row, touches } in map.cells.iter().copied().filter(|cell| cell.touches > 0) {
        if column < map.columns && row < map.rows {
            cells.insert((row, column), touches);
        }
    }
    let mut sides = [map.columns, map.rows];
    loop {
        let paths = lines(&cells);
        let bytes: usize = paths.iter().map(|(_, d)| d.len()).sum();
        if bytes <= most_bytes || sides.iter().all(|side| *side <= FEWEST_CELLS) {
            return (sides, paths);
        }
        // The longer side first. Its last cell may be half empty.
        let is_wide = sides[0] >= sides[1];
        let mut joined: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for ((row, column), count) in cells {
            let cell = if is_wide { (row, column / 2) } else { (row / 2, column) };
            let sum = joined.entry(cell).or_default();
            *sum = sum.saturating_add(count);
        }
        cells = joined;
        let side = if is_wide { &mut sides[0] } else { &mut sides[1] };
        *side = side.div_ceil(2);
    }
}

/// Sides with this number of cells or fewer are not shortened.
const FEWEST_CELLS: u32 = 16;

/// Cells by row, then column, as lines of one class each.
fn lines(cells: &BTreeMap<(u32, u32), u64>) -> Vec<(&'static str, String)> {
    let most = cells.values().copied().max().unwrap_or_default();
    let mut paths: BTreeMap<u32, Line> = BTreeMap::new();
    for ((row, column), count) in cells {
        paths.entry(class_of(*count, most)).or_default().add(*row, *column);
    }
    let named = |(class, line): (u32, Line)| Some((*CLASS_NAMES.get(class as usize)?, line.finish()));
    paths.into_iter().filter_map(named).collect()
}

/// A growing path of horizontal lines.
#[derive(Debug, Default)]
struct Line {
    d: String,
    /// Row, first column and end column of the unwritten line.
    open: Option<[u32; 3]>,
    /// The current end of the path: row and column.
    at: [u32; 2],
}

impl Line {
    fn add(&mut self, row: u32, column: u32) {
        match &mut self.open {
            Some([of_row, _, end]) if (*of_row, *end) == (row, column) => *end += 1,
            _ => {
                self.close();
                self.open = Some([row, column, column + 1]);
            }
        }
    }

    /// Writes the open line, relative to the current end.
    fn close(&mut self) {
        let Some([row, start, end]) = self.open.take() else { return };
        let [at_row, at_column] = self.at.map(i64::from);
        let (right, down) = (i64::from(start) - at_column, i64::from(row) - at_row);
        let space = if down < 0 { "" } else { " " };
        self.d.push_str(&format!("m{right}{space}{down}h{}", end - start));
        self.at = [row, end];
    }

    fn finish(mut self) -> String {
        self.close();
        self.d
    }
}

fn tip(of: &VariantMap<'_>) -> Vec<String> {
    let VariantMap { label, map, files, bytes } = of;
    let mut tip = vec![
        format!("{label}: {}", map.role),
        format!("{} MB, {} pages", megabytes(*bytes), thousands(map.pages)),
        format!("{} of {} touches", thousands(of.touches()), thousands(map.touches)),
    ];
    if let Some(files) = files {
        let part = share(files.touched as f64 / files.pages.max(1) as f64);
        tip.push(format!("{} pages touched ({part}), in {} runs", thousands(files.touched), thousands(files.runs)));
    }
    tip
}

fn description(roles: &[RoleMaps<'_>]) -> String {
    let mut text = "Maps of the pages that are read: their order from left to right, their places in the files from top to bottom.".to_owned();
    for of in roles {
        let shown = |VariantMap { label, files, bytes, .. }: &VariantMap<'_>| {
            let touched =
                files.map(|files| format!(", {} of {} pages", thousands(files.touched), thousands(files.pages)));
            format!("{label} {} MB{}", megabytes(*bytes), touched.unwrap_or_default())
        };
        let maps: Vec<String> = of.maps.iter().map(shown).collect();
        text.push_str(&format!(" {}: {}.", of.role, maps.join("; ")));
    }
    text
}

fn table(roles: &[RoleMaps<'_>]) -> Table {
    let mut table = Table::new([
        Column::words("files"),
        Column::words("variant"),
        Column::numbers("MB"),
        Column::numbers("pages"),
        Column::numbers("pages touched"),
        Column::numbers("runs of pages"),
        Column::numbers("touches"),
        Column::numbers("touches of all files"),
    ]);
    for of in roles {
        for variant in &of.maps {
            let VariantMap { label, map, files, bytes } = variant;
            table.variant_row(
                label,
                [
                    of.role.to_owned(),
                    label.clone(),
                    megabytes(*bytes),
                    thousands(map.pages),
                    or_dash(*files, |files| thousands(files.touched)),
                    or_dash(*files, |files| thousands(files.runs)),
                    thousands(variant.touches()),
                    thousands(map.touches),
                ],
            );
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(cells: Vec<(u32, u32, u64)>) -> AccessMap {
        let cells = cells.into_iter().map(MapCell::from).collect();
        AccessMap { role: "pack".into(), pages: 80, touches: 500, columns: 8, rows: 6, cells }
    }

    /// Which cells `paths` fill, with their classes.
    fn filled(paths: &[(&str, String)]) -> BTreeMap<(u32, u32), String> {
        let mut filled = BTreeMap::new();
        for (class, d) in paths {
            let (mut column, mut row) = (0, 0);
            for step in d.split('m').filter(|step| !step.is_empty()) {
                let step = step.replace('h', " ").replace('-', " -");
                let numbers: Vec<i64> = step.split_whitespace().map(|number| number.parse().unwrap()).collect();
                let [right, down, length] = numbers[..] else { panic!("{step}") };
                (column, row) = (column + right, row + down);
                for column in column..column + length {
                    let cell = (u32::try_from(column).unwrap(), u32::try_from(row).unwrap());
                    assert_eq!(filled.insert(cell, (*class).to_owned()), None, "twice: {cell:?}");
                }
                column += length;
            }
        }
        filled
    }

    #[test]
    fn every_touched_cell_is_drawn_once() {
        let cells = vec![
            (0, 0, 1),
            (0, 1, 1),
            (0, 2, 500),
            (1, 0, 1),
            (1, 1, 1),
            (1, 2, 20),
            (2, 0, 1),
            (2, 1, 1),
            (4, 0, 1),
            (4, 1, 1),
            (7, 5, 9),
            (9, 9, 9),
            (3, 3, 0),
        ];
        let map = map(cells.clone());
        let (sides, paths) = paths(&map, 10_000);
        let filled = filled(&paths);
        for (column, row, count) in cells {
            let is_inside = count > 0 && column < 8 && row < 6;
            let class = is_inside.then(|| CLASS_NAMES[class_of(count, 500) as usize].to_owned());
            assert_eq!(filled.get(&(column, row)).cloned(), class, "{column} {row}");
        }
        assert_eq!((filled.len(), sides), (11, [8, 6]));
        assert_eq!(paths[0], ("i1", "m0 0h3m1 0h1m-5 1h3m1 0h1".to_owned()));
    }

    #[test]
    fn large_maps_get_larger_cells() {
        let cells: Vec<(u32, u32, u64)> =
            (0..128 * 80).map(|n| (n % 128, n / 128, u64::from(n * 7919 % 97) + 1)).collect();
        let map = AccessMap { columns: 128, rows: 80, ..map(cells) };
        for most_bytes in [100_000, 20_000, 5_000, 0] {
            let ([columns, rows], paths) = paths(&map, most_bytes);
            let bytes: usize = paths.iter().map(|(_, d)| d.len()).sum();
            assert!(bytes <= most_bytes || (columns, rows) == (16, 10), "{most_bytes}: {bytes}");
            assert_eq!(filled(&paths).len(), (columns * rows) as usize, "all of it was touched");
        }
    }

    #[test]
    fn classes_span_equal_factors() {
        let classes: Vec<u32> =
            [1, 2, 9, 10, 99, 100, 999, 1000, 9999, 10_000, 100_000].map(|count| class_of(count, 100_000)).into();
        assert_eq!(classes, [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
        assert_eq!([class_of(0, 0), class_of(1, 1), class_of(2, 2)], [0, 0, 4]);
    }
}
