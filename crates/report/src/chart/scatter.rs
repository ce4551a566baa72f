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

/// All points, and the baseline.
#[derive(Debug)]
pub(super) struct Scatter {
    /// The points.
    pub(super) points: Vec<Point>,
    /// The baseline's name.
    pub(super) baseline: String,
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

/// The plane of a drawing.
struct Plane {
    width: Width,
    x: Scale,
    y: Scale,
    area: Area,
}

const TEXT: f64 = 12.0;
const RADIUS: f64 = 5.0;

impl Scatter {
    /// Draws it.
    pub(super) fn draw(&self, width: Width) -> (Drawing, f64) {
        let mut drawing = Drawing::default();
        let mut legend = look_legend(self.points.iter().map(|point| point.look));
        legend.push(LegendEntry { class: "", sign: Sign::Line("front"), text: "best trade-offs".to_owned() });
        let top = 10.0 + draw_legend(&mut drawing, &legend, width, 6.0);
        let plane = self.plane(width, top);
        plane.draw(&mut drawing, &self.baseline);
        let front = front(&self.points);
        plane.draw_front(&mut drawing, &front);
        let labels = self.place_labels(&plane, &front);
        for (point, label) in &labels {
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
        (drawing, plane.area.y + plane.area.height + 44.0)
    }

    fn plane(&self, width: Width, top: f64) -> Plane {
        let [left, height] = if width == Width::Wide { [62.0, 470.0] } else { [48.0, 330.0] };
        let area = Area { x: left, y: top, width: width.px() - left - 14.0, height };
        let sizes = self.points.iter().map(|point| point.size).chain([1.0]);
        let times = self.points.iter().map(|point| point.time).chain([1.0]);
        let ends: Vec<f64> = self.points.iter().filter_map(|point| point.interval).flatten().collect();
        let x = Scale::log(sizes, [area.x, area.x + area.width]);
        let y = Scale::log(times, [area.y + area.height, area.y]).holding(&ends, 0.25);
        Plane { width, x, y, area }
    }

    /// Each point in reading order with the place of its name, if there is one. Points of the front get their places
    /// first.
    fn place_labels(
        &self,
        plane: &Plane,
        front: &[&Point],
    ) -> Vec<(&Point, Option<(super::labels::LabelPlace, String)>)> {
        let is_front = |point: &Point| front.iter().any(|of_front| std::ptr::eq(*of_front, point));
        let mut room = Room::new(Area { x: plane.area.x + 2.0, width: plane.area.width + 8.0, ..plane.area });
        self.points.iter().for_each(|point| room.take(Area::about(plane.at(point), RADIUS + 1.0)));
        let [x, y, width, height] = plane.better();
        room.take(Area { x, y, width, height });
        let mut points: Vec<&Point> = self.points.iter().collect();
        points.sort_by_key(|point| (!point.is_baseline, !is_front(point)));
        let most = if plane.width == Width::Wide { 230.0 } else { 105.0 };
        let mut placed: Vec<_> = points
            .into_iter()
            .map(|point| {
                let is_needed = is_front(point) || point.is_baseline;
                // Bold letters are wider.
                let size = if is_needed { TEXT * 1.06 } else { TEXT };
                let text = fit(&point.name, size, most);
                let reach = if is_needed { f64::INFINITY } else { 30.0 };
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
    fn better(&self) -> [f64; 4] {
        [self.area.x + 6.0, self.area.y + self.area.height - 22.0, 66.0, 18.0]
    }

    /// Draws grid, axes, cross hairs at the baseline, and the mark of the better corner.
    fn draw(&self, drawing: &mut Drawing, baseline: &str) {
        let Area { x: left, y: top, width, height } = self.area;
        let (right, bottom) = (left + width, top + height);
        for tick in self.x.ticks(|tick| text_width(&tick_text(tick), 11.0) + 12.0) {
            let x = self.x.at(tick);
            drawing.line([x, top, x, bottom], "grid");
            drawing.text([x, bottom + 15.0], Anchor::Middle, "muted small", &tick_text(tick));
        }
        for tick in self.y.ticks(|_| 24.0) {
            let y = self.y.at(tick);
            drawing.line([left, y, right, y], "grid");
            drawing.text([left - 6.0, y + 4.0], Anchor::End, "muted small", &tick_text(tick));
        }
        drawing.line([left, bottom, right, bottom], "axis");
        drawing.line([left, top, left, bottom], "axis");
        let (x, y) = (self.x.at(1.0), self.y.at(1.0));
        drawing.line([x, top, x, bottom], "reference");
        drawing.line([left, y, right, y], "reference");
        let [x, y, ..] = self.better();
        drawing.text([x, y + 13.0], Anchor::Start, "muted strong halo", "↙ better");
        self.titles(drawing, baseline);
    }

    fn titles(&self, drawing: &mut Drawing, baseline: &str) {
        let Area { x: left, y: top, width, height } = self.area;
        let [x_title, y_title] = match self.width {
            Width::Wide => [
                format!("← smaller · size on disk as a multiple of {baseline}'s (log scale)"),
                format!("← faster · time as a multiple of {baseline}'s (log scale)"),
            ],
            Width::Narrow => ["← smaller · size ratio (log)".to_owned(), "← faster · time ratio (log)".to_owned()],
        };
        let x_title = fit(&x_title, TEXT, width);
        drawing.text([left + width / 2.0, top + height + 34.0], Anchor::Middle, "muted", &x_title);
        let x = if self.width == Width::Wide { 16.0 } else { 12.0 };
        drawing.text_upwards([x, top + height / 2.0], "muted", &fit(&y_title, TEXT, height));
    }

    /// Steps from point to point: everything above and to the right is beaten by one of them.
    fn draw_front(&self, drawing: &mut Drawing, front: &[&Point]) {
        use super::svg::px;
        let Some(first) = front.first() else { return };
        let mut d = format!("M{} {}", px(self.x.at(first.size)), px(self.area.y));
        for point in front {
            let [x, y] = self.at(point);
            d.push_str(&format!("H{}V{}", px(x), px(y)));
        }
        d.push_str(&format!("H{}", px(self.area.x + self.area.width)));
        drawing.path(&d, "front");
    }

    fn draw_interval(&self, drawing: &mut Drawing, point: &Point) {
        let Some([low, high]) = point.interval.filter(|[low, high]| is_positive(*low) && is_positive(*high)) else {
            return;
        };
        let ([x, _], low_y, high_y) = (self.at(point), self.y.at(low), self.y.at(high));
        let [least, most] = self.y.range();
        drawing.line([x, low_y, x, high_y], "line thin");
        for (y, is_inside) in [(low_y, low >= least), (high_y, high <= most)] {
            if is_inside {
                drawing.line([x - 3.5, y, x + 3.5, y], "line thin");
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
        let scatter = Scatter { points, baseline: "zlib:6".to_owned() };
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
