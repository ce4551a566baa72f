//! Sessions of `repackbench bench`: when they end, how they resume, and what their records hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::program::{self, Outcome, bench, cached, exit, text, words};
use crate::support::{Fixture, Scratch, git, records};

/// Measures a traversal.
#[track_caller]
fn run(scratch: &Scratch, repo: &Path, options: &[&str]) -> Outcome {
    program::run(bench(scratch).args(["--workload", "traverse"]).args(options).arg(repo))
}

/// The block, position and row of each run, in the order of the runs.
fn order(records: &[Value]) -> Vec<(u64, u64, u64)> {
    let number = |value: &Value| value.as_u64().expect("a number");
    let of = |record: &Value| {
        (number(&record["place"]["block"]), number(&record["place"]["position"]), number(&record["variant"]["row"]))
    };
    records.iter().map(of).collect()
}

#[test]
fn ends_when_precise_and_gives_verdicts() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let file = scratch.join("records.jsonl");
    let options = words("--as-found --codec store --precision 100% --max-blocks 30 --details --json");
    let options = [&options[..], &[text(&file)]].concat();
    let table = run(&scratch, &repo, &options).exits(exit::OK).text();
    let blocks = order(&records::read(&file)).last().expect("a run").0 + 1;
    // Two ratios, as found and store: a difference needs at least seven blocks. On a busy machine even a precision of
    // 100 % takes more.
    assert!((7..=30).contains(&blocks), "{blocks} blocks:\n{table}");
    assert!(table.contains("  verdict "), "{table}");
    // Where something disturbs the runs, the table says so instead of giving verdicts.
    let has_verdicts = table.contains("\nVerdicts: ") && table.contains("all 2 ratios (Holm)");
    assert!(has_verdicts || table.contains("something disturbed the runs, so there are no verdicts"), "{table}");
    assert!(
        table.contains("\nFairness: chunk checksums checked; object hashes not checked; delta-base cache 96M"),
        "{table}"
    );

    let short = ["--as-found", "--codec", "store", "--time", "100ms", "--min-blocks", "9000", "--max-blocks", "50000"];
    run(&scratch, &repo, &[&short[..], &["--json", text(&file), "--force"]].concat()).exits(exit::OK);
    let records = records::read(&file);
    assert!(!records.is_empty() && records.len() < 4 * 9000, "the time was up, not the blocks");
    assert!(records.len().is_multiple_of(4), "no block is left unfinished");
}

#[test]
fn records_describe_run_and_machine() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let file = scratch.join("records.jsonl");
    run(&scratch, &repo, &["--codec", "zstd:5", "--blocks", "1", "--json", text(&file)]).exits(exit::OK);
    let records = records::read(&file);
    for record in &records {
        assert_eq!(record["schema"], 3);
        assert_eq!(record["repository"]["vcs"], "git");
        assert_eq!(record["repository"]["tip"], records[0]["repository"]["tip"]);
        assert!(record["repository"]["tip"].as_str().is_some_and(|tip| tip.len() >= 40), "{record}");
        assert!(record["repository"]["objects"].as_u64() > Some(0) && record["repository"]["bytes"].as_u64() > Some(0));
        assert!(record["host"]["libraries"]["libzstd"].is_string(), "{}", record["host"]);
        assert!(record["host"]["variant_storage"]["file_system"].is_string(), "{}", record["host"]);
        assert!(record["host"]["git"].is_string(), "the fixtures were made by git");
        assert_eq!(record["delta_cache"]["limit_bytes"], 96 << 20);
        assert!(record["delta_cache"]["misses"].as_u64() > Some(0), "{record}");
        assert_eq!(record["checks"]["chunk_checksums"], true);
        assert_eq!(record["checks"]["object_hashes"], false);
        assert!(record["usage"]["minor_faults"].is_u64() && record["usage"]["read_calls"].is_u64(), "{record}");
        assert!(record["disturbance"]["elapsed_ns"].is_u64() && record["disturbance"]["steal_ns"].is_u64());
        let writes = record["workload"]["name"] == "checkout";
        assert_eq!(record["compared_time"], if writes { "cpu-without-writing" } else { "cpu" });
        let writing = record["sample"]["writing_ns"].as_u64();
        assert!(writing.is_some() && (writes || writing == Some(0)), "{record}");
    }
    let hits = |record: &Value| record["delta_cache"].clone();
    assert!(records.iter().all(|record| hits(record) == hits(&records[0])), "the cache does the same for every codec");
}

