use std::collections::BTreeMap;

use repackbench_records::{
    ComparedTime, EqualBudget, Explanation, Factor, FactorKind, FilePages, Host, Quantity, RatioEstimate, Record,
    RepositoryState, Role, SCHEMA_VERSION, SizeLine, SizeRecord, TraceRecord, WorkloadComparison, WorkloadLabel,
};

use super::*;
use crate::fixtures::{comparison, estimate, row};

/// A name with characters that HTML, JavaScript or a terminal would interpret.
const HOSTILE: &str = "<script>alert(1)</script>\"' onload=alert(2) x='</style><!-- {{ x }} &amp;\n\u{1b}[2J\u{202e}";

/// The same, escaped.
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
fn answer_names_best_and_worst() {
    assert_eq!(
        points(two_workloads()),
        [
            "Smallest zstd:5: 16.0 % smaller than zlib:6; traverse takes 30 % less CPU time",
            "Fastest lz4: traverse takes 60 % less CPU time; 19.0 % larger",
            "Without loss zstd:5: 16.0 % smaller; traverse takes 30 % less CPU time",
            "Largest lz4: 19.0 % larger",
            "Slowest zstd:5: encode takes 3.0 times the CPU time",
        ]
    );
}

#[test]
fn answer_on_one_codec_is_gain_and_loss() {
    let mut comparisons = two_workloads();
    comparisons.iter_mut().for_each(|comparison| comparison.rows.truncate(3));
    assert_eq!(
        points(comparisons.clone()),
        [
            "Gain zstd:5: against zlib:6: 16.0 % smaller; traverse takes 30 % less CPU time",
            "Loss zstd:5: against zlib:6: encode takes 3.0 times the CPU time",
        ]
    );
    comparisons[1].rows[2].verdict = None;
    assert_eq!(
        points(comparisons)[1..],
        ["Loss zstd:5: none that these runs show", "Open -: these runs do not decide the CPU time of encode"]
    );
}

#[test]
fn undecided_or_unchecked_variants_are_never_best() {
    let mut comparisons = two_workloads();
    for row in comparisons.iter_mut().flat_map(|comparison| &mut comparison.rows) {
        row.verdict = None;
    }
    let text = points(comparisons).join("\n");
    assert!(text.contains("Fastest -: no variant is"), "{text}");
    assert!(text.contains("Without loss -: no variant gains"), "{text}");
    let mut comparisons = two_workloads();
    for row in comparisons.iter_mut().flat_map(|comparison| &mut comparison.rows) {
        row.variant.checksum = row.variant.label() != "lz4";
    }
    let text = points(comparisons).join("\n");
    assert!(!text.contains("lz4") && text.contains("Gain zstd:5"), "{text}");
}

/// Results in which every text is hostile.
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
        experiments: vec![crate::sections::experiments::tests::experiment(HOSTILE)],
        runs: vec![run],
        comparisons,
        budgets: vec![EqualBudget {
            host: Host::default(),
            repository: repository.clone(),
            workload: workload.clone(),
            compared_time: ComparedTime::Cpu,
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
            numbers: None,
        }],
        sizes: vec![line.clone(), line],
        ..Results::default()
    }
}

