//! Comparisons of made-up records.

use repackbench_records::{DeltaOrigin, Disturbance, RunPlace, Verdict, fixtures::record};

use super::*;

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
}

#[test]
fn ratio_is_to_geometric_mean_of_baseline_within_block() {
    let mut records = Vec::new();
    // The second and third block run on a machine that is 10 and 100 times slower: within blocks nothing changes.
    for (block, slow) in [(0, 1), (1, 10), (2, 100)] {
        records.push(record("traverse", Role::Candidate, 2, block, 300 * slow));
        records.push(record("traverse", Role::Baseline, 1, block, 400 * slow));
        records.push(record("traverse", Role::BaselineAgain, 1, block, 900 * slow));
        records.push(record("traverse", Role::AsFound, 0, block, 600 * slow));
    }
    let [comparison] = compare_records(&records).try_into().unwrap();
    let labels: Vec<_> = comparison.rows.iter().map(|row| row.variant.label()).collect();
    assert_eq!(labels, ["as found", "codec-1", "codec-2"]);
    let [as_found, baseline, candidate] = comparison.rows.try_into().unwrap();
    // The square root of 400 * 900 is 600.
    near(as_found.ratio.unwrap().ratio, 1.0);
    near(candidate.ratio.unwrap().ratio, 0.5);
    near(comparison.noise.unwrap().ratio, 400.0 / 900.0);
    assert_eq!(candidate.ratio.unwrap().pairs, 3);
    assert_eq!(candidate.ratio.unwrap().interval, None);
    assert_eq!(baseline.ratio, None);
    assert_eq!((baseline.runs, baseline.compared_median), (6, Duration::from_nanos(6500)));
    assert_eq!((candidate.runs, candidate.wall_median), (3, Duration::from_nanos(6000)));
    assert_eq!((candidate.size.total_bytes, candidate.counts["objects"]), (2, 3));
}

#[test]
fn incomplete_blocks_give_no_pair() {
    let mut records = Vec::new();
    for block in 0..4 {
        records.push(record("checkout", Role::Baseline, 1, block, if block == 0 { 0 } else { 100 }));
        records.push(record("checkout", Role::BaselineAgain, 1, block, if block == 1 { 0 } else { 100 }));
        if block != 2 {
            records.push(record("checkout", Role::Candidate, 2, block, 50));
        }
    }
    let [comparison] = compare_records(&records).try_into().unwrap();
    // Block 0 has no A, block 1 no A', block 2 no candidate.
    assert_eq!(comparison.rows[1].ratio.unwrap().pairs, 1);
    assert_eq!(comparison.rows[1].runs, 3);
    assert_eq!(comparison.noise.unwrap().pairs, 2);
}

#[test]
fn records_name_the_compared_time() {
    let with_system_time = |role, row, user_ns, sys_ns, compared_time| {
        let mut record = record("checkout", role, row, 0, user_ns);
        record.sample.sys_ns = sys_ns;
        Record { compared_time, ..record }
    };
    for (compared_time, ratio, median_ns) in [(ComparedTime::Cpu, 3.0, 600), (ComparedTime::User, 0.5, 50)] {
        let records = [
            with_system_time(Role::Baseline, 1, 100, 100, compared_time),
            with_system_time(Role::BaselineAgain, 1, 100, 100, compared_time),
            with_system_time(Role::Candidate, 2, 50, 550, compared_time),
        ];
        let [comparison] = compare_records(&records).try_into().unwrap();
        assert_eq!(comparison.compared_time, compared_time);
        near(comparison.rows[1].ratio.unwrap().ratio, ratio);
        assert_eq!(comparison.rows[1].compared_median, Duration::from_nanos(median_ns));
    }
    let mixed = [
        with_system_time(Role::Baseline, 1, 100, 100, ComparedTime::Cpu),
        with_system_time(Role::Candidate, 2, 50, 550, ComparedTime::User),
    ];
    assert_eq!(compare_records(&mixed).len(), 2, "different times are not compared with each other");
}

