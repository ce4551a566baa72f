//! Codecs at equal budgets, as a table.

use repackbench_records::{EqualBudget, Quantity};

use crate::{
    bench::{Place, places},
    grid::{Align, Grid, Style, plain_text},
};

/// What each codec reaches at the baseline's size, read time or encode time, and which codecs never come there; empty if no codec was
/// measured at several levels. Each repository and machine has a table of its own.
pub fn budget_table(budgets: &[EqualBudget], style: Style) -> String {
    let mut text = String::new();
    for (place, budgets) in by_place(budgets) {
        text.push_str(&format!("\nAt equal budgets{}, interpolated between levels:\n\n", plain_text(&place)));
        if budgets.iter().any(|budget| budget.ratio.is_some()) {
            text.push_str(&format!("{}\n", budget_grid(&budgets).render_in(style)));
        }
        out_of_reach(&budgets).iter().for_each(|line| text.push_str(&style.paragraph(line)));
    }
    text
}

/// The budgets of each repository and machine, with the place in words where there are several.
pub(crate) fn by_place(budgets: &[EqualBudget]) -> Vec<(String, Vec<&EqualBudget>)> {
    let places = places(budgets.iter().map(|budget| (&budget.repository, &budget.host)));
    let is_one = places.len() == 1;
    let of_place = |place: Place<'_>| {
        let of_place = budgets.iter().filter(|budget| place.has(&budget.repository, &budget.host)).collect();
        (if is_one { String::new() } else { format!(" in {}", place.name()) }, of_place)
    };
    places.into_iter().map(of_place).collect()
}

/// A table of what is between two levels.
pub(crate) fn budget_grid(budgets: &[&EqualBudget]) -> Grid {
    let mut grid = Grid::new(&[
        ("workload", Align::Words),
        ("codec", Align::Words),
        ("at the baseline's", Align::Words),
        ("", Align::Words),
        ("ratio", Align::Numbers),
        ("between", Align::Words),
    ]);
    for budget in budgets {
        let Some(ratio) = budget.ratio else { continue };
        let (workload, levels) = (budget.workload.to_string(), budget.levels.join(" and "));
        let ratio = format!("{ratio:.3}");
        grid.row([workload.as_str(), &budget.codec, name(budget.budget), name(budget.of), &ratio, &levels]);
    }
    grid
}

/// A line for each workload and budget: the codecs of which no level comes to the budget, each with the level that comes nearest.
pub(crate) fn out_of_reach(budgets: &[&EqualBudget]) -> Vec<String> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for budget in budgets.iter().filter(|budget| budget.ratio.is_none()) {
        let nearest = plain_text(&budget.levels.join(" and "));
        let codec = format!("{} (nearest: {nearest})", plain_text(&budget.codec));
        let line = format!("{}: the baseline's {}", plain_text(&budget.workload.to_string()), name(budget.budget));
        match lines.iter_mut().find(|(known, _)| *known == line) {
            // One that is out of reach is so whatever is compared there.
            Some((_, codecs)) if codecs.contains(&codec) => {}
            Some((_, codecs)) => codecs.push(codec),
            None => lines.push((line, vec![codec])),
        }
    }
    lines.into_iter().map(|(line, codecs)| format!("{line} is out of reach of {}.", codecs.join(", "))).collect()
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

    use repackbench_records::{Host, RepositoryState, WorkloadLabel};

    use super::*;

    fn budget_table(budgets: &[EqualBudget]) -> String {
        super::budget_table(budgets, Style::PLAIN)
    }

    #[test]
    fn a_budget_out_of_reach_is_said_to_be() {
        assert_eq!(budget_table(&[]), "");
        let budget = EqualBudget {
            repository: RepositoryState::default(),
            host: Host::default(),
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
        let of_time = EqualBudget { of: Quantity::ReadTime, budget: Quantity::EncodeTime, ..none.clone() };
        let of_size = EqualBudget { of: Quantity::Size, ..of_time.clone() };
        let other = EqualBudget { codec: "lz4hc".into(), levels: vec!["lz4hc:12".into()], ..none.clone() };
        let text = budget_table(&[budget.clone(), none.clone(), of_size, of_time, other]);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(words).collect();
        assert_eq!(lines[5], "traverse zstd size time 0.512 zstd:1 and zstd:3");
        let time =
            "traverse: the baseline's time is out of reach of zstd (nearest: zstd:19), lz4hc (nearest: lz4hc:12).";
        let encode_time = "traverse: the baseline's encode time is out of reach of zstd (nearest: zstd:19).";
        assert_eq!(lines[6..], ["", time, encode_time]);
        let elsewhere = EqualBudget { host: Host { cores: Some(4), ..Host::default() }, ..budget.clone() };
        let text = budget_table(&[budget, elsewhere, none]);
        let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("At equal budgets")).collect();
        let heading = |machine| format!("At equal budgets in  on {machine}, interpolated between levels:");
        assert_eq!(headings, [heading("an unknown machine"), heading("4 cores")]);
    }
}
