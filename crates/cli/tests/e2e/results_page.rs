//! `repackbench results-page`: the page of results follows from committed records, and from nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::support::program::{self, Outcome, Scratch, cached, exit, text, words};
use crate::support::{Fixture, repackbench};

/// The repositories of the page, and the fixtures that they are.
const REPOSITORIES: [(&str, &str); 2] = [("one/history", "history"), ("one/content", "content")];

/// A folder of results with the records of two repositories, measured as `cargo xtask results collect` does.
fn results(scratch: &Scratch) -> PathBuf {
    let folder = scratch.join("results");
    let links = scratch.join("links");
    fs::create_dir_all(links.join("one")).expect("a folder");
    fs::create_dir_all(folder.join("records")).expect("a folder");
    let (mut manifest, mut list) = (String::new(), String::new());
    for (name, fixture) in REPOSITORIES {
        symlink(Fixture::get(fixture).repo(), links.join(name)).expect("a link");
        manifest += &(serde_json::json!({"name": name, "path": name}).to_string() + "\n");
        let url = format!("https://example.org/{name}");
        list += &(serde_json::json!({"name": name, "url": url, "kind": "source", "about": "shell"}).to_string() + "\n");
    }
    fs::write(links.join("list.jsonl"), manifest).expect("a manifest");
    fs::write(folder.join("repositories.jsonl"), list).expect("a list");
    let mut fleet = cached(scratch);
    fleet.current_dir(&links).args(["fleet", "list.jsonl", "--json", "../results/records/one.jsonl"]);
    program::run(fleet.args(words("--codec zstd:3 --workload traverse --time 2s --bench 100%"))).exits(exit::OK);
    folder
}

fn page(folder: &Path, options: &[&str]) -> Outcome {
    repackbench(["results-page", text(folder)].iter().chain(options))
}

fn records(folder: &Path) -> PathBuf {
    folder.join("records/one.jsonl")
}

#[test]
fn pages_follow_from_records() {
    let scratch = Scratch::new();
    let folder = results(&scratch);
    assert!(page(&folder, &["--check"]).exits(exit::FAILURE).stderr.contains("not what the records give"));
    page(&folder, &[]).exits(exit::OK);
    page(&folder, &["--check"]).exits(exit::OK);
    let index = fs::read_to_string(folder.join("README.md")).expect("a page");
    let one = fs::read_to_string(folder.join("repositories/one/history.md")).expect("a page");
    assert!(index.contains("Scope: 2 public Git repositories"), "{index}");
    assert!(index.contains("[one/history](repositories/one/history.md)"), "{index}");
    assert!(one.contains("## Predicted and measured"), "{one}");
    assert!(!index.contains(text(scratch.path())) && !one.contains(text(scratch.path())), "no path of this machine");

    let changed = folder.join("sizes.md");
    fs::write(&changed, fs::read_to_string(&changed).expect("a page") + "More.\n").expect("a page");
    let [stale, note] = ["gone.md", "note.md"].map(|name| folder.join("repositories/one").join(name));
    fs::write(&stale, one.lines().next().expect("its first line")).expect("a page");
    fs::write(&note, "somebody's").expect("a file");
    let error = page(&folder, &["--check"]).exits(exit::FAILURE).stderr;
    assert!(error.contains("sizes.md") && error.contains("gone.md") && !error.contains("times.md"), "{error}");
    page(&folder, &[]).exits(exit::OK);
    page(&folder, &["--check"]).exits(exit::OK);
    assert!(!stale.exists() && note.exists());
}

