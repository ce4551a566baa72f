//! Points in a plane of two ratios, with the front of points that no other beats in both.

use super::{
    labels::{Area, Room},
    look::Look,
    rows::{LegendEntry, Sign, draw_legend, look_legend},
    scale::{Scale, is_positive, tick_text},
    svg::{Anchor, Drawing, Width, fit, text_width},
};

/// One variant.
#[derive(Debug, Clone)]
pub(super) struct Point {
    /// Its label.
    pub(super) variant: String,
    /// Its name.
    pub(super) name: String,
    /// Its family.
    pub(super) look: Look,
    /// The ratio of sizes.
    pub(super) size: f64,
    /// The ratio of times.
    pub(super) time: f64,
    /// The interval of the ratio of times.
    pub(super) interval: Option<[f64; 2]>,
    /// The lines of its tip.
    pub(super) tip: Vec<String>,
    /// Whether it does the same work as the others, and may be on the front.
    pub(super) is_comparable: bool,
    /// Whether it is the baseline.
    pub(super) is_baseline: bool,
}

/// Small multiples: one panel for each workload, all with the same axes.
#[derive(Debug)]
pub(super) struct Scatter {
    /// The panels, in reading order.
    pub(super) panels: Vec<ScatterPanel>,
    /// The baseline's name.
    pub(super) baseline: String,
    /// The compared time: `CPU time`.
    pub(super) time: &'static str,
}

/// The points of one workload.
#[derive(Debug)]
pub(super) struct ScatterPanel {
    /// The workload.
    pub(super) heading: String,
    /// Its name alone, for panels that are too narrow.
    pub(super) short_heading: String,
    /// The points.
    pub(super) points: Vec<Point>,
}

/// The points that no other beats in both ratios, by size. Of equal points only the first is included.
pub(super) fn front(points: &[Point]) -> Vec<&Point> {
    let mut sorted: Vec<&Point> = points.iter().filter(|point| point.is_comparable).collect();
    sorted.sort_by(|a, b| a.size.total_cmp(&b.size).then(a.time.total_cmp(&b.time)));
    let mut fastest = f64::INFINITY;
    sorted.retain(|point| {
        let is_on_front = point.time < fastest;
        fastest = fastest.min(point.time);
        is_on_front
    });
    sorted
}

/// The plane of a panel.
struct Plane {
    x: Scale,
    y: Scale,
    area: Area,
    /// The longest name of a point.
    longest: f64,
}

/// Where panels lie.
struct Grid {
    width: Width,
    columns: usize,
    left: f64,
    top: f64,
    /// The width and height of a plane.
    plane: [f64; 2],
}

const TEXT: f64 = 12.0;
const RADIUS: f64 = 5.0;
/// Between two panels of a row.
const GAP: f64 = 16.0;
/// Above a plane, for its heading.
const HEADING: f64 = 22.0;

impl Grid {
    fn of(panels: usize, width: Width, top: f64) -> Self {
        let columns = match (panels, width) {
            (..=1, _) => 1,
            (2 | 4, _) | (_, Width::Narrow) => 2,
            _ => 3,
        };
        let (left, height) = match width {
            Width::Wide => (62.0, if columns == 1 { 360.0 } else { 190.0 }),
            Width::Narrow => (48.0, if columns == 1 { 300.0 } else { 140.0 }),
        };
        let gaps = GAP * (columns - 1) as f64;
        let each = (width.px() - left - 14.0 - gaps) / columns as f64;
        Grid { width, columns, left, top, plane: [each, height] }
    }

    /// The plane of the panel at `index`.
    fn area(&self, index: usize) -> Area {
        let [width, height] = self.plane;
        let (row, column) = (index / self.columns, index % self.columns);
        let x = self.left + column as f64 * (width + GAP);
        Area { x, y: self.top + HEADING + row as f64 * (height + HEADING + 6.0), width, height }
    }
}

