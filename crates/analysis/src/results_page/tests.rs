use repackbench_records::{
    DeltaOrigin, FleetRecord, Role, SCHEMA_VERSION,
    fixtures::{EstimatedCodec, delta_state, record, repository_estimate},
};

use super::*;

fn listed(name: &str, kind: ContentKind, chosen_on: bool) -> ListedRepository {
    ListedRepository { name: name.into(), url: format!("https://{name}"), kind, about: "Rust".into(), chosen_on }
}

/// A plain codec that needs `exec`, one with a dictionary, and one that any git reads.
fn codecs(size: f64, cpu: f64) -> [EstimatedCodec<'static>; 4] {
    [
        ("zlib:6", Readers::Stock, 1.0, 1.0),
        ("libdeflate:6", Readers::Stock, 0.99, 0.7),
        ("zstd:9", Readers::Exec, size, cpu),
        ("zstd:9,dict=112k", Readers::Exec, size / 2.0, cpu),
    ]
}

fn estimate(name: &str, bytes: u64, size: f64, cpu: f64) -> RepositoryEstimate {
    repository_estimate(name, name, bytes, &codecs(size, cpu))
}

/// The estimate with rechosen deltas in half of the bytes.
fn searched_anew(estimate: RepositoryEstimate, is_without_names: bool) -> RepositoryEstimate {
    let state = Box::new(delta_state(estimate.as_found.total_bytes / 2, &codecs(0.9, 0.9)));
    let (window, peak_resident_bytes) = (None, None);
    let rechosen = Rechosen::Searched {
        seconds: 1.0,
        cpu_seconds: None,
        window,
        peak_resident_bytes,
        is_without_names,
        other: None,
        state,
    };
    RepositoryEstimate { rechosen, ..estimate }
}

fn page(listed: &[ListedRepository], estimates: &[RepositoryEstimate]) -> ResultsPage {
    results_page(listed, estimates.iter().map(|of| ResultLine::Estimate(Box::new(of.clone()))).collect())
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} {expected}");
}

#[test]
fn repositories_that_specs_were_chosen_on_are_in_no_summary() {
    let list = [
        listed("a", ContentKind::Source, false),
        listed("chosen", ContentKind::Source, true),
        listed("b", ContentKind::Documents, false),
        listed("hg", ContentKind::ConvertedMercurial, false),
    ];
    let page = page(
        &list,
        &[
            estimate("hg", 1_000_000, 0.1, 0.1),
            estimate("chosen", 50_000_000, 0.01, 0.01),
            estimate("a", 1_000_000, 0.5, 0.5),
            estimate("b", 3_000_000, 2.0, 0.5),
        ],
    );
    let names: Vec<&str> = page.repositories.iter().map(|of| of.listed.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "chosen", "hg"]);
    let zstd = &page.git.summary.states[0].codecs[2];
    assert_eq!((zstd.codec.as_str(), page.git.summary.repositories), ("zstd:9", 2));
    near(zstd.size.mean, 1.0);
    near(zstd.size.total, 6.5 / 4.0);
    near(zstd.cpu.unwrap().mean, 0.5);
    near(page.mercurial.summary.states[0].codecs[2].size.mean, 0.1);
    let kinds: Vec<_> = page.kinds.iter().map(|(kind, of)| (*kind, of.summary.repositories)).collect();
    assert_eq!(kinds, [(ContentKind::Source, 1), (ContentKind::Documents, 1), (ContentKind::ConvertedMercurial, 1)]);
}

#[test]
fn codecs_are_told_apart_by_readers_and_options() {
    let list = [listed("a", ContentKind::Source, false)];
    let page = page(&list, &[estimate("a", 1_000_000, 0.9, 0.5)]);
    let name = |codec: Option<&FleetCodec>| codec.map(|codec| codec.codec.clone());
    assert_eq!(name(page.git.best(|of| of.readers == Readers::Stock)).as_deref(), Some("libdeflate:6"));
    assert_eq!(name(page.git.best(|of| of.is_plain && of.readers != Readers::Stock)).as_deref(), Some("zstd:9"));
    assert_eq!(name(page.git.smallest(|_| true)).as_deref(), Some("zstd:9,dict=112k"));
    assert_eq!(name(page.git.best(|of| of.readers == Readers::Repackbench)), None);
    near(page.git.decoding[0].of_replay, 0.5);
}

