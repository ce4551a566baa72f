//! Charts of rows: each row has a name, marks along a common axis, and a text at its end. On a phone the texts are
//! above the marks.

use super::{
    look::Look,
    scale::{Scale, Spacing, is_positive, tick_text},
    svg::{Anchor, Drawing, Width, fit, text_width},
};

/// A chart of rows.
#[derive(Debug)]
pub(super) struct RowChart {
    /// The panels, from top to bottom.
    pub(super) panels: Vec<Panel>,
    /// The common axis.
    pub(super) axis: Axis,
    /// The meaning of colours and shapes.
    pub(super) legend: Vec<LegendEntry>,
}

/// The axis of marks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    /// Linear or logarithmic.
    pub(super) spacing: Spacing,
    /// Its title.
    pub(super) title: &'static str,
    /// A shorter title.
    pub(super) short_title: &'static str,
    /// The text of a value.
    pub(super) text: fn(f64) -> String,
    /// A value that is always on it, with its own line.
    pub(super) reference: Option<f64>,
    /// Whether it starts at the reference.
    pub(super) starts_at_reference: bool,
}

/// The axis of ratios of `CPU time`, `elapsed time`, or both.
pub(super) fn time_ratio_axis(time: &str) -> Axis {
    let (title, short_title) = match time {
        "CPU time" => {
            ("CPU time as a multiple of the baseline's (log scale; left is less)", "CPU time ratio (log; left is less)")
        }
        "elapsed time" => (
            "elapsed time as a multiple of the baseline's (log scale; left is less)",
            "elapsed time ratio (log; left is less)",
        ),
        _ => (
            "CPU or elapsed time as a multiple of the baseline's (log scale; left is less)",
            "CPU or elapsed time ratio (log; left is less)",
        ),
    };
    Axis {
        spacing: Spacing::Log,
        title,
        short_title,
        text: tick_text,
        reference: Some(1.0),
        starts_at_reference: false,
    }
}

/// A part of a chart.
#[derive(Debug, Default)]
pub(super) struct Panel {
    /// Its heading, if it has one.
    pub(super) heading: String,
    /// The range of chance.
    pub(super) band: Option<(f64, f64)>,
    /// Whether it has its own scale.
    pub(super) own_scale: bool,
    /// The rows.
    pub(super) rows: Vec<Row>,
}

/// A row of a chart.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// Its name.
    pub(super) label: String,
    /// The text at its end.
    pub(super) right: String,
    /// Whether it is less prominent, because it is not a variant.
    pub(super) is_muted: bool,
    /// The marks.
    pub(super) marks: Vec<RowMark>,
}

/// One datum.
#[derive(Debug, Default)]
pub(super) struct RowMark {
    /// The variant's label.
    pub(super) variant: String,
    /// The lines of its tip.
    pub(super) tip: Vec<String>,
    /// Its colour.
    pub(super) class: &'static str,
    /// Its shapes.
    pub(super) shapes: Vec<Shape>,
}

/// A part of a mark.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    /// A bar, with words inside if they fit.
    Bar {
        /// Where it begins.
        from: f64,
        /// Where it ends.
        to: f64,
        /// `fill`, or `pale`.
        class: &'static str,
        /// The words, and fewer words for short bars.
        text: [String; 2],
    },
    /// A bar of a third of the height.
    ThinBar {
        /// Where it begins.
        from: f64,
        /// Where it ends.
        to: f64,
        /// `fill`, or `pale`.
        class: &'static str,
    },
    /// A bar from 0 of half the height, so that two fit in one row.
    HalfBar {
        /// Where it ends.
        to: f64,
        /// `fill`, or `pale`.
        class: &'static str,
        /// Which half.
        is_upper: bool,
        /// The interval of its end.
        interval: Option<[f64; 2]>,
    },
    /// A family's shape.
    Point {
        /// Where it is.
        at: f64,
        /// Whose it is.
        look: Look,
    },
    /// An interval. An end that is not positive and finite is open.
    Whisker {
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
}

/// The meaning of a colour and a shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LegendEntry {
    /// The colour.
    pub(super) class: &'static str,
    /// Its sign.
    pub(super) sign: Sign,
    /// Its meaning.
    pub(super) text: String,
}

