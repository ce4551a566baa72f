//! The factors of the ratio of a codec's time to zlib's.
//!
//! "zstd is faster than zlib" mixes several effects: another library decodes, the framing of the compressed data
//! differs, another checksum is checked, and the format is another one. Rows that differ in one of these at a time lead
//! from the baseline to the codec, so that the ratio is a product of steps:
//!
//! | step | from | to |
//! |---|---|---|
//! | implementation | zlib, read by stock zlib | the same bytes, read by the fastest library |
//! | framing | that | the same DEFLATE blocks in tagged bodies without a checksum, read by that library |
//! | format | that | the codec without a checksum |
//! | integrity | that | the codec |
//!
//! All rows run in the same blocks, and each step is a ratio within blocks, like all ratios.

use std::collections::BTreeMap;

use repackbench_records::{
    BlockId, DeltaOrigin, Explanation, Factor, FactorKind, RatioEstimate, Record, Role, SCHEMA_VERSION,
};

use crate::statistics::{median, ratio_estimate};

/// The rows of a benchmark that explain a codec's ratio. Specs are canonical texts, as in records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedRows {
    /// The explained codec.
    pub codec: String,
    /// The zlib level that is the baseline.
    pub baseline: String,
    /// The codec without a checksum; `None` if it has no optional checksum.
    pub unchecked: Option<String>,
    /// The baseline's DEFLATE blocks in tagged bodies without a checksum.
    pub deflate: String,
    /// The other decoders that read the baseline and `deflate`.
    pub implementations: Vec<String>,
}

impl ExplainedRows {
    /// Explains the ratio of the codec in every workload of `records`. A workload is left out if some step has no
    /// ratio.
    pub fn explain(&self, records: &[Record]) -> Vec<Explanation> {
        let mut workloads: Vec<Vec<&Record>> = Vec::new();
        for record in records {
            match workloads.iter_mut().find(|group| group.first().is_some_and(|first| is_of_one_job(first, record))) {
                Some(group) => group.push(record),
                None => workloads.push(vec![record]),
            }
        }
        workloads.iter().filter_map(|records| self.explain_workload(records)).collect()
    }

    fn explain_workload(&self, records: &[&Record]) -> Option<Explanation> {
        let first = records.first()?;
        let row = |spec: &str, by: Option<&str>| Row::of(records, spec, by);
        let baseline = row(&self.baseline, None)?;
        let fastest =
            self.implementations.iter().filter_map(|name| Some((name.as_str(), row(&self.baseline, Some(name))?)));
        let fastest = fastest.min_by(|(_, a), (_, b)| a.median.total_cmp(&b.median));
        let fastest = fastest.filter(|(_, row)| row.median < baseline.median);
        let by = fastest.as_ref().map(|(name, _)| *name);
        let implementation = fastest.map(|(_, row)| (FactorKind::Implementation, row));
        let framing = Some((FactorKind::Framing, row(&self.deflate, by)?));
        let codec = row(&self.codec, None)?;
        let last = match &self.unchecked {
            Some(unchecked) => {
                vec![(FactorKind::Format, row(unchecked, None)?), (FactorKind::Integrity, codec.clone())]
            }
            None => vec![(FactorKind::Format, codec.clone())],
        };
        let mut factors = Vec::new();
        let mut from = baseline.clone();
        for (kind, to) in implementation.into_iter().chain(framing).chain(last) {
            let ratio = to.ratio_to(&from)?;
            factors.push(Factor { kind, from: from.label, to: to.label.clone(), ratio });
            from = to;
        }
        let again = Row::of_role(records, Role::BaselineAgain);
        Some(Explanation {
            schema: SCHEMA_VERSION,
            session: first.place.session,
            repository: first.repository.clone(),
            workload: first.workload.clone(),
            compared_time: first.compared_time,
            codec: codec.label.clone(),
            baseline: baseline.label.clone(),
            measured: codec.ratio_to(&baseline)?,
            product: factors.iter().map(|factor| factor.ratio.ratio).product(),
            factors,
            noise: again.and_then(|again| baseline.ratio_to(&again)),
        })
    }
}

/// Whether two runs have the same workload and compared time.
fn is_of_one_job(one: &Record, other: &Record) -> bool {
    (&one.workload, one.compared_time) == (&other.workload, other.compared_time)
}

/// The runs of one row in one workload.
#[derive(Debug, Clone)]
struct Row {
    label: String,
    /// The logarithm of the time of each block with a measurable time.
    logs: BTreeMap<BlockId, f64>,
    /// Their median.
    median: f64,
}

impl Row {
    /// The row of the spec `canonical`, read by `decoder` or, if `None`, by its own decoder.
    fn of(records: &[&Record], canonical: &str, decoder: Option<&str>) -> Option<Self> {
        Row::collect(records, |record| {
            let variant = &record.variant;
            matches!(variant.role, Role::Baseline | Role::Candidate)
                && variant.spec.as_ref().is_some_and(|spec| spec.canonical == canonical)
                && (variant.delta_cache.is_none() && variant.deltas == DeltaOrigin::Kept)
                && variant.decoder.as_ref().map(|decoder| decoder.implementation.as_str()) == decoder
        })
    }

    fn of_role(records: &[&Record], role: Role) -> Option<Self> {
        Row::collect(records, |record| record.variant.role == role)
    }

    fn collect(records: &[&Record], wanted: impl Fn(&Record) -> bool) -> Option<Self> {
        let of_row: Vec<&Record> = records.iter().copied().filter(|record| wanted(record)).collect();
        let logs: BTreeMap<BlockId, f64> = of_row
            .iter()
            .filter_map(|record| {
                let time = record.compared_time.nanoseconds(&record.sample);
                (time > 0).then(|| (record.place.block_id(), (time as f64).ln()))
            })
            .collect();
        let median = median(&mut logs.values().copied().collect::<Vec<_>>())?;
        Some(Row { label: of_row.first()?.variant.label().into_owned(), logs, median })
    }

    /// This row's time as a multiple of the other's, over the blocks that have both.
    fn ratio_to(&self, other: &Row) -> Option<RatioEstimate> {
        let pairs = self.logs.iter().filter_map(|(block, log)| Some(log - other.logs.get(block)?));
        ratio_estimate(&mut pairs.collect::<Vec<f64>>())
    }
}
