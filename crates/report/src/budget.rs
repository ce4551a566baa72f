//! Codecs at equal budgets, as a table.

use repackbench_records::{EqualBudget, Quantity};

use crate::grid::{Align, Grid, Style};

/// What each codec reaches at the baseline's size, read time or encode time; empty if no codec was measured at several levels.
pub fn budget_table(budgets: &[EqualBudget], style: Style) -> String {
    if budgets.is_empty() {
        return String::new();
    }
    format!("\nAt equal budgets, interpolated between levels:\n\n{}", budget_grid(budgets).render_in(style))
}

/// The budgets' table.
pub(crate) fn budget_grid(budgets: &[EqualBudget]) -> Grid {
    let mut grid = Grid::new(&[
        ("workload", Align::Words),
        ("codec", Align::Words),
        ("at the baseline's", Align::Words),
        ("", Align::Words),
        ("ratio", Align::Numbers),
        ("between", Align::Words),
    ]);
    for budget in budgets {
        let (ratio, levels) = match budget.ratio {
            Some(ratio) => (format!("{ratio:.3}"), budget.levels.join(" and ")),
            None => ("-".to_owned(), format!("out of reach; nearest is {}", budget.levels.join(" and "))),
        };
        let workload = budget.workload.to_string();
        grid.row([workload.as_str(), &budget.codec, name(budget.budget), name(budget.of), &ratio, &levels]);
    }
    grid
}

fn name(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Size => "size",
        Quantity::ReadTime => "time",
        Quantity::EncodeTime => "encode time",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use repackbench_records::{RepositoryState, WorkloadLabel};

    use super::*;

    fn budget_table(budgets: &[EqualBudget]) -> String {
        super::budget_table(budgets, Style::PLAIN)
    }

    #[test]
    fn a_budget_out_of_reach_is_said_to_be() {
        assert_eq!(budget_table(&[]), "");
        let budget = EqualBudget {
            repository: RepositoryState::default(),
            workload: WorkloadLabel { name: "traverse".into(), parameters: BTreeMap::new() },
            codec: "zstd".into(),
            budget: Quantity::Size,
            of: Quantity::ReadTime,
            ratio: Some(0.5123),
            levels: vec!["zstd:1".into(), "zstd:3".into()],
        };
        let none = EqualBudget {
            budget: Quantity::ReadTime,
            of: Quantity::Size,
            ratio: None,
            levels: vec!["zstd:19".into()],
            ..budget.clone()
        };
        let text = budget_table(&[budget, none]);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(words).collect();
        assert_eq!(lines[5], "traverse zstd size time 0.512 zstd:1 and zstd:3");
        assert_eq!(lines[6], "traverse zstd time size - out of reach; nearest is zstd:19");
    }
}
