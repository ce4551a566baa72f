use repackbench_records::{
    ChunkForm, FleetRecord, ObjectKind, ObjectSizes, RatioInterval, Readers, RepositoryClass, Role, SCHEMA_VERSION,
    SpecText,
    fixtures::{record, repository_estimate},
};

use super::*;

/// A repository of this name, content and size, under zlib:6 and another codec, whose bytes and CPU time are these multiples.
fn estimate(name: &str, content: &str, bytes: u64, (size, cpu): (f64, f64)) -> RepositoryEstimate {
    let codecs = [("zlib:6", Readers::Stock, 1.0, 1.0), ("zstd:9", Readers::Stock, size, cpu)];
    repository_estimate(name, content, bytes, &codecs)
}

fn lines(estimates: &[RepositoryEstimate]) -> Vec<ResultLine> {
    estimates.iter().map(|estimate| ResultLine::Estimate(Box::new(estimate.clone()))).collect()
}

fn summarized(estimates: &[RepositoryEstimate]) -> FleetSummary {
    summarize_fleet(lines(estimates), true).whole
}

fn end(name: &str, end: FleetEnd) -> ResultLine {
    ResultLine::Fleet(Box::new(FleetRecord {
        schema: SCHEMA_VERSION,
        program_version: String::new(),
        name: name.to_owned(),
        path: name.to_owned(),
        seconds: 1.0,
        end,
    }))
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} {expected}");
}

#[test]
fn estimates_beside_other_programs_are_counted() {
    let beside = |name: &str, other_load| RepositoryEstimate { other_load, ..estimate(name, name, 1_000, (0.5, 0.5)) };
    let summary = summarized(&[beside("a", None), beside("b", Some(0.05)), beside("c", Some(0.1))]);
    assert_eq!((summary.repositories, summary.disturbed), (3, 1));
}

#[test]
fn totals_weigh_bytes_and_means_weigh_repositories() {
    let summary = summarized(&[
        estimate("a", "1", 1_000_000, (0.5, 0.5)),
        estimate("b", "2", 9_000_000, (1.0, 1.0)),
        estimate("c", "3", 90_000_000, (2.0, 2.0)),
    ]);
    let [state] = summary.states.as_slice() else { panic!("{:?}", summary.states) };
    assert_eq!((state.deltas, state.repositories, state.bytes), (DeltaOrigin::Kept, 3, 100_000_000));
    let codec = state.best().unwrap();
    assert_eq!((codec.codec.as_str(), codec.repositories, codec.bytes), ("zstd:9", 3, 189_500_000));
    near(codec.size.total, 1.895);
    near(codec.size.mean, 1.0);
    for (found, expected) in codec.size.quantiles.into_iter().zip([0.55, 0.75, 1.0, 1.5, 1.9]) {
        near(found, expected);
    }
    near(codec.encode_seconds, 2_000_000.0);
    let [workload] = codec.workloads.as_slice() else { panic!("{:?}", codec.workloads) };
    near(workload.seconds, 0.5 + 9.0 + 180.0);
    near(workload.cpu.total, 1.895);
    near(codec.gains, 1.0 / 3.0);
    near(codec.loses, 1.0 / 3.0);
    near(codec.trades, 0.0);
    let figures = &summary.figures;
    assert_eq!(figures.len(), 3 * 2 * 2, "size and time of two codecs in three repositories");
    let last = figures.last().unwrap();
    assert_eq!((last.repository.as_str(), last.workload.as_deref()), ("c", Some("traverse")));
    near(last.value, 180.0);
    near(last.ratio, 2.0);
}

