//! `repackbench experiment`: published experiments, run again on the user's repositories.

mod checkout_page_trace;

use std::fs;
use std::path::Path;

use serde_json::Value;

use repackbench_experiments::experiments;
use repackbench_records::Vcs;

use crate::support::hg::Version;
use crate::support::program::{self, Outcome, cached, exit, text as path};
use crate::support::{Fixture, Scratch, hg_extension, preload, records, repackbench, snapshot};

#[track_caller]
fn run(scratch: &Scratch, words: &[&str], repositories: &[&Path]) -> Outcome {
    let mut command = cached(scratch);
    command.env("REPACKBENCH_PRELOAD", preload::stand_in());
    // The caches of the machine serve other programs too.
    program::run(command.args(["experiment", "--keep-caches", "--min-run-time", "1ms"]).args(words).args(repositories))
}

/// The number of runs in a file of results, and its experiments.
#[track_caller]
fn lines(file: &Path) -> (usize, Vec<Value>) {
    let all = records::read(file);
    let runs = all.iter().filter(|line| line["record"].is_null()).count();
    (runs, all.into_iter().filter(|line| line["record"] == "experiment").collect())
}

/// The row of the first table with this title.
#[track_caller]
fn row<'a>(experiment: &'a Value, title: &str, label: &str) -> &'a Value {
    row_of(experiment, &|found| found["id"] == title, label)
}

/// The row of the table with this title in a layout.
#[track_caller]
fn row_in<'a>(experiment: &'a Value, layout: &str, title: &str, label: &str) -> &'a Value {
    row_of(experiment, &|found| found["id"] == title && found["values"]["layout"]["id"] == layout, label)
}

#[track_caller]
fn row_of<'a>(experiment: &'a Value, is_title: &dyn Fn(&Value) -> bool, label: &str) -> &'a Value {
    let tables = experiment["tables"].as_array().expect("tables");
    let table = tables.iter().find(|table| is_title(&table["title"])).unwrap_or_else(|| panic!("{experiment}"));
    let rows = table["rows"].as_array().expect("rows");
    rows.iter().find(|row| row["label"] == label).unwrap_or_else(|| panic!("{label} is not in {rows:?}"))
}

/// The outcome of a claim.
#[track_caller]
fn outcome<'a>(experiment: &'a Value, claim: &str) -> &'a Value {
    let claims = experiment["claims"].as_array().expect("claims");
    claims.iter().find(|found| found["id"] == claim).unwrap_or_else(|| panic!("{claim} is not in {claims:?}"))
}

#[test]
fn list_describes_each_experiment() {
    let text = repackbench(["experiment", "--list"]).exits(exit::OK).text();
    for name in experiments().iter().map(|experiment| experiment.name) {
        assert!(text.lines().any(|line| line == name || line.starts_with(&format!("{name} ("))), "{name}:\n{text}");
    }
    for what in ["  asked: ", "  found: ", "  needs: "] {
        assert_eq!(text.matches(what).count(), experiments().len(), "{what}");
    }
}

#[test]
fn rejects_invalid_arguments_and_repositories() {
    let scratch = Scratch::new();
    let (git, hg) = (Fixture::get("history").repo(), Fixture::hg("chains").repo());
    for (words, repositories, expected) in [
        (&["no-such-experiment"][..], vec![&*git], "zlib-vs-zstd-pack"),
        (&["all"], vec![&*git], "--output"),
        (&["zlib-vs-zstd-pack", "--time", "10"], vec![&*git], "or none"),
        (&["zlib-vs-zstd-pack"], vec![&*hg], "runs on Git repositories"),
        (&["zlib-vs-lz4-revlog"], vec![&*git], "runs on Mercurial repositories"),
        (&["--list", "zlib-vs-zstd-pack"], vec![&*git], "--list"),
        (&[], vec![], "required"),
    ] {
        let outcome = run(&scratch, words, &repositories).exits(exit::USAGE);
        assert!(outcome.stderr.contains(expected), "{words:?}: {}", outcome.stderr);
    }
    let missing = scratch.join("no-folder/page.html");
    let outcome = run(&scratch, &["zlib-vs-zstd-pack", "--html", path(&missing)], &[&git]).exits(exit::FAILURE);
    assert!(outcome.stderr.contains("cannot create"), "{}", outcome.stderr);
}