impl Scatter {
    /// Draws it.
    pub(super) fn draw(&self, width: Width) -> (Drawing, f64) {
        let mut drawing = Drawing::default();
        let mut legend = look_legend(self.points().map(|point| point.look));
        legend.push(LegendEntry { class: "", sign: Sign::Line("front"), text: "best trade-offs".to_owned() });
        let top = 6.0 + draw_legend(&mut drawing, &legend, width, 6.0);
        let grid = Grid::of(self.panels.len(), width, top);
        for (index, panel) in self.panels.iter().enumerate() {
            let plane = self.plane(&grid, index);
            let has_panel_below = index + grid.columns < self.panels.len();
            let is_fitting = text_width(&panel.heading, TEXT * 1.1) <= plane.area.width;
            let heading = if is_fitting { &panel.heading } else { &panel.short_heading };
            let heading = fit(heading, TEXT * 1.1, plane.area.width);
            drawing.text([plane.area.x, plane.area.y - 8.0], Anchor::Start, "strong", &heading);
            plane.draw_axes(&mut drawing, index % grid.columns == 0, !has_panel_below);
            let has_corner = index == 0 && panel.leaves_corner(&plane);
            if has_corner {
                let Area { x, y, .. } = plane.better();
                drawing.text([x, y + 13.0], Anchor::Start, "muted strong halo", "↙ better");
            }
            panel.draw(&mut drawing, &plane, has_corner);
        }
        let bottom = (0..self.panels.len()).map(|index| grid.area(index)).map(|area| area.y + area.height);
        let bottom = bottom.fold(top, f64::max);
        self.draw_titles(&mut drawing, &grid, bottom);
        (drawing, bottom + 44.0)
    }

    /// The points of all panels.
    pub(super) fn points(&self) -> impl Iterator<Item = &Point> {
        self.panels.iter().flat_map(|panel| &panel.points)
    }

    fn plane(&self, grid: &Grid, index: usize) -> Plane {
        let area = grid.area(index);
        let sizes = self.points().map(|point| point.size).chain([1.0]);
        let times = self.points().map(|point| point.time).chain([1.0]);
        let ends: Vec<f64> = self.points().filter_map(|point| point.interval).flatten().collect();
        let x = Scale::log(sizes, [area.x, area.x + area.width]);
        let y = Scale::log(times, [area.y + area.height, area.y]).holding(&ends, 0.25);
        let longest: f64 = if grid.width == Width::Wide { 230.0 } else { 125.0 };
        Plane { x, y, area, longest: longest.min(area.width * 0.8) }
    }

    fn draw_titles(&self, drawing: &mut Drawing, grid: &Grid, bottom: f64) {
        let (baseline, time, width) = (&self.baseline, self.time, grid.width.px() - grid.left - 14.0);
        let x_title = title("← smaller", "size on disk", baseline, width);
        drawing.text([grid.left + width / 2.0, bottom + 34.0], Anchor::Middle, "muted", &x_title);
        let x = if grid.width == Width::Wide { 16.0 } else { 12.0 };
        let height = bottom - grid.top;
        let y_title = title("← less", time, baseline, height);
        drawing.text_upwards([x, grid.top + height / 2.0], "muted", &y_title);
    }
}

/// The title of an axis with multiples of the baseline: the longest that fits. `less` says where less is.
fn title(less: &str, what: &str, baseline: &str, room: f64) -> String {
    let shortest = format!("{what} / {baseline}");
    let titles = [
        format!("{less} · {what} as a multiple of {baseline}'s (log scale)"),
        format!("{less} · {shortest} (log scale)"),
        format!("{less} · {shortest} (log)"),
        format!("{less} · {shortest}"),
        shortest,
    ];
    let fitting = titles.iter().find(|title| text_width(title, TEXT) <= room);
    fit(fitting.map_or(what, String::as_str), TEXT, room)
}

impl ScatterPanel {
    /// Whether nothing is drawn on the better corner. The axes say the same there.
    fn leaves_corner(&self, plane: &Plane) -> bool {
        let corner = plane.better();
        let points = self.points.iter().map(|point| Area::about(plane.at(point), RADIUS + 1.0));
        let intervals = self.points.iter().filter_map(|point| plane.interval_area(point));
        let lines = plane.front_lines(&front(&self.points)).into_iter().chain(plane.references()).map(Area::of_line);
        !points.chain(intervals).chain(lines).any(|area| area.overlaps(&corner))
    }