/// Everything but programs to run and files to write comes from the records.
#[test]
fn resumes_by_its_file_alone() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let (file, page) = (scratch.join("runs.jsonl"), scratch.join("page.html"));
    let mut first = cached(&scratch);
    first.args(words("bench --min-run-time 1ms --workload traverse --codec zstd:5 --blocks 2"));
    program::run(first.arg(&repo).arg("--json").arg(&file).arg("--html").arg(&page)).exits(exit::OK);
    let whole = records::read(&file);
    let cut = |lines: usize| {
        let kept: String =
            fs::read_to_string(&file).expect("the records").lines().take(lines).collect::<Vec<_>>().join("\n");
        fs::write(&file, kept + "\n").expect("the cut records");
    };
    fs::remove_file(&page).expect("the page");
    let resume =
        |options: &[&str]| program::run(cached(&scratch).args(["bench", "--resume", text(&file)]).args(options));

    // If no record of the first block is left, the new ones have to hold the command line, without the page.
    for (lines, names_page) in [(5, true), (1, true), (1, false)] {
        cut(lines);
        let said = resume(&[]).exits(exit::OK).stderr;
        assert_eq!(order(&records::read(&file)), order(&whole), "{said}");
        assert_eq!(said.contains("page.html: not taken from the records"), names_page, "{said}");
        assert!(said.contains("note: resuming: repackbench bench") && !page.exists(), "{said}");
    }
    let longer = resume(&["--blocks", "3", "--html", text(&page)]).exits(exit::OK);
    assert!(longer.stderr.contains("--blocks 3") && !longer.stderr.contains("not taken"), "{}", longer.stderr);
    assert_eq!((records::read(&file).len(), page.exists()), (3 * 4, true));

    let refused = program::run(cached(&scratch).args(["explain", "--resume", text(&file)])).exits(exit::USAGE);
    assert!(refused.error_line().contains("the records are of `bench`"), "{}", refused.stderr);
    let missing = program::run(cached(&scratch).args(["bench", "--resume", "none.jsonl"])).exits(exit::FAILURE);
    assert!(missing.error_line().contains("none.jsonl: cannot open"), "{}", missing.stderr);
}

/// What else is in the file stays as it is, and the seed and command line are those of the last session.
#[test]
fn resumes_the_last_session_of_a_file() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let file = scratch.join("runs.jsonl");
    let measure = |options: &str| {
        let mut bench = cached(&scratch);
        bench.args(words("bench --min-run-time 1ms --workload traverse")).args(words(options)).arg(&repo);
        program::run(bench.arg("--json").arg(&file)).exits(exit::OK);
    };
    measure("--codec store --blocks 1");
    program::run(cached(&scratch).arg("size").arg(&repo).args(["--json", text(&file), "--append"])).exits(exit::OK);
    let before = fs::read_to_string(&file).expect("the records");
    measure("--codec zstd:5 --blocks 2 --append");
    let both = fs::read_to_string(&file).expect("the records");
    let runs = || order(&records::read(&file).into_iter().filter(|line| line["record"].is_null()).collect::<Vec<_>>());
    let whole = runs();
    let kept = both.lines().count() - 3;
    let cut: Vec<&str> = both.lines().take(kept).collect();
    fs::write(&file, cut.join("\n") + "\n{\"schema").expect("the cut records");

    let resume =
        |options: &[&str]| program::run(cached(&scratch).args(["bench", "--resume", text(&file)]).args(options));
    let said = resume(&[]).exits(exit::OK).stderr;
    assert!(said.contains("runs.jsonl: its last session is resumed"), "{said}");
    assert!(said.contains("--codec zstd:5 --blocks 2"), "{said}");
    assert_eq!(said.matches("is incomplete, and is left out").count(), 1, "{said}");
    let resumed = fs::read_to_string(&file).expect("the records");
    assert!(resumed.starts_with(&before), "{resumed}");
    assert_eq!(runs(), whole);

    let refused = resume(&["--seed", "8"]).exits(exit::USAGE);
    assert!(refused.stderr.contains("cannot resume from its record 1: seed: expected 8"), "{}", refused.stderr);
}