#[test]
fn incomplete_records_are_refused_by_file_line_and_field() {
    let scratch = Scratch::new();
    let folder = results(&scratch);
    let whole = fs::read_to_string(records(&folder)).expect("records");
    let line_of = |part: &str| whole.lines().position(|line| line.contains(part)).expect("a line") + 1;
    let (estimate, run) = (line_of(r#""record":"estimate""#), line_of(r#""place":{"#));
    let changed = |number: usize, change: &dyn Fn(&mut serde_json::Value)| {
        let lines = whole.lines().enumerate().map(|(at, line)| {
            if at + 1 != number {
                return line.to_owned() + "\n";
            }
            let mut value = serde_json::from_str(line).expect("a record");
            change(&mut value);
            value.to_string() + "\n"
        });
        fs::write(records(&folder), lines.collect::<String>()).expect("records");
        let outcome = page(&folder, &[]).exits(exit::FAILURE);
        assert!(!folder.join("README.md").exists(), "nothing is written");
        outcome.error_line()
    };
    let refused = |number: usize, change: &dyn Fn(&mut serde_json::Value)| {
        let line = changed(number, change);
        assert!(line.contains(&format!("one.jsonl: line {number}: ")), "{line}");
        line
    };
    assert!(refused(estimate, &|of| of["host"] = serde_json::Value::Null).contains(": host: "));
    assert!(refused(estimate, &|of| of["program_version"] = "".into()).contains(": program_version: "));
    assert!(refused(estimate, &|of| of["repository"]["tip"] = serde_json::Value::Null).contains(": repository.tip: "));
    assert!(refused(estimate, &|of| of["command"] = "repackbench estimate /srv/a".into()).contains(": command: "));
    assert!(refused(run, &|of| of["host"]["cores"] = serde_json::Value::Null).contains(": host.cores: "));
    let unlisted = refused(estimate, &|of| of["repository"]["name"] = "one/other".into());
    assert!(unlisted.contains("one/other is not in repositories.jsonl"), "{unlisted}");
    let twice = changed(1, &|of| {
        *of = serde_json::from_str(whole.lines().nth(estimate - 1).expect("a line")).expect("a record");
    });
    assert!(
        twice.contains(&format!("one.jsonl: line {estimate}: ")) && twice.contains("estimate already, in "),
        "{twice}"
    );
}

/// Where committed pages and records are.
fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results")
}

/// The lines of the committed list and the committed estimates, as JSON.
fn committed_estimates() -> (Vec<serde_json::Value>, Vec<serde_json::Value>) {
    let read = |path: PathBuf, start: &str| {
        let text = fs::read_to_string(&path).expect("a committed file");
        let lines = text.lines().filter(|line| line.starts_with(start));
        lines.map(|line| serde_json::from_str(line).expect("JSON")).collect::<Vec<serde_json::Value>>()
    };
    let records = fs::read_dir(committed().join("records")).expect("the records");
    // Those that are compressed have runs.
    let records = records
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    let estimates = records.flat_map(|path| read(path, r#"{"record":"estimate""#)).collect();
    (read(committed().join("repositories.jsonl"), "{"), estimates)
}

/// A kind that follows from measured bytes is not a matter of opinion: files take more than half of the bytes, and
/// whole ones keep 80 % of theirs.
#[test]
fn only_repositories_with_compressed_files_are_listed_as_such() {
    let (listed, estimates) = committed_estimates();
    let kind = |name: &str| listed.iter().find(|listed| listed["name"] == name).expect("its line")["kind"].clone();
    let stored = |of: &serde_json::Value| of["stored_bytes"].as_f64().unwrap_or_default();
    let mut compressed = 0;
    for estimate in &estimates {
        let name = estimate["repository"]["name"].as_str().expect("a name");
        let objects = estimate["as_found"]["objects"].as_object().expect("the objects by kind");
        let all: f64 = objects.values().flat_map(|of| [stored(&of["whole"]), stored(&of["delta"])]).sum();
        let files = objects.get("blob").or(objects.get("filelog")).expect("files");
        let (whole, payload) = (stored(&files["whole"]), files["whole"]["payload_bytes"].as_f64().expect("bytes"));
        let are_most = whole + stored(&files["delta"]) > all / 2.0;
        let is_compressed = are_most && whole >= 0.8 * payload;
        assert_eq!(kind(name) == "compressed", is_compressed, "{name}: whole files keep {whole} of {payload} bytes");
        compressed += usize::from(is_compressed);
    }
    assert!(compressed > 0 && estimates.len() > 30, "{compressed} of {}", estimates.len());
}

/// The FAQ says how many verdicts say what.
#[test]
fn faq_counts_the_verdicts_of_committed_pages() {
    let (listed, _) = committed_estimates();
    let page = |listed: &serde_json::Value| {
        let name = listed["name"].as_str().expect("a name");
        fs::read_to_string(committed().join(format!("repositories/{name}.md"))).ok()
    };
    let pages: Vec<String> = listed.iter().filter_map(page).collect();
    let verdicts: Vec<&str> =
        pages.iter().flat_map(|page| page.lines()).filter_map(|line| line.strip_prefix("- Verdict: ")).collect();
    assert_eq!(verdicts.len(), pages.len(), "each page has one verdict");
    let of = |start: &str| verdicts.iter().filter(|verdict| verdict.starts_with(start)).count();
    let (change, small) = (of("change to "), of("too small to matter"));
    assert_eq!(change + small, verdicts.len(), "the FAQ has no words for other verdicts: {verdicts:?}");
    let faq = fs::read_to_string(committed().join("../faq.md")).expect("the FAQ").replace('\n', " ");
    let sentence =
        format!("It says so for {change} of the {} repositories of the [results](results/README.md).", pages.len());
    let others = format!("The other {small} are too small to matter");
    assert!(faq.contains(&sentence) && faq.contains(&others), "{sentence} {others}");
}

/// The words of a Markdown file, each after one space.
fn flowed(path: &str) -> String {
    let text = fs::read_to_string(committed().join(path)).expect("a document");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The cells of each row of a table in a Markdown file, by the first cell.
fn rows(path: &str, heading: &str) -> std::collections::BTreeMap<String, Vec<String>> {
    let text = fs::read_to_string(committed().join(path)).expect("a document");
    let table = text.lines().skip_while(|line| !line.starts_with(heading)).skip(2);
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    table.take_while(|line| line.starts_with('|')).map(|line| (cells(line)[0].clone(), cells(line))).collect()
}

/// Documents repeat what the page says, and change with it.
#[test]
fn documents_quote_the_committed_page() {
    let page = flowed("README.md");
    let bullet = |start: &str| {
        let (_, rest) = page.split_once(start).unwrap_or_else(|| panic!("no bullet {start:?}"));
        rest.split(" - ").next().expect("its text").to_owned()
    };
    let short = bullet("- In short: ");
    assert!(flowed("../../README.md").to_lowercase().contains(&short.to_lowercase()), "README.md: {short}");
    let errors = bullet("- All figures are predicted from samples. ");
    assert!(flowed("../faq.md").contains(&errors), "docs/faq.md: {errors}");

    let of_page = rows("README.md", "| codec | read by");
    let quoted = rows("../choosing.md", "| codec | size as found");
    assert!(quoted.len() > 10, "{quoted:?}");
    for (codec, cells) in quoted {
        // Sizes and CPU times in both states, as means, and the time to encode.
        let expected = [2, 6, 4, 8, 10].map(|column| of_page[&codec][column].clone());
        assert_eq!(cells[1..], expected, "{codec} in docs/choosing.md");
    }
    let saved = |codec: &str, column: usize| {
        let ratio: f64 = of_page[codec][column].parse().expect("a ratio");
        format!("{:.1} %", 100.0 * (1.0 - ratio))
    };
    let zstd = format!(
        "(`zstd:19` makes the public repositories of the [results](results/README.md) {} smaller)",
        saved("zstd:19", 2)
    );
    assert!(flowed("../faq.md").contains(&zstd), "docs/faq.md: {zstd}");
}

/// Whoever adds records has to make the pages anew.
#[test]
fn committed_pages_are_those_of_the_committed_records() {
    page(&committed(), &["--check"]).exits(exit::OK);
}
