//! Sections of the page: charts, tables and notes.

use super::table::PageTable;
use crate::{
    chart::{ChartKind, Figure, Width},
    document::{Article, Section, SectionKind},
};

/// A section: figures, then articles.
#[derive(Debug)]
pub(super) struct PageSection {
    /// Unique in the page.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// Its title in the table of contents.
    pub(super) short_title: &'static str,
    /// A sentence about all of it.
    pub(super) about: Option<&'static str>,
    pub(super) figures: Vec<PageFigure>,
    pub(super) articles: Vec<PageArticle>,
}

impl PageSection {
    fn of_figures(kind: ChartKind) -> Self {
        let (id, title) = (kind.slug(), kind.title());
        PageSection { id, title, short_title: title, about: None, figures: Vec::new(), articles: Vec::new() }
    }

    pub(super) fn of(section: &Section) -> Self {
        let kind = section.kind;
        PageSection {
            id: kind.slug(),
            title: kind.heading(),
            short_title: kind.short_heading(),
            about: section.about,
            figures: Vec::new(),
            articles: section.articles.iter().map(|article| PageArticle::of(kind, article)).collect(),
        }
    }
}

/// A figure, and its data as a table of the page.
#[derive(Debug)]
pub(super) struct PageFigure {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) notes: Vec<String>,
    pub(super) workload: Option<String>,
    pub(super) repository: Option<String>,
    pub(super) wide: String,
    pub(super) narrow: String,
    pub(super) table: PageTable,
}

impl PageFigure {
    pub(super) fn new(figure: Figure) -> Self {
        PageFigure {
            wide: figure.svg(Width::Wide),
            narrow: figure.svg(Width::Narrow),
            table: PageTable::from(&figure.table.clone().captioned(figure.title.clone())),
            id: figure.id,
            title: figure.title,
            description: figure.description,
            notes: figure.notes,
            workload: figure.workload,
            repository: figure.repository,
        }
    }
}

/// The figures by section, in the given order, without those of experiments.
pub(super) fn figure_sections(figures: Vec<Figure>) -> Vec<PageSection> {
    let mut sections: Vec<PageSection> = Vec::new();
    for figure in figures.into_iter().filter(|figure| figure.section != ChartKind::Experiments) {
        let kind = figure.section;
        if sections.last().is_none_or(|section| section.id != kind.slug()) {
            sections.push(PageSection::of_figures(kind));
        }
        if let Some(section) = sections.last_mut() {
            section.figures.push(PageFigure::new(figure));
        }
    }
    sections
}

/// An article of a document.
#[derive(Debug)]
pub(super) struct PageArticle {
    pub(super) repository: Option<String>,
    pub(super) workload: Option<String>,
    pub(super) title: String,
    pub(super) blocks: Vec<PageBlock>,
    pub(super) is_bare: bool,
}

/// A part of an article.
#[derive(Debug)]
pub(super) enum PageBlock {
    Table(PageTable),
    /// Sentences.
    Notes(Vec<String>),
    /// Sentences below a heading, if that is not empty.
    List(&'static str, Vec<String>),
}

impl PageArticle {
    fn of(kind: SectionKind, article: &Article) -> Self {
        let tables = article.tables().map(PageTable::from).filter(|table| !table.is_empty()).map(PageBlock::Table);
        let notes: Vec<String> = article.notes().cloned().collect();
        let blocks = match kind {
            SectionKind::Comparisons => tables.chain([PageBlock::List("Conditions", notes)]).collect(),
            SectionKind::Budgets => tables.chain([PageBlock::List("", notes)]).collect(),
            SectionKind::Explanations => [PageBlock::Notes(notes)].into_iter().chain(tables).collect(),
            SectionKind::Traces => tables.chain([PageBlock::Notes(notes)]).collect(),
            SectionKind::Sizes => tables.take(1).collect(),
            _ => tables.collect(),
        };
        PageArticle {
            repository: article.repository.clone(),
            workload: article.workload.clone(),
            title: article.title.clone(),
            blocks,
            is_bare: matches!(kind, SectionKind::Sizes | SectionKind::Joined),
        }
    }
}
