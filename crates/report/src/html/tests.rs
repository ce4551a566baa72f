use std::collections::BTreeMap;

use repackbench_records::{
    ComparedTime, EqualBudget, Explanation, Factor, FactorKind, FilePages, Host, Quantity, RatioEstimate, Record,
    RepositoryState, Role, SCHEMA_VERSION, SizeLine, SizeRecord, TraceRecord, WorkloadComparison, WorkloadLabel,
};

use super::*;
use crate::bench::tests::{comparison, estimate, row};

/// What a name may hold that means something to HTML, to JavaScript or to a terminal.
const HOSTILE: &str = "<script>alert(1)</script>\"' onload=alert(2) x='</style><!-- {{ x }} &amp;\n\u{1b}[2J\u{202e}";

/// It, as a page has to write it.
const ESCAPED: &str = "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39; onload=alert(2) x=&#39;&lt;/style&gt;&lt;!-- {{ x }} \
                       &amp;amp;\\n\\u{1b}[2J\\u{202e}";

fn two_workloads() -> Vec<WorkloadComparison> {
    let rows = |zstd: f64, lz4: f64| {
        vec![
            row(Role::AsFound, "", 1000, Some(estimate(1.0, 0.995, 1.005)), 100_000_000),
            row(Role::Baseline, "zlib:6", 1000, None, 100_000_000),
            row(Role::Candidate, "zstd:5", 700, Some(estimate(zstd, zstd - 0.01, zstd + 0.005)), 84_000_000),
            row(Role::Candidate, "lz4", 400, Some(estimate(lz4, lz4 - 0.01, lz4 + 0.01)), 119_000_000),
        ]
    };
    let noise = Some(estimate(1.0, 0.99, 1.01));
    vec![comparison("traverse", rows(0.7, 0.4), noise), comparison("encode", rows(3.0, 0.3), noise)]
}

fn points(comparisons: Vec<WorkloadComparison>) -> Vec<String> {
    let answers = answer::answers(&Results { comparisons, ..Results::default() });
    let show = |point: &answer::Point| {
        format!("{} {}: {}", point.name, point.variant.as_deref().unwrap_or("-"), point.text).replace('\u{a0}', " ")
    };
    answers.iter().flat_map(|answer| &answer.points).map(show).collect()
}

#[test]
fn the_answer_names_best_and_worst() {
    assert_eq!(
        points(two_workloads()),
        [
            "Smallest zstd:5: 16.0 % smaller than zlib:6, 0.70 of the time of traverse",
            "Fastest lz4: 0.40 of the time of traverse; 19.0 % larger",
            "Without loss zstd:5: 16.0 % smaller and slower in no workload that reads; 0.70 of the time of traverse",
            "Largest lz4: 19.0 % larger",
            "Slowest zstd:5: 3.00 times the time of encode",
        ]
    );
}

#[test]
fn the_answer_on_one_codec_is_what_it_gains_and_loses() {
    let mut comparisons = two_workloads();
    comparisons.iter_mut().for_each(|comparison| comparison.rows.truncate(3));
    assert_eq!(
        points(comparisons.clone()),
        [
            "Gain zstd:5: against zlib:6: 16.0 % smaller; 0.70 of the time of traverse",
            "Loss zstd:5: against zlib:6: 3.00 times the time of encode",
        ]
    );
    comparisons[1].rows[2].verdict = None;
    assert_eq!(
        points(comparisons)[1..],
        ["Loss zstd:5: nothing that these runs show", "Open -: these runs do not decide encode"]
    );
}

#[test]
fn what_is_not_decided_or_not_checked_is_never_the_best() {
    let mut comparisons = two_workloads();
    for row in comparisons.iter_mut().flat_map(|comparison| &mut comparison.rows) {
        row.verdict = None;
    }
    let text = points(comparisons).join("\n");
    assert!(text.contains("Fastest -: no variant is"), "{text}");
    assert!(text.contains("Without loss -: no variant is"), "{text}");
    let mut comparisons = two_workloads();
    for row in comparisons.iter_mut().flat_map(|comparison| &mut comparison.rows) {
        row.variant.checksum = row.variant.label() != "lz4";
    }
    let text = points(comparisons).join("\n");
    assert!(!text.contains("lz4") && text.contains("Gain zstd:5"), "{text}");
}

