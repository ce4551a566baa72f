//! Files of results.

use repackbench_records::{read_results, write_result};

/// Lines of results. What can be read is written as it was read.
pub fn lines(data: &[u8]) {
    for line in read_results(data).flatten() {
        let mut written = Vec::new();
        write_result(&mut written, &line).expect("to write what was read");
        let again = read_results(written.as_slice()).next().expect("a line").expect("to read what was written");
        let mut twice = Vec::new();
        write_result(&mut twice, &again).expect("to write what was read");
        assert_eq!(String::from_utf8_lossy(&written), String::from_utf8_lossy(&twice));
    }
}