#[test]
fn zlib_vs_zstd_pack_runs_git_and_judges_each_claim() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let before = snapshot::state(&repo);
    let [json, html, markdown] = ["found.jsonl", "found.html", "found.md"].map(|name| scratch.join(name));
    let options = ["zlib-vs-zstd-pack", "--blocks", "2", "--time", "none", "--repack", "--seed", "7", "--quiet"];
    let files = ["--force", "--json", path(&json), "--html", path(&html), "--markdown", path(&markdown)];
    let text = run(&scratch, &[&options[..], &files].concat(), &[&repo]).exits(exit::OK).text();
    assert_eq!(snapshot::state(&repo), before, "the source was written to");

    let (runs, experiments) = lines(&json);
    let [experiment] = experiments.as_slice() else { panic!("{experiments:?}") };
    assert!(runs > 50, "{runs}");
    assert_eq!(experiment["name"], "zlib-vs-zstd-pack");
    assert_eq!(experiment["repository"]["vcs"], "git");
    let zlib = row(experiment, "commands-of-stock-git", "zlib");
    assert_eq!(zlib["published"][0], 295.099, "as the data file has it");
    for label in ["zlib", "zlib, wrapped", "zstd:1", "zstd:3", "zstd:5", "zstd:7", "zstd:9", "zstd:11"] {
        let cells = row(experiment, "commands-of-stock-git", label)["measured"].as_array().expect("figures");
        // The best of five takes five runs; there were two.
        assert!(cells[2].is_null() && cells[0]["value"].is_number(), "{label}: {cells:?}");
        assert_eq!(cells[0]["samples"].as_array().map(Vec::len), Some(2), "{label}: {cells:?}");
        assert!(cells[6]["value"].as_f64() > Some(1000.0), "{label}: {cells:?}");
    }
    let as_found = row(experiment, "commands-of-stock-git", "as found")["measured"].as_array().expect("figures");
    let sizes: Vec<&Value> = as_found.iter().filter(|cell| !cell.is_null()).collect();
    assert!(sizes.len() == 2 && sizes[0]["value"].as_f64() > Some(1000.0), "of packs and of all files: {as_found:?}");
    assert!(row(experiment, "cpu-time-to-zlib", "zstd:3")["measured"][4]["value"].is_number());
    assert!(row(experiment, "cpu-time-of-daily-work", "zstd:3")["measured"][9]["value"].is_number());
    assert!(row(experiment, "deltas-table", "zlib:6, rechosen")["measured"][1]["value"].is_number());
    // Two runs give no interval, and so no verdict; sizes need none.
    assert_eq!(outcome(experiment, "rev-list")["outcome"], "undecided");
    assert_eq!(outcome(experiment, "wrapper")["outcome"], "not-comparable");
    assert_ne!(outcome(experiment, "size-5")["outcome"], "undecided");
    assert_ne!(outcome(experiment, "past-9")["outcome"], "undecided");

    let again = repackbench(["report", "--quiet", path(&json)]).exits(exit::OK).text();
    assert!(again.starts_with(&text), "the runs follow the results:\n{again}");
    assert!(text.contains("\nundecided: ") || text.contains("- undecided: "), "{text}");
    let page = fs::read_to_string(&html).expect("the page");
    assert!(page.contains("Published experiments, run again") && page.contains("class=\"mark k0\""), "{page}");
    let markdown = fs::read_to_string(&markdown).expect("the Markdown");
    assert!(markdown.contains("| verdict |") && markdown.contains("| zstd:11 |"), "{markdown}");
}

#[test]
fn names_jobs_that_exceed_the_budget() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let json = scratch.join("found.jsonl");
    // Less than one of the commands takes on any machine.
    let options = ["zlib-vs-zstd-pack", "--time", "1ms", "--quiet", "--force", "--json", path(&json)];
    run(&scratch, &options, &[&repo]).exits(exit::OK);
    let (_, experiments) = lines(&json);
    let notes = experiments[0]["notes"].to_string();
    // Jobs, codecs or runs, depending on the speed of the machine.
    let ids = ["left-out-budget-used", "left-out-too-long", "fewer-runs", "without-codecs"];
    assert!(ids.iter().any(|id| notes.contains(id)), "{notes}");
    assert_ne!(outcome(&experiments[0], "size-5")["outcome"], "undecided", "sizes take no part of the budget");
}

