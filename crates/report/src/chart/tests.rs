//! Marks, names and markup of charts of made-up results.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use repackbench_records::{
    AccessMap, ChunkForm, ComparedTime, ContentDigest, ConversionCost, DisturbanceShares, Explanation, Factor,
    FactorKind, Host, MapCell, ObjectKind, RatioEstimate, RatioInterval, Record, RepositoryState, Role, RunPlace,
    RunUsage, SampleRecord, SizeLine, SizeRecord, TraceRecord, Variant, VariantComparison, WorkloadComparison,
    WorkloadLabel, fixtures::variant,
};
use roxmltree::{Document, Node};

use super::*;

const HOSTILE: &str = "</text><script>alert(1)</script>\"' onload='x\n\u{1b}[2J&amp;\u{202e}";

fn estimate(ratio: f64) -> RatioEstimate {
    RatioEstimate {
        ratio,
        interval: Some(RatioInterval { low: ratio * 0.9, high: ratio * 1.1, coverage: 0.97 }),
        pairs: 9,
    }
}

fn size(label: &str, bytes: u64) -> SizeRecord {
    let mut size = SizeRecord { label: label.into(), index_bytes: 1000, other_bytes: 50, ..SizeRecord::default() };
    size.objects.get_mut(ObjectKind::Blob, ChunkForm::Whole).add(bytes, 9 * bytes);
    size.objects.get_mut(ObjectKind::Tree, ChunkForm::Delta).add(bytes / 3, bytes);
    size.total_bytes = size.sum_of_parts();
    size
}

/// Names of a repository, a workload's parameter, and the candidates.
struct Names<'a> {
    repository: &'a str,
    parameter: &'a str,
    specs: &'a [&'a str],
}

fn repository(names: &Names<'_>) -> RepositoryState {
    RepositoryState { name: names.repository.into(), fingerprint: "f".into(), ..RepositoryState::default() }
}

fn comparison(names: &Names<'_>, workload: &str) -> WorkloadComparison {
    let mut variants = vec![variant(Role::AsFound, 0, ""), variant(Role::Baseline, 1, "zlib:6")];
    variants.extend((2..).zip(names.specs).map(|(row, spec)| variant(Role::Candidate, row, spec)));
    let rows = variants.into_iter().enumerate().map(|(number, variant)| VariantComparison {
        ratio: (variant.role != Role::Baseline)
            .then(|| estimate(1.0 - 0.1 * number as f64 + 0.6 * f64::from(u8::from(number == 4)))),
        size: size(&variant.label(), 1_000_000 + 100_000 * number as u64),
        reads: None,
        variant,
        runs: 9,
        compared_median: Duration::from_millis(100),
        wall_median: Duration::from_millis(110),
        adjusted_p: None,
        verdict: None,
        elapsed: None,
        to_reference: None,
        delta_cache: None,
        checks: None,
        peak_resident_median: None,
        counts: BTreeMap::new(),
        conversion: None,
        decode_share: None,
        own_git: None,
        requests: None,
        written: None,
    });
    WorkloadComparison {
        host: Host::default(),
        repository: repository(names),
        workload: label(names, workload),
        compared_time: ComparedTime::Cpu,
        rows: rows.collect(),
        noise: Some(estimate(1.0)),
        elapsed_noise: None,
        noise_floor: Some(0.1),
        is_valid: true,
        has_guesses: false,
        cells: 4,
        blocks_for_verdicts: 6,
        jobs: 1,
        disturbance: DisturbanceShares::default(),
    }
}

fn label(names: &Names<'_>, workload: &str) -> WorkloadLabel {
    let parameters = BTreeMap::from([("string".to_owned(), names.parameter.to_owned())]);
    WorkloadLabel { name: workload.into(), parameters }
}

