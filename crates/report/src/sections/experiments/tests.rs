use repackbench_analysis::Results;
use repackbench_records::{
    ClaimOutcome, ClaimText, Estimate, Experiment, ExperimentColumn, ExperimentRow, ExperimentTable, Host, Outcome,
    RepositoryState, StoredStatement, Unit,
};

use super::*;
use crate::{csv, html_report, markdown};

fn row(label: &str, published: [Option<f64>; 2], measured: [Option<Estimate>; 2]) -> ExperimentRow {
    ExperimentRow { label: label.to_owned(), published: published.to_vec(), measured: measured.to_vec() }
}

/// An experiment on a repository of this name, which is part of every other text, too.
pub(crate) fn experiment(name: &str) -> Experiment {
    let found = |value: f64| {
        Some(Estimate {
            value,
            interval: Some([value * 0.9, value * 1.1]),
            samples: vec![value, value * 0.9, value * 1.1],
        })
    };
    Experiment {
        experiment_schema: 1,
        name: "zlib-vs-zstd-pack".to_owned(),
        command: Some(name.to_owned()),
        began_unix_ms: 1,
        host: Host::default(),
        repository: RepositoryState { name: name.to_owned(), ..RepositoryState::default() },
        differences: vec![StoredStatement::Text(format!("another repository: {name}"))],
        tables: vec![ExperimentTable {
            title: StoredStatement::Text(format!("commands of {name}")),
            columns: vec![
                ExperimentColumn { name: "rev-list".to_owned(), unit: Unit::Seconds },
                ExperimentColumn { name: "ratio".to_owned(), unit: Unit::Ratio },
            ],
            rows: vec![
                row("zlib:6", [Some(20.0), None], [found(0.5), None]),
                row("zstd:3", [Some(15.0), Some(0.75)], [found(0.4), found(0.8)]),
                row("lz4", [Some(10.0), None], [None, None]),
            ],
        }],
        listings: vec![],
        claims: vec![
            ClaimOutcome::Text(ClaimText {
                claim: "It is faster.".to_owned(),
                published: "0.75".to_owned(),
                measured: "0.80 [0.72, 0.88]".to_owned(),
                outcome: Outcome::Reproduced,
                reason: format!("So says {name}."),
            }),
            ClaimOutcome::Text(ClaimText {
                claim: "It is cheap.".to_owned(),
                published: String::new(),
                measured: String::new(),
                outcome: Outcome::Undecided,
                reason: "It was not measured.".to_owned(),
            }),
        ],
        notes: vec![StoredStatement::Text("A note.".to_owned())],
    }
}

fn results() -> Results {
    Results { experiments: vec![experiment("sample")], ..Results::default() }
}

#[test]
fn figures_are_multiples_of_their_own_baseline() {
    let text = crate::fixtures::plain(&experiments(&[experiment("sample")]));
    let (_, from) = text.split_once("commands of sample\n").unwrap();
    let expected = "
rev-list  published  multiple  measured                 multiple
------------------------------------------------------------------
zlib:6    20.0 s            1  500 ms [450 ms, 550 ms]         1
zstd:3    15.0 s         0.75  400 ms [360 ms, 440 ms]      0.80
lz4       10.0 s         0.50  -                               -

ratio   published  measured
--------------------------------------
zstd:3  0.75       0.80 [0.72, 0.88]

Of 2 claims: 1 reproduced, 1 undecided.
- reproduced: It is faster. (published: 0.75; measured: 0.80 [0.72, 0.88].) So says sample.
- undecided: It is cheap. (published: without a figure; measured: nothing.) It was not measured.

Where the set-up differs:
- another repository: sample

Notes:
- A note.
";
    assert_eq!(from, expected);
    assert!(text.starts_with("zlib-vs-zstd-pack on sample\nWhat does zstd in place of zlib change"), "{text}");
}