    /// Draws the best trade-offs, and the points with their names.
    fn draw(&self, drawing: &mut Drawing, plane: &Plane, has_corner: bool) {
        let front = front(&self.points);
        plane.draw_front(drawing, &front);
        for (point, label) in &self.place_labels(plane, &front, has_corner) {
            if let Some(line) = label.as_ref().and_then(|(place, _)| place.leader) {
                drawing.line(line, "leader");
            }
            let at = plane.at(point);
            drawing.mark(&point.variant, &point.tip, point.look.class(), |drawing| {
                plane.draw_interval(drawing, point);
                drawing.rect([at[0] - 9.0, at[1] - 9.0, 18.0, 18.0], "hit");
                point.look.draw(drawing, at, RADIUS);
                if let Some((place, text)) = label {
                    let is_front = front.iter().any(|of_front| std::ptr::eq(*of_front, *point));
                    let class = if is_front || point.is_baseline { "halo strong" } else { "halo" };
                    drawing.text([place.area.x, place.area.y + 11.0], Anchor::Start, class, text);
                }
            });
        }
    }

    /// Each point in reading order with the place of its name, if there is one. Points of the front get their places
    /// first.
    fn place_labels(
        &self,
        plane: &Plane,
        front: &[&Point],
        has_corner: bool,
    ) -> Vec<(&Point, Option<(super::labels::LabelPlace, String)>)> {
        let is_front = |point: &Point| front.iter().any(|of_front| std::ptr::eq(*of_front, point));
        let mut room = Room::new(Area { x: plane.area.x + 2.0, width: plane.area.width + 4.0, ..plane.area });
        for point in &self.points {
            room.take_point(plane.at(point), RADIUS + 1.0);
            plane.interval_area(point).into_iter().for_each(|area| room.take(area));
        }
        plane.front_lines(front).into_iter().for_each(|line| room.avoid_line(line));
        plane.references().into_iter().for_each(|line| room.avoid_line(line));
        if has_corner {
            room.take(plane.better());
        }
        let mut points: Vec<&Point> = self.points.iter().collect();
        points.sort_by_key(|point| (!point.is_baseline, !is_front(point)));
        let mut placed: Vec<_> = points
            .into_iter()
            .map(|point| {
                let is_needed = is_front(point) || point.is_baseline;
                // Bold letters are wider.
                let size = if is_needed { TEXT * 1.06 } else { TEXT };
                let text = fit(&point.name, size, plane.longest);
                let reach = if is_needed { f64::INFINITY } else { 70.0 };
                let place = room.place(plane.at(point), [text_width(&text, size) + 2.0, 14.0], RADIUS, reach);
                (point, place.map(|place| (place, text)))
            })
            .collect();
        placed.sort_by(|(a, _), (b, _)| a.size.total_cmp(&b.size));
        placed
    }
}

impl Plane {
    fn at(&self, point: &Point) -> [f64; 2] {
        [self.x.at(point.size), self.y.at(point.time)]
    }

    /// The area of the text on the better corner.
    fn better(&self) -> Area {
        Area { x: self.area.x + 6.0, y: self.area.y + self.area.height - 22.0, width: 66.0, height: 18.0 }
    }

    /// Draws grid, axes and cross hairs at the baseline; the values only at the outer panels.
    fn draw_axes(&self, drawing: &mut Drawing, has_y_values: bool, has_x_values: bool) {
        let Area { x: left, y: top, width, height } = self.area;
        let (right, bottom) = (left + width, top + height);
        for tick in self.x.ticks(|tick| text_width(&tick_text(tick), 11.0) + 12.0) {
            let x = self.x.at(tick);
            drawing.line([x, top, x, bottom], "grid");
            if has_x_values {
                drawing.text([x, bottom + 15.0], Anchor::Middle, "muted small", &tick_text(tick));
            }
        }
        for tick in self.y.ticks(|_| 24.0) {
            let y = self.y.at(tick);
            drawing.line([left, y, right, y], "grid");
            if has_y_values {
                drawing.text([left - 6.0, y + 4.0], Anchor::End, "muted small", &tick_text(tick));
            }
        }
        drawing.line([left, bottom, right, bottom], "axis");
        drawing.line([left, top, left, bottom], "axis");
        self.references().into_iter().for_each(|line| drawing.line(line, "reference"));
    }

    /// The cross hairs at the baseline.
    fn references(&self) -> [[f64; 4]; 2] {
        let Area { x: left, y: top, width, height } = self.area;
        let (x, y) = (self.x.at(1.0), self.y.at(1.0));
        [[x, top, x, top + height], [left, y, left + width, y]]
    }

