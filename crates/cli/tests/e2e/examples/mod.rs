//! The examples in documents and help texts run, and what the documents name exists.
//!
//! The examples of a document run one after another in one folder, on small repositories with the names that it uses.
//! An example has to succeed, or to fail where the document shows that. The output that it shows is compared, except
//! for figures.

mod document;
mod limits;
mod stage;

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use document::{Document, Example, checkout, examples_in_help};
use limits::{LEFT_OUT, LIMITS, ONLY_UNDERSTOOD};
use stage::{Scene, Stage};

use crate::generate::{options, subcommands};
use crate::support::program::exit;
use crate::support::{Scratch, repackbench};

/// The documents that have examples, each with a test of its own.
const WITH_EXAMPLES: [&str; 14] = [
    README,
    GETTING_STARTED,
    COMMANDS,
    CODEC_SPECS,
    MEASUREMENTS,
    EXPERIMENTS,
    STOCK_CLIENTS,
    IN_CI,
    RECORDS,
    GIT_PERF,
    GIT_SUITE,
    LARGE,
    SERVING,
    HG_EXTENSION,
];

const README: &str = "README.md";
const GETTING_STARTED: &str = "docs/getting-started.md";
const COMMANDS: &str = "docs/commands.md";
const CODEC_SPECS: &str = "docs/codec-specs.md";
const MEASUREMENTS: &str = "docs/measurements.md";
const EXPERIMENTS: &str = "docs/experiments.md";
const STOCK_CLIENTS: &str = "docs/stock-clients.md";
const IN_CI: &str = "docs/in-ci.md";
const RECORDS: &str = "docs/records.md";
const GIT_PERF: &str = "docs/git-perf.md";
const GIT_SUITE: &str = "docs/git-suite.md";
const LARGE: &str = "docs/large.md";
const SERVING: &str = "docs/serving.md";
const HG_EXTENSION: &str = "integrations/hg/README.md";

const GLOSSARY: &str = "docs/glossary.md";

/// Options of other programs in code spans of the documents: git, hg, cargo, the driver on Ray and the chores of the
/// project.
const OPTIONS_OF_OTHERS: [&str; 26] = [
    "--alone",
    "--batch",
    "--batch-check",
    "--case",
    "--check",
    "--config",
    "--cwd",
    "--depth",
    "--dissociate",
    "--features",
    "--minimize",
    "--most",
    "--no-local",
    "--no-reuse-object",
    "--no-walk",
    "--objects",
    "--only",
    "--portable",
    "--stdin",
    "--target",
    "--unordered",
    "--update",
    "--use-bitmap-index",
    "--way",
    "--work",
    "--writing",
];

#[track_caller]
fn play(document: &str, scene: &Scene) {
    Stage::new(scene).play(scene, &Document::named(document).examples());
}

#[test]
fn readme() {
    play(README, &Scene { git: &["jj"], hg: &[], before: "" });
}

/// The records of the sessions that README and other pages quote.
const SESSIONS: &str = "docs/sessions";

/// The names of the lines of an answer.
const ANSWER: [&str; 12] = [
    "Do first",
    "Deltas",
    "Same format then",
    "Same format",
    "Best then",
    "Best",
    "Decoding",
    "Price",
    "Writing",
    "Verdict",
    "Predicted",
    "Measured",
];

#[test]
fn quoted_answers_are_those_of_committed_records() {
    let sessions = fs::read_dir(checkout().join(SESSIONS)).expect("the sessions");
    let report = |session: io::Result<fs::DirEntry>| {
        repackbench(["report".into(), session.expect("a session").path()]).exits(exit::OK).text()
    };
    let reported: String = sessions.map(report).collect();
    let is_of_answer = |line: &str| line.split_once(": ").is_some_and(|(name, _)| ANSWER.contains(&name));
    for document in [README, GETTING_STARTED, MEASUREMENTS] {
        let lines = Document::named(document).text_lines();
        let quoted: Vec<_> = lines.iter().filter(|(_, line)| is_of_answer(line)).collect();
        assert!(quoted.len() >= 6, "{document}: {lines:?}");
        for (place, line) in quoted {
            assert!(
                reported.lines().any(|reported| reported == line),
                "{place}: no record says so: {line}\n{reported}"
            );
        }
    }
}

/// The session that documents show pictures of, and the pictures.
const PICTURED: (&str, [&str; 3]) = ("jj-codecs.jsonl", ["ratios.svg", "size-time.svg", "stored-bytes.svg"]);

#[test]
fn pictures_are_those_of_a_committed_session() {
    let (session, pictures) = PICTURED;
    let made = Scratch::new();
    let session = checkout().join(SESSIONS).join(session);
    repackbench(["report".into(), session, "--svg".into(), made.path().to_owned()]).exits(exit::OK);
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    for picture in pictures {
        let committed = read(&checkout().join("docs/pictures").join(picture));
        assert!(read(&made.join(picture)) == committed, "{picture}: `report --svg` makes another of the session");
    }
}

