//! `convert --codec CODEC,ids=number`: the variant holds the same objects, goes back to what it was, and is refused
//! where numbers mean nothing.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::Facts;
use crate::support::open_pack::{EntryHeader, OpenPack, replace};
use crate::support::program::{self, command, convert, exit};
use crate::support::{Fixture, Scratch, fixture, git, preload, repackbench, snapshot};

/// What has to be the same after the way to numbers and back, as stock git reports it. The deltas of commits, trees and
/// tags are made anew, so their lengths differ.
fn facts(repo: &Path) -> Facts {
    let line = |entry: &git::PackEntry| {
        let is_kept = entry.kind == "blob" || !entry.is_delta();
        let payload_len = is_kept.then_some(entry.payload_len);
        format!("{} {} {payload_len:?} {} {}\n", entry.id, entry.kind, entry.depth, entry.base)
    };
    let of_pack = |entries: &Vec<git::PackEntry>| entries.iter().map(line).collect::<String>();
    let mut deltas: Vec<String> = git::packs(repo).iter().map(|(_, entries)| of_pack(entries)).collect();
    deltas.sort();
    Facts::with(repo, deltas)
}

#[track_caller]
fn assert_verifies(source: &Path, variant: &Path) {
    repackbench([Path::new("verify"), source, variant]).exits(exit::OK);
}

#[track_caller]
fn replayed(repo: &Path, workload: &str) -> Vec<u8> {
    program::replay(repo, workload, &[]).exits(exit::OK).stdout
}

/// The names of the files of packs with this extension, without it.
fn pack_files(variant: &Path, extension: &str) -> Vec<String> {
    let entries = fs::read_dir(variant.join("objects/pack")).expect("a folder of packs");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let stem = |path: PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    let mut names: Vec<String> =
        paths.filter(|path| path.extension().is_some_and(|e| e == extension)).map(stem).collect();
    names.sort();
    names
}

/// The variant, walked by number, has as many reachable objects as the source lists: of all commits and of the newest.
#[track_caller]
fn assert_counts(source: &Path, variant: &Path) {
    for newest in [&[][..], &["--commits", "3"]] {
        let listed = program::replay(source, "traverse", newest).exits(exit::OK).text().lines().count();
        for repo in [source, variant] {
            let counted = program::replay(repo, "traverse:count", newest).exits(exit::OK).text();
            assert_eq!(counted.trim_end(), listed.to_string(), "{} {newest:?}", repo.display());
        }
    }
}

/// Converts the fixture to numbers, to numbers under another codec, and back.
fn goes_there_and_back(name: &str) {
    let (fixture, scratch) = (Fixture::get(name), Scratch::new());
    let source = fixture.repo();
    let before = snapshot::state(&fixture.folder);
    let [variant, other, back] = ["variant", "other", "back"].map(|name| scratch.join(name));
    convert(&source, "zlib:6,ids=number", &variant);
    assert_verifies(&source, &variant);
    assert_counts(&source, &variant);
    git::assert_refuses_plainly(&variant);
    assert_eq!(pack_files(&variant, "pack"), pack_files(&variant, "numbers"), "{name}: each pack has its mark");
    convert(&variant, "zstd:3,ids=number", &other);
    assert_verifies(&source, &other);
    convert(&other, "zlib:6", &back);
    assert_eq!(pack_files(&back, "numbers"), [""; 0]);
    facts(&source).assert_are(&facts(&back), &back, name);
    assert_eq!(snapshot::state(&fixture.folder), before, "{name}: the source was written to");
}

/// Fixtures that differ in how packs, ids and references are, in three parts for as many threads. The large blob has a
/// test of its own.
const FIXTURES: [&[&str]; 3] = [
    &["history", "sha256", "alternates", "duplicates", "ref-delta", "empty"],
    &["cruft", "keep", "replace", "grafts", "index-v1", "index-64-bit", "reverse-index", "derived-files", "pack-v3"],
    &["partial-clone", "shallow", "duplicate-base", "padded-sizes", "linked-work-tree", "submodule"],
];

#[test]
fn fixtures_go_there_and_back() {
    FIXTURES[0].iter().for_each(|name| goes_there_and_back(name));
}

#[test]
fn fixtures_with_marks_and_replacements_go_there_and_back() {
    FIXTURES[1].iter().for_each(|name| goes_there_and_back(name));
}

#[test]
fn fixtures_that_lack_objects_or_repeat_them_go_there_and_back() {
    FIXTURES[2].iter().for_each(|name| goes_there_and_back(name));
}

