//! `repackbench size`: every byte on disk is in exactly one part, and payloads are as long as git reports.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::program::{self, command, convert, exit};
use crate::support::records::{self, number};
use crate::support::{Fixture, Scratch, fixture, git, snapshot};

/// All pack entries and loose objects, as git reports them: kind, whether it is a delta, payload bytes, bytes on disk.
fn chunks(repo: &Path) -> Vec<(String, bool, u64, u64)> {
    let packed = git::packed(repo).into_iter();
    let packed = packed.map(|entry| (entry.kind.clone(), entry.is_delta(), entry.payload_len, entry.packed_len));
    let mut chunks: Vec<_> = packed.collect();
    for (path, entry) in snapshot::content(&git::path(repo, "objects")) {
        let (snapshot::Entry::File { content, .. }, Some(folder)) = (entry, path.parent()) else { continue };
        if folder.as_os_str().len() == 2 {
            let id = path.to_string_lossy().replace('/', "");
            let kind = git::output(repo, ["cat-file", "-t", &id]).trim_end().to_owned();
            let size = git::output(repo, ["cat-file", "-s", &id]).trim_end().to_owned();
            let payload = kind.len() + 1 + size.len() + 1 + size.parse::<usize>().expect("a size");
            chunks.push((kind, false, payload as u64, content.len() as u64));
        }
    }
    chunks
}

/// The total length of the files of a git folder that count: refs, configuration and objects. docs/method.md has the
/// whole rule.
fn counted_bytes(git_folder: &Path) -> u64 {
    let counts = |path: &Path| {
        let first = path.iter().next().and_then(|name| name.to_str()).unwrap_or_default();
        matches!(
            first,
            "HEAD" | "config" | "packed-refs" | "shallow" | "refs" | "reftable" | "logs" | "info" | "objects"
        )
    };
    let files = snapshot::content(git_folder).into_iter().filter(|(path, _)| counts(path));
    let length = |entry| if let snapshot::Entry::File { content, .. } = entry { content.len() as u64 } else { 0 };
    files.map(|(_, entry)| length(entry)).sum()
}

#[test]
fn files_that_no_variant_holds_do_not_count() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("work-tree", &scratch).repo();
    let before = records::sizes(&repo);
    let git_folder = git::path(&repo, ".").canonicalize().expect("the git folder");
    for name in
        ["hooks/pre-commit", "lfs/objects/ab/cd", "modules/sub/objects/pack/x.pack", "FETCH_HEAD", "description"]
    {
        let file = git_folder.join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, [b'x'; 5000]).expect("a file of another program");
    }
    std::fs::write(git_folder.join("refs/heads/left-over.lock"), "").expect("a lock");
    std::fs::write(git_folder.join("objects/info/left-over.lock"), [b'x'; 5000]).expect("a lock");
    assert_eq!(records::sizes(&repo), before);
    std::fs::write(git_folder.join("objects/info/alternate"), [b'x'; 5000]).expect("a file that is storage");
    let grown = records::sizes(&repo);
    for part in ["total_bytes", "other_bytes"] {
        assert_eq!(number(&grown[part]), number(&before[part]) + 5000, "{part}");
    }
}

/// git makes them from the objects, so they are the same under every codec, and a variant has none.
#[test]
fn files_that_follow_from_the_objects_are_counted_beside_the_total() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("bare", &scratch).repo();
    git::output(&repo, ["repack", "-adq"]);
    let before = records::sizes(&repo);
    git::output(&repo, ["-c", "repack.writeBitmaps=true", "repack", "-adq"]);
    git::output(&repo, ["commit-graph", "write", "--reachable"]);
    git::output(&repo, ["multi-pack-index", "write", "--bitmap"]);
    std::fs::write(repo.join("objects/pack/tmp_pack_x"), [b'x'; 5000]).expect("an unfinished pack");
    let after = records::sizes(&repo);
    for part in ["total_bytes", "allocated_bytes", "other_bytes"] {
        assert_eq!(after[part], before[part], "{part}");
    }
    assert!(before["derived_bytes"].is_null(), "{before}");
    assert!(number(&after["derived_bytes"]) > 5000 + 1000, "{after}");
}

