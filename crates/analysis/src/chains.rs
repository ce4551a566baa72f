//! What it costs to read an object, by the number of deltas in its chain.

use std::time::Duration;

use repackbench_records::{ChainReads, ChainRecord, RatioEstimate};

use crate::{median_duration, ratio_estimate};

/// Repositories that hold the same objects in the same chains, side by side.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChainComparison {
    /// The repositories' names for people; ratios are to the first.
    pub repositories: Vec<String>,
    /// The objects by the number of deltas in their chains, shortest first.
    pub buckets: Vec<ChainBucket>,
}

/// Objects whose chains are about equally long.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainBucket {
    /// The least number of deltas in a chain.
    pub least: u32,
    /// The most; `None` for no limit.
    pub most: Option<u32>,
    /// How many objects there are; the same number in every repository.
    pub objects: u64,
    /// How many of them were read.
    pub sampled: u64,
    /// What they take in each repository, in the order of [`ChainComparison::repositories`].
    pub costs: Vec<ChainCost>,
}

/// What the objects of a bucket take in one repository.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChainCost {
    /// The stored bytes of their own chunks, without those of their bases.
    pub stored_bytes: u64,
    /// The median CPU time to read one of them from empty caches; `None` if none was read.
    pub cpu_median: Option<Duration>,
    /// That time as a multiple of the first repository's for the same object; `None` for the first itself, and where no
    /// object took long enough for the clock.
    pub ratio: Option<RatioEstimate>,
}

/// The comparison that each session in `records` made, in the order of the records.
pub fn chain_comparisons(records: &[ChainRecord]) -> Vec<ChainComparison> {
    let mut sessions: Vec<u64> = Vec::new();
    for record in records {
        if !sessions.contains(&record.session) {
            sessions.push(record.session);
        }
    }
    let of = |session| records.iter().filter(move |record| record.session == session).collect::<Vec<_>>();
    sessions.into_iter().map(|session| comparison(&of(session))).collect()
}

/// The comparison that one session made.
fn comparison(records: &[&ChainRecord]) -> ChainComparison {
    let mut named: Vec<(u32, &str)> =
        records.iter().map(|record| (record.number, record.repository.as_str())).collect();
    named.sort_unstable();
    named.dedup();
    let mut ranges: Vec<(u32, Option<u32>)> = records.iter().map(|record| (record.least, record.most)).collect();
    ranges.sort_unstable();
    ranges.dedup();
    let buckets = ranges.into_iter().map(|(least, most)| {
        let mut of_bucket: Vec<&ChainRecord> =
            records.iter().copied().filter(|record| (record.least, record.most) == (least, most)).collect();
        of_bucket.sort_by_key(|record| record.number);
        let first: Vec<Duration> = of_bucket.first().map_or_else(Vec::new, |first| times(&first.reads));
        let costs = of_bucket.iter().enumerate().map(|(number, record)| {
            let mut own = times(&record.reads);
            ChainCost {
                stored_bytes: record.stored_bytes,
                ratio: if number == 0 { None } else { ratio_estimate(&mut log_ratios(&own, &first)) },
                cpu_median: median_duration(&mut own),
            }
        });
        ChainBucket {
            least,
            most,
            objects: of_bucket.first().map_or(0, |record| record.objects),
            sampled: first.len() as u64,
            costs: costs.collect(),
        }
    });
    ChainComparison {
        buckets: buckets.collect(),
        repositories: named.into_iter().map(|(_, name)| name.to_owned()).collect(),
    }
}

/// The time to read each object once: the median of its rounds.
fn times(reads: &[ChainReads]) -> Vec<Duration> {
    let one = |reads: &ChainReads| {
        let iterations = reads.iterations.max(1);
        let mut rounds: Vec<Duration> = reads.cpu_ns.iter().map(|ns| Duration::from_nanos(*ns) / iterations).collect();
        median_duration(&mut rounds).unwrap_or_default()
    };
    reads.iter().map(one).collect()
}

/// The logarithms of the ratios of times for the same objects, where the clock saw both.
fn log_ratios(times: &[Duration], of: &[Duration]) -> Vec<f64> {
    let pairs = times.iter().zip(of).filter(|(time, of)| !time.is_zero() && !of.is_zero());
    pairs.map(|(time, of)| time.as_secs_f64().ln() - of.as_secs_f64().ln()).collect()
}

#[cfg(test)]
mod tests {
    use repackbench_records::SCHEMA_VERSION;

    use super::*;

    fn record(number: u32, least: u32, cpu_us: &[[u64; 3]]) -> ChainRecord {
        let reads = cpu_us.iter().map(|rounds| ChainReads {
            object: "id".into(),
            deltas: least,
            iterations: 2,
            cpu_ns: rounds.map(|us| us * 2000).to_vec(),
        });
        ChainRecord {
            schema: SCHEMA_VERSION,
            program_version: "0.1.0".into(),
            session: 7,
            repository: format!("repo-{number}"),
            number,
            least,
            most: Some(least),
            objects: 10,
            stored_bytes: 100 + u64::from(number),
            reads: reads.collect(),
            command: None,
        }
    }

    #[test]
    fn medians_are_of_objects_and_ratios_of_the_same_object() {
        let records = [
            record(0, 1, &[[1, 2, 3], [10, 30, 20], [100, 100, 100]]),
            record(1, 1, &[[4, 4, 9], [40, 40, 1], [200, 200, 200]]),
            record(0, 0, &[[5, 5, 5]]),
            record(1, 0, &[[0, 0, 0]]),
        ];
        let other = ChainRecord { session: 8, ..record(0, 3, &[]) };
        let compared = chain_comparisons(&[&records[..], &[other]].concat());
        let [of_session, alone] = compared.as_slice() else { panic!("{compared:?}") };
        assert_eq!(of_session.repositories, ["repo-0", "repo-1"]);
        let [none, one] = of_session.buckets.as_slice() else { panic!("{of_session:?}") };
        assert_eq!((none.least, none.objects, none.sampled, one.least, one.sampled), (0, 10, 1, 1, 3));
        assert_eq!(none.costs[1].cpu_median, Some(Duration::ZERO));
        assert_eq!(none.costs[1].ratio, None, "the clock saw no time");
        assert_eq!((one.costs[0].stored_bytes, one.costs[1].stored_bytes), (100, 101));
        assert_eq!(one.costs[0].cpu_median, Some(Duration::from_micros(20)));
        assert_eq!(
            (one.costs[0].ratio.as_ref(), one.costs[1].ratio.as_ref().map(|ratio| ratio.pairs)),
            (None, Some(3))
        );
        assert!((one.costs[1].ratio.as_ref().unwrap().ratio - 2.0).abs() < 1e-9);
        assert_eq!((alone.repositories.len(), alone.buckets[0].costs[0].cpu_median), (1, None));
        assert!(chain_comparisons(&[]).is_empty());
    }

    #[test]
    fn ratios_are_of_the_same_object() {
        let micros = |times: [u64; 4]| times.map(Duration::from_micros);
        let mut logs = log_ratios(&micros([2, 20, 0, 5]), &micros([1, 10, 100, 0]));
        assert_eq!(logs.len(), 2, "times that the clock did not see make no pair");
        assert!((ratio_estimate(&mut logs).unwrap().ratio - 2.0).abs() < 1e-9);
    }
}
