//! The Debian package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{build::Built, empty_sibling, time_of_sources};
use crate::files::{failed, make_folder, remove_folder};
use crate::process::{self, Failure, Outcome, succeeds};

/// Packs what is laid out in `out` with the prefix `/usr`, and returns the package beside `out`; `None`, with a note,
/// where there is no dpkg-deb.
pub(super) fn package(out: &Path, built: &Built) -> Outcome<Option<PathBuf>> {
    if !succeeds(Command::new("dpkg-deb").arg("--version")) {
        eprintln!("note: no dpkg-deb, so no Debian package is made");
        return Ok(None);
    }
    let cpu = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => return Err(Failure(format!("{other}: Debian's name of this processor is not known"))),
    };
    let root = empty_sibling(out, "debian")?;
    process::run(Command::new("cp").arg("--archive").arg(out).arg(root.join("usr")))?;
    write(&root.join("DEBIAN/control"), &control(cpu, &built.glibc(".")))?;
    write(&root.join("usr/share/doc/repackbench/copyright"), COPYRIGHT)?;
    let package = out.with_file_name(format!("repackbench_{}_{cpu}.deb", env!("CARGO_PKG_VERSION")));
    let mut build = Command::new("dpkg-deb");
    build.env("SOURCE_DATE_EPOCH", time_of_sources().to_string());
    process::output(build.args(["--root-owner-group", "--build"]).arg(&root).arg(&package))?;
    remove_folder(&root)?;
    Ok(Some(package))
}

/// Who may copy the package, where Debian looks for it.
const COPYRIGHT: &str = "\
repackbench is licensed under MIT or Apache-2.0, at your choice: see LICENSE-MIT and LICENSE-APACHE in this folder.
The Mercurial extension /usr/lib/mercurial/repackbench/__init__.py is licensed under GPL-2.0-or-later: see
integrations/hg/LICENSE-GPL. THIRD-PARTY-LICENSES has the licences of the linked libraries.
";

/// What dpkg knows of the package. `Maintainer` has no address, since there is none that takes mail and an invented one
/// would mislead. dpkg installs that; lintian calls it `malformed-contact`, and Debian's own archive would refuse it.
fn control(cpu: &str, glibc: &str) -> String {
    format!(
        "Package: repackbench\n\
         Version: {}\n\
         Architecture: {cpu}\n\
         Maintainer: The repackbench developers\n\
         Section: vcs\n\
         Priority: optional\n\
         Depends: libc6 (>= {glibc}), libgcc-s1 | libgcc1\n\
         Recommends: git\n\
         Suggests: mercurial\n\
         Description: measure a Git or Mercurial repository under other codecs\n \
          Rewrites a repository with its objects compressed by another codec, the delta\n \
          structure untouched, replays checkout, history traversal and diff on each\n \
          variant, and reports size and time beside a zlib baseline.\n",
        env!("CARGO_PKG_VERSION"),
    )
}

fn write(path: &Path, text: &str) -> Outcome<()> {
    make_folder(path.parent().unwrap_or(path))?;
    fs::write(path, text).map_err(|error| failed(path, &error))
}
