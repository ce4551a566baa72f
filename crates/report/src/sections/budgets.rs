//! Codecs at equal budgets.

use repackbench_analysis::{ResultSource, sources};
use repackbench_records::{EqualBudget, Quantity};

use super::{names::workload_name, source};
use crate::{
    document::{Article, Block, Column, Table, plain_text},
    number::three_decimals,
};

/// For each repository and machine, the cost of each codec at the baseline's size, time or encoding time, and the
/// codecs that cannot match it; empty if no codec was measured at several levels.
pub fn budgets(budgets: &[EqualBudget]) -> Vec<Article> {
    let sources = sources(budgets.iter().map(|budget| (&budget.repository, &budget.host)));
    let is_one = sources.len() == 1;
    let of_source = |of: ResultSource<'_>| {
        let here: Vec<&EqualBudget> =
            budgets.iter().filter(|budget| of.has(&budget.repository, &budget.host)).collect();
        article(if is_one { String::new() } else { source::name(&of) }, &here)
    };
    sources.into_iter().map(of_source).collect()
}

/// The budgets of one source, which is named if there are several.
fn article(title: String, budgets: &[&EqualBudget]) -> Article {
    let place = if title.is_empty() { String::new() } else { format!(" in {title}") };
    let mut blocks = Vec::new();
    if budgets.iter().any(|budget| budget.ratio.is_some()) {
        blocks.push(Block::Table(between_levels(budgets).captioned(format!("Codecs at equal budgets{place}"))));
    }
    let out_of_reach = out_of_reach(budgets);
    if !out_of_reach.is_empty() {
        blocks.push(Block::Details(out_of_reach));
    }
    Article {
        repository: budgets.first().map(|budget| budget.repository.name.clone()),
        workload: None,
        heading: format!("At equal budgets{}, interpolated between levels:", plain_text(&place)),
        title,
        blocks,
        ..Article::default()
    }
}

/// The budgets between two levels of a codec.
fn between_levels(budgets: &[&EqualBudget]) -> Table {
    let mut table = Table::new([
        Column::words("workload"),
        Column::words("codec"),
        Column::words("equal"),
        Column::words("compared"),
        Column::numbers("ratio"),
        Column::words("between levels"),
    ]);
    for budget in budgets {
        let Some(ratio) = budget.ratio else { continue };
        let workload = budget.workload.to_string();
        if table.groups.last().is_none_or(|group| group.workload.as_ref() != Some(&workload)) {
            table.group(Some(workload.clone()));
        }
        let (ratio, levels) = (three_decimals(ratio), budget.levels.join(" and "));
        table.row([
            &*workload_name(&budget.workload),
            &budget.codec,
            &name(budget, budget.budget),
            &name(budget, budget.of),
            &ratio,
            &levels,
        ]);
    }
    table
}

/// A line for each workload and budget: the codecs without levels on both sides of the budget, each with its nearest
/// level.
fn out_of_reach(budgets: &[&EqualBudget]) -> Vec<String> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for budget in budgets.iter().filter(|budget| budget.ratio.is_none()) {
        let nearest = plain_text(&budget.levels.join(" and "));
        let codec = format!("{} (nearest: {nearest})", plain_text(&budget.codec));
        let (workload, quantity) = (plain_text(&workload_name(&budget.workload)), name(budget, budget.budget));
        let line = format!("{workload}: no level reaches the {quantity} of the baseline");
        match lines.iter_mut().find(|(known, _)| *known == line) {
            // A budget is out of reach whatever quantity is compared.
            Some((_, codecs)) if codecs.contains(&codec) => {}
            Some((_, codecs)) => codecs.push(codec),
            None => lines.push((line, vec![codec])),
        }
    }
    lines.into_iter().map(|(line, codecs)| format!("{line}: {}.", codecs.join(", "))).collect()
}

/// `size`, `CPU time`, `encoding CPU time`.
fn name(budget: &EqualBudget, quantity: Quantity) -> String {
    match quantity {
        Quantity::Size => "size".to_owned(),
        Quantity::ReadTime => budget.compared_time.name().to_owned(),
        Quantity::EncodeTime => "encoding CPU time".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use repackbench_records::{ComparedTime, Host, RepositoryState, WorkloadLabel};

    use super::*;
    use crate::fixtures::plain;

    #[test]
    fn unreachable_budgets_are_listed() {
        assert_eq!(plain(&budgets(&[])), "");
        let budget = EqualBudget {
            repository: RepositoryState::default(),
            host: Host::default(),
            workload: WorkloadLabel { name: "traverse".into(), parameters: BTreeMap::new() },
            compared_time: ComparedTime::Cpu,
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
        let text = plain(&budgets(&[budget.clone(), none.clone(), of_size, of_time, other]));
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(words).collect();
        assert_eq!(lines[4], "traverse zstd size CPU time 0.512 zstd:1 and zstd:3");
        let time = "traverse: no level reaches the CPU time of the baseline: zstd (nearest: zstd:19), lz4hc (nearest: lz4hc:12).";
        let encode_time = "traverse: no level reaches the encoding CPU time of the baseline: zstd (nearest: zstd:19).";
        assert_eq!(lines[5..], ["", time, encode_time]);
        let brief = crate::Style { is_detailed: false, ..crate::Style::PLAIN };
        let brief = |of: &EqualBudget| crate::articles_text(&budgets(std::slice::from_ref(of)), brief);
        assert!(brief(&budget).contains("At equal budgets") && brief(&none).is_empty());
        let elsewhere = EqualBudget { host: Host { cores: Some(4), ..Host::default() }, ..budget.clone() };
        let text = plain(&budgets(&[budget, elsewhere, none]));
        let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("At equal budgets")).collect();
        let heading = |machine| format!("At equal budgets in  on {machine}, interpolated between levels:");
        assert_eq!(headings, [heading("an unknown machine"), heading("4 cores")]);
    }
}
