//! `convert --codec`: every codec, and what a spec can add to codec and level: kinds, dictionaries and bases.

use std::fs;
use std::path::{Path, PathBuf};

use repackbench_codec::{Algorithm, CodecSpec, catalogue};

use crate::support::open_pack::{EntryHeader, OpenPack};
use crate::support::program::{self, Outcome, command, convert, exit};
use crate::support::{Fixture, Scratch, fixture, git, repackbench, snapshot};

/// A repository with something to train on, and with deltas that resemble their bases: 400 files of a few lines, and 40
/// versions of a story in which a few lines change each time. Everything is packed but one loose object.
fn repository(scratch: &Scratch) -> PathBuf {
    let repo = scratch.join("repo");
    program::run(git::command(scratch.path()).args(["init", "--quiet"]).arg(&repo)).exits(exit::OK);
    let verse = |number: u32, line: u32| {
        let noise = (number.wrapping_mul(2_654_435_761) >> (line % 8)) % 1_000_003;
        format!("verse {number}.{line} of the story: the quick brown fox number {noise} jumps\n")
    };
    let mut story: Vec<String> = (0..60).map(|line| verse(7_000 + line, line)).collect();
    let mut stream = String::new();
    for number in 0..400u32 {
        let (message, content) = fixture::module(number);
        stream.push_str(&git::stream_commit(fixture::module_date(number), &message));
        stream.push_str(&git::stream_file(&format!("modules/{number}"), &content));
        if number.is_multiple_of(10) {
            for line in 0..6 {
                story[((number * 7 + line) % 60) as usize] = verse(number, line);
            }
            stream.push_str(&git::stream_file("story", &story.concat()));
        }
    }
    git::fast_import(&repo, &stream);
    git::output(&repo, ["repack", "-adfq", "--depth=20"]);
    let file = scratch.join("loose");
    fs::write(&file, "name = loose\ndescription = what no module is for\nlicence = MIT\n").expect("a file");
    git::output(&repo, ["hash-object".as_ref(), "-w".as_ref(), file.as_os_str()]);
    fs::remove_file(&file).expect("the file");
    repo
}

/// An entry of the only pack of a repository.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    is_delta: bool,
    size: u64,
    /// The first bytes of its chunk.
    first: [u8; 2],
}

/// The entries of the only pack of `repo`, in the order of their offsets, which a conversion keeps.
#[track_caller]
fn entries(repo: &Path) -> Vec<Entry> {
    let pack = OpenPack::open(repo);
    let entry = |header: EntryHeader| Entry {
        is_delta: header.entry_type > 4,
        size: header.payload_len,
        first: pack.pack[header.chunk..][..2].try_into().expect("two bytes"),
    };
    pack.headers().map(entry).collect()
}

/// Converts and returns the summary.
#[track_caller]
fn convert_aloud(source: &Path, options: &[&str], out: &Path) -> String {
    program::run(command().arg("convert").args(options).arg(source).arg("-o").arg(out)).exits(exit::OK).text()
}

#[track_caller]
fn assert_verifies(source: &Path, variant: &Path) {
    repackbench([Path::new("verify"), source, variant]).exits(exit::OK);
}

/// The codec spec in the configuration of the variant.
#[track_caller]
fn remembered(variant: &Path) -> String {
    let config = variant.join("config");
    let asked = ["config", "--file"].map(AsRef::as_ref).into_iter().chain([config.as_os_str()]);
    let value = git::output(variant.parent().expect("a folder"), asked.chain(["extensions.repackbench".as_ref()]));
    value.trim_end().strip_prefix("1;").expect("format version 1").to_owned()
}

#[track_caller]
fn replayed(repo: &Path, workload: &str) -> Vec<u8> {
    program::replay(repo, workload, &[]).exits(exit::OK).stdout
}

/// The dictionary files of a variant, by name.
fn dictionaries(variant: &Path) -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(variant.join("objects/info/repackbench")) else { return Vec::new() };
    let paths = folder.map(|entry| entry.expect("an entry").path());
    let mut found: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|e| e == "dict")).collect();
    found.sort();
    found
}

