//! Records that the program wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::Scratch;
use super::program::{self, exit};

/// The lines of a file of records.
#[track_caller]
pub(crate) fn read(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("a record on each line")).collect()
}

/// A number in a record.
#[track_caller]
pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// Fails the test unless the runs are of this many workloads, and all rows of each have the same digest and counts.
/// Records of other kinds, such as explanations, have neither.
#[track_caller]
pub(crate) fn assert_same_results(records: &[Value], workloads: usize) {
    let mut results: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for record in records.iter().filter(|record| record["record"].is_null()) {
        let workload = record["workload"]["name"].as_str().expect("a name");
        results.entry(workload).or_default().insert(format!("{}{}", record["digest"], record["counts"]));
    }
    assert_eq!(results.len(), workloads, "{results:?}");
    for (workload, results) in results {
        assert_eq!(results.len(), 1, "every row of {workload} does the same: {results:?}");
    }
}

/// The spec of a record as typed.
pub(crate) fn spec(record: &Value) -> &str {
    record["variant"]["spec"]["typed"].as_str().unwrap_or("as found")
}

/// The exact sizes of a repository as found, from the records of a benchmark: tables round.
#[track_caller]
pub(crate) fn sizes(repo: &Path) -> Value {
    let scratch = Scratch::new();
    let file = scratch.join("records.jsonl");
    let mut bench = program::bench(&scratch);
    bench.args(["--codec", "store", "--workload", "traverse", "--blocks", "1", "--json"]).arg(&file).arg(repo);
    program::run(&mut bench).exits(exit::OK);
    let mut records = read(&file).into_iter();
    let as_found = records.find(|record| record["variant"]["spec"].is_null()).expect("a record of the source as found");
    as_found["size"].clone()
}
