use std::{fs, os::unix::ffi::OsStrExt};

use repackbench_pagecache::NoGroup;
use repackbench_reader::Repository;
use repackbench_records::{ExperimentTable, JudgedClaim, Outcome, StoredStatement};

use super::*;
use crate::tests::{Setting, assert_all_worded, files_of, git, outcome_of, reason};

/// The whole experiment on a small repository: every arm is there, with as many values as runs, and every claim has an outcome.
#[test]
fn every_arm_is_measured_and_every_claim_judged() {
    let mut files = files_of(80);
    // Names and contents that compressing in place must survive.
    files.push(("sub-0/file 0.c.gz".to_owned(), b"no gzip file\n".to_vec()));
    files.push(("empty".to_owned(), Vec::new()));
    let setting = Setting::new(&files, 2);
    // All threads of a process enter a group, including those of other tests.
    let experiment =
        setting.run(|context| run_with(context, 2 * phases::FEW, || Err(NoGroup::because("this is a test")))).unwrap();
    assert_all_worded(&experiment);
    let table = |id: &str| {
        let is_it =
            |table: &&ExperimentTable| matches!(&table.title, StoredStatement::Statement(title) if title.id == id);
        experiment.tables.iter().find(is_it).unwrap_or_else(|| panic!("{id}"))
    };
    let compressing = table("compressing-in-place");
    assert_eq!(compressing.rows.len(), ARMS.len());
    for (row, (label, _)) in compressing.rows.iter().zip(ARMS) {
        assert_eq!(row.label, label);
        assert!(row.published[..3].iter().all(Option::is_some), "{label}");
        let values: Vec<_> = row.measured.iter().map(|found| found.as_ref().unwrap()).collect();
        assert!(values.iter().all(|found| found.value.is_finite()), "{label}");
        assert_eq!((values[1].samples.len(), values[2].samples.len()), (2, 2), "{label}");
    }
    let processor = table("from-memory-to-memory");
    assert!(processor.rows.iter().all(|row| row.measured.iter().take(3).all(Option::is_some)));
    assert_eq!(table("corpora").rows[0].measured[0].as_ref().unwrap().value, 82.0);
    assert_eq!(table("open-write-close").rows.len(), 4);
    assert!(table("level-3-to-level-9").rows[1].measured[0].is_some(), "encode was measured");

    let published = published(NAME).unwrap();
    assert_eq!(experiment.claims.len(), published.claims.len());
    let of = |id: &str| -> JudgedClaim { outcome_of(id, experiment.claims.clone()) };
    assert_eq!(of("btree-size").outcome, Outcome::NotComparable);
    assert_eq!(of("little-memory").outcome, Outcome::Undecided);
    assert!(reason(&of("little-memory").reasons).contains("this is a test"), "{:?}", of("little-memory"));
    assert_eq!(table("little-memory-not-measured").rows.len(), 0);
    assert_eq!(of("btree-small").outcome, Outcome::NotComparable);
    assert!(reason(&of("btree-small").measured).contains("82 files"), "{:?}", of("btree-small"));
    assert_ne!(of("lzo-3-size").outcome, Outcome::Undecided, "sizes are exact");
    assert_eq!(setting.left_in_cache(), 0, "what was written is removed again");
}

/// The first corpus always starts; ten times the files are predicted to take ten times as long.
#[test]
fn further_corpus_starts_only_if_one_run_fits() {
    let corpus = |files: usize, len: usize| Corpus { files: vec![("a".into(), vec![b'a'; len]); files] };
    let (small, second) = (corpus(2, 10), Duration::from_secs(1));
    let of = |further: &Corpus, share: u32| too_long(Some((&small, second)), further, Some(second * share));
    let more_files = corpus(20, 1);
    assert_eq!(of(&more_files, 10), None);
    let why = reason(&[of(&more_files, 9).unwrap().with("what", "it")]);
    assert!(why.contains("would take about 10.0 s and the share of the budget was 9.00 s"), "{why}");
    assert_eq!(of(&corpus(2, 30), 3), None);
    assert!(of(&corpus(2, 30), 2).is_some(), "longer files take longer too");
    assert_eq!(too_long(Some((&small, second)), &more_files, None), None, "no limit");
    assert_eq!(too_long(None, &more_files, Some(Duration::ZERO)), None, "nothing is known of the first one");
}

#[test]
fn rejects_revisions_without_files() {
    let setting = Setting::new(&[], 2);
    let error = setting.run(run).unwrap_err().to_string();
    assert!(error.contains("has no files"), "{error}");
}

/// git does not write such trees, but anyone can forge them.
#[test]
fn rejects_paths_that_lead_elsewhere() {
    let setting = Setting::new(&files_of(2), 1);
    let outcome = setting.run(|context| {
        let source = context.source.folder();
        let folder = source.parent().unwrap();
        let (victim, tree) = (folder.join("victim"), folder.join("tree"));
        fs::write(&victim, "mine").unwrap();
        fs::write(folder.join("blob"), "evil\n").unwrap();
        let blob = git(source, &["hash-object", "-w", "../blob"]);
        let id = (0..20).map(|at| u8::from_str_radix(&blob[2 * at..2 * at + 2], 16).unwrap());
        // `Path::join` drops the folder for a name that begins with a slash.
        let entry = [b"100644 ", victim.as_os_str().as_bytes(), b"\0"].concat().into_iter().chain(id);
        fs::write(&tree, entry.collect::<Vec<u8>>()).unwrap();
        let forged = git(source, &["hash-object", "-w", "-t", "tree", "--literally", "../tree"]);
        let commit = git(source, &["commit-tree", "-m", "forged", &forged]);
        git(source, &["update-ref", "HEAD", &commit]);
        let forged = Repository::open(source)?;
        let outcome = run(&Context { source: &forged, ..*context });
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        outcome
    });
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("/victim: cannot write: its path leads outside of the tree"), "{error}");
    assert_eq!(setting.left_in_cache(), 0);
}