/// A sign in a legend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Sign {
    /// A family's shape.
    Point(Look),
    /// A piece of a bar, `fill`, `pale` or `band`.
    Swatch(&'static str),
    /// A piece of a line of this class.
    Line(&'static str),
}

/// Space at the sides.
const SIDE: f64 = 12.0;
/// Height of a row's marks.
const ROW: f64 = 20.0;
/// Size of most text.
const TEXT: f64 = 12.0;
/// The part of the span of points by which whiskers may exceed it before they are cut.
const BEYOND: f64 = 0.35;

/// The horizontal layout of rows.
struct Columns {
    width: Width,
    /// The longest name.
    label: f64,
    /// The range of marks.
    plot: [f64; 2],
    /// The longest word at the end.
    right: f64,
}

impl Columns {
    fn of(chart: &RowChart, width: Width) -> Self {
        let rows = || chart.panels.iter().flat_map(|panel| &panel.rows);
        let longest = |text: fn(&Row) -> &str| rows().map(|row| text_width(text(row), TEXT)).fold(0.0, f64::max);
        let right = longest(|row| &row.right);
        let page = width.px();
        match width {
            Width::Wide => {
                let label = longest(|row| &row.label).clamp(60.0, 240.0);
                let right = right.min(240.0);
                let start = SIDE + label + 14.0;
                let end = if right > 0.0 { page - SIDE - right - 12.0 } else { page - SIDE - 14.0 };
                Columns { width, label, plot: [start, end], right }
            }
            Width::Narrow => {
                let right = right.min(190.0);
                let label = page - 2.0 * SIDE - right - 8.0;
                Columns { width, label, plot: [SIDE + 4.0, page - SIDE - 8.0], right }
            }
        }
    }

    /// The height of a row.
    fn row_height(&self) -> f64 {
        if self.width == Width::Wide { ROW + 2.0 } else { ROW + 17.0 }
    }

    /// Draws the texts of a row and returns the middle of its marks.
    fn texts(&self, drawing: &mut Drawing, row: &Row, top: f64) -> f64 {
        // On a phone, texts are drawn over grid lines.
        let class = match (self.width, row.is_muted) {
            (Width::Wide, false) => "",
            (Width::Wide, true) => "muted",
            (Width::Narrow, false) => "halo",
            (Width::Narrow, true) => "muted halo",
        };
        let label = fit(&row.label, TEXT, self.label);
        let right = fit(&row.right, TEXT, self.right);
        let end = self.width.px() - SIDE;
        match self.width {
            Width::Wide => {
                let (middle, [start, plot_end]) = (top + ROW / 2.0 + 1.0, self.plot);
                drawing.text([start - 14.0, middle + 4.0], Anchor::End, class, &label);
                drawing.text([plot_end + 12.0, middle + 4.0], Anchor::Start, class, &right);
                middle
            }
            Width::Narrow => {
                drawing.text([SIDE, top + 13.0], Anchor::Start, class, &label);
                drawing.text([end, top + 13.0], Anchor::End, class, &right);
                top + 17.0 + ROW / 2.0 - 2.0
            }
        }
    }
}

impl RowChart {
    /// Draws it.
    pub(super) fn draw(&self, width: Width) -> (Drawing, f64) {
        let mut drawing = Drawing::default();
        let columns = Columns::of(self, width);
        let shared = self.scale(self.panels.iter().filter(|panel| !panel.own_scale), columns.plot);
        let mut top = 8.0 + draw_legend(&mut drawing, &self.legend, width, 8.0);
        for panel in &self.panels {
            let own = panel.own_scale.then(|| self.scale([panel], columns.plot));
            top = self.draw_panel(&mut drawing, panel, &columns, own.as_ref().unwrap_or(&shared), top);
        }
        let middle = f64::midpoint(columns.plot[0], columns.plot[1]);
        let title = if width == Width::Wide { self.axis.title } else { self.axis.short_title };
        let title = fit(title, TEXT, width.px() - 2.0 * SIDE);
        let half = text_width(&title, TEXT) / 2.0 + SIDE;
        let middle = middle.clamp(half.min(width.px() / 2.0), (width.px() - half).max(width.px() / 2.0));
        drawing.text([middle, top + 8.0], Anchor::Middle, "muted", &title);
        (drawing, top + 18.0)
    }

    /// The scale that contains all points and bars of `panels`, and whiskers that are not too long.
    fn scale<'a>(&self, panels: impl IntoIterator<Item = &'a Panel>, ends: [f64; 2]) -> Scale {
        let (mut values, mut whiskers) = (Vec::new(), Vec::new());
        values.extend(self.axis.reference);
        for panel in panels {
            // Like whiskers, the band may be cut.
            whiskers.extend(panel.band.into_iter().flat_map(|(low, high)| [low, high]));
            for shape in panel.rows.iter().flat_map(|row| &row.marks).flat_map(|mark| &mark.shapes) {
                match shape {
                    Shape::Bar { from, to, .. } | Shape::ThinBar { from, to, .. } => values.extend([*from, *to]),
                    Shape::HalfBar { to, interval, .. } => {
                        values.extend([0.0, *to].into_iter().chain(interval.iter().flatten().copied()));
                    }
                    Shape::Point { at, .. } => values.push(*at),
                    Shape::Whisker { low, high } => whiskers.extend([*low, *high]),
                }
            }
        }
        if self.axis.spacing == Spacing::Linear {
            return Scale::linear(values, ends);
        }
        let scale = Scale::log(values, ends).holding(&whiskers, BEYOND);
        if self.axis.starts_at_reference { scale.starting_at(self.axis.reference.unwrap_or_default()) } else { scale }
    }

    fn draw_panel(&self, drawing: &mut Drawing, panel: &Panel, columns: &Columns, scale: &Scale, top: f64) -> f64 {
        let [start, end] = columns.plot;
        let mut top = top;
        if !panel.heading.is_empty() {
            let heading = fit(&panel.heading, TEXT * 1.1, columns.width.px() - 2.0 * SIDE);
            drawing.text([SIDE, top + 18.0], Anchor::Start, "strong", &heading);
            top += 28.0;
        }
        let bottom = top + columns.row_height() * panel.rows.len() as f64 + 2.0;
        if let Some((low, high)) = panel.band.filter(|(low, high)| is_positive(*low) && is_positive(*high)) {
            drawing.rect([scale.at(low), top, scale.at(high) - scale.at(low), bottom - top], "band");
        }
        let text = self.axis.text;
        for tick in scale.ticks(|tick| text_width(&text(tick), 11.0) + 10.0) {
            let x = scale.at(tick);
            drawing.line([x, top, x, bottom], "grid");
            drawing.text([x, bottom + 14.0], Anchor::Middle, "muted small", &text(tick));
        }
        drawing.line([start, bottom, end, bottom], "axis");
        if let Some(reference) = self.axis.reference {
            drawing.line([scale.at(reference), top, scale.at(reference), bottom], "reference");
        }
        for row in &panel.rows {
            let middle = columns.texts(drawing, row, top);
            for mark in &row.marks {
                drawing.mark(&mark.variant, &mark.tip, mark.class, |drawing| {
                    for shape in &mark.shapes {
                        draw_shape(drawing, shape, scale, middle, mark.shapes.len());
                    }
                });
            }
            top += columns.row_height();
        }
        bottom + 24.0
    }
}

