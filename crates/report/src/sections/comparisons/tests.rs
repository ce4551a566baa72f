//! Tables and notes of made-up comparisons.

use repackbench_records::{Checks, ChosenDeltaCache, DeltaCacheUse, DisturbanceShares, Verdict, WorkloadLabel};

use super::*;
use crate::{
    Style, articles_text,
    fixtures::{comparison, estimate, plain, row},
};

fn bench_table(comparisons: &[WorkloadComparison]) -> String {
    plain(&super::comparisons(comparisons))
}

#[test]
fn table_shows_every_variant_of_every_workload() {
    let traverse = comparison(
        "traverse",
        vec![
            row(Role::AsFound, "", 1190, Some(estimate(1.004, 0.99, 1.02)), 110_400_000),
            row(Role::Baseline, "zlib:6", 1182, None, 110_500_000),
            row(Role::Candidate, "zstd:5", 851, Some(estimate(0.72, 0.702, 0.741)), 92_900_000),
        ],
        Some(estimate(1.001, 0.993, 1.008)),
    );
    let diff = comparison(
        "diff:raw",
        vec![
            row(Role::Baseline, "zlib:6", 85, None, 110_500_000),
            row(Role::Candidate, "zstd:5", 70, Some(estimate(0.82, 0.8, 0.85)), 92_900_000),
        ],
        None,
    );
    let expected = "\
sample (revision 0123456789ab)

workload  variant             CPU   elapsed  CPU ratio          verdict                      size MB  size ratio
------------------------------------------------------------------------------------------------------------------
traverse  as found        1190 ms   1207 ms  1.00 [0.99, 1.02]  inconclusive (-1.0..+2.0 %)      110       0.999
          zlib:6          1182 ms   1199 ms  baseline                                            111       1.000
          zstd:5           851 ms    868 ms  0.72 [0.70, 0.74]  faster                          92.9       0.841
          noise (A / A')                     1.00 [0.99, 1.01]  floor ±1.0 %

diff:raw  zlib:6          85.0 ms  102.0 ms  baseline                                            111       1.000
          zstd:5          70.0 ms   87.0 ms  0.82 [0.80, 0.85]  faster                          92.9       0.841

CPU is user plus system time.
Times are medians. Ratios are to the geometric mean of the baseline's runs A and A' in the same block: median [95 % interval].
Verdicts: a difference is beyond the noise floor (the interval of A / A', at least 1 %); the error rate is 5 % over all 3 ratios (Holm).
Fairness: chunk checksums checked; object hashes not checked; delta-base cache 96M, hits: traverse 71 %, diff:raw 71 %; commit-graph and bitmaps off.
";
    let text = bench_table(&[traverse, diff]);
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn notes_name_the_limits_of_a_comparison() {
    let mut unchecked = row(Role::Candidate, "lz4", 10, None, 5);
    unchecked.variant.checksum = false;
    unchecked.ratio = Some(RatioEstimate { ratio: 0.5, interval: None, pairs: 3 });
    unchecked.counts.insert(MISSING.into(), 25);
    let text = bench_table(&[comparison("checkout", vec![unchecked], None)]);
    assert!(text.contains("lz4 [checksum=no]"), "{text}");
    assert!(text.contains("\nchecksum=no: reading checks nothing"), "{text}");
    assert!(text.contains("checkout: 25 missing objects were skipped."), "{text}");
    assert!(text.contains("(3 blocks; 6 are needed for 95 %)"), "{text}");
    assert!(!text.contains("A dash for a ratio"), "{text}");
}

#[test]
fn missing_ratio_is_a_dash_with_a_note() {
    let text = bench_table(&[comparison("checkout", vec![row(Role::Candidate, "lz4", 10, None, 5)], None)]);
    let candidate = text.lines().find(|line| line.starts_with("checkout")).unwrap();
    assert_eq!(candidate.split_whitespace().nth(6), Some("-"), "{text}");
    assert!(text.contains("\nA dash for a ratio"), "{text}");
}

#[test]
fn floor_gives_the_share_of_the_codec() {
    let rows = |baseline, candidate| {
        vec![
            row(Role::Baseline, "zlib:6", baseline, None, 5),
            row(Role::Candidate, "lz4", candidate, Some(estimate(0.5, 0.4, 0.6)), 5),
        ]
    };
    let whole = comparison("traverse", rows(200, 100), None);
    let floor = comparison("floor:traverse", rows(90, 7), None);
    let text = bench_table(&[whole, floor.clone()]);
    assert!(text.contains("Codec's share of traverse, at least: zlib:6 45 %, lz4 7.0 %."), "{text}");
    let mut of_other_session = floor.clone();
    of_other_session.rows.iter_mut().for_each(|row| row.variant.row += 3);
    let whole = comparison("traverse", rows(200, 100), None);
    assert!(bench_table(&[whole, of_other_session]).contains("at least: zlib:6 45 %, lz4 7.0 %."));
    let other = comparison("diff:raw", rows(200, 100), None);
    assert!(!bench_table(&[other, floor]).contains("Codec's share"));
}

#[test]
fn cold_runs_are_explained() {
    let rows = vec![row(Role::Candidate, "lz4", 10, Some(estimate(0.5, 0.4, 0.6)), 5)];
    let mut cold = comparison("traverse", rows, Some(estimate(1.0, 0.99, 1.01)));
    assert!(!bench_table(&[cold.clone()]).contains("mincore"));
    cold.workload.parameters.insert("cache".into(), "cold".into());
    assert!(bench_table(&[cold]).contains("mincore"));
}

#[test]
fn complete_comparison_has_four_notes() {
    let rows = vec![row(Role::Candidate, "lz4", 10, Some(estimate(0.5, 0.4, 0.6)), 5)];
    let text = bench_table(&[comparison("checkout", rows, Some(estimate(1.0, 0.99, 1.01)))]);
    let (_, notes) = text.rsplit_once("\n\n").unwrap();
    assert_eq!(notes.lines().count(), 4, "{text}");
}

#[test]
fn several_copies_at_once_show_runs_per_second() {
    let rows = vec![
        row(Role::Baseline, "zlib:6", 983, None, 5),
        row(Role::Candidate, "lz4", 483, Some(estimate(0.5, 0.4, 0.6)), 5),
    ];
    let mut copies = comparison("traverse", rows, None);
    (copies.jobs, copies.compared_time) = (4, ComparedTime::Wall);
    let text = bench_table(&[copies.clone()]);
    assert!(text.contains("  runs/s  elapsed ratio"), "{text}");
    assert!(text.contains("  4.00  baseline") && text.contains("  8.00  0.50 [0.40, 0.60]"), "{text}");
    assert!(text.contains("\nThe compared time is elapsed time.\n"), "{text}");
    let alone = comparison("checkout", vec![row(Role::Baseline, "zlib:6", 1, None, 1)], None);
    let both = bench_table(&[copies, alone]);
    assert!(both.contains("elapsed time for traverse, otherwise CPU time. CPU is user plus system time."), "{both}");
}

#[test]
fn notes_name_the_compared_time() {
    let of = |workload: &str, compared_time| {
        let rows = vec![row(Role::Baseline, "zlib:6", 1, None, 1)];
        WorkloadComparison { compared_time, ..comparison(workload, rows, None) }
    };
    let (checkout, traverse) = (of("checkout", ComparedTime::User), of("traverse", ComparedTime::Cpu));
    let both = bench_table(&[checkout.clone(), traverse]);
    assert!(both.contains("\nCPU is user plus system time; for checkout user time only "), "{both}");
    let alone = bench_table(&[checkout]);
    assert!(alone.contains("\nCPU is user time only: the system time"), "{alone}");
}

#[test]
fn notes_explain_the_time_of_writing_files() {
    let of = |workload: &str, compared_time| {
        let rows = vec![row(Role::Baseline, "zlib:6", 1, None, 1)];
        WorkloadComparison { compared_time, ..comparison(workload, rows, None) }
    };
    let checkout = of("checkout", ComparedTime::CpuWithoutWriting);
    let alone = bench_table(std::slice::from_ref(&checkout));
    assert!(
        alone.contains("\nCPU is user plus system time without the time of writing files, which varies.\n"),
        "{alone}"
    );
    let both = bench_table(&[checkout.clone(), of("traverse", ComparedTime::Cpu)]);
    let note = "\nCPU is user plus system time; for checkout without the time of writing files (the system time of writing files \
                varies).\n";
    assert!(both.contains(note), "{both}");
    let command = bench_table(&[of("checkout", ComparedTime::UserOfCommand)]);
    assert!(command.contains("\nCPU is user time only: the system time"), "{command}");

    let older = of("checkout", ComparedTime::User);
    let text = bench_table(&[older.clone(), checkout]);
    let note = "\ncheckout was measured by user CPU time and by CPU time without writing files, in this order: these are \
                different clocks, which are not compared with each other.\n";
    assert!(text.contains(note), "{text}");
    assert!(!text.contains("more than once"), "{text}");
    let old = bench_table(&[older, of("traverse", ComparedTime::Cpu)]);
    assert!(!old.contains("different clocks"), "{old}");
}

#[test]
fn notes_explain_missing_verdicts() {
    let rows = || {
        vec![
            row(Role::Baseline, "zlib:6", 9, None, 5),
            row(Role::Candidate, "lz4", 9, Some(estimate(0.5, 0.4, 0.6)), 5),
        ]
    };
    let mut noisy = comparison("traverse", rows(), Some(estimate(1.1, 1.05, 1.2)));
    (noisy.is_valid, noisy.noise_floor) = (false, Some(0.2));
    noisy.rows[1].verdict = None;
    noisy.disturbance = DisturbanceShares { steal: Some(0.031), cpu_pressure: Some(0.25), ..noisy.disturbance };
    let text = bench_table(&[noisy]);
    assert!(text.contains("none: too noisy") && text.contains("1.10 [1.05, 1.20]  invalid"), "{text}");
    assert!(text.contains("\ntraverse: two reads of the same files differ"), "{text}");
    assert!(text.contains("took processors away 3.1 %, some task waited for a processor 25 %."), "{text}");
    assert!(!text.contains("Verdicts:"), "{text}");

    let mut guessed = comparison("checkout", rows(), Some(estimate(1.0, 0.99, 1.01)));
    (guessed.is_valid, guessed.has_guesses, guessed.noise_floor) = (false, true, Some(0.01));
    guessed.rows[1].verdict = None;
    let text = bench_table(&[guessed]);
    assert!(text.contains("none: too short") && text.contains("1.00 [0.99, 1.01]  invalid"), "{text}");
    assert!(
        text.contains("\ncheckout: the kernel derives user time from timer ticks, and some runs had too few"),
        "{text}"
    );
    assert!(!text.contains("something disturbed the runs"), "{text}");

    let mut short = comparison("traverse", rows(), Some(estimate(1.0, 0.99, 1.01)));
    (short.cells, short.blocks_for_verdicts) = (30, 11);
    short.rows[1].verdict = Some(Verdict::Inconclusive);
    let text = bench_table(&[short]);
    assert!(text.contains("0.50 [0.40, 0.60]  too few blocks "), "{text}");
    assert!(text.contains("\n10 blocks are too few: a verdict on this many ratios needs 11.\n"), "{text}");
}

#[test]
fn rows_read_under_other_conditions_are_named() {
    let mut unchecked = row(Role::Candidate, "lz4", 9, None, 5);
    unchecked.checks = unchecked.checks.map(|checks| Checks { chunk_checksums: false, ..checks });
    unchecked.delta_cache = Some(DeltaCacheUse { limit_bytes: None, hits: 9, misses: 1 });
    let mut again = unchecked.clone();
    again.variant.delta_cache = Some(ChosenDeltaCache { limit_bytes: None });
    let rows = vec![row(Role::Baseline, "zlib:6", 9, None, 5), unchecked, again];
    let text = bench_table(&[comparison("traverse", rows, None)]);
    assert!(text.contains("chunk checksums checked, but not in lz4;"), "{text}");
    assert!(
        text.contains("cache 96M, hits: traverse 71 %; delta-base cache unlimited, hits: traverse 90 %;"),
        "{text}"
    );
    let mut old = row(Role::Baseline, "zlib:6", 9, None, 5);
    (old.checks, old.delta_cache) = (None, None);
    assert!(!bench_table(&[comparison("traverse", vec![old], None)]).contains("Fairness"));
}

#[test]
fn each_repository_has_its_own_table() {
    let first = comparison("traverse", vec![row(Role::Baseline, "zlib:6", 1, None, 1)], None);
    let mut second = first.clone();
    second.repository.name = "other\u{1b}".into();
    second.repository.head = None;
    let third = WorkloadComparison {
        workload: WorkloadLabel { name: "checkout".into(), ..first.workload.clone() },
        ..first.clone()
    };
    let text = bench_table(&[first, second, third]);
    assert_eq!(text.matches("sample (revision 0123456789ab)").count(), 1, "{text}");
    assert!(text.contains("other\\u{1b}\n\n"), "{text}");
    assert!(text.find("checkout").unwrap() < text.find("other").unwrap(), "{text}");
    assert_eq!(bench_table(&[]), "");
}

#[test]
fn each_machine_has_its_own_table() {
    let rows = || vec![row(Role::Baseline, "zlib:6", 1182, None, 110_500_000)];
    let mut elsewhere = comparison("traverse", rows(), None);
    elsewhere.host.cores = Some(64);
    let one = bench_table(&[comparison("traverse", rows(), None), comparison("checkout", rows(), None)]);
    assert!(one.starts_with("sample (revision 0123456789ab)\n\n") && !one.contains(") on "), "{one}");
    let two = bench_table(&[comparison("traverse", rows(), None), elsewhere, comparison("checkout", rows(), None)]);
    let headings: Vec<&str> = two.lines().filter_map(|line| Some(line.split_once(") on ")?.1)).collect();
    assert_eq!(headings, ["an unknown machine", "64 cores"]);
    assert_eq!(two.lines().filter(|line| line.starts_with("workload ")).count(), 2, "{two}");
}

#[test]
fn narrow_screen_has_a_fitting_table_per_workload() {
    let rows = || {
        vec![
            row(Role::Baseline, "zlib:6", 9, None, 5),
            row(Role::Candidate, "commit=zstd:19", 8, Some(estimate(0.9, 0.8, 1.2)), 5),
        ]
    };
    let noise = Some(estimate(1.0, 0.98, 1.02));
    let mut pickaxe = comparison("diff:pickaxe", rows(), noise);
    pickaxe.workload.parameters.insert("string".into(), "a text that is looked for in a long history".into());
    let both = [comparison("traverse", rows(), noise), pickaxe];
    let wide = articles_text(&comparisons(&both), Style { width: Some(200), ..Style::PLAIN });
    assert_eq!(wide.matches("\nworkload ").count(), 1, "{wide}");
    let narrow = articles_text(&comparisons(&both), Style { width: Some(80), ..Style::PLAIN });
    assert_eq!(narrow.matches("\nvariant ").count(), 2, "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    assert!(narrow.contains("0.90 [0.80, 1.20]  inconclusive\n"), "{narrow}");
}

#[test]
fn details_of_repository_do_not_split_its_table() {
    let rows = || vec![row(Role::Baseline, "zlib:6", 1182, None, 110_500_000)];
    let mut without_head = comparison("traverse", rows(), None);
    without_head.repository.head = None;
    let mut newer = comparison("checkout", rows(), None);
    newer.repository.objects = Some(3);
    let text = bench_table(&[without_head, newer]);
    assert_eq!(text.lines().filter(|line| line.starts_with("workload ")).count(), 1, "{text}");
    assert!(text.starts_with("sample (revision 0123456789ab)\n\n"), "{text}");
    assert!(!text.contains("more than once"), "{text}");
}

#[test]
fn note_explains_repeated_workload() {
    let of = |spec| comparison("traverse", vec![row(Role::Baseline, spec, 1182, None, 110_500_000)], None);
    let text = bench_table(&[of("zlib:6"), of("zlib:9")]);
    assert!(text.contains("appears more than once: its sessions had different baselines"), "{text}");
}
