//! The page's middle: charts by section, and all tables.

use repackbench_analysis::Results;
use repackbench_records::{Explanation, SizeRecord, TraceRecord};

use super::table::PageTable;
use crate::{
    bench, budget,
    chart::{Figure, Section, Width},
    explain, size, trace,
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
            table: PageTable::from_figure(figure.title.clone(), figure.table),
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
    let mut sections: Vec<(Section, FigureSection)> = Vec::new();
    for figure in figures.into_iter().filter(|figure| figure.section != Section::Experiments) {
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

/// The full comparison of a repository on a machine, and what one has to know to read it.
#[derive(Debug)]
pub(super) struct RepositoryTables {
    /// What a selection box picks it by: that of all that is about the repository, on whatever machine.
    pub(super) repository: String,
    pub(super) title: String,
    pub(super) table: PageTable,
    pub(super) notes: Vec<String>,
}

pub(super) fn comparisons(results: &Results) -> Vec<RepositoryTables> {
    let tables = bench::by_repository(&results.comparisons).into_iter().map(|(place, comparisons)| {
        let caption = format!("Every variant of {} in every workload", place.name());
        RepositoryTables {
            repository: place.repository.name.clone(),
            title: place.name(),
            table: PageTable::from_grid(caption, bench::repository_grid(&comparisons)),
            notes: bench::notes(&comparisons),
        }
    });
    tables.collect()
}

/// In-process and stock ratios of one repository.
#[derive(Debug)]
pub(super) struct ClientTable {
    pub(super) repository: String,
    pub(super) title: String,
    pub(super) table: PageTable,
}

pub(super) fn clients(results: &Results) -> Vec<ClientTable> {
    let tables = crate::clients::grids(&results.comparisons).into_iter().map(|(repository, title, grid)| {
        let caption = format!("Time ratios of {title} in-process and by commands");
        ClientTable { repository, title, table: PageTable::from_grid(caption, grid) }
    });
    tables.collect()
}

/// All repositories as one; empty where there is one.
pub(super) fn joined(results: &Results) -> PageTable {
    let rows = crate::joined(&results.comparisons);
    PageTable::from_grid("All repositories together, as multiples of the baseline", crate::joined::joined_grid(&rows))
}

/// The equal budgets of a repository on a machine.
#[derive(Debug)]
pub(super) struct BudgetTables {
    pub(super) repository: String,
    /// Empty where there is one place only.
    pub(super) title: String,
    /// Empty where no codec comes to any budget.
    pub(super) table: PageTable,
    /// Which codecs never come to which budget.
    pub(super) out_of_reach: Vec<String>,
}

pub(super) fn budgets(results: &Results) -> Vec<BudgetTables> {
    let tables = budget::by_place(&results.budgets).into_iter().filter_map(|(place, budgets)| {
        Some(BudgetTables {
            repository: budgets.first()?.repository.name.clone(),
            title: place.trim_start().trim_start_matches("in ").to_owned(),
            table: PageTable::from_grid(format!("Codecs at equal budgets{place}"), budget::budget_grid(&budgets)),
            out_of_reach: budget::out_of_reach(&budgets),
        })
    });
    tables.collect()
}

/// A ratio split into factors.
#[derive(Debug)]
pub(super) struct ExplanationTable {
    pub(super) repository: String,
    pub(super) workload: String,
    pub(super) title: String,
    pub(super) table: PageTable,
    pub(super) notes: Vec<String>,
}

pub(super) fn explanations(results: &Results) -> Vec<ExplanationTable> {
    let table = |explanation: &Explanation| {
        let title = format!("{} in {}, {}", explanation.codec, explanation.workload, explanation.repository.name);
        ExplanationTable {
            repository: explanation.repository.name.clone(),
            workload: explanation.workload.to_string(),
            table: PageTable::from_grid(title.clone(), explain::explanation_grid(explanation)),
            title,
            notes: explain::notes(explanation).lines().map(str::to_owned).collect(),
        }
    };
    results.explanations.iter().map(table).collect()
}

/// Sizes side by side, where they were asked for by themselves.
pub(super) fn sizes(results: &Results) -> Vec<PageTable> {
    let sizes: Vec<SizeRecord> = results.sizes.iter().map(|line| line.size.clone()).collect();
    if sizes.is_empty() {
        return Vec::new();
    }
    vec![PageTable::from_grid("Bytes by what they hold", size::size_grid(&sizes))]
}

/// What one workload reads of one repository's variants.
#[derive(Debug)]
pub(super) struct TraceTables {
    pub(super) repository: String,
    pub(super) workload: String,
    pub(super) title: String,
    pub(super) tables: Vec<PageTable>,
    pub(super) notes: String,
}

pub(super) fn traces(results: &Results) -> Vec<TraceTables> {
    let mut groups: Vec<Vec<TraceRecord>> = Vec::new();
    for record in &results.traces {
        let belongs = |group: &&mut Vec<TraceRecord>| {
            group
                .first()
                .is_some_and(|first| first.repository == record.repository && first.workload == record.workload)
        };
        match groups.iter_mut().find(belongs) {
            Some(group) => group.push(record.clone()),
            None => groups.push(vec![record.clone()]),
        }
    }
    groups.iter().filter_map(|group| Some(trace_tables(group.first()?, group))).collect()
}

fn trace_tables(first: &TraceRecord, records: &[TraceRecord]) -> TraceTables {
    let tables = [
        ("Pages that were touched", trace::files_table(records)),
        ("What was read", trace::parts_table(records)),
        ("Modelled times from an empty page cache", trace::devices_table(records)),
        ("Modelled times where memory is short", trace::memory_table(records)),
    ];
    TraceTables {
        repository: first.repository.name.clone(),
        workload: first.workload.to_string(),
        title: format!("{}, {}", first.workload, first.repository.name),
        tables: tables
            .into_iter()
            .map(|(caption, grid)| PageTable::from_grid(caption, grid))
            .filter(|table| !table.is_empty())
            .collect(),
        notes: trace::NOTES.lines().collect::<Vec<_>>().join(" "),
    }
}
