//! The part of the page that is about published experiments.

use repackbench_analysis::Results;
use repackbench_records::{Experiment, ExperimentTable};

use super::{parts::PageFigure, table::PageTable};
use crate::{
    chart::experiment_figures,
    document::{Align, Table},
    sections::experiments::{
        claims::{ClaimInWords, claims},
        differences, notes, origin,
        statement::stored_sentence,
        tables::{listing, quantities},
        title,
        words::{outcome_name, summary},
    },
};

/// One experiment.
#[derive(Debug)]
pub(super) struct PageExperiment {
    /// Unique in the page.
    pub(super) id: String,
    pub(super) repository: String,
    pub(super) title: String,
    /// Who published it, where, and what was asked.
    pub(super) origin: String,
    /// How many claims have which verdict.
    pub(super) summary: String,
    pub(super) claims: PageTable,
    pub(super) figures: Vec<PageFigure>,
    pub(super) tables: Vec<QuantityTables>,
    pub(super) differences: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// The quantities of one table, each with its arms.
#[derive(Debug)]
pub(super) struct QuantityTables {
    pub(super) title: String,
    pub(super) quantities: Vec<PageTable>,
}

pub(super) fn experiments(results: &Results) -> Vec<PageExperiment> {
    let figures = experiment_figures(&results.experiments);
    let numbered = (1..).zip(results.experiments.iter().zip(figures));
    numbered.map(|(number, (experiment, figures))| page_experiment(number, experiment, figures)).collect()
}

fn page_experiment(number: u32, experiment: &Experiment, figures: Vec<crate::Figure>) -> PageExperiment {
    PageExperiment {
        id: format!("experiments-{number}"),
        repository: experiment.repository.name.clone(),
        title: title(experiment),
        origin: origin(experiment),
        summary: summary(experiment),
        claims: claim_table(experiment),
        figures: figures.into_iter().map(PageFigure::new).collect(),
        tables: (experiment.tables.iter().map(page_tables))
            .chain(experiment.listings.iter().map(lines))
            .filter(|table| !table.quantities.is_empty())
            .collect(),
        differences: differences(experiment),
        notes: notes(experiment),
    }
}

fn claim_table(experiment: &Experiment) -> PageTable {
    let words = ["claim", "verdict", "published", "measured", "why"].map(|name| (name, Align::Words));
    let mut grid = Table::new(&words);
    for ClaimInWords { claim, published, measured, outcome, reason } in claims(experiment) {
        let or_dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
        grid.row([claim, outcome_name(outcome).to_owned(), or_dash(published), or_dash(measured), reason]);
    }
    PageTable::from(&grid.captioned(format!("What is to be said of each claim of {}", experiment.name)))
}

/// A listing, which is one table of all its quantities.
fn lines(table: &ExperimentTable) -> QuantityTables {
    let title = stored_sentence(&table.title);
    let page_table = |grid: Table| PageTable::from(&grid.captioned(title.clone()));
    let quantities = listing(table).map(page_table).into_iter().collect();
    QuantityTables { title, quantities }
}

fn page_tables(table: &ExperimentTable) -> QuantityTables {
    let title = stored_sentence(&table.title);
    let page_table = |(column, grid): (&repackbench_records::ExperimentColumn, Table)| {
        PageTable::from(&grid.captioned(format!("{title}: {}", column.name)))
    };
    let quantities = quantities(table).into_iter().map(page_table).collect();
    QuantityTables { title, quantities }
}
