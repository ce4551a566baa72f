//! Tests of the module above.

use repackbench_writer::Order;

use super::*;
use crate::session::tests::SetClock;

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
    let clock = SetClock::at(0);
    let limit = |seconds| Some(TimeLimit::BlocksBegin(Duration::from_secs(seconds)));
    let pace = |time| {
        let budget = Budget::new(&clock, time, 2).unwrap();
        Pace { rule: StopRule::exactly(9), budget }
    };
    let mut limited = pace(Some(Duration::from_secs(100)));
    clock.set(40);
    assert_eq!(limited.next_limit().unwrap(), limit(70));
    clock.set(60);
    assert_eq!(limited.next_limit().unwrap(), limit(100));
    assert_eq!(pace(None).next_limit().unwrap(), None);
}
