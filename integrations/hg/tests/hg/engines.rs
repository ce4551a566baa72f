//! Tests the engines that Mercurial lacks.

use std::fs;

use crate::support::{Hg, Outcome, scratch};

/// A codec spec of each engine except lz4, at a fast level, with hg's name of the kind of chunk that it writes.
const ENGINES: [(&str, &str); 7] = [
    ("brotli:1", "0x86"),
    ("bzip2:1", "0x8a"),
    ("deflate", "0x8b"),
    ("lzma:0", "0x87"),
    ("lzo", "0x85"),
    ("snappy", "0x84"),
    ("xz:0", "0x89"),
];

/// The name of a spec's codec, which is also that of its engine.
fn engine(spec: &str) -> &str {
    spec.split(':').next().unwrap_or(spec)
}

#[test]
fn upgrade_to_every_engine_reads_and_writes() {
    for hg in Hg::extended() {
        let folder = scratch();
        hg.stock().set("format.revlog-compression=zlib").new_repository(folder.path());
        let stock = hg.stock();
        for (round, (spec, kind)) in (10..).zip(ENGINES) {
            let hg = hg.codec(spec);
            hg.run(folder.path(), ["debugupgraderepo", "--run", "--no-backup", "-q", "--optimize", "re-delta-all"]);
            let requirement = format!("exp-compression-{}", engine(spec));
            assert_eq!(Hg::engine_requirements(folder.path()), [requirement.as_str()]);
            hg.commit_round(folder.path(), round);
            hg.verify(folder.path());
            let kinds = hg.chunk_kinds(folder.path(), "text");
            assert!(kinds.iter().any(|found| found == kind), "{spec}: {kind} in {kinds:?}");
            stock.try_run(folder.path(), ["log"]).fails_saying(&["requires features unknown", &requirement]);
        }
        let history = hg.history(folder.path());
        let zlib = hg.set("format.revlog-compression=zlib");
        zlib.run(folder.path(), ["debugupgraderepo", "--run", "--no-backup", "-q", "--optimize", "re-delta-all"]);
        stock.verify(folder.path());
        assert_eq!(stock.history(folder.path()), history);
        assert!(history.contains("description:\nround 16\n"), "the last commit is there");
    }
}

#[test]
fn repositories_of_all_engines_exchange_commits() {
    for hg in Hg::extended() {
        let folder = scratch();
        hg.codec("zlib:6").new_repository(&folder.path().join("zlib"));
        let mut source = "zlib";
        for (spec, kind) in ENGINES {
            hg.codec(spec).run(folder.path(), ["clone", "-q", "--pull", source, engine(spec)]);
            source = engine(spec);
            let kinds = hg.chunk_kinds(&folder.path().join(source), "text");
            assert!(kinds.iter().any(|found| found == kind), "{spec}: {kind} in {kinds:?}");
        }
        let last = folder.path().join(source);
        hg.run(&last, ["update", "-q"]);
        hg.commit_round(&last, 10);
        hg.run(&folder.path().join("zlib"), ["pull", "-q", "-u", &format!("../{source}")]);
        hg.stock().verify(&folder.path().join("zlib"));
        // Without --debug, which shows phases: the changesets are public in one repository and draft in the other.
        let patches = |hg: &Hg, name: &str| hg.run(&folder.path().join(name), ["log", "-p", "--git"]).out;
        assert!(patches(&hg.stock(), "zlib") == patches(&hg, source), "the same changesets");
    }
}

/// hg uses any of a repository's engines for new chunks, unless a codec is configured.
#[test]
fn configured_codec_selects_among_several_engines() {
    for hg in Hg::extended() {
        let folder = scratch();
        hg.codec("zstd:3").new_repository(folder.path());
        let file = folder.path().join(".hg/store/requires");
        let requirements = fs::read_to_string(&file).expect("the requirements");
        fs::write(&file, format!("{requirements}exp-compression-brotli\nexp-compression-lz4\n"))
            .expect("the requirements");
        for (round, (spec, kind)) in (10..).zip([("brotli:1", "0x86"), ("lz4hc:9", "0x34"), ("zstd:5", "0x28")]) {
            let hg = hg.codec(spec);
            fs::write(folder.path().join("new"), crate::support::text(round)).expect("a work tree file");
            let summary = hg.set("repackbench.summary=yes");
            let commit = summary.run(folder.path(), ["commit", "-qAm", "new", "--traceback"]);
            assert!(is_only_writer(&commit, spec), "{spec}: {commit:#?}");
            hg.run(folder.path(), ["commit", "-q", "--amend", "-m", "amended"]);
            let kinds = hg.chunk_kinds(folder.path(), "new");
            assert!(kinds.iter().any(|found| found == kind), "{spec}: {kind} in {kinds:?}");
        }
        hg.verify(folder.path());
    }
}

/// Whether all encoded chunks were encoded with `spec`.
fn is_only_writer(outcome: &Outcome, spec: &str) -> bool {
    let writers: Vec<&str> = outcome.err.lines().filter(|line| !line.ends_with(" 0 encoded")).collect();
    writers.len() == 1 && writers[0].starts_with(&format!("repackbench: {spec}: "))
}

#[test]
fn formats_that_only_repackbench_reads_are_refused() {
    for hg in Hg::extended() {
        let folder = scratch();
        for (spec, what) in [
            ("filelog=zstd:3,manifest=store", "each kind"),
            ("zstd:3,dict=4k", "dictionaries"),
            ("zstd:3,prefix", "prefix and patch"),
        ] {
            let refused = hg.codec(spec).try_run(folder.path(), ["init", "new"]);
            refused.fails_saying(&["repackbench.codec", spec, what, "repackbench convert"]);
            assert!(!folder.path().join("new").exists());
        }
        hg.new_repository(folder.path());
        let file = folder.path().join(".hg/store/requires");
        let requirements = fs::read_to_string(&file).expect("the requirements");
        for requirement in ["exp-repackbench-base", "exp-repackbench-dictionaries"] {
            fs::write(&file, format!("{requirements}{requirement}\n")).expect("the requirements");
            hg.try_run(folder.path(), ["log"]).fails_saying(&["requires features unknown", requirement]);
        }
    }
}
