//! The Python module that is installed with the program: its own tests, with the program that is tested here.

use std::path::Path;
use std::process::Command;

#[test]
fn reads_records_and_results_of_the_program() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations/python/tests/test_records.py");
    let mut python = Command::new("python3");
    python.arg("-B").arg(tests).env("REPACKBENCH", env!("CARGO_BIN_EXE_repackbench"));
    let done = python.output().expect("python3");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
