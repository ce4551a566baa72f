//! The library that stands in for zlib, built as these tests were.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::program::{self, exit};

/// Its file. Cargo does not build it by itself: no Rust code links it.
pub(crate) fn stand_in() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let test = std::env::current_exe().expect("this test's path");
        let profile_folder = test.ancestors().nth(2).expect("target/PROFILE/deps/TEST");
        let profile = match profile_folder.file_name().and_then(|name| name.to_str()).expect("the profile's folder") {
            "debug" => "dev",
            name => name,
        };
        let mut build = Command::new(env!("CARGO"));
        build.args([
            "build",
            "--locked",
            "--package",
            "repackbench-preload",
            "--package",
            "repackbench-preload-codecs",
        ]);
        build.args(["--profile", profile, "--target-dir"]).arg(profile_folder.parent().expect("the target folder"));
        program::run(build.current_dir(env!("CARGO_MANIFEST_DIR"))).exits(exit::OK);
        profile_folder.join("librepackbench_preload.so")
    })
}
