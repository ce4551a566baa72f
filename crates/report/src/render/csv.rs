//! CSV for spreadsheets and data frames (RFC 4180): one line for each variant in each workload, with its exact figures.

use repackbench_analysis::{Results, estimate_figures};
use repackbench_records::{
    Experiment, Explanation, FleetFigure, RatioEstimate, SizeRecord, TraceRecord, WorkloadComparison,
};

use crate::{document::plain_text, sections::experiments::statement::stored_sentence};

/// The columns of comparisons.
const COMPARISON: [&str; 24] = [
    "repository",
    "fingerprint",
    "revision",
    "workload",
    "jobs",
    "variant",
    "spec",
    "role",
    "runs",
    "compared_time",
    "compared_median_ns",
    "wall_median_ns",
    "ratio",
    "ratio_low",
    "ratio_high",
    "adjusted_p",
    "verdict",
    "noise_floor",
    "size_bytes",
    "size_ratio",
    "peak_resident_bytes",
    "checksum",
    "is_valid",
    "machine",
];

/// The columns of sizes.
const SIZES: [&str; 6] = ["repository", "kind", "form", "entries", "stored_bytes", "payload_bytes"];

/// The columns of explanations.
const FACTORS: [&str; 11] = [
    "repository",
    "workload",
    "codec",
    "baseline",
    "compared_time",
    "factor",
    "from",
    "to",
    "ratio",
    "ratio_low",
    "ratio_high",
];

/// The columns of traces.
const TRACES: [&str; 11] = [
    "repository",
    "workload",
    "variant",
    "device",
    "reads",
    "seeks",
    "bytes",
    "modelled_ns",
    "role",
    "pages",
    "touched_pages",
];

/// The columns of experiments.
const EXPERIMENTS: [&str; 10] = [
    "experiment",
    "repository",
    "table",
    "arm",
    "quantity",
    "unit",
    "published",
    "measured",
    "measured_low",
    "measured_high",
];

/// The columns of a fleet.
pub(super) const FLEET: [&str; 13] = [
    "repository",
    "fingerprint",
    "vcs",
    "bytes_as_found",
    "size_class",
    "content",
    "deltas",
    "codec",
    "workload",
    "value",
    "ratio",
    "ratio_low",
    "ratio_high",
];

