//! `serve` and the workloads `serve:*`: stock git indexes the packs, which hold the objects that git itself would send.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::support::program::{self, Outcome, cached, convert, exit, text};
use crate::support::{Fixture, Scratch, git};

/// Serves a pack. Returns its file and the outcome.
#[track_caller]
fn serve(repo: &Path, exchange: &str, options: &[&str], scratch: &Scratch) -> (PathBuf, Outcome) {
    let pack = scratch.join("served.pack");
    let _ = fs::remove_file(&pack);
    let outcome = program::replay(repo, exchange, &[options, &["--output", text(&pack)]].concat()).exits(exit::OK);
    (pack, outcome)
}

/// Lets stock git index `pack` into `repo`.
#[track_caller]
fn index(repo: &Path, pack: &Path, options: &[&str]) {
    let mut index = git::command(repo);
    index.args(["index-pack", "--stdin", "--strict"]).args(options);
    let output = index.stdin(Stdio::from(File::open(pack).expect("the pack"))).output().expect("git");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// An empty repository with the same hash function as `like`.
#[track_caller]
fn empty(scratch: &Scratch, name: &str, like: &Path) -> PathBuf {
    let format = git::output(like, ["rev-parse", "--show-object-format"]);
    git::output(scratch.path(), ["init", "--quiet", "--bare", &format!("--object-format={}", format.trim()), name]);
    scratch.join(name)
}

#[test]
fn clones_hold_every_reachable_object_under_any_codec() {
    for name in ["history", "refs", "duplicates", "ref-delta", "sha256", "alternates", "reftable-work-tree"] {
        let (repo, scratch) = (Fixture::get(name).repo(), Scratch::new());
        let listed = git::output(&repo, ["rev-list", "--objects", "--all", "HEAD"]);
        let mut expected: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
        expected.sort_unstable();
        let with_options = ["zstd:9,dict=4k", "zstd:9,prefix", "zstd:9,dict=4k,ids=number", "zlib:6,ids=number"];
        for codec in ["zlib:6", "zstd:5", "zlib:9", "best-size"].into_iter().chain(with_options) {
            let variant = scratch.join(codec);
            convert(&repo, codec, &variant);
            let (pack, served) = serve(&variant, "serve:zlib", &[], &scratch);
            assert_eq!(served.count("wire bytes"), fs::metadata(&pack).expect("the pack").len());
            assert_eq!(served.count("entries"), expected.len() as u64, "{name} under {codec}");
            let clone = empty(&scratch, &format!("{codec}.git"), &repo);
            index(&clone, &pack, &[]);
            let found = git::objects(&clone);
            let found: Vec<&str> = found.lines().filter_map(|line| line.split(' ').next()).collect();
            assert_eq!(found, expected, "{name} under {codec}");
        }
    }
}

#[test]
fn zlib_client_gets_the_same_pack_from_every_codec() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let packs = ["zlib:6", "zstd:5", "lz4"].map(|codec| {
        let variant = scratch.join(codec);
        convert(&repo, codec, &variant);
        let (pack, served) = serve(&variant, "serve:zlib", &[], &scratch);
        let packed = git::git(&repo, ["count-objects", "-v"]).text().contains("count: 0\n");
        if codec == "zlib:6" && packed {
            assert_eq!(served.count("entries encoded"), 0, "its bytes are sent as they are");
        } else if packed {
            assert_eq!(served.count("entries reused"), 0);
        }
        fs::read(pack).expect("the pack")
    });
    assert!(packs[0] == packs[1] && packs[1] == packs[2], "entry by entry, under the same zlib:6");
}

#[test]
fn thin_packs_build_on_objects_of_the_client() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let commits = git::output(&repo, ["rev-list", "-3", "HEAD"]);
    let parents = git::output(&repo, ["log", "-3", "--format=%P", "HEAD"]);
    let outside: Vec<&str> = parents.split_whitespace().filter(|parent| !commits.contains(parent)).collect();
    assert!(!outside.is_empty());
    for (codec, exchange) in [
        ("zlib:6", "serve:same"),
        ("zstd:5", "serve:zlib"),
        ("best-size", "serve:zlib"),
        ("zstd:9,prefix", "serve:push"),
        ("zlib:6,ids=number", "serve:same"),
        ("zstd:5,ids=number", "serve:push"),
    ] {
        let variant = scratch.join(codec);
        convert(&repo, codec, &variant);
        let (pack, served) = serve(&variant, exchange, &["--commits", "3"], &scratch);
        let client = empty(&scratch, &format!("{codec}.git"), &repo);
        for commit in &outside {
            let fetch = ["fetch", "--quiet", &repo.to_string_lossy(), commit].map(str::to_owned);
            git::output(&client, fetch);
        }
        index(&client, &pack, &["--fix-thin"]);
        let tip = git::output(&repo, ["rev-parse", "HEAD"]);
        let all = |repo: &Path| git::output(repo, ["rev-list", "--objects", "--no-object-names", tip.trim()]);
        assert_eq!(all(&client), all(&repo), "{codec}");
        assert_eq!(served.count("entries reused") + served.count("entries encoded"), served.count("entries"));
    }
}

