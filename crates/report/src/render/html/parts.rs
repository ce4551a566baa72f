//! Sections of the page: charts, tables and notes.

use super::table::PageTable;
use crate::{
    chart::{ChartKind, Figure, Width},
    document::{Article, Block, Section},
};

/// A section: figures, then articles.
#[derive(Debug)]
pub(super) struct PageSection {
    /// Unique in the page.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// Whether it is folded away.
    pub(super) is_folded: bool,
    pub(super) figures: Vec<PageFigure>,
    pub(super) articles: Vec<PageArticle>,
}

impl PageSection {
    fn of_figures(kind: ChartKind) -> Self {
        let (id, title) = (kind.slug(), kind.title());
        PageSection { id, title, is_folded: !is_overview(kind), figures: Vec::new(), articles: Vec::new() }
    }

    pub(super) fn of(section: &Section) -> Self {
        let kind = section.kind;
        PageSection {
            id: kind.slug(),
            title: kind.heading(),
            is_folded: true,
            figures: Vec::new(),
            articles: section.articles.iter().filter(|article| !article.is_answer).map(PageArticle::of).collect(),
        }
    }
}

/// Whether charts of this kind belong to the overview beside the answer.
fn is_overview(kind: ChartKind) -> bool {
    matches!(kind, ChartKind::SizeTime | ChartKind::Ratios | ChartKind::StoredBytes)
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
}

/// A part of an article.
#[derive(Debug)]
pub(super) enum PageBlock {
    Table(PageTable),
    /// Sentences.
    Notes(Vec<String>),
    /// Sentences that are folded away.
    Details(Vec<String>),
}

impl PageArticle {
    fn of(article: &Article) -> Self {
        let blocks = article.blocks.iter().flat_map(|block| match block {
            Block::Table(table) if table.is_empty() => Vec::new(),
            Block::Table(table) => {
                let footer = (!table.footer.is_empty()).then(|| PageBlock::Notes(table.footer.clone()));
                [PageBlock::Table(PageTable::from(table))].into_iter().chain(footer).collect()
            }
            Block::Notes(notes) | Block::Details(notes) if notes.is_empty() => Vec::new(),
            Block::Notes(notes) => vec![PageBlock::Notes(notes.clone())],
            Block::Details(notes) => vec![PageBlock::Details(notes.clone())],
        });
        PageArticle {
            repository: article.repository.clone(),
            workload: article.workload.clone(),
            title: article.title.clone(),
            blocks: blocks.collect(),
        }
    }
}
