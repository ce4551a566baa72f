//! Placement of names beside points without overlap.

/// A rectangle: its upper left corner, its width and its height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    /// Its left side.
    pub(super) x: f64,
    /// Its upper side.
    pub(super) y: f64,
    /// Its width.
    pub(super) width: f64,
    /// Its height.
    pub(super) height: f64,
}

impl Area {
    /// The square about a point.
    pub(super) fn about([x, y]: [f64; 2], radius: f64) -> Self {
        Area { x: x - radius, y: y - radius, width: 2.0 * radius, height: 2.0 * radius }
    }

    /// What an upright or level line covers.
    pub(super) fn of_line([x1, y1, x2, y2]: [f64; 4]) -> Self {
        Area { x: x1.min(x2), y: y1.min(y2), width: (x2 - x1).abs(), height: (y2 - y1).abs() }
    }

    /// Whether the two overlap.
    pub(super) fn overlaps(&self, other: &Area) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }

    fn holds(&self, other: &Area) -> bool {
        self.x <= other.x
            && self.y <= other.y
            && self.x + self.width >= other.x + other.width
            && self.y + self.height >= other.y + other.height
    }

    /// Its distance from a point.
    fn distance(&self, to: [f64; 2]) -> f64 {
        let [x, y] = self.nearest(to);
        (x - to[0]).hypot(y - to[1])
    }

    /// Its nearest place to `point`.
    fn nearest(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [x.clamp(self.x, self.x + self.width), y.clamp(self.y, self.y + self.height)]
    }
}

/// A place for a name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LabelPlace {
    /// The area of the name.
    pub(super) area: Area,
    /// A line from the point to a distant name.
    pub(super) leader: Option<[f64; 4]>,
}

/// The free and the taken areas of a drawing.
#[derive(Debug)]
pub(super) struct Room {
    bounds: Area,
    taken: Vec<Area>,
    /// Lines that a name stands on only where there is no other place for it.
    lines: Vec<Area>,
    /// All points. A name without a line must not be nearer to another point than to its own.
    points: Vec<[f64; 2]>,
}

/// The gap between a point and its name.
const GAP: f64 = 3.0;
/// Further distances from a point, in pixels.
const RINGS: [f64; 9] = [8.0, 16.0, 26.0, 38.0, 52.0, 70.0, 90.0, 115.0, 145.0];
/// From this distance on, a line leads to the name.
const LEADER_FROM: f64 = 12.0;

impl Room {
    /// All of `bounds`.
    pub(super) fn new(bounds: Area) -> Self {
        Room { bounds, taken: Vec::new(), lines: Vec::new(), points: Vec::new() }
    }

    /// Marks `area` as taken.
    pub(super) fn take(&mut self, area: Area) {
        self.taken.push(area);
    }

    /// Marks the upright or level line between two places as one to avoid.
    pub(super) fn avoid_line(&mut self, line: [f64; 4]) {
        self.lines.push(Area::of_line(line));
    }

    /// Marks the square about a point as taken.
    pub(super) fn take_point(&mut self, point: [f64; 2], radius: f64) {
        self.take(Area::about(point, radius));
        self.points.push(point);
    }

    /// Takes the best free place for a name of this size beside `point`, at most `reach` away, if there is one.
    pub(super) fn place(&mut self, point: [f64; 2], size: [f64; 2], radius: f64, reach: f64) -> Option<LabelPlace> {
        let rings = RINGS.into_iter().filter(|distance| *distance <= reach);
        let distances: Vec<f64> = [0.0].into_iter().chain(rings).collect();
        let free = || {
            let all = distances.iter().flat_map(|distance| places(point, size, radius, *distance));
            all.filter(|place| self.is_free(place) && self.is_clear(place, point))
        };
        let is_off_lines = |place: &LabelPlace| !self.lines.iter().any(|line| line.overlaps(&place.area));
        let found = free().find(is_off_lines).or_else(|| free().next())?;
        self.taken.push(found.area);
        self.taken.extend(found.leader.into_iter().flat_map(along));
        Some(found)
    }

    fn is_free(&self, place: &LabelPlace) -> bool {
        self.bounds.holds(&place.area)
            && !self.taken.iter().any(|taken| taken.overlaps(&place.area))
            && place.leader.is_none_or(|line| !self.is_crossed(line))
    }

    /// Whether a reader sees which point the name belongs to.
    fn is_clear(&self, place: &LabelPlace, point: [f64; 2]) -> bool {
        let own = place.area.distance(point);
        place.leader.is_some()
            || self.points.iter().all(|other| *other == point || place.area.distance(*other) > own * 0.9)
    }

    /// Whether the line crosses a name, or a point other than its start.
    fn is_crossed(&self, [x1, y1, x2, y2]: [f64; 4]) -> bool {
        along([x1, y1, x2, y2]).any(|at| {
            self.taken.iter().any(|taken| taken.overlaps(&at) && !taken.overlaps(&Area::about([x1, y1], 0.5)))
        })
    }
}