#[test]
fn different_clocks_are_compared_separately() {
    let session = |number, compared_time, writing_ns| {
        let mut records = steady("checkout", 9, 1.0, &[0.5]);
        for record in &mut records {
            (record.compared_time, record.place.session) = (compared_time, number);
            record.sample.writing_ns = writing_ns;
            record.iterations = 1_000_000_000;
        }
        records
    };
    let times = [ComparedTime::User, ComparedTime::CpuWithoutWriting, ComparedTime::UserOfCommand];
    let sessions = [session(1, times[0], None), session(2, times[1], Some(10)), session(3, times[2], None)];
    let mut records = sessions.concat();
    // A session stopped before its baseline was measured joins those with the same clock.
    let stopped = Record { place: RunPlace { session: 4, ..records[2].place }, ..records[2].clone() };
    records.push(Record { compared_time: times[1], ..stopped });
    let comparisons = compare_records(&records);
    let found: Vec<_> = comparisons.iter().map(|of| (of.compared_time, of.rows[0].runs, of.rows[1].runs)).collect();
    assert_eq!(found, [(times[0], 18, 9), (times[1], 18, 10), (times[2], 18, 9)]);
    let medians: Vec<_> = comparisons.iter().map(|of| of.rows[0].compared_median.as_nanos()).collect();
    assert_eq!(medians[0], medians[1] + 10, "writing is taken off");
    assert_eq!(medians[0], medians[2]);
}

#[test]
fn user_time_of_short_commands_gives_no_verdicts() {
    let of_runs = |compared_time, iterations| {
        let mut records = steady("checkout", 12, 1.0, &[0.5]);
        for record in &mut records {
            (record.compared_time, record.iterations) = (compared_time, iterations);
        }
        let [comparison] = compare_records(&records).try_into().unwrap();
        (comparison.is_valid, comparison.has_guesses, comparison.rows[1].verdict)
    };
    let faster = Some(Verdict::Faster);
    assert_eq!(of_runs(ComparedTime::UserOfCommand, 1_000_000_000), (true, false, faster));
    assert_eq!(of_runs(ComparedTime::UserOfCommand, 100), (false, true, None));
    assert_eq!(of_runs(ComparedTime::User, 100), (true, false, faster), "older records are judged as they were");
    assert_eq!(of_runs(ComparedTime::CpuWithoutWriting, 1), (true, false, faster));
}

#[test]
fn elapsed_time_has_its_own_noise_and_verdict() {
    let mut records = steady("checkout", 12, 1.0, &[0.5]);
    for record in &mut records {
        // The processor works half as long, and the disk keeps everything waiting as before.
        record.sample.wall_ns = 2_000_000;
    }
    let [comparison] = compare_records(&records).try_into().unwrap();
    let row = &comparison.rows[1];
    let elapsed = row.elapsed.unwrap();
    assert_eq!((row.verdict, elapsed.verdict), (Some(Verdict::Faster), Some(Verdict::Same)));
    near(elapsed.ratio.ratio, 1.0);
    assert!(comparison.elapsed_noise.is_some() && comparison.rows[0].elapsed.is_none());
    for record in &mut records {
        record.compared_time = ComparedTime::Wall;
    }
    let [comparison] = compare_records(&records).try_into().unwrap();
    assert_eq!((comparison.rows[1].elapsed, comparison.elapsed_noise), (None, None), "it is compared itself");
}

#[test]
fn six_blocks_give_an_interval() {
    let mut records = Vec::new();
    for block in 0..6 {
        records.push(record("checkout", Role::Baseline, 1, block, 1000));
        records.push(record("checkout", Role::BaselineAgain, 1, block, 1000));
        records.push(record("checkout", Role::Candidate, 2, block, 700 + 10 * u64::from(block)));
    }
    let [comparison] = compare_records(&records).try_into().unwrap();
    let interval = comparison.rows[1].ratio.unwrap().interval.unwrap();
    near(interval.low, 0.70);
    near(interval.high, 0.75);
    near(comparison.noise_floor.unwrap(), 0.01);
    near(comparison.rows[1].adjusted_p.unwrap(), 2.0 / 64.0);
    assert_eq!((comparison.rows[1].verdict, comparison.cells), (Some(Verdict::Faster), 1));
    assert_eq!(comparison.blocks_for_verdicts, 6);
    assert_eq!(comparison.rows[0].verdict, None, "the baseline is no faster than itself");
    near(widest_half_width(&comparison).unwrap(), (0.75_f64.ln() - 0.70_f64.ln()) / 2.0);
}

