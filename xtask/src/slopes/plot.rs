//! The picture of `docs/large.md`: CPU time against size, and anonymous memory against objects, with the limits.

use std::fmt::Write;

use super::Measurement;
use super::page::{FIXED, PER_OBJECT, Row};

/// A panel's size in pixels, with room for its axes and legend.
const WIDTH: f64 = 920.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 258.0;

/// Colours that differ in lightness too, so that they stay apart in print.
const COLOURS: [&str; 7] = ["#0b62b0", "#c2480a", "#1a7f37", "#8250df", "#9a6700", "#cf222e", "#57606a"];

/// A value for every place on the axis across.
type Curve = fn(f64) -> f64;

/// One panel.
struct Panel<'a> {
    title: &'a str,
    unit: &'a str,
    x_unit: &'a str,
    x: fn(&Measurement) -> f64,
    y: fn(&Measurement) -> f64,
    /// A curve to compare with, and its name.
    reference: Option<(&'a str, Curve)>,
}

/// Both panels, one above the other.
pub(super) fn draw(rows: &[Row]) -> String {
    let panels = [
        Panel {
            title: "CPU time against size",
            unit: "s",
            x_unit: "GB of packs",
            x: |run| run.repository.bytes as f64 / 1e9,
            y: |run| run.usage.cpu(),
            reference: None,
        },
        Panel {
            title: "Anonymous memory against objects",
            unit: "MB",
            x_unit: "million objects",
            x: |run| run.repository.objects as f64 / 1e6,
            y: |run| run.usage.anonymous as f64 / 1e6,
            reference: Some(("limit", |millions| FIXED / 1e6 + PER_OBJECT * millions)),
        },
    ];
    let height = HEIGHT * panels.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\">\n\
         <style>\ntext{{font:12px system-ui,sans-serif;fill:#1b1f24}}\n.muted{{fill:#57606a}}\n\
         .grid{{stroke:#e4e7eb}}\n.limit{{stroke:#57606a;stroke-dasharray:4 3;fill:none}}\n\
         @media (prefers-color-scheme:dark){{text{{fill:#e6edf3}}.muted{{fill:#9da7b3}}.grid{{stroke:#30363d}}}}\n</style>\n"
    );
    for (index, panel) in panels.iter().enumerate() {
        let _ = writeln!(svg, "<g transform=\"translate(0 {})\">", HEIGHT * index as f64);
        panel.draw(&mut svg, rows);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

impl Panel<'_> {
    fn draw(&self, svg: &mut String, rows: &[Row]) {
        let points = |row: &Row| row.runs.iter().map(|run| ((self.x)(run), (self.y)(run))).collect::<Vec<_>>();
        let all: Vec<(f64, f64)> = rows.iter().flat_map(points).filter(|(x, y)| *x > 0.0 && *y > 0.0).collect();
        let limits = self.reference.iter().flat_map(|(_, curve)| all.iter().map(|(x, _)| curve(*x)));
        let across = Axis::of(all.iter().map(|point| point.0), LEFT, RIGHT);
        let up = Axis::of(all.iter().map(|point| point.1).chain(limits), BOTTOM, TOP);
        let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"18\" font-weight=\"600\">{}</text>", self.title);
        self.draw_ticks(svg, &across, &up);
        if let Some((name, curve)) = self.reference {
            let curve: Vec<_> = across.samples().map(|x| (across.at(x), up.at(curve(x)))).collect();
            let _ = writeln!(svg, "<path class=\"limit\" d=\"{}\"><title>{name}</title></path>", path(&curve));
            if let Some((x, y)) = curve.last() {
                let _ = writeln!(svg, "<text class=\"muted\" x=\"{:.1}\" y=\"{:.1}\">{name}</text>", x + 4.0, y + 4.0);
            }
        }
        for (index, row) in rows.iter().enumerate() {
            let line: Vec<_> = points(row).iter().map(|(x, y)| (across.at(*x), up.at(*y))).collect();
            draw_line(svg, index, row.job, &line);
        }
    }

    fn draw_ticks(&self, svg: &mut String, across: &Axis, up: &Axis) {
        for tick in up.ticks() {
            let (y, unit) = (up.at(tick), self.unit);
            let _ = writeln!(svg, "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>");
            let _ = writeln!(
                svg,
                "<text class=\"muted\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{tick} {unit}</text>",
                LEFT - 6.0,
                y + 4.0
            );
        }
        for tick in across.ticks() {
            let x = across.at(tick);
            let _ = writeln!(svg, "<path class=\"grid\" d=\"M{x:.1} {TOP}V{BOTTOM}\"/>");
            let y = BOTTOM + 16.0;
            let _ = writeln!(svg, "<text class=\"muted\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{tick}</text>");
        }
        let (x, y) = (f64::midpoint(LEFT, RIGHT), BOTTOM + 32.0);
        let unit = self.x_unit;
        let _ = writeln!(svg, "<text class=\"muted\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{unit}</text>");
    }
}

