//! The machine with its storage and its software.

use repackbench_client::{GitProgram, HgProgram};
use repackbench_codec::catalogue;
use repackbench_reader::Repository;
use repackbench_records::{Host, Storage, Vcs};
use repackbench_writer::cache::Cache;

/// This machine, its storage, and the versions of the software that reads and writes the files.
pub(crate) fn host(source: &Repository, cache: &Cache) -> Host {
    Host {
        source_storage: Storage::of(source.folder()),
        variant_storage: Storage::of(cache.root()),
        ..host_with_software(&[Vcs::Git, Vcs::Mercurial])
    }
}

/// This machine, with the versions of the codec libraries and of the clients of `clients` on PATH. hg takes a fifth of a
/// second to say its version, so callers ask for what they use.
pub fn host_with_software(clients: &[Vcs]) -> Host {
    let libraries = catalogue().into_iter().map(|codec| (codec.library().to_owned(), codec.version));
    let git = || GitProgram::new("git").ok().and_then(|git| version_in(git.version()));
    let hg = || HgProgram::new("hg", None).ok().and_then(|hg| version_in(hg.banner()));
    Host {
        libraries: libraries.collect(),
        git: clients.contains(&Vcs::Git).then(git).flatten(),
        hg: clients.contains(&Vcs::Mercurial).then(hg).flatten(),
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
    fn software_is_named_with_its_version() {
        let host = host_with_software(&[]);
        assert_eq!((host.git, host.hg), (None, None), "nobody asked");
        assert!(host.libraries.values().all(|version| !version.is_empty()) && !host.libraries.is_empty());
    }

    #[test]
    fn versions_are_found_in_the_output_of_programs() {
        assert_eq!(version_in("git version 2.47.3").as_deref(), Some("2.47.3"));
        assert_eq!(version_in("git version 2.39.5 (Apple Git-154)").as_deref(), Some("2.39.5"));
        assert_eq!(version_in("Mercurial Distributed SCM (version 7.2)").as_deref(), Some("7.2"));
        assert_eq!(version_in("no such thing"), None);
    }
}