#[test]
fn every_codec_converts_faithfully() {
    let source = Fixture::get("work-tree").repo();
    let listed = ["rev-list", "--objects", "--all", "--no-object-names"];
    let reachable = git::output(&source, listed);
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    for codec in catalogue() {
        let (scratch, name) = (Scratch::new(), codec.name);
        let variant = scratch.join("variant");
        // More rounds of zopfli cost time and change nothing else.
        let spec = if codec.algorithm == Algorithm::Zopfli { "zopfli:1" } else { name };
        convert(&source, spec, &variant);
        assert_verifies(&source, &variant);
        let visited = String::from_utf8(replayed(&variant, "traverse")).expect("ids");
        assert_eq!(sorted(&visited), sorted(&reachable), "{name}");
        if codec.read_by_git {
            assert_eq!(git::objects(&variant), git::objects(&source), "{name}");
            git::git(&variant, ["fsck", "--full", "--strict"]).exits(exit::OK);
            assert_eq!(git::output(&variant, listed), reachable, "{name}");
        } else {
            git::assert_refuses_plainly(&variant);
            assert_eq!(remembered(&variant), spec.parse::<CodecSpec>().expect("a spec").canonical());
        }
    }
}

#[test]
fn each_kind_has_its_codec() {
    let scratch = Scratch::new();
    let (source, variant) = (repository(&scratch), scratch.join("variant"));
    convert(&source, "commit=zstd:19,tree=store,blob=lz4hc:4,delta=brotli:5", &variant);
    assert_eq!(remembered(&variant), "zlib:6,commit=zstd:19,tree=store,blob=lz4hc:4,delta=brotli:5");
    assert_verifies(&source, &variant);
    git::assert_refuses_plainly(&variant);
    let (packed, entries) = (git::packed(&source), entries(&variant));
    assert_eq!(packed.len(), entries.len());
    let mut seen = [0; 4];
    for (packed, entry) in packed.iter().zip(&entries) {
        let (at, tag) = match (packed.is_delta(), packed.kind.as_str()) {
            (true, _) => (0, 0x06),
            (false, "commit") => (1, 0x02),
            (false, "tree") => (2, 0x01),
            _ => (3, 0x03),
        };
        assert_eq!(packed.is_delta(), entry.is_delta);
        // A payload that does not shrink is stored raw.
        let chunk_is_expected = entry.first[0] == tag || entry.first[0] == 0x01;
        assert!(chunk_is_expected, "{packed:?}: {entry:?}");
        seen[at] += usize::from(entry.first[0] == tag);
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");

    // If stock git reads every part, it reads the whole variant.
    let zlib_only = scratch.join("zlib-only");
    convert(&source, "zlib:1,tree=libdeflate:9,delta=zlib-rs:3", &zlib_only);
    git::git(&zlib_only, ["fsck", "--full", "--strict"]).exits(exit::OK);
    assert_eq!(git::objects(&zlib_only), git::objects(&source));
}

#[test]
fn dictionaries_are_trained_used_and_removed_again() {
    let scratch = Scratch::new();
    let source = repository(&scratch);
    let direct = scratch.join("direct");
    convert(&source, "zlib:6", &direct);
    for (spec, tag) in [("zstd:3,dict=8k", 0x42), ("lz4hc:9,dict=8k", 0x43), ("deflate:6,dict=8k", 0x4b)] {
        let (plain, variant, again) = (scratch.join("plain"), scratch.join("variant"), scratch.join("again"));
        let said = convert_aloud(&source, &["--codec", spec], &variant);
        for kind in ["commit", "tree", "tree-delta", "blob", "blob-delta"] {
            assert!(said.contains(&format!("dictionary for {kind}: ")), "{spec}: {said}");
        }
        let trained = said.lines().filter(|line| line.starts_with("dictionary for ")).count();
        assert_eq!(remembered(&variant), spec);
        assert_verifies(&source, &variant);
        git::assert_refuses_plainly(&variant);
        let found = dictionaries(&variant).len();
        let table = fs::read_to_string(variant.join("objects/info/repackbench/dictionaries")).expect("the table");
        assert!(found >= 3 && found == trained && table.lines().count() == found, "{spec}: {table}");
        let with = entries(&variant).iter().filter(|entry| entry.first[0] == tag).count();
        assert!(with > 400, "{spec}: {with} chunks with a dictionary");

        // The dictionaries save more than they take.
        convert(&source, spec.split_once(',').expect("an option").0, &plain);
        let bytes = |repo: &Path| snapshot::bytes(&repo.join("objects"));
        assert!(bytes(&variant) < bytes(&plain), "{spec}: {} and {}", bytes(&variant), bytes(&plain));

        let threads = ["--codec", spec, "--threads", "1", "--quiet"];
        convert_aloud(&source, &threads, &again);
        snapshot::assert_same(&snapshot::content(&variant), &snapshot::content(&again));
        fs::remove_dir_all(&again).expect("the variant");
        convert(&variant, "zlib:6", &again);
        snapshot::assert_same(&snapshot::content(&direct), &snapshot::content(&again));
        for folder in [plain, variant, again] {
            fs::remove_dir_all(folder).expect("a variant");
        }
    }
}

/// Stock git cannot know the preset dictionary of a zlib stream.
#[test]
fn stock_git_refuses_zlib_with_a_dictionary() {
    let scratch = Scratch::new();
    let (source, variant) = (repository(&scratch), scratch.join("variant"));
    convert(&source, "zlib:6,commit=zlib:6,dict=4k", &variant);
    assert_verifies(&source, &variant);
    git::assert_refuses_plainly(&variant);
    let with = entries(&variant).iter().filter(|entry| entry.first[0] == 0x78 && entry.first[1] & 0x20 != 0).count();
    let commits = git::packed(&source).iter().filter(|entry| entry.kind == "commit" && !entry.is_delta()).count();
    assert_eq!(with, commits);
}

#[test]
fn falls_back_without_enough_training_data() {
    let (source, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let (variant, plain) = (scratch.join("variant"), scratch.join("plain"));
    let said = convert_aloud(&source, &["--codec", "zstd:5,tree=zstd:5,dict=112k"], &variant);
    assert!(said.contains("no dictionary for tree: expected at least 16 payloads"), "{said}");
    assert!(!said.contains("\ndictionary for"), "{said}");
    assert!(!variant.join("objects/info/repackbench").exists());
    assert_verifies(&source, &variant);
    convert(&source, "zstd:5", &plain);
    assert_eq!(entries(&variant), entries(&plain));
}

#[test]
fn uses_a_given_dictionary() {
    let scratch = Scratch::new();
    let (source, variant, file) = (repository(&scratch), scratch.join("variant"), scratch.join("own.dict"));
    let path = file.to_str().expect("a path in UTF-8");
    let train = command().arg("train").arg(&source).args(["-o", path, "--size", "8k", "--quiet"]).output();
    assert!(train.expect("the program").status.success());
    let said = convert_aloud(&source, &["--codec", "zstd:3", "--dict", path], &variant);
    assert!(!said.contains("dictionary for"), "nothing is trained: {said}");
    assert_verifies(&source, &variant);
    git::assert_refuses_plainly(&variant);

    let [stored] = &dictionaries(&variant)[..] else { panic!("one dictionary expected") };
    let name = stored.file_stem().expect("a name").to_string_lossy().into_owned();
    assert_eq!(remembered(&variant), format!("zstd:3,dict=file-{}", &name[..16]));
    let length = fs::metadata(&file).expect("the dictionary").len();
    let table = fs::read_to_string(stored.with_file_name("dictionaries")).expect("the table");
    assert!(table.starts_with(&format!("0 {length} {name} ")) && table.lines().count() == 1, "{table}");
    assert!(entries(&variant).iter().any(|entry| entry.first == [0x42, 0]));

    // Only the part of the spec that names the dictionary uses it.
    let part = scratch.join("part");
    convert_aloud(&source, &["--codec", "zstd:3,commit=zstd:3,dict=file", "--dict", path, "--quiet"], &part);
    for (packed, entry) in git::packed(&source).iter().zip(entries(&part)) {
        assert!(entry.first[0] != 0x42 || packed.kind == "commit" && !packed.is_delta(), "{packed:?}");
    }
    assert_verifies(&source, &part);

    for (options, word) in [
        (&["--codec", "zstd:3", "--dict", "no-such-file"][..], "no-such-file"),
        (&["--codec", "zstd:3,dict=file"], "without the dictionary's file"),
        (&["--codec", "zlib:6", "--dict", env!("CARGO_BIN_EXE_repackbench")], "dictionary"),
    ] {
        let refused =
            program::run(command().arg("convert").args(options).arg(&source).arg("-o").arg(scratch.join("no")));
        assert!(refused.code != Some(exit::OK) && refused.error_line().contains(word), "{}", refused.stderr);
        assert!(!scratch.join("no").exists());
    }
}

#[test]
fn deltas_are_compressed_with_their_bases() {
    let scratch = Scratch::new();
    let source = repository(&scratch);
    let [plain, prefix, patch] = ["plain", "prefix", "patch"].map(|name| scratch.join(name));
    convert(&source, "zstd:9", &plain);
    convert(&source, "zstd:9,prefix", &prefix);
    convert(&source, "zstd:9,patch", &patch);
    let packed = git::packed(&source);
    let sizes: Vec<u64> = entries(&plain).iter().map(|entry| entry.size).collect();
    for (variant, tag) in [(&prefix, 0x12), (&patch, 0x1c)] {
        assert_verifies(&source, variant);
        git::assert_refuses_plainly(variant);
        for workload in ["traverse", "diff:patch"] {
            assert!(replayed(variant, workload) == replayed(&source, workload), "{tag:#04x}: {workload}");
        }
        let entries = entries(variant);
        let mut based = 0;
        for ((entry, packed), size) in entries.iter().zip(&packed).zip(&sizes) {
            assert_eq!(packed.is_delta(), entry.is_delta, "a patch stays the entry of a delta");
            if entry.first[0] & 0x1f == tag {
                assert!(packed.is_delta(), "{packed:?}");
                based += 1;
                // A prefix keeps the size of the delta, a patch has that of the object.
                assert_eq!(entry.size == *size, tag == 0x12, "{entry:?}");
            }
        }
        assert!(based >= 10, "{tag:#04x}: {based} of {} entries", entries.len());
        let bytes = |repo: &Path| snapshot::bytes(&repo.join("objects/pack"));
        assert!(bytes(variant) < bytes(&plain), "{} and {}", bytes(variant), bytes(&plain));
    }
}

#[test]
fn max_chain_limits_the_use_of_bases() {
    let scratch = Scratch::new();
    let source = repository(&scratch);
    let [plain, all, none, option, one] = ["plain", "all", "none", "option", "one"].map(|name| scratch.join(name));
    convert(&source, "zstd:9", &plain);
    convert(&source, "zstd:9,patch,prefix", &all);
    convert(&source, "zstd:9,patch,prefix,max-chain=0", &none);
    convert_aloud(&source, &["--codec", "zstd:9,patch,prefix", "--max-chain", "0", "--quiet"], &option);
    convert_aloud(&source, &["--codec", "zstd:9,patch,prefix", "--max-chain", "1", "--quiet"], &one);
    assert_eq!(remembered(&option), remembered(&none));
    assert_eq!(entries(&none), entries(&plain));
    snapshot::assert_same(&snapshot::content(&none), &snapshot::content(&option));
    assert_verifies(&source, &one);
    let based = |entry: &Entry| matches!(entry.first[0], 0x12 | 0x1c);
    let count = |repo: &Path| entries(repo).iter().filter(|entry| based(entry)).count();
    assert!(count(&one) > 0 && count(&one) < count(&all), "{} and {}", count(&one), count(&all));
    for (packed, entry) in git::packed(&source).iter().zip(entries(&one)) {
        assert!(!based(&entry) || packed.depth == 1, "a base is used {} deltas deep", packed.depth);
    }
}

/// A patch replaces the delta, which is lost.
#[test]
fn rejects_variants_with_bases_as_sources() {
    let scratch = Scratch::new();
    let (source, onward) = (repository(&scratch), scratch.join("onward"));
    for spec in ["zstd:3,prefix", "zstd:3,patch", "zstd:3,delta=zstd:9,patch,prefix"] {
        let variant = scratch.join("variant");
        convert(&source, spec, &variant);
        for codec in ["zlib:6", "zstd:3"] {
            let refused =
                program::run(command().args(["convert", "--codec", codec]).arg(&variant).arg("-o").arg(&onward));
            let refused = refused.exits(exit::BAD_INPUT);
            assert!(refused.stderr.contains("hint: prefix and patch need the content"), "{}", refused.stderr);
            let line = refused.error_line();
            assert!(line.contains(&remembered(&variant)), "{line}");
            assert!(line.contains("convert its source instead"), "{line}");
        }
        assert!(!onward.exists());
        fs::remove_dir_all(&variant).expect("the variant");
    }
}

#[test]
fn missing_or_damaged_dictionary_is_named() {
    let scratch = Scratch::new();
    let (source, variant) = (repository(&scratch), scratch.join("variant"));
    convert(&source, "zstd:3,dict=8k", &variant);
    let file = dictionaries(&variant).remove(0);
    let table = file.with_file_name("dictionaries");
    let (whole, lines) = (fs::read(&file).expect("a dictionary"), fs::read(&table).expect("the table"));
    let refuses = |path: &Path, code: i32| {
        let path = path.to_str().expect("a path in UTF-8");
        let out = scratch.join("out");
        let commands: [&[&str]; 4] = [&["verify"], &["size"], &["replay", "--workload", "traverse"], &["payloads"]];
        let mut outcomes: Vec<Outcome> = Vec::new();
        for arguments in commands {
            let mut command = command();
            command.args(arguments).arg(&variant);
            match arguments[0] {
                "verify" => command.arg(&source),
                "payloads" => command.arg("--output").arg(&out),
                _ => &mut command,
            };
            outcomes.push(program::run(&mut command));
        }
        outcomes.push(program::run(command().args(["convert", "--codec", "zlib:6"]).arg(&variant).arg("-o").arg(&out)));
        // `size` reads only headers, and needs no dictionary.
        outcomes.retain(|outcome| outcome.code != Some(exit::OK));
        assert!(outcomes.len() >= 4, "{} of 5 commands noticed", outcomes.len());
        for outcome in outcomes {
            let line = outcome.exits(code).error_line();
            assert!(line.contains(path), "{path} is not in {line}");
        }
        assert!(!out.exists());
    };

    fs::remove_file(&file).expect("the dictionary");
    refuses(&file, exit::BAD_INPUT);
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    fs::write(&file, &damaged).expect("the dictionary");
    refuses(&file, exit::BAD_INPUT);
    fs::write(&file, &whole[..whole.len() - 1]).expect("the dictionary");
    refuses(&file, exit::BAD_INPUT);
    // Another dictionary.
    let other = dictionaries(&variant).remove(1);
    fs::write(&file, fs::read(other).expect("another")).expect("the dictionary");
    refuses(&file, exit::BAD_INPUT);
    fs::write(&file, &whole).expect("the dictionary");
    assert_verifies(&source, &variant);

    fs::remove_file(&table).expect("the table");
    fs::write(&table, &lines[1..]).expect("the table");
    refuses(&table, exit::BAD_INPUT);
}