#[test]
fn resumed_records_cannot_name_a_program() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let file = scratch.join("runs.jsonl");
    run(&scratch, &repo, &["--codec", "store", "--blocks", "1", "--json", text(&file)]).exits(exit::OK);
    let forged = fs::read_to_string(&file).expect("the records").replace("--codec store", "--codec store --git ./evil");
    fs::write(&file, forged).expect("the forged records");
    let resume =
        |options: &[&str]| program::run(cached(&scratch).args(["bench", "--resume", text(&file)]).args(options));
    let refused = resume(&[]).exits(exit::USAGE);
    assert!(refused.error_line().contains("--git ./evil, and programs are not taken"), "{}", refused.stderr);
    resume(&["--git", "git"]).exits(exit::OK);
}

#[test]
fn existing_records_are_replaced_only_on_request() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let file = scratch.join("runs.jsonl");
    let measure = |options: &[&str]| {
        let plan = ["--codec", "store", "--blocks", "1", "--json", text(&file)];
        run(&scratch, &repo, &[&plan[..], options].concat())
    };
    fs::write(&file, "").expect("an empty file, which holds nothing to lose");
    measure(&[]).exits(exit::OK);
    let first = fs::read_to_string(&file).expect("the records");
    let refused = measure(&[]).exits(exit::USAGE);
    for option in ["--resume", "--append", "--force"] {
        assert!(refused.stderr.contains(option), "{}", refused.stderr);
    }
    assert_eq!(fs::read_to_string(&file).expect("the records"), first);
    measure(&["--append"]).exits(exit::OK);
    let both = fs::read_to_string(&file).expect("the records");
    assert!(both.starts_with(&first) && both.lines().count() == 2 * first.lines().count());
    measure(&["--force"]).exits(exit::OK);
    let last = fs::read_to_string(&file).expect("the records");
    assert!(last.lines().count() == first.lines().count() && last != first);

    fs::write(&file, &first[..first.len() - 5]).expect("the cut records");
    let refused = measure(&["--append"]).exits(exit::FAILURE);
    assert!(refused.error_line().contains("the last line is incomplete"), "{}", refused.stderr);
}

#[test]
fn records_on_stdout_leave_out_the_tables() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let plan = ["--codec", "store", "--blocks", "1", "--json", "-"];
    let printed = run(&scratch, &repo, &plan).exits(exit::OK).text();
    assert_eq!(printed.lines().count(), 4);
    for line in printed.lines() {
        serde_json::from_str::<Value>(line).expect("a record");
    }
    run(&scratch, &repo, &[&plan[..], &["--markdown", "-"]].concat()).exits(exit::USAGE);
}