    /// Steps from point to point: everything above and to the right is beaten by one of them.
    fn draw_front(&self, drawing: &mut Drawing, front: &[&Point]) {
        use super::svg::px;
        let lines = self.front_lines(front);
        let Some([x, y, ..]) = lines.first() else { return };
        let mut d = format!("M{} {}", px(*x), px(*y));
        for [x1, _, x2, y2] in lines {
            d.push_str(&if x1 == x2 { format!("V{}", px(y2)) } else { format!("H{}", px(x2)) });
        }
        drawing.path(&d, "front");
    }

    /// The upright and level lines of the front, from its smallest point on.
    fn front_lines(&self, front: &[&Point]) -> Vec<[f64; 4]> {
        let Some(first) = front.first() else { return Vec::new() };
        let mut lines = Vec::new();
        let [mut x, mut y] = [self.x.at(first.size), self.area.y];
        for point in front {
            let [next_x, next_y] = self.at(point);
            lines.extend([[x, y, next_x, y], [next_x, y, next_x, next_y]]);
            [x, y] = [next_x, next_y];
        }
        lines.push([x, y, self.area.x + self.area.width, y]);
        lines
    }

    /// The interval of a point, if it can be drawn.
    fn interval(point: &Point) -> Option<[f64; 2]> {
        point.interval.filter(|[low, high]| is_positive(*low) && is_positive(*high))
    }

    /// What the line of an interval covers, for the placement of names.
    fn interval_area(&self, point: &Point) -> Option<Area> {
        let [low, high] = Plane::interval(point)?;
        let ([x, _], bottom, top) = (self.at(point), self.y.at(low), self.y.at(high));
        Some(Area { x: x - 3.5, y: top, width: 7.0, height: bottom - top })
    }