/// Runs of `blocks` blocks of a comparison.
fn runs(names: &Names<'_>, comparison: &WorkloadComparison, blocks: u32) -> Vec<Record> {
    let mut variants: Vec<Variant> = comparison.rows.iter().map(|row| row.variant.clone()).collect();
    variants.push(variant(Role::BaselineAgain, 1, "zlib:6"));
    let run = |block: u32, position: u32, variant: &Variant| Record {
        schema: 2,
        program_version: "0".into(),
        started_unix_ms: u64::from(block * 100 + position),
        host: Host::default(),
        repository: repository(names),
        variant: variant.clone(),
        decoder: names.parameter.into(),
        workload: comparison.workload.clone(),
        compared_time: ComparedTime::Cpu,
        place: RunPlace { block, position, seed: 1, session: 1, copy: None },
        sample: SampleRecord {
            wall_ns: 2_000_000,
            user_ns: 1_000_000 + u64::from(block * 7919 % 50_000),
            sys_ns: 0,
            writing_ns: None,
        },
        usage: RunUsage::default(),
        disturbance: Default::default(),
        delta_cache: None,
        checks: None,
        jobs: 1,
        iterations: 1,
        counts: BTreeMap::new(),
        extra: BTreeMap::new(),
        digest: ContentDigest { algorithm: "sha256".into(), hex: String::new() },
        size: size("x", 1),
        reads: None,
        conversion: (variant.role == Role::Candidate).then_some(ConversionCost {
            cpu_ns: 9_000_000_000,
            wall_ns: 1,
            ..ConversionCost::default()
        }),
        requests: None,
        decode_share: None,
        own_git: None,
        command: None,
    };
    let blocks =
        (0..blocks).flat_map(|block| (0..).zip(&variants).map(move |(position, variant)| (block, position, variant)));
    blocks.map(|(block, position, variant)| run(block, position, variant)).collect()
}

fn trace(names: &Names<'_>, variant: Variant) -> TraceRecord {
    let map = |role: &str| AccessMap {
        role: role.into(),
        pages: 80,
        touches: 9,
        columns: 8,
        rows: 8,
        cells: [(0, 0, 1), (1, 1, 3), (7, 7, 5)].map(MapCell::from).into(),
    };
    TraceRecord {
        schema: 2,
        program_version: "0".into(),
        repository: repository(names),
        variant,
        workload: label(names, "traverse"),
        page_len: 4096,
        files: Vec::new(),
        parts: Vec::new(),
        devices: Vec::new(),
        memory: Vec::new(),
        maps: vec![map("pack"), map(names.parameter)],
        command: None,
    }
}

fn results(names: &Names<'_>) -> Results {
    let comparisons = ["traverse", "floor:traverse", "checkout"].map(|workload| comparison(names, workload));
    let codec = names.specs.first().copied().unwrap_or("lz4");
    let factor = |kind| Factor { kind, from: "zlib:6".into(), to: codec.into(), ratio: estimate(0.8) };
    Results {
        runs: comparisons.iter().flat_map(|comparison| runs(names, comparison, 8)).collect(),
        traces: comparisons[0].rows.iter().map(|row| trace(names, row.variant.clone())).collect(),
        explanations: vec![Explanation {
            session: 0,
            schema: 2,
            repository: repository(names),
            workload: label(names, "traverse"),
            compared_time: ComparedTime::Cpu,
            codec: codec.into(),
            baseline: "zlib:6".into(),
            measured: estimate(0.64),
            factors: vec![factor(FactorKind::Implementation), factor(FactorKind::Format)],
            product: 0.64,
            noise: Some(estimate(1.0)),
            numbers: None,
        }],
        sizes: [names.repository, "other"]
            .map(|name| SizeLine { schema: 2, program_version: "0".into(), command: None, size: size(name, 7_000_000) })
            .into(),
        comparisons: comparisons.into(),
        budgets: Vec::new(),
        experiments: vec![crate::sections::experiments::tests::experiment(names.repository)],
        ..Results::default()
    }
}

const PLAIN: Names<'static> =
    Names { repository: "sample", parameter: "pack index", specs: &["zstd:3", "lz4", "xz:6"] };

fn marks<'a>(document: &'a Document<'_>) -> Vec<Node<'a, 'a>> {
    let is_mark =
        |node: &Node<'_, '_>| node.attribute("class").is_some_and(|class| class.split(' ').any(|it| it == "mark"));
    document.descendants().filter(is_mark).collect()
}