/// A session that was stopped in its second block leaves the first part of the records of a whole one.
#[test]
fn resumes_where_it_stopped() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let (file, whole) = (scratch.join("stopped.jsonl"), scratch.join("whole.jsonl"));
    let plan = ["--codec", "zstd:5", "--workload", "diff:raw", "--seed", "7", "--blocks"];
    let with = |rest: &[&'static str]| -> Vec<&'static str> { [&plan[..], rest].concat() };
    let mut options = with(&["3", "--json"]);
    let whole_path = text(&whole).to_owned();
    options.push(whole_path.as_str());
    run(&scratch, &repo, &options).exits(exit::OK);
    let uncut = fs::read_to_string(&whole).expect("the records");
    // One block of traverse, one run of the first block of diff:raw, and half of a line.
    let lines: Vec<&str> = uncut.lines().collect();
    fs::write(&file, format!("{}\n{}", lines[..5].join("\n"), &lines[5][..100])).expect("the cut records");
    let resume = |options: &[&str]| run(&scratch, &repo, &[options, &["--resume", text(&file)]].concat());

    let outcome = resume(&with(&["3"])).exits(exit::OK);
    assert!(outcome.stderr.contains("line 6 is incomplete"), "{}", outcome.stderr);
    let (resumed, expected) = (records::read(&file), records::read(&whole));
    assert_eq!(order(&resumed), order(&expected), "the same runs in the same order");
    assert_eq!(resumed[..4], expected[..4], "the first block is the earlier one");
    assert_ne!(resumed[4], expected[4], "the block of diff:raw ran again, and so did the run it had");
    assert!(!scratch.names().iter().any(|name| name.contains("resumed")), "{:?}", scratch.names());

    // The same plan with more blocks.
    resume(&with(&["4"])).exits(exit::OK);
    let longer = records::read(&file);
    assert_eq!((longer.len(), order(&longer).last().map(|run| run.0)), (2 * 4 * 4, Some(3)));
    assert!(resumed.iter().all(|record| longer.contains(record)));

    let before = fs::read(&file).expect("the records");
    for (options, expected) in [
        (&["--codec", "zstd:6", "--workload", "diff:raw", "--blocks", "3"][..], "variant at its turn: expected zstd:6"),
        (&["--blocks", "3"][..], "workload: expected traverse, found diff:raw"),
        (
            &["--codec", "zstd:5", "--workload", "diff:raw", "--seed", "8", "--blocks", "3"][..],
            "seed: expected 8, found 7",
        ),
    ] {
        let refused = resume(options).exits(exit::USAGE);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
    let other = Fixture::get("bare").repo();
    let refused = run(&scratch, &other, &[&with(&["3"])[..], &["--resume", text(&file)]].concat()).exits(exit::USAGE);
    assert!(refused.stderr.contains("fingerprint"), "{}", refused.stderr);
    assert_eq!(fs::read(&file).expect("the records"), before, "a file that cannot be resumed is left as it is");
    fs::write(&file, "{\"schema\":2}\n").expect("a file");
    assert!(resume(&with(&["3"])).exits(exit::FAILURE).error_line().contains("line 1"));
}

/// The limit of commits is a part of the session, whether the user gave it or the time did.
#[test]
fn resumed_sessions_read_the_same_newest_commits() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let file = scratch.join("records.jsonl");
    let plan = |rest: &[&str]| {
        let options = words("--codec store --workload diff:raw --seed 7");
        run(&scratch, &repo, &[&options, rest].concat())
    };
    plan(&["--commits", "2", "--blocks", "1", "--json", text(&file)]).exits(exit::OK);
    for options in [&["--blocks", "2"][..], &["--precise", "--min-blocks", "3", "--max-blocks", "3"]] {
        plan(&[options, &["--resume", text(&file)]].concat()).exits(exit::OK);
    }
    let records = records::read(&file);
    assert_eq!(records.len(), 2 * 3 * 4);
    assert!(records.iter().all(|record| record["workload"]["parameters"]["commits"] == "2"));
    let of_diffs = records.iter().filter(|record| record["workload"]["name"] == "diff:raw");
    assert!(of_diffs.into_iter().all(|record| record["counts"]["commits"] == 2), "{:?}", records[0]["counts"]);
    let other = plan(&["--commits", "3", "--blocks", "3", "--resume", text(&file)]).exits(exit::USAGE);
    assert!(other.stderr.contains("workload: expected traverse (commits=3)"), "{}", other.stderr);
}

#[test]
fn limited_session_gives_each_workload_a_block() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let file = scratch.join("records.jsonl");
    let mut bench = cached(&scratch);
    bench.args(["bench", "--codec", "store", "--time", "1ms", "--json", text(&file)]).arg(&repo);
    let outcome = program::run(&mut bench).exits(exit::OK);
    let note =
        "note: 1ms may be too short for 9 blocks of checkout:sink, traverse, diff:raw, diff:pickaxe, diff:patch: ";
    assert!(outcome.stderr.contains(note), "{}", outcome.stderr);
    let records = records::read(&file);
    let mut blocks: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for record in &records {
        let block = record["place"]["block"].as_u64().expect("a number");
        blocks.entry(record["workload"].to_string()).or_default().insert(block);
    }
    assert_eq!(blocks.len(), 5, "{blocks:?}");
    assert!(records.len().is_multiple_of(4), "no block is left unfinished");
    // Not even a commit fits: the newest one is read, and the notes say of how many.
    let diff = blocks.keys().find(|workload| workload.contains("diff:raw")).expect("diff:raw");
    assert!(diff.contains(r#""commits":"1""#), "{diff}");
    assert!(outcome.stderr.contains("diff:raw reads the newest 1"), "{}", outcome.stderr);
    let text = outcome.text();
    assert!(
        text.contains("Not all of history was read. Commits: ") && text.contains("diff:raw the newest 1 of "),
        "{text}"
    );
}

#[test]
fn too_few_blocks_are_said_before_the_runs() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let note = |options: &[&str]| {
        let mut bench = cached(&scratch);
        bench.args(words("bench --codec store --workload traverse --min-run-time 1ms")).args(options).arg(&repo);
        let outcome = program::run(&mut bench).exits(exit::OK);
        let notes = outcome.stderr.lines().filter(|line| line.contains("note: ")).map(str::to_owned);
        notes.collect::<Vec<String>>()
    };
    assert_eq!(note(&["--blocks", "6"]), ["repackbench: note: 6 blocks cannot decide 2 ratios: 7 are needed"]);
    assert_eq!(note(&["--blocks", "7"]), [""; 0]);
    assert_eq!(note(&["--blocks", "6", "--quiet"]), [""; 0]);
}