/// Small areas along a line, except at its start.
fn along([x1, y1, x2, y2]: [f64; 4]) -> impl Iterator<Item = Area> {
    (2..20).map(move |step| {
        let part = f64::from(step) / 20.0;
        Area::about([x1 + part * (x2 - x1), y1 + part * (y2 - y1)], 0.5)
    })
}

/// Places around a point, the best first: right of it, left, above, below, then between these.
fn places(point: [f64; 2], [width, height]: [f64; 2], radius: f64, distance: f64) -> impl Iterator<Item = LabelPlace> {
    // Sixteenths of a turn, counter-clockwise from the right.
    [0, 8, 4, 12, 2, 14, 6, 10, 1, 15, 7, 9, 3, 13, 5, 11].into_iter().map(move |sixteenth: u32| {
        let (sine, cosine) = (std::f64::consts::TAU * f64::from(sixteenth) / 16.0).sin_cos();
        let away = radius + GAP + distance;
        let anchor = [point[0] + away * cosine, point[1] - away * sine];
        // The side of the name that faces the point touches the anchor; diagonals interpolate.
        let part = |value: f64| f64::midpoint(1.0, (value * 1.6).clamp(-1.0, 1.0));
        let area =
            Area { x: anchor[0] - width * (1.0 - part(cosine)), y: anchor[1] - height * part(sine), width, height };
        let [x, y] = area.nearest(point);
        let leader = (distance >= LEADER_FROM).then(|| [point[0] + radius * cosine, point[1] - radius * sine, x, y]);
        LabelPlace { area, leader }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room() -> Room {
        Room::new(Area { x: 0.0, y: 0.0, width: 400.0, height: 300.0 })
    }

    #[test]
    fn name_is_right_of_its_point_if_possible() {
        let mut room = room();
        room.take(Area::about([100.0, 100.0], 5.0));
        let place = room.place([100.0, 100.0], [50.0, 14.0], 5.0, 100.0).unwrap();
        assert_eq!((place.area.x, place.area.y, place.leader), (108.0, 93.0, None));
        // At the right edge it stands left.
        let place = room.place([390.0, 100.0], [50.0, 14.0], 5.0, 100.0).unwrap();
        assert_eq!(place.area.x + place.area.width, 382.0);
        assert_eq!(room.place([390.0, 100.0], [500.0, 14.0], 5.0, 100.0), None, "too long for the drawing");
    }

    #[test]
    fn names_never_overlap_names_or_points() {
        let mut room = room();
        // A crowd around one place, and a few farther off.
        let points: Vec<[f64; 2]> = (0..40)
            .map(f64::from)
            .map(|n| [200.0 + 3.0 * (n * 0.7).sin() * n, 150.0 + 2.5 * (n * 1.3).cos() * n])
            .collect();
        for point in &points {
            room.take(Area::about(*point, 5.0));
        }
        let places: Vec<LabelPlace> =
            points.iter().filter_map(|point| room.place(*point, [60.0, 14.0], 5.0, 150.0)).collect();
        assert!(places.len() >= 20, "{}", places.len());
        for (number, place) in places.iter().enumerate() {
            assert!(room.bounds.holds(&place.area));
            assert!(places[..number].iter().all(|other| !other.area.overlaps(&place.area)), "{place:?}");
            assert!(points.iter().all(|point| !Area::about(*point, 5.0).overlaps(&place.area)), "{place:?}");
        }
        assert!(places.iter().any(|place| place.leader.is_some()));
    }

    #[test]
    fn name_is_nearest_to_its_own_point() {
        let mut room = room();
        let points = [[100.0, 100.0], [128.0, 102.0]];
        points.iter().for_each(|point| room.take_point(*point, 6.0));
        for (point, other) in [(points[0], points[1]), (points[1], points[0])] {
            let place = room.place(point, [60.0, 14.0], 5.0, 150.0).unwrap();
            assert!(
                place.leader.is_some() || place.area.distance(point) * 0.9 < place.area.distance(other),
                "{place:?}"
            );
        }
    }

    #[test]
    fn name_stands_on_a_line_only_where_there_is_no_other_place() {
        let mut room = room();
        room.take_point([100.0, 100.0], 5.0);
        room.avoid_line([100.0, 100.0, 400.0, 100.0]);
        let place = room.place([100.0, 100.0], [50.0, 14.0], 5.0, 100.0).unwrap();
        assert!(place.area.x + place.area.width < 100.0, "left of it: {place:?}");
        let mut narrow = Room::new(Area { x: 0.0, y: 90.0, width: 70.0, height: 20.0 });
        narrow.avoid_line([0.0, 100.0, 70.0, 100.0]);
        assert!(narrow.place([8.0, 100.0], [50.0, 14.0], 5.0, 100.0).is_some());
    }

    #[test]
    fn placement_is_deterministic() {
        let all = || {
            let mut room = room();
            (0..9).map(|n| room.place([100.0 + f64::from(n), 90.0], [40.0, 14.0], 4.0, 90.0)).collect::<Vec<_>>()
        };
        assert_eq!(all(), all());
    }
}
