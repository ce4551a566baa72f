//! The growth of the heap, in a process of its own: other tests would allocate and free meanwhile.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use repackbench_codec::HeapMark;

#[test]
fn growth_is_what_was_allocated_and_not_freed() {
    let mark = HeapMark::now();
    // Far more than what the test harness allocates and frees meanwhile.
    let held = std::hint::black_box(vec![0u8; 1 << 30]);
    assert!((1 << 30..1 << 31).contains(&mark.growth().unwrap()), "{:?}", mark.growth());
    drop(held);
    assert!(mark.growth().is_none_or(|growth| growth < 1 << 30));
}