/// One job's line, with its points and its entry in the legend. The second seven jobs have dashed lines.
fn draw_line(svg: &mut String, index: usize, job: &str, line: &[(f64, f64)]) {
    let colour = COLOURS.get(index % COLOURS.len()).copied().unwrap_or("#57606a");
    let dash = if index < COLOURS.len() { "" } else { " stroke-dasharray=\"2 2\"" };
    let _ = writeln!(svg, "<path fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"{dash} d=\"{}\"/>", path(line));
    for (x, y) in line {
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{colour}\"><title>{job}</title></circle>"
        );
    }
    let y = TOP + 4.0 + 17.0 * index as f64;
    let _ = writeln!(
        svg,
        "<path stroke=\"{colour}\" stroke-width=\"1.5\"{dash} d=\"M{:.0} {y:.0}h18\"/><text x=\"{:.0}\" y=\"{:.0}\">{job}</text>",
        RIGHT + 50.0,
        RIGHT + 74.0,
        y + 4.0
    );
}

/// The points as the steps of an SVG path.
fn path(points: &[(f64, f64)]) -> String {
    let steps: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    if steps.is_empty() { String::new() } else { format!("M{}", steps.join("L")) }
}

/// A logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Axis {
    /// An axis for all values, with a margin.
    fn of(values: impl Iterator<Item = f64>, start: f64, end: f64) -> Self {
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low <= high { (low, high) } else { (1.0, 1.0) };
        Axis { low: low / 1.15, high: high * 1.15, start, end }
    }

    /// The place of a value in pixels.
    fn at(&self, value: f64) -> f64 {
        self.start + (value / self.low).ln() / (self.high / self.low).ln() * (self.end - self.start)
    }

    /// Round values: 1, 2 and 5 times powers of ten, or powers alone on a long axis.
    fn ticks(&self) -> Vec<f64> {
        let steps: &[f64] = if self.high / self.low > 500.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let powers = (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32);
        let all = powers.flat_map(|power| {
            // Division by a power of ten gives 0.2, where multiplication gives 0.20000000000000001.
            let scale = 10_f64.powi(power.abs());
            steps.iter().map(move |step| if power < 0 { step / scale } else { step * scale })
        });
        all.filter(|tick| (self.low..=self.high).contains(tick)).collect()
    }

    /// Values at equal distances, to draw a curve through.
    fn samples(&self) -> impl Iterator<Item = f64> {
        (0..=24).map(|step| self.low * (self.high / self.low).powf(f64::from(step) / 24.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_logarithmic() {
        let axis = Axis { low: 1.0, high: 100.0, start: 0.0, end: 200.0 };
        assert!((axis.at(10.0) - 100.0).abs() < 1e-9);
        assert_eq!(axis.ticks(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(Axis { low: 0.05, high: 90.0, start: 0.0, end: 1.0 }.ticks(), [0.1, 1.0, 10.0]);
        assert!((axis.samples().last().unwrap() - 100.0).abs() < 1e-9);
    }
}