fn draw_shape(drawing: &mut Drawing, shape: &Shape, scale: &Scale, middle: f64, of: usize) {
    match shape {
        Shape::Bar { from, to, class, text } => {
            let (left, right) = ordered(scale.at(*from), scale.at(*to));
            // A hairline for invisibly small bars.
            drawing.rect([left, middle - 7.0, (right - left).max(0.6), 14.0], class);
            let fitting = text.iter().find(|text| text_width(text, 11.0) + 6.0 <= right - left);
            if let Some(text) = fitting.filter(|text| !text.is_empty()) {
                let class = if *class == "fill" { "small on" } else { "small" };
                drawing.text([f64::midpoint(left, right), middle + 4.0], Anchor::Middle, class, text);
            }
        }
        Shape::ThinBar { from, to, class } => {
            let (left, right) = ordered(scale.at(*from), scale.at(*to));
            drawing.rect([left, middle - 3.0, (right - left).max(0.6), 6.0], class);
        }
        Shape::HalfBar { to, class, is_upper, interval } => {
            let (left, right) = ordered(scale.at(0.0), scale.at(*to));
            let top = if *is_upper { middle - 8.0 } else { middle + 0.5 };
            drawing.rect([left, top, (right - left).max(0.6), 7.5], class);
            if let Some([low, high]) = interval {
                let (low, high, y) = (scale.at(*low), scale.at(*high), top + 3.75);
                drawing.group("ink", |drawing| {
                    drawing.line([low, y, high, y], "line");
                    [low, high].iter().for_each(|x| drawing.line([*x, y - 2.5, *x, y + 2.5], "line"));
                });
            }
        }
        Shape::Point { at, look } => {
            // A larger area to point at than the shape.
            if of == 1 {
                drawing.rect([scale.at(*at) - 9.0, middle - 9.0, 18.0, 18.0], "hit");
            }
            look.draw(drawing, [scale.at(*at), middle], 4.5);
        }
        Shape::Whisker { low, high } => draw_whisker(drawing, scale, [*low, *high], middle),
    }
}

