use repackbench_records::{ExperimentTable, Outcome, Statement};

use super::{trees::Amount, *};
use crate::tests::{Setting, assert_all_worded, files_of, git, words};

#[track_caller]
fn table<'a>(experiment: &'a Experiment, title: &str) -> &'a ExperimentTable {
    let title = Statement::new(title);
    experiment.tables.iter().find(|table| table.is_titled(&title)).unwrap_or_else(|| panic!("{}", title.id))
}

/// The whole experiment on a small repository: every arm is there, in every table that has it, with as many values as runs.
#[test]
fn every_arm_is_measured_and_shown() {
    let setting = Setting::new(&files_of(60), 2);
    let experiment = setting.run(|context| run_with(context, false)).unwrap();
    let table = |title: &str| table(&experiment, title);
    assert_all_worded(&experiment);
    let reading = table("reading-every-file");
    let labels: Vec<&str> = reading.rows.iter().map(|row| row.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "flat-1", "gzip-1", "flat-2", "gzip-2", "flat-3", "gzip-3", "flat-4", "gzip-4", "flat-5", "gzip-5",
            "flat-6", "gzip-6"
        ]
    );
    for row in &reading.rows {
        assert_eq!(row.measured.len(), reading.columns.len());
        let elapsed = row.measured[0].as_ref().unwrap();
        assert_eq!(elapsed.samples.len(), 2, "{}", row.label);
        assert!(elapsed.value.is_finite());
        assert_eq!(row.published[0].is_some(), ["1", "2", "3"].iter().any(|number| row.label.ends_with(number)));
    }
    let decoding = table("reading-and-decompressing");
    assert_eq!(decoding.rows.len(), 5);
    assert!(decoding.rows.iter().all(|row| row.measured[0].as_ref().is_some_and(|found| found.samples.len() == 2)));
    assert_eq!(table("layout-errors").rows.len(), 6);
    assert_eq!(table("compressed-to-flat").rows.len(), 8);
    let git = table("checking-out-by-git");
    assert_eq!(git.rows.len(), 6);
    assert!(git.rows.iter().all(|row| row.measured[0].as_ref().is_some_and(|found| found.samples.len() == 2)));
    let objects = |row: usize| git.rows[row].measured[3].as_ref().unwrap().value;
    assert!(objects(1) < objects(0) && objects(2) < objects(0) && objects(1) == objects(4));
    let trees = table("trees");
    let files: Vec<f64> = trees.rows.iter().map(|row| row.measured[0].as_ref().unwrap().value).collect();
    assert_eq!(files, [60.0, 60.0, 60.0]);
    let bytes = |row: usize| trees.rows[row].measured[1].as_ref().unwrap().value;
    assert!(bytes(1) < bytes(0) && bytes(2) < bytes(0));

    let published = published(NAME).unwrap();
    assert_eq!(experiment.claims.len(), published.claims.len());
    // Two runs have no intervals, so that no claim about times can be decided.
    assert_eq!(experiment.claims[0].outcome(), Outcome::Undecided);
    assert_eq!(experiment.claims[2].outcome(), Outcome::Undecided);
    assert!(!experiment.notes.is_empty() && !experiment.differences.is_empty());
    assert_eq!(setting.left_in_cache(), 0, "copies are removed again");
}

/// git and this program leave out the same files and convert the same contents, and no attributes of the user matter.
#[test]
fn git_and_replay_check_out_the_same_files() {
    let mut files = files_of(12);
    files.push((".gitattributes".to_owned(), b"*.c text eol=crlf\n*.txt ident\n".to_vec()));
    files.push(("a.txt".to_owned(), b"$Id$\n".to_vec()));
    let setting = Setting::new(&files, 1);
    setting.commit(|work_tree| {
        std::os::unix::fs::symlink("a.txt", work_tree.join("link")).unwrap();
        let head = git(work_tree, &["rev-parse", "HEAD"]);
        git(work_tree, &["update-index", "--add", "--cacheinfo", &format!("160000,{head},module")]);
        std::fs::create_dir(work_tree.join("module")).unwrap();
    });
    let experiment = setting.run(|context| run_with(context, false)).unwrap();
    let table = table(&experiment, "checking-out-by-git");
    assert!(table.rows.iter().all(|row| row.measured[0].is_some()), "{:?}", experiment.notes);
    assert!(words(&experiment.notes).iter().any(|note| note.contains("1 symbolic link")), "{:?}", experiment.notes);
}

#[test]
fn a_budget_of_zero_gives_one_run() {
    let mut setting = Setting::new(&files_of(5), 12);
    setting.options.budget = Some(std::time::Duration::ZERO);
    let experiment = setting.run(|context| run_with(context, false)).unwrap();
    let reading = &experiment.tables[0];
    assert!(reading.rows.iter().all(|row| row.measured[0].as_ref().is_some_and(|found| found.samples.len() == 1)));
    assert!(
        words(&experiment.notes).iter().any(|note| note.contains("1 instead of 12 runs")),
        "{:?}",
        experiment.notes
    );
}

#[test]
fn rejects_readings_of_another_amount() {
    let holds = Amount { files: 3, stored: 10, content: 40 };
    let form = repackbench_codec::FileForm::Gzip;
    let tree = trees::Tree { kind: Kind::Gzip, number: 2, folder: "/nowhere".into(), form, holds };
    let raw = Amount { content: 10, ..holds };
    assert!(reading::check(&tree, How::Decoded, holds).is_ok() && reading::check(&tree, How::Raw, raw).is_ok());
    for (how, found) in [(How::Decoded, raw), (How::Raw, Amount { files: 2, ..raw })] {
        let error = reading::check(&tree, how, found).unwrap_err().to_string();
        assert!(error.contains("gzip-2: reading it came to"), "{error}");
    }
}

#[test]
fn rejects_revisions_without_files() {
    let setting = Setting::new(&[], 2);
    let error = setting.run(|context| run_with(context, false)).unwrap_err().to_string();
    assert!(error.contains("has no files"), "{error}");
}
