//! Cold reads of a disk as they were measured, beside what the device model predicts.

use std::time::Duration;

use repackbench_records::{DeviceCalibration, DeviceCheck, DeviceRecord};

/// One way to read the trace: what the model predicts and what was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColdTimes {
    /// The modelled time.
    pub modelled: Duration,
    /// The measured time of each copy, shortest first.
    pub measured: Vec<Duration>,
}

impl ColdTimes {
    fn new(modelled: Duration, mut measured: Vec<Duration>) -> Self {
        measured.sort_unstable();
        ColdTimes { modelled, measured }
    }

    /// The median of the measured times; the shorter of the two in the middle.
    pub fn median(&self) -> Option<Duration> {
        self.measured.get(self.measured.len().saturating_sub(1) / 2).copied()
    }
}

/// The times of a check: of the trace's pages alone, and of the workload. The workload's measured time is how much longer it takes
/// cold than warm.
pub fn cold_times(check: &DeviceCheck) -> [ColdTimes; 2] {
    let pages = check.copies.iter().map(|copy| copy.pages).collect();
    let workload = check.copies.iter().map(|copy| copy.workload_cold.saturating_sub(copy.workload_warm)).collect();
    [ColdTimes::new(check.modelled_pages, pages), ColdTimes::new(check.modelled_workload, workload)]
}

/// The device that `calibration` measured, which reads pages of `page_len` bytes without readahead. Its bandwidth is that of the long
/// read; its latency is the mean time of a single read, less the time to transfer a page.
pub fn calibrated_device(calibration: &DeviceCalibration, page_len: u64) -> DeviceRecord {
    let bytes_per_second = calibration.long_bytes.max(1) as f64 / calibration.long_time.as_secs_f64().max(1e-9);
    let transfer = Duration::try_from_secs_f64(page_len as f64 / bytes_per_second).unwrap_or_default();
    let single = calibration.single_time / calibration.single_reads.max(1);
    let latency = single.saturating_sub(transfer);
    DeviceRecord { name: "this disk".to_owned(), latency, bytes_per_second, readahead_bytes: page_len }
}

#[cfg(test)]
mod tests {
    use repackbench_records::{ColdCopyReads, SCHEMA_VERSION};

    use super::*;

    #[test]
    fn device_has_the_bandwidth_of_long_reads() {
        let calibration = DeviceCalibration {
            single_reads: 100,
            single_time: Duration::from_millis(500),
            long_bytes: 8_192_000,
            long_time: Duration::from_secs(2),
        };
        let device = calibrated_device(&calibration, 4096);
        // 4096 bytes take 1 ms of the 5 ms of a single read.
        assert_eq!((device.bytes_per_second, device.latency), (4_096_000.0, Duration::from_millis(4)));
        let nothing = DeviceCalibration { single_reads: 0, long_bytes: 0, long_time: Duration::ZERO, ..calibration };
        assert!(calibrated_device(&nothing, 4096).bytes_per_second > 0.0);
    }

    #[test]
    fn a_workload_s_cold_time_leaves_out_the_warm_one() {
        let ms = Duration::from_millis;
        let copy = |pages, workload_cold, workload_warm| ColdCopyReads {
            pages: ms(pages),
            workload_cold: ms(workload_cold),
            workload_warm: ms(workload_warm),
        };
        let calibration = DeviceCalibration { single_reads: 1, single_time: ms(1), long_bytes: 1, long_time: ms(1) };
        let check = DeviceCheck {
            schema: SCHEMA_VERSION,
            program_version: "0.1.0".into(),
            workload: "traverse".into(),
            store_bytes: 1,
            device: calibrated_device(&calibration, 4096),
            calibration,
            readahead_bytes: None,
            modelled_readahead_bytes: 131_072,
            modelled_pages: ms(25),
            modelled_workload: ms(9),
            copies: vec![copy(30, 15, 5), copy(10, 7, 8), copy(40, 12, 4), copy(20, 30, 10)],
            command: None,
        };
        let [pages, workload] = cold_times(&check);
        assert_eq!((pages.modelled, pages.measured.as_slice()), (ms(25), &[ms(10), ms(20), ms(30), ms(40)][..]));
        assert_eq!(pages.median(), Some(ms(20)));
        assert_eq!((workload.modelled, workload.measured.as_slice()), (ms(9), &[ms(0), ms(8), ms(10), ms(20)][..]));
        assert_eq!(ColdTimes::new(ms(1), Vec::new()).median(), None);
    }
}