#[test]
fn zlib_vs_lz4_revlog_runs_hg_in_both_layouts() {
    let (repo, scratch) = (Fixture::hg("default").repo(), Scratch::new());
    let before = snapshot::state(&repo);
    // Of the two releases, it takes two thirds of the time to start. The experiment below has the other.
    let (json, hg, extension) = (scratch.join("found.jsonl"), Version::V63.program(), hg_extension::folder());
    let options =
        ["zlib-vs-lz4-revlog", "--blocks", "1", "--time", "none", "--quiet", "--force", "--json", path(&json)];
    let programs = ["--hg", path(&hg), "--hg-extension", path(extension)];
    run(&scratch, &[&options[..], &programs].concat(), &[&repo]).exits(exit::OK);
    assert_eq!(snapshot::state(&repo), before, "the source was written to");
    let (_, experiments) = lines(&json);
    let experiment = &experiments[0];
    assert_eq!(experiment["repository"]["vcs"], "mercurial");
    let own = row_in(experiment, "as-found", "bytes-in-layout", "as found")["measured"][0]["value"].as_f64();
    assert!(own > Some(1000.0), "{own:?}");
    for layout in ["as-found", "in-the-layout-of-2012"] {
        for label in ["zlib", "lz4", "lz4hc", "zstd:3"] {
            let bytes = row_in(experiment, layout, "bytes-in-layout", label)["measured"][0]["value"].as_f64();
            assert!(bytes > Some(1000.0), "{layout} {label}: {bytes:?}");
            let replayed = &row_in(experiment, layout, "cpu-time-in-process", label)["measured"][0];
            assert!(!replayed.is_null(), "{layout} {label}");
        }
        for label in ["zlib", "zlib, by the extension", "lz4", "lz4hc", "zstd:3"] {
            let update = &row_in(experiment, layout, "commands-of-stock-hg", label)["measured"][0];
            assert!(update["value"].is_number(), "{layout} {label}");
        }
    }
    for layout in ["as-found", "in-the-layout-of-2012"] {
        for label in ["lz4hc", "store", "store, by the extension"] {
            let clone = &row_in(experiment, layout, "commands-of-stock-hg", label)["measured"][2];
            assert!(clone["value"].is_number(), "{layout} {label}: {experiment}");
        }
        for (column, label) in [(0, "zlib"), (1, "zlib, by the extension"), (1, "lz4")] {
            let peak = &row_in(experiment, layout, "peak-memory-of-hg", label)["measured"][column];
            // Python alone takes more than that.
            assert!(peak["value"].as_f64() > Some(8e6), "{layout} {label}: {peak}");
        }
        let share = &row_in(experiment, layout, "share-of-zlib", "update")["measured"];
        // A single run may take many times as long as another.
        assert!(share[0]["value"].as_f64() < Some(1.0) && share[0]["value"].is_number(), "{share}");
        assert!(share[1]["value"].is_number(), "{share}");
    }
    // In a repository this small, most of the memory is hg's own.
    let memory = outcome(experiment, "memory");
    assert_eq!(memory["outcome"], "undecided", "{memory}");
    assert_eq!(memory["measured"][0]["id"], "memory-of-clone", "{memory}");
    assert_ne!(outcome(experiment, "lz4-size")["outcome"], "undecided");
    assert_eq!(outcome(experiment, "large-only")["outcome"], "undecided", "one repository is not enough");
}

#[test]
fn zlib_vs_lz4_revlog_without_hg_names_missing_parts() {
    let (repo, scratch) = (Fixture::hg("chains").repo(), Scratch::new());
    let json = scratch.join("found.jsonl");
    let options =
        ["zlib-vs-lz4-revlog", "--blocks", "1", "--quiet", "--hg", "/no/such/hg", "--force", "--json", path(&json)];
    run(&scratch, &options, &[&repo]).exits(exit::OK);
    let (runs, experiments) = lines(&json);
    assert!(runs > 0);
    let notes = experiments[0]["notes"].to_string();
    for what in ["old-layout-not-made", "\"what\":\"hg update\"", "\"what\":\"hg clone --pull\""] {
        assert!(notes.contains(what), "{what}: {notes}");
    }
    assert_eq!(outcome(&experiments[0], "update")["outcome"], "undecided");
    assert_ne!(outcome(&experiments[0], "lz4-size")["outcome"], "undecided");
}

