//! `repackbench payloads`: the exported files are what git and hg report, and compressing them gives the sizes of a
//! variant.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use zstd_safe::{CCtx, CParameter, FrameFormat};

use crate::support::hg::{self, HgServer, Revlog};
use crate::support::program::{self, command, convert, exit};
use crate::support::records::{self, number};
use crate::support::{Fixture, Scratch, git, snapshot};

/// A line of `payloads.tsv` with the file it names.
struct Listed {
    kind: String,
    is_delta: bool,
    stored_len: u64,
    source: String,
    offset: u64,
    payload: Vec<u8>,
}

/// Exports, and reads everything back. Fails the test if the list and the files differ.
#[track_caller]
fn export(repo: &Path, out: &Path, options: &[&str]) -> Vec<Listed> {
    program::run(command().arg("payloads").arg(repo).arg("--output").arg(out).args(options)).exits(exit::OK);
    let list = fs::read_to_string(out.join("payloads.tsv")).expect("the list");
    let mut lines = list.lines();
    assert_eq!(lines.next(), Some("path\tkind\tform\tpayload_bytes\tstored_bytes\tsource\toffset"));
    let listed: Vec<Listed> = lines.map(|line| listed(line, out)).collect();
    let is_file = |entry: &snapshot::Entry| matches!(entry, snapshot::Entry::File { .. });
    let files = snapshot::content(out).values().filter(|entry| is_file(entry)).count();
    assert_eq!(files, listed.len() + 1, "every file is in the list");
    listed
}

fn listed(line: &str, out: &Path) -> Listed {
    let fields: Vec<&str> = line.split('\t').collect();
    let [path, kind, form, payload_len, stored_len, source, offset] = fields.as_slice() else { panic!("{line}") };
    assert!(path.starts_with(&format!("{kind}-{form}/")), "{line}");
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let payload = fs::read(out.join(path)).expect("a payload");
    assert_eq!(payload.len() as u64, number(payload_len), "{line}");
    Listed {
        kind: kind.to_string(),
        is_delta: *form == "delta",
        stored_len: number(stored_len),
        source: source.to_string(),
        offset: number(offset),
        payload,
    }
}

#[test]
fn files_agree_with_git() {
    for name in ["bare", "work-tree", "ref-delta", "sha256", "padded-sizes", "cruft", "reftable-sha256"] {
        let (repo, scratch) = (Fixture::get(name).repo(), Scratch::new());
        let mut expected: BTreeMap<(OsString, u64), git::PackEntry> = BTreeMap::new();
        for (index, entries) in git::packs(&repo) {
            let pack = index.with_extension("pack").file_name().expect("a name").to_owned();
            expected.extend(entries.into_iter().map(|entry| ((pack.clone(), entry.offset), entry)));
        }
        let mut loose = 0;
        for listed in export(&repo, &scratch.join("out"), &[]) {
            let file = Path::new(&listed.source).file_name().expect("a name").to_string_lossy().into_owned();
            let content = |id: &str, kind: &str| git::git(&repo, ["cat-file", kind, id]).exits(exit::OK).stdout;
            if listed.source.ends_with(".pack") {
                let entry = expected.remove(&(file.into(), listed.offset)).expect("an entry");
                assert_eq!((&listed.kind, listed.is_delta), (&entry.kind, entry.is_delta()), "{name}: {entry:?}");
                assert_eq!(listed.payload.len() as u64, entry.payload_len, "{name}: {entry:?}");
                let is_same = entry.is_delta() || listed.payload == content(&entry.id, &entry.kind);
                assert!(is_same, "{name}: {entry:?}");
                continue;
            }
            let folder = Path::new(&listed.source).parent().and_then(Path::file_name).expect("a folder");
            let id = format!("{}{file}", folder.to_string_lossy());
            let content = content(&id, &listed.kind);
            let header = format!("{} {}\0", listed.kind, content.len());
            assert_eq!(listed.payload, [header.as_bytes(), &content].concat(), "{name}: {id}");
            loose += 1;
        }
        assert!(expected.is_empty(), "{name}: not exported: {expected:?}");
        assert!(name != "work-tree" || loose > 0, "{name} has loose objects");
    }
}

#[test]
fn files_agree_with_hg() {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("default", &scratch).repo();
    let (mut whole, mut deltas) = (Vec::new(), 0);
    let mut hg = HgServer::newest(&repo);
    for revlog in hg::revlogs(&repo) {
        let kind = match revlog {
            Revlog::Changelog => "changelog",
            Revlog::Manifest | Revlog::FolderManifest(_) => "manifest",
            Revlog::Filelog(_) => "filelog",
        };
        for (number, revision) in (0i64..).zip(hg.index(&revlog)) {
            if revision.base != -1 && revision.base != number {
                deltas += 1;
                continue;
            }
            let name = ["debugdata".into()].into_iter().chain(revlog.arguments());
            let text = hg.output(name.chain([OsString::from(number.to_string())]));
            whole.push((kind.to_owned(), text));
        }
    }
    let listed = export(&repo, &scratch.join("out"), &[]);
    assert_eq!(listed.iter().filter(|listed| listed.is_delta).count(), deltas);
    let mut found: Vec<_> =
        listed.into_iter().filter(|listed| !listed.is_delta).map(|listed| (listed.kind, listed.payload)).collect();
    found.sort();
    whole.sort();
    assert!(found == whole, "{} whole texts instead of {}", found.len(), whole.len());
}