/// A call of a codec cannot be interrupted: the process ends all the same, and leaves no half of a variant.
#[test]
fn interrupt_ends_the_making_of_a_variant() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let work = scratch.join("large");
    git::output(&repo, ["clone", "-q", "--no-local", text(&repo), text(&work)]);
    // Words in an order without a pattern, which take the slowest codecs minutes.
    let mut state = 1_u64;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{:x} ", state >> 49)
    };
    let large: String = std::iter::repeat_with(&mut word).take(4 << 20).collect();
    fs::write(work.join("large"), large).expect("a large file");
    git::output(&work, ["add", "large"]);
    git::output(&work, ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "large"]);
    let (mut bench, file) = (cached(&scratch), scratch.join("runs.jsonl"));
    bench.args(words("bench --as-found --codec brotli:11 --baseline store --workload traverse")).arg(&work);
    bench.arg("--json").arg(&file);
    let mut running = bench.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program");
    // Files come and go meanwhile, which find reports as an error.
    let names = || {
        let found = program::run(Command::new("find").arg(scratch.path())).text();
        found.lines().map(str::to_owned).collect::<Vec<String>>()
    };
    let is_half = |name: &String| name.contains(".making") || name.contains(".repackbench-");
    // The first variant has its name, and the second one is being made.
    let is_whole = |name: &String| name.ends_with("metadata.json") && !is_half(name);
    program::wait_for(&mut running, || names().iter().any(is_whole) && names().iter().any(is_half));
    assert!(Command::new("kill").args(["-INT", &running.id().to_string()]).status().expect("kill").success());
    let ended = running.wait_with_output().expect("the program's end");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("repackbench: progress: variant 1 of 2: store"), "{said}");
    assert!(said.contains("\nrepackbench: stopping...\n") && said.contains("repackbench: interrupted"), "{said}");
    assert_eq!(names().into_iter().filter(is_half).collect::<Vec<_>>(), [""; 0]);
    assert!(!file.exists(), "no record was written");
}

#[test]
fn a_file_without_records_is_left_only_where_it_was_before() {
    let scratch = Scratch::new();
    let (repo, file, cache) = (Fixture::get("history").repo(), scratch.join("runs.jsonl"), scratch.join("cache"));
    fs::write(&cache, "").expect("no folder for variants");
    let bench = || {
        let mut bench = cached(&scratch);
        bench.args(words("bench --codec store --workload traverse --json")).arg(&file).arg(&repo);
        program::run(&mut bench)
    };
    let failed = bench();
    assert!(failed.code == Some(exit::FAILURE) && !file.exists(), "{}", failed.stderr);
    fs::write(&file, "").expect("a file");
    assert_eq!((bench(), file.exists()), (failed, true));
}

#[test]
fn interrupted_session_shows_its_results() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let (file, out) = (scratch.join("records.jsonl"), scratch.join("table"));
    let mut bench = cached(&scratch);
    bench.args(words("bench --min-run-time 1ms --codec store --workload traverse --blocks 100000 --json"));
    bench.arg(&file).arg(&repo);
    let stdout = fs::File::create(&out).expect("a file");
    let mut running = bench.stdout(stdout).stderr(Stdio::null()).spawn().expect("the program");
    let records = || fs::read(&file).map_or(0, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count());
    program::wait_for(&mut running, || records() >= 8);
    assert!(Command::new("kill").args(["-INT", &running.id().to_string()]).status().expect("kill").success());
    assert_eq!(running.wait().expect("the program's end").code(), Some(130));
    let table = fs::read_to_string(&out).expect("the table");
    assert!(table.contains("traverse") && table.contains("zlib:6") && table.contains("store"), "{table}");
}

