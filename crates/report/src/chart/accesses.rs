//! Where workloads read, and when: maps of pages, the variants under each other on one scale.

use std::collections::BTreeMap;

use repackbench_records::{AccessMap, TraceRecord};

use super::{
    Figure, FigureTable, Section, common,
    rows::{LegendEntry, Sign, draw_legend},
    scale::{Scale, tick_text},
    svg::{Anchor, Drawing, Width, fit, text_width},
};
use crate::{
    Results,
    number::{megabytes, share, thousands},
};

/// Classes of how often a cell was touched.
const CLASSES: u32 = 5;
const CLASS_NAMES: [&str; CLASSES as usize] = ["i1", "i2", "i3", "i4", "i5"];
/// Maps with more cells along a side than this are none of ours.
const MOST_CELLS: u32 = 4096;

/// One figure for each workload on each repository that was traced.
pub(super) fn figures(results: &Results) -> Vec<Figure> {
    let is_alone = common::is_alone(results);
    let mut groups: Vec<Vec<&TraceRecord>> = Vec::new();
    for trace in &results.traces {
        let is_of_group = |group: &&mut Vec<&TraceRecord>| {
            group.first().is_some_and(|first| {
                common::is_same(&first.repository, &trace.repository) && first.workload == trace.workload
            })
        };
        match groups.iter_mut().find(is_of_group) {
            // A variant that was traced twice reads the same twice.
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
    maps: Vec<(String, &'a TraceRecord, &'a AccessMap)>,
}

fn figure(group: &[&TraceRecord], is_alone: bool) -> Option<Figure> {
    let first = group.first()?;
    let mut roles: Vec<RoleMaps<'_>> = Vec::new();
    for trace in group {
        for map in trace.maps.iter().filter(|map| is_drawable(map)) {
            let entry = (trace.variant.label().into_owned(), *trace, map);
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
        id: common::id(Section::Accesses, &first.repository, is_alone, &first.workload.name),
        section: Section::Accesses,
        title: format!("Where {workload} reads, {}", common::name(&first.repository)),
        description: description(&roles),
        notes: vec![
            "From left to right the order in which pages are touched, from top to bottom the place in the files, laid end to end. All maps of a kind of file have one scale: a smaller file is lower, fewer touches are narrower.".to_owned(),
            "The darker, the more often (on a dark page: the lighter), each step being an equal factor. Touches of the same page one after the other count once.".to_owned(),
            "Empty caches, no measurement: the same on every machine.".to_owned(),
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
    let signs = CLASS_NAMES.iter().enumerate().map(|(number, class)| LegendEntry {
        class: "",
        sign: Sign::Swatch(class),
        text: ["touched least", "", "", "", "most"].get(number).copied().unwrap_or_default().to_owned(),
    });
    let mut top = 8.0 + draw_legend(&mut drawing, &signs.collect::<Vec<_>>(), width, 8.0);
    let maps = || roles.iter().flat_map(|of| &of.maps);
    // The widest name or figure that stands beside a map.
    let label = maps().map(|(label, ..)| text_width(label, 12.0)).fold(60.0, f64::max).min(200.0);
    let left = if width == Width::Wide { 12.0 + label + 14.0 } else { 14.0 };
    let touches = maps().map(|(.., map)| map.touches as f64);
    let x = Scale::linear(touches, [left, width.px() - 16.0]);
    for of in roles {
        top = draw_role(&mut drawing, of, &x, width, top);
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

/// How high the longest file's map is: less where there are many.
fn map_height(of: &RoleMaps<'_>) -> f64 {
    (900.0 / of.maps.len() as f64).clamp(36.0, if of.role.contains("index") { 70.0 } else { 130.0 })
}

fn draw_role(drawing: &mut Drawing, of: &RoleMaps<'_>, x: &Scale, width: Width, top: f64) -> f64 {
    let mut top = top;
    drawing.text([12.0, top + 16.0], Anchor::Start, "strong", &fit(of.role, 13.0, width.px() - 24.0));
    top += 28.0;
    let longest = of.maps.iter().map(|(_, trace, map)| length(trace, map)).fold(0.0, f64::max);
    for (label, trace, map) in &of.maps {
        let height = (map_height(of) * length(trace, map) / longest).max(2.0);
        let [left, _] = x.ends();
        let size = format!("{} MB", megabytes(bytes(trace, map)));
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
        drawing.mark(label, &tip(label, trace, map), "", |drawing| draw_map(drawing, map, area));
        top += row + 10.0;
    }
    top + 10.0
}

fn bytes(trace: &TraceRecord, map: &AccessMap) -> u64 {
    map.pages.saturating_mul(trace.page_len)
}

fn length(trace: &TraceRecord, map: &AccessMap) -> f64 {
    bytes(trace, map) as f64
}

fn draw_map(drawing: &mut Drawing, map: &AccessMap, [x, y, width, height]: [f64; 4]) {
    drawing.rect([x, y, width, height], "frame");
    let cell = [width / f64::from(map.columns), height / f64::from(map.rows)];
    for (class, d) in paths(map) {
        drawing.cells(&d, class, [x, y], cell);
    }
}

/// Which class `count` belongs to, from 0 on: each reaches an equal factor farther, up to `most`.
fn class_of(count: u64, most: u64) -> u32 {
    let part = (count.max(1) as f64).ln() / (most.max(2) as f64).ln();
    // A part of 1 at most; the cast saturates.
    ((part * f64::from(CLASSES)) as u32).min(CLASSES - 1)
}

/// The touched cells of each class as one path: cells of a class that lie side by side are one rectangle.
fn paths(map: &AccessMap) -> Vec<(&'static str, String)> {
    let most = map.cells.iter().map(|(.., count)| *count).max().unwrap_or_default();
    let mut grid: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for (column, row, count) in &map.cells {
        if *count > 0 && *column < map.columns && *row < map.rows {
            grid.insert((*column, *row), class_of(*count, most));
        }
    }
    let mut rectangles = Rectangles::default();
    // Stretches down a column; those that go on in the next column, at the same height, grow.
    let mut stretch: Option<[u32; 4]> = None;
    for ((column, row), class) in grid {
        match &mut stretch {
            Some([of_column, of_class, _, end]) if (*of_column, *of_class, *end) == (column, class, row) => *end += 1,
            _ => {
                rectangles.extend(stretch.replace([column, class, row, row + 1]));
            }
        }
    }
    rectangles.extend(stretch);
    rectangles.paths()
}

/// Rectangles of cells: class, rows from and to, then columns from and to.
#[derive(Debug, Default)]
struct Rectangles(BTreeMap<[u32; 3], Vec<[u32; 2]>>);

impl Rectangles {
    fn extend(&mut self, stretch: Option<[u32; 4]>) {
        let Some([column, class, from, to]) = stretch else { return };
        let columns = self.0.entry([class, from, to]).or_default();
        match columns.last_mut() {
            Some([_, end]) if *end == column => *end += 1,
            _ => columns.push([column, column + 1]),
        }
    }

    fn paths(&self) -> Vec<(&'static str, String)> {
        let mut paths: BTreeMap<u32, String> = BTreeMap::new();
        for ([class, from, to], columns) in &self.0 {
            let d = paths.entry(*class).or_default();
            for [start, end] in columns {
                let width = end - start;
                d.push_str(&format!("M{start} {from}h{width}v{}h-{width}z", to - from));
            }
        }
        let named = |(class, d): (u32, String)| Some((*CLASS_NAMES.get(class as usize)?, d));
        paths.into_iter().filter_map(named).collect()
    }
}

fn tip(label: &str, trace: &TraceRecord, map: &AccessMap) -> Vec<String> {
    let of_role: u64 = map.cells.iter().map(|(.., count)| *count).fold(0, u64::saturating_add);
    let mut tip = vec![
        format!("{label}: {}", map.role),
        format!("{} MB, {} pages", megabytes(bytes(trace, map)), thousands(map.pages)),
        format!("{} of {} touches", thousands(of_role), thousands(map.touches)),
    ];
    if let Some(files) = trace.files.iter().find(|files| files.role == map.role) {
        let part = share(files.touched as f64 / files.pages.max(1) as f64);
        tip.push(format!("{} pages touched ({part}), in {} runs", thousands(files.touched), thousands(files.runs)));
    }
    tip
}

fn description(roles: &[RoleMaps<'_>]) -> String {
    let mut text = "Maps of where and when pages are read: the order of reading from left to right, the place in the files from top to bottom.".to_owned();
    for of in roles {
        let shown = |(label, trace, map): &(String, &TraceRecord, &AccessMap)| {
            let files = trace.files.iter().find(|files| files.role == map.role);
            let touched =
                files.map(|files| format!(", {} of {} pages", thousands(files.touched), thousands(files.pages)));
            format!("{label} {} MB{}", megabytes(bytes(trace, map)), touched.unwrap_or_default())
        };
        let maps: Vec<String> = of.maps.iter().map(shown).collect();
        text.push_str(&format!(" {}: {}.", of.role, maps.join("; ")));
    }
    text
}

fn table(roles: &[RoleMaps<'_>]) -> FigureTable {
    let mut table = FigureTable::new(&[
        "files",
        "variant",
        "#MB",
        "#pages",
        "#pages touched",
        "#runs of pages",
        "#touches",
        "#touches of all files",
    ]);
    for of in roles {
        for (label, trace, map) in &of.maps {
            let files = trace.files.iter().find(|files| files.role == map.role);
            let touches: u64 = map.cells.iter().map(|(.., count)| *count).fold(0, u64::saturating_add);
            table.rows.push(vec![
                of.role.to_owned(),
                label.clone(),
                megabytes(bytes(trace, map)),
                thousands(map.pages),
                files.map_or_else(|| "-".to_owned(), |files| thousands(files.touched)),
                files.map_or_else(|| "-".to_owned(), |files| thousands(files.runs)),
                thousands(touches),
                thousands(map.touches),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(cells: Vec<(u32, u32, u64)>) -> AccessMap {
        AccessMap { role: "pack".into(), pages: 80, touches: 500, columns: 8, rows: 6, cells }
    }

    /// Which cells `paths` fill, with their classes.
    fn filled(paths: &[(&str, String)]) -> BTreeMap<(u32, u32), String> {
        let mut filled = BTreeMap::new();
        for (class, d) in paths {
            for part in d.split('M').filter(|part| !part.is_empty()) {
                let numbers: Vec<u32> =
                    part.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
                let [x, y, width, height, _] = numbers[..] else { panic!("{part}") };
                for column in x..x + width {
                    for row in y..y + height {
                        assert_eq!(filled.insert((column, row), (*class).to_owned()), None, "twice: {column} {row}");
                    }
                }
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
        let paths = paths(&map);
        let filled = filled(&paths);
        for (column, row, count) in cells {
            let is_inside = count > 0 && column < 8 && row < 6;
            let class = is_inside.then(|| CLASS_NAMES[class_of(count, 500) as usize].to_owned());
            assert_eq!(filled.get(&(column, row)).cloned(), class, "{column} {row}");
        }
        assert_eq!(filled.len(), 11);
        // Six cells side by side are one rectangle.
        assert!(paths[0].1.contains("M0 0h3v2h-3z"), "{paths:?}");
    }

    #[test]
    fn classes_are_equal_factors() {
        let classes: Vec<u32> =
            [1, 2, 9, 10, 99, 100, 999, 1000, 9999, 10_000, 100_000].map(|count| class_of(count, 100_000)).into();
        assert_eq!(classes, [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
        assert_eq!([class_of(0, 0), class_of(1, 1), class_of(2, 2)], [0, 0, 4]);
    }
}