#[test]
fn markdown_and_csv_have_the_same_figures() {
    let text = markdown(&results());
    for line in [
        "### zlib-vs-zstd-pack on sample",
        "| It is faster. | 0.75 | 0.80 \\[0.72, 0.88\\] | reproduced | So says sample. |",
        "| zstd:3 | 15.0 s | 0.75 | 400 ms \\[360 ms, 440 ms\\] | 0.80 |",
        "- A note.",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let text = csv(&results()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 4, "{text}");
    assert_eq!(lines[1], "zlib-vs-zstd-pack,sample,commands of sample,zlib:6,rev-list,seconds,20,0.5,0.45,0.55");
}

#[test]
fn page_has_verdicts_a_chart_and_every_figure() {
    let page = html_report(&results());
    for text in [
        "<title>zlib-vs-zstd-pack on sample</title>",
        "Of 2 claims: 1 reproduced, 1 undecided.",
        "So says sample.",
        "id=\"experiment-zlib-vs-zstd-pack-commands-of-sample\"",
        "zstd:3 0.75 published, 0.80 measured",
        "400 ms [360 ms, 440 ms]",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("Nothing is compared"), "there is something to show");
    // Of two runs of one experiment each has links of its own.
    let twice = Results { experiments: vec![experiment("sample"), experiment("sample")], ..Results::default() };
    let page = html_report(&twice);
    for id in [
        "id=\"experiments-1\"",
        "id=\"experiments-2\"",
        "-sample-commands-of-sample\"",
        "-sample-commands-of-sample-2\"",
    ] {
        assert!(page.contains(id), "{id}");
    }
    assert!(page.contains("<title>2 published experiments, run again</title>"));
}

#[test]
fn listings_have_all_quantities_and_no_multiples() {
    let mut listed = experiment("sample");
    listed.listings.extend(listed.tables.pop());
    let text = crate::fixtures::plain(&experiments(std::slice::from_ref(&listed)));
    let (_, from) = text.split_once("commands of sample\n").unwrap();
    let expected = "
        rev-list, published  rev-list                 ratio, published  ratio
-------------------------------------------------------------------------------------------
zlib:6  20.0 s               500 ms [450 ms, 550 ms]  -                 -
zstd:3  15.0 s               400 ms [360 ms, 440 ms]  0.75              0.80 [0.72, 0.88]
lz4     10.0 s               -                        -                 -
";
    assert!(from.starts_with(expected), "{from}");
    let results = Results { experiments: vec![listed], ..Results::default() };
    assert!(markdown(&results).contains("| zstd:3 | 15.0 s | 400 ms"), "{}", markdown(&results));
    assert!(html_report(&results).contains("rev-list, published"));
    assert_eq!(csv(&results).unwrap().lines().count(), 1 + 4);
}

#[test]
fn identifiers_have_no_multiple_and_no_bar() {
    let mut named = experiment("sample");
    named.tables[0].columns[0] = ExperimentColumn { name: "page".to_owned(), unit: Unit::Identifier };
    for (row, page) in named.tables[0].rows.iter_mut().zip([6810.0, 6811.0, 6812.0]) {
        row.published[0] = Some(page);
        row.measured[0] = Some(Estimate::exact(page));
    }
    let text = crate::fixtures::plain(&experiments(std::slice::from_ref(&named)));
    let (_, from) = text.split_once("page").unwrap();
    let (pages, _) = from.split_once("ratio").unwrap();
    assert!(pages.contains("6811") && !pages.contains("multiple"), "{text}");
    let page = html_report(&Results { experiments: vec![named], ..Results::default() });
    assert!(page.contains("0.75 published, 0.80 measured"), "ratios have bars");
    assert!(!page.contains("page: zlib:6"), "and no sentence of the chart is about them");
}

#[test]
fn tables_with_missing_cells_are_shown() {
    let mut odd = experiment("sample");
    odd.tables[0].rows[1].published.clear();
    odd.tables[0].rows[0].measured.truncate(1);
    odd.tables[0].columns.push(ExperimentColumn { name: "nothing".to_owned(), unit: Unit::Count });
    let text = crate::fixtures::plain(&experiments(std::slice::from_ref(&odd)));
    assert!(text.contains("400 ms") && !text.contains("nothing "), "{text}");
    assert!(!html_report(&Results { experiments: vec![odd], ..Results::default() }).is_empty());
}

#[test]
fn names_are_escaped_for_terminals() {
    let text = crate::fixtures::plain(&experiments(&[experiment("evil\u{1b}[2J")]));
    assert!(!text.contains('\u{1b}') && text.contains("\\u{1b}"), "{text}");
}

#[test]
fn list_shows_question_findings_and_needs() {
    let all = repackbench_records::published();
    let text = crate::fixtures::plain(&experiment_list(all, |name| name == "zlib-vs-zstd-pack"));
    assert!(text.contains("\nzlib-vs-zstd-pack\n  published: Jeff King, 2016-10-23: "), "{text}");
    assert!(text.contains("flat-vs-gzip-tree (only its figures are here)\n"), "{text}");
    for what in ["  asked: ", "  found: ", "  needs: "] {
        assert_eq!(text.matches(what).count(), all.len(), "{what}");
    }
}
