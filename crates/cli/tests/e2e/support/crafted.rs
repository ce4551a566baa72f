//! Packs that git never writes, made by the builder of the fixtures.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::program::{self, Scratch, exit};
use super::{fixture, git};

/// A bare repository with one pack. `python` adds entries to `pack`: see `fixtures/pack_builder.py`.
#[track_caller]
pub(crate) fn repository(scratch: &Scratch, python: &str) -> PathBuf {
    let repo = scratch.join("crafted");
    git::output(scratch.path(), ["init", "--quiet", "--bare", "--initial-branch=main", "crafted"]);
    let script = format!(
        "from pack_builder import *\npack = PackBuilder()\n{python}\npack.write('crafted/objects/pack', index=True)\n"
    );
    program::run(
        Command::new("python3")
            .current_dir(scratch.path())
            .env("PYTHONPATH", fs::canonicalize(fixture::scripts()).expect("the fixtures"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .args(["-c", &script]),
    )
    .exits(exit::OK);
    repo
}

/// Python lines that add the object `oid` to the branch `main` as the file `file`.
pub(crate) const AS_A_FILE: &str = "\
pack.whole('tree', tree([(b'100644', b'file', oid)]))
pack.whole('commit', commit(pack.entries[-1][0]))
with open('crafted/refs/heads/main', 'w') as ref:
    ref.write(pack.entries[-1][0].hex() + '\\n')
";

/// The only pack of a repository.
pub(crate) fn pack(repo: &Path) -> PathBuf {
    let mut packs = git::pack_files(repo, "pack");
    assert_eq!(packs.len(), 1, "one pack expected in {}", repo.display());
    packs.remove(0)
}
