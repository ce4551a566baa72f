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
//! | numbers | that | the codec with numbers in the place of ids |
//!
//! All rows run in the same blocks, and each step is a ratio within blocks, like all ratios.

use std::collections::BTreeMap;

use repackbench_records::{
    BlockId, DeltaOrigin, Explanation, Factor, FactorKind, NumbersSplit, RatioEstimate, Record, Role, SCHEMA_VERSION,
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
    /// The codec with ids in the place of numbers; `None` if it has no numbers.
    pub hashed: Option<String>,
    /// The baseline's DEFLATE blocks in tagged bodies without a checksum; `None` if numbers are all that the codec
    /// differs in from the baseline.
    pub deflate: Option<String>,
    /// The other decoders that read the baseline and `deflate`.
    pub implementations: Vec<String>,
    /// The names of the floors that only split what numbers save.
    pub floors: Vec<String>,
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
        let floor_of = |records: &[&Record]| {
            let of = *records.first()?;
            self.hashed.as_ref()?;
            workloads.iter().find(|group| group.first().is_some_and(|floor| is_floor_of(floor, of)))
        };
        let is_only_floor =
            |records: &&Vec<&Record>| records.first().is_some_and(|first| self.floors.contains(&first.workload.name));
        let explained = workloads.iter().filter(|records| !is_only_floor(records));
        explained.filter_map(|records| self.explain_workload(records, floor_of(records).map(Vec::as_slice))).collect()
    }

    fn explain_workload(&self, records: &[&Record], floor: Option<&[&Record]>) -> Option<Explanation> {
        let first = records.first()?;
        let baseline = Row::of(records, &self.baseline, None)?;
        let codec = Row::of(records, &self.codec, None)?;
        let mut steps = match &self.deflate {
            Some(deflate) => self.steps(records, &baseline, deflate)?,
            None => Vec::new(),
        };
        steps.extend(self.hashed.as_ref().map(|_| (FactorKind::Numbers, codec.clone())));
        let mut factors = Vec::new();
        let mut from = baseline.clone();
        for (kind, to) in steps {
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
            numbers: floor.and_then(|floor| self.numbers_split(records, floor)),
        })
    }

    /// What numbers save in the workload of `records`, whose floor is `floor`.
    fn numbers_split(&self, records: &[&Record], floor: &[&Record]) -> Option<NumbersSplit> {
        let hashed = self.hashed.as_ref()?;
        let (without, with) = (Row::of(records, hashed, None)?, Row::of(records, &self.codec, None)?);
        let (decoding, decoding_with) = (Row::of(floor, hashed, None)?, Row::of(floor, &self.codec, None)?);
        let rest = with.beyond(&decoding_with)?.ratio_to(&without.beyond(&decoding)?)?;
        let mut shares: Vec<f64> = decoding.shared(&without).map(|(floor, whole)| (floor - whole).exp()).collect();
        let decode_share = median(&mut shares)?;
        Some(NumbersSplit { decode_share, decoding: decoding_with.ratio_to(&decoding)?, rest })
    }

    /// The steps from `baseline` to the codec with ids, by `deflate`.
    fn steps(&self, records: &[&Record], baseline: &Row, deflate: &str) -> Option<Vec<(FactorKind, Row)>> {
        let row = |spec: &str, by: Option<&str>| Row::of(records, spec, by);
        let fastest =
            self.implementations.iter().filter_map(|name| Some((name.as_str(), row(&self.baseline, Some(name))?)));
        let fastest = fastest.min_by(|(_, a), (_, b)| a.median.total_cmp(&b.median));
        let fastest = fastest.filter(|(_, row)| row.median < baseline.median);
        let by = fastest.as_ref().map(|(name, _)| *name);
        let implementation = fastest.map(|(_, row)| (FactorKind::Implementation, row));
        let framing = Some((FactorKind::Framing, row(deflate, by)?));
        let codec = row(self.hashed.as_ref().unwrap_or(&self.codec), None)?;
        let last = match &self.unchecked {
            Some(unchecked) => {
                vec![(FactorKind::Format, row(unchecked, None)?), (FactorKind::Integrity, codec)]
            }
            None => vec![(FactorKind::Format, codec)],
        };
        Some(implementation.into_iter().chain(framing).chain(last).collect())
    }
}

