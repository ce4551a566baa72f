//! `report`: every output of every input, and of several inputs together.

use std::collections::BTreeSet;
use std::fs;

use super::golden_file::{assert_file, assert_text, rounded, snapshots};
use super::program::{Outcome, Scratch, exit, run};
use super::terminal::{Colours, run_on_terminal};
use super::{command, names_in};

/// The snapshots of each report, without those of its charts.
pub(crate) const OUTPUTS: [&str; 8] = [
    "csv.snap",
    "json.snap",
    "markdown.snap",
    "page.snap",
    "page.snap.html",
    "plain.snap",
    "terminal_80.snap",
    "terminal_120.snap",
];

/// The folder of chart snapshots, which not every report has.
pub(crate) const CHARTS: &str = "charts";

/// Makes a test of each output of each report.
macro_rules! reports {
    ($($name:ident: [$($file:literal),+];)+) => {
        /// Each report and its files.
        pub(crate) const REPORTS: &[(&str, &[&str])] = &[$((stringify!($name), &[$($file),+])),+];

        $(
            mod $name {
                const NAME: &str = stringify!($name);
                const FILES: &[&str] = &[$($file),+];

                #[test]
                fn plain() {
                    super::plain(NAME, FILES);
                }

                #[test]
                fn terminal() {
                    super::terminal(NAME, FILES);
                }

                #[test]
                fn markdown() {
                    super::markdown(NAME, FILES);
                }

                #[test]
                fn csv() {
                    super::figures(NAME, FILES, "csv");
                }

                #[test]
                fn json() {
                    super::figures(NAME, FILES, "json");
                }

                #[test]
                fn page() {
                    super::page(NAME, FILES);
                }

                #[test]
                fn charts() {
                    super::charts(NAME, FILES);
                }
            }
        )+
    };
}

reports! {
    checkout_page_trace: ["checkout_page_trace.jsonl"];
    compressors_by_level: ["compressors_by_level.jsonl"];
    experiments_version_2: ["experiments_version_2.jsonl"];
    flat_vs_gzip_tree: ["flat_vs_gzip_tree.jsonl"];
    git_alternatives: ["git_alternatives.jsonl"];
    git_axes: ["git_axes.jsonl"];
    git_cold: ["git_cold.jsonl"];
    git_decoders_and_floor: ["git_decoders_and_floor.jsonl"];
    git_estimate: ["git_estimate.jsonl"];
    git_explain: ["git_explain.jsonl"];
    git_later: ["git_later.jsonl"];
    git_layouts: ["git_layouts.jsonl"];
    git_self_test: ["git_self_test.jsonl"];
    git_server_jobs: ["git_server_jobs.jsonl"];
    git_size: ["git_size.jsonl"];
    git_stock: ["git_stock.jsonl"];
    git_trace: ["git_trace.jsonl"];
    git_two_jobs: ["git_two_jobs.jsonl"];
    git_verdicts: ["git_verdicts.jsonl"];
    hg_branches: ["hg_branches.jsonl"];
    hg_size: ["hg_size.jsonl"];
    hg_stock: ["hg_stock.jsonl"];
    hg_trace: ["hg_trace.jsonl"];
    hg_verdicts: ["hg_verdicts.jsonl"];
    schema_1_git: ["schema_1_git.jsonl"];
    schema_1_hg: ["schema_1_hg.jsonl"];
    zlib_vs_lz4_revlog: ["zlib_vs_lz4_revlog.jsonl"];
    zlib_vs_zstd_pack: ["zlib_vs_zstd_pack.jsonl"];
    zlib_vs_zstd_pack_cut_short: ["zlib_vs_zstd_pack_cut_short.jsonl"];
    zlib_vs_zstd_revlog: ["zlib_vs_zstd_revlog.jsonl"];
    joined_kinds: ["git_trace.jsonl", "git_explain.jsonl", "git_size.jsonl"];
    joined_repositories: ["git_later.jsonl", "git_verdicts.jsonl", "schema_1_hg.jsonl"];
}

/// The standard output of a report, which prints nothing to stderr.
#[track_caller]
fn text_of(outcome: Outcome) -> String {
    let outcome = outcome.exits(exit::OK);
    assert_eq!(outcome.stderr, "");
    String::from_utf8(outcome.stdout).expect("UTF-8")
}

#[track_caller]
fn plain(name: &str, files: &[&str]) {
    assert_text(name, "plain", &text_of(run(command().arg("report").args(files))));
}

/// A narrow terminal without colours and a wide one with colours.
#[track_caller]
fn terminal(name: &str, files: &[&str]) {
    for (columns, colours) in [(80, Colours::Refused), (120, Colours::Wanted)] {
        let outcome = run_on_terminal(command().arg("report").args(files), columns, colours);
        assert_text(name, &format!("terminal_{columns}"), &text_of(outcome));
    }
}

#[track_caller]
fn markdown(name: &str, files: &[&str]) {
    assert_text(name, "markdown", &text_of(run(command().args(["report", "--markdown", "-"]).args(files))));
}

/// A form for programs, `csv` or `json`.
#[track_caller]
fn figures(name: &str, files: &[&str], form: &str) {
    assert_text(
        name,
        form,
        &rounded(&text_of(run(command().arg("report").args([&format!("--{form}"), "-"]).args(files)))),
    );
}

#[track_caller]
fn page(name: &str, files: &[&str]) {
    let scratch = Scratch::new();
    let page = scratch.join("page.html");
    text_of(run(command().arg("report").arg("--html").arg(&page).args(files)));
    assert_file(name, ("page", "html"), fs::read_to_string(page).expect("the page"));
}

#[track_caller]
fn charts(name: &str, files: &[&str]) {
    let (scratch, folder) = (Scratch::new(), format!("{name}/{CHARTS}"));
    text_of(run(command().arg("report").arg("--svg").arg(scratch.path()).args(files)));
    let mut written = BTreeSet::new();
    for file in names_in(scratch.path()) {
        let stem = file.strip_suffix(".svg").unwrap_or_else(|| panic!("{file} is no chart"));
        let chart = fs::read_to_string(scratch.join(&file)).expect("a chart");
        assert_file(&folder, (stem, "svg"), chart);
        written.extend([format!("{stem}.snap"), format!("{stem}.snap.svg")]);
    }
    let held = if snapshots(&folder).exists() { names_in(&snapshots(&folder)) } else { BTreeSet::new() };
    assert_eq!(held, written, "{folder}");
}