/// A line with end strokes, or arrows for ends beyond the axis.
fn draw_whisker(drawing: &mut Drawing, scale: &Scale, [low, high]: [f64; 2], middle: f64) {
    let [least, most] = scale.range();
    let left = scale.at(low);
    let right = if high.is_finite() { scale.at(high) } else { scale.ends()[1] };
    drawing.rect([left, middle - 8.0, right - left, 16.0], "hit");
    drawing.line([left, middle, right, middle], "line");
    for (x, is_inside, step) in [(left, low >= least, 5.0), (right, high <= most, -5.0)] {
        if is_inside {
            drawing.line([x, middle - 4.0, x, middle + 4.0], "line");
        } else {
            // An arrow: the interval continues.
            drawing.line([x, middle, x + step, middle - 4.0], "line");
            drawing.line([x, middle, x + step, middle + 4.0], "line");
        }
    }
}

fn ordered(one: f64, other: f64) -> (f64, f64) {
    (one.min(other), one.max(other))
}

/// Draws a legend in as many lines as needed and returns its height.
pub(super) fn draw_legend(drawing: &mut Drawing, legend: &[LegendEntry], width: Width, top: f64) -> f64 {
    if legend.is_empty() {
        return 0.0;
    }
    let (mut x, mut y) = (SIDE, top + 12.0);
    let most = width.px() - 2.0 * SIDE - 20.0;
    for entry in legend {
        let text = fit(&entry.text, TEXT, most);
        let length = 20.0 + text_width(&text, TEXT);
        if x > SIDE && x + length > width.px() - SIDE {
            (x, y) = (SIDE, y + 19.0);
        }
        drawing.sign(entry, [x + 6.0, y - 4.0]);
        drawing.text([x + 18.0, y], Anchor::Start, "", &text);
        // A sign without text shares the text of the next one.
        x += if text.is_empty() { 13.0 } else { length + 14.0 };
    }
    y + 14.0 - top
}

impl Drawing {
    /// Draws a sign around its middle.
    fn sign(&mut self, entry: &LegendEntry, [x, y]: [f64; 2]) {
        self.group(entry.class, |drawing| match entry.sign {
            Sign::Point(look) => look.draw(drawing, [x, y], 4.5),
            Sign::Swatch(class) => drawing.rect([x - 6.0, y - 5.0, 12.0, 10.0], class),
            Sign::Line(class) => drawing.line([x - 7.0, y, x + 7.0, y], class),
        });
    }
}

/// The distinct families, in order.
pub(super) fn look_legend(looks: impl IntoIterator<Item = Look>) -> Vec<LegendEntry> {
    let looks: std::collections::BTreeSet<Look> = looks.into_iter().collect();
    let entry = |look: Look| LegendEntry { class: look.class(), sign: Sign::Point(look), text: look.name().to_owned() };
    looks.into_iter().map(entry).collect()
}