/// Whether `floor` is a run of the floor of the workload of `of`.
fn is_floor_of(floor: &Record, of: &Record) -> bool {
    floor.workload.floor_of() == Some(&of.workload.name)
        && (&floor.workload.parameters, floor.compared_time) == (&of.workload.parameters, of.compared_time)
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

    /// The logarithms of both rows' times in the blocks that have both.
    fn shared(&self, other: &Row) -> impl Iterator<Item = (f64, f64)> {
        self.logs.iter().filter_map(|(block, log)| Some((*log, *other.logs.get(block)?)))
    }

    /// This row's time as a multiple of the other's, over the blocks that have both.
    fn ratio_to(&self, other: &Row) -> Option<RatioEstimate> {
        ratio_estimate(&mut self.shared(other).map(|(own, other)| own - other).collect::<Vec<f64>>())
    }

    /// This row's time beyond that of `floor` in the same block; `None` if a block has none, since the others alone
    /// would make it look longer than it is.
    fn beyond(&self, floor: &Row) -> Option<Row> {
        let both = self.logs.iter().filter_map(|(block, log)| Some((*block, log.exp() - floor.logs.get(block)?.exp())));
        let logs = both.map(|(block, time)| (time > 0.0).then(|| (block, time.ln()))).collect::<Option<_>>()?;
        Some(Row { logs, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use repackbench_records::fixtures::record;

    use super::*;

    /// Runs of the baseline, the codec with ids and the codec with numbers in six blocks, with these milliseconds.
    fn runs(workload: &str, ms: [u64; 3]) -> impl Iterator<Item = Record> {
        let rows = [(Role::Baseline, ms[0]), (Role::Candidate, ms[1]), (Role::Candidate, ms[2])];
        // A machine that slows down does so for all rows of a block.
        let block = move |block: u32| {
            let rows = (0..).zip(rows);
            let speed = 1_000_000 * (10 + u64::from(block));
            rows.map(move |(row, (role, ms))| record(workload, role, row, block, ms * speed))
        };
        (0..6).flat_map(block)
    }

    fn rows_of(records: &[Record]) -> ExplainedRows {
        let spec = |row: usize| records[row].variant.spec.as_ref().unwrap().canonical.clone();
        ExplainedRows {
            codec: spec(2),
            baseline: spec(0),
            unchecked: None,
            hashed: Some(spec(1)),
            deflate: None,
            implementations: Vec::new(),
            floors: vec!["floor:traverse:count".to_owned()],
        }
    }

    #[test]
    fn floor_splits_what_numbers_save() {
        let records: Vec<Record> =
            runs("traverse:count", [100, 80, 30]).chain(runs("floor:traverse:count", [50, 20, 15])).collect();
        let explanations = rows_of(&records).explain(&records);
        let [explanation] = explanations.as_slice() else { panic!("the floor is a part: {explanations:?}") };
        let split = explanation.numbers.unwrap();
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        near(split.decode_share, 0.25);
        near(split.decoding.ratio, 0.75);
        near(split.rest.ratio, 0.25);
        assert_eq!((split.rest.pairs, split.rest.interval.is_some()), (6, true));
        near(split.rest.interval.unwrap().low, 0.25);
    }

    #[test]
    fn workload_without_a_floor_is_not_split() {
        let records: Vec<Record> = runs("blame", [100, 80, 30]).collect();
        assert_eq!(rows_of(&records).explain(&records)[0].numbers, None);
        // A floor longer than the run leaves nothing to compare.
        let records: Vec<Record> = runs("log", [9, 9, 9]).chain(runs("floor:log", [50, 20, 15])).collect();
        let explanations = rows_of(&records).explain(&records);
        assert_eq!((explanations.len(), explanations[0].numbers), (2, None), "a floor that was asked for");
    }
}