#[test]
fn rollout_is_shown_in_steps_and_written_as_json() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let json = scratch.join("rollout.json");
    let mut serve = cached(&scratch);
    serve
        .args(["serve", "--codec", "zstd:5", "--rollout", "--blocks", "2", "-q", "--force", "--json"])
        .arg(&json)
        .arg(&repo);
    let table = program::run(&mut serve).exits(exit::OK).text();
    assert_eq!(table.matches(" % ").count(), 22, "{table}");
    let rollout: Value = serde_json::from_slice(&fs::read(&json).expect("the figures")).expect("JSON");
    let exchanges = rollout["exchanges"].as_array().expect("exchanges");
    assert_eq!(exchanges.len(), 5);
    let number = |exchange: &Value, name: &str| exchange[name].as_u64().expect("a number");
    for exchange in exchanges {
        assert_eq!(number(exchange, "reused") + number(exchange, "encoded"), number(exchange, "entries"));
        assert_eq!(exchange["cpu_ns"].as_array().map(Vec::len), Some(2));
    }
    let wire = |store: &str, client: &str| {
        let found = exchanges.iter().find(|exchange| exchange["store"] == store && exchange["client"] == client);
        number(found.unwrap_or_else(|| panic!("no {store} {client}")), "wire_bytes")
    };
    assert_eq!(wire("zlib", "old"), wire("converted", "old"));
    assert_eq!(wire("zlib", "old"), wire("mixed", "old"));
    let steps = rollout["steps"].as_array().expect("steps");
    assert_eq!(number(&steps[10], "upgraded_percent"), 100);
    assert_eq!(number(&steps[10], "wire_bytes"), wire("converted", "upgraded"));
}

#[test]
fn git_serves_several_clients_the_same_requests_in_every_arm() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let newest = git::output(&repo, ["rev-list", "--first-parent", "HEAD"]);
    let ages = [1, 10, 100].iter().filter(|age| newest.lines().count() > **age).count();
    assert!(ages > 0, "the fixture has something to fetch");
    let dictionary = scratch.join("dictionary");
    fs::write(&dictionary, git::git(&repo, ["log", "-p", "--all"]).exits(exit::OK).stdout).expect("a dictionary");
    for (codec, options) in [("zstd:3", &[][..]), ("zstd:9,dict=file", &["--dict", text(&dictionary)])] {
        let json = scratch.join(&format!("{codec}.json"));
        let mut serve = cached(&scratch);
        serve
            .args(["serve", "--codec", codec, "--clients", "1,3", "--time", "1s", "-q", "--json"])
            .arg(&json)
            .args(options)
            .arg(&repo);
        let table = program::run(&mut serve).exits(exit::OK).text();
        assert!(table.contains("compressed again, deltas kept") && table.contains("deltas searched again"), "{table}");
        let load: Value = serde_json::from_slice(&fs::read(&json).expect("the record")).expect("a line of JSON");
        let array = |value: &Value, name: &str| value[name].as_array().expect(name).clone();
        let requests = array(&load, "requests");
        // Each was checked in every arm, or the command would have failed.
        let packs = array(&load, "packs");
        assert_eq!(packs.len(), 5 * requests.len(), "{codec}");
        let (rows, left_out) = (array(&load, "rows"), array(&load, "left_out"));
        assert_eq!(rows.len() + left_out.len(), 2 * 2 * 5, "exchanges, clients, arms");
        for row in &rows {
            let clients = row["clients"].as_u64().expect("clients");
            let exchanges = array(row, "exchanges");
            assert!(exchanges.len() as u64 >= clients, "{row}");
            assert!(row["cpu_ns"].as_u64() > Some(0), "{row}");
            for exchange in exchanges {
                let request = exchange["request"].as_u64().expect("a request");
                assert_eq!(requests[usize::try_from(request).expect("small")]["exchange"], row["exchange"]);
            }
        }
        let bytes = |arm: &str, request: u64| {
            let found = packs.iter().find(|pack| pack["arm"] == arm && pack["request"] == request);
            found.and_then(|pack| pack["bytes"].as_u64()).expect("a checked pack")
        };
        assert_ne!(bytes("codec-stored", 0), bytes("zlib", 0), "stored bytes are sent");
        for request in 0..requests.len() as u64 {
            let lengths = ["codec-deltas-kept", "zlib"].map(|arm| bytes(arm, request));
            assert_eq!(lengths[0], lengths[1], "{codec}: the same entries under the same zlib");
        }
        assert_eq!(load["dictionary_bytes"].as_u64() > Some(0), codec.contains("dict"));
    }
}

