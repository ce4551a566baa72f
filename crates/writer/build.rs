//! Hashes the sources of what writes variants, so that another build does not take those of an earlier one for its own.

use std::{
    env, fs,
    hash::{DefaultHasher, Hasher as _},
    io,
    path::{Path, PathBuf},
};

/// The folders, from that of this crate. The second one is missing where the crate was packaged; then the version of
/// the other crate is a part of the key.
const SOURCES: [&str; 2] = ["src", "../codec/src"];

fn main() -> io::Result<()> {
    let crate_folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut hasher = DefaultHasher::new();
    for name in SOURCES {
        let folder = crate_folder.join(name);
        if folder.is_dir() {
            println!("cargo::rerun-if-changed={}", folder.display());
            add(&folder, &mut hasher)?;
        }
    }
    println!("cargo::rustc-env=REPACKBENCH_SOURCES={:016x}", hasher.finish());
    Ok(())
}

/// Adds the names and contents of all files in `folder`, in the order of their names.
fn add(folder: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            add(&path, hasher)?;
        } else {
            hasher.write(path.file_name().unwrap_or_default().as_encoded_bytes());
            hasher.write(&fs::read(&path)?);
        }
    }
    Ok(())
}
