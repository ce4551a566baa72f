//! `repackbench report`: it shows results as the command that wrote them, joins them, and prints every form.

mod html;

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::program::{self, Outcome, bench, cached, command, exit, text as path, words};
use crate::support::{Fixture, Scratch, records};

/// Runs the program with its cache in the scratch folder.
#[track_caller]
fn run(scratch: &Scratch, arguments: &[&str]) -> Outcome {
    program::run(cached(scratch).args(arguments))
}

/// Measures a traversal under `store`, and writes the results to `file`.
#[track_caller]
fn measure(scratch: &Scratch, repo: &Path, blocks: &str, file: &Path) {
    let mut bench = bench(scratch);
    bench
        .args(words("--codec store --workload traverse --blocks"))
        .arg(blocks)
        .args(["--force", "--json"])
        .arg(file)
        .arg(repo);
    program::run(&mut bench).exits(exit::OK);
}

#[test]
fn shows_results_as_the_command_that_wrote_them() {
    let scratch = Scratch::new();
    let file = scratch.join("results.jsonl");
    for repo in [Fixture::get("history").repo(), Fixture::hg("branches").repo()] {
        for arguments in [
            "bench --min-run-time 1ms --quiet --codec zstd:5 --codec lz4 --workload traverse --workload checkout:sink --blocks 6",
            "trace --quiet --codec lz4 --workload traverse",
            "size",
        ] {
            let shown =
                run(&scratch, &[&words(arguments), &["--force", "--json", path(&file), path(&repo)][..]].concat())
                    .exits(exit::OK)
                    .text();
            let again = run(&scratch, &["report", path(&file)]).exits(exit::OK);
            assert_eq!(again.text(), shown, "{arguments:?}");
        }
        let explain = words("explain --min-run-time 1ms --quiet --codec zstd:5 --workload traverse --blocks 2");
        let shown = run(&scratch, &[&explain[..], &["--force", "--json", path(&file), path(&repo)]].concat())
            .exits(exit::OK)
            .text();
        let again = run(&scratch, &["report", path(&file)]).exits(exit::OK).text();
        assert!(again.ends_with(&shown), "{again}\n{shown}");
    }
}

#[test]
fn keeps_the_command_and_the_cost_of_each_variant() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let file = scratch.join("it's.jsonl");
    measure(&scratch, &repo, "1", &file);
    for run in records::read(&file) {
        let command = run["command"].as_str().expect("a command");
        assert!(command.starts_with("repackbench bench --min-run-time 1ms --quiet --codec store "), "{command}");
        let words = shlex::split(command).expect("quoted words");
        assert_eq!(words.last_chunk(), Some(&[path(&file).to_owned(), path(&repo).to_owned()]), "quoted: {command}");
        let is_made = run["variant"]["role"] != "as-found";
        assert_eq!(run["conversion"]["wall_ns"].is_u64(), is_made, "{run}");
        assert_eq!(run["conversion"]["cpu_ns"].is_u64(), is_made, "{run}");
    }
}