/// `results` as CSV: the figures of a fleet, a line for each repository, codec and workload; without a fleet the
/// comparisons; without those the traces, a line for each device and each role of files; without those the estimates,
/// as the figures of a fleet; without those the sizes; and otherwise the values of experiments, or the factors of
/// explanations.
///
/// # Errors
/// Never: the text is made in memory.
pub fn csv(results: &Results) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    if let Some(fleet) = &results.fleet {
        writer.write_record(FLEET)?;
        fleet.figures.iter().try_for_each(|figure| fleet_line(&mut writer, figure))?;
    } else if !results.comparisons.is_empty() {
        writer.write_record(COMPARISON)?;
        results.comparisons.iter().try_for_each(|comparison| comparison_lines(&mut writer, comparison))?;
    } else if !results.traces.is_empty() {
        writer.write_record(TRACES)?;
        results.traces.iter().try_for_each(|trace| trace_lines(&mut writer, trace))?;
    } else if !results.estimates.is_empty() {
        writer.write_record(FLEET)?;
        estimate_figures(&results.estimates).iter().try_for_each(|figure| fleet_line(&mut writer, figure))?;
    } else if results.sizes.is_empty() && !results.experiments.is_empty() {
        writer.write_record(EXPERIMENTS)?;
        results.experiments.iter().try_for_each(|experiment| experiment_lines(&mut writer, experiment))?;
    } else if results.sizes.is_empty() && !results.explanations.is_empty() {
        writer.write_record(FACTORS)?;
        results.explanations.iter().try_for_each(|explanation| factor_lines(&mut writer, explanation))?;
    } else {
        writer.write_record(SIZES)?;
        results.sizes.iter().try_for_each(|line| size_lines(&mut writer, &line.size))?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

type Writer = csv::Writer<Vec<u8>>;

fn experiment_lines(writer: &mut Writer, experiment: &Experiment) -> Result<(), csv::Error> {
    for table in experiment.tables.iter().chain(&experiment.listings) {
        let title = stored_sentence(&table.title);
        for row in &table.rows {
            for (at, column) in table.columns.iter().enumerate() {
                let measured = row.measured.get(at).and_then(Option::as_ref);
                let published = row.published.get(at).copied().flatten();
                if measured.is_none() && published.is_none() {
                    continue;
                }
                let interval = measured.and_then(|measured| measured.interval);
                writer.write_record([
                    text(&experiment.name),
                    text(&experiment.repository.name),
                    text(&title),
                    text(&row.label),
                    text(&column.name),
                    name(&column.unit),
                    number(published),
                    number(measured.map(|measured| measured.value)),
                    number(interval.map(|[low, _]| low)),
                    number(interval.map(|[_, high]| high)),
                ])?;
            }
        }
    }
    Ok(())
}

fn comparison_lines(writer: &mut Writer, comparison: &WorkloadComparison) -> Result<(), csv::Error> {
    let baseline = comparison.baseline();
    let repository = &comparison.repository;
    for row in &comparison.rows {
        let interval = row.ratio.and_then(|ratio| ratio.interval);
        let size_ratio = baseline
            .filter(|of| of.size.total_bytes > 0)
            .map(|of| row.size.total_bytes as f64 / of.size.total_bytes as f64);
        writer.write_record([
            text(&repository.name),
            text(&repository.fingerprint),
            text(repository.head.as_deref().unwrap_or_default()),
            text(&comparison.workload.to_string()),
            comparison.jobs.to_string(),
            text(&row.variant.label()),
            text(row.variant.spec.as_ref().map_or("", |spec| &spec.canonical)),
            name(&row.variant.role),
            row.runs.to_string(),
            name(&comparison.compared_time),
            row.compared_median.as_nanos().to_string(),
            row.wall_median.as_nanos().to_string(),
            number(row.ratio.map(|ratio| ratio.ratio)),
            number(interval.map(|interval| interval.low)),
            number(interval.map(|interval| interval.high)),
            number(row.adjusted_p),
            row.verdict.as_ref().map(name).unwrap_or_default(),
            number(comparison.noise_floor),
            row.size.total_bytes.to_string(),
            number(size_ratio),
            row.peak_resident_median.map_or_else(String::new, |bytes| bytes.to_string()),
            row.variant.checksum.to_string(),
            comparison.is_valid.to_string(),
            text(&comparison.host.description()),
        ])?;
    }
    Ok(())
}

fn size_lines(writer: &mut Writer, size: &SizeRecord) -> Result<(), csv::Error> {
    let label = text(&size.label);
    for (kind, form, chunks) in size.objects.iter().filter(|(_, _, chunks)| chunks.entries > 0) {
        let numbers = [chunks.entries, chunks.stored_bytes, chunks.payload_bytes].map(|number| number.to_string());
        let [entries, stored, payload] = &numbers;
        writer.write_record([&*label, kind.name(), form.name(), entries, stored, payload])?;
    }
    let others = [
        ("entry headers", size.entry_header_bytes),
        ("pack frames", size.pack_frame_bytes),
        ("indexes", size.index_bytes),
        ("reverse indexes", size.reverse_index_bytes),
        ("revlog indexes", size.revlog_index_bytes),
        ("fncache", size.fncache_bytes),
        ("dictionaries", size.dictionary_bytes),
        ("other", size.other_bytes),
        ("total", size.total_bytes),
    ];
    // Older records and most stores have none of these.
    let more =
        [("B-tree", size.btree_bytes), ("B-tree unused", size.btree_unused_bytes), ("allocated", size.allocated_bytes)];
    for (kind, bytes) in others.into_iter().chain(more.into_iter().filter(|(_, bytes)| *bytes > 0)) {
        writer.write_record([&*label, kind, "", "", &bytes.to_string(), ""])?;
    }
    Ok(())
}

fn trace_lines(writer: &mut Writer, trace: &TraceRecord) -> Result<(), csv::Error> {
    let [repository, workload, variant] =
        [&*trace.repository.name, &trace.workload.to_string(), &trace.variant.label()].map(text);
    for device in &trace.devices {
        let numbers = [u128::from(device.reads), device.seeks.into(), device.bytes.into(), device.time.as_nanos()];
        let [reads, seeks, bytes, time] = numbers.map(|number| number.to_string());
        let name = text(&device.device.name);
        writer.write_record([&*repository, &workload, &variant, &name, &reads, &seeks, &bytes, &time, "", "", ""])?;
    }
    for files in &trace.files {
        let [pages, touched] = [files.pages, files.touched].map(|number| number.to_string());
        let role = text(&files.role);
        writer.write_record([&*repository, &workload, &variant, "", "", "", "", "", &role, &pages, &touched])?;
    }
    Ok(())
}

fn factor_lines(writer: &mut Writer, explanation: &Explanation) -> Result<(), csv::Error> {
    let line = |kind: String, from: &str, to: &str, ratio: &RatioEstimate| {
        [
            text(&explanation.repository.name),
            text(&explanation.workload.to_string()),
            text(&explanation.codec),
            text(&explanation.baseline),
            name(&explanation.compared_time),
            kind,
            text(from),
            text(to),
            ratio.ratio.to_string(),
            number(ratio.interval.map(|interval| interval.low)),
            number(ratio.interval.map(|interval| interval.high)),
        ]
    };
    for factor in &explanation.factors {
        writer.write_record(line(name(&factor.kind), &factor.from, &factor.to, &factor.ratio))?;
    }
    writer.write_record(line("measured".into(), &explanation.baseline, &explanation.codec, &explanation.measured))
}

fn fleet_line(writer: &mut Writer, figure: &FleetFigure) -> Result<(), csv::Error> {
    writer.write_record([
        text(&figure.repository),
        text(&figure.fingerprint),
        figure.vcs.as_ref().map(name).unwrap_or_default(),
        figure.bytes_as_found.to_string(),
        name(&figure.size_class),
        figure.content.as_ref().map(name).unwrap_or_default(),
        name(&figure.deltas),
        text(&figure.codec),
        text(figure.workload.as_deref().unwrap_or_default()),
        figure.value.to_string(),
        figure.ratio.to_string(),
        number(figure.interval.map(|interval| interval.low)),
        number(figure.interval.map(|interval| interval.high)),
    ])
}

fn number(number: Option<f64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

/// The JSON name of an enum value.
pub(super) fn name(choice: &impl serde::Serialize) -> String {
    match serde_json::to_value(choice) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// A name that no spreadsheet reads as a formula.
fn text(text: &str) -> String {
    let text = plain_text(text);
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use repackbench_records::Role;

    use super::*;
    use crate::fixtures::{comparison, estimate, row};

    #[test]
    fn each_variant_of_each_workload_has_a_line() {
        let rows = vec![
            row(Role::Baseline, "zlib:6", 1000, None, 100),
            row(Role::Candidate, "zstd:5", 700, Some(estimate(0.7, 0.69, 0.71)), 84),
        ];
        let mut comparison = comparison("traverse", rows, Some(estimate(1.0, 0.99, 1.01)));
        comparison.repository.name = "=cmd|' /C calc'!A1,\"x\"\n\u{1b}".into();
        let text = csv(&Results { comparisons: vec![comparison], ..Results::default() }).unwrap();
        let name = r#""'=cmd|' /C calc'!A1,""x""\n\u{1b}""#;
        let expected = format!(
            "{}\n\
             {name},f,0123456789abcdef0123,traverse,1,zlib:6,zlib:6,baseline,10,cpu,1000000000,1017000000,,,,,,0.01,100,1,,true,true,an unknown machine\n\
             {name},f,0123456789abcdef0123,traverse,1,zstd:5,zstd:5,candidate,10,cpu,700000000,717000000,0.7,0.69,0.71,0.01,faster,\
             0.01,84,0.84,,true,true,an unknown machine\n",
            COMPARISON.join(",")
        );
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn lines_of_two_machines_differ() {
        let here = comparison("traverse", vec![row(Role::Baseline, "zlib:6", 1, None, 1)], None);
        let mut there = here.clone();
        there.host.cores = Some(64);
        let text = csv(&Results { comparisons: vec![here, there], ..Results::default() }).unwrap();
        let machines: Vec<&str> = text.lines().filter_map(|line| Some(line.rsplit_once(',')?.1)).collect();
        assert_eq!(machines, ["machine", "an unknown machine", "64 cores"]);
    }

    #[test]
    fn factors_are_written_without_other_results() {
        let explanation = Explanation {
            schema: 1,
            session: 0,
            repository: comparison("traverse", Vec::new(), None).repository,
            workload: comparison("traverse", Vec::new(), None).workload,
            compared_time: repackbench_records::ComparedTime::Cpu,
            codec: "zstd:5".into(),
            baseline: "zlib:6".into(),
            measured: estimate(0.5, 0.4, 0.6),
            factors: vec![repackbench_records::Factor {
                kind: repackbench_records::FactorKind::Framing,
                from: "zlib:6".into(),
                to: "deflate:6".into(),
                ratio: estimate(0.9, 0.8, 1.0),
            }],
            product: 0.5,
            noise: None,
            numbers: None,
        };
        let text = csv(&Results { explanations: vec![explanation], ..Results::default() }).unwrap();
        let expected = format!(
            "{}\n\
             sample,traverse,zstd:5,zlib:6,cpu,framing,zlib:6,deflate:6,0.9,0.8,1\n\
             sample,traverse,zstd:5,zlib:6,cpu,measured,zlib:6,zstd:5,0.5,0.4,0.6\n",
            FACTORS.join(",")
        );
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn sizes_are_the_default() {
        assert_eq!(csv(&Results::default()).unwrap(), "repository,kind,form,entries,stored_bytes,payload_bytes\n");
    }
}
