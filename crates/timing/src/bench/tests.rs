//! Tests of the module above.

use repackbench_writer::Order;

use super::*;

#[test]
fn a_session_has_at_least_as_many_blocks_as_verdicts_take() {
    let until = |min, max| Blocks::UntilPrecise { min, max, precision: 0.01 };
    assert_eq!(until(None, 40).rule(1).min_blocks, 6);
    assert_eq!(until(None, 40).rule(30).min_blocks, blocks_for_verdicts(30));
    assert!(blocks_for_verdicts(30) > 6);
    assert_eq!(until(Some(3), 40).rule(30).min_blocks, 3, "the user knows");
    assert_eq!(until(None, 4).rule(30), StopRule { min_blocks: 4, max_blocks: 4, precision: 0.01_f64.ln_1p() });
    assert_eq!(Blocks::Exactly(2).rule(30), StopRule::exactly(2));
}

#[test]
fn what_is_encoded_is_not_compared_across_stores() {
    let check = |workload: &str, stores: &[StoreKind]| {
        let layouts: Vec<Layout> = stores.iter().map(|store| Layout { store: *store, ..Layout::default() }).collect();
        check_payloads(&["traverse".parse().unwrap(), workload.parse().unwrap()], &layouts)
    };
    let refused = check("encode", &StoreKind::ALL).unwrap_err();
    assert!(refused.contains("--store loose holds others: expected --store pack alone"), "{refused}");
    assert!(check("encode", &[StoreKind::Btree]).is_err(), "the source is measured beside it");
    assert_eq!(check("encode", &[StoreKind::AsFound]), Ok(()));
    assert_eq!(check("ingest", &StoreKind::ALL), Ok(()), "new objects are loose ones everywhere");
    let orders = Order::ALL.map(Layout::in_order);
    assert_eq!(check_payloads(&[WorkloadSpec::Encode], &orders), Ok(()), "the same payloads in another order");
}

#[test]
fn workloads_share_the_time_that_is_left() {
    let seconds = Duration::from_secs;
    let rule = StopRule::exactly(9);
    let mut pace = Pace { rule, end: Some(seconds(100)), deadline: None, workloads_left: 2 };
    pace.start_workload(seconds(40));
    assert!(!pace.is_late(seconds(69)) && pace.is_late(seconds(70)));
    pace.start_workload(seconds(60));
    assert!(!pace.is_late(seconds(99)) && pace.is_late(seconds(100)));
    let mut without = Pace { rule, end: None, deadline: None, workloads_left: 1 };
    without.start_workload(seconds(1));
    assert!(!without.is_late(Duration::MAX));
}
