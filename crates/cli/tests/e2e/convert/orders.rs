//! `convert --order`: pack entries in another order. Stock git reads the result as it reads the source. The expected
//! order comes from what git itself lists, packs and checks out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::open_pack::OpenPack;
use crate::support::program::{self, Outcome, command, exit};
use crate::support::{Fixture, Scratch, git, repackbench, snapshot};

pub(super) const ORDERS: [&str; 5] = ["recency", "kind", "path", "checkout", "trees-first"];

/// Converts to `zlib:9`, or to the codec in `options`.
fn converted(source: &Path, options: &[&str], out: &Path) -> Outcome {
    program::run(command().args(["convert", "--codec", "zlib:9"]).args(options).arg(source).arg("-o").arg(out))
}

/// The variant of `source` in `order`, in a scratch folder; with deltas before their bases if `refs`.
#[track_caller]
fn in_order(source: &Path, order: &str, refs: bool, scratch: &Scratch) -> PathBuf {
    let out = scratch.join(&format!("{order}{}", if refs { "-refs" } else { "" }));
    let options: &[&str] = if refs { &["--quiet", "--order-refs", "--order"] } else { &["--quiet", "--order"] };
    let outcome = converted(source, &[options, &[order]].concat(), &out).exits(exit::OK);
    assert_eq!(outcome.stderr, "", "{order}: --quiet says nothing when all is well");
    out
}

/// The ids in each pack, in file order.
fn packed_ids(repo: &Path) -> Vec<Vec<String>> {
    let ids = |entries: Vec<git::PackEntry>| entries.into_iter().map(|entry| entry.id).collect();
    git::packs(repo).into_iter().map(|(_, entries)| ids(entries)).collect()
}

/// The ids of the only pack, in file order.
#[track_caller]
fn ids_of_one_pack(repo: &Path) -> Vec<String> {
    let mut packs = packed_ids(repo);
    assert_eq!(packs.len(), 1, "one pack expected in {}", repo.display());
    packs.remove(0)
}

