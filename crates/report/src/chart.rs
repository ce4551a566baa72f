//! Charts of results, as SVG.
//!
//! Every chart is drawn here, as SVG, and a page of HTML or a file holds the very same picture. There is no library of charts in the
//! browser, because of what drawing in advance gives: a page a tenth as large as such a library alone; charts that are there without
//! JavaScript, in print and in a README; text that can be selected and found; marks that can be reached one by one with a keyboard;
//! and no code of others in a page that shows a repository's names. A script may add tips and filters to it, by the classes and
//! attributes of marks.
//!
//! Each chart is a function from [`Results`] to [`Figure`]s: what is drawn, in words, and as a table. A figure is drawn twice, for
//! a wide page and for a phone, since a picture that only shrinks has letters nobody can read.
//!
//! **Marks.** Every datum is a `<g class="mark" data-variant data-tip>` with a `<title>` that says the same as `data-tip`. Marks stand in
//! reading order. Colours are classes only ([`CHART_STYLE`]): `c0` to `c11` for families of codecs, `k0` to `k7` for kinds of bytes or
//! of time, `i1` to `i5` for how often. Where a colour tells something, a shape, a place or a word tells it too.

mod accesses;
mod break_even;
mod common;
mod experiments;
mod factors;
mod labels;
mod look;
mod noise;
mod phases;
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

/// The style of all charts: a page holds it once, a file of its own holds its own. Light, and dark where the reader prefers that
/// on a screen; print is light.
pub const CHART_STYLE: &str = include_str!("chart/style.css");

/// One chart with all that stands around it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figure {
    /// Unique in the page, stable, usable as a link: `size-time-traverse`.
    pub id: String,
    /// Which chart it is: one section of the page for each.
    pub section: ChartKind,
    /// What it shows: `Size against time of traverse, git`.
    pub title: String,
    /// What a reader who cannot see the picture is told: what is on the axes, and what the figures say.
    pub description: String,
    /// What one has to know to read it: short sentences.
    pub notes: Vec<String>,
    /// The workload that it is about; `None` where it is about several, or none.
    pub workload: Option<String>,
    /// The repository that it is about; `None` where it is about several.
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
    /// What time goes to.
    Phases,
    /// Where workloads read, and when.
    Accesses,
    /// What ratios are made of.
    Factors,
    /// When a conversion has paid for itself.
    BreakEven,
    /// The baseline against itself, and all runs in their order.
    Noise,
    /// Published figures beside measured ones: each in the part of a page that is about its experiment.
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
            ChartKind::Ratios => "Time ratios",
            ChartKind::StoredBytes => "Stored bytes",
            ChartKind::Phases => "Where the time goes",
            ChartKind::Accesses => "Where workloads read",
            ChartKind::Factors => "What a ratio is made of",
            ChartKind::BreakEven => "When a conversion pays",
            ChartKind::Noise => "Noise and drift",
            ChartKind::Experiments => "Published and measured",
        }
    }

    /// The beginning of its figures' identifiers, and good as one itself.
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

/// All charts that `results` allow, in the order of a page.
pub fn figures(results: &Results) -> Vec<Figure> {
    let mut figures = Vec::new();
    figures.extend(size_time::figures(results));
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

/// The charts of size against time, ratios, stored bytes, accesses and experiments as documents of their own: a name without suffix,
/// and the text of the file.
pub fn svg_files(results: &Results) -> Vec<(String, String)> {
    let sections =
        [ChartKind::SizeTime, ChartKind::Ratios, ChartKind::StoredBytes, ChartKind::Accesses, ChartKind::Experiments];
    let chosen = figures(results).into_iter().filter(|figure| sections.contains(&figure.section));
    chosen.map(|figure| (figure.id.clone(), svg::document(&figure, Width::Wide))).collect()
}

/// Identifiers that occur twice, as for two workloads that differ in parameters alone, get numbers.
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

/// Identifiers are no longer.
const LONGEST_SLUG: usize = 80;