#[test]
fn getting_started() {
    play(GETTING_STARTED, &Scene { git: &["repo"], hg: &[], before: "" });
}

#[test]
fn stock_clients() {
    play(STOCK_CLIENTS, &Scene { git: &["repo"], hg: &[], before: "" });
}

#[test]
fn in_ci() {
    play(IN_CI, &Scene { git: &["repo"], hg: &[], before: "" });
}

#[test]
fn records() {
    play(RECORDS, &Scene { git: &["repo"], hg: &[], before: "" });
}

#[test]
fn codec_specs() {
    play(CODEC_SPECS, &Scene { git: &["ripgrep", "repo"], hg: &[], before: "" });
}

#[test]
fn measurements() {
    play(MEASUREMENTS, &Scene { git: &["jj", "ripgrep", "fzf", "just"], hg: &[], before: "" });
}

#[test]
fn commands() {
    let scene = Scene {
        git: &["ripgrep", "curl", "jj", "git", "repo1", "repo2", "repo3", "forge/a.git", "forge/b.git"],
        hg: &["hgrepo", "small", "large"],
        before: "
            repackbench convert --codec zstd:5 git
            repackbench convert --codec best-size git -o git.best-size
            repackbench bench git --codec zstd:5 --workload traverse --blocks 1 --json git.jsonl
            repackbench bench curl --codec zstd:5 --workload traverse --blocks 1 --json linux.jsonl
            repackbench bench hgrepo --codec zstd:5 --workload traverse --blocks 1 --json hg.jsonl
            cp git.jsonl main.jsonl
            cp git.jsonl branch.jsonl
            ls -d forge/* > repositories.txt
            touch lz4 results
            mkdir variants",
    };
    play(COMMANDS, &scene);
}

#[test]
fn experiments() {
    play(EXPERIMENTS, &Scene { git: &["linux", "jj", "git"], hg: &["cargo", "ripgrep", "hyperfine"], before: "" });
}

#[test]
fn git_perf() {
    play(GIT_PERF, &Scene { git: &["ripgrep"], hg: &[], before: "" });
}

#[test]
fn git_suite() {
    play(GIT_SUITE, &Scene { git: &[], hg: &[], before: "" });
}

#[test]
fn large() {
    play(LARGE, &Scene { git: &[], hg: &[], before: "" });
}

#[test]
fn serving() {
    play(SERVING, &Scene { git: &["ripgrep"], hg: &[], before: "" });
}

#[test]
fn hg_extension() {
    play(HG_EXTENSION, &Scene { git: &[], hg: &[".", "project"], before: "" });
}

/// The examples of every help text.
#[track_caller]
fn help_examples() -> Vec<Example> {
    let examples = subcommands().into_iter().flat_map(|words| {
        let help = repackbench(words.iter().map(String::as_str).chain(["--help"])).exits(exit::OK).text();
        examples_in_help(&words.join(" "), &help)
    });
    examples.collect()
}

#[test]
fn help_texts() {
    let scene = Scene {
        git: &[".", "~/src/linux", "linux", "repo", "repo.git", "gitrepo", "repo1", "repo2", "repo3", "forge/a.git"],
        hg: &["hgrepo"],
        before: "
            repackbench convert --codec zstd:5 linux
            repackbench convert --codec lz4 linux
            repackbench convert --codec zstd:5 repo
            repackbench convert --codec zstd:9 repo
            repackbench convert --codec zstd:9,prefix repo
            repackbench bench repo --codec zstd:5 --workload traverse --blocks 1 --json git.jsonl
            repackbench bench linux --codec zstd:5 --workload traverse --blocks 1 --json linux.jsonl
            repackbench bench hgrepo --codec zstd:5 --workload traverse --blocks 1 --json hg.jsonl
            repackbench trace repo --workload traverse --json traces.jsonl
            for name in before after main branch; do cp git.jsonl $name.jsonl; done
            ls -d forge/* > list.txt
            mkdir /tmp/tree
            touch results",
    };
    let examples = help_examples();
    assert!(examples.len() > 30, "{}", examples.len());
    Stage::new(&scene).play(&scene, &examples);
}

#[test]
fn every_document_with_examples_has_a_test() {
    let with_examples = Document::all().into_iter().filter(|document| !document.examples().is_empty());
    let found: BTreeSet<String> = with_examples.map(|document| document.name).collect();
    assert_eq!(found, WITH_EXAMPLES.map(str::to_owned).into());
}

#[test]
fn every_exception_matches_an_example() {
    let documents = Document::all();
    let examples: Vec<Example> = documents.iter().flat_map(Document::examples).chain(help_examples()).collect();
    for limit in LIMITS {
        let concerned = examples.iter().any(|example| limit.concerns(&example.command));
        assert!(concerned, "no example has {} {}", limit.command, limit.option);
    }
    for left_out in LEFT_OUT {
        let concerned = examples.iter().any(|example| left_out.concerns(&example.command));
        assert!(concerned, "no example has {}{}", left_out.command, left_out.words);
    }
    for only in ONLY_UNDERSTOOD {
        assert!(examples.iter().any(|example| only.is(&example.command)), "no example is {}", only.command);
    }
}

#[test]
fn cargo_commands_in_the_text_run() {
    let spans = Document::all().into_iter().flat_map(|document| document.code_spans());
    let named = spans.filter(|(_, code)| code.starts_with("cargo xtask ") || code.starts_with("cargo bench "));
    let examples: Vec<Example> = named.map(|(place, command)| Example { place, command, shown: Vec::new() }).collect();
    assert!(examples.len() > 5, "{examples:?}");
    let scene = Scene { git: &[], hg: &[], before: "" };
    Stage::new(&scene).play(&scene, &examples);
}

#[test]
fn options_in_the_text_exist() {
    let words = subcommands().into_iter().chain([Vec::new()]);
    let ours: BTreeSet<String> = words
        .flat_map(|words| {
            options(&repackbench(words.iter().map(String::as_str).chain(["--help"])).exits(exit::OK).text())
        })
        .collect();
    let mut others: BTreeSet<&str> = OPTIONS_OF_OTHERS.into();
    let mut unknown = Vec::new();
    for (place, code) in Document::all().iter().flat_map(Document::code_spans) {
        if !code.starts_with("repackbench ") && !code.starts_with("--") {
            continue;
        }
        let before_command = code.split(" -- ").next().unwrap_or_default();
        for option in before_command.split([' ', '[', '=']).filter(|word| word.starts_with("--")) {
            if !ours.contains(option) && !OPTIONS_OF_OTHERS.contains(&option) {
                unknown.push(format!("{place}: {option}"));
            }
            others.remove(option);
        }
    }
    assert!(unknown.is_empty(), "no command has these options: {unknown:#?}");
    assert!(others.is_empty(), "no document names these any more: {others:?}");
}

/// The longest line of prose.
const COLUMNS: usize = 120;

/// Tables and blocks of code cannot be wrapped. Generated pages are held to it, too.
#[test]
fn prose_is_no_wider_than_120_columns() {
    let mut documents = Document::all();
    documents.extend(Document::below("docs/results"));
    documents.push(Document::named("crates/cli/tests/golden/README.md"));
    let wide: Vec<String> = documents.iter().flat_map(|document| document.lines_wider_than(COLUMNS)).collect();
    assert!(documents.len() > 60, "{}", documents.len());
    assert!(wide.is_empty(), "{} lines: {wide:#?}", wide.len());
}

#[test]
fn every_command_has_a_section_of_its_name() {
    let headings = Document::named(COMMANDS).anchors();
    for words in subcommands().into_iter().filter(|words| words.len() == 1) {
        let name = &words[0];
        let is_there =
            headings.contains(name) || headings.iter().any(|heading| heading.split('-').any(|of| of == name));
        assert!(is_there, "{COMMANDS}: no section {name}: {headings:?}");
    }
}

#[test]
fn glossary_is_sorted_and_every_term_has_an_anchor() {
    let terms = Document::named(GLOSSARY).terms();
    assert!(terms.len() > 50, "{terms:?}");
    let without: Vec<_> = terms.iter().filter(|(anchor, _)| anchor.is_none()).collect();
    assert!(without.is_empty(), "no anchor: {without:?}");
    let names: Vec<String> = terms.iter().map(|(_, term)| term.to_lowercase().replace('/', "")).collect();
    assert!(names.is_sorted(), "{names:?}");
    let anchors: BTreeSet<_> = terms.iter().map(|(anchor, _)| anchor).collect();
    assert_eq!(anchors.len(), terms.len(), "an anchor is set twice");
}

#[test]
fn links_lead_to_files_and_headings() {
    let documents = Document::all();
    let mut checked = 0;
    for document in &documents {
        let folder = checkout().join(&document.name).parent().expect("its folder").to_owned();
        for (place, link) in document.links().into_iter().filter(|(_, link)| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { checkout().join(&document.name) } else { folder.join(file) };
            let target = target.canonicalize().unwrap_or_else(|error| panic!("{place}: {link}: {error}"));
            if !anchor.is_empty() {
                let linked = documents.iter().find(|document| checkout().join(&document.name) == target);
                let linked = linked.unwrap_or_else(|| panic!("{place}: {link}: not a document"));
                assert!(linked.anchors().contains(anchor), "{place}: {link}: no such heading");
            }
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked}");
}
