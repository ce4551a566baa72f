//! In-process and stock ratios side by side: what a replay isolates, and what the user's own command makes of it.

use repackbench_records::{Client, ComparedTime, Role, VariantComparison, WorkloadComparison, WorkloadLabel};

use crate::{
    bench::{places, variant_name},
    grid::{Align, Grid, Style, plain_text},
    number::ratio_cell,
};

/// The parameter of a workload's label that names the client that did it.
pub(crate) const CLIENT: &str = "client";
/// The parameter that names the caches that it had.
const CACHES: &str = "caches";
/// The zlib that a client is linked with.
const HOST: &str = "host";

/// What the columns are.
pub(crate) const NOTE: &str = "Ratios are to zlib as each client reads it without anything put into it: in-process to stock zlib, of a \
                               command to the same command without the library. A command also starts a process, searches and prints, \
                               which no codec changes.";

/// One workload by a command, and the same in-process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub(crate) in_process: &'a WorkloadComparison,
    pub(crate) stock: &'a WorkloadComparison,
}

/// The client that did a workload; `None` if this program did.
pub(crate) fn client_of(comparison: &WorkloadComparison) -> Option<&str> {
    comparison.workload.parameters.get(CLIENT).map(String::as_str)
}

/// Every workload that both did, on the same repository and machine.
pub(crate) fn pairs<'a>(comparisons: &[&'a WorkloadComparison]) -> Vec<Pair<'a>> {
    let of_stock = |stock: &&'a WorkloadComparison| {
        client_of(stock)?;
        let in_process = comparisons.iter().copied().find(|of| {
            client_of(of).is_none()
                && of.jobs == 1
                && (of.compared_time == ComparedTime::CpuWithoutWriting)
                    == (stock.compared_time == ComparedTime::UserOfCommand)
                && of.workload.name == stock.workload.name
                && replayed(&of.workload) == replayed(&stock.workload)
        })?;
        Some(Pair { in_process, stock })
    };
    comparisons.iter().filter_map(of_stock).collect()
}

/// The parameters that both have.
fn replayed(workload: &WorkloadLabel) -> Vec<(&String, &String)> {
    workload.parameters.iter().filter(|(name, _)| *name != CLIENT && *name != CACHES).collect()
}

/// The row of the replay that reads the same files with the same codec; none for a row with another zlib.
fn replay_of<'a>(pair: &Pair<'a>, row: &VariantComparison) -> Option<&'a VariantComparison> {
    let has_own_zlib = |client: &Client| client.zlib == HOST;
    let client = row.variant.client.as_ref().filter(|client| has_own_zlib(client))?;
    // The baseline's second row is the library's cost, which no replay has.
    let is_baseline_again = |of: &VariantComparison| of.variant.role == Role::Baseline && client.library;
    pair.in_process.rows.iter().find(|of| {
        let (one, other) = (of.variant.identity(), row.variant.identity());
        (one.spec, one.deltas, one.decoder, one.delta_cache)
            == (other.spec, other.deltas, other.decoder, other.delta_cache)
            && !is_baseline_again(of)
            && (of.variant.role == Role::AsFound) == (row.variant.role == Role::AsFound)
    })
}

/// The table of one repository; `None` where nothing was done by both.
pub(crate) fn grid(comparisons: &[&WorkloadComparison]) -> Option<Grid> {
    let pairs = pairs(comparisons);
    let client = pairs.first().and_then(|pair| client_of(pair.stock))?;
    let stock = format!("stock {client}");
    let mut grid = Grid::new(&[
        ("workload", Align::Words),
        ("variant", Align::Words),
        ("in-process", Align::Words),
        (&stock, Align::Words),
    ]);
    for (number, pair) in pairs.iter().enumerate() {
        if number > 0 {
            grid.row(["", "", "", ""]);
        }
        let mut workload = pair.stock.workload.clone();
        workload.parameters.remove(CLIENT);
        for (number, row) in pair.stock.rows.iter().enumerate() {
            let name = if number > 0 { String::new() } else { workload.to_string() };
            let replay = replay_of(pair, row).map_or_else(|| "-".to_owned(), cell);
            grid.row([name, variant_name(row), replay, cell(row)]);
        }
        let noise = |of: &WorkloadComparison| of.noise.as_ref().map_or_else(String::new, ratio_cell);
        grid.row([String::new(), "noise (A / A')".to_owned(), noise(pair.in_process), noise(pair.stock)]);
    }
    Some(grid)
}