#[test]
fn every_datum_has_one_mark() {
    let results = results(&PLAIN);
    let figures = figures(&results);
    let sections: BTreeSet<ChartKind> = figures.iter().map(|figure| figure.section).collect();
    assert_eq!(sections.into_iter().collect::<Vec<_>>(), ChartKind::ALL);
    let variants = 5;
    for figure in &figures {
        let expected = match figure.section {
            // Two workloads.
            ChartKind::SizeTime => 2 * variants,
            // Two workloads and a floor, with the noise of each.
            ChartKind::Ratios => 3 * variants,
            // Blobs, trees, indexes and others of each, then the payload of each: it differs.
            ChartKind::StoredBytes if figure.repository.is_some() => variants * 6,
            // Both have the same payload.
            ChartKind::StoredBytes => 2 * 4 + 2,
            ChartKind::Phases => 2 * variants,
            ChartKind::Accesses => 2 * variants,
            ChartKind::Factors => 3,
            // The third candidate is slower, and nothing is known for certain of it.
            ChartKind::BreakEven => 2 * 3,
            ChartKind::Noise => 8 + 8 * 6,
            // Two arms, published and measured, and one that was only published; then one ratio of both kinds.
            ChartKind::Experiments => 2 * 2 + 1 + 2,
        };
        for picture in Width::ALL.map(|width| figure.svg(width)) {
            let document = Document::parse(&picture).unwrap_or_else(|error| panic!("{}: {error}", figure.id));
            let marks = marks(&document);
            assert_eq!(marks.len(), expected, "{}", figure.id);
            for mark in marks {
                let title = mark.first_element_child().unwrap();
                assert_eq!((title.tag_name().name(), title.text()), ("title", mark.attribute("data-tip")));
                assert!(mark.attribute("data-variant").is_some_and(|variant| !variant.is_empty()));
                assert!(mark.children().filter(Node::is_element).count() > 1, "nothing is drawn: {}", figure.id);
            }
            assert!(!picture.contains("NaN") && !picture.contains("inf"), "{}", figure.id);
        }
        let columns = figure.table.columns.len();
        assert!(!figure.table.is_empty() && figure.table.rows().all(|row| row.cells.len() == columns), "{}", figure.id);
    }
}

