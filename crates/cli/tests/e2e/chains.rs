//! `repackbench chains`: it counts objects by the chains that git and hg report, and compares a repository only with
//! its variants.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::hg::{self, HgServer};
use crate::support::open_pack::OpenPack;
use crate::support::program::{self, Outcome, command, convert, exit};
use crate::support::{Fixture, Scratch, git};

/// The smallest number of deltas in the chains of each group, and the name of the group in the table.
const GROUPS: [(u64, &str); 7] =
    [(0, "0"), (1, "1"), (2, "2-4"), (5, "5-9"), (10, "10-19"), (20, "20-49"), (50, "50+")];

fn chains(repositories: &[&Path]) -> Outcome {
    program::run(command().args(["chains", "--quiet"]).args(repositories))
}

/// The number of objects in each group of the table.
fn counted(table: &str) -> BTreeMap<String, u64> {
    let names = GROUPS.map(|(_, name)| name);
    let group = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (name, objects) = (words.next().filter(|name| names.contains(name))?, words.next()?);
        Some((name.to_owned(), objects.replace(',', "").parse().expect("a number of objects")))
    };
    table.lines().filter(|line| !line.starts_with(' ')).filter_map(group).collect()
}

/// The number of these chains in each group.
fn grouped(chains: impl IntoIterator<Item = u64>) -> BTreeMap<String, u64> {
    let mut groups = BTreeMap::new();
    for chain in chains {
        let (_, name) = GROUPS.iter().rfind(|(least, _)| *least <= chain).expect("a group for every chain");
        *groups.entry((*name).to_owned()).or_default() += 1;
    }
    groups
}

/// The length of the chain of each revision, from the bases that hg reports.
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
fn counts_objects_by_the_deltas_git_reports() {
    for name in ["history", "ref-delta", "duplicates", "alternates", "reverse-index", "sha256", "reftable"] {
        let repo = Fixture::get(name).repo();
        let table = chains(&[&repo]).exits(exit::OK).text();
        assert_eq!(counted(&table), grouped(git::packed(&repo).iter().map(|entry| entry.depth)), "{name}:\n{table}");
    }
}

#[test]
fn counts_revisions_by_the_bases_hg_reports() {
    for name in ["chains", "default", "treemanifest"] {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy(name, &scratch).repo();
        let table = chains(&[&repo]).exits(exit::OK).text();
        assert_eq!(counted(&table), grouped(of_revlogs(&repo)), "{name}:\n{table}");
    }
}

#[test]
fn compares_variants_with_their_source() {
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
fn rejects_repositories_that_are_not_variants() {
    let (of_git, of_hg, scratch) = (Fixture::get("history").repo(), Fixture::hg("chains").repo(), Scratch::new());
    let (other_git, other_hg) = (Fixture::get("content").repo(), Fixture::hg("content").repo());
    // The same objects with other deltas.
    let repacked = scratch.join("repacked.git");
    convert(&of_git, "zlib:6", &repacked);
    git::output(&repacked, ["-c", "pack.threads=1", "repack", "-adfq", "--depth=1"]);
    let of_same_kind = [(&of_git, &other_git), (&of_hg, &other_hg), (&of_git, &repacked)];
    for (first, second) in of_same_kind.into_iter().chain([(&of_git, &of_hg), (&of_hg, &of_git)]) {
        let refused = chains(&[first, second]).exits(exit::FAILURE);
        let line = refused.error_line();
        assert!(line.contains("is not a variant of") && line.contains(second.to_str().expect("a path")), "{line}");
        assert!(refused.stdout.is_empty(), "a table was printed");
    }
}

#[test]
fn rejects_a_variant_with_other_content() {
    let (source, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let (one, other) = (scratch.join("one"), scratch.join("other"));
    for variant in [&one, &other] {
        convert(&source, "store,checksum=no", variant);
    }
    let mut pack = OpenPack::open(&other);
    // The first byte of a commit's payload, after tag byte and length.
    let (_, stored) = pack.entry_of_type(1, 0);
    let payload = stored + 1 + pack.pack[stored + 1..].iter().take_while(|byte| **byte & 0x80 != 0).count() + 1;
    pack.pack[payload] ^= 1;
    pack.reseal_and_write();
    let line = chains(&[&one, &other]).exits(exit::FAILURE).error_line();
    assert!(line.contains("has different content"), "{line}");
}

#[test]
fn markdown_has_the_rows_of_the_table() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let file = scratch.join("chains.md");
    let mut command = command();
    command.args(["chains", "--quiet"]).arg(&repo).arg("--markdown").arg(&file);
    let table = program::run(&mut command).exits(exit::OK).text();
    let markdown = std::fs::read_to_string(&file).expect("the file of --markdown");
    let rows = markdown.lines().filter_map(|line| line.strip_prefix("| "));
    let rows: String = rows.map(|row| format!("{}\n", row.replace(" | ", " "))).collect();
    assert_eq!(counted(&rows), counted(&table), "{markdown}");
    assert!(!counted(&rows).is_empty(), "{markdown}");
    let mut command = program::command();
    command.args(["chains", "--quiet"]).arg(&repo).args(["--markdown", "-", "--json", "-"]);
    program::run(&mut command).exits(exit::USAGE);
}

#[test]
fn raw_times_are_recorded_and_reported() {
    let (source, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let (variant, json) = (scratch.join("variant"), scratch.join("chains.jsonl"));
    convert(&source, "lz4", &variant);
    let mut measured = command();
    measured.args(["chains", "--quiet", "--force", "--json"]).args([&json, &source, &variant]);
    let table = program::run(&mut measured).exits(exit::OK).text();
    let text = std::fs::read_to_string(&json).expect("the records");
    let groups = counted(&table).len();
    assert_eq!(text.lines().count(), 2 * groups, "a record for each repository and group");
    for line in text.lines() {
        let record: serde_json::Value = serde_json::from_str(line).expect("a record");
        assert_eq!(record["record"], "chains");
        let reads = record["reads"].as_array().expect("the objects that were read");
        assert!(!reads.is_empty() && reads.len() as u64 <= record["objects"].as_u64().expect("a number"), "{line}");
        for read in reads {
            assert_eq!(read["cpu_ns"].as_array().map(Vec::len), Some(3), "three rounds: {read}");
            assert!(read["iterations"].as_u64() >= Some(1) && read["object"].as_str().map(str::len) == Some(40));
        }
    }
    let reported = program::run(command().args(["report", "--quiet"]).arg(&json)).exits(exit::OK).text();
    assert!(reported.contains(table.trim_end()), "{reported}\n{table}");
}