#[test]
fn parts_add_up_to_the_bytes_on_disk() {
    for name in [
        "bare",
        "work-tree",
        "refs",
        "reverse-index",
        "index-v1",
        "duplicates",
        "padded-sizes",
        "large-blob",
        "sha256",
        "reftable",
    ] {
        let repo = Fixture::get(name).repo();
        let size = records::sizes(&repo);
        let on_disk = counted_bytes(&git::path(&repo, ".").canonicalize().expect("the git folder"));
        assert_eq!(number(&size["total_bytes"]), on_disk, "{name}: total");

        let chunks = chunks(&repo);
        let mut stored = 0;
        for kind in ["commit", "tree", "blob", "tag"] {
            for (form, is_delta) in [("whole", false), ("delta", true)] {
                let expected: Vec<_> =
                    chunks.iter().filter(|(of, delta, ..)| of == kind && *delta == is_delta).collect();
                let found = &size["objects"][kind][form];
                if found.is_null() {
                    assert!(expected.is_empty(), "{name}: {kind} {form}: not recorded");
                    continue;
                }
                assert_eq!(number(&found["entries"]), expected.len() as u64, "{name}: {kind} {form}");
                let payload: u64 = expected.iter().map(|(_, _, payload, _)| payload).sum();
                assert_eq!(number(&found["payload_bytes"]), payload, "{name}: {kind} {form} payload");
                stored += number(&found["stored_bytes"]);
            }
        }
        let headers = number(&size["entry_header_bytes"]);
        let taken: u64 = chunks.iter().map(|(.., taken)| taken).sum();
        assert_eq!(stored + headers, taken, "{name}: chunks and entry headers");

        let surrounding = ["pack_frame_bytes", "index_bytes", "reverse_index_bytes", "other_bytes"];
        let rest: u64 = surrounding.iter().map(|part| number(&size[*part])).sum();
        assert_eq!(stored + headers + rest, on_disk, "{name}: sum of parts");
    }
}

#[test]
fn compares_repositories_in_columns() {
    let (source, scratch) = (Fixture::get("large-blob").repo(), Scratch::new());
    let variant = scratch.join("variant");
    convert(&source, "zstd:19", &variant);
    let table = program::run(command().args(["size", "--as-found"]).arg(&source).arg(&variant)).exits(exit::OK).text();
    let line = table.lines().find(|line| line.contains("total") && !line.contains("payload")).expect("a total");
    let numbers: Vec<f64> = line.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
    let git_folder = git::path(&source, ".").canonicalize().expect("the git folder");
    let (before, after) = (counted_bytes(&git_folder) as f64 / 1e6, snapshot::bytes(&variant) as f64 / 1e6);
    let expected = [before, after, after / before];
    assert_eq!(numbers.len(), expected.len(), "{table}");
    for (found, expected) in numbers.iter().zip(expected) {
        // Three digits, and at most three decimals.
        let rounding = 0.005 * expected + 0.0006;
        assert!((found - expected).abs() < rounding, "{found} instead of {expected}:\n{table}");
    }
}

/// The number of chunks of each form, from the table that `size` prints for one repository.
fn forms(repo: &Path) -> BTreeMap<String, u64> {
    let table = program::run(command().args(["size", "--as-found"]).arg(repo)).exits(exit::OK).text();
    let lines = table.lines().skip_while(|line| !line.starts_with("form ")).skip(2);
    let form = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (name, chunks) = (words.next()?, words.next()?);
        Some((name.to_owned(), chunks.replace(',', "").parse().expect("a number of chunks")))
    };
    lines.map_while(form).collect()
}

#[test]
fn every_chunk_has_one_form() {
    let scratch = Scratch::new();
    for (repo, own) in [(Fixture::get("history").repo(), "plain"), (Fixture::hg("chains").repo(), "plain")] {
        let all: u64 = forms(&repo).values().sum();
        assert!(all > 0 && forms(&repo).contains_key(own), "{:?}", forms(&repo));
        for (codec, names) in [("zstd:5", &["plain", "stored"][..]), ("store", &["stored"])] {
            let variant = scratch.join("variant");
            convert(&repo, codec, &variant);
            let found = forms(&variant);
            assert_eq!(found.keys().collect::<Vec<_>>(), names, "{codec} of {}", repo.display());
            assert_eq!(found.values().sum::<u64>(), all, "{codec} of {}", repo.display());
            std::fs::remove_dir_all(&variant).expect("the variant's removal");
        }
    }
    let variant = scratch.join("variant");
    convert(&Fixture::get("history").repo(), "zstd:5,store-if-larger=no", &variant);
    assert_eq!(forms(&variant).keys().collect::<Vec<_>>(), ["plain"]);
}