#[test]
fn names_are_escaped() {
    let names = Names { repository: HOSTILE, parameter: HOSTILE, specs: &[HOSTILE, "lz4"] };
    let results = results(&names);
    let figures = figures(&results);
    let files = svg_files(&results);
    assert!(!files.is_empty() && files.len() < figures.len());
    let pictures = figures
        .iter()
        .flat_map(|figure| Width::ALL.map(|width| figure.svg(width)))
        .chain(files.iter().map(|(_, file)| file.clone()));
    for picture in pictures {
        let document = Document::parse(&picture).unwrap();
        let known = ["svg", "g", "title", "desc", "text", "path", "rect", "style"];
        assert!(document.descendants().filter(Node::is_element).all(|node| known.contains(&node.tag_name().name())));
        let attributes = document.descendants().flat_map(|node| node.attributes().collect::<Vec<_>>());
        assert!(attributes.into_iter().all(|attribute| !attribute.name().starts_with("on")));
        assert!(!picture.contains('\u{1b}') && !picture.contains('\u{202e}'));
    }
    for figure in &figures {
        assert!(figure.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{}", figure.id);
    }
    let marks = |picture: &str| picture.matches("&lt;script&gt;").count();
    assert!(figures.iter().all(|figure| marks(&figure.svg(Width::Wide)) > 0), "the name is there");
}

#[test]
fn identifiers_occur_once() {
    let mut results = results(&PLAIN);
    let other = WorkloadLabel { parameters: BTreeMap::new(), ..results.comparisons[0].workload.clone() };
    results.comparisons.push(WorkloadComparison { workload: other.clone(), ..results.comparisons[0].clone() });
    results.traces.push(TraceRecord { workload: other, ..results.traces[0].clone() });
    let figures = figures(&results);
    let mut seen = BTreeSet::new();
    for figure in &figures {
        for picture in Width::ALL.map(|width| figure.svg(width)) {
            let document = Document::parse(&picture).unwrap();
            let named = document.root_element().attribute("aria-labelledby").unwrap();
            let ids: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
            assert_eq!(named.split(' ').collect::<Vec<_>>(), ids);
            assert!(
                ids.into_iter().all(|id| id.starts_with(&figure.id) && seen.insert(id.to_owned())),
                "{}",
                figure.id
            );
        }
    }
    assert!(figures.iter().any(|figure| figure.id == "accesses-traverse-2"));
}

#[test]
fn degenerate_results_have_no_charts() {
    assert_eq!(figures(&Results::default()), []);
    let mut results = results(&Names { specs: &[], ..PLAIN });
    for comparison in &mut results.comparisons {
        comparison.noise_floor = None;
        for row in &mut comparison.rows {
            (row.size, row.compared_median) = (SizeRecord::default(), Duration::ZERO);
            row.ratio = row.ratio.map(|_| RatioEstimate { ratio: f64::NAN, interval: None, pairs: 0 });
        }
        comparison.noise = Some(RatioEstimate { ratio: f64::INFINITY, interval: None, pairs: 0 });
    }
    for run in &mut results.runs {
        run.sample = SampleRecord { wall_ns: 0, user_ns: 0, sys_ns: 0, writing_ns: None };
    }
    for map in results.traces.iter_mut().flat_map(|trace| &mut trace.maps) {
        (map.columns, map.touches) = (0, 0);
    }
    results.explanations[0].measured.ratio = 0.0;
    for row in results.experiments.iter_mut().flat_map(|of| &mut of.tables).flat_map(|table| &mut table.rows) {
        row.measured.fill(None);
    }
    results.sizes.iter_mut().for_each(|line| line.size = SizeRecord::default());
    assert_eq!(figures(&results), []);
}

#[test]
fn many_runs_are_thinned() {
    let names = Names { specs: &["zstd:3", "lz4", "xz:6", "snappy"], ..PLAIN };
    let comparison = comparison(&names, "traverse");
    let results =
        Results { runs: runs(&names, &comparison, 2000), comparisons: vec![comparison], ..Results::default() };
    let figures = figures(&results);
    let noise = figures.iter().find(|figure| figure.section == ChartKind::Noise).unwrap();
    let svg = noise.svg(Width::Wide);
    let document = Document::parse(&svg).unwrap();
    assert!((500..=1000).contains(&marks(&document).len()), "{}", marks(&document).len());
    assert!(noise.notes.iter().any(|note| note.starts_with("Of 14000 runs, ")), "{:?}", noise.notes);
}

/// The contrast of two colours by WCAG.
fn contrast(one: &str, other: &str) -> f64 {
    let luminance = |colour: &str| {
        let digits = colour.trim_start_matches('#');
        let digits = if digits.len() == 3 {
            digits.chars().flat_map(|digit| [digit, digit]).collect()
        } else {
            digits.to_owned()
        };
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&digits[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4)
    };
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    (one / other).max(other / one)
}

#[test]
fn colours_stand_out() {
    let (light, rest) = CHART_STYLE.split_once("@media screen").unwrap();
    let (dark, _) = rest.split_once("@media print").unwrap();
    for style in [light, dark] {
        let colour = |selector: &str| {
            let (_, rule) = style.split_once(&format!(".chart {selector}{{")).unwrap_or_else(|| panic!("{selector}"));
            let (_, colour) = rule.split_once('#').unwrap();
            colour.split([';', '}']).next().unwrap().to_owned()
        };
        let ground = colour(".ground");
        for number in 0..12 {
            let class = format!(".c{number}");
            assert!(contrast(&colour(&class), &ground) >= 3.0, "{class}");
            assert!(contrast(&colour(&class), &colour(".band")) >= 3.0, "{class} on the band");
        }
        for number in 0..8 {
            let class = format!(".k{number}");
            assert!(contrast(&colour(&class), &ground) >= 3.0, "{class}");
            assert!(contrast(&colour(&class), &colour("text.on")) >= 3.0, "text on {class}");
        }
        for text in ["text", "text.muted"] {
            assert!(contrast(&colour(text), &ground) >= 4.5, "{text}");
            assert!(contrast(&colour(text), &colour(".band")) >= 4.5, "{text} on the band");
        }
        let steps: Vec<f64> = (1..=5).map(|number| contrast(&colour(&format!(".i{number}")), &ground)).collect();
        assert!(steps.windows(2).all(|pair| pair[0] * 1.2 < pair[1]), "{steps:?}");
    }
}

/// The same comparisons and runs of another machine, `times` as slow.
fn elsewhere(results: &Results, times: u32) -> Results {
    let host = Host { cores: Some(4), ..Host::default() };
    let mut other = results.clone();
    for comparison in &mut other.comparisons {
        comparison.host = host.clone();
        comparison.rows.iter_mut().for_each(|row| row.compared_median *= times);
    }
    for run in &mut other.runs {
        run.host = host.clone();
        run.sample.user_ns *= u64::from(times);
        run.conversion = run.conversion.map(|cost| ConversionCost { cpu_ns: cost.cpu_ns * u64::from(times), ..cost });
    }
    other
}

#[test]
fn machines_have_separate_charts() {
    let here = results(&PLAIN);
    let there = elsewhere(&here, 50);
    let both = Results {
        runs: here.runs.iter().chain(&there.runs).cloned().collect(),
        comparisons: here.comparisons.iter().chain(&there.comparisons).cloned().collect(),
        ..Results::default()
    };
    let both = figures(&both);
    for of_one in [&here, &there] {
        let alone =
            Results { runs: of_one.runs.clone(), comparisons: of_one.comparisons.clone(), ..Results::default() };
        for figure in figures(&alone) {
            let title = format!("{} on {}", figure.title, alone.comparisons[0].host.description());
            let found = both.iter().find(|other| other.title == title).unwrap_or_else(|| panic!("{title}"));
            assert_eq!((&found.table, &found.notes), (&figure.table, &figure.notes), "{title}");
        }
    }
}

#[test]
fn floor_matches_variant_despite_row_and_spelling() {
    let mut results = results(&PLAIN);
    let expected = figures(&results);
    for row in &mut results.comparisons[1].rows {
        row.variant.row += 3;
        if let Some(spec) = row.variant.spec.as_mut().filter(|spec| spec.typed == "zstd:3") {
            spec.typed = "zstd".into();
        }
    }
    let phases = |figures: Vec<Figure>| figures.into_iter().find(|figure| figure.section == ChartKind::Phases).unwrap();
    assert_eq!(phases(figures(&results)).table, phases(expected).table);
}

#[test]
fn never_needs_an_interval_that_says_so() {
    let mut results = results(&PLAIN);
    for comparison in &mut results.comparisons {
        for (row, ratio) in comparison.rows.iter_mut().skip(2).zip([1.05, 1.5, 1.05]) {
            row.ratio = Some(estimate(ratio));
        }
        comparison.rows[4].ratio.as_mut().unwrap().interval = None;
    }
    let figures = figures(&results);
    let figure = figures.iter().find(|figure| figure.section == ChartKind::BreakEven).unwrap();
    let paid: Vec<&str> = figure.table.rows().take(3).map(|row| row.cells[4].text.as_str()).collect();
    assert_eq!(paid, ["not certain", "never", "not certain"]);
    assert_eq!(figure.table.groups[0].rows[0].cells[5].text, "1,637", "the interval's low end saves something");
    // The picture is there, though nothing pays.
    let svg = figure.svg(Width::Wide);
    let document = Document::parse(&svg).unwrap();
    assert_eq!(marks(&document).len(), 2 * 3);
    let texts: Vec<&str> =
        document.descendants().filter(|it| it.has_tag_name("text")).filter_map(|it| it.text()).collect();
    assert!(texts.contains(&"never") && texts.contains(&"10"), "{texts:?}");
}

#[test]
fn noise_floor_is_only_drawn_behind_pairs() {
    let figures = figures(&results(&PLAIN));
    for figure in figures.iter().filter(|figure| figure.section == ChartKind::Noise) {
        let svg = figure.svg(Width::Wide);
        let document = Document::parse(&svg).unwrap();
        let is_band = |node: &Node<'_, '_>| node.has_tag_name("rect") && node.attribute("class") == Some("band");
        // One in the legend, one behind the pairs.
        assert_eq!(document.descendants().filter(is_band).count(), 2);
        assert!(figure.notes.iter().any(|note| note.contains("applies to the median of A / A'")), "{:?}", figure.notes);
    }
}

#[test]
fn noise_shows_runs_of_its_own_baseline() {
    let mut results = results(&PLAIN);
    let mut other = results.runs.clone();
    for run in &mut other {
        run.place.session = 2;
        if let Some(spec) = run.variant.spec.as_mut().filter(|spec| spec.typed == "zlib:6") {
            (spec.typed, spec.canonical) = ("zlib:9".into(), "zlib:9".into());
        }
    }
    let expected = figures(&results);
    results.runs.extend(other);
    let noise = |figures: &[Figure]| figures.iter().find(|it| it.section == ChartKind::Noise).unwrap().table.clone();
    assert_eq!(noise(&figures(&results)), noise(&expected));
}

#[test]
fn filter_selects_marks_by_label() {
    let mut results = results(&PLAIN);
    for row in results.comparisons.iter_mut().flat_map(|comparison| &mut comparison.rows) {
        row.variant.checksum = row.variant.row != 3;
    }
    let labels = ["as found", "zlib:6", "zstd:3", "lz4", "xz:6"];
    for figure in figures(&results).iter().filter(|figure| figure.repository.is_some()) {
        let svg = figure.svg(Width::Wide);
        let document = Document::parse(&svg).unwrap();
        for mark in marks(&document) {
            let label = mark.attribute("data-variant").unwrap();
            assert!(labels.contains(&label), "{label}");
        }
    }
}