/// Results in which every text is hostile that could be.
fn hostile_results() -> Results {
    let text = || HOSTILE.to_owned();
    let repository = RepositoryState {
        name: text(),
        fingerprint: text(),
        head: Some(text()),
        tip: Some(text()),
        ..RepositoryState::default()
    };
    let workload = WorkloadLabel { name: text(), parameters: BTreeMap::from([(text(), text())]) };
    let mut comparisons = two_workloads();
    for comparison in &mut comparisons {
        comparison.repository = repository.clone();
        comparison.workload = workload.clone();
        for row in &mut comparison.rows {
            if let Some(spec) = row.variant.spec.as_mut().filter(|spec| spec.typed != "zlib:6") {
                spec.typed = format!("{}{HOSTILE}", spec.typed);
            }
        }
    }
    let variant = comparisons[0].rows[2].variant.clone();
    let ratio = RatioEstimate { ratio: 0.5, interval: None, pairs: 2 };
    let factor = Factor { kind: FactorKind::Format, from: text(), to: text(), ratio };
    let mut run: Record = serde_json::from_value(serde_json::json!({
        "schema": SCHEMA_VERSION, "program_version": HOSTILE, "started_unix_ms": 1, "host": Host::default(),
        "repository": repository, "variant": variant, "decoder": HOSTILE, "workload": workload,
        "compared_time": ComparedTime::Cpu, "place": { "block": 0, "position": 0, "seed": 1 },
        "sample": { "wall_ns": 1, "user_ns": 1, "sys_ns": 1 }, "iterations": 1, "counts": { HOSTILE: 1 },
        "digest": { "algorithm": HOSTILE, "hex": HOSTILE }, "size": SizeRecord::default(), "command": HOSTILE,
    }))
    .unwrap();
    run.host = Host {
        cpu_model: Some(text()),
        kernel: Some(text()),
        libraries: BTreeMap::from([(text(), text())]),
        git: Some(text()),
        hg: Some(text()),
        ..Host::default()
    };
    let size = SizeRecord { label: text(), total_bytes: 5, ..SizeRecord::default() };
    let line = SizeLine { schema: SCHEMA_VERSION, program_version: text(), command: Some(text()), size };
    Results {
        runs: vec![run],
        comparisons,
        budgets: vec![EqualBudget {
            host: Host::default(),
            repository: repository.clone(),
            workload: workload.clone(),
            codec: text(),
            budget: Quantity::Size,
            of: Quantity::ReadTime,
            ratio: None,
            levels: vec![text()],
        }],
        traces: vec![TraceRecord {
            schema: SCHEMA_VERSION,
            program_version: text(),
            repository: repository.clone(),
            variant,
            workload: workload.clone(),
            page_len: 4096,
            files: vec![FilePages { role: text(), pages: 9, touched: 5, ..FilePages::default() }],
            parts: Vec::new(),
            devices: Vec::new(),
            memory: Vec::new(),
            maps: Vec::new(),
            command: Some(text()),
        }],
        explanations: vec![Explanation {
            session: 0,
            schema: SCHEMA_VERSION,
            repository,
            workload,
            compared_time: ComparedTime::Cpu,
            codec: text(),
            baseline: text(),
            measured: ratio,
            factors: vec![factor],
            product: 0.5,
            noise: None,
        }],
        sizes: vec![line.clone(), line],
    }
}