#[test]
fn joins_repositories_and_counts_nothing_twice() {
    let scratch = Scratch::new();
    let files = [scratch.join("a.jsonl"), scratch.join("b.jsonl")];
    for (file, fixture) in files.iter().zip(["history", "content"]) {
        measure(&scratch, &Fixture::get(fixture).repo(), "6", file);
    }
    let [a, b] = files.each_ref().map(|file| path(file));
    let alone = run(&scratch, &["report", a]).exits(exit::OK).text();
    assert!(!alone.contains("All repositories together"), "{alone}");
    let twice = run(&scratch, &["report", a, a]).exits(exit::OK);
    assert_eq!(twice.text(), alone);
    assert!(twice.stderr.contains("24 duplicate lines count once"), "{}", twice.stderr);

    let document = run(&scratch, &["report", "--json", "-", a, b]).exits(exit::OK).text();
    let document: Value = serde_json::from_str(&document).expect("JSON");
    let comparisons = document["comparisons"].as_array().expect("comparisons");
    assert_eq!(comparisons.len(), 2);
    let ratio = |comparison: &Value| {
        let rows = comparison["rows"].as_array().expect("rows");
        let row = |role: &str| rows.iter().find(|row| row["variant"]["role"] == role).expect("a row of this role");
        let bytes = |role: &str| row(role)["size"]["total_bytes"].as_f64().expect("bytes");
        (row("candidate")["ratio"]["ratio"].as_f64().expect("a ratio"), bytes("candidate"), bytes("baseline"))
    };
    let [(first, first_bytes, first_of), (second, second_bytes, second_of)] =
        [&comparisons[0], &comparisons[1]].map(ratio);
    let joined = document["joined"].as_array().expect("joined rows");
    let store = joined.iter().find(|row| row["variant"] == "store");
    // A session that the machine disturbed is not joined with others.
    let is_joined = comparisons.iter().all(|comparison| comparison["is_valid"] == true);
    assert_eq!(store.is_some(), is_joined, "{document}");
    let Some(store) = store else { return };
    let near = |name: &str, expected: f64| {
        let found = store[name].as_f64().expect("a number");
        assert!((found / expected - 1.0).abs() < 1e-9, "{name}: {found}, expected {expected}");
    };
    assert_eq!(store["repositories"], 2);
    near("time_mean", (first * second).sqrt());
    near("size_mean", (first_bytes / first_of * second_bytes / second_of).sqrt());
    near("size_total", (first_bytes + second_bytes) / (first_of + second_of));
}

#[test]
fn prints_one_form_also_from_stdin() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let file = scratch.join("a.jsonl");
    measure(&scratch, &repo, "1", &file);
    let from_stdin = |options: &[&str]| {
        let input = fs::File::open(&file).expect("the results");
        let output = command().arg("report").args(options).arg("-").stdin(input).output().expect("the program");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let markdown = from_stdin(&["--markdown", "-"]);
    assert!(markdown.starts_with("### ") && markdown.contains("<details>"), "{markdown}");
    let csv = from_stdin(&["--csv", "-"]);
    assert!(csv.starts_with("repository,") && csv.lines().count() == 4, "a header, as found, zlib:6 and store:\n{csv}");
    assert!(serde_json::from_str::<Value>(&from_stdin(&["--json", "-"])).is_ok());
    run(&scratch, &["report", "--csv", "-", "--markdown", "-", path(&file)]).exits(exit::USAGE);
    run(&scratch, &["report"]).exits(exit::USAGE);
}

/// Options that once took no value would take the next file of results, which must survive.
#[test]
fn forms_never_replace_results() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let (file, other) = (scratch.join("a.jsonl"), scratch.join("b.jsonl"));
    measure(&scratch, &repo, "1", &file);
    fs::copy(&file, &other).expect("a copy");
    for form in ["--markdown", "--csv", "--json"] {
        for files in [[path(&file), form, path(&other)], [form, path(&other), path(&file)]] {
            let printed = run(&scratch, &[&["report", "--quiet"], &files[..]].concat()).exits(exit::OK);
            let named = run(&scratch, &["report", "--quiet", form, "-", path(&file), path(&other)]).exits(exit::OK);
            assert_eq!(printed.stdout, named.stdout);
        }
    }
    let refused = run(&scratch, &["report", path(&file), "--html", path(&other)]).exits(exit::USAGE);
    assert!(refused.error_line().contains("b.jsonl is a file of results"), "{}", refused.stderr);
    let refused = run(&scratch, &["size", path(&repo), "--markdown", path(&other)]).exits(exit::USAGE);
    assert!(refused.error_line().contains("b.jsonl is a file of results"), "{}", refused.stderr);
    assert_eq!(fs::read(&file).expect("the results"), fs::read(&other).expect("the results"));
    let printed = run(&scratch, &["report", path(&file), "--markdown"]).exits(exit::OK);
    assert_eq!(printed.stderr, "repackbench: note: --markdown is now --markdown -, or --markdown FILE\n");
    let page = scratch.join("a.md");
    for _ in 0..2 {
        let text = run(&scratch, &["report", path(&file), "--markdown", path(&page)]).exits(exit::OK).text();
        assert_eq!(fs::read(&page).expect("the page"), printed.stdout);
        assert!(text.contains("compared with zlib:6"), "the tables too:\n{text}");
    }
}

