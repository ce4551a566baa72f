//! `repackbench experiment checkout-page-trace`: counts agree with git, and every measurement is cold.

use std::path::Path;

use serde_json::Value;

use crate::bench::cold::assert_no_copies;
use crate::support::program::{self, Outcome, command, exit};
use crate::support::{Fixture, Scratch, git, records};

/// Runs the experiment on `repo`, with variants and copies in `folder`.
fn experiment(repo: &Path, folder: &Path, options: &[&str]) -> Outcome {
    let mut experiment = command();
    experiment.env("XDG_CACHE_HOME", folder).args(["experiment", "checkout-page-trace", "--keep-caches", "--quiet"]);
    program::run(experiment.args(options).arg(repo))
}

/// The result of two rounds on a disk: files in memory are never cold.
#[track_caller]
fn result(repo: &Path) -> Value {
    let disk = Scratch::on_disk();
    let file = disk.path().join("result.jsonl");
    let json = file.to_str().expect("a path in UTF-8");
    experiment(repo, disk.path(), &["--blocks", "2", "--json", json]).exits(exit::OK);
    assert_no_copies(disk.path());
    records::read(&file).into_iter().find(|line| line["record"] == "experiment").expect("a result")
}

/// The table with this title.
#[track_caller]
fn table<'a>(result: &'a Value, title: &str) -> &'a Value {
    let mut tables = ["tables", "listings"].iter().flat_map(|kind| result[kind].as_array().expect("tables"));
    tables.find(|table| table["title"]["id"] == title).unwrap_or_else(|| panic!("no table {title} in {result}"))
}

/// The table of all orders for the job whose name begins so, and the rest of the name.
#[track_caller]
fn orders<'a>(result: &'a Value, job: &str) -> (&'a Value, &'a str) {
    let mut tables = result["listings"].as_array().expect("tables").iter();
    let found = tables.find_map(|table| Some((table, table["title"]["values"]["job"].as_str()?.strip_prefix(job)?)));
    found.unwrap_or_else(|| panic!("no orders of {job} in {result}"))
}

/// The value measured in `row` and `column`.
#[track_caller]
fn value(table: &Value, row: &str, column: &str) -> Option<f64> {
    let named = |list: &Value, key: &str, name: &str| {
        let list = list.as_array().expect("a list");
        list.iter().position(|one| one[key] == name).unwrap_or_else(|| panic!("no {name} in {table}"))
    };
    let (row, column) = (named(&table["rows"], "label", row), named(&table["columns"], "name", column));
    table["rows"][row]["measured"][column]["value"].as_f64()
}

#[test]
fn reads_every_order_cold_and_counts_agree_with_git() {
    let repo = Fixture::get("history").repo();
    let result = result(&repo);
    assert_eq!((&result["name"], &result["repository"]["vcs"]), (&"checkout-page-trace".into(), &"git".into()));
    for (job, least) in [("checkout:sink", 9), ("trees of the checkout", 9), ("traverse", 8), ("blame of", 8)] {
        let (table, _) = orders(&result, job);
        let rows = table["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), least, "{job}");
        for row in rows {
            let label = row["label"].as_str().expect("a label");
            assert!(value(table, label, "pages") >= Some(1.0), "{job}, {label}");
            assert!(value(table, label, "cold").is_some(), "{job}, {label}");
            assert!(value(table, label, "modelled, hdd") >= Some(0.008), "{job}, {label}: one seek at least");
        }
    }
    let sizes = table(&result, "orders-size");
    let bytes: u64 =
        git::pack_files(&repo, "pack").iter().map(|pack| std::fs::metadata(pack).expect("a pack").len()).sum();
    assert!(bytes > 0);
    assert_eq!(value(sizes, "source", "deltas that name bases by id"), Some(0.0));

    let (_, path) = orders(&result, "blame of ");
    let log = ["log", "--full-history", "--no-merges", "--no-renames", "--format=%H", "HEAD", "--", path];
    let commits = git::git(&repo, log).text().lines().count();
    let notes = result["notes"].as_array().expect("notes");
    let blame = &notes.iter().find(|note| note["id"] == "blame-of").expect("a note")["values"];
    assert_eq!((&blame["path"], blame["changes"]["value"].as_f64()), (&path.into(), Some(commits as f64)));
}

#[test]
fn compares_first_touches_and_judges_every_claim() {
    let result = result(&Fixture::get("history").repo());
    let lines = table(&result, "pack-line-by-line");
    assert_eq!(lines["rows"][0]["published"][0], 6810.0);
    assert!(value(lines, "1", "time").is_some());
    let touches = table(&result, "first-touches-of-pages");
    for role in ["pack", "index"] {
        assert!(value(touches, role, "first touches") >= Some(1.0), "{role}");
        // The whole file, if the kernel reads ahead that far.
        let cached = value(touches, role, "cached at the end");
        assert!(cached > Some(0.0) && cached <= Some(1.0), "{role}: {cached:?}");
    }
    let claims = result["claims"].as_array().expect("claims");
    assert_eq!(claims.len(), 8);
    for claim in claims {
        assert!(claim["reasons"].as_array().is_some_and(|reasons| !reasons.is_empty()), "{claim}");
    }
    let lookups = table(&result, "lookups-with-inodes-in-memory");
    assert!(value(lookups, "failed lookups of .gitignore in every folder", "lookups") >= Some(1.0), "{lookups}");
    assert!(value(lookups, "its trees alone, from the pack", "first time").is_some(), "{lookups}");
}

#[test]
fn notes_that_nothing_is_cold_in_memory() {
    let memory = Scratch::in_memory();
    let repo = Fixture::get("history").repo();
    let text = experiment(&repo, memory.path(), &["--blocks", "1"]).exits(exit::OK).text();
    assert!(text.contains("Nothing was measured cold") && text.contains("would not be cold"), "{text}");
    assert!(text.contains("undecided"), "{text}");
}

#[test]
fn rejects_repositories_without_packs() {
    let scratch = Scratch::new();
    let refused = experiment(&Fixture::hg("default").repo(), &scratch.join("cache"), &[]).exits(exit::USAGE);
    assert!(refused.error_line().contains("checkout-page-trace"), "{}", refused.error_line());
}
