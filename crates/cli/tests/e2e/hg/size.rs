//! `repackbench size`: every byte of a repository is in exactly one part, and payloads are as long as hg reports. The
//! manifest comes first, as its growth was the objection to lz4 in 2012.

use crate::support::hg::{self, HgServer, Revlog};
use crate::support::program::{self, command, convert, exit};
use crate::support::records::{self, number};
use crate::support::{Fixture, Scratch, snapshot};

/// The number of snapshots and of deltas in these revlogs, and the bytes of their chunks, from `debugindex --debug`.
/// Column 13 is the length of a chunk.
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
        let size = records::sizes(&source);
        let copied = scratch.join("variant");
        convert(&source, "zlib:6", &copied);
        let sizes_of_copy = records::sizes(&copied);
        assert_eq!(
            number(&sizes_of_copy["total_bytes"]),
            snapshot::bytes(&copied),
            "{name}: every file of a copy counts"
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
fn manifest_comes_first_with_its_share_of_the_growth() {
    let (source, scratch) = (Fixture::hg("default").repo(), Scratch::new());
    let variant = scratch.join("variant");
    convert(&source, "store", &variant);
    let table = program::run(command().arg("size").arg(&source).arg(&variant)).exits(exit::OK).text();
    let place = |word: &str| table.find(word).unwrap_or_else(|| panic!("{word} is not in\n{table}"));
    assert!(place("manifest") < place("changelog") && place("manifest") < place("filelog"), "{table}");
    assert!(table.contains("growth"), "{table}");
}