/// `blocks` blocks of a workload in which variants take these multiples of the baseline's time.
fn steady(workload: &str, blocks: u32, again: f64, variants: &[f64]) -> Vec<Record> {
    let time = |factor: f64| (1e6 * factor) as u64;
    let mut records = Vec::new();
    for block in 0..blocks {
        records.push(record(workload, Role::Baseline, 0, block, time(1.0)));
        records.push(record(workload, Role::BaselineAgain, 0, block, time(again)));
        for (row, factor) in (1..).zip(variants) {
            records.push(record(workload, Role::Candidate, row, block, time(*factor)));
        }
    }
    records
}

fn verdicts(comparison: &WorkloadComparison) -> Vec<Option<Verdict>> {
    comparison.rows.iter().skip(1).map(|row| row.verdict).collect()
}

#[test]
fn verdicts_are_corrected_for_number_of_ratios() {
    let six = steady("traverse", 6, 1.0, &[0.5, 1.0, 2.0]);
    let [comparison] = compare_records(&six).try_into().unwrap();
    let inconclusive = Some(Verdict::Inconclusive);
    assert_eq!(verdicts(&comparison), [inconclusive, Some(Verdict::Same), inconclusive], "six blocks are too few");
    let both = [steady("traverse", 9, 1.0, &[0.5, 1.0, 2.0]), steady("checkout", 9, 1.0, &[0.9])].concat();
    let [traverse, checkout] = compare_records(&both).try_into().unwrap();
    assert_eq!(verdicts(&traverse), [Some(Verdict::Faster), Some(Verdict::Same), Some(Verdict::Slower)]);
    assert_eq!((verdicts(&checkout), checkout.cells), (vec![Some(Verdict::Faster)], 4));
}

#[test]
fn variants_are_also_compared_with_the_searched_baseline() {
    let mut records = steady("traverse", 9, 1.0, &[0.8, 0.4]);
    let spec = records[0].variant.spec.clone();
    for record in &mut records {
        match record.variant.role {
            Role::Candidate => record.variant.deltas = DeltaOrigin::Recomputed,
            _ => continue,
        }
        if record.variant.row == 1 {
            record.variant.spec.clone_from(&spec);
        }
    }
    let [comparison] = compare_records(&records).try_into().unwrap();
    let [baseline, searched, codec] = &comparison.rows[..] else { panic!("{:?}", comparison.rows) };
    assert_eq!([baseline, searched].map(|row| row.to_reference), [None, None]);
    let direct = codec.to_reference.unwrap();
    assert_eq!((direct.row, direct.ratio.pairs), (1, 9));
    near(direct.ratio.ratio, 0.5);
}

#[test]
fn noise_widens_floor_and_can_forbid_verdicts() {
    let [comparison] = compare_records(&steady("traverse", 9, 1.009, &[0.97])).try_into().unwrap();
    assert!(comparison.is_valid);
    assert_eq!(verdicts(&comparison), [Some(Verdict::Faster)]);
    let [disturbed] = compare_records(&steady("traverse", 9, 1.05, &[0.5])).try_into().unwrap();
    assert!(!disturbed.is_valid && disturbed.noise_floor.unwrap() > 0.049);
    assert_eq!(verdicts(&disturbed), [None]);
    assert!(disturbed.rows[1].ratio.unwrap().interval.is_some(), "the figures are still there");
}

