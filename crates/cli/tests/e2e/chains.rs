//! `repackbench chains`: objects are counted where git and hg say they are, and only variants stand beside a repository.

use std::collections::BTreeMap;
use std::path::Path;

use super::support::hg;
use super::support::hg_server::HgServer;
use super::support::program::{self, Outcome, command, convert, exit};
use super::support::reseal::OpenPack;
use super::support::{Fixture, Scratch, git};

/// The least number of deltas in the chains of each group, and how the table names it.
const GROUPS: [(u64, &str); 7] =
    [(0, "0"), (1, "1"), (2, "2-4"), (5, "5-9"), (10, "10-19"), (20, "20-49"), (50, "50+")];

fn chains(repositories: &[&Path]) -> Outcome {
    program::run(command().args(["chains", "--quiet"]).args(repositories))
}

/// How many objects each group has in the table.
fn counted(table: &str) -> BTreeMap<String, u64> {
    let names = GROUPS.map(|(_, name)| name);
    let group = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (name, objects) = (words.next().filter(|name| names.contains(name))?, words.next()?);
        Some((name.to_owned(), objects.replace(',', "").parse().expect("a number of objects")))
    };
    table.lines().filter(|line| !line.starts_with(' ')).filter_map(group).collect()
}

/// Chains of these lengths by group.
fn grouped(chains: impl IntoIterator<Item = u64>) -> BTreeMap<String, u64> {
    let mut groups = BTreeMap::new();
    for chain in chains {
        let (_, name) = GROUPS.iter().rfind(|(least, _)| *least <= chain).expect("a group for every chain");
        *groups.entry((*name).to_owned()).or_default() += 1;
    }
    groups
}

/// The chain of each packed object, as git tells it.
fn packed(repo: &Path) -> Vec<u64> {
    let mut chains = Vec::new();
    for index in git::pack_files(repo, "idx") {
        let listing = git::git(repo, ["verify-pack".as_ref(), "-v".as_ref(), index.as_os_str()]).text();
        for line in listing.lines() {
            let columns: Vec<&str> = line.split_ascii_whitespace().collect();
            let [id, _kind, _size, _stored, _offset, delta @ ..] = columns.as_slice() else { continue };
            if id.len() == 40 {
                chains.push(delta.first().map_or(0, |depth| depth.parse().expect("a depth")));
            }
        }
    }
    chains
}

/// The chain of each revision, from the bases that hg tells.
fn of_revlogs(repo: &Path) -> Vec<u64> {
    let (mut chains, mut server) = (Vec::new(), HgServer::newest(repo));
    for revlog in hg::revlogs(repo) {
        let mut own: Vec<u64> = Vec::new();
        for (number, revision) in server.index(&revlog).iter().enumerate() {
            let base = usize::try_from(revision.base).ok().filter(|base| *base != number);
            own.push(base.map_or(0, |base| own[base] + 1));
        }
        chains.extend(own);
    }
    chains
}

#[test]
fn objects_are_counted_by_the_deltas_that_git_tells() {
    for name in ["history", "ref-delta", "duplicates", "alternates", "reverse-index"] {
        let repo = Fixture::get(name).repo();
        let table = chains(&[&repo]).exits(exit::OK).text();
        assert_eq!(counted(&table), grouped(packed(&repo)), "{name}:\n{table}");
    }
}

#[test]
fn revisions_are_counted_by_the_bases_that_hg_tells() {
    for name in ["chains", "default", "treemanifest"] {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy(name, &scratch).repo();
        let table = chains(&[&repo]).exits(exit::OK).text();
        assert_eq!(counted(&table), grouped(of_revlogs(&repo)), "{name}:\n{table}");
    }
}

#[test]
fn variants_stand_beside_their_source() {
    for (source, codecs) in [
        (Fixture::get("history").repo(), &["zlib:6", "zstd:9,prefix", "zstd:9,patch", "lz4"][..]),
        (Fixture::hg("chains").repo(), &["zlib:6", "lz4", "store"]),
    ] {
        let folder = Scratch::new();
        let variants: Vec<_> = codecs.iter().map(|codec| folder.join(&codec.replace([':', ','], "-"))).collect();
        for (codec, variant) in codecs.iter().zip(&variants) {
            convert(&source, codec, variant);
        }
        let repositories: Vec<&Path> = std::iter::once(&source).chain(&variants).map(|path| path.as_path()).collect();
        let table = chains(&repositories).exits(exit::OK).text();
        assert_eq!(counted(&table), counted(&chains(&[&source]).text()), "{table}");
        for variant in &variants {
            let name = variant.to_str().expect("a path in UTF-8");
            let rows: Vec<&str> = table.lines().filter(|line| line.contains(&format!(" {name} "))).collect();
            assert_eq!(rows.len(), counted(&table).len(), "a row of {name} in each group of\n{table}");
            for row in rows {
                assert!([" us", " ms", " s"].iter().any(|unit| row.contains(unit)), "no time in {row}");
            }
        }
    }
}

#[test]
fn what_is_no_variant_is_refused() {
    let (of_git, of_hg, scratch) = (Fixture::get("history").repo(), Fixture::hg("chains").repo(), Scratch::new());
    let (other_git, other_hg) = (Fixture::get("content").repo(), Fixture::hg("content").repo());
    // The same objects, and not the same deltas.
    let repacked = scratch.join("repacked.git");
    convert(&of_git, "zlib:6", &repacked);
    git::output(&repacked, ["-c", "pack.threads=1", "repack", "-adfq", "--depth=1"]);
    let of_same_kind = [(&of_git, &other_git), (&of_hg, &other_hg), (&of_git, &repacked)];
    for (first, second) in of_same_kind.into_iter().chain([(&of_git, &of_hg), (&of_hg, &of_git)]) {
        let refused = chains(&[first, second]).exits(exit::FAILURE);
        let line = refused.error_line();
        assert!(line.contains("is no variant of") && line.contains(second.to_str().expect("a path")), "{line}");
        assert!(refused.stdout.is_empty(), "a table was printed");
    }
}

#[test]
fn a_variant_with_another_content_is_refused() {
    let (source, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let (one, other) = (scratch.join("one"), scratch.join("other"));
    for variant in [&one, &other] {
        convert(&source, "store,checksum=no", variant);
    }
    // Without its guard git says which packs there are.
    std::fs::write(other.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = true\n").expect("the config");
    let mut pack = OpenPack::open(&other);
    // The first byte of a commit's payload, behind tag byte and length.
    let (_, stored) = pack.entry_of_type(1, 0);
    let payload = stored + 1 + pack.pack[stored + 1..].iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
    pack.pack[payload] ^= 1;
    pack.reseal_and_write();
    let line = chains(&[&one, &other]).exits(exit::FAILURE).error_line();
    assert!(line.contains("has another content"), "{line}");
}