/// The length of the shortest LEB128 encoding.
fn length_len(length: usize) -> u64 {
    [7, 14, 21, 28].iter().position(|bits| length < 1 << bits).expect("no long payload here") as u64 + 1
}

/// `zstd -b` on the files and `convert` use the same library, so their sizes differ only by the tag bytes.
#[test]
fn files_compress_to_the_sizes_of_a_variant() {
    let mut encoder = CCtx::create();
    for parameter in [
        CParameter::Format(FrameFormat::Magicless),
        CParameter::CompressionLevel(3),
        CParameter::ContentSizeFlag(true),
        CParameter::ChecksumFlag(true),
    ] {
        encoder.set_parameter(parameter).expect("a parameter");
    }
    for name in ["bare", "work-tree", "large-blob"] {
        let (source, scratch) = (Fixture::get(name).repo(), Scratch::new());
        let variant = scratch.join("variant");
        convert(&source, "zstd:3", &variant);
        let sizes = records::sizes(&variant);
        let (mut raw, mut framed) = (0, 0);
        let mut sums: BTreeMap<(String, &str), (u64, u64)> = BTreeMap::new();
        for listed in export(&variant, &scratch.join("out"), &[]) {
            let mut frame = Vec::with_capacity(zstd_safe::compress_bound(listed.payload.len()));
            let frame_len = encoder.compress2(&mut frame, &listed.payload).expect("a frame") as u64;
            let raw_len = length_len(listed.payload.len()) + listed.payload.len() as u64 + 4;
            *(if frame_len < raw_len { &mut framed } else { &mut raw }) += 1;
            assert_eq!(listed.stored_len, 1 + frame_len.min(raw_len), "{name}: {} at {}", listed.source, listed.offset);
            let sum = sums.entry((listed.kind, if listed.is_delta { "delta" } else { "whole" })).or_default();
            *sum = (sum.0 + 1 + frame_len.min(raw_len), sum.1 + listed.payload.len() as u64);
        }
        assert!(framed > 0 && (raw > 0 || name != "bare"), "{name}: {framed} frames, {raw} stored raw");
        for ((kind, form), (stored, payload)) in sums {
            let recorded = &sizes["objects"][&kind][form];
            assert_eq!((number(&recorded["stored_bytes"]), number(&recorded["payload_bytes"])), (stored, payload));
        }
    }
}

#[test]
fn exports_only_the_selection() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let all = export(&repo, &scratch.join("all"), &[]);
    let count = |listed: &[Listed], kind: &str, delta: bool| {
        listed.iter().filter(|listed| listed.kind == kind && listed.is_delta == delta).count()
    };
    let some = export(&repo, &scratch.join("some"), &["--kind", "tree", "--kind", "commit", "--every", "2"]);
    for (kind, delta) in [("tree", false), ("tree", true), ("commit", false), ("commit", true)] {
        assert_eq!(count(&some, kind, delta), count(&all, kind, delta) / 2, "{kind}, {delta}");
    }
    assert!(!some.is_empty() && some.iter().all(|listed| listed.kind == "tree" || listed.kind == "commit"));
    let limited = export(&repo, &scratch.join("limited"), &["--kind", "commit", "--limit", "1k"]);
    let bytes: usize = limited.iter().filter(|listed| !listed.is_delta).map(|listed| listed.payload.len()).sum();
    let json =
        program::run(command().arg("payloads").arg(&repo).args(["--json", "-", "--output"]).arg(scratch.join("json")));
    let json = json.exits(exit::OK).text();
    let written =
        json.lines().map(|line| number(&serde_json::from_str::<serde_json::Value>(line).expect("JSON")["written"]));
    assert_eq!(written.sum::<u64>(), all.len() as u64);
    assert!(!limited.is_empty() && bytes <= 1024 && limited.len() < count(&all, "commit", false), "{bytes} bytes");
}

#[test]
fn writes_only_to_a_new_or_empty_folder() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let empty = scratch.join("empty");
    fs::create_dir(&empty).expect("a folder");
    export(&repo, &empty, &[]);
    fs::write(scratch.join("file"), "precious").expect("a file");
    convert(&repo, "store", &scratch.join("variant"));
    let before = snapshot::state(scratch.path());
    for taken in ["empty", "file", "variant"] {
        let outcome = program::run(command().arg("payloads").arg(&repo).arg("--output").arg(scratch.join(taken)));
        let outcome = outcome.exits(exit::FAILURE);
        assert!(outcome.error_line().contains(taken) && !outcome.stderr.contains("--force"), "{}", outcome.stderr);
        assert_eq!(snapshot::state(scratch.path()), before, "{taken}");
    }
}

#[test]
fn damaged_repository_leaves_nothing() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("bare", &scratch).repo();
    let pack = git::pack_files(&repo, "pack").remove(0);
    let mut bytes = fs::read(&pack).expect("the pack");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    program::run(std::process::Command::new("chmod").arg("u+w").arg(&pack)).exits(exit::OK);
    fs::write(&pack, bytes).expect("the damaged pack");
    let out = scratch.join("out");
    let outcome = program::run(command().arg("payloads").arg(&repo).arg("--output").arg(&out)).exits(exit::BAD_INPUT);
    assert!(outcome.error_line().contains("CRC-32"), "{}", outcome.stderr);
    assert_eq!(scratch.names(), ["fixture"]);
}