#[test]
fn precision_needs_an_interval_for_every_ratio() {
    let few = compare_records(&steady("traverse", 5, 1.0, &[0.5]));
    assert_eq!(widest_half_width(&few[0]), None);
    assert_eq!((few[0].noise_floor, few[0].rows[1].verdict), (None, None));
    let enough = compare_records(&steady("traverse", 6, 1.0, &[0.5]));
    assert_eq!(widest_half_width(&enough[0]), Some(0.0));
    let mut nothing = steady("traverse", 2, 1.0, &[0.5]);
    let of_baseline = nothing.iter_mut().filter(|record| record.variant.role != Role::Candidate);
    of_baseline.for_each(|record| record.sample.user_ns = 0);
    let nothing = compare_records(&nothing);
    assert_eq!((nothing[0].rows[1].ratio, widest_half_width(&nothing[0])), (None, Some(0.0)));
}

#[test]
fn runs_of_several_copies_get_interval_over_copies() {
    let mut records = steady("checkout", 12, 1.0, &[0.5]);
    for record in &mut records {
        record.place.copy = Some(record.place.block % 4);
        // One of the copies is at a place where reading takes twice as long.
        if record.variant.role == Role::Candidate && record.place.copy == Some(3) {
            record.sample.user_ns *= 2;
        }
    }
    let [comparison] = compare_records(&records).try_into().unwrap();
    let interval = comparison.rows[1].ratio.unwrap().interval.unwrap();
    assert!(interval.low < 0.4 && interval.high > 1.0, "{interval:?}");
    assert_eq!(comparison.blocks_for_verdicts, 0);
    for record in &mut records {
        record.place.copy = Some(0);
    }
    let [one_copy] = compare_records(&records).try_into().unwrap();
    assert_eq!(one_copy.rows[1].ratio.unwrap().interval, None, "one copy says nothing of others");
}

#[test]
fn disturbances_are_shares_of_runs_that_report_them() {
    let mut records = steady("traverse", 2, 1.0, &[]);
    records[0].disturbance =
        Disturbance { elapsed_ns: Some(100), steal_ns: Some(20), cpu_pressure_ns: Some(0), ..Disturbance::default() };
    records[1].disturbance = Disturbance { elapsed_ns: Some(300), steal_ns: Some(0), ..Disturbance::default() };
    let [comparison] = compare_records(&records).try_into().unwrap();
    let expected = DisturbanceShares { steal: Some(0.05), cpu_pressure: Some(0.0), ..DisturbanceShares::default() };
    assert_eq!(comparison.disturbance, expected);
}

#[test]
fn machines_are_separate_and_sessions_joined() {
    let mut here = steady("traverse", 9, 1.0, &[0.5]);
    let mut there = steady("traverse", 9, 1.0, &[2.0]);
    for (records, cpu, session) in [(&mut here, "fast", 7), (&mut there, "slow", 8)] {
        for record in records.iter_mut() {
            record.host.cpu_model = Some(cpu.to_owned());
            record.place.session = session;
        }
    }
    // The same session, resumed under another kernel.
    here[20].host.kernel = Some("newer".into());
    let [fast, slow] = compare_records(&[here, there].concat()).try_into().unwrap();
    assert_eq!((fast.host.cpu_model.as_deref(), slow.host.cpu_model.as_deref()), (Some("fast"), Some("slow")));
    near(fast.rows[1].ratio.unwrap().ratio, 0.5);
    near(slow.rows[1].ratio.unwrap().ratio, 2.0);
    assert_eq!((fast.rows[1].runs, slow.rows[1].runs), (9, 9));
    assert_eq!(fast.cells, 2, "both tables are one family");
}

/// A session beside another baseline.
fn beside(baseline: &str, session: u64, slow: u64) -> Vec<Record> {
    let mut records = steady("traverse", 9, 1.0, &[0.5]);
    for record in &mut records {
        record.place.session = session;
        if record.variant.role != Role::Candidate {
            record.variant.spec = Some(SpecText { typed: baseline.into(), canonical: baseline.into() });
            record.sample.user_ns *= slow;
        }
    }
    records
}