#[test]
fn agrees_with_the_stored_chunks_of_a_conversion() {
    let (source, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let variant = scratch.join("variant");
    let mut convert = command();
    convert.args(["convert", "--codec", "lz4", "-o"]).arg(&variant).arg(&source);
    let summary = program::run(&mut convert).exits(exit::OK).text();
    let stored = forms(&variant)["stored"];
    let line = summary.lines().find(|line| line.starts_with("stored ")).expect("a line of stored chunks");
    assert_eq!(line.split_ascii_whitespace().nth(1), Some(stored.to_string().as_str()), "{summary}");
}

#[test]
fn counts_dictionaries_and_bases_separately_and_once() {
    let (source, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let all: u64 = forms(&source).values().sum();
    // This history is too small to train on.
    let dictionary = scratch.join("dictionary");
    std::fs::write(&dictionary, git::output(&source, ["log", "-p", "--all"])).expect("a dictionary");
    for (codec, own) in [("zstd:9,dict=file", "dictionary"), ("zstd:9,prefix", "prefix"), ("zstd:9,patch", "patch")] {
        let variant = scratch.join(&format!("variant-{own}"));
        let mut convert = command();
        convert.args(["convert", "--codec", codec, "-o"]).arg(&variant).arg(&source);
        if own == "dictionary" {
            convert.arg("--dict").arg(&dictionary);
        }
        program::run(&mut convert).exits(exit::OK);
        let found = forms(&variant);
        assert!(found.contains_key(own), "{codec}: {found:?}");
        assert_eq!(found.values().sum::<u64>(), all, "{codec}");
    }
    let variant = scratch.join("variant-dictionary");
    let size = records::sizes(&variant);
    let folder = snapshot::bytes(&variant.join("objects/info/repackbench"));
    assert!(folder > 0);
    assert_eq!(number(&size["dictionary_bytes"]), folder);
    assert_eq!(number(&size["total_bytes"]), snapshot::bytes(&variant));
    let table = program::run(command().arg("size").arg(&variant)).exits(exit::OK).text();
    assert!(table.contains("\ndictionaries "), "{table}");
}

#[test]
fn deltas_that_git_searched_for_anew_are_a_second_size() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    git::output(&repo, ["repack", "-adfq", "--window=0"]);
    let before = snapshot::content(&repo);
    let file = scratch.join("sizes.jsonl");
    let sizes = |options: &[&str]| {
        let mut command = program::cached(&scratch);
        // With several threads, git's search depends on how they share the work.
        command
            .args(["size", "--quiet", "--force", "--threads", "1"])
            .args(options)
            .args(["--json"])
            .args([&file, &repo]);
        program::run(&mut command).exits(exit::OK);
        let records = records::read(&file);
        records.iter().map(|record| record["size"].clone()).collect::<Vec<_>>()
    };
    let found = sizes(&[]);
    let label = |of: usize| found[of]["label"].as_str().expect("a name").to_owned();
    assert_eq!((found.len(), label(1)), (2, format!("{}, rechosen", label(0))));
    assert!(number(&found[1]["total_bytes"]) < number(&found[0]["total_bytes"]), "{found:?}");
    assert_eq!(sizes(&["--rechosen"]), found, "the search that nobody has to ask for");
    assert_eq!(sizes(&["--as-found"]), found[..1]);
    let wide = sizes(&["--window", "250"]);
    assert!(wide[1]["label"].as_str().expect("a name").ends_with(", rechosen with window 250"), "{wide:?}");
    assert_eq!(snapshot::content(&repo), before, "the source");
}

/// The number of ids in commits, trees and tags, as git prints them, and their bytes.
fn ids_in_objects(repo: &Path) -> (u64, u64) {
    let (mut references, mut bytes) = (0, 0);
    for object in git::objects(repo).lines() {
        let fields: Vec<&str> = object.split(' ').collect();
        let (id, kind) = (fields[0], fields[1]);
        if kind == "blob" {
            continue;
        }
        let content = git::output(repo, ["--no-replace-objects", "cat-file", "-p", id]);
        let is_named = |line: &&str| ["tree ", "parent ", "object "].iter().any(|word| line.starts_with(word));
        let (lines, id_len) = match kind {
            "tree" => (content.lines().count(), id.len() / 2),
            _ => (content.lines().take_while(is_named).count(), id.len()),
        };
        references += lines as u64;
        bytes += (lines * id_len) as u64;
    }
    (references, bytes)
}

/// The ids that `size --ids` counts: how many, their bytes, and those among numbers.
#[track_caller]
fn counted_ids(repo: &Path, scratch: &Scratch) -> [u64; 3] {
    let file = scratch.join("ids.jsonl");
    let mut size = command();
    size.args(["size", "--quiet", "--as-found", "--ids", "--force", "--json"]).args([&file, &repo.to_owned()]);
    program::run(&mut size).exits(exit::OK);
    let ids = records::read(&file)[0]["size"]["ids"].clone();
    ["references", "payload_bytes", "escaped"].map(|field| number(&ids[field]))
}

/// `size --ids` counts what git prints of the objects in the repository at `source`: whole, loose and numbered. Returns
/// how many names are full ids among numbers.
#[track_caller]
fn assert_counts_ids(source: &Path) -> u64 {
    let scratch = Scratch::new();
    let [whole, loose, numbered] = ["whole", "loose", "numbered"].map(|name| scratch.join(name));
    git::output(source, ["clone", "-q", "--mirror", "--no-local", ".", program::text(&whole)]);
    git::output(&whole, ["repack", "-adfq", "--depth=0"]);
    assert!(git::packed(&whole).iter().all(|entry| !entry.is_delta()));
    let (references, bytes) = ids_in_objects(&whole);
    assert_eq!(counted_ids(&whole, &scratch), [references, bytes, 0]);
    let mut stored = command();
    stored.args(["convert", "--quiet", "--codec", "zlib:6", "--store", "loose", "-o"]).args([&loose, &whole]);
    program::run(&mut stored).exits(exit::OK);
    assert_eq!(counted_ids(&loose, &scratch), [references, bytes, 0], "loose");
    convert(&whole, "zlib:6,ids=number", &numbered);
    let [numbers, bytes, escaped] = counted_ids(&numbered, &scratch);
    // Each pack has fewer than 256 objects, so a number takes a byte. An id among numbers follows a zero.
    let id_len = git::objects(&whole).find(' ').expect("an id") as u64 / 2;
    assert_eq!((numbers, bytes), (references, references + escaped * id_len), "numbers");
    escaped
}

#[test]
fn ids_are_those_that_git_prints() {
    for name in ["history", "sha256"] {
        assert_eq!(assert_counts_ids(&Fixture::get(name).repo()), 0, "{name}");
    }
    // The commit of a submodule is in no pack.
    assert!(assert_counts_ids(&Fixture::get("submodule").folder.join("super")) > 0);
}

#[test]
fn ids_in_deltas_are_those_that_they_insert() {
    let scratch = Scratch::new();
    let [source, variant] = ["source", "variant"].map(|name| scratch.join(name));
    fixture::modules(&source, 40);
    git::output(&source, ["repack", "-adfq"]);
    let is_tree_delta = |entry: &git::PackEntry| entry.kind == "tree" && entry.is_delta();
    assert!(git::packed(&source).iter().any(is_tree_delta));
    let whole = ids_in_objects(&source);
    let [references, bytes, _] = counted_ids(&source, &scratch);
    assert!(references < whole.0 && bytes < whole.1, "{references} of {}", whole.0);
    let ids = "  of which ids";
    let output = program::run(command().args(["size", "--as-found", "--ids"]).arg(&source)).exits(exit::OK).text();
    assert!(output.contains(ids) && output.contains("ids of "), "{output}");
    convert(&source, "zstd:3,prefix", &variant);
    let mut size = command();
    size.args(["size", "--as-found", "--ids"]).args([&source, &variant]);
    let outcome = program::run(&mut size).exits(exit::OK);
    assert!(outcome.stderr.contains("ids are not counted"), "{}", outcome.stderr);
    let row = outcome.text().lines().find(|line| line.starts_with(ids)).expect("a row").to_owned();
    assert!(row.ends_with('-'), "{row}");
}

#[test]
fn interrupt_is_answered() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let file = scratch.join("sizes.jsonl");
    let mut size = command();
    size.args(["size", "--as-found", "--json"]).arg(&file).args(std::iter::repeat_n(&repo, 20_000));
    let mut running = size.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program");
    program::wait_for(&mut running, || file.metadata().is_ok_and(|file| file.len() > 0));
    assert!(Command::new("kill").args(["-INT", &running.id().to_string()]).status().expect("kill").success());
    let ended = running.wait_with_output().expect("the program's end");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert_eq!(said, "repackbench: stopping...\nrepackbench: interrupted\n");
}
