//! Ratios of replays and of stock clients: what a replay isolates, and its effect on the user's own command.

use repackbench_analysis::{ResultSource, client_pairs, sources};
use repackbench_records::{Role, VariantComparison, WorkloadComparison, WorkloadLabel};

use super::{
    names::{variant_name, workload_name},
    source,
};
use crate::{
    document::{Article, Block, Column, Table, plain_text},
    number::{or_dash, ratio_cell},
};

/// The meaning of the columns.
const NOTE: &str = "\
Each client has its own baseline: in-process stock zlib; for a command, the same command without the library. A command also starts \
a process, searches and prints, which does not depend on the codec.";

/// For each repository and machine, the jobs that were both replayed and run by a stock client.
pub fn clients(comparisons: &[WorkloadComparison]) -> Vec<Article> {
    let sources = sources(comparisons.iter().map(|comparison| (&comparison.repository, &comparison.host)));
    let of_source = |of: ResultSource<'_>| {
        let is_here = |comparison: &&WorkloadComparison| of.has(&comparison.repository, &comparison.host);
        let here: Vec<&WorkloadComparison> = comparisons.iter().filter(is_here).collect();
        let title = source::name(&of);
        let table = side_by_side(&here)?.captioned(format!("Time ratios of {title} in-process and by commands"));
        Some(Article {
            repository: Some(of.repository.name.clone()),
            workload: None,
            heading: format!("{}, in-process and by commands: CPU time ratios [95 % interval]", plain_text(&title)),
            title,
            blocks: vec![Block::Table(table), Block::Details(vec![NOTE.to_owned()])],
            ..Article::default()
        })
    };
    sources.into_iter().filter_map(of_source).collect()
}

/// The table of one repository; `None` if no job was run by both.
fn side_by_side(comparisons: &[&WorkloadComparison]) -> Option<Table> {
    let pairs = client_pairs(comparisons);
    let client = pairs.first().and_then(|pair| pair.stock.workload.client())?;
    let stock = format!("stock {client}");
    let columns = ["workload", "variant", "in-process", &stock].map(Column::words);
    let mut table = Table::new(columns).spaced();
    for pair in &pairs {
        let mut workload = pair.stock.workload.clone();
        workload.parameters.remove(WorkloadLabel::CLIENT);
        table.group(Some(workload.to_string()));
        for (number, row) in pair.stock.rows.iter().enumerate() {
            let name = if number > 0 { String::new() } else { workload_name(&workload) };
            let replay = or_dash(pair.replay_of(row), cell);
            table.variant_row(row.variant.label(), [name, variant_name(&row.variant), replay, cell(row)]);
        }
        let noise = |of: &WorkloadComparison| of.noise.as_ref().map_or_else(String::new, ratio_cell);
        table.row([String::new(), "noise (A / A')".to_owned(), noise(pair.in_process), noise(pair.stock)]);
    }
    Some(table)
}

fn cell(row: &VariantComparison) -> String {
    match (&row.ratio, row.variant.role) {
        (Some(ratio), _) => ratio_cell(ratio),
        (None, Role::Baseline) => "baseline".to_owned(),
        (None, _) => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use repackbench_records::{Client, ClientKind, ComparedTime};

    use super::*;
    use crate::fixtures::{comparison, estimate, plain, row};

    fn client(library: bool, zlib: &str) -> Client {
        Client {
            kind: ClientKind::Stock,
            program: "git".into(),
            version: "git version 2.39.5".into(),
            library,
            zlib: zlib.into(),
            helps: Vec::new(),
        }
    }

    fn both() -> [WorkloadComparison; 2] {
        let ratio = |middle: f64| Some(estimate(middle, middle - 0.01, middle + 0.01));
        let in_process = comparison(
            "traverse",
            vec![
                row(Role::AsFound, "", 1000, ratio(1.01), 9),
                row(Role::Baseline, "zlib:6", 1000, None, 9),
                row(Role::Candidate, "zstd:5", 700, ratio(0.5), 8),
            ],
            Some(estimate(1.0, 0.99, 1.01)),
        );
        let by = |mut row: VariantComparison, library: bool, zlib: &str| {
            row.variant.client = Some(client(library, zlib));
            row
        };
        let mut stock = comparison(
            "traverse",
            vec![
                by(row(Role::AsFound, "", 1000, ratio(1.02), 9), false, "host"),
                by(row(Role::Baseline, "zlib:6", 1000, None, 9), false, "host"),
                by(row(Role::Candidate, "zlib:6", 1000, ratio(1.03), 9), true, "host"),
                by(row(Role::Candidate, "zlib:6", 1000, ratio(0.9), 9), true, "zlib-rs"),
                by(row(Role::Candidate, "zstd:5", 700, ratio(0.75), 8), true, "host"),
            ],
            Some(estimate(1.0, 0.98, 1.02)),
        );
        stock.workload.parameters.insert(WorkloadLabel::CLIENT.into(), "git".into());
        [in_process, stock]
    }

    #[test]
    fn same_workload_and_codec_share_a_row() {
        let expected = "\
sample, in-process and by commands: CPU time ratios [95 % interval]

workload  variant                  in-process         stock git
------------------------------------------------------------------------
traverse  as found · plain git     1.01 [1.00, 1.02]  1.02 [1.01, 1.03]
          zlib:6 · plain git       baseline           baseline
          zlib:6 · git + library   -                  1.03 [1.02, 1.04]
          zlib:6 · git + zlib-rs   -                  0.90 [0.89, 0.91]
          zstd:5 · git + library   0.50 [0.49, 0.51]  0.75 [0.74, 0.76]
          noise (A / A')           1.00 [0.99, 1.01]  1.00 [0.98, 1.02]
";
        let text = plain(&clients(&both()));
        let squeezed = |text: &str| -> Vec<Vec<String>> {
            let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
            text.lines().filter(|line| !line.starts_with('-')).map(words).collect()
        };
        assert!(squeezed(&text).starts_with(&squeezed(expected)), "{text}");
    }

    #[test]
    fn clocks_of_different_versions_are_not_paired() {
        let table = |in_process_time, stock_time| {
            let [in_process, stock] = both();
            let in_process = WorkloadComparison { compared_time: in_process_time, ..in_process };
            let stock = WorkloadComparison { compared_time: stock_time, ..stock };
            plain(&clients(&[in_process, stock]))
        };
        use ComparedTime::{Cpu, CpuWithoutWriting, User, UserOfCommand};
        for (in_process, stock) in [(Cpu, Cpu), (User, User), (CpuWithoutWriting, UserOfCommand)] {
            assert!(table(in_process, stock).contains("stock git"), "{in_process:?} {stock:?}");
        }
        for (in_process, stock) in [(CpuWithoutWriting, User), (User, UserOfCommand)] {
            assert_eq!(table(in_process, stock), "", "{in_process:?} {stock:?}");
        }
    }

    #[test]
    fn jobs_of_one_client_have_no_table() {
        let [in_process, mut stock] = both();
        assert_eq!(plain(&clients(std::slice::from_ref(&in_process))), "");
        assert_eq!(plain(&clients(std::slice::from_ref(&stock))), "");
        stock.workload.parameters.insert("rev".into(), "v1".into());
        assert_eq!(plain(&clients(&[in_process.clone(), stock.clone()])), "", "another job");
        stock.workload.parameters.remove("rev");
        stock.workload.parameters.insert("caches".into(), "forge".into());
        assert!(plain(&clients(&[in_process, stock])).contains("traverse (caches=forge)"));
    }
}
