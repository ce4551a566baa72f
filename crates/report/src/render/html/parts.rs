//! The page's middle: charts by section, and all tables.

use repackbench_analysis::Results;

use super::table::PageTable;
use crate::{
    chart::{ChartKind, Figure, Width},
    document::{Article, SectionKind},
};

/// The figures of one kind.
#[derive(Debug)]
pub(super) struct FigureSection {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) figures: Vec<PageFigure>,
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

/// The figures by section, in the order in which they come; those of experiments stand elsewhere.
pub(super) fn sections(figures: Vec<Figure>) -> Vec<FigureSection> {
    let mut sections: Vec<(ChartKind, FigureSection)> = Vec::new();
    for figure in figures.into_iter().filter(|figure| figure.section != ChartKind::Experiments) {
        let section = figure.section;
        let figure = PageFigure::new(figure);
        match sections.iter_mut().find(|(known, _)| *known == section) {
            Some((_, section)) => section.figures.push(figure),
            None => {
                let heading = FigureSection { id: section.slug(), title: section.title(), figures: vec![figure] };
                sections.push((section, heading));
            }
        }
    }
    sections.into_iter().map(|(_, section)| section).collect()
}

/// An article of a document.
#[derive(Debug)]
pub(super) struct PageArticle {
    pub(super) repository: Option<String>,
    pub(super) workload: Option<String>,
    pub(super) title: String,
    pub(super) tables: Vec<PageTable>,
    pub(super) notes: Vec<String>,
}

/// The articles on one subject.
pub(super) fn articles(kind: SectionKind, results: &Results) -> Vec<PageArticle> {
    let article = |of: &Article| PageArticle {
        repository: of.repository.clone(),
        workload: of.workload.clone(),
        title: of.title.clone(),
        tables: of.tables().map(PageTable::from).filter(|table| !table.is_empty()).collect(),
        notes: of.notes().cloned().collect(),
    };
    crate::sections::articles(kind, results).iter().map(article).collect()
}