#[test]
fn hostile_names_are_escaped_everywhere() {
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
fn page_without_results_is_small_and_complete() {
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
fn base64_matches_the_rfc() {
    for (bytes, text) in
        [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("~~~", "fn5+")]
    {
        assert_eq!(base64(bytes.as_bytes()), text);
    }
}

#[test]
fn sizes_are_compared_with_first_repository() {
    let size = |label: &str, total_bytes| SizeRecord { label: label.into(), total_bytes, ..SizeRecord::default() };
    let line = |size| SizeLine { schema: SCHEMA_VERSION, program_version: "1".into(), command: None, size };
    let sizes = vec![line(size("a.git", 1_000_000)), line(size("b.git", 840_000)), line(size("c.git", 3_000_000))];
    let results = Results { sizes, ..Results::default() };
    let answers = answer::answers(&results);
    let words: Vec<String> =
        answers[0].rows.iter().map(|row| row.size.figures[0].words.replace('\u{a0}', " ")).collect();
    assert_eq!(words, ["1.00 MB", "16.0 % smaller", "3.0 times the size"]);
    let text: Vec<&str> = answers[0].points.iter().map(|point| point.text.as_str()).collect();
    assert_eq!(text, ["16.0\u{a0}% smaller than a.git", "3.0 times the size of a.git"]);
    assert!(html_report(&results).contains("Bytes by what they hold"));
}

#[test]
fn sessions_machines_and_commands_are_listed_once() {
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

#[test]
fn fastest_is_faster_somewhere_and_slower_nowhere() {
    let rows = |zstd: f64, lz4: f64| {
        vec![
            row(Role::Baseline, "zlib:6", 1000, None, 100),
            row(Role::Candidate, "zstd:5", 700, Some(estimate(zstd, zstd - 0.01, zstd + 0.005)), 84),
            row(Role::Candidate, "lz4", 400, Some(estimate(lz4, lz4 - 0.01, lz4 + 0.01)), 119),
        ]
    };
    // Nothing is decided of the one with the least mean.
    let mut comparisons = vec![comparison("traverse", rows(0.7, 0.4), None), comparison("diff", rows(0.8, 0.5), None)];
    comparisons.iter_mut().for_each(|comparison| comparison.rows[2].verdict = None);
    let fastest = |comparisons: &[WorkloadComparison]| {
        let points = points(comparisons.to_vec());
        points.into_iter().find(|point| point.starts_with("Fastest")).unwrap()
    };
    assert!(fastest(&comparisons).starts_with("Fastest zstd:5: 20 to 30 % less CPU time in all 2 workloads"));
    // It is slower in one.
    let comparisons = [comparison("traverse", rows(0.7, 0.1), None), comparison("diff", rows(0.8, 1.5), None)];
    assert!(fastest(&comparisons).starts_with("Fastest zstd:5"));
    // It was left out of the one where all are slow.
    let mut comparisons = [comparison("traverse", rows(0.7, 0.6), None), comparison("diff", rows(0.9, 0.8), None)];
    comparisons[1].rows.truncate(2);
    assert!(fastest(&comparisons).starts_with("Fastest zstd:5"), "{}", fastest(&comparisons));
    let comparisons = [comparison("traverse", rows(1.5, 1.4), None)];
    assert!(fastest(&comparisons).starts_with("Fastest -: no variant is faster somewhere"));
}

/// Each value of an attribute in a page, once.
fn values(page: &str, attribute: &str) -> std::collections::BTreeSet<String> {
    let start = format!(" {attribute}=\"");
    page.split(&start).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

#[test]
fn filter_selects_repository_on_all_machines() {
    let mut results = Results { comparisons: two_workloads(), ..hostile_results() };
    results.comparisons.iter_mut().for_each(|comparison| comparison.repository.name = "/srv/some/sample".into());
    let host = Host { cores: Some(4), ..Host::default() };
    let there = results.comparisons.clone().into_iter().map(|of| WorkloadComparison { host: host.clone(), ..of });
    results.comparisons.extend(there);
    let repository = results.comparisons[0].repository.clone();
    results.runs.clear();
    results.sizes.clear();
    results.explanations[0].repository = repository.clone();
    results.traces[0].repository = repository.clone();
    results.experiments[0].repository = repository.clone();
    results.budgets[0].repository = repository.clone();
    results.budgets.push(EqualBudget { host, ..results.budgets[0].clone() });
    let page = html_report(&results);
    assert_eq!(values(&page, "data-repository").into_iter().collect::<Vec<_>>(), ["/srv/some/sample"]);
    assert!(page.contains("<h1>sample under other codecs</h1>"), "as charts name it");
    assert!(page.contains("<h3>/srv/some/sample on 4 cores</h3>"));
    assert_eq!(page.matches("no level reaches the ").count(), 2, "budgets that no level reaches, of each machine");
    assert!(page.contains("<h2 id=\"budgets\">"));
}

#[test]
fn filter_selects_variants_by_label() {
    let mut comparisons = two_workloads();
    for row in comparisons.iter_mut().flat_map(|comparison| &mut comparison.rows) {
        row.variant.checksum = row.variant.label() != "lz4";
    }
    let run = hostile_results().runs.remove(0);
    let mut runs = Vec::new();
    for row in &comparisons[0].rows {
        let comparison = &comparisons[0];
        let (repository, workload) = (comparison.repository.clone(), comparison.workload.clone());
        let host = comparison.host.clone();
        runs.push(Record { host, repository, workload, variant: row.variant.clone(), ..run.clone() });
    }
    let page = html_report(&Results { comparisons, runs, ..Results::default() });
    assert!(page.contains("id=\"noise-traverse\""));
    let labels: Vec<String> = values(&page, "data-variant").into_iter().collect();
    assert_eq!(labels, ["as found", "lz4", "zlib:6", "zstd:5"]);
}

#[test]
fn software_does_not_split_a_machine() {
    let mut results = hostile_results();
    let old = Host { cores: Some(2), git: Some("git 1".into()), ..Host::default() };
    let new = Host { git: Some("git 2".into()), ..old.clone() };
    let other = Host { cores: Some(4), ..Host::default() };
    results.experiments[0].host = old.clone();
    let run = results.runs.remove(0);
    results.runs.extend([&old, &new].map(|host| Record { host: host.clone(), ..run.clone() }));
    let machines = origin::origin(&results).machines;
    assert_eq!(machines.iter().map(|machine| machine.name.as_str()).collect::<Vec<_>>(), ["Machine"]);
    assert!(machines[0].facts.contains(&("git", "git 1; git 2".to_owned())), "{:?}", machines[0].facts);
    results.runs.push(Record { host: other, ..run });
    let machines = origin::origin(&results).machines;
    assert_eq!(machines.iter().map(|machine| machine.name.as_str()).collect::<Vec<_>>(), ["2 cores", "4 cores"]);
}

#[test]
fn no_size_difference_without_baseline_size() {
    let mut comparisons = two_workloads();
    for comparison in &mut comparisons {
        comparison.rows[1].size.total_bytes = 0;
    }
    let answers = answer::answers(&Results { comparisons, ..Results::default() });
    assert!(answers[0].rows.iter().all(|row| row.size.figures[0].words.ends_with(" MB")));
}
