//! Findings from access traces: a column for each modelled device, and the touched pages.

use repackbench_records::{ModelledCold, ModelledDevice, VariantComparison, WorkloadComparison};

use crate::{
    document::plain_text,
    number::{megabytes, single_time, time_ratio},
    sections::names::workload_name,
};

/// Every modelled device, in order of appearance.
pub(super) fn devices(comparisons: &[&WorkloadComparison]) -> Vec<ModelledDevice> {
    let mut devices: Vec<ModelledDevice> = Vec::new();
    let rows = comparisons.iter().flat_map(|comparison| &comparison.rows);
    for modelled in rows.filter_map(|row| row.reads.as_ref()).flat_map(|reads| &reads.modelled) {
        if !devices.contains(&modelled.device) {
            devices.push(modelled.device.clone());
        }
    }
    devices
}

/// The header of a device's column.
pub(super) fn header(device: &ModelledDevice) -> String {
    format!("modelled cold, {}", device.name)
}

/// The modelled time of a row on `device` and its ratio to the baseline's; a dash if it was not modelled.
pub(super) fn cell(comparison: &WorkloadComparison, row: &VariantComparison, device: &ModelledDevice) -> String {
    let Some(modelled) = on(row, device) else { return "-".to_owned() };
    let baseline = comparison.baseline();
    let time = single_time(modelled.time());
    match baseline.and_then(|row| on(row, device)).filter(|reference| reference.time_ns > 0) {
        Some(reference) => format!("{time} ({})", time_ratio(modelled.time_ns as f64 / reference.time_ns as f64)),
        None => time,
    }
}

fn on<'a>(row: &'a VariantComparison, device: &ModelledDevice) -> Option<&'a ModelledCold> {
    row.reads.as_ref()?.modelled.iter().find(|modelled| modelled.device == *device)
}

/// The meaning of the columns, the workloads without a trace, and the touched bytes.
pub(super) fn notes(comparisons: &[&WorkloadComparison]) -> Vec<String> {
    let mut notes = Vec::new();
    if !devices(comparisons).is_empty() {
        notes.push(
            "Modelled cold: the time of waiting for the device with an empty page cache (ratio to the baseline), by the model in\n\
             docs/method.md from an access trace. It is not measured, so it has no verdict."
                .to_owned(),
        );
        let without = |comparison: &&&WorkloadComparison| comparison.rows.iter().all(|row| row.reads.is_none());
        let names: Vec<String> =
            comparisons.iter().filter(without).map(|it| plain_text(&workload_name(&it.workload))).collect();
        if !names.is_empty() {
            notes.push(format!("No access trace, so nothing is modelled: {}.", names.join(", ")));
        }
    }
    notes.extend(comparisons.iter().filter_map(|comparison| touched(comparison)));
    notes
}

/// The bytes of pages that each row of a workload touches.
fn touched(comparison: &WorkloadComparison) -> Option<String> {
    let of_row = |row: &VariantComparison| {
        let bytes = row.reads.as_ref()?.touched_bytes;
        Some(format!("{} {} MB", plain_text(&row.variant.label()), megabytes(bytes)))
    };
    let rows: Vec<String> = comparison.rows.iter().filter_map(of_row).collect();
    let workload = plain_text(&workload_name(&comparison.workload));
    (!rows.is_empty()).then(|| format!("Page cache touched by {workload}: {}.", rows.join(", ")))
}

#[cfg(test)]
mod tests {
    use repackbench_records::{Role, TracedReads};

    use super::*;
    use crate::{
        fixtures::{comparison, estimate, plain, row},
        sections::comparisons,
    };

    #[test]
    fn modelled_times_have_columns_but_no_verdicts() {
        let device = |name: &str| ModelledDevice {
            name: name.into(),
            latency_ns: 1,
            bytes_per_second: 1,
            readahead_bytes: 4096,
        };
        let reads = |touched_bytes, hdd, nvme| {
            let on = |name, time_ns| ModelledCold { device: device(name), reads: 1, seeks: 1, bytes: 1, time_ns };
            Some(TracedReads { touched_bytes, modelled: vec![on("hdd", hdd), on("nvme", nvme)] })
        };
        let mut rows = vec![
            row(Role::Baseline, "zlib:6", 200, None, 5),
            row(Role::Candidate, "zstd:5", 100, Some(estimate(0.5, 0.4, 0.6)), 4),
        ];
        rows[0].reads = reads(5_000_000, 2_000_000_000, 4_000_000);
        rows[1].reads = reads(4_100_000, 1_500_000_000, 3_990_000);
        let untraced = vec![row(Role::Baseline, "zlib:6", 9, None, 5)];
        let traced = comparison("checkout", rows, Some(estimate(1.0, 0.99, 1.01)));
        let text = plain(&comparisons(&[traced.clone(), comparison("sizes", untraced, None)]));
        let words: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        let ends = |start: &str, end: &str| {
            let is_it = |line: &String| line.starts_with(start) && line.ends_with(end);
            assert!(words.iter().any(is_it), "{start} ... {end}\n{text}");
        };
        ends("workload", "size ratio modelled cold, hdd modelled cold, nvme");
        ends("checkout zlib:6", "1.000 2.00 s (1.00) 4.00 ms (1.00)");
        ends("zstd:5", "0.800 1.50 s (0.75) 3.99 ms (1.00)");
        ends("sizes zlib:6", "1.000 - -");
        assert!(text.contains("\nPage cache touched by checkout: zlib:6 5.00 MB, zstd:5 4.10 MB.\n"), "{text}");
        assert!(text.contains("\nNo access trace, so nothing is modelled: sizes.\n"), "{text}");
        assert!(text.contains("It is not measured, so it has no verdict."), "{text}");

        let mut without = traced;
        for row in &mut without.rows {
            row.reads = Some(TracedReads { touched_bytes: 4096, modelled: Vec::new() });
        }
        let text = plain(&comparisons(&[without]));
        assert!(!text.contains("odelled") && text.contains("zlib:6 0.004 MB"), "{text}");
    }
}