#[test]
fn zlib_vs_zstd_revlog_measures_each_level_and_judges_each_claim() {
    let (repo, scratch) = (Fixture::hg("default").repo(), Scratch::new());
    let before = snapshot::state(&repo);
    let [json, html] = ["found.jsonl", "found.html"].map(|name| scratch.join(name));
    let (hg, extension) = (Version::V72.program(), hg_extension::folder());
    let options = ["zlib-vs-zstd-revlog", "--blocks", "1", "--time", "none", "--quiet", "--force"];
    let files = ["--json", path(&json), "--html", path(&html)];
    // The extension would add rows that say nothing here.
    let programs = ["--hg", path(&hg), "--hg-extension", path(extension)];
    let text = run(&scratch, &[&options[..], &files, &programs].concat(), &[&repo]).exits(exit::OK).text();
    assert_eq!(snapshot::state(&repo), before, "the source was written to");
    let all = records::read(&json);
    assert!(all.iter().all(|line| line["variant"]["client"]["library"] != true), "a row by the extension");
    let (runs, experiments) = lines(&json);
    let [experiment] = experiments.as_slice() else { panic!("{experiments:?}") };
    assert!(runs > 60, "{runs}");
    assert_eq!(experiment["repository"]["vcs"], "mercurial");
    let published = row(experiment, "zstd-to-zlib-by-default", "netbeans");
    assert_eq!(published["published"][0], 0.58, "as the data file has it");
    assert!(published["published"][1].is_null() && published["measured"][0].is_null(), "{published}");
    for title in ["zstd-to-zlib-by-default", "slowest-zstd-to-fastest-zlib"] {
        let here = &row(experiment, title, "this repository")["measured"];
        assert!(here[0]["value"].as_f64() > Some(0.0) && here[1]["value"].as_f64() > Some(0.0), "{title}: {here}");
    }
    for level in ["zlib:6", "zlib:1", "zlib:9", "zstd:1", "zstd:3", "zstd:5", "zstd:10", "zstd:15", "zstd:20"] {
        let cells = row(experiment, "levels-of-zlib-and-zstd", level)["measured"].as_array().expect("figures");
        // Bytes, and then for each task its time and its ratio, which the baseline does not have.
        assert!(cells[0]["value"].as_f64() > cells[1]["value"].as_f64(), "{level}: {cells:?}");
        for task in 0..6 {
            let (time, ratio) = (&cells[2 + 2 * task], &cells[3 + 2 * task]);
            assert!(time["value"].is_number(), "{level}, task {task}: {cells:?}");
            assert_eq!(ratio["value"].is_number(), level != "zlib:6", "{level}, task {task}: {cells:?}");
        }
    }
    let as_found = &row(experiment, "levels-of-zlib-and-zstd", "as found")["measured"];
    assert!(as_found[0]["value"].as_f64() > Some(1000.0) && as_found[2].is_null(), "{as_found}");
    // One run gives no interval, and so no verdict; sizes need none.
    for claim in ["read", "read-any-level", "write", "write-any-level", "write-high-level"] {
        assert_eq!(outcome(experiment, claim)["outcome"], "undecided", "{claim}");
        assert_ne!(outcome(experiment, claim)["measured"], Value::Array(Vec::new()), "{claim}");
    }
    for claim in ["size", "size-levels"] {
        assert_ne!(outcome(experiment, claim)["outcome"], "undecided", "{claim}");
    }
    let again = repackbench(["report", "--quiet", path(&json)]).exits(exit::OK).text();
    assert!(again.starts_with(&text), "the runs follow the results:\n{again}");
    assert!(fs::read_to_string(&html).expect("the page").contains("zstd at its slowest level"));
}

#[test]
fn zlib_vs_zstd_revlog_without_hg_names_missing_parts() {
    let (repo, scratch) = (Fixture::hg("chains").repo(), Scratch::new());
    let json = scratch.join("found.jsonl");
    let options =
        ["zlib-vs-zstd-revlog", "--blocks", "1", "--quiet", "--hg", "/no/such/hg", "--force", "--json", path(&json)];
    run(&scratch, &options, &[&repo]).exits(exit::OK);
    let (runs, experiments) = lines(&json);
    assert!(runs > 0);
    let notes = experiments[0]["notes"].to_string();
    for what in ["\"what\":\"hg debugupgraderepo\"", "\"what\":\"hg verify\""] {
        assert!(notes.contains(what), "{what}: {notes}");
    }
    let write = outcome(&experiments[0], "write");
    assert_eq!((&write["outcome"], &write["measured"]), (&"undecided".into(), &Value::Array(Vec::new())), "{write}");
    assert_ne!(outcome(&experiments[0], "size")["outcome"], "undecided");
}