#[test]
fn search_without_file_names_is_in_no_figure() {
    let list = [listed("a", ContentKind::Source, false), listed("b", ContentKind::Source, false)];
    let incomplete = RepositoryEstimate { missing_objects: 2, ..estimate("b", 9_000_000, 0.5, 0.5) };
    let page =
        page(&list, &[searched_anew(estimate("a", 1_000_000, 0.4, 0.5), false), searched_anew(incomplete, true)]);
    let search = page.git.search.unwrap();
    assert_eq!((search.repositories, page.git.searched_without_names, page.git.incomplete), (1, 1, 1));
    near(search.mean, 0.5);
    near(search.total, 0.5);
    let (codec, size) = &page.git.served_where_searched[1];
    assert_eq!(codec, "zstd:9");
    near(*size, 0.4);
    let states: Vec<_> = page.git.summary.states.iter().map(|state| (state.deltas, state.repositories)).collect();
    assert_eq!(states, [(DeltaOrigin::Kept, 2), (DeltaOrigin::Recomputed, 1)]);
    assert_eq!(page.repositories.iter().map(|of| of.searched().is_some()).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn listed_repository_without_estimate_is_named_with_the_reason() {
    let list = [listed("a", ContentKind::Source, false), listed("b", ContentKind::Source, false)];
    let end = ResultLine::Fleet(Box::new(FleetRecord {
        schema: SCHEMA_VERSION,
        program_version: "1".into(),
        name: "b".into(),
        path: "b".into(),
        seconds: 1.0,
        end: FleetEnd::Failed { message: "no HEAD".into() },
    }));
    let page = results_page(&list, vec![end]);
    assert_eq!(page.missing, [("a".to_owned(), None), ("b".to_owned(), Some("no HEAD".to_owned()))]);
    assert!(page.git.summary.states.is_empty() && page.kinds.is_empty());
}

/// `fleet` writes the estimate, the runs and the end. Runs after the end are of another session, whatever file has them.
#[test]
fn runs_after_the_end_are_of_another_session() {
    let end = || {
        ResultLine::Fleet(Box::new(FleetRecord {
            schema: SCHEMA_VERSION,
            program_version: String::new(),
            name: "a".to_owned(),
            path: "a".to_owned(),
            seconds: 1.0,
            end: FleetEnd::Done { unchecked: None },
        }))
    };
    let run = || {
        let mut run = record("traverse", Role::Baseline, 1, 0, 1);
        run.repository.name = "a".to_owned();
        ResultLine::Run(Box::new(run))
    };
    let estimate = || ResultLine::Estimate(Box::new(estimate("a", 1_000_000, 0.5, 0.5)));
    let is_apart = |lines: Vec<ResultLine>| {
        let page = results_page(&[listed("a", ContentKind::Source, false)], lines);
        page.repositories[0].is_measured_apart
    };
    assert!(!is_apart(vec![estimate(), run(), end()]));
    assert!(!is_apart(vec![end(), estimate(), run(), run(), end()]), "a failed try before");
    assert!(!is_apart(vec![estimate(), end()]), "not measured");
    assert!(is_apart(vec![estimate(), end(), run(), end()]));
    assert!(is_apart(vec![run(), end(), estimate(), end()]));
}

#[test]
fn sizes_and_names_of_the_list_are_counted() {
    let list = [
        listed("a", ContentKind::Source, false),
        listed("b", ContentKind::Source, false),
        listed("c", ContentKind::Source, false),
        listed("chosen", ContentKind::Source, true),
        listed("chosen, not estimated", ContentKind::Source, true),
    ];
    let mut partial = estimate("b", 3_000_000, 0.5, 0.5);
    partial.repository.is_partial_clone = true;
    let estimates = [
        estimate("a", 2_999_999, 0.5, 0.5),
        partial,
        estimate("c", 500_000_000, 0.5, 0.5),
        estimate("chosen", 9_000_000, 0.5, 0.5),
    ];
    let page = page(&list, &estimates);
    assert_eq!(page.chosen_on, ["chosen", "chosen, not estimated"]);
    assert_eq!((page.git.bytes_from_to, page.git.of_meant_size), (Some((2_999_999, 500_000_000)), 2));
    assert_eq!((page.git.partial_clones, page.git.checked_codecs.len()), (1, 0));
    assert_eq!(page.repositories[0].ratios("zstd:9", "libdeflate:6").map(|(size, _)| size), Some(0.5 / 0.99));
}
