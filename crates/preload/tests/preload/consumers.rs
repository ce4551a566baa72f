//! zlib's own consumers, with the stand-in preloaded.

use std::process::{Command, Output};

use crate::library::stand_in;

/// Every zlib that the stand-in can use.
const ZLIBS: [&str; 4] = ["host", "stock", "zlib-rs", "libdeflate"];

fn python(zlib: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("python3");
    command.env("LD_PRELOAD", stand_in()).env("REPACKBENCH_ZLIB", zlib).args(arguments);
    command.output().expect("python3")
}

/// A chunk of `store`: no zlib reads it.
const READS_A_CHUNK: &str = "import zlib; assert zlib.decompress(bytes.fromhex('01026869fa3826ea')) == b'hi'";

#[test]
fn pythons_zlib_is_the_stand_in() {
    for zlib in ZLIBS {
        let output = python(zlib, &["-c", READS_A_CHUNK]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "the zlib module of this machine's python3 must be linked with libz.so: {said}"
        );
    }
}

#[test]
fn pythons_own_tests_of_zlib() {
    for zlib in ZLIBS {
        let output = python(zlib, &["-m", "test", "test_zlib"]);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(output.status.success(), "{zlib} (python3 must have its test package): {said}");
        assert!(said.contains("test_zlib"), "{said}");
    }
}
