//! Sizes must add up: every byte of a stored repository is in exactly one part, payloads are as long as hg says, and the manifest, whose
//! growth under lz4 was blamed in 2012, comes first.

use std::path::Path;

use serde_json::Value;

use super::super::support::hg::{self, Revlog};
use super::super::support::hg_server::HgServer;
use super::super::support::program::{self, command, convert, exit};
use super::super::support::{Fixture, Scratch, snapshot};

/// The exact sizes of the source as found, from a benchmark's records: tables round.
pub(super) fn recorded_sizes(repo: &Path) -> Value {
    let scratch = Scratch::new();
    let file = scratch.join("records.jsonl");
    let bench = [
        "bench",
        "--min-run-time",
        "1ms",
        "--quiet",
        "--codec",
        "zlib:6",
        "--workload",
        "traverse",
        "--blocks",
        "1",
        "--json",
    ];
    program::run(command().env("XDG_CACHE_HOME", scratch.join("cache")).args(bench).arg(&file).arg(repo))
        .exits(exit::OK);
    let records = std::fs::read_to_string(file).expect("the records");
    let mut records = records.lines().map(|line| serde_json::from_str::<Value>(line).expect("a record"));
    records.find(|record| record["variant"]["spec"].is_null()).expect("a record of the source as found")["size"].clone()
}

pub(super) fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number of bytes")
}

/// Snapshots and deltas of a kind: entries and the bytes of their chunks, in hg's words. The last column but the texts of
/// `debugindex --debug` is the length of the chunk.
fn chunks(hg: &mut HgServer, revlogs: &[Revlog]) -> [(u64, u64); 2] {
    let mut counted = [(0, 0); 2];
    for revlog in revlogs {
        let options = ["debugindex", "--debug"].map(std::ffi::OsString::from);
        let listing = hg.output(options.into_iter().chain(revlog.arguments()));
        for line in String::from_utf8_lossy(&listing).lines().skip(1) {
            let columns: Vec<&str> = line.split_ascii_whitespace().collect();
            let is_delta = columns[9] != "-1" && columns[9] != columns[0];
            let part = &mut counted[usize::from(is_delta)];
            part.0 += 1;
            part.1 += columns[13].parse::<u64>().expect("the length of a chunk");
        }
    }
    counted
}

#[test]
fn parts_add_up_to_the_bytes_on_disk() {
    for name in ["default", "content", "treemanifest", "evolution", "lfs", "persistent-nodemap", "no-share-safe"] {
        let scratch = Scratch::new();
        let (source, repo) = (Fixture::hg(name).repo(), Fixture::hg_copy(name, &scratch).repo());
        let size = recorded_sizes(&source);
        let copied = scratch.join("variant");
        convert(&source, "zlib:6", &copied);
        let sizes_of_copy = recorded_sizes(&copied);
        assert_eq!(
            number(&sizes_of_copy["total_bytes"]),
            snapshot::bytes(&copied),
            "{name}: a copy is all that counts"
        );

        let mut hg = HgServer::newest(&repo);
        let (mut parts, mut stored) = (0, 0);
        let revlogs = hg::revlogs(&repo);
        for (kind, is_of) in [
            ("changelog", (|revlog| matches!(revlog, Revlog::Changelog)) as fn(&Revlog) -> bool),
            ("manifest", |revlog| matches!(revlog, Revlog::Manifest | Revlog::FolderManifest(_))),
            ("filelog", |revlog| matches!(revlog, Revlog::Filelog(_))),
        ] {
            let of_kind: Vec<Revlog> = revlogs.iter().filter(|revlog| is_of(revlog)).cloned().collect();
            for (form, (entries, bytes)) in ["whole", "delta"].into_iter().zip(chunks(&mut hg, &of_kind)) {
                let found = &size["objects"][kind][form];
                assert_eq!(number(&found["entries"]), entries, "{name}: {kind}, {form}");
                assert_eq!(number(&found["stored_bytes"]), bytes, "{name}: {kind}, {form}");
                stored += bytes;
            }
        }
        let fields = size.as_object().expect("sizes");
        let is_part = |field: &str| field.ends_with("_bytes") && field != "total_bytes" && field != "allocated_bytes";
        for (field, value) in fields.iter().filter(|(field, _)| is_part(field)) {
            parts += value.as_u64().unwrap_or_else(|| panic!("{field} is no number"));
        }
        assert_eq!(stored + parts, number(&size["total_bytes"]), "{name}: sum of parts in {size}");
    }
}

#[test]
fn the_manifest_comes_first_with_its_share_of_the_growth() {
    let (source, scratch) = (Fixture::hg("default").repo(), Scratch::new());
    let variant = scratch.join("variant");
    convert(&source, "store", &variant);
    let table = program::run(command().arg("size").arg(&source).arg(&variant)).exits(exit::OK).text();
    let place = |word: &str| table.find(word).unwrap_or_else(|| panic!("{word} is not in\n{table}"));
    assert!(place("manifest") < place("changelog") && place("manifest") < place("filelog"), "{table}");
    assert!(table.contains("growth"), "{table}");
}