#[test]
fn large_blob_is_streamed() {
    let (source, scratch) = (Fixture::get("large-blob").repo(), Scratch::new());
    let [variant, back] = ["variant", "back"].map(|name| scratch.join(name));
    convert(&source, "zstd:1,ids=number", &variant);
    assert_verifies(&source, &variant);
    convert(&variant, "zlib:1", &back);
    assert_verifies(&source, &back);
}

#[test]
fn workloads_see_the_same() {
    let (source, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let variant = scratch.join("variant");
    convert(&source, "store,ids=number", &variant);
    for workload in ["traverse", "sizes", "cat-all", "checkout:sink", "diff:raw", "diff:patch"] {
        assert_eq!(replayed(&variant, workload), replayed(&source, workload), "{workload}");
    }
}

#[test]
fn dictionaries_are_trained_on_numbered_payloads() {
    let scratch = Scratch::new();
    let [source, variant, other, back] = ["source", "variant", "other", "back"].map(|name| scratch.join(name));
    fixture::modules(&source, 600);
    git::output(&source, ["repack", "-adfq"]);
    convert(&source, "zstd:9,dict=4k,ids=number", &variant);
    assert!(variant.join("objects/info/repackbench/dictionaries").exists());
    assert_verifies(&source, &variant);
    // From numbers to numbers and to ids, each with dictionaries.
    convert(&variant, "lz4,dict=4k,ids=number", &other);
    assert_verifies(&source, &other);
    convert(&other, "zstd:9,dict=4k", &back);
    assert_verifies(&source, &back);
    let size = |repo: &Path| OpenPack::open(repo).pack.len();
    assert!(size(&variant) < size(&back), "{} {}", size(&variant), size(&back));
}

/// The trees of two commits differ in the blob that they name. One tree's id is before those of both blobs and the
/// other's after them, so in two packs with both blobs each tree names object 2: all their bytes are the same.
#[test]
fn packs_that_differ_only_in_ids_are_both_kept() {
    let scratch = Scratch::new();
    let [source, variant, other, back] = ["source", "variant", "other", "back"].map(|name| scratch.join(name));
    let (a, b) = (git::stream_file("f", "b10\n"), git::stream_file("f", "a10\n"));
    git::output(scratch.path(), ["init", "-q", "--bare", program::text(&source)]);
    let commit = |seconds, file: &str| git::stream_commit(seconds, "one") + file;
    git::fast_import(&source, &(commit(1_700_000_000, &a) + &commit(1_700_000_001, &b)));
    let objects: Vec<String> = git::objects(&source).lines().map(|line| line[..40].to_owned()).collect();
    let of_kind = |kind: &str| -> Vec<String> {
        let is_of_kind = |id: &&String| git::output(&source, ["cat-file", "-t", id.as_str()]).trim_end() == kind;
        objects.iter().filter(is_of_kind).cloned().collect()
    };
    let (commits, trees, blobs) = (of_kind("commit"), of_kind("tree"), of_kind("blob"));
    assert!(trees[0] < blobs[0] && blobs[1] < trees[1], "{trees:?} {blobs:?}");
    let imported = pack_files(&source, "pack");
    for objects in
        [vec![&trees[0], &blobs[0], &blobs[1]], vec![&trees[1], &blobs[0], &blobs[1]], commits.iter().collect()]
    {
        let list = scratch.join("list");
        fs::write(&list, objects.iter().map(|id| format!("{id}\n")).collect::<String>()).expect("a list");
        let mut pack = git::command(&source);
        pack.args(["pack-objects", "-q", "objects/pack/pack"]).stdin(fs::File::open(&list).expect("the list"));
        assert!(pack.output().expect("git").status.success(), "{objects:?}");
    }
    for name in imported {
        for extension in ["idx", "pack"] {
            fs::remove_file(source.join(format!("objects/pack/{name}.{extension}"))).expect("the imported pack");
        }
    }
    convert(&source, "zlib:6,ids=number", &variant);
    convert(&variant, "zstd:3,ids=number", &other);
    convert(&other, "zlib:6", &back);
    for repo in [&variant, &other, &back] {
        assert_verifies(&source, repo);
        assert_eq!(OpenPack::all(&repo.join("objects")).len(), 3, "{}", repo.display());
    }
    git::output(&back, ["fsck", "--full"]);
}

#[test]
fn number_of_threads_does_not_matter() {
    let (source, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let converted = |threads: &str| {
        let out = scratch.join(threads);
        let mut convert = command();
        convert.args(["convert", "--quiet", "--codec", "zstd:3,ids=number", "--threads", threads]);
        program::run(convert.arg(&source).arg("-o").arg(&out)).exits(exit::OK);
        snapshot::content(&out)
    };
    snapshot::assert_same(&converted("1"), &converted("3"));
}

#[test]
fn codecs_with_bases_are_measured_on_numbered_sources() {
    let scratch = Scratch::new();
    let [source, variant] = ["source", "variant"].map(|name| scratch.join(name));
    fixture::modules(&source, 20);
    git::output(&source, ["repack", "-adfq"]);
    convert(&source, "zlib:6,ids=number", &variant);
    let mut bench = program::bench(&scratch);
    bench.args(["--blocks", "1", "--workload", "traverse", "--codec", "zstd:3,prefix", "--codec", "zstd:3,patch"]);
    program::run(bench.arg(&variant)).exits(exit::OK);
}

#[test]
fn impossible_combinations_are_usage_errors() {
    let (source, scratch) = (Fixture::get("work-tree").repo(), Scratch::new());
    let refused = |options: &[&str], words: &str| {
        let out = scratch.join("out");
        let outcome = program::run(command().arg("convert").args(options).arg(&source).arg("-o").arg(&out));
        assert_eq!(outcome.code, Some(exit::USAGE), "{options:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{options:?}: {}", outcome.stderr);
        assert!(!out.exists());
    };
    refused(&["--codec", "zstd:9,prefix,ids=number"], "prefix cannot be combined with ids=number");
    refused(&["--codec", "zstd:9,ids=number,patch"], "patch cannot be combined with ids=number");
    refused(&["--codec", "zstd:9,checksum=no,ids=number"], "checksum=no cannot be combined with ids=number");
    refused(&["--codec", "zlib:6,ids=id"], "option ids: expected number");
    refused(&["--codec", "zlib:6,ids=number,tree=store,ids=number"], "option ids: expected it once");
    for store in ["loose", "btree"] {
        refused(&["--codec", "zlib:6,ids=number", "--store", store], "ids=number needs packs");
    }
    refused(&["--codec", "zlib:6,ids=number", "--store", "files"], "a tree of files names no objects");
}

#[test]
fn exec_and_in_place_refuse_numbers_by_name() {
    let (source, scratch) = (Fixture::get("work-tree").repo(), Scratch::new());
    let variant = scratch.join("variant");
    convert(&source, "zlib:6,ids=number", &variant);
    let outcome = program::run(&mut preload::exec(&variant, &[], &["git", "log"])).exits(exit::FAILURE);
    assert!(outcome.error_line().contains("found zlib:6,ids=number"), "{}", outcome.stderr);
    let copy = Fixture::copy("work-tree", &scratch);
    let mut in_place = command();
    let outcome =
        program::run(in_place.args(["convert", "--in-place", "--codec", "zlib:6,ids=number"]).arg(copy.repo()));
    assert!(outcome.exits(exit::USAGE).error_line().contains("without dictionaries, bases and numbers"));
}

/// The type of entries that hold whole trees.
const TREE: u8 = 2;

/// A variant whose payloads can be read as they are stored.
fn open_variant(scratch: &Scratch) -> PathBuf {
    let [source, variant] = ["source", "variant"].map(|name| scratch.join(name));
    fixture::modules(&source, 20);
    git::output(&source, ["repack", "-adfq"]);
    convert(&source, "store,ids=number", &variant);
    variant
}

/// Where the payloads of the whole entries of this type are in the pack, in file order.
fn payloads(pack: &OpenPack, entry_type: u8) -> Vec<Range<usize>> {
    let headers = pack.headers().filter(|header| header.entry_type == entry_type && header.payload_len > 0);
    let payload = |header: EntryHeader| {
        let len = usize::try_from(header.payload_len).expect("a length");
        // A byte for the form, and a length in seven bits at a time.
        let body = &pack.pack[header.chunk + 1..];
        let length_len = body.iter().position(|byte| byte & 0x80 == 0).expect("a length") + 1;
        let start = header.chunk + 1 + length_len;
        start..start + len
    };
    headers.map(payload).collect()
}

/// Replaces one byte of a payload, and corrects the checksums of the chunk, the pack, its index and its mark.
fn forge(pack: &mut OpenPack, payload: Range<usize>, at: usize, byte: u8) {
    pack.pack[at] = byte;
    let checksum = xxhash_rust::xxh64::xxh64(&pack.pack[payload.clone()], 0) as u32;
    pack.pack[payload.end..payload.end + 4].copy_from_slice(&checksum.to_le_bytes());
    pack.reseal_and_write();
    replace(&pack.path.with_extension("numbers"), &mark_of(pack));
}

#[test]
fn damaged_numbers_are_one_error() {
    // The byte after the first NUL is a number: there are fewer than 255 objects.
    for (number, found) in [(255, "the number 255 in a pack of"), (1, "content whose id is")] {
        let scratch = Scratch::new();
        let variant = open_variant(&scratch);
        let mut pack = OpenPack::open(&variant);
        let payload = payloads(&pack, TREE).swap_remove(0);
        let nul = pack.pack[payload.clone()].iter().position(|byte| *byte == 0).expect("a NUL");
        let at = payload.start + nul + 1;
        let other = if pack.pack[at] == number { number + 1 } else { number };
        forge(&mut pack, payload, at, other);
        let outcome = repackbench([Path::new("verify"), &scratch.join("source"), &variant]).exits(exit::FAILURE);
        let said = outcome.text() + &outcome.stderr;
        assert!(said.lines().filter(|line| line.contains("damaged: ")).count() == 1 && said.contains(found), "{said}");
        for codec in ["zlib:6", "zstd:3,ids=number"] {
            let out = scratch.join("out");
            let convert = program::run(command().args(["convert", "--codec", codec, "-o"]).args([&out, &variant]));
            assert_eq!(convert.code, Some(exit::BAD_INPUT), "{codec}: {}", convert.stderr);
            assert!(convert.stderr.contains(found) && !out.exists(), "{codec}: {}", convert.stderr);
        }
    }
}

#[test]
fn numbers_of_another_kind_are_one_error() {
    const COMMIT: u8 = 1;
    let scratch = Scratch::new();
    let variant = open_variant(&scratch);
    let mut pack = OpenPack::open(&variant);
    let position = |kind: &str| {
        let entries = git::packs(&scratch.join("source")).into_iter().flat_map(|(_, entries)| entries);
        let mut entries: Vec<_> = entries.map(|entry| (entry.id, entry.kind)).collect();
        entries.sort();
        entries.iter().position(|(_, of)| of == kind).expect("an object of this kind")
    };
    // After the number of references comes that of the tree.
    let payload = payloads(&pack, COMMIT).swap_remove(0);
    let at = payload.start + 1;
    forge(&mut pack, payload, at, u8::try_from(position("blob") + 1).expect("fewer than 255 objects"));
    for workload in ["traverse", "traverse:count"] {
        let outcome = program::replay(&variant, workload, &[]);
        assert_eq!(outcome.code, Some(exit::BAD_INPUT), "{}", outcome.stderr);
        assert!(outcome.error_line().contains("expected a tree, found a blob"), "{}", outcome.stderr);
    }
}

/// The pack holds the object twice, and both numbers are valid. A tree names it by one number and by the other.
#[test]
fn object_with_two_numbers_is_counted_once() {
    let (source, scratch) = (Fixture::get("duplicate-base").repo(), Scratch::new());
    let variant = scratch.join("variant");
    convert(&source, "store,ids=number", &variant);
    let mut pack = OpenPack::open(&variant);
    let mut ids: Vec<&String> = pack.entries.iter().map(|(_, id)| id).collect();
    ids.sort();
    let first = ids.windows(2).position(|pair| pair[0] == pair[1]).expect("an object that is stored twice") + 1;
    let payload = payloads(&pack, TREE).swap_remove(0);
    let name = b"100644 again\0";
    assert!(pack.pack[payload.clone()].starts_with(name), "the first entry of the tree");
    let at = payload.start + name.len();
    let found = usize::from(pack.pack[at]);
    let other = if found == first { first + 1 } else { first };
    forge(&mut pack, payload, at, u8::try_from(other).expect("fewer than 255 objects"));
    assert_verifies(&source, &variant);
    assert_counts(&source, &variant);
}

#[test]
fn trees_that_contain_themselves_are_one_error() {
    let scratch = Scratch::new();
    let variant = open_variant(&scratch);
    let mut pack = OpenPack::open(&variant);
    // The first tree with a folder in it is made to name itself there.
    let of_folder = |payload: &Range<usize>| {
        let mode = b"40000 ";
        let folder = pack.pack[payload.clone()].windows(mode.len()).position(|bytes| bytes == mode)?;
        let name = &pack.pack[payload.start + folder..payload.end];
        Some(payload.start + folder + name.iter().position(|byte| *byte == 0).expect("a NUL") + 1)
    };
    let trees = payloads(&pack, TREE);
    let (payload, at) =
        trees.iter().find_map(|payload| Some((payload.clone(), of_folder(payload)?))).expect("a folder");
    let holding = pack.entries.iter().rfind(|(offset, _)| *offset < payload.start).expect("its entry");
    let before = pack.entries.iter().filter(|(_, id)| *id < holding.1).count();
    forge(&mut pack, payload, at, u8::try_from(before + 1).expect("fewer than 255 objects"));
    for workload in ["traverse", "traverse:count", "diff:raw", "checkout:sink"] {
        let outcome = program::replay(&variant, workload, &[]);
        assert_eq!(outcome.code, Some(exit::BAD_INPUT), "{workload}: {}", outcome.stderr);
        assert!(outcome.error_line().contains("found one that contains itself"), "{workload}: {}", outcome.stderr);
    }
}

/// The mark that belongs to `pack`.
fn mark_of(pack: &OpenPack) -> Vec<u8> {
    use sha1::{Digest, Sha1};
    let mut mark = [b"NUMB".as_slice(), &[0, 0, 0, 1], &[0, 0, 0, 1], &pack.pack[pack.pack.len() - 20..]].concat();
    let own = Sha1::digest(&mark);
    mark.extend_from_slice(&own);
    mark
}

#[test]
fn mark_is_checked() {
    let scratch = Scratch::new();
    let variant = open_variant(&scratch);
    let pack = OpenPack::open(&variant);
    let path = pack.path.with_extension("numbers");
    let sound = fs::read(&path).expect("the mark");
    assert_eq!(sound, mark_of(&pack));
    let flipped = |at: usize| {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        bytes
    };
    for (bytes, expected) in [
        (flipped(0), "expected NUMB, version 1"),
        (flipped(7), "expected NUMB, version 1"),
        (flipped(12), "expected the checksum of its pack"),
        (flipped(32), "expected the checksum of the bytes before it"),
        (sound[..51].to_vec(), "expected 52 bytes"),
        (Vec::new(), "expected NUMB, version 1"),
    ] {
        replace(&path, &bytes);
        let outcome = program::replay(&variant, "traverse", &[]);
        assert_eq!(outcome.code, Some(exit::BAD_INPUT), "{}", outcome.stderr);
        assert!(outcome.error_line().contains(expected), "{}", outcome.stderr);
    }
    fs::remove_file(&path).expect("the mark");
    let back = scratch.join("back");
    let outcome = program::run(command().args(["convert", "--codec", "zlib:6"]).arg(&variant).arg("-o").arg(&back));
    assert_eq!(outcome.code, Some(exit::BAD_INPUT), "{}", outcome.stderr);
    assert!(
        outcome.error_line().contains("expected the mark of a pack whose objects are numbered"),
        "{}",
        outcome.stderr
    );
    assert!(!back.exists());
}

#[test]
fn lost_mark_of_a_borrowed_pack_is_one_error() {
    let (fixture, scratch) = (Fixture::get("alternates"), Scratch::new());
    let variant = scratch.join("member");
    let mut convert = command();
    convert.args(["convert", "--keep-alternates", "--codec", "zstd:3,ids=number"]).arg(fixture.repo()).arg("-o");
    program::run(convert.arg(&variant)).exits(exit::OK);
    assert_verifies(&fixture.repo(), &variant);
    let store = folder_named(&scratch, "base.git.");
    let pack = pack_files(&store, "numbers").pop().expect("a marked pack");
    fs::remove_file(store.join(format!("objects/pack/{pack}.numbers"))).expect("the mark's removal");
    let refused = repackbench([Path::new("verify"), &fixture.repo(), &variant]).exits(exit::BAD_INPUT);
    assert!(refused.error_line().contains(".numbers: expected the mark of a pack"), "{}", refused.stderr);
}

/// The folder in `scratch` whose name begins so.
fn folder_named(scratch: &Scratch, start: &str) -> PathBuf {
    let entries = fs::read_dir(scratch.join(".")).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut named =
        entries.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start)));
    named.next().expect("a folder of this name")
}

#[test]
fn no_client_knows_numbers() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let options = ["serve", "--codec", "zlib:6,ids=number", "--blocks", "1", "--quiet"];
    let served = program::run(program::cached(&scratch).args(options).arg(&repo)).exits(exit::OK).text();
    assert!(served.contains("converted  zlib only") && !served.contains("upgraded"), "{served}");
}
