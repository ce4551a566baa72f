//! Charts of results, as SVG.
//!
//! Every chart is drawn here as SVG; the HTML page and a file of its own hold the same picture. Drawing in advance
//! instead of using a chart library in the browser has these advantages: the page is a tenth as large as such a
//! library; charts work without JavaScript, in print and in a README; text can be selected and found; marks can be
//! reached with a keyboard; and no third-party code runs in a page that shows a repository's names. A script may add
//! tips and filters by the classes and attributes of marks.
//!
//! Each chart is a function from [`Results`] to [`Figure`]s: a picture, a description and a table of the data. A figure
//! is drawn twice, for a wide page and for a phone, because the letters of a shrunk picture are illegible.
//!
//! **Marks.** Every datum is a `<g class="mark" data-variant data-tip>` with a `<title>` equal to `data-tip`. Marks are
//! in reading order. Colours are classes only ([`CHART_STYLE`]): `c0` to `c11` for families of codecs, `k0` to `k7` for
//! kinds of bytes or of time, `i1` to `i5` for how often. A colour never carries information alone: a shape, a place or
//! a word repeats it.

mod accesses;
mod break_even;
mod common;
mod experiments;
mod factors;
mod labels;
mod look;
mod noise;
mod phases;
mod predicted;
mod ratios;
mod rows;
mod scale;
mod scatter;
mod size_time;
mod stored_bytes;
pub(crate) mod svg;
#[cfg(test)]
mod tests;

pub(crate) use experiments::experiment_figures;
use repackbench_analysis::Results;
use svg::Picture;
pub(crate) use svg::Width;

use crate::document::Table;

/// The style of all charts: once in a page, and in every chart file. Light, or dark if the reader prefers that on a
/// screen; print is light.
pub const CHART_STYLE: &str = include_str!("chart/style.css");

/// A chart with its texts and data.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figure {
    /// Unique in the page, stable, usable as a link: `noise-traverse`.
    pub id: String,
    /// The kind of chart: each has a section of the page.
    pub section: ChartKind,
    /// The title: `Noise and drift of traverse, git`.
    pub title: String,
    /// A description for readers who cannot see the picture: the axes, and the main values.
    pub description: String,
    /// Short sentences on how to read it.
    pub notes: Vec<String>,
    /// The workload that it is about; `None` for several or none.
    pub workload: Option<String>,
    /// The repository that it is about; `None` for several.
    pub repository: Option<String>,
    /// The chart for a page about 860 pixels wide.
    wide: Picture,
    /// The same for a page about 360 pixels wide.
    narrow: Picture,
    /// The data under it.
    pub table: Table,
}

/// The charts, in the order of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChartKind {
    /// Size against time.
    #[default]
    SizeTime,
    /// Ratios of times with their intervals.
    Ratios,
    /// Where stored bytes go.
    StoredBytes,
    /// The parts of a workload's time.
    Phases,
    /// Where and when workloads read.
    Accesses,
    /// The factors of ratios.
    Factors,
    /// The number of runs after which a conversion pays.
    BreakEven,
    /// The baseline against itself, and all runs in order.
    Noise,
    /// Published and measured values, in the section of their experiment.
    Experiments,
}

impl ChartKind {
    /// All of them, in the order of a page.
    pub const ALL: [ChartKind; 9] = [
        ChartKind::SizeTime,
        ChartKind::Ratios,
        ChartKind::StoredBytes,
        ChartKind::Phases,
        ChartKind::Accesses,
        ChartKind::Factors,
        ChartKind::BreakEven,
        ChartKind::Noise,
        ChartKind::Experiments,
    ];

    /// A heading.
    pub fn title(self) -> &'static str {
        match self {
            ChartKind::SizeTime => "Size against time",
            ChartKind::Ratios => "Ratios of times",
            ChartKind::StoredBytes => "Stored bytes",
            ChartKind::Phases => "Where the time goes",
            ChartKind::Accesses => "Where workloads read",
            ChartKind::Factors => "What a ratio is made of",
            ChartKind::BreakEven => "When a conversion pays",
            ChartKind::Noise => "Noise and drift",
            ChartKind::Experiments => "Published and measured",
        }
    }

    /// The prefix of the identifiers of its figures; also an identifier itself.
    pub fn slug(self) -> &'static str {
        match self {
            ChartKind::SizeTime => "size-time",
            ChartKind::Ratios => "ratios",
            ChartKind::StoredBytes => "stored-bytes",
            ChartKind::Phases => "phases",
            ChartKind::Accesses => "accesses",
            ChartKind::Factors => "factors",
            ChartKind::BreakEven => "break-even",
            ChartKind::Noise => "noise",
            ChartKind::Experiments => "experiment",
        }
    }
}

/// All charts of `results`, in the order of a page.
pub fn figures(results: &Results) -> Vec<Figure> {
    let mut figures = Vec::new();
    figures.extend(size_time::figures(results));
    figures.extend(predicted::figures(&results.estimates));
    figures.extend(ratios::figures(results));
    figures.extend(stored_bytes::figures(results));
    figures.extend(phases::figures(results));
    figures.extend(accesses::figures(results));
    figures.extend(factors::figures(results));
    figures.extend(break_even::figures(results));
    figures.extend(noise::figures(results));
    figures.extend(experiment_figures(&results.experiments).into_iter().flatten());
    figures.sort_by_key(|figure| figure.section);
    make_unique(&mut figures);
    figures
}

/// The charts of size against time, ratios, stored bytes, accesses and experiments as files: a name without suffix, and
/// the content.
pub fn svg_files(results: &Results) -> Vec<(String, String)> {
    let sections =
        [ChartKind::SizeTime, ChartKind::Ratios, ChartKind::StoredBytes, ChartKind::Accesses, ChartKind::Experiments];
    let chosen = figures(results).into_iter().filter(|figure| sections.contains(&figure.section));
    chosen.map(|figure| (figure.id.clone(), svg::document(&figure, Width::Wide))).collect()
}

/// Adds numbers to identifiers that occur twice, as for workloads that only differ in parameters.
fn make_unique(figures: &mut [Figure]) {
    let mut seen = std::collections::BTreeSet::new();
    for figure in figures {
        if seen.insert(figure.id.clone()) {
            continue;
        }
        let free = (2_u32..).map(|number| format!("{}-{number}", figure.id)).find(|id| !seen.contains(id));
        figure.id = free.unwrap_or_default();
        seen.insert(figure.id.clone());
    }
}

impl Figure {
    /// The chart as a complete `<svg>` without style.
    pub(crate) fn svg(&self, width: Width) -> String {
        self.picture(width).svg(&self.id, width, &self.title, &self.description)
    }

    fn picture(&self, width: Width) -> &Picture {
        match width {
            Width::Wide => &self.wide,
            Width::Narrow => &self.narrow,
        }
    }
}

/// An identifier of `parts`: lower-case letters, digits and single hyphens.
fn slug<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut slug = String::new();
    for character in parts.into_iter().flat_map(|part| part.chars().chain(['-'])) {
        match character.to_ascii_lowercase() {
            character @ ('a'..='z' | '0'..='9') => slug.push(character),
            _ if slug.ends_with('-') || slug.is_empty() => {}
            _ => slug.push('-'),
        }
        if slug.len() >= LONGEST_SLUG {
            break;
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// The maximum length of identifiers.
const LONGEST_SLUG: usize = 80;