/// What git reports of the deltas of each pack, in any order of its entries.
fn deltas_in_any_order(repo: &Path) -> Vec<Vec<String>> {
    let sorted = |pack: &String| {
        let mut lines: Vec<String> = pack.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let mut packs: Vec<Vec<String>> = git::delta_structure(repo).iter().map(sorted).collect();
    packs.sort();
    packs
}

fn holds_what_the_source_holds(name: &str) {
    let fixture = Fixture::get(name);
    let source = fixture.repo();
    let before = snapshot::state(&fixture.folder);
    let judgement_of = |repo: &Path| git::judge(repo, Scratch::new().path());
    let (refs, objects, deltas) = (git::refs(&source), git::objects(&source), deltas_in_any_order(&source));
    let judgement = judgement_of(&source);
    for order in ORDERS {
        for with_refs in [false, true] {
            let scratch = Scratch::new();
            let variant = in_order(&source, order, with_refs, &scratch);
            let what = format!("{name}, {order}, refs: {with_refs}");
            assert_eq!(refs, git::refs(&variant), "{what}");
            assert_eq!(objects, git::objects(&variant), "{what}");
            assert_eq!(deltas, deltas_in_any_order(&variant), "{what}");
            assert_eq!(judgement, judgement_of(&variant), "{what}");
            repackbench([Path::new("verify"), &source, &variant]).exits(exit::OK);
            assert!(!fs::exists(variant.join("objects/pack/tmp_pack")).expect("a folder"), "{what}");
        }
    }
    assert_eq!(snapshot::state(&fixture.folder), before, "the source was written to");
}

macro_rules! orders {
    ($($test:ident => $fixture:literal,)*) => {
        $(#[test]
        fn $test() {
            holds_what_the_source_holds($fixture);
        })*
    };
}

orders! {
    alternates => "alternates",
    cruft => "cruft",
    detached_head => "detached-head",
    duplicate_base => "duplicate-base",
    duplicates => "duplicates",
    empty => "empty",
    grafts => "grafts",
    history => "history",
    keep => "keep",
    padded_sizes => "padded-sizes",
    partial_clone => "partial-clone",
    ref_delta => "ref-delta",
    refs => "refs",
    replace => "replace",
    reverse_index => "reverse-index",
    sha256 => "sha256",
    shallow => "shallow",
    submodule => "submodule",
}

/// Entries stream at any position.
#[test]
fn large_file_streams_in_any_order() {
    let source = Fixture::get("large-blob").repo();
    let scratch = Scratch::new();
    let variant = in_order(&source, "kind", false, &scratch);
    repackbench([Path::new("verify"), &source, &variant]).exits(exit::OK);
    git::output(&variant, ["fsck", "--full"]);
}

/// A mirror of the fixture that git repacks after `change`. It has neither an index nor reflogs, whose objects git
/// would pack first.
fn repacked(name: &str, scratch: &Scratch, change: impl FnOnce(&Path)) -> PathBuf {
    let repo = scratch.join("repacked.git");
    let mut clone = git::command(scratch.path());
    clone.args(["clone", "--quiet", "--mirror", "--no-local"]).arg(Fixture::get(name).repo()).arg(&repo);
    program::run(&mut clone).exits(exit::OK);
    change(&repo);
    git::output(&repo, ["-c", "repack.writeBitmaps=false", "repack", "-a", "-d", "-F", "-q", "--window=50"]);
    repo
}

#[test]
fn recency_is_the_order_of_git() {
    for (name, tagged) in
        [("history", &[][..]), ("history", &["HEAD~2", "HEAD~5"]), ("sha256", &["HEAD"]), ("refs", &[])]
    {
        let scratch = Scratch::new();
        let repo = repacked(name, &scratch, |repo| {
            for revision in tagged {
                let tag = format!("tag-{}", revision.replace('~', "-"));
                git::output(repo, ["-c", "user.name=A", "-c", "user.email=a@b", "tag", "-am", "t", &tag, revision]);
            }
        });
        let by_git = ids_of_one_pack(&repo);
        let elsewhere = in_order(&repo, "path", false, &scratch);
        assert_ne!(ids_of_one_pack(&elsewhere), by_git, "{name}: the order differs");
        let again = in_order(&elsewhere, "recency", false, &scratch);
        assert_eq!(ids_of_one_pack(&again), by_git, "{name}, tags at {tagged:?}");
    }
}

/// Removes repeated ids.
fn first_of_each(ids: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    ids.filter(|id| seen.insert(id.clone())).collect()
}

/// The commit and trees of `HEAD`, and its files, as git lists them.
fn head_of(repo: &Path) -> (Vec<String>, Vec<String>) {
    let listed = git::output(repo, ["ls-tree", "-r", "-t", "--format=%(objecttype) %(objectname)", "HEAD"]);
    let of_type = |wanted: &str| -> Vec<String> {
        let ids = listed.lines().filter_map(|line| line.split_once(' ')).filter(|(kind, _)| *kind == wanted);
        ids.map(|(_, id)| id.to_owned()).collect()
    };
    let top = ["HEAD", "HEAD^{tree}"].map(|name| git::output(repo, ["rev-parse", name]).trim().to_owned());
    (first_of_each(top.into_iter().chain(of_type("tree"))), first_of_each(of_type("blob").into_iter()))
}

#[test]
fn checkout_order_is_the_order_of_reading() {
    let scratch = Scratch::new();
    let repo = repacked("history", &scratch, |_| ());
    let (trees, files) = head_of(&repo);
    let ids = ids_of_one_pack(&in_order(&repo, "checkout", true, &scratch));
    assert_eq!(ids[..trees.len() + files.len()], [&trees[..], &files].concat());

    // Without references to later entries, bases come before their deltas.
    let ids = ids_of_one_pack(&in_order(&repo, "checkout", false, &scratch));
    let wanted: BTreeSet<&String> = trees.iter().chain(&files).collect();
    let places: Vec<usize> =
        wanted.iter().map(|id| ids.iter().position(|other| other == *id).expect("an entry")).collect();
    assert!(places.iter().max() < Some(&(ids.len() - 1)), "the rest of history follows");
}

#[test]
fn trees_first_puts_trees_of_head_together() {
    let scratch = Scratch::new();
    let repo = repacked("history", &scratch, |_| ());
    let (trees, files) = head_of(&repo);
    let ids = ids_of_one_pack(&in_order(&repo, "trees-first", true, &scratch));
    assert_eq!(ids[..trees.len()], trees);
    let following: BTreeSet<&String> = ids[trees.len()..][..files.len()].iter().collect();
    assert_eq!(following, files.iter().collect());
    let ids = ids_of_one_pack(&in_order(&repo, "trees-first", false, &scratch));
    let mut places: Vec<usize> = trees.iter().filter_map(|tree| ids.iter().position(|id| id == tree)).collect();
    places.sort_unstable();
    assert_eq!(
        places.last().zip(places.first()).map(|(last, first)| last - first),
        Some(trees.len() - 1),
        "{places:?}"
    );
}

#[test]
fn kind_and_path_keep_their_objects_together() {
    let scratch = Scratch::new();
    let repo = repacked("history", &scratch, |repo| {
        git::output(repo, ["-c", "user.name=A", "-c", "user.email=a@b", "tag", "-am", "t", "tag", "HEAD~3"]);
    });
    let kinds: BTreeMap<String, String> = git::objects(&repo)
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .map(|words| (words[0].to_owned(), words[1].to_owned()))
        .collect();
    let runs = |of: &mut dyn Iterator<Item = String>| {
        let mut runs: Vec<String> = of.collect();
        runs.dedup();
        runs
    };
    let by_kind = ids_of_one_pack(&in_order(&repo, "kind", true, &scratch));
    assert_eq!(runs(&mut by_kind.iter().map(|id| kinds[id].clone())), ["commit", "tag", "tree", "blob"]);

    // git names the path at which it met each object first.
    let listed = git::output(&repo, ["rev-list", "--objects", "--all"]);
    let listed: Vec<(&str, &str)> = listed.lines().map(|line| line.split_once(' ').unwrap_or((line, ""))).collect();
    let paths: BTreeMap<&str, &str> = listed.iter().copied().collect();
    let by_path = ids_of_one_pack(&in_order(&repo, "path", true, &scratch));
    let in_folders: Vec<&String> = by_path.iter().filter(|id| ["tree", "blob"].contains(&&*kinds[*id])).collect();
    assert_eq!(in_folders[..], by_path.iter().collect::<Vec<_>>()[by_path.len() - in_folders.len()..], "commits first");
    let runs = runs(&mut in_folders.iter().map(|id| paths[id.as_str()].to_owned()));
    assert_eq!(runs.len(), runs.iter().collect::<BTreeSet<_>>().len(), "the versions of each path are adjacent");
    assert!(runs.is_sorted_by_key(|path| path.split('/').map(str::to_owned).collect::<Vec<_>>()), "{runs:?}");
    for path in &runs {
        let newest_first: Vec<&str> = listed
            .iter()
            .filter(|(id, of)| of == path && kinds[*id] != "commit" && kinds[*id] != "tag")
            .map(|(id, _)| *id)
            .collect();
        let versions: Vec<&str> = in_folders.iter().map(|id| id.as_str()).filter(|id| paths[id] == path).collect();
        assert_eq!(versions, newest_first, "{path}");
    }
}

#[test]
fn unreachable_objects_keep_their_order() {
    let source = Fixture::get("cruft").repo();
    let reached: BTreeSet<String> = git::output(&source, ["rev-list", "--objects", "--all", "--no-object-names"])
        .lines()
        .map(str::to_owned)
        .collect();
    let scratch = Scratch::new();
    let unreached = |repo: &Path| {
        let mut packs: Vec<Vec<String>> = packed_ids(repo);
        packs.retain(|ids| !ids.iter().any(|id| reached.contains(id)));
        packs.sort();
        packs
    };
    assert_ne!(unreached(&source).len(), 0, "the fixture has a pack of them");
    for order in ORDERS {
        assert_eq!(unreached(&in_order(&source, order, true, &scratch)), unreached(&source), "{order}");
    }
}

#[test]
fn counts_deltas_that_name_their_base_by_id() {
    let scratch = Scratch::new();
    let repo = repacked("history", &scratch, |_| ());
    // In the order of kinds, no delta comes before its base. In the order of paths, some do.
    let outcome = converted(&repo, &["--order", "kind"], &scratch.join("plain")).exits(exit::OK);
    assert!(!outcome.text().contains("name them by id"), "{}", outcome.text());
    let out = scratch.join("refs");
    let outcome = converted(&repo, &["--order", "path", "--order-refs"], &out).exits(exit::OK);
    let text = outcome.text().replace('\n', " ");
    let count =
        |entry_type: u8| OpenPack::open(&out).headers().filter(|header| header.entry_type == entry_type).count();
    let by_id = count(7);
    assert_ne!(by_id, 0, "some base follows its delta");
    assert!(text.contains(&format!("{by_id} deltas come before their bases and name them by id")), "{text}");
}

#[test]
fn damage_gives_the_same_error_in_every_order() {
    let flip = |at: usize| move |pack: &mut OpenPack| pack.pack[at] ^= 0x04;
    let scratch = Scratch::new();
    let intact = OpenPack::open(&Fixture::get("bare").repo());
    let (_, commit) = intact.entry_of_type(1, 3);
    let (_, tree) = intact.entry_of_type(2, 0);
    let (_, blob) = intact.entry_of_type(3, 0);
    let (_, delta) = intact.entry_of_type(6, 3);
    for (number, at) in [commit + 9, tree + 9, blob + 9, delta, delta + 9].into_iter().enumerate() {
        for is_resealed in [false, true] {
            let folder = Scratch::new();
            let repo = Fixture::copy("bare", &folder).repo();
            let mut pack = OpenPack::open(&repo);
            flip(at)(&mut pack);
            if is_resealed {
                pack.reseal_and_write();
            } else {
                pack.write();
            }
            let refused = |options: &[&str]| {
                let outcome = converted(&repo, options, &scratch.join("out")).exits(exit::BAD_INPUT);
                assert_eq!(scratch.names(), [""; 0], "{options:?}: no files remain");
                outcome.error_line()
            };
            let expected = refused(&[]);
            for order in ORDERS {
                assert_eq!(refused(&["--order", order]), expected, "{order}, byte {at}, damage {number}");
                assert_eq!(refused(&["--order", order, "--order-refs"]), expected, "{order}, byte {at}, refs");
            }
        }
    }
}

#[test]
fn rejects_invalid_combinations() {
    let scratch = Scratch::new();
    let (git, hg) = (Fixture::get("history").repo(), Fixture::hg("default").repo());
    let cases: [(&Path, &[&str], &str); 7] = [
        (&git, &["--order-refs"], "order=source"),
        (&git, &["--store", "loose", "--order", "path"], "only packs have an order"),
        (&git, &["--order", "path", "--order-refs", "--codec", "zstd:5,prefix"], "expected no --order-refs"),
        (&git, &["--order", "path", "--rechosen"], "expected no --rechosen"),
        (&git, &["--store", "loose", "--codec", "zstd:5,patch"], "expected --store pack"),
        (&hg, &["--order", "path"], "expected --order source"),
        (&hg, &["--store", "loose"], "expected --store pack"),
    ];
    for (source, options, why) in cases {
        let codec: &[&str] = if options.contains(&"--codec") { &[] } else { &["--codec", "zlib:6"] };
        let out = scratch.join("out");
        let outcome = program::run(command().arg("convert").args(codec).args(options).arg(source).arg("-o").arg(out));
        let line = outcome.exits(exit::USAGE).error_line();
        assert!(
            line.contains(why) || why == "order=source" && line.contains("expected another --order"),
            "{options:?}: {line}"
        );
        assert_eq!(scratch.names(), [""; 0], "{options:?}");
    }
}

#[test]
fn default_output_is_named_after_the_order() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("bare", &scratch).repo();
    let convert = ["convert", "--quiet", "--codec", "zlib:6", "--order", "trees-first", "--order-refs"];
    program::run(command().args(convert).arg(&repo)).exits(exit::OK);
    let name = repo.file_name().expect("a name").to_string_lossy().into_owned();
    let beside = repo.with_file_name(format!("{name}.zlib-6.trees-first-refs"));
    git::output(&beside, ["fsck", "--full"]);
}