#[test]
fn self_test_measures_one_variant_under_several_names() {
    for repo in [Fixture::get("history").repo(), Fixture::hg("branches").repo()] {
        let scratch = Scratch::new();
        let file = scratch.join("records.jsonl");
        let text =
            run(&scratch, &repo, &["--self-test", "--blocks", "6", "--json", text(&file)]).exits(exit::OK).text();
        assert!(text.contains("under 4 other names, 6 blocks: traverse"), "{text}");
        assert!(text.contains("intervals that leave out 1") && text.contains(" of 4 ("), "{text}");
        assert!(text.contains("one after another"), "{text}");
        let records = records::read(&file);
        assert_eq!(records.len(), 6 * 6, "A, A' and four names");
        assert!(records.iter().all(|record| record["variant"]["spec"]["typed"] == "zlib:6"));
        let mut names: Vec<Option<&str>> =
            records.iter().map(|record| record["variant"]["self_test_name"].as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names, [None, Some("1"), Some("2"), Some("3"), Some("4")]);
        let mut labels: Vec<&str> =
            records.iter().map(|record| record["size"]["label"].as_str().expect("a label")).collect();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels, ["zlib:6", "zlib:6 #1", "zlib:6 #2", "zlib:6 #3", "zlib:6 #4"]);
        let sizes: Vec<&Value> = records.iter().map(|record| &record["size"]["total_bytes"]).collect();
        assert!(sizes.iter().all(|size| *size == sizes[0]));
    }
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let refused = run(&scratch, &repo, &["--self-test", "--codec", "zstd:5"]).exits(exit::USAGE);
    assert!(refused.stderr.contains("--self-test"), "{}", refused.stderr);
}

#[test]
fn each_delta_cache_limit_has_its_own_row() {
    for (repo, found) in [(Fixture::get("history").repo(), 1), (Fixture::hg("branches").repo(), 1)] {
        let scratch = Scratch::new();
        let file = scratch.join("records.jsonl");
        let options = [
            "--codec",
            "zlib:9",
            "--blocks",
            "1",
            "--delta-cache",
            "96M,0,unlimited,0",
            "--details",
            "--json",
            text(&file),
        ];
        let table = run(&scratch, &repo, &options).exits(exit::OK).text();
        for label in [
            "as found, cache 0",
            "zlib:6, cache 0",
            "zlib:9, cache unlimited",
            "delta-base cache 0, hits: traverse 0.0 %",
        ] {
            assert!(table.contains(label), "{label} is not in\n{table}");
        }
        let records = records::read(&file);
        assert!(records.len() >= 3 * 3 + found, "{table}");
        for record in &records {
            let label = record["size"]["label"].as_str().expect("a label");
            let limit = &record["delta_cache"]["limit_bytes"];
            let expected = match label.split_once(", cache ") {
                None => Value::from(96 << 20),
                Some((_, "0")) => Value::from(0),
                Some(_) => Value::Null,
            };
            assert_eq!(*limit, expected, "{label}");
            let without = limit.as_u64() == Some(0);
            assert!(!without || record["delta_cache"]["hits"] == 0, "{record}");
            assert_eq!(record["digest"], records[0]["digest"], "{label}");
        }
    }
}

#[test]
fn concurrent_jobs_compare_elapsed_time() {
    for repo in [Fixture::get("history").repo(), Fixture::hg("branches").repo()] {
        let scratch = Scratch::new();
        let file = scratch.join("records.jsonl");
        let options =
            ["--codec", "store", "--workload", "checkout", "--blocks", "1", "--jobs", "3", "--json", text(&file)];
        let table = run(&scratch, &repo, &options).exits(exit::OK).text();
        assert!(table.contains("traverse (jobs=3)") && table.contains("runs/s"), "{table}");
        for record in records::read(&file) {
            assert_eq!((record["jobs"].as_u64(), record["compared_time"].as_str()), (Some(3), Some("wall")));
            assert_eq!(record["workload"]["parameters"]["jobs"], "3");
        }
    }
}
