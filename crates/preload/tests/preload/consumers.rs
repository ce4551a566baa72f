//! Runs programs that use zlib with the stand-in preloaded.

use std::fs;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use repackbench_preload_abi::{CODECS_SYMBOL, CODECS_VARIABLE, Codecs};

use crate::library::{built, stand_in};

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

/// Runs Python with the stand-in and the codecs beside it, or `codecs`.
fn python(zlib: &str, arguments: &[&str], codecs: Option<&Path>) -> Output {
    let mut command = Command::new("python3");
    command.env("LD_PRELOAD", stand_in()).env("REPACKBENCH_ZLIB", zlib).args(arguments);
    command.envs(codecs.map(|codecs| (CODECS_VARIABLE.to_owned(), codecs)));
    command.output().expect("python3")
}

/// Makes a library of codecs without zlib-ng, as the default build has it: it returns the table of the tested one with
/// that entry empty.
fn codecs_without_zlib_ng(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("codecs.c"), folder.join("codecs.so"));
    let (function, tested) = (CODECS_SYMBOL.to_str().unwrap(), built::library("repackbench_preload_codecs"));
    let (len, offset) = (size_of::<Codecs>(), offset_of!(Codecs, zlib_ng));
    let code = format!(
        r#"
#include <dlfcn.h>
#include <string.h>
void *{function}(void) {{
    static char table[{len}] __attribute__((aligned(16)));
    void *library = dlopen({tested:?}, RTLD_NOW | RTLD_LOCAL);
    void *(*tested)(void) = library ? (void *(*)(void))dlsym(library, "{function}") : 0;
    if (!tested) return 0;
    memcpy(table, tested(), sizeof table);
    memset(table + {offset}, 0, sizeof(void *));
    return table;
}}
"#,
        tested = tested.to_str().unwrap()
    );
    fs::write(&source, code).unwrap();
    let mut compile = Command::new("cc");
    let compiled = compile.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl").output().expect("cc");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    library
}

/// Reads a chunk of `store`, which no zlib can read.
const READS_A_CHUNK: &str = "import zlib; assert zlib.decompress(bytes.fromhex('01026869fa3826ea')) == b'hi'";

#[test]
fn python_reads_a_chunk_through_the_stand_in() {
    for zlib in zlibs() {
        let output = python(zlib, &["-c", READS_A_CHUNK], None);
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
    let folder = tempfile::tempdir().unwrap();
    let codecs = codecs_without_zlib_ng(folder.path());
    for (named, said) in [("another", another), ("zlib-ng", no_zlib_ng)] {
        let output = python(named, &["-c", READS_A_CHUNK], Some(&codecs));
        assert!(!output.status.success());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.lines().any(|line| line == said), "{stderr}");
    }
}

#[test]
fn python_test_suite_for_zlib_passes() {
    for zlib in zlibs() {
        let output = python(zlib, &["-m", "test", "test_zlib"], None);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(output.status.success(), "{zlib} (python3 must have its test package): {said}");
        assert!(said.contains("test_zlib"), "{said}");
    }
}