#[test]
fn files_are_written_where_links_lead_and_pipes_stay() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let [results, target, link, pipe] =
        ["results.jsonl", "target.md", "link.md", "pipe"].map(|name| scratch.join(name));
    run(&scratch, &["size", path(&repo), "--json", path(&results)]).exits(exit::OK);
    fs::write(&target, "earlier").expect("a file");
    std::os::unix::fs::symlink("target.md", &link).expect("a link");
    program::run(std::process::Command::new("mkfifo").arg(&pipe)).exits(exit::OK);
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe)
    });
    run(&scratch, &["report", path(&results), "--markdown", path(&link)]).exits(exit::OK);
    run(&scratch, &["report", path(&results), "--markdown", path(&pipe)]).exits(exit::OK);
    let written = fs::read_to_string(&target).expect("the target");
    assert!(written.contains("total") && link.is_symlink(), "{written}");
    assert_eq!(reader.join().expect("the reader").expect("what was written"), written);
    assert!(!pipe.is_file(), "a device in its place would be gone");
}

#[test]
fn reads_what_gzip_compressed() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let results = scratch.join("results.jsonl");
    run(&scratch, &["size", path(&repo), "--json", path(&results)]).exits(exit::OK);
    let shown = run(&scratch, &["report", path(&results)]).exits(exit::OK).text();
    program::run(std::process::Command::new("gzip").arg(&results)).exits(exit::OK);
    let compressed = scratch.join("results.jsonl.gz");
    assert_eq!(run(&scratch, &["report", path(&compressed)]).exits(exit::OK).text(), shown);
    let content = fs::read(&compressed).expect("the file");
    fs::write(&compressed, &content[..content.len() - 9]).expect("a part of it");
    let refused = run(&scratch, &["report", path(&compressed)]).exits(exit::FAILURE);
    assert!(refused.stderr.contains("results.jsonl.gz"), "{}", refused.stderr);
}

/// Two commands would write over each other.
#[test]
fn one_command_at_a_time_writes_a_file_of_records() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let results = scratch.join("results.jsonl");
    run(&scratch, &["size", path(&repo), "--json", path(&results)]).exits(exit::OK);
    let before = fs::read_to_string(&results).expect("records");
    let other = fs::File::open(&results).expect("the file");
    other.lock().expect("a lock");
    for option in ["--append", "--force"] {
        let refused = run(&scratch, &["size", path(&repo), "--json", path(&results), option]).exits(exit::TRY_AGAIN);
        assert!(refused.stderr.contains("another command writes this file"), "{}", refused.stderr);
    }
    assert_eq!(fs::read_to_string(&results).expect("records"), before);
    drop(other);
    // What is there stays until there is something else.
    let gone = scratch.join("gone");
    run(&scratch, &["size", path(&gone), "--json", path(&results), "--force"]).exits(exit::BAD_INPUT);
    assert_eq!(fs::read_to_string(&results).expect("records"), before);
}

#[test]
fn invalid_results_are_named_with_their_line() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let file = scratch.join("a.jsonl");
    measure(&scratch, &repo, "1", &file);
    let whole = fs::read_to_string(&file).expect("the results");
    // A line that was cut off, for example by a full disk, is left out. The same line with a newline is damaged.
    let cut = &whole[..whole.len() - 20];
    fs::write(&file, cut).expect("the file");
    let outcome = run(&scratch, &["report", path(&file)]).exits(exit::OK);
    assert!(outcome.stderr.contains("line 4 is incomplete"), "{}", outcome.stderr);
    fs::write(&file, format!("{cut}\n")).expect("the file");
    let refused = run(&scratch, &["report", path(&file)]).exits(exit::FAILURE);
    assert!(refused.stderr.contains("a.jsonl: line 4: expected a record"), "{}", refused.stderr);
    fs::write(&file, "\n").expect("the file");
    let empty = run(&scratch, &["report", path(&file)]).exits(exit::FAILURE);
    assert!(empty.stderr.contains("a.jsonl: expected results, found none"), "{}", empty.stderr);
    let missing = scratch.join("none.jsonl");
    assert!(run(&scratch, &["report", path(&missing)]).exits(exit::FAILURE).stderr.contains("none.jsonl: cannot open"));
}