/// A bitmap of git's `multi-pack-index write` knows no names. Without them, a search for deltas compares unrelated
/// files.
#[test]
fn search_for_deltas_through_bitmaps_knows_names() {
    let scratch = Scratch::new();
    let repo = scratch.join("files");
    git::output(scratch.path(), ["init", "--quiet", "--bare", "files"]);
    write_similar_versions(&repo);
    git::output(&repo, ["repack", "-adfq"]);
    let mut search = git::command(&repo);
    search.args(["-c", "pack.useBitmaps=false", "-c", "pack.threads=1", "pack-objects", "--all", "--revs", "--thin"]);
    search.args(["--stdout", "--delta-base-offset", "--include-tag", "-q", "--no-reuse-delta"]).stdin(Stdio::null());
    let found = search.output().expect("git");
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    let with_names = found.stdout.len() as u64;

    let json = scratch.join("load.json");
    let mut serve = cached(&scratch);
    serve.args(["serve", "--codec", "zstd:3", "--clients", "1", "--time", "1s", "-q", "--json"]).arg(&json).arg(&repo);
    program::run(&mut serve).exits(exit::OK);
    let load: Value = serde_json::from_slice(&fs::read(&json).expect("the record")).expect("a line of JSON");
    let requests = load["requests"].as_array().expect("requests");
    let clone = requests.iter().position(|request| request["exchange"] == "clone").expect("a clone");
    for arm in ["zlib-deltas-searched", "codec-by-git"] {
        let packs = load["packs"].as_array().expect("packs");
        let pack = packs.iter().find(|pack| pack["arm"] == arm && pack["request"] == clone).expect("a pack");
        let sent = pack["bytes"].as_u64().expect("bytes");
        assert!(sent * 100 <= with_names * 105, "{arm}: {sent} bytes, and {with_names} without bitmaps");
    }
}

/// Gives the empty repository files of the same length, each in several versions that have most lines in common.
fn write_similar_versions(repo: &Path) {
    let mut state = 1_u64;
    let mut line = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{state:016x}\n")
    };
    let mut files: Vec<Vec<String>> = (0..60).map(|_| (0..60).map(|_| line()).collect()).collect();
    let mut stream = String::new();
    for version in 0..12 {
        let message = format!("version {version}");
        stream += &format!("commit refs/heads/main\ncommitter A <a@example.com> {version} +0000\n");
        stream += &format!("data {}\n{message}\n", message.len());
        for (number, file) in files.iter_mut().enumerate() {
            file[version] = line();
            let content = file.concat();
            stream += &format!("M 100644 inline file-{number}\ndata {}\n{content}\n", content.len());
        }
    }
    let place = repo.join("stream");
    fs::write(&place, stream).expect("the stream");
    let mut import = git::command(repo);
    let output = import.args(["fast-import", "--quiet"]).stdin(File::open(&place).expect("the stream")).output();
    let output = output.expect("git");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    git::output(repo, ["symbolic-ref", "HEAD", "refs/heads/main"]);
}

#[test]
fn clients_need_git_and_exclude_what_they_do_not_use() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let serve = |options: &[&str]| {
        program::run(cached(&scratch).args(["serve", "--codec", "zstd:3", "-q"]).args(options).arg(&repo))
    };
    for options in [["--clients", "0"], ["--time", "1s"], ["--git", "git"]] {
        serve(&options).exits(exit::USAGE);
    }
    for other in ["--rollout", "--commits=1", "--blocks=2"] {
        serve(&["--clients", "1", other]).exits(exit::USAGE);
    }
    let refused = serve(&["--clients", "1", "--git", "/no/such/git"]).exits(exit::FAILURE);
    assert!(refused.error_line().contains("/no/such/git"), "{}", refused.error_line());
}