#[test]
fn no_total_adds_git_and_mercurial() {
    let of = |name: &str, vcs, size| {
        let mut estimate = estimate(name, name, 1000, (size, 1.0));
        estimate.repository.vcs = Some(vcs);
        estimate
    };
    let broken = end("d", FleetEnd::Failed { message: "no HEAD".to_owned() });
    let estimates = [of("a", Vcs::Git, 0.5), of("b", Vcs::Mercurial, 2.0), of("c", Vcs::Git, 0.7)];
    let FleetFindings { whole, systems, .. } =
        summarize_fleet([lines(&estimates), vec![broken.clone()]].concat(), true);
    assert_eq!((whole.repositories, whole.failures.len(), whole.figures.len()), (3, 1, 3 * 2 * 2));
    assert!(whole.states.is_empty() && whole.checks.is_empty(), "{whole:?}");
    let totals = systems.iter().map(|of| (of.vcs, of.summary.repositories, of.summary.states[0].codecs[1].size.total));
    let totals: Vec<_> = totals.collect();
    assert_eq!(totals, [(Some(Vcs::Git), 2, 0.6), (Some(Vcs::Mercurial), 1, 2.0)]);
    assert!(systems.iter().all(|of| of.summary.failures.is_empty()));

    let FleetFindings { whole, systems, .. } = summarize_fleet([lines(&estimates[..1]), vec![broken]].concat(), false);
    assert_eq!((whole.states.len(), whole.failures.len(), systems.len()), (1, 1, 0), "one system is the whole");
}

#[test]
fn faster_and_larger_is_a_trade() {
    let of = |size, cpu| {
        let summary = summarized(&[estimate("a", "1", 1000, (size, cpu))]);
        let codec = summary.states[0].codecs[1].clone();
        (codec.gains, codec.loses, codec.trades)
    };
    assert_eq!(of(1.3, 0.5), (0.0, 0.0, 1.0));
    assert_eq!(of(0.9, 1.05), (1.0, 0.0, 0.0));
    assert_eq!(of(0.97, 0.95), (0.0, 0.0, 0.0));
    assert_eq!(of(1.06, 1.0), (0.0, 1.0, 0.0));
}

#[test]
fn same_content_counts_once() {
    let one = estimate("b", "same", 1000, (0.5, 0.5));
    let fork = estimate("a", "same", 1000, (0.5, 0.5));
    let summary = summarized(&[one, fork, estimate("c", "other", 1000, (1.0, 1.0))]);
    assert_eq!((summary.repositories, summary.duplicates), (2, 1));
    assert_eq!(summary.states[0].codecs[1].worst[1].name, "a", "the first name in order stands for both");
}

#[test]
fn last_end_of_the_work_counts() {
    let message = || "killed".to_owned();
    let mut all = lines(&[estimate("a", "1", 1000, (0.5, 0.5))]);
    all.extend([
        end("a", FleetEnd::TryAgain { message: message() }),
        end("a", FleetEnd::Done { unchecked: None }),
        end("b", FleetEnd::TryAgain { message: message() }),
        end("c", FleetEnd::Failed { message: message() }),
        end("d", FleetEnd::TryAgain { message: message() }),
        end("d", FleetEnd::Empty),
    ]);
    let whole = summarize_fleet(all, false).whole;
    let failures: Vec<(&str, bool)> = whole.failures.iter().map(|of| (of.name.as_str(), of.is_permanent)).collect();
    assert_eq!(failures, [("b", false), ("c", true)]);
    assert_eq!(whole.without_commits, 1, "nothing to estimate is no failure");
}

#[test]
fn worst_are_ten_by_bytes_times_time() {
    let all: Vec<RepositoryEstimate> = (0..12_u32)
        .map(|at| estimate(&format!("repository-{at}"), &at.to_string(), 1000, (1.0 + f64::from(at), 1.0)))
        .collect();
    let worst = summarized(&all).states[0].codecs[1].worst.clone();
    assert_eq!(worst.len(), 10);
    assert_eq!((worst[0].name.as_str(), worst[9].name.as_str()), ("repository-11", "repository-2"));
}