    /// An upright line with end strokes, or arrows for ends beyond the axis.
    fn draw_interval(&self, drawing: &mut Drawing, point: &Point) {
        let Some([low, high]) = Plane::interval(point) else { return };
        let ([x, _], low_y, high_y) = (self.at(point), self.y.at(low), self.y.at(high));
        let [least, most] = self.y.range();
        drawing.line([x, low_y, x, high_y], "line thin");
        for (y, is_inside, step) in [(low_y, low >= least, -5.0), (high_y, high <= most, 5.0)] {
            if is_inside {
                drawing.line([x - 3.5, y, x + 3.5, y], "line thin");
            } else {
                // An arrow: the interval continues.
                drawing.line([x, y, x - 3.5, y + step], "line thin");
                drawing.line([x, y, x + 3.5, y + step], "line thin");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn point(label: &str, size: f64, time: f64) -> Point {
        Point {
            variant: label.to_owned(),
            name: label.to_owned(),
            look: Look::of_spec(label),
            size,
            time,
            interval: Some([time * 0.98, time * 1.03]),
            tip: vec![label.to_owned()],
            is_comparable: true,
            is_baseline: label == "zlib:6",
        }
    }

    fn of_panels(panels: Vec<Vec<Point>>) -> Scatter {
        let panel =
            |points| ScatterPanel { heading: "traverse".to_owned(), short_heading: "traverse".to_owned(), points };
        Scatter { panels: panels.into_iter().map(panel).collect(), baseline: "zlib:6".to_owned(), time: "CPU time" }
    }

    #[test]
    fn panels_do_not_overlap_and_fit_one_screen() {
        for (width, screen) in [(Width::Wide, 720.0), (Width::Narrow, 760.0)] {
            for panels in 1..=6 {
                let grid = Grid::of(panels, width, 30.0);
                let areas: Vec<Area> = (0..panels).map(|index| grid.area(index)).collect();
                for (number, area) in areas.iter().enumerate() {
                    assert!(area.x >= grid.left && area.x + area.width <= width.px(), "{panels}: {area:?}");
                    assert!(areas[..number].iter().all(|other| !other.overlaps(area)), "{panels}: {area:?}");
                }
                let points = || vec![point("zlib:6", 1.0, 1.0), point("zstd:5", 0.8, 0.6)];
                let (_, height) = of_panels((0..panels).map(|_| points()).collect()).draw(width);
                assert!(height <= screen, "{panels} panels are {height} high");
            }
        }
    }

    #[test]
    fn titles_of_axes_are_not_cut() {
        let points = || vec![point("zlib:6", 1.0, 1.0), point("zstd:5", 0.8, 0.6)];
        for time in ["CPU time", "elapsed time", "CPU or elapsed time"] {
            for (width, panels) in Width::ALL.into_iter().flat_map(|width| (1..=6).map(move |panels| (width, panels))) {
                let scatter = Scatter { time, ..of_panels((0..panels).map(|_| points()).collect()) };
                let (drawing, height) = scatter.draw(width);
                let svg = drawing.finish(height).svg("x", width, "t", "d");
                assert!(svg.contains("size on disk / zlib:6") || svg.contains("a multiple of zlib:6"), "{svg}");
                assert!(svg.contains(time) && !svg.contains('…'), "{panels} panels: {svg}");
            }
        }
    }

    #[test]
    fn intervals_beyond_the_axis_end_in_arrows() {
        let lines = |interval| {
            let wide = Point { interval: Some(interval), ..point("zstd:5", 0.8, 0.9) };
            let (drawing, height) = of_panels(vec![vec![point("zlib:6", 1.0, 1.0), wide]]).draw(Width::Wide);
            drawing.finish(height).svg("x", Width::Wide, "t", "d").matches("\"line thin\"").count()
        };
        assert_eq!(lines([0.0001, 1000.0]), lines([0.89, 0.91]) + 2, "two arrows of two lines for two strokes");
    }

    #[test]
    fn better_corner_is_named_only_where_nothing_is() {
        let has_name = |corner: Vec<Point>| {
            let points = corner.into_iter().chain([point("zlib:6", 1.0, 1.0), point("lz4", 1.4, 0.5)]).collect();
            let (drawing, height) = of_panels(vec![points]).draw(Width::Wide);
            drawing.finish(height).svg("x", Width::Wide, "t", "d").contains("better<")
        };
        assert!(has_name(vec![point("xz:6", 0.8, 0.9)]));
        assert!(!has_name(vec![point("zstd:9", 0.8, 0.5)]), "it is in the corner");
    }

    fn labels(points: &[&Point]) -> Vec<String> {
        points.iter().map(|point| point.name.clone()).collect()
    }

    #[test]
    fn front_has_unbeaten_points() {
        let mut points = vec![
            point("zlib:6", 1.0, 1.0),
            point("zstd:19", 0.9, 0.6),
            point("xz:6", 0.8, 2.0),
            point("lz4", 1.4, 0.4),
            point("snappy", 1.5, 0.5),
            // As good as another: only the first is on it.
            point("zstd:9", 0.9, 0.6),
            // As small, and slower.
            point("zstd:1", 0.9, 0.7),
        ];
        assert_eq!(labels(&front(&points)), ["xz:6", "zstd:19", "lz4"]);
        let unchecked = Point { is_comparable: false, ..point("lz4 [checksum=no]", 0.5, 0.1) };
        points.push(unchecked);
        assert_eq!(labels(&front(&points)), ["xz:6", "zstd:19", "lz4"]);
        assert!(front(&[]).is_empty());
    }

    #[test]
    fn every_point_has_a_mark_and_the_front_has_names() {
        let mut points: Vec<Point> = (0..40)
            .map(|number| {
                point(&format!("zstd:{number}"), 1.0 + 0.01 * f64::from(number % 7), 0.5 + 0.003 * f64::from(number))
            })
            .collect();
        points.push(point("zlib:6", 1.0, 1.0));
        let on_front = labels(&front(&points));
        let scatter = of_panels(vec![points]);
        for width in Width::ALL {
            let (drawing, height) = scatter.draw(width);
            let svg = drawing.finish(height).svg("x", width, "t", "d");
            let document = roxmltree::Document::parse(&svg).unwrap();
            let marks: Vec<_> =
                document.descendants().filter(|node| node.attribute("data-variant").is_some()).collect();
            assert_eq!(marks.len(), 41);
            for label in &on_front {
                let mark = marks.iter().find(|mark| mark.attribute("data-variant") == Some(label)).unwrap();
                assert!(
                    mark.children().any(|node| node.text() == Some(label) && node.has_tag_name("text")
                        || node.descendants().any(|node| node.has_tag_name("text"))),
                    "{label}"
                );
            }
        }
    }
}