#[test]
fn ratios_to_different_baselines_are_separate() {
    let mut both = [beside("zlib:6", 7, 1), beside("zlib:9", 8, 4)].concat();
    // A third session was stopped in its first run.
    both.push(Record { place: RunPlace { session: 9, ..both[2].place }, ..both[2].clone() });
    let [six, nine] = compare_records(&both).try_into().unwrap();
    for (comparison, baseline, ratio) in [(six, "zlib:6", 0.5), (nine, "zlib:9", 0.125)] {
        let labels: Vec<_> = comparison.rows.iter().map(|row| row.variant.label()).collect();
        assert_eq!(labels, [baseline, "codec-1"]);
        near(comparison.rows[1].ratio.unwrap().ratio, ratio);
        assert_eq!(comparison.rows[1].ratio.unwrap().pairs, 9);
    }
    // The same codec by another decoder is another baseline too.
    let mut again = [beside("zlib:6", 7, 1), beside("zlib:6", 8, 1)].concat();
    assert_eq!(compare_records(&again).len(), 1);
    again.iter_mut().skip(27).for_each(|record| record.decoder = "other".into());
    assert_eq!(compare_records(&again).len(), 2);
}

#[test]
fn sessions_with_other_content_are_separate() {
    let mut both = [beside("zlib:6", 7, 1), beside("zlib:6", 8, 1)].concat();
    both.iter_mut().skip(27).for_each(|record| record.digest.hex = "ab".into());
    assert_eq!(compare_records(&both).len(), 2);
    let mut both = [beside("zlib:6", 7, 1), beside("zlib:6", 8, 1)].concat();
    both.iter_mut().skip(27).for_each(|record| record.jobs = 4);
    assert_eq!(compare_records(&both).len(), 2, "nor are several copies at once pooled with one");
}

#[test]
fn variant_has_one_row_under_its_first_spelling() {
    let mut later = beside("zlib:6", 8, 1);
    for spec in later.iter_mut().filter_map(|record| record.variant.spec.as_mut()) {
        spec.typed.push_str(",default");
    }
    later.extend(later.clone());
    later.iter_mut().skip(27).for_each(|record| record.workload.name = "checkout".into());
    let mut records = [beside("zlib:6", 7, 1), later].concat();
    let comparisons = compare_records(&records);
    assert_eq!(comparisons.len(), 2);
    for (comparison, runs) in comparisons.iter().zip([18, 9]) {
        let rows: Vec<_> = comparison.rows.iter().map(|row| (row.variant.label(), row.runs)).collect();
        assert_eq!(rows, [("zlib:6".into(), 2 * runs), ("codec-1".into(), runs)]);
    }
    unify_spellings(&mut records);
    assert!(records.iter().all(|record| !record.variant.label().contains("default")));
}

#[test]
fn names_of_self_test_are_separate_rows() {
    let mut records = steady("traverse", 9, 1.0, &[1.0, 1.0]);
    for record in &mut records {
        let row = record.variant.row;
        record.variant.self_test_name = (row > 0).then(|| row.to_string());
        record.variant.spec = Some(SpecText { typed: "zlib:6".into(), canonical: "zlib:6".into() });
    }
    let [comparison] = compare_records(&records).try_into().unwrap();
    let labels: Vec<_> = comparison.rows.iter().map(|row| row.variant.label()).collect();
    assert_eq!(labels, ["zlib:6", "zlib:6 #1", "zlib:6 #2"]);
}

#[test]
fn workloads_are_separate_and_pairs_need_one_session() {
    let mut records = vec![
        record("traverse", Role::Baseline, 1, 0, 100),
        record("checkout", Role::Baseline, 1, 0, 100),
        record("traverse", Role::BaselineAgain, 1, 0, 100),
    ];
    let mut other_session = record("traverse", Role::Candidate, 2, 0, 50);
    other_session.place.seed = 2;
    records.push(other_session);
    let [traverse, checkout] = compare_records(&records).try_into().unwrap();
    assert_eq!((&*traverse.workload.name, &*checkout.workload.name), ("traverse", "checkout"));
    assert_eq!(traverse.rows[1].ratio, None, "no block holds both the candidate and the baseline");
    assert_eq!(traverse.noise.unwrap().pairs, 1);
    assert_eq!(checkout.noise, None);
    assert!(compare_records(&[]).is_empty());
}
