//! `repackbench schema`.

use serde_json::Value;

use crate::support::program::{self, bench, exit, words};
use crate::support::{Fixture, Scratch, records, repackbench};

#[test]
fn names_every_field_of_a_record() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let file = scratch.join("records.jsonl");
    let schema: Value = serde_json::from_str(&repackbench(["schema"]).exits(exit::OK).text()).expect("JSON");
    let options = words("--codec store --workload traverse --blocks 1 --json");
    program::run(bench(&scratch).args(options).arg(&file).arg(&repo)).exits(exit::OK);
    let record = records::read(&file).remove(0);
    for name in record.as_object().expect("an object").keys() {
        assert!(schema["properties"][name].is_object(), "{name} is not in the schema");
    }
    for name in schema["required"].as_array().expect("a list") {
        assert!(!record[name.as_str().expect("a name")].is_null(), "{name} is required and not there");
    }
}
