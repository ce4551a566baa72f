//! The machine with its storage and its software.

use repackbench_client::{GitProgram, HgProgram};
use repackbench_codec::catalogue;
use repackbench_reader::Repository;
use repackbench_records::{Host, Storage};
use repackbench_writer::cache::Cache;

/// This machine, its storage, and the versions of the software that reads and writes the files.
pub(super) fn host(source: &Repository, cache: &Cache) -> Host {
    let libraries = catalogue().into_iter().map(|codec| (codec.library().to_owned(), codec.version));
    Host {
        source_storage: Storage::of(source.folder()),
        variant_storage: Storage::of(cache.root()),
        libraries: libraries.collect(),
        git: GitProgram::new("git").ok().and_then(|git| version_in(git.version())),
        hg: HgProgram::new("hg", None).ok().and_then(|hg| version_in(hg.banner())),
        ..Host::current()
    }
}

/// The version in the output of a program: `git version 2.47.3`, `Mercurial Distributed SCM (version 7.2)`.
fn version_in(line: &str) -> Option<String> {
    let (_, version) = line.split_once("version ")?;
    let version = version.split(|letter: char| letter.is_whitespace() || letter == ')').next()?;
    (!version.is_empty()).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_the_output_of_programs() {
        assert_eq!(version_in("git version 2.47.3").as_deref(), Some("2.47.3"));
        assert_eq!(version_in("git version 2.39.5 (Apple Git-154)").as_deref(), Some("2.39.5"));
        assert_eq!(version_in("Mercurial Distributed SCM (version 7.2)").as_deref(), Some("7.2"));
        assert_eq!(version_in("no such thing"), None);
    }
}