#[test]
fn unsuitable_repository_does_not_stop_the_others() {
    let scratch = Scratch::new();
    let (git, hg, other) =
        (Fixture::get("history").repo(), Fixture::hg("chains").repo(), Fixture::hg("branches").repo());
    let out = scratch.join("out");
    let options = [
        "zlib-vs-lz4-revlog",
        "--blocks",
        "1",
        "--time",
        "1s",
        "--quiet",
        "--hg",
        "/no/such/hg",
        "--output",
        path(&out),
    ];
    let outcome = run(&scratch, &options, &[&hg, &git, &other]).exits(exit::USAGE);
    assert!(outcome.stderr.contains("runs on Mercurial repositories"), "{}", outcome.stderr);
    let (_, experiments) = lines(&out.join("results.jsonl"));
    let found: Vec<_> = experiments.iter().map(|experiment| experiment["repository"]["name"].as_str()).collect();
    assert_eq!(found, [Some(path(&hg)), Some(path(&other))]);
    let report = fs::read_to_string(out.join("report.md")).expect("the report");
    assert_eq!(report.matches("zlib-vs-lz4-revlog on ").count(), 2, "{report}");
    // Earlier results stay if nothing is measured.
    let before = fs::read_to_string(out.join("results.jsonl")).expect("results");
    let kept = run(&scratch, &options, &[&hg]).exits(exit::USAGE);
    assert!(kept.stderr.contains("runs.jsonl: the file exists"), "{}", kept.stderr);
    let outcome = run(&scratch, &[&options[..], &["--force"]].concat(), &[&git, &git]).exits(exit::USAGE);
    let named = outcome.stderr.lines().filter(|line| line.contains("zlib-vs-lz4-revlog on ")).count();
    assert_eq!(named, 2, "{}", outcome.stderr);
    assert_eq!(fs::read_to_string(out.join("results.jsonl")).expect("results"), before);
    assert_eq!(fs::read_to_string(out.join("report.md")).expect("the report"), report);
}

#[test]
fn all_runs_suitable_experiments_into_one_report() {
    let scratch = Scratch::on_disk();
    let (git, hg) = (Fixture::get("history").repo(), Fixture::hg("branches").repo());
    let fitting = |vcs| experiments().iter().filter(move |one| one.vcs.is_none_or(|only| only == vcs));
    let expected: Vec<&str> = [Vcs::Git, Vcs::Mercurial].into_iter().flat_map(fitting).map(|one| one.name).collect();
    let out = scratch.join("out");
    // Without hg, which is slow to start.
    let options = ["all", "--blocks", "1", "--time", "1s", "--quiet", "--hg", "/no/such/hg", "--output", path(&out)];
    let text = run(&scratch, &options, &[&git, &hg]).exits(exit::OK).text();
    let mut names: Vec<_> = fs::read_dir(&out).expect("the folder").map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["report.html", "report.md", "results.jsonl", "runs.jsonl"]);
    let (runs, experiments) = lines(&out.join("results.jsonl"));
    let found: Vec<&str> = experiments.iter().filter_map(|experiment| experiment["name"].as_str()).collect();
    assert_eq!((runs, &found), (0, &expected));
    let (runs, experiments) = lines(&out.join("runs.jsonl"));
    assert!(runs > 0 && experiments.is_empty());
    let again = repackbench(["report", path(&out.join("results.jsonl"))]).exits(exit::OK).text();
    assert_eq!(again, text);
    let document = repackbench(["report", "--json", "-", path(&out.join("results.jsonl"))]).exits(exit::OK).text();
    let document: Value = serde_json::from_str(&document).expect("a document");
    assert_eq!(document["experiments"].as_array().map(Vec::len), Some(expected.len()));
    let csv = repackbench(["report", "--csv", "-", path(&out.join("results.jsonl"))]).exits(exit::OK).text();
    assert!(csv.starts_with("experiment,repository,table,arm,") && csv.contains(",lz4hc,"), "{csv}");
    let page = fs::read_to_string(out.join("report.html")).expect("the page");
    assert!(page.contains(&format!("<title>{} published experiments, run again</title>", expected.len())));
}