#[test]
fn classes_are_by_size_and_by_what_bytes_hold() {
    let with = |name: &str, bytes, kinds: &[(ObjectKind, ChunkForm, u64, u64)]| {
        let mut of = estimate(name, name, bytes, (0.5, 1.0));
        let mut objects = ObjectSizes::default();
        for (kind, form, stored, payload) in kinds {
            objects.get_mut(*kind, *form).add(*stored, *payload);
        }
        of.as_found.objects = Some(objects);
        of
    };
    let (blob, tree, commit) = (ObjectKind::Blob, ObjectKind::Tree, ObjectKind::Commit);
    let (whole, delta) = (ChunkForm::Whole, ChunkForm::Delta);
    let summary = summarized(&[
        with("history", 999_999, &[(blob, whole, 40, 100), (tree, delta, 30, 40), (commit, whole, 30, 40)]),
        with("images", 1_000_000, &[(blob, whole, 95, 100), (tree, delta, 3, 4)]),
        with("text", 2_000_000_000, &[(blob, whole, 30, 100), (blob, delta, 40, 41), (tree, delta, 30, 40)]),
        estimate("old record", "old", 2_000_000, (2.0, 1.0)),
    ]);
    assert_eq!(summary.without_kind, 1);
    let classes: Vec<_> = summary.states[0].classes.iter().map(|class| (class.class, class.repositories)).collect();
    let expected = [
        (RepositoryClass::Below1Mb, 1),
        (RepositoryClass::Below10Mb, 2),
        (RepositoryClass::From1Gb, 1),
        (RepositoryClass::Histories, 1),
        (RepositoryClass::CompressedFiles, 1),
        (RepositoryClass::CompressibleFiles, 1),
    ];
    assert_eq!(classes, expected);
    let of_two = &summary.states[0].classes[1].codecs[1];
    near(of_two.size_total, 1.5);
    near(of_two.size_mean, 1.0);
}

/// `estimate` and ten runs of `traverse` under each of its codecs.
fn with_runs(estimate: RepositoryEstimate) -> Vec<ResultLine> {
    let mut all = lines(&[estimate]);
    for block in 0..10 {
        for (role, row, name, time, bytes) in [
            (Role::Baseline, 1, "zlib:6", 100_000_000, 1000),
            (Role::BaselineAgain, 1, "zlib:6", 100_000_000, 1000),
            (Role::Candidate, 2, "zstd:9", 75_000_000, 800),
        ] {
            let mut run = record("traverse", role, row, block, time);
            run.variant.spec = Some(SpecText { typed: name.to_owned(), canonical: name.to_owned() });
            run.size.total_bytes = bytes;
            run.place.position = row + u32::from(role == Role::BaselineAgain) * 5;
            all.push(ResultLine::Run(Box::new(run)));
        }
    }
    all
}

#[test]
fn predictions_that_say_nothing_are_not_compared() {
    let mut estimate = estimate("sample", "1", 1000, (0.5, 0.6));
    let mut checks_with_width = |width: f64| {
        let ratio = &mut estimate.as_found.workloads[0].ratios[1];
        ratio.interval = Some(RatioInterval { low: 0.6 - width / 2.0, high: 0.6 + width / 2.0, coverage: 0.95 });
        let checks = summarize_fleet(with_runs(estimate.clone()), false).whole.checks;
        checks.into_iter().map(|check| check.workload).collect::<Vec<_>>()
    };
    assert_eq!(checks_with_width(0.59), [Some("traverse".to_owned()), None]);
    assert_eq!(checks_with_width(0.61), [None], "an interval that is wider than the ratio");
}

#[test]
fn predictions_are_compared_with_measurements() {
    let all = with_runs(estimate("sample", "1", 1000, (0.5, 0.6)));
    let checks = summarize_fleet(all, false).whole.checks;
    let [time, size] = checks.as_slice() else { panic!("{checks:?}") };
    assert_eq!(
        (time.codec.as_str(), time.workload.as_deref(), size.workload.as_deref()),
        ("zstd:9", Some("traverse"), None)
    );
    near(time.predicted, 0.6);
    near(time.measured, 0.75);
    near(time.median_error, 0.2);
    near(size.measured, 0.8);
    near(size.largest_error, 0.375);
}

#[test]
fn numbers_that_are_no_ratios_are_left_out() {
    let mut broken = estimate("a", "1", 0, (f64::NAN, f64::NAN));
    broken.as_found.workloads[0].ratios.clear();
    let summary = summarized(&[broken]);
    assert_eq!(summary.repositories, 1);
    assert!(summary.states[0].codecs.is_empty() && summary.states[0].best().is_none());
    assert_eq!(summarize_fleet(Vec::new(), true), FleetFindings::default());
}
