//! Codecs at equal budgets, as a table.

use std::collections::BTreeSet;

use repackbench_records::{EqualBudget, Quantity};

use crate::{
    bench::places,
    grid::{Align, Grid, plain_text},
};

/// What each codec reaches at the baseline's size, read time or encode time, and which codecs never come there; empty if no codec was
/// measured at several levels. Each repository and machine has a table of its own.
pub fn budget_table(budgets: &[EqualBudget]) -> String {
    let places = places(budgets.iter().map(|budget| (&budget.repository, &budget.host)));
    let machines: BTreeSet<_> = places.iter().map(|(_, host)| host.machine()).collect();
    let mut text = String::new();
    for (repository, host) in &places {
        let is_here =
            |budget: &&EqualBudget| budget.repository == **repository && budget.host.machine() == host.machine();
        let of_place: Vec<&EqualBudget> = budgets.iter().filter(is_here).collect();
        let mut place = if places.len() > 1 { format!(" in {}", plain_text(&repository.name)) } else { String::new() };
        if machines.len() > 1 {
            place.push_str(&format!(" on {}", plain_text(&host.description())));
        }
        text.push_str(&format!("\nAt equal budgets{place}, interpolated between levels:\n\n"));
        text.push_str(&reached(&of_place));
        text.push_str(&out_of_reach(&of_place));
    }
    text
}

/// A table of what is between two levels.
fn reached(budgets: &[&EqualBudget]) -> String {
    let mut grid = Grid::new(&[
        ("workload", Align::Words),
        ("codec", Align::Words),
        ("at the baseline's", Align::Words),
        ("", Align::Words),
        ("ratio", Align::Numbers),
        ("between", Align::Words),
    ]);
    let mut is_empty = true;
    for budget in budgets {
        let Some(ratio) = budget.ratio else { continue };
        let (workload, levels) = (budget.workload.to_string(), budget.levels.join(" and "));
        let ratio = format!("{ratio:.3}");
        grid.row([workload.as_str(), &budget.codec, name(budget.budget), name(budget.of), &ratio, &levels]);
        is_empty = false;
    }
    if is_empty { String::new() } else { format!("{}\n", grid.render()) }
}

/// A line for each workload and budget: the codecs of which no level comes to the budget, each with the level that comes nearest.
fn out_of_reach(budgets: &[&EqualBudget]) -> String {
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
    lines.into_iter().map(|(line, codecs)| format!("{line} is out of reach of {}.\n", codecs.join(", "))).collect()
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