fn cell(row: &VariantComparison) -> String {
    match (&row.ratio, row.variant.role) {
        (Some(ratio), _) => ratio_cell(ratio),
        (None, Role::Baseline) => "baseline".to_owned(),
        (None, _) => "-".to_owned(),
    }
}

/// The tables of all repositories that both clients were measured on, each with the place it is of.
pub(crate) fn grids(comparisons: &[WorkloadComparison]) -> Vec<(String, String, Grid)> {
    let places = places(comparisons.iter().map(|comparison| (&comparison.repository, &comparison.host)));
    let of_place = |place: crate::bench::Place<'_>| {
        let is_here = |comparison: &&WorkloadComparison| place.has(&comparison.repository, &comparison.host);
        let here: Vec<&WorkloadComparison> = comparisons.iter().filter(is_here).collect();
        grid(&here).map(|grid| (place.repository.name.clone(), place.name(), grid))
    };
    places.into_iter().filter_map(of_place).collect()
}

/// The tables as text; empty where no repository was measured by both.
pub fn clients_table(comparisons: &[WorkloadComparison], style: Style) -> String {
    let mut text = String::new();
    for (_, place, grid) in grids(comparisons) {
        text.push_str(
            &style
                .paragraph(&format!("{}, in-process and by commands: CPU ratios [95 % interval]", plain_text(&place))),
        );
        text.push_str(&format!("\n{}\n{}", grid.render_in(style), style.paragraph(NOTE)));
    }
    text
}

#[cfg(test)]
mod tests {
    use repackbench_records::ClientKind;

    use super::*;
    use crate::bench::tests::{comparison, estimate, row};

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
        stock.workload.parameters.insert(CLIENT.into(), "git".into());
        [in_process, stock]
    }

    #[test]
    fn ratios_of_the_same_workload_and_codec_stand_side_by_side() {
        let expected = "\
sample, in-process and by commands: CPU ratios [95 % interval]

workload  variant                  in-process         stock git
------------------------------------------------------------------------
traverse  as found · plain git     1.01 [1.00, 1.02]  1.02 [1.01, 1.03]
          zlib:6 · plain git       baseline           baseline
          zlib:6 · git + library   -                  1.03 [1.02, 1.04]
          zlib:6 · git + zlib-rs   -                  0.90 [0.89, 0.91]
          zstd:5 · git + library   0.50 [0.49, 0.51]  0.75 [0.74, 0.76]
          noise (A / A')           1.00 [0.99, 1.01]  1.00 [0.98, 1.02]
";
        let text = clients_table(&both(), Style::PLAIN);
        let squeezed = |text: &str| -> Vec<Vec<String>> {
            let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
            text.lines().filter(|line| !line.starts_with('-')).map(words).collect()
        };
        assert!(squeezed(&text).starts_with(&squeezed(expected)), "{text}");
    }

    #[test]
    fn sides_that_were_measured_by_clocks_of_different_versions_are_not_put_together() {
        let table = |in_process_time, stock_time| {
            let [in_process, stock] = both();
            let in_process = WorkloadComparison { compared_time: in_process_time, ..in_process };
            let stock = WorkloadComparison { compared_time: stock_time, ..stock };
            clients_table(&[in_process, stock], Style::PLAIN)
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
    fn what_one_client_did_alone_has_no_table() {
        let [in_process, mut stock] = both();
        assert_eq!(clients_table(std::slice::from_ref(&in_process), Style::PLAIN), "");
        assert_eq!(clients_table(std::slice::from_ref(&stock), Style::PLAIN), "");
        stock.workload.parameters.insert("rev".into(), "v1".into());
        assert_eq!(clients_table(&[in_process.clone(), stock.clone()], Style::PLAIN), "", "another job");
        stock.workload.parameters.remove("rev");
        stock.workload.parameters.insert("caches".into(), "forge".into());
        assert!(clients_table(&[in_process, stock], Style::PLAIN).contains("traverse (caches=forge)"));
    }
}