#[test]
fn hostile_names_are_text_wherever_they_stand() {
    let page = html_report(&hostile_results());
    assert!(page.matches(ESCAPED).count() > 30, "names are shown");
    let policy = format!("sha256-{}", base64(&Sha256::digest(SCRIPT)));
    assert!(page.contains(&policy), "the script is the one that may run");
    // Without style and script, nothing of a name is left that is not escaped.
    let rest = page.replace(SCRIPT, "").replace(STYLE, "").replace(CHART_STYLE, "");
    for forbidden in ["<script>alert", "</script>\"", "<!--", "\u{1b}", "\u{202e}", "\"' onload", "x='", "</style>\""] {
        assert!(!rest.contains(forbidden), "{forbidden:?}");
    }
    assert_eq!(rest.matches("<script").count(), 1);
    assert_eq!(rest.matches("<style").count(), 2);
    // Outside of style and script the page is well-formed markup but for elements that HTML does not close.
    let body = &rest[rest.find("<body>").unwrap()..rest.find("</body>").unwrap() + "</body>".len()];
    let body =
        body.replace("&nbsp;", " ").replace(" hidden>", " hidden=\"\">").replace(" hidden></", " hidden=\"\"></");
    let tree = roxmltree::Document::parse(&body).unwrap();
    let handlers = tree.descendants().flat_map(|node| node.attributes()).filter(|it| it.name().starts_with("on"));
    assert_eq!(handlers.count(), 0);
}

#[test]
fn the_page_is_small_and_whole_without_results() {
    let page = html_report(&Results::default());
    assert!(page.len() < 60_000, "{}", page.len());
    assert!(page.contains("<h2 id=\"origin\">") && !page.contains("<table"), "{page}");
    let page = html_report(&Results { comparisons: two_workloads(), ..Results::default() });
    assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
    assert!(page.find("What would I gain").unwrap() < page.find("<svg").unwrap(), "the answer comes first");
    for address in ["http:", "https:", "url(", "@import", " src=", "href=\"/"] {
        let rest = page.replace("http://www.w3.org/2000/svg", "").replace(SCRIPT, "");
        assert!(!rest.contains(address), "nothing is fetched: {address}");
    }
}

#[test]
fn base64_is_that_of_the_rfc() {
    for (bytes, text) in
        [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("~~~", "fn5+")]
    {
        assert_eq!(base64(bytes.as_bytes()), text);
    }
}

#[test]
fn repositories_of_which_only_sizes_are_known_are_compared_with_the_first() {
    let size = |label: &str, total_bytes| SizeRecord { label: label.into(), total_bytes, ..SizeRecord::default() };
    let line = |size| SizeLine { schema: SCHEMA_VERSION, program_version: "1".into(), command: None, size };
    let sizes = vec![line(size("a.git", 1_000_000)), line(size("b.git", 840_000)), line(size("c.git", 3_000_000))];
    let results = Results { sizes, ..Results::default() };
    let answers = answer::answers(&results);
    let words: Vec<String> = answers[0].rows.iter().map(|row| row.size.words.replace('\u{a0}', " ")).collect();
    assert_eq!(words, ["", "16.0 % smaller", "3.0 times the size"]);
    let text: Vec<&str> = answers[0].points.iter().map(|point| point.text.as_str()).collect();
    assert_eq!(text, ["16.0\u{a0}% smaller than a.git", "3.0 times the size of a.git"]);
    assert!(html_report(&results).contains("Bytes by what they hold"));
}

#[test]
fn sessions_machines_and_commands_stand_once_each() {
    let mut results = hostile_results();
    results.runs[0].place.session = 1_709_251_199_000;
    let run = results.runs[0].clone();
    results.runs.extend([run.clone(), Record { host: Host::default(), ..run }]);
    let origin = origin::origin(&results);
    assert_eq!((origin.commands.len(), origin.machines.len()), (1, 2));
    let rows: Vec<_> = origin.sessions.groups.iter().flat_map(|group| &group.rows).collect();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].cells[0].text, "2024-02-29 23:59 UTC");
    assert_eq!(rows[0].cells[5].text, "3");
}
