#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| repackbench_fuzzing::hg::visibility(data));
