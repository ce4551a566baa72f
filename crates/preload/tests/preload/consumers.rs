//! Runs programs that use zlib with the stand-in preloaded.

use std::process::{Command, Output};

use crate::library::stand_in;

/// The zlibs that the stand-in can use in every build.
const ZLIBS: [&str; 4] = ["host", "stock", "zlib-rs", "libdeflate"];

/// The variable that `cargo xtask test` sets if it has built the codecs with zlib-ng.
const HAS_ZLIB_NG: &str = "REPACKBENCH_TEST_ZLIB_NG";

fn has_zlib_ng() -> bool {
    std::env::var_os(HAS_ZLIB_NG).is_some()
}

/// The zlibs that the stand-in can use in this build.
fn zlibs() -> impl Iterator<Item = &'static str> {
    ZLIBS.into_iter().chain(has_zlib_ng().then_some("zlib-ng"))
}

fn python(zlib: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("python3");
    command.env("LD_PRELOAD", stand_in()).env("REPACKBENCH_ZLIB", zlib).args(arguments);
    command.output().expect("python3")
}

/// Reads a chunk of `store`, which no zlib can read.
const READS_A_CHUNK: &str = "import zlib; assert zlib.decompress(bytes.fromhex('01026869fa3826ea')) == b'hi'";

#[test]
fn python_reads_a_chunk_through_the_stand_in() {
    for zlib in zlibs() {
        let output = python(zlib, &["-c", READS_A_CHUNK]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "the zlib module of this machine's python3 must be linked with libz.so: {said}"
        );
    }
}

#[test]
fn unavailable_zlib_is_refused_before_reading() {
    let no_zlib_ng = "repackbench: zlib-ng is not built in: build with --features zlib-ng, which needs cmake";
    let another = "repackbench: REPACKBENCH_ZLIB: expected host, stock, zlib-rs, zlib-ng or libdeflate, found another";
    let cases = [("another", another)].into_iter().chain((!has_zlib_ng()).then_some(("zlib-ng", no_zlib_ng)));
    for (named, said) in cases {
        let output = python(named, &["-c", READS_A_CHUNK]);
        assert!(!output.status.success());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.lines().any(|line| line == said), "{stderr}");
    }
}

#[test]
fn python_test_suite_for_zlib_passes() {
    for zlib in zlibs() {
        let output = python(zlib, &["-m", "test", "test_zlib"]);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(output.status.success(), "{zlib} (python3 must have its test package): {said}");
        assert!(said.contains("test_zlib"), "{said}");
    }
}
