//! `repackbench diff`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::explain::rows;
use crate::support::program::{self, Outcome, bench, exit, text, words};
use crate::support::{Fixture, Scratch, repackbench};

#[track_caller]
fn run(old: &Path, new: &Path, options: &[&str]) -> Outcome {
    repackbench([&["diff", text(old), text(new)], options].concat())
}

/// The records with made-up times, as those measured on a busy machine may show no difference. The times and the size
/// of `store` are multiplied by `factor`.
fn with_times(records: &str, factor: u64) -> Vec<String> {
    let changed = records.lines().map(|line| {
        let mut record: Value = serde_json::from_str(line).expect("a record");
        let is_store = record["variant"]["spec"]["canonical"] == "store";
        let factor = if is_store { factor } else { 1 };
        let block = record["place"]["block"].as_u64().expect("a block");
        record["sample"]["user_ns"] = ((5_000_000 + 1_000 * block) * factor).into();
        record["sample"]["sys_ns"] = 0.into();
        let size = record["size"]["total_bytes"].as_u64().expect("a size") * factor;
        record["size"]["total_bytes"] = size.into();
        record.to_string()
    });
    changed.collect()
}

#[test]
fn gate_trips_on_regressions_and_missing_variants() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let (old, new) = (scratch.join("old.jsonl"), scratch.join("new.jsonl"));
    let options = words("--codec store --workload traverse --blocks 6 --json");
    program::run(bench(&scratch).args(options).arg(&old).arg(&repo)).exits(exit::OK);

    let records = fs::read_to_string(&old).expect("the records");
    let records = with_times(&records, 1);
    fs::write(&old, records.join("\n")).expect("the file");
    let same = run(&old, &old, &["--gate", "3%"]).exits(exit::OK).text();
    assert!(same.contains("store") && same.contains("1.000"), "{same}");

    fs::write(&new, with_times(&records.join("\n"), 10).join("\n")).expect("the file");
    for options in [&["--gate", "3%"][..], &["--gate", "50%", "--absolute"]] {
        let worse = run(&old, &new, options).exits(exit::REGRESSION).text();
        assert!(rows(&worse, text(&repo))[0].contains(" store ") && worse.contains("slower, larger"), "{worse}");
    }
    let json = run(&old, &new, &["--gate", "3%", "--json", "-"]).exits(exit::REGRESSION).text();
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of_store = |line: &&Value| line["record"] == "changed-cell" && line["id"]["variant"] == "store";
    let store = lines.iter().find(of_store).unwrap_or_else(|| panic!("{json}"));
    assert!(store["is_slower"] == true && store["is_larger"] == true && store["size"] == 10.0, "{store}");
    let last = lines.last().expect("a line");
    assert_eq!((&last["record"], &last["is_refused"]), (&"comparison-of-results".into(), &true.into()), "{last}");
    run(&new, &old, &["--gate", "3%"]).exits(exit::OK);
    run(&old, &new, &[]).exits(exit::OK);

    let without: Vec<&str> =
        records.iter().map(String::as_str).filter(|line| !line.contains("\"canonical\":\"store\"")).collect();
    fs::write(&new, without.join("\n")).expect("the file");
    let gone = run(&old, &new, &["--gate", "3%"]).exits(exit::REGRESSION).text();
    assert!(gone.contains("store: only in the older results"), "{gone}");
}
