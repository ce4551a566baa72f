//! Finds the versions of those compression libraries that cannot report them at run time. A version that is written by
//! hand would go stale.

use std::path::{Path, PathBuf};
use std::{env, fs};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let lock_path = lock_file()?;
    println!("cargo:rerun-if-changed={}", lock_path.display());
    let lock = fs::read_to_string(&lock_path)?;
    for (package, variable) in [
        ("zlib-rs", "REPACKBENCH_ZLIB_RS_VERSION"),
        ("lz4_flex", "REPACKBENCH_LZ4_FLEX_VERSION"),
        ("snap", "REPACKBENCH_SNAP_VERSION"),
        ("brotli", "REPACKBENCH_BROTLI_VERSION"),
        ("libbz2-rs-sys", "REPACKBENCH_LIBBZ2_RS_VERSION"),
        ("miniz_oxide", "REPACKBENCH_MINIZ_OXIDE_VERSION"),
        ("sirocco", "REPACKBENCH_SIROCCO_VERSION"),
        ("zopfli", "REPACKBENCH_ZOPFLI_VERSION"),
    ] {
        let version = locked_version(&lock, package)
            .ok_or_else(|| format!("{}: expected one version of {package}", lock_path.display()))?;
        println!("cargo:rustc-env={variable}={version}");
    }
    println!("cargo:rustc-env=REPACKBENCH_LIBDEFLATE_VERSION={}", libdeflate_version()?);
    Ok(())
}

/// The lock file of the workspace: the nearest one above this package.
fn lock_file() -> Result<PathBuf, Failure> {
    let package = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let found = package.ancestors().map(|folder| folder.join("Cargo.lock")).find(|path| path.is_file());
    found.ok_or_else(|| "expected a Cargo.lock in the workspace".into())
}

/// The version of `package` that this crate depends on.
///
/// If the lock file holds several versions of one package, it spells out the version in the list of each dependent.
fn locked_version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let dependencies = lock.split("[[package]]").find(|entry| field(entry, "name") == Some(env!("CARGO_PKG_NAME")))?;
    let listed = dependencies.lines().map(|line| line.trim().trim_matches(['"', ',']));
    let spelled = listed.filter_map(|line| line.strip_prefix(package)?.strip_prefix(' ')).next();
    let mut entries = lock.split("[[package]]").filter(|entry| field(entry, "name") == Some(package));
    match (spelled, entries.next(), entries.next()) {
        (Some(version), _, _) => version.split(' ').next(),
        (None, Some(only), None) => field(only, "version"),
        _ => None,
    }
}

/// The value of `name = "value"` in one entry of a lock file.
fn field<'a>(entry: &'a str, name: &str) -> Option<&'a str> {
    entry.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"'))
}

/// The version in the header of the linked libdeflate, which has no function that returns it.
fn libdeflate_version() -> Result<String, Failure> {
    let include = env::var("DEP_LIBDEFLATE_INCLUDE")?;
    let header = fs::read_to_string(Path::new(&include).join("libdeflate.h"))?;
    let line = header.lines().find_map(|line| line.strip_prefix("#define LIBDEFLATE_VERSION_STRING"));
    let version = line.and_then(|rest| rest.trim().strip_prefix('"')?.strip_suffix('"'));
    version.map(str::to_owned).ok_or_else(|| "libdeflate.h: expected LIBDEFLATE_VERSION_STRING".into())
}
